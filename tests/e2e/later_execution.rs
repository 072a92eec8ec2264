//! A program under `edt run` leaves nothing that Git, a prompt or an editor executes later. Each
//! way plants something that writes a canary file; without edt, it does.

use std::path::{Path, PathBuf};

use crate::test_repo::{Answer, TestRepo};

const POLICY: &str = "[run]\nsandbox = \"standard\"\nunknown = \"allow\"\n";

/// A shell script that plants something. `$EVIL` is a configuration whose programs write the
/// canary, `$HOOK` a script that does.
const WAYS: [(&str, &str); 18] = [
    ("a repository", "git init -q sub; echo \"$EVIL\" >> sub/.git/config"),
    (
        "a repository in an ignored directory",
        "mkdir -p build/x; git init -q build/x/y; echo \"$EVIL\" >> build/x/y/.git/config",
    ),
    ("a repository over tracked files", "git init -q src; echo \"$EVIL\" >> src/.git/config"),
    (
        "a repository over every tracked file of a directory",
        "cd src; git init -q .; git config user.name x; git config user.email x@x; git add -A; echo \"$EVIL\" >> .git/config",
    ),
    (
        "a hook of a new repository",
        "git init -q sub; mkdir -p sub/.git/hooks; echo \"$HOOK\" > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/post-index-change; touch sub/f; git -C sub add f",
    ),
    ("a .git file", "git init -q --separate-git-dir=store sub; echo \"$EVIL\" >> store/config"),
    (
        "a .git link",
        "git init -q x; mv x/.git x/git; echo \"$EVIL\" >> x/git/config; mkdir sub; ln -s ../x/git sub/.git",
    ),
    (
        "a bare repository",
        "git init -q --bare b; printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ..\\n%s\\n' \"$EVIL\" > b/config",
    ),
    (
        "a bare repository around tracked files",
        "git init -q --bare b; mv b/HEAD b/refs b/objects src; printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ..\\n%s\\n' \"$EVIL\" > src/config",
    ),
    (
        "a repository in a bare one",
        "git init -q --bare b; git init -q b/sub; echo \"$EVIL\" >> b/sub/.git/config",
    ),
    (
        "a repository in a directory without names",
        "mkdir -p d/e; git init -q d/e; echo \"$EVIL\" >> d/e/.git/config; chmod 311 d/e; chmod 311 d",
    ),
    (
        "a repository in a directory without rights to write",
        "git init -q d; echo \"$EVIL\" >> d/.git/config; chmod 555 d/.git d",
    ),
    ("the configuration of an existing repository", "echo \"$EVIL\" >> nested/.git/config"),
    (
        "a hook of an existing repository",
        "echo \"$HOOK\" > nested/.git/hooks/post-index-change; chmod +x nested/.git/hooks/post-index-change; touch nested/f; cd nested; git add f",
    ),
    (
        "an existing repository replaced",
        "mv nested/.git old; git init -q nested; echo \"$EVIL\" >> nested/.git/config",
    ),
    (
        "the directory of an existing repository replaced",
        "mv nested old; git init -q nested; echo \"$EVIL\" >> nested/.git/config",
    ),
    ("an included file of the configuration", "echo \"$EVIL\" > shared.config"),
    ("a new included file in a new directory", "mkdir -p tools; echo \"$EVIL\" > tools/git.config"),
];

fn repo() -> TestRepo {
    let files: [(&str, &[u8]); 4] = [
        ("a.txt", b"one\n"),
        ("src/a.txt", b"one\n"),
        ("src/b.txt", b"two\n"),
        (".gitignore", b"/build/\nnode_modules/\n.idea/\n/plant\n"),
    ];
    let repo = TestRepo::with(&files);
    std::fs::create_dir_all(repo.home.join(".config/edt")).unwrap();
    std::fs::write(repo.home.join(".config/edt/edt.toml"), POLICY).unwrap();
    repo.git(&["init", "--quiet", "nested"]);
    std::fs::create_dir_all(repo.root.join("nested/.git/hooks")).unwrap();
    for name in ["../shared.config", "../tools/git.config"] {
        repo.git(&["config", "--add", "include.path", name]);
    }
    repo
}

