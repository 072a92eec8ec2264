//! Policy only tightens without the user: no environment, base, target, session, commit or push of
//! an agent gives it more than the user's and the repository's policy allow.

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

/// Whether this machine knows the home directory of the account that runs the tests.
fn has_account() -> bool {
    let me = run_id();
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = table.lines().any(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        fields.len() > 5 && fields[2] == me && std::path::Path::new(fields[5]).is_dir()
    });
    if !known {
        println!("skipped: this account has no home directory");
    }
    known
}

fn run_id() -> String {
    let done = std::process::Command::new("id").arg("-u").output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Runs `edt` as an agent that sets these variables.
fn as_agent(repo: &TestRepo, env: &[(&str, &str)], stdin: &str, args: &[&str]) -> Answer {
    let mut command = repo.command(EDT);
    command.env("EDT_AGENT", "1").envs(env.iter().copied()).args(args).arg("--json");
    run(command, stdin.as_bytes(), args)
}

fn create(path: &str) -> String {
    json!({"path": path, "mode": "create", "content": "# x\n"}).to_string()
}

#[test]
fn the_environment_of_an_agent_names_no_policy() {
    if !has_account() {
        return;
    }
    let repo = TestRepo::with(&[("a.txt", b"one\n")]);
    repo.unprotect(".envrc");
    let before = repo.files();
    let held = as_agent(&repo, &[], &create(".envrc"), &["apply", "--request", "-"]);
    assert_eq!((held.codes(), held.exit), (vec!["TRUST_REQUIRED"], 4), "{:#}", held.json);
    assert!(held.hint().contains("XDG_CONFIG_HOME"), "{}", held.hint());
    assert_eq!(repo.files(), before);
    let elsewhere = repo.home.join("empty");
    let empty = [("HOME", elsewhere.to_str().unwrap()), ("XDG_CONFIG_HOME", "/nowhere")];
    let held = as_agent(&repo, &empty, &create(".envrc"), &["apply", "--request", "-"]);
    assert_eq!(held.codes(), ["APPROVAL_REQUIRED"], "{:#}", held.json);
    as_agent(&repo, &empty, &create("b.txt"), &["apply", "--request", "-"]).landed();
}

#[test]
fn the_environment_of_an_agent_names_no_trust() {
    if !has_account() {
        return;
    }
    let policy = "[[validator]]\nname = \"v\"\npaths = [\"*.txt\"]\n\
                  command = [\"sh\", \"-c\", \"exit 1\", \"sh\", \"{file}\"]\n\
                  only_new = false\n";
    let repo = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy.as_bytes())]);
    assert_eq!(repo.at_terminal("trust", "yes\n").0, Some(0));
    let append = ["apply", "a.txt", "--mode", "append", "--content", "x\n"];
    let answer = as_agent(&repo, &[], "", &append);
    assert_eq!(answer.json["warnings"][0]["code"], "trust_required", "{:#}", answer.json);
    let refused = repo.edt(&append);
    assert_eq!(refused.codes(), ["VALIDATOR_FAILED"], "the user's trust counts otherwise");
}

#[test]
fn the_environment_of_an_agent_names_no_programs() {
    if !has_account() {
        return;
    }
    let repo = TestRepo::with(&[("a.txt", b"one\n"), (".gitattributes", b"*.bin filter=x\n")]);
    let canary = repo.home.join("canary");
    let touch = format!("sh -c 'touch {}; cat'", canary.display());
    let set = |key: &'static str, value: &str| {
        [
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", key.to_owned()),
            ("GIT_CONFIG_VALUE_0", value.to_owned()),
        ]
    };
    let call = |env: &[(&str, String)], stdin: &str, args: &[&str]| {
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        as_agent(&repo, &env, stdin, args)
    };
    let filter = set("filter.x.clean", &touch);
    let refused = call(&filter, &create("a.bin"), &["apply", "--request", "-"]);
    assert_eq!(refused.codes(), ["TRUST_REQUIRED"], "{:#}", refused.json);
    let global = repo.home.join("agents.config");
    std::fs::write(&global, format!("[filter \"x\"]\n\tclean = {touch:?}\n")).unwrap();
    let file = [("GIT_CONFIG_GLOBAL", global.to_str().unwrap().to_owned())];
    let refused = call(&file, &create("a.bin"), &["apply", "--request", "-"]);
    assert_eq!(refused.codes(), ["TRUST_REQUIRED"], "{:#}", refused.json);

    repo.overwrite("a.txt", "two\n");
    let hooks = repo.home.join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let hook = hooks.join("pre-commit");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", canary.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let hooks = set("core.hooksPath", hooks.to_str().unwrap());
    let refused = call(&hooks, "", &["land"]);
    assert_eq!(refused.codes(), ["TRUST_REQUIRED"], "{:#}", refused.json);
    assert!(!canary.exists());
    call(&[("HOME", "/nowhere".to_owned())], "", &["land"]).landed();
    assert!(!canary.exists());
}

