//! pre-commit (`PyPI`), lefthook and husky (npm) together with edt, each run for real, in every
//! order. `.ci/run` installs them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::hook_table::{By, Hooked, shell};
use crate::test_repo::{EDT, Snapshot, TestRepo, changed, walk};

/// A hook manager: its configuration, and how it installs its hooks.
struct Manager {
    program: &'static str,
    config: &'static str,
    text: &'static str,
    install: &'static str,
}

/// Each runs one command before a commit, which leaves a mark, and refuses while the home directory
/// has a file `no`.
const MANAGERS: [Manager; 3] = [
    Manager {
        program: "pre-commit",
        config: ".pre-commit-config.yaml",
        text: "repos:\n- repo: local\n  hooks:\n  - id: own\n    name: own\n    entry: sh -c 'echo x >>$HOME/ran; test ! -e $HOME/no'\n    language: system\n    always_run: true\n    pass_filenames: false\n",
        install: "pre-commit install",
    },
    Manager {
        program: "lefthook",
        config: "lefthook.yml",
        text: "pre-commit:\n  jobs:\n    - run: echo x >>$HOME/ran; test ! -e $HOME/no\nreference-transaction:\n  jobs:\n    - run: \"true\"\n",
        install: "lefthook install",
    },
    Manager {
        program: "husky",
        config: ".husky/pre-commit",
        text: "echo x >>$HOME/ran\ntest ! -e $HOME/no\n",
        install: "husky",
    },
];

/// The directories in which the managers may be.
fn directories() -> Vec<PathBuf> {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients");
    let mut all = vec![clients.join("venv/bin"), clients.join("node_modules/.bin")];
    all.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    all
}

fn find(program: &str) -> bool {
    let found = directories().iter().any(|directory| directory.join(program).is_file());
    if !found {
        println!("skipped: {program} is not installed; .ci/run installs it");
    }
    found
}

/// A repository with the manager, and a line of shell run in it by an agent: whether it passed, and
/// its output.
struct Managed {
    hooked: Hooked,
}