fn canary(repo: &TestRepo) -> PathBuf {
    repo.home.join("canary")
}

/// A program that runs `plant` with its variables.
fn program(repo: &TestRepo, plant: &str) -> String {
    let canary = canary(repo);
    let touch = format!("touch {}", canary.display());
    let evil = format!("EVIL='[core]\n\tfsmonitor = \"{touch}; false\"'");
    let text = format!("#!/bin/sh\n{evil}\nHOOK='#!/bin/sh\n{touch}'\n{plant}\n");
    let program = repo.root.join("plant");
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    "./plant".to_owned()
}

/// Looks at the root and at each directory below as prompts and editors do.
fn visit(repo: &TestRepo) {
    let mut all = vec![repo.root.clone()];
    let mut at = 0;
    while at < all.len() {
        let entries = std::fs::read_dir(&all[at]).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.path().is_dir());
        let own = repo.root.join(".git");
        all.extend(directories.map(|entry| entry.path()).filter(|path| *path != own));
        // What cannot be listed can be entered.
        let hidden = ["d", "d/e"].map(|name| repo.root.join(name));
        at += 1;
        if at == 1 {
            all.extend(hidden.into_iter().filter(|path| path.is_dir()));
        }
    }
    for directory in all {
        for args in [&["status"][..], &["log", "-1"], &["diff"], &["rev-parse", "HEAD"]] {
            let mut git = repo.command("git");
            git.env_remove("GIT_OPTIONAL_LOCKS").args(args).current_dir(&directory);
            let _ = git.output().unwrap();
        }
    }
}

/// The level at which nothing is refused at the call.
fn permissive(repo: &TestRepo) {
    let policy = POLICY.replace("standard", "permissive");
    std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
}

fn plant(repo: &TestRepo, text: &str) -> Answer {
    repo.runs(&[], &[program(repo, text)])
}

#[test]
fn nothing_that_a_program_leaves_is_executed_later() {
    for (way, text) in edt_testkit::share(WAYS.to_vec(), 3) {
        let control = repo();
        let status = control.command("sh").arg(program(&control, text)).status().unwrap();
        visit(&control);
        assert!(canary(&control).exists(), "{way}: it does nothing without edt: {status}");

        let repo = repo();
        let answer = plant(&repo, text);
        visit(&repo);
        for args in [&["status"][..], &["land"], &["run", "--", "true"]] {
            let mut edt = repo.command(crate::test_repo::EDT);
            let _ = edt.args(args).output().unwrap();
            visit(&repo);
        }
        assert!(!canary(&repo).exists(), "{way}: {:#}", answer.json);
        assert_eq!(repo.git(&["show", "HEAD:src/a.txt"]), "one\n", "{way}");
        let removed = std::fs::read(repo.root.join("src/b.txt")).unwrap();
        assert_eq!(removed, b"two\n", "{way}");
    }
}