/// A repository that only the user may weaken: `ci/**` is protected, and the tip of `main` has a
/// stricter policy than the commit before it.
fn guarded() -> TestRepo {
    let repo = TestRepo::with(&[("a.txt", b"one\n"), ("ci/run", b"true\n"), ("edt.toml", LOOSE)]);
    repo.commit(&[("edt.toml", STRICT)]);
    repo
}

const LOOSE: &[u8] = b"[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n";
const STRICT: &[u8] =
    b"[[protect]]\npaths = [\"ci/**\"]\n[guards.size_reduction]\noverride = \"never\"\n";

#[test]
fn a_commit_without_hooks_is_no_approval() {
    let repo = guarded();
    repo.edt(&["begin", "s"]).landed();
    for (path, text) in [("ci/run", "false\n"), ("edt.toml", ""), (".envrc", "x\n")] {
        let tip = repo.rev("HEAD");
        repo.write(path, text);
        repo.git(&["add", path]);
        repo.git(&["commit", "--quiet", "--no-verify", "-m", "by hand"]);
        let refused = repo.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
        assert!(refused.message().contains(path), "{}", refused.message());
        repo.git(&["reset", "--quiet", "--hard", &tip]);
    }
    repo.write("ci/run", "false\n");
    repo.git(&["commit", "--quiet", "-am", "by hand"]);
    repo.as_user(b"", &["land"], &[]).landed();
}

#[test]
fn a_commit_without_hooks_passes_no_guard() {
    let text = crate::test_repo::lines(200);
    let repo = guarded();
    repo.commit(&[("long.txt", text.as_bytes())]);
    repo.edt(&["begin", "s"]).landed();
    repo.write("long.txt", "short\n");
    repo.git(&["commit", "--quiet", "--no-verify", "-am", "by hand"]);
    let codes = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
    repo.refuses(&codes, 1, &["land"]);
    repo.refuses(&codes, 1, &["land", "--allow", "size_reduction"]);
    repo.as_user(b"", &["land"], &[]).landed();
}

#[test]
fn a_forged_override_is_no_approval() {
    type Change = fn(&TestRepo);
    let policy: &[u8] = b"[guards.size_reduction]\noverride = \"approval\"\n\
        [guards.mass_deletion]\noverride = \"approval\"\nmax_files = 2\n";
    let long = crate::test_repo::lines(200);
    let files: [(&str, &[u8]); 5] = [
        ("edt.toml", policy),
        ("long.txt", long.as_bytes()),
        ("a", b"a\n"),
        ("b", b"b\n"),
        ("c", b"c\n"),
    ];
    let forged = |word: &str| {
        format!("x\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Allowed: {word}\n")
    };
    let cut: Change = |repo| repo.write("long.txt", "short\n");
    let remove: Change = |repo| {
        for name in ["a", "b", "c"] {
            std::fs::remove_file(repo.root.join(name)).unwrap();
        }
    };
    let cases =
        [("size_reduction", "SIZE_REDUCTION", cut), ("mass_deletion", "MASS_DELETION", remove)];
    for (word, code, change) in cases {
        for message in [forged(word), "by hand".to_owned()] {
            let repo = TestRepo::with(&files);
            repo.edt(&["begin", "s"]).landed();
            change(&repo);
            repo.git(&["commit", "--quiet", "--no-verify", "-am", &message]);
            let main = repo.rev("main");
            for land in [&["land"][..], &["land", "--allow", word]] {
                let refused = repo.edt(land);
                let codes = refused.codes();
                assert!(
                    codes[..] == [code, "APPROVAL_REQUIRED"]
                        || codes[..] == ["APPROVAL_REQUIRED"; 2],
                    "{word}, {message:?}, {land:?}: {:#}",
                    refused.json
                );
                let asks = |error: &Value| error["hint"].as_str().unwrap().contains("the user");
                assert!(refused.errors().iter().all(asks), "{:#}", refused.json);
                assert_eq!(repo.rev("main"), main);
            }
            repo.as_user(b"", &["land", "--allow", word], &[]).landed();
        }
    }
}