impl Managed {
    fn new(manager: &Manager) -> Managed {
        let hooked = Hooked::new();
        hooked.workspace.commit(&[(manager.config, manager.text.as_bytes())]);
        std::fs::set_permissions(
            hooked.workspace.root.join(manager.config),
            PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        hooked.workspace.git(&["commit", "--quiet", "--all", "--allow-empty", "-m", "executable"]);
        Managed { hooked }
    }

    fn workspace(&self) -> &TestRepo {
        &self.hooked.workspace
    }

    fn sh(&self, line: &str) -> (bool, String) {
        let mut paths = vec![Path::new(EDT).parent().unwrap().to_owned()];
        paths.extend(directories());
        let path = std::env::join_paths(paths).unwrap();
        let mut command = shell(self.workspace(), By::Agent, line);
        command.env("PATH", path);
        let done = command.output().unwrap();
        (
            done.status.success(),
            String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned(),
        )
    }

    #[track_caller]
    fn passes(&self, line: &str) -> String {
        let (passed, said) = self.sh(line);
        assert!(passed, "{line}: {said}");
        said
    }

    #[track_caller]
    fn refuses(&self, line: &str, word: &str) {
        let (passed, said) = self.sh(line);
        assert!(!passed && said.contains(word), "{line}: {said}");
    }

    /// How often the manager's own command has run.
    fn ran(&self) -> usize {
        std::fs::read_to_string(self.workspace().home.join("ran"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// The hooks directories, the configuration and lefthook's notes, wherever the repository is.
    fn around(&self) -> Snapshot {
        let (mut all, root) = (Snapshot::new(), self.workspace().root.display().to_string());
        for name in [".git/hooks", ".husky"] {
            let mut below = Snapshot::new();
            walk(&self.workspace().root.join(name), "", &mut below);
            all.extend(below.into_iter().map(|(path, bytes)| {
                let text = String::from_utf8_lossy(&bytes).replace(&root, "ROOT");
                (format!("{name}/{path}"), text.into_bytes())
            }));
        }
        all.insert("config".to_owned(), self.workspace().read(".git/config"));
        all
    }

    /// Everything is live: edt refuses, the manager refuses, and a commit that both pass is judged
    /// by the manager once.
    #[track_caller]
    fn is_live(&self, manager: &Manager) {
        let doctor = self.passes("edt doctor");
        assert!(!doctor.contains("not live"), "{doctor}");
        let workspace = self.workspace();
        workspace.write("m.txt", "<<<<<<< a\n=======\n>>>>>>> b\n");
        self.refuses("git add m.txt && git commit -m x", "CONFLICT_MARKERS m.txt");
        workspace.git(&["rm", "--quiet", "--cached", "m.txt"]);
        std::fs::remove_file(workspace.root.join("m.txt")).unwrap();
        let no = workspace.home.join("no");
        std::fs::write(&no, "").unwrap();
        let head = workspace.rev("HEAD");
        self.sh("echo more >>b.txt; git commit -q -am x");
        assert_eq!(workspace.rev("HEAD"), head, "{} refuses", manager.program);
        std::fs::remove_file(&no).unwrap();
        let before = self.ran();
        self.passes("git commit -q -am x");
        assert_eq!(self.ran(), before + 1, "{} was asked once", manager.program);
        self.refuses("git branch -D edt/work", "GIT_OPERATION_BLOCKED");
        self.refuses("git push origin edt/work", "GIT_OPERATION_BLOCKED");
    }

    /// What is there is what the manager alone would have made.
    #[track_caller]
    fn is_the_managers_alone(&self, manager: &Manager) {
        let alone = Managed::new(manager);
        alone.passes(manager.install);
        let expected = alone.around();
        assert_eq!(changed(&expected, &self.around()), Vec::<String>::new(), "{}", manager.program);
    }
}

#[test]
fn edt_installed_after_a_hook_manager() {
    for manager in MANAGERS.iter().filter(|manager| find(manager.program)) {
        let managed = Managed::new(manager);
        managed.passes(manager.install);
        managed.passes("edt hooks install");
        managed.is_live(manager);
        managed.workspace().edt(&["hooks", "uninstall"]);
        managed.is_the_managers_alone(manager);
    }
}

#[test]
fn a_hook_manager_installed_after_edt() {
    for manager in MANAGERS.iter().filter(|manager| find(manager.program)) {
        let managed = Managed::new(manager);
        managed.passes("edt hooks install");
        managed.passes(manager.install);
        let (well, said) = managed.sh("edt doctor");
        match manager.program {
            // It calls the hook that it found.
            "pre-commit" => {
                assert!(well && said.contains("called by the program pre-commit"), "{said}");
            }
            "husky" => {
                assert!(!well && said.contains("core.hooksPath = .husky/_ (husky"), "{said}");
            }
            _ => assert!(!well && said.contains("lefthook's hook is installed instead"), "{said}"),
        }
        managed.passes("edt doctor --fix");
        managed.is_live(manager);
        managed.workspace().edt(&["hooks", "uninstall"]);
        managed.is_the_managers_alone(manager);
    }
}

#[test]
fn a_hook_manager_installed_before_and_again_after_edt() {
    for manager in MANAGERS.iter().filter(|manager| find(manager.program)) {
        let managed = Managed::new(manager);
        managed.passes(manager.install);
        managed.passes("edt hooks install");
        managed.passes(manager.install);
        managed.passes("edt doctor --fix");
        managed.is_live(manager);
        managed.workspace().edt(&["hooks", "uninstall"]);
        managed.is_the_managers_alone(manager);
    }
}

#[test]
fn a_users_hook_outlives_edt_and_pre_commit() {
    let [first, ..] = &MANAGERS;
    if !find(first.program) {
        return;
    }
    let managed = Managed::new(first);
    let hook = managed.workspace().root.join(".git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho y >>$HOME/mine\n").unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    managed.passes("edt hooks install");
    managed.passes(first.install);
    managed.is_live(first);
    assert!(managed.workspace().home.join("mine").exists());
    managed.workspace().edt(&["hooks", "uninstall"]);
    std::fs::remove_file(managed.workspace().home.join("mine")).unwrap();
    managed.passes("git commit -q --allow-empty -m x");
    assert!(managed.workspace().home.join("mine").exists(), "pre-commit calls it now");
}

#[test]
fn the_hooks_manifest_works_with_pre_commit() {
    if !find("pre-commit") {
        return;
    }
    let managed = Managed::new(&MANAGERS[0]);
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    managed.passes(&format!("pre-commit validate-manifest {}", manifest.display()));
    let source = managed.workspace().at(managed.workspace().root.parent().unwrap().join("source"));
    std::fs::create_dir(&source.root).unwrap();
    source.git(&["init", "--quiet"]);
    source.write(".pre-commit-hooks.yaml", std::fs::read(&manifest).unwrap());
    source.git(&["add", "--all"]);
    source.git(&["-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x"]);
    let config = format!(
        "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: edt-guards\n",
        source.root.display(),
        source.rev("HEAD")
    );
    managed.workspace().commit(&[(".pre-commit-config.yaml", config.as_bytes())]);
    managed.passes("pre-commit install");
    managed.workspace().write("m.txt", "<<<<<<< a\n=======\n>>>>>>> b\n");
    managed.refuses("git add m.txt && git commit -m x", "CONFLICT_MARKERS m.txt");
    managed.workspace().write("m.txt", "fine\n");
    let said = managed.passes("git add m.txt && git commit -m x");
    assert!(said.contains("edt guards") && said.contains("Passed"), "{said}");
}