/// Asks Git about each directory of the worktree, as prompts and editors do, until `stop` is there.
fn ask_in_a_loop(repo: &TestRepo, stop: &Path) -> std::process::Child {
    let text = "until [ -e \"$1\" ]; do
        for d in . sub src q/x b; do [ -d \"$d\" ] && (cd \"$d\" && git status); done; done";
    let mut sh = repo.command("sh");
    sh.args(["-c", text, "sh"]).arg(stop).current_dir(&repo.root);
    sh.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    sh.spawn().unwrap()
}

#[test]
fn nothing_that_a_program_makes_is_executed_while_it_runs() {
    for (way, text) in [
        (
            "a repository",
            "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/x' > sub/.git/HEAD; echo \"$EVIL\" > sub/.git/config",
        ),
        (
            "a renamed repository",
            "mkdir -p x/objects x/refs; echo 'ref: refs/heads/x' > x/HEAD; echo \"$EVIL\" > x/config; mkdir sub; mv x sub/.git",
        ),
        (
            "one from an ignored directory",
            "mkdir -p build/x/.git/objects build/x/.git/refs q; echo 'ref: refs/heads/x' > build/x/.git/HEAD; mv build/x q/x; echo \"$EVIL\" > q/x/.git/config",
        ),
        (
            "a bare repository",
            "mkdir -p b/objects b/refs; printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = ..\\n%s\\n' \"$EVIL\" > b/config; echo 'ref: refs/heads/x' > b/HEAD",
        ),
        (
            "a .git file",
            "mkdir -p build/g/objects build/g/refs sub; echo 'ref: refs/heads/x' > build/g/HEAD; echo \"$EVIL\" > build/g/config; echo gitdir: ../build/g > sub/.git",
        ),
        (
            "a .git link",
            "mkdir -p build/g/objects build/g/refs sub; echo 'ref: refs/heads/x' > build/g/HEAD; echo \"$EVIL\" > build/g/config; ln -s ../build/g sub/.git",
        ),
    ] {
        let repo = repo();
        let stop = repo.home.join("stop");
        let mut asks = ask_in_a_loop(&repo, &stop);
        let answer = plant(&repo, &format!("{text}; sleep 1"));
        std::fs::write(&stop, "").unwrap();
        asks.wait().unwrap();
        assert!(!canary(&repo).exists(), "{way}: {:#}", answer.json);
        let refused = refused_names(&answer);
        assert_eq!(refused.len(), 1, "{way}: {:#}", answer.json);
    }
}

/// The paths that programs were not allowed to make, one for each warning.
fn refused_names(answer: &Answer) -> Vec<String> {
    let warnings = answer.json["warnings"].as_array().unwrap().iter();
    let refused = warnings.filter(|one| one["code"] == "name_refused");
    refused.map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

fn quarantined(answer: &Answer) -> Vec<(String, PathBuf)> {
    let errors = answer.json["errors"].as_array().unwrap().iter();
    let place = |error: &serde_json::Value| {
        let place = error["evidence"]["quarantine"].as_str()?;
        Some((error["path"].as_str()?.to_owned(), PathBuf::from(place)))
    };
    errors.filter_map(place).collect()
}

#[test]
fn the_user_brings_back_what_was_moved() {
    let repo = repo();
    permissive(&repo);
    let answer =
        plant(&repo, "git init -q 'a b'; echo \"$EVIL\" >> 'a b/.git/config'; echo x > 'a b/f'");
    assert_eq!((answer.codes(), answer.exit), (vec!["APPROVAL_REQUIRED"], 4), "{:#}", answer.json);
    let [(path, place)] = &quarantined(&answer)[..] else { panic!("{:#}", answer.json) };
    assert_eq!(path, "a b/.git");
    assert!(place.starts_with(repo.root.join(".git/edt")) && place.join("config").exists());
    // The rest of what the program did is recorded.
    assert_eq!(answer.json["files"][0]["path"], "a b/f", "{:#}", answer.json);
    let hint = answer.json["errors"][0]["hint"].as_str().unwrap();
    let command = hint.split('`').nth(1).unwrap();
    assert!(repo.command("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    assert!(repo.exists("a b/.git/config") && !place.exists());
    // What the user brought back stays, and no confined program changes it.
    std::fs::write(repo.home.join(".config/edt/edt.toml"), POLICY).unwrap();
    let answer = plant(&repo, "echo x >> 'a b/.git/config'");
    assert_eq!(quarantined(&answer), [], "{:#}", answer.json);
    assert_ne!(answer.json["run"]["exit_code"], 0);
}

#[test]
fn files_that_other_programs_execute_are_found_everywhere() {
    for level in ["permissive", "standard"] {
        for (way, path, text) in [
            ("an ignored directory", ".idea/x.xml", "mkdir .idea; echo x > .idea/x.xml"),
            (
                "a nested repository",
                "nested/.vscode/tasks.json",
                "mkdir nested/.vscode; echo x > nested/.vscode/tasks.json",
            ),
            ("a new repository", "new/.envrc", "git init -q new; echo x > new/.envrc"),
            ("a link", ".vscode", "mkdir v; echo x > v/tasks.json; ln -s v .vscode"),
            (
                "a link above",
                "src/.config",
                "mkdir -p v/git; echo x > v/git/config; ln -s ../v src/.config",
            ),
            ("a link to a file", "src/.envrc", "ln -s a.txt src/.envrc"),
            (
                "a renamed directory",
                "nested/.vscode/tasks.json",
                "mkdir nested/v; echo x > nested/v/tasks.json; mv nested/v nested/.vscode",
            ),
        ] {
            let repo = repo();
            let policy = POLICY.replace("standard", level);
            std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
            let answer = plant(&repo, text);
            assert!(repo.root.join(path).symlink_metadata().is_err(), "{way}: {:#}", answer.json);
            if level == "standard" {
                // The program could not make it.
                let warnings = answer.json["warnings"].as_array().unwrap();
                let says = |code: &str| warnings.iter().any(|one| one["code"] == code);
                let is_nested = path.starts_with("nested");
                let code = if is_nested { "sandbox_denied" } else { "name_refused" };
                assert!(says(code), "{way}: {:#}", answer.json);
                assert_eq!(quarantined(&answer), [], "{way}: {:#}", answer.json);
                continue;
            }
            let [(found, place)] = &quarantined(&answer)[..] else {
                panic!("{way}: {:#}", answer.json)
            };
            assert!(Path::new(path).starts_with(found), "{way}: {found}");
            assert!(place.symlink_metadata().is_ok(), "{way}: {place:?}");
        }
    }
}

#[test]
fn existing_files_below_the_root_are_read_only_or_restored() {
    for level in ["permissive", "standard"] {
        let repo = repo();
        let policy = POLICY.replace("standard", level);
        std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
        repo.write("nested/.vscode/tasks.json", "{}\n");
        repo.write(".idea/x.xml", "<x/>\n");
        std::os::unix::fs::symlink("src", repo.root.join(".vscode")).unwrap();
        let answer = plant(
            &repo,
            "echo '[]' > nested/.vscode/tasks.json; touch -r src/a.txt nested/.vscode/tasks.json; echo x > .idea/x.xml; rm .vscode; ln -s build .vscode",
        );
        assert_eq!(std::fs::read(repo.root.join("nested/.vscode/tasks.json")).unwrap(), b"{}\n");
        assert_eq!(std::fs::read(repo.root.join(".idea/x.xml")).unwrap(), b"<x/>\n");
        if level == "standard" {
            assert_eq!(
                (refused_names(&answer), quarantined(&answer)),
                (vec![".vscode".into()], vec![])
            );
            continue;
        }
        assert_eq!(std::fs::read_link(repo.root.join(".vscode")).unwrap(), Path::new("src"));
        let mut found: Vec<String> =
            quarantined(&answer).into_iter().map(|(path, _)| path).collect();
        found.sort();
        let changed = [".idea/x.xml", ".vscode", "nested/.vscode/tasks.json"];
        assert_eq!(found, changed, "{:#}", answer.json);
    }
}

#[test]
fn what_nothing_executes_by_itself_stays() {
    let repo = repo();
    permissive(&repo);
    for text in [
        "mkdir -p node_modules/x/.vscode node_modules/x/.github/workflows; echo x > node_modules/x/.vscode/tasks.json; echo x > node_modules/x/.github/workflows/ci.yml",
        "mkdir -p build/y; echo x > build/y/.envrc",
        "git init -q fresh",
        "git clone -q . clone",
        "git clone -q --bare . mirror.git",
        "ln -s a.txt link; ln -s nested other",
        "mkdir -p lib/refs lib/objects lib/head",
    ] {
        let answer = plant(&repo, text);
        assert_eq!(answer.json["run"]["exit_code"], 0, "{text}: {:#}", answer.json);
        assert_eq!(quarantined(&answer), [], "{text}: {:#}", answer.json);
    }
    for path in ["node_modules/x/.vscode/tasks.json", "fresh/.git/HEAD", "clone/.git/HEAD"] {
        assert!(repo.exists(path), "{path}");
    }
    // Later programs work in what was left, and remove it, as long as it stays plain.
    for text in ["git -C clone config user.name x", "git -C clone tag t", "rm -rf fresh"] {
        let answer = plant(&repo, text);
        assert_eq!(answer.json["run"]["exit_code"], 0, "{text}: {:#}", answer.json);
        assert_eq!(quarantined(&answer), [], "{text}: {:#}", answer.json);
    }
    let answer = plant(&repo, "touch clone/.git/index.lock clone/.git/MERGE_MSG");
    assert_eq!(quarantined(&answer), [], "{:#}", answer.json);
    let answer = plant(&repo, "echo \"$EVIL\" >> clone/.git/config");
    assert_eq!(quarantined(&answer)[0].0, "clone/.git", "{:#}", answer.json);
    assert!(!repo.exists("clone/.git"));
}

#[test]
fn a_command_that_is_known_to_make_a_repository_makes_it() {
    let repo = repo();
    let rule = "[[command]]\nname = \"init\"\nargv = [\"git\", \"init\"]\ndecision = \"allow\"\n\
                reason = \"Yes.\"\nmatch = [\"git init\"]\n";
    std::fs::write(repo.home.join(".config/edt/edt.toml"), format!("{POLICY}{rule}")).unwrap();
    let answer = repo.runs(&[], &["git", "init", "-q", "fresh"]);
    assert_eq!(answer.json["run"]["exit_code"], 0, "{:#}", answer.json);
    assert!(repo.exists("fresh/.git/HEAD") && refused_names(&answer).is_empty());
    // From then on it is another repository.
    let answer = plant(&repo, "echo x > fresh/x");
    assert!(!repo.exists("fresh/x"), "{:#}", answer.json);
}

/// The repository `nested` with a commit that no other one has, and an uncommitted file.
fn with_unpushed_commit() -> TestRepo {
    let repo = repo();
    let text = "cd nested; git config user.name x; git config user.email x@x; echo x > f
        git add f; git commit -qm one; echo y > g; ln -s f l";
    assert!(repo.command("sh").args(["-c", text]).status().unwrap().success());
    repo
}

/// All files below `directory` with their bytes, links with their targets.
fn everything(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut all, mut waiting) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(next) = waiting.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_symlink() {
                let target = std::fs::read_link(&entry).unwrap();
                all.push((entry, target.into_os_string().into_encoded_bytes()));
            } else if entry.is_dir() {
                waiting.push(entry);
            } else {
                all.push((entry.clone(), std::fs::read(&entry).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn another_repository_below_the_worktree_is_read_only() {
    for ignored in [false, true] {
        let repo = with_unpushed_commit();
        if ignored {
            std::fs::write(repo.root.join(".git/info/exclude"), "/nested/\n").unwrap();
        }
        let nested = repo.root.join("nested");
        let before = everything(&nested);
        let answer = plant(&repo, "rm -rf nested; mv nested x; echo z > nested/f");
        assert_eq!(everything(&nested), before, "{ignored}: {:#}", answer.json);
        let warnings = answer.json["warnings"].as_array().unwrap();
        let denied = warnings.iter().find(|one| one["code"] == "sandbox_denied");
        assert!(denied.unwrap()["message"].as_str().unwrap().contains("nested"));
        // The user may allow it, as a whole or a directory in it.
        for (writable, path) in [("nested", "nested/f"), ("nested/.git", "nested/.git/x")] {
            let line = format!("writable = [\"{}\"]\n", repo.root.join(writable).display());
            let policy = format!("{POLICY}{line}");
            std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
            let answer = plant(&repo, &format!("echo z > {path}"));
            assert_eq!(answer.json["run"]["exit_code"], 0, "{writable}: {:#}", answer.json);
        }
    }
}

#[test]
fn nothing_outside_the_worktree_is_moved_or_written() {
    for level in ["permissive", "standard"] {
        let repo = repo();
        let policy = POLICY.replace("standard", level);
        std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
        let project = repo.home.join("project");
        std::fs::create_dir_all(project.join(".idea")).unwrap();
        std::fs::write(project.join(".idea/x.xml"), "mine\n").unwrap();
        repo.write("a/x", "x\n");
        std::os::unix::fs::symlink("../src", repo.root.join("a/.idea")).unwrap();
        let answer = plant(&repo, &format!("mv a b && ln -s {} a", project.display()));
        assert_eq!(answer.json["run"]["exit_code"], 0, "{level}: {:#}", answer.json);
        assert_eq!(std::fs::read(project.join(".idea/x.xml")).unwrap(), b"mine\n", "{level}");
        assert!(!project.join(".idea").is_symlink(), "{level}: {:#}", answer.json);
        let names = std::fs::read_dir(&project).unwrap().count();
        assert_eq!(names, 1, "{level}: {:#}", answer.json);
    }
}

#[test]
fn a_directory_with_nothing_but_ignored_files_is_not_an_ignored_one() {
    let repo = repo();
    std::fs::write(repo.root.join(".git/info/exclude"), ".envrc\n.env\n").unwrap();
    repo.write("only/.env", "A=1\n");
    let answer =
        plant(&repo, "echo x > only/.envrc; mkdir only/.husky; echo x > only/.husky/pre-commit");
    assert!(!repo.exists("only/.envrc"), "{:#}", answer.json);
    assert!(!repo.exists("only/.husky/pre-commit"), "{:#}", answer.json);
    assert_eq!(repo.read("only/.env"), b"A=1\n");
}

#[test]
fn another_worktree_below_is_neither_written_nor_examined() {
    let repo = repo();
    repo.git(&["worktree", "add", "--quiet", ".claude/worktrees/x", "-b", "x"]);
    let other = repo.root.join(".claude/worktrees/x");
    let answer = plant(&repo, "echo x > .claude/worktrees/x/.envrc");
    assert_ne!(answer.json["run"]["exit_code"], 0, "{:#}", answer.json);
    assert!(!other.join(".envrc").exists());
    // What only Git's list still names is a directory like any other.
    repo.git(&["worktree", "add", "--quiet", "gone", "-b", "gone"]);
    std::fs::remove_dir_all(repo.root.join("gone")).unwrap();
    let answer = plant(&repo, "mkdir gone; git init -q gone; touch gone/.envrc; true");
    assert_eq!(refused_names(&answer), ["gone/.git"], "{:#}", answer.json);
    assert!(!repo.exists("gone/.git") && !repo.exists("gone/.envrc"));
    // At permissive another agent may as well have written it.
    let policy = POLICY.replace("standard", "permissive");
    std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
    let answer = plant(
        &repo,
        "echo x > .claude/worktrees/x/new.rs; git worktree add -q .claude/worktrees/y -b y",
    );
    assert_eq!(quarantined(&answer), [], "{:#}", answer.json);
    assert!(other.join("new.rs").exists() && repo.exists(".claude/worktrees/y/.git"));
}

/// The address of a repository to clone, with the submodule `deep/sub`.
fn upstream(repo: &TestRepo) -> String {
    let directory = repo.root.join("build");
    std::fs::create_dir(&directory).unwrap();
    let text = "set -e; git config --global user.name x; git config --global user.email x@x
        for one in inner up; do git init -q $one; cd $one; echo x > f; git add f
        git config uploadpack.allowFilter true; git commit -qm one; cd ..; done
        cd up; git -c protocol.file.allow=always submodule --quiet add ../inner deep/sub
        git commit -qm two";
    let mut sh = repo.command("sh");
    let done = sh.args(["-c", text]).current_dir(&directory).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    format!("file://{}/up", directory.display())
}

#[test]
fn what_git_clone_makes_stays() {
    let repo = repo();
    let upstream = upstream(&repo);
    for level in ["standard", "permissive"] {
        let policy = POLICY.replace("standard", level);
        std::fs::write(repo.home.join(".config/edt/edt.toml"), policy).unwrap();
        for (number, flags) in [
            "--no-checkout --config advice.detachedHead=false",
            "--filter=blob:none",
            "--recurse-submodules",
            "--recurse-submodules --filter=blob:none --also-filter-submodules",
            "--recurse-submodules --depth 1 --shallow-submodules",
            "--sparse",
            "--depth 1 --no-tags",
            "--config commit.gpgsign=false --config tag.gpgSign=false",
            "--config core.autocrlf=input --config fetch.prune=true --config pull.rebase=false",
            "--config lfs.repositoryformatversion=0",
            "--mirror",
        ]
        .iter()
        .enumerate()
        {
            let name = format!("build/{level}{number}");
            let clone = format!(
                "git -c protocol.file.allow=always clone -q {flags} {upstream} {name} && git -C {name} log -1"
            );
            let answer = plant(&repo, &clone);
            assert_eq!(answer.json["run"]["exit_code"], 0, "{flags}: {:#}", answer.json);
            assert_eq!(quarantined(&answer), [], "{flags}: {:#}", answer.json);
            assert!(flags.contains("--mirror") || repo.exists(&format!("{name}/.git/HEAD")));
            let is_deep = flags.contains("--recurse");
            assert_eq!(repo.exists(&format!("{name}/deep/sub/.git")), is_deep, "{flags}");
        }
    }
}

#[test]
fn a_clone_with_a_setting_that_names_a_program_is_moved() {
    let repo = repo();
    let upstream = upstream(&repo);
    let clone =
        format!("git -c protocol.file.allow=always clone -q --recurse-submodules {upstream}");
    for (number, setting) in [
        "config core.fsmonitor x",
        "config core.sshCommand x",
        "config filter.x.clean x",
        "config gpg.program x",
        "config gpg.ssh.defaultKeyCommand x",
        "config alias.x '!x'",
        "config submodule.deep/sub.update '!x'",
        "config remote.origin.pushurl 'ext::x'",
        "config core.hooksPath x",
        "config core.worktree ..",
        "config credential.helper '!x'",
        "config include.path x",
        "config extensions.worktreeConfig true; git -C $C config --worktree core.fsmonitor x",
        "config -f .git/modules/deep/sub/config core.fsmonitor x",
        "config -f .git/modules/deep/sub/config core.worktree ../../../../../..",
        "config -f .git/modules/deep/sub/config core.worktree ../../..",
        "status; echo x > $C/.git/modules/deep/sub/hooks/post-checkout",
        "init -q; mkdir $C/.git/modules/x; ln -s ../../../../nested/.git $C/.git/modules/x/y",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("build/c{number}");
        let setting = setting.replace("$C", &name);
        let answer = plant(&repo, &format!("{clone} {name}\ngit -C {name} {setting}"));
        let setting = setting.replace(&name, "$C");
        let paths: Vec<String> = quarantined(&answer).into_iter().map(|(path, _)| path).collect();
        assert!(paths.contains(&format!("{name}/.git")), "{setting}: {:#}", answer.json);
        assert!(!repo.exists(&format!("{name}/.git")), "{setting}");
    }
}

#[test]
fn a_git_directory_does_not_hide_tracked_files() {
    for existing in [true, false] {
        let repo = repo();
        if existing {
            repo.git(&["init", "--quiet", "src"]);
        }
        let init = if existing { "true" } else { "git init -q src" };
        let answer = plant(&repo, &format!("{init}; echo by program > src/a.txt; rm src/b.txt"));
        let mut paths: Vec<&str> = answer.json["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|file| file["path"].as_str())
            .collect();
        paths.sort_unstable();
        assert_eq!(paths, ["src/a.txt", "src/b.txt"], "{existing}: {:#}", answer.json);
        repo.edt(&["undo"]);
        assert_eq!(std::fs::read(repo.root.join("src/a.txt")).unwrap(), b"one\n", "{existing}");
        assert_eq!(std::fs::read(repo.root.join("src/b.txt")).unwrap(), b"two\n", "{existing}");
        // What a guard refuses is rolled back there, too.
        let refused = plant(
            &repo,
            &format!(
                "{init}; echo '<<<<<<< a' > src/a.txt; echo ======= >> src/a.txt; echo '>>>>>>> b' >> src/a.txt"
            ),
        );
        assert!(refused.codes().contains(&"CONFLICT_MARKERS"), "{existing}: {:#}", refused.json);
        assert_eq!(std::fs::read(repo.root.join("src/a.txt")).unwrap(), b"one\n", "{existing}");
    }
}