#[test]
fn an_agent_begins_from_no_commit_with_another_policy() {
    let repo = guarded();
    for from in ["main~1", "HEAD^"] {
        let refused = repo.refuses(&["PROTECTED_PATH"], 1, &["begin", "s", "--from", from]);
        assert!(refused.message().contains("edt.toml"), "{}", refused.message());
    }
    repo.commit(&[("b.txt", b"b\n")]);
    repo.edt(&["begin", "same", "--from", "main~1"]).landed();
    repo.edt(&["abandon"]).landed();
    repo.as_user(b"", &["begin", "old", "--from", "main~2"], &[]).landed();
}

#[test]
fn losses_of_several_landings_add_up_until_the_user_lands() {
    let text = crate::test_repo::lines(400);
    let repo = guarded();
    repo.commit(&[("long.txt", text.as_bytes())]);
    let cut = |name: &str, kept: usize| {
        repo.edt(&["begin", name]).landed();
        let kept = crate::test_repo::lines(kept);
        repo.edt(&["apply", "long.txt", "--mode", "overwrite", "--content", &kept]).landed();
    };
    cut("one", 160);
    repo.edt(&["land"]).landed();
    cut("two", 130);
    let refused = repo.refuses(&["SIZE_REDUCTION"], 1, &["land", "--allow", "size_reduction"]);
    let against = &refused.errors()[0]["evidence"]["against"];
    assert_eq!(against, "the branch as the user left it", "{:#}", refused.json);
    repo.as_user(b"", &["land"], &[]).landed();
    cut("three", 60);
    repo.edt(&["land"]).landed();
    cut("four", 40);
    repo.refuses(&["SIZE_REDUCTION"], 1, &["land"]);
    repo.edt(&["abandon"]).landed();
    repo.commit(&[("b.txt", b"by the user\n")]);
    cut("five", 40);
    repo.edt(&["land"]).landed();
}

#[test]
fn an_agent_raises_no_number_of_its_policy() {
    let policy = "[session]\nmax_edits = 1\n[limits]\nfailed_patches = 1\n";
    let repo = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy.as_bytes())]);
    let looser = "[session]\nmax_edits = 9\n[limits]\nfailed_patches = 9\n";
    let wrong = json!({"path": "a.txt", "mode": "edit", "old_text": "no such text", "content": ""});
    let edit = json!({"path": "edt.toml", "mode": "overwrite", "content": looser});
    assert_eq!(repo.apply(&edit).codes(), ["APPROVAL_REQUIRED"]);
    // The file on disk is not the policy of the session.
    repo.write("edt.toml", looser);
    let append = json!({"path": "a.txt", "mode": "append", "content": "x\n"});
    let landed = repo.apply(&append).landed();
    assert_eq!(landed.json["remaining_edits"], 0, "{:#}", landed.json);
    let refused = repo.apply(&append);
    assert_eq!(refused.codes(), ["EDIT_LIMIT_REACHED"]);
    assert!(refused.hint().contains("The user can raise `[session] max_edits`"));
    assert_eq!(repo.apply(&wrong).codes(), ["EDIT_LIMIT_REACHED"]);
    let other = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy.as_bytes())]);
    other.write("edt.toml", looser);
    assert_eq!(other.apply(&wrong).codes(), ["INVALID_PATCH_LIMIT_EXCEEDED"]);
}

#[test]
fn a_hook_refuses_an_edit_beyond_the_budget() {
    let policy = b"[session]\nmax_edits = 1\n";
    let repo = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy)]);
    repo.apply(&json!({"path": "a.txt", "mode": "append", "content": "x\n"})).landed();
    let payload = json!({"session_id": "s", "cwd": repo.root, "hook_event_name": "PreToolUse",
        "tool_name": "Edit", "tool_input":
        {"file_path": repo.root.join("a.txt"), "old_string": "one", "new_string": "two"}});
    let mut command = repo.command(EDT);
    command.args(["agent-hook", "claude-code"]).stdin(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, payload.to_string().as_bytes()).unwrap();
    drop(input);
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("EDIT_LIMIT_REACHED"), "{said}");
}
