//! Proposals: what waits for the user's approval, and what an approval covers.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, lines, type_at};

const PROTECT: &str = "[[protect]]\npaths = [\"ci/**\", \"*.lock\"]\noverride = \"approval\"\n[[protect]]\npaths = [\"edt.toml\"]\n[guards.size_reduction]\noverride = \"approval\"\n";

fn workspace() -> TestRepo {
    let long = lines(100);
    TestRepo::with(&[
        ("edt.toml", PROTECT.as_bytes()),
        ("ci/run", b"cargo test\n"),
        ("src/long.txt", long.as_bytes()),
        ("a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        ("x.lock", b"1\n"),
    ])
}

#[track_caller]
fn approve(workspace: &TestRepo, id: u64) {
    let (status, screen) = workspace.at_terminal(&format!("approve {id}"), "yes\n");
    assert_eq!(status, Some(0), "{screen}");
}

fn ci(content: &str) -> Value {
    json!({"path": "ci/run", "mode": "overwrite", "content": content})
}

fn states(workspace: &TestRepo) -> Vec<(u64, String)> {
    let listed = workspace.edt(&["proposals", "--all"]).json;
    let one =
        |one: &Value| (one["id"].as_u64().unwrap(), one["state"].as_str().unwrap().to_owned());
    listed["proposals"].as_array().unwrap().iter().map(one).collect()
}

fn warnings(answer: &Answer) -> Vec<&str> {
    answer.json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect()
}

#[test]
fn a_path_that_needs_approval_becomes_a_proposal_that_lands_once_approved() {
    let workspace = workspace();
    let (files, refs) = (workspace.files(), workspace.git(&["for-each-ref", "refs/heads"]));
    let held = workspace.apply(&ci("cargo test --all\n"));
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    assert!(
        held.hint().contains("`edt approve p1`") && held.hint().contains("edt apply --proposal p1"),
        "{}",
        held.hint()
    );
    assert_eq!(
        (workspace.files(), workspace.git(&["for-each-ref", "refs/heads"])),
        (files, refs),
        "nothing but the proposal"
    );
    assert_eq!(workspace.edt(&["status"]).json["proposals"], json!(["p1"]));
    // The same again is the same proposal.
    assert_eq!(workspace.apply(&ci("cargo test --all\n")).json["proposal"], json!(1));
    let shown = workspace.edt(&["show", "p1"]).json;
    assert_eq!(
        (&shown["proposal"]["state"], &shown["grants"]),
        (&json!("open"), &json!(["protected_path ci/run"]))
    );
    assert!(
        shown["files"][0]["patch"].as_str().unwrap().contains("-cargo test\n+cargo test --all\n"),
        "{shown:#}"
    );
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["apply", "--proposal", "p1"]);
    approve(&workspace, 1);
    // The next answer of any command reports the decision, once.
    let next = workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "eight\n"}));
    assert_eq!((next.exit, warnings(&next)), (0, vec!["user_approved"]), "{:#}", next.json);
    let landed = workspace.edt(&["apply", "--proposal", "p1"]);
    assert_eq!(
        (landed.exit, &landed.json["proposal"], warnings(&landed)),
        (0, &json!(1), vec![]),
        "{:#}",
        landed.json
    );
    assert_eq!(workspace.text("ci/run"), "cargo test --all\n");
    let trailers = workspace.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Edt-Proposal,key=Edt-Allowed,unfold)",
    ]);
    assert_eq!(trailers, "Edt-Allowed: protected_path\nEdt-Proposal: 1\n\n");
    workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "p1"]);
    assert_eq!(states(&workspace), [(1, "done".to_owned())]);
    // Another change of the path needs another word.
    assert_eq!(workspace.apply(&ci("rm -rf /\n")).codes(), ["APPROVAL_REQUIRED"]);
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn an_override_that_needs_approval_becomes_a_proposal() {
    let workspace = workspace();
    let shrink = json!({"path": "src/long.txt", "mode": "overwrite", "content": "}\n", "allow": ["size_reduction"]});
    let plain = json!({"path": "src/long.txt", "mode": "overwrite", "content": "}\n"});
    let refused = workspace.refuses_request(&["SIZE_REDUCTION"], 1, &plain);
    assert!(
        refused.hint().contains("allow: [\"size_reduction\"]")
            && refused.hint().contains("proposal"),
        "{}",
        refused.hint()
    );
    let held = workspace.apply(&shrink);
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    approve(&workspace, 1);
    let landed = workspace.edt(&["apply", "--proposal", "p1"]);
    assert_eq!(
        (landed.exit, workspace.text("src/long.txt").as_str()),
        (0, "}\n"),
        "{:#}",
        landed.json
    );
    // Neither a dry run nor a guard without an override makes a proposal.
    let dry = workspace.edt_fed(ci("x\n").to_string().as_bytes(), &["check", "--request", "-"]);
    assert_eq!((dry.codes(), &dry.json["proposal"]), (vec!["APPROVAL_REQUIRED"], &Value::Null));
    workspace.refuses(
        &["PROTECTED_PATH"],
        1,
        &["propose", "edt.toml", "--mode", "append", "--content", "#\n"],
    );
    assert_eq!(states(&workspace).len(), 1);
}

#[test]
fn only_the_user_at_a_terminal_approves() {
    let workspace = workspace();
    workspace.apply(&ci("x\n"));
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["approve", "p1"]);
    workspace.unchanged(&["APPROVAL_REQUIRED"], 4, || {
        workspace.edt_fed(b"yes\n", &["approve", "p1", "--apply"])
    });
    let (status, screen) = workspace.at_terminal("approve p1", "no\n");
    assert_eq!(status, Some(4), "{screen}");
    // An agent in a terminal is none.
    let mut command = workspace.command("script");
    command
        .args(["-qec", &format!("'{EDT}' approve p1"), "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("EDT_AGENT", "1");
    let done = type_at(command.stdout(Stdio::piped()), "yes\n");
    assert_eq!(done.status.code(), Some(4), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(states(&workspace), [(1, "open".to_owned())]);
    let (status, screen) = workspace.at_terminal("approve p1 --apply", "yes\n");
    assert_eq!((status, workspace.text("ci/run").as_str()), (Some(0), "x\n"), "{screen}");
    assert!(screen.contains("+x") && screen.contains("protected_path ci/run"), "{screen}");
    workspace.refuses(&["PROPOSAL_NOT_FOUND"], 1, &["approve", "p99"]);
    workspace.refuses(&["PROPOSAL_NOT_FOUND"], 1, &["apply", "--proposal", "p99"]);
}

#[test]
fn a_rejection_reaches_the_agent_with_its_reason() {
    let workspace = workspace();
    let proposed =
        workspace.edt(&["propose", "a.txt", "--mode", "append", "--content", "x\n", "-m", "add x"]);
    assert_eq!(
        (proposed.exit, proposed.json["status"].as_str(), &proposed.json["proposal"]),
        (0, Some("proposed"), &json!(1))
    );
    workspace.refuses(&["BAD_REQUEST"], 2, &["reject", "p1", "-m", " "]);
    let why = "Not here.\n\nPut it into b.txt, and say why.";
    let (status, screen) = workspace.at_terminal(&format!("reject p1 -m '{why}'"), "");
    assert_eq!(status, Some(0), "{screen}");
    let next = workspace.edt(&["checkpoint"]);
    assert_eq!((next.exit, warnings(&next)), (0, vec!["user_rejected"]), "{:#}", next.json);
    assert!(next.json["warnings"][0]["message"].as_str().unwrap().contains(why), "{:#}", next.json);
    assert_eq!(warnings(&workspace.edt(&["checkpoint"])), Vec::<&str>::new(), "once");
    let refused = workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "p1"]);
    assert!(refused.message().contains(why), "{}", refused.message());
    // The user may change the decision.
    approve(&workspace, 1);
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    assert_eq!(workspace.git(&["log", "-1", "--format=%s"]), "add x\n");
}

#[test]
fn a_newer_proposal_closes_the_one_it_replaces() {
    let workspace = workspace();
    let propose = |path: &str, content: &str| {
        workspace.edt(&["propose", path, "--mode", "overwrite", "--content", content])
    };
    propose("a.txt", "two\n".repeat(6).as_str());
    propose("x.lock", "2\n");
    let third = propose("a.txt", "three\n".repeat(6).as_str());
    assert_eq!(warnings(&third), ["superseded"], "{:#}", third.json);
    let wanted = [(1, "superseded".to_owned()), (2, "open".to_owned()), (3, "open".to_owned())];
    assert_eq!(states(&workspace), wanted);
    let (status, screen) = workspace.at_terminal("approve p1", "yes\n");
    assert_eq!(status, Some(1), "{screen}");
    let refused = workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "p1"]);
    assert!(refused.hint().contains("edt show p3"), "{}", refused.hint());
}

#[test]
fn changes_since_the_proposal_are_merged_or_refused() {
    let workspace = workspace();
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": new});
    let propose = |request: &Value| {
        workspace.edt_fed(request.to_string().as_bytes(), &["propose", "--request", "-"])
    };
    propose(&edit("two\n", "TWO\n"));
    approve(&workspace, 1);
    // Changes elsewhere in the file, by an edit and by the user without a commit, are merged.
    workspace.apply(&edit("seven\n", "SEVEN\n")).landed_with(&["user_approved"]);
    workspace.write("a.txt", "zero\n".to_owned() + &workspace.text("a.txt"));
    let landed = workspace.edt(&["apply", "--proposal", "p1"]);
    assert_eq!(
        (landed.exit, workspace.text("a.txt").as_str()),
        (0, "zero\none\nTWO\nthree\nfour\nfive\nsix\nSEVEN\n"),
        "{:#}",
        landed.json
    );
    assert_eq!(workspace.git(&["diff", "--numstat", "HEAD"]), "1\t0\ta.txt\n");
    // The same lines: refused, and nothing changed.
    propose(&edit("four\n", "FOUR\n"));
    approve(&workspace, 2);
    workspace.apply(&edit("four\n", "vier\n")).landed_with(&["user_approved"]);
    let stale = workspace.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "p2"]);
    assert!(
        stale.message().contains("a.txt") && stale.hint().contains("edt propose"),
        "{:#}",
        stale.json
    );
    // A part of it made already: what would land is not what was seen.
    propose(
        &json!({"edits": [edit("five\n", "FIVE\n"), {"path": "x.lock", "mode": "overwrite", "content": "2\n"}]}),
    );
    approve(&workspace, 3);
    workspace.apply(&edit("five\n", "FIVE\n")).landed_with(&["user_approved"]);
    workspace.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "p3"]);
    // The file is gone, or another file is in place of the new one.
    propose(&json!({"path": "new.txt", "mode": "create", "content": "mine\n"}));
    approve(&workspace, 4);
    workspace.write("new.txt", "a user's\n");
    workspace.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "p4"]);
    assert_eq!(workspace.text("new.txt"), "a user's\n");
    workspace.is_sound();
}

#[test]
fn guards_judge_again_what_was_approved() {
    let workspace = TestRepo::with(&[
        ("a.c", b"int f(void) {\n  return 1;\n}\n"),
        ("b.c", b"int g(void) {\n  return 2;\n}\n"),
    ]);
    let both = json!({"edits": [
        {"path": "a.c", "mode": "edit", "old_text": "return 1;", "content": "return 3;"},
        {"path": "b.c", "mode": "append", "content": "int h(void) {\n  return 4;\n}\n"}]});
    workspace.edt_fed(both.to_string().as_bytes(), &["propose", "--request", "-"]);
    approve(&workspace, 1);
    // The user adds the function that the proposal would add: the merge is clean, and the name is
    // defined twice.
    workspace.write("b.c", "int h(void) {\n  return 4;\n}\n\nint g(void) {\n  return 2;\n}\n");
    let refused = workspace.edt(&["apply", "--proposal", "p1"]);
    assert_eq!((refused.exit, refused.codes()), (1, vec!["DUPLICATE_CODE"]), "{:#}", refused.json);
    assert_eq!(states(&workspace), [(1, "approved".to_owned())]);
}

#[test]
fn everything_that_an_edit_can_do_can_be_proposed() {
    let workspace = TestRepo::with(&[
        ("keep.txt", b"keep\n"),
        ("gone.txt", b"gone\n"),
        ("from.txt", lines(20).as_bytes()),
        ("crlf.txt", b"a\r\nb\r\n"),
        (".gitattributes", b"*.eol text eol=crlf\n"),
        ("x.eol", b"one\r\ntwo\r\n"),
        ("bin", b"\0\x01"),
    ]);
    let request = json!({"message": "many", "agent": "robot", "edits": [
        {"path": "new/deep.txt", "mode": "create", "content": "new\n", "executable": true},
        {"path": "gone.txt", "mode": "delete"},
        {"path": "from.txt", "mode": "rename", "to": "to.txt"},
        {"path": "crlf.txt", "mode": "edit", "old_text": "b", "content": "c"},
        {"path": "x.eol", "mode": "edit", "old_text": "two", "content": "three"},
        {"path": "keep.txt", "mode": "append", "content": "more\n"}]});
    let direct = workspace.edt_fed(request.to_string().as_bytes(), &["check", "--request", "-"]);
    assert_eq!(direct.exit, 0, "{:#}", direct.json);
    workspace.edt_fed(request.to_string().as_bytes(), &["propose", "--request", "-"]);
    let before = workspace.files();
    approve(&workspace, 1);
    assert_eq!(workspace.files(), before);
    let landed = workspace.edt(&["apply", "--proposal", "p1"]);
    assert_eq!(landed.exit, 0, "{:#}", landed.json);
    assert_eq!(workspace.read("x.eol"), b"one\r\nthree\r\n");
    assert_eq!(workspace.read("crlf.txt"), b"a\r\nc\r\n");
    assert_eq!(
        (workspace.exists("from.txt"), workspace.text("to.txt"), workspace.exists("gone.txt")),
        (false, lines(20), false)
    );
    assert_eq!(
        workspace.git(&["ls-tree", "HEAD", "new/deep.txt"]).split(' ').next(),
        Some("100755")
    );
    assert!(workspace.git(&["log", "-1", "--format=%B"]).contains("Edt-Agent: robot"));
    assert_eq!(workspace.rev("HEAD^{tree}"), workspace.rev("refs/edt/proposals/1^{tree}"));
    workspace.is_clean();
    workspace.edt(&["undo"]);
    assert_eq!(workspace.files(), before);
    workspace.is_sound();
}

#[test]
fn a_command_that_needs_approval_runs_once_after_it() {
    let workspace = workspace();
    let call = || workspace.runs(&["--env", "A=b"], &["cp", "a.txt", "/tmp/edt-never-made"]);
    let held = call();
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    assert!(
        held.hint().contains("edt approve p1") && held.message().contains("Nothing was run"),
        "{:#}",
        held.json
    );
    assert_eq!(call().json["proposal"], json!(1), "asked twice, one proposal");
    // Any other call is another command.
    assert_eq!(
        workspace.runs(&["--env", "A=c"], &["cp", "a.txt", "/tmp/edt-never-made"]).json["proposal"],
        json!(2)
    );
    assert_eq!(
        workspace
            .runs(&["--cwd", "src", "--env", "A=b"], &["cp", "a.txt", "/tmp/edt-never-made"])
            .json["proposal"],
        json!(3)
    );
    assert_eq!(
        workspace
            .runs(
                &["--sandbox", "permissive", "--env", "A=b"],
                &["cp", "a.txt", "/tmp/edt-never-made"]
            )
            .json["proposal"],
        json!(4)
    );
    let (status, screen) = workspace.at_terminal("approve p1", "yes\n");
    assert!(
        status == Some(0)
            && screen.contains("cp a.txt /tmp/edt-never-made")
            && screen.contains("A=b"),
        "{screen}"
    );
    let ran = call();
    // The sandbox holds it all the same: a word for a command is none for a place outside.
    assert_eq!(
        (ran.exit, ran.json["status"].as_str(), warnings(&ran)),
        (10, Some("failed"), vec!["sandbox_denied", "user_approved"]),
        "{:#}",
        ran.json
    );
    assert_eq!(call().json["proposal"], json!(5), "a word is good for one run");
    let (status, _) = workspace.at_terminal("reject p5 -m 'Copy it below out/ instead.'", "");
    assert_eq!(status, Some(0));
    let again = call();
    assert_eq!((again.exit, again.codes()), (1, vec!["PROPOSAL_REJECTED"]), "{:#}", again.json);
    assert!(again.message().contains("below out/"), "{}", again.message());
    workspace.refuses(&["BAD_REQUEST"], 2, &["approve", "p2", "--apply"]);
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn an_approval_of_a_command_is_for_its_exact_arguments() {
    let workspace = workspace();
    let rule = "[[command]]\nname = \"dep\"\nargv = [\"./dep\"]\ndecision = \"ask\"\nreason = \"It deploys.\"\nmatch = [\"./dep\"]\n[[command]]\nname = \"sh\"\nargv = [\"sh\"]\ndecision = \"ask\"\nreason = \"A shell.\"\nmatch = [\"sh\"]\n";
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), rule).unwrap();
    let program = |text: &str| {
        workspace.write("dep", text);
        std::fs::set_permissions(
            workspace.root.join("dep"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    };
    let call = || workspace.runs(&[], &["./dep"]);
    program("#!/bin/sh\necho good\n");
    assert_eq!(call().json["proposal"], json!(1));
    approve(&workspace, 1);
    program("#!/bin/sh\necho evil\n");
    assert_eq!(call().json["proposal"], json!(2), "another program");
    program("#!/bin/sh\necho good\n");
    assert_eq!(call().json["run"]["stdout"]["text"], "good\n");
    // What it reads is part of it, and is shown.
    let fed = |text: &str| {
        workspace.edt_fed(
            json!({"program": "sh", "stdin": text}).to_string().as_bytes(),
            &["run", "--request", "-"],
        )
    };
    let held = fed("echo one");
    assert!(held.message().contains("echo one"), "{}", held.message());
    approve(&workspace, 3);
    assert_eq!(fed("echo two").json["proposal"], json!(4));
    assert_eq!(fed("echo one").json["run"]["stdout"]["text"], "one\n");
    // One that does not start spends nothing.
    program("#!/no/such/interpreter\n");
    assert_eq!(call().json["proposal"], json!(5));
    approve(&workspace, 5);
    assert_eq!(call().codes(), ["PROGRAM_NOT_FOUND"]);
    assert_eq!(call().codes(), ["PROGRAM_NOT_FOUND"], "the word is still good");
    workspace.is_sound();
}

#[test]
fn an_approval_of_a_command_is_for_the_files_of_that_moment() {
    let workspace = TestRepo::with(&[
        ("Makefile", b"deploy: build\n\t@sh tools/deploy.sh\nbuild:\n"),
        ("tools/deploy.sh", b"echo good\n"),
    ]);
    let rule = "[[command]]\nname = \"make\"\nargv = [\"make\"]\ndecision = \"ask\"\nreason = \"It deploys.\"\nmatch = [\"make deploy\"]\n";
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), rule).unwrap();
    let call = || workspace.runs(&[], &["make", "deploy"]);
    assert_eq!(call().json["proposal"], json!(1));
    let shown = workspace.edt(&["show", "p1"]).json.to_string();
    assert!(shown.contains("deploy in Makefile") && shown.contains("tools/deploy.sh"), "{shown}");
    approve(&workspace, 1);
    // No argument names the script.
    let edit = ["--mode", "edit", "--old-text", "good", "--content", "evil"];
    let edited = workspace.edt(&[&["apply", "tools/deploy.sh"][..], &edit].concat());
    assert_eq!(edited.exit, 0, "{:#}", edited.json);
    let held = call();
    assert_eq!((held.exit, &held.json["proposal"]), (4, &json!(2)), "{:#}", held.json);
    assert!(held.message().contains("p1 was for other files"), "{}", held.message());
    // The user's own change counts, too, and a new file.
    for path in ["tools/deploy.sh", "tools/new.mk"] {
        let open = held.json["proposal"].as_u64().unwrap();
        let open = if path.ends_with("mk") { open + 1 } else { open };
        approve(&workspace, open);
        workspace.write(path, "echo mine\n");
        assert_eq!(call().json["proposal"], json!(open + 1), "{path}");
    }
    approve(&workspace, 4);
    assert_eq!(call().json["run"]["stdout"]["text"], "mine\n");
    workspace.is_sound();
}

#[test]
fn a_denied_command_is_refused_with_edts_alternative() {
    let workspace = workspace();
    let before = workspace.snapshot();
    let denied = workspace.runs(&[], &["git", "reset", "--hard", "HEAD~1"]);
    assert_eq!(
        (denied.exit, denied.codes(), &denied.json["run"]),
        (1, vec!["COMMAND_DENIED"], &Value::Null),
        "{:#}",
        denied.json
    );
    assert!(
        denied.message().contains("edt undo")
            && denied.errors()[0]["evidence"]["rule"] == "git-reset-hard",
        "{:#}",
        denied.json
    );
    assert_eq!(workspace.snapshot(), before);
}

#[test]
fn the_refs_of_proposals_are_histories_that_git_keeps() {
    let workspace = workspace();
    workspace.apply(&ci("x\n"));
    workspace.edt(&["gc"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    approve(&workspace, 1);
    workspace.git(&["pack-refs", "--all"]);
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    let log = workspace.git(&["log", "--format=%s", "refs/edt/proposals/1"]);
    let wanted = "done: edit ci/run (+1 -1)\napproved: edit ci/run (+1 -1)\nedit ci/run (+1 -1)\na user's commit\n";
    assert_eq!(log, wanted);
    // Git's own hook keeps them from an agent.
    workspace.edt(&["hooks", "install"]);
    let forged = workspace.try_git(&["update-ref", "-d", "refs/edt/proposals/1"]);
    assert!(!forged.status.success(), "deleted");
    workspace.is_sound();
}

#[test]
fn a_session_with_an_approved_change_lands_with_git_hooks_in_place() {
    let workspace = workspace();
    workspace.edt(&["hooks", "install"]);
    workspace.apply(&ci("x\n"));
    approve(&workspace, 1);
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    // The same bytes as another kind of file are something else.
    let blob = workspace.rev("HEAD:ci/run");
    workspace.git(&["update-index", "--cacheinfo", &format!("120000,{blob},ci/run")]);
    assert!(!workspace.try_git(&["commit", "-m", "a link"]).status.success());
    workspace.git(&["reset", "--quiet"]);
    let landed = workspace.edt(&["land"]);
    assert_eq!(landed.exit, 0, "{:#}", landed.json);
    assert_eq!(workspace.blob("main:ci/run"), b"x\n");
    // Without a proposal the hook still refuses it, and the word that was given is used up.
    let commit = |text: &str, flags: &[&str]| {
        workspace.write("ci/run", text);
        workspace.git(&["add", "ci/run"]);
        workspace.try_git(&[&["commit", "-m", "past edt"], flags].concat()).status.success()
    };
    assert!(!commit("by hand\n", &[]));
    assert!(commit("cargo test\n", &["--no-verify"]), "a user undoes it");
    assert!(!commit("x\n", &[]), "and nobody brings it again");
}

impl Answer {
    /// Insists that it was applied with exactly these warnings.
    #[track_caller]
    fn landed_with(&self, codes: &[&str]) {
        assert_eq!(
            (self.exit, self.json["status"].as_str(), warnings(self)),
            (0, Some("applied"), codes.to_vec()),
            "{:#}",
            self.json
        );
    }
}

/// The words of the warnings about proposals, each with its number.
#[track_caller]
fn printed(answer: &Answer) -> Vec<(String, String)> {
    let all = answer.json["warnings"].as_array().unwrap().iter();
    let word = |one: &Value| {
        let number =
            one["message"].as_str()?.strip_prefix("Proposal ")?.split(' ').next()?.to_owned();
        Some((one["code"].as_str()?.to_owned(), number))
    };
    all.filter_map(word).collect()
}

#[test]
fn every_decision_of_the_user_is_reported_once() {
    let workspace = workspace();
    workspace.apply(&ci("x\n"));
    let says = |call: &str| {
        let (status, screen) = workspace.at_terminal(call, "yes\n");
        assert_eq!(status, Some(0), "{screen}");
    };
    let one = |word: &str| vec![(format!("user_{word}"), "p1".to_owned())];
    // Regression: the second decision of each pair never reached the agent.
    let minds = [
        ("reject p1 -m first", one("rejected")),
        ("approve p1", one("approved")),
        ("reject p1 -m second", one("rejected")),
        ("reject p1 -m third", one("rejected")),
        ("approve p1", one("approved")),
        ("approve p1", vec![]),
    ];
    for (call, word) in minds {
        says(call);
        // The user's own call is not an answer to the agent; a status is one.
        says("status");
        assert_eq!(
            (printed(&workspace.edt(&["status"])), printed(&workspace.edt(&["status"]))),
            (word, vec![]),
            "{call}"
        );
    }
    let checkpoint = || printed(&workspace.edt(&["checkpoint", "-m", "x"]));
    assert_eq!(checkpoint(), []);
    // Regression: a number that was added after another call had read the list was lost with what
    // that call wrote back.
    says("reject p1 -m no");
    let news =
        edt_core::proposal::decisions::unreported(&edt_git::Repo::open(&workspace.root).unwrap());
    workspace.apply(&json!({"path": "x.lock", "mode": "overwrite", "content": "2\n"}));
    assert_eq!(news.warnings.len(), 1);
    news.mark_reported();
    says("approve p2");
    assert_eq!(
        printed(&workspace.edt(&["status"])),
        [("user_approved".to_owned(), "p2".to_owned())]
    );
    assert_eq!(workspace.edt(&["apply", "--proposal", "p2"]).exit, 0);
    assert_eq!(checkpoint(), []);
    let waiting =
        std::fs::read_to_string(workspace.git_dir("--git-dir").join("edt/main/proposals-awaited"))
            .unwrap();
    assert_eq!(
        waiting.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["1"]
    );
}

#[test]
fn an_agent_may_only_withdraw_its_own_proposals() {
    let workspace = workspace();
    workspace.apply(&ci("x\n"));
    approve(&workspace, 1);
    workspace.edt(&["status"]);
    let kept = workspace
        .unchanged(&["APPROVAL_REQUIRED"], 4, || workspace.edt(&["reject", "p1", "-m", "no"]));
    assert!(kept.hint().contains("`edt reject p1 -m WHY`"), "{}", kept.hint());
    workspace.apply(&ci("y\n"));
    let withdrawn = workspace.edt(&["reject", "p2", "-m", "a slip"]);
    assert_eq!(
        (withdrawn.exit, &withdrawn.json["proposal"]["state"]),
        (0, &json!("withdrawn")),
        "{:#}",
        withdrawn.json
    );
    assert_eq!(withdrawn.json["proposal"]["detail"], json!("a slip"));
    assert_eq!(printed(&workspace.edt(&["status"])), [], "it is not the user");
    let closed = workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "p2"]);
    assert!(
        closed.message().contains("withdrawn") && !closed.message().contains("The user rejected"),
        "{}",
        closed.message()
    );
    workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["reject", "p2", "-m", "again"]);
    assert_eq!(workspace.at_terminal("approve p2", "yes\n").0, Some(1));
    // It may be proposed again.
    assert_eq!(workspace.apply(&ci("y\n")).json["proposal"], json!(3));
    assert_eq!(
        states(&workspace).iter().map(|one| one.1.as_str()).collect::<Vec<_>>(),
        ["approved", "withdrawn", "open"]
    );
}

#[test]
fn an_approved_edit_is_reported_as_approved() {
    let workspace = workspace();
    let held = workspace.apply(&ci("x\n"));
    approve(&workspace, 1);
    let again = workspace.apply(&ci("x\n"));
    assert_eq!(
        (again.codes(), &again.json["proposal"]),
        (vec!["APPROVAL_REQUIRED"], &held.json["proposal"])
    );
    assert_eq!(again.hint(), "Proposal p1 was approved: `edt apply --proposal p1` applies it.");
    let proposed = workspace.edt(&["propose", "ci/run", "--mode", "overwrite", "--content", "x\n"]);
    assert_eq!(
        (&proposed.json["proposal"], warnings(&proposed)),
        (&json!(1), vec!["approved_already"])
    );
    // A change that cannot be merged is not approved.
    workspace.apply(&ci("y\n"));
    workspace.write("ci/run", "other\n");
    let (status, screen) = workspace.at_terminal("approve p2 --apply", "yes\n");
    assert_eq!((status, states(&workspace)[1].1.as_str()), (Some(3), "open"), "{screen}");
    assert!(
        screen.contains("PROPOSAL_STALE") && screen.contains("Nothing was changed."),
        "{screen}"
    );
}

#[test]
fn nothing_in_a_proposal_is_hidden_from_the_user() {
    let workspace = workspace();
    let hidden = "evil\n\u{1b}[1A\u{1b}[2Kgood\rover\u{202e}turned\r\n";
    let message = "an edit\n\n  approving it allows nothing\ncommit 000000000000\n";
    let mut request =
        json!({"path": "ci/run", "mode": "overwrite", "content": hidden, "message": message});
    request["allow"] = json!(["invisible_characters"]);
    assert_eq!(workspace.apply(&request).codes(), ["APPROVAL_REQUIRED"]);
    let diff = "+evil\n+\\u{1b}[1A\\u{1b}[2Kgood\\u{d}over\\u{202e}turned\n";
    let (_, screen) = workspace.at_terminal("approve p1", "yes\n");
    let plain = screen.replace("\r\n", "\n");
    let plain = anstream::adapter::strip_str(&plain).to_string();
    assert!(plain.contains(diff), "{plain}");
    assert!(
        plain.contains("  |   approving it allows nothing\n  | commit 000000000000\n"),
        "{plain}"
    );
    assert!(
        !screen.contains("\u{1b}[2K")
            && !screen.contains("\u{1b}[1A")
            && !screen.contains('\u{202e}'),
        "{screen:?}"
    );
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    for call in [["show", "HEAD"], ["diff", "HEAD~1"], ["show", "p1"]] {
        let shown = workspace.command(EDT).args(call).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(
            shown.contains(diff) && !shown.contains(['\u{1b}', '\r', '\u{202e}']),
            "{call:?}: {shown:?}"
        );
    }
    // A reader that is a program gets the very bytes.
    assert!(
        workspace.edt(&["show", "p1"]).json["files"][0]["patch"]
            .as_str()
            .unwrap()
            .contains("\u{1b}[1A")
    );
}

#[test]
fn an_approval_covers_the_change_and_not_the_earlier_content() {
    for hooks in [false, true] {
        let workspace =
            TestRepo::with(&[("edt.toml", PROTECT.as_bytes()), ("ci/run", lines(20).as_bytes())]);
        if hooks {
            workspace.edt(&["hooks", "install"]);
        }
        let good = workspace.text("ci/run");
        // A line that the edit does not touch is not a part of it: it does not land.
        workspace.write("ci/run", good.replace("line 1 ", "EVIL "));
        let last = json!({"path": "ci/run", "mode": "append", "content": "seen\n"});
        assert_eq!(workspace.apply(&last).json["proposal"], json!(1));
        approve(&workspace, 1);
        assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
        let land = workspace.edt(&["land"]);
        assert_eq!(land.exit, 0, "{:#}", land.json);
        let landed = good + "seen\n";
        assert_eq!(workspace.blob("main:ci/run"), landed.as_bytes());
        assert_eq!(workspace.text("ci/run"), landed.replace("line 1 ", "EVIL "));
        // Next to a line of the user, the edit is left over, with that line.
        workspace.write("ci/run", landed.clone() + "EVIL\n");
        assert_eq!(workspace.apply(&last).json["proposal"], json!(2));
        approve(&workspace, 2);
        let applied = workspace.edt(&["apply", "--proposal", "p2"]);
        assert_eq!(applied.json["files"][0]["recorded"], "private", "{:#}", applied.json);
        let land = workspace.edt(&["land"]);
        assert_eq!(land.codes(), ["NOTHING_TO_LAND"], "{:#}", land.json);
        assert_eq!(workspace.blob("main:ci/run"), landed.as_bytes());
        // Committed by Git, it needs the user's approval all the same.
        workspace.git(&["commit", "--quiet", "--all", "--no-verify", "-m", "by an agent"]);
        let land = workspace.edt(&["land"]);
        assert_eq!((land.exit, land.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", land.json);
    }
    // A proposal that changes nothing needs no approval.
    let workspace = workspace();
    let same = workspace.edt(&["propose", "x.lock", "--mode", "overwrite", "--content", "1\n"]);
    assert_eq!(
        (same.exit, same.json["status"].as_str()),
        (0, Some("unchanged")),
        "{:#}",
        same.json
    );
}

#[test]
fn all_of_a_long_input_of_a_command_can_be_read_before_the_approval() {
    let policy = "[[command]]\nname = \"x\"\nargv = [\"sh\"]\ndecision = \"ask\"\nreason = \"It runs what it reads.\"\nmatch = [\"sh\"]\n";
    let workspace = TestRepo::with(&[("edt.toml", policy.as_bytes()), ("a.txt", b"a\n")]);
    let run = |text: &str| {
        let request = json!({"program": "sh", "stdin": text}).to_string();
        workspace.edt_fed(request.as_bytes(), &["run", "--request", "-"])
    };
    assert_eq!(run(&"#\n".repeat(1000)).codes(), ["APPROVAL_REQUIRED"]);
    let shown = workspace.edt(&["show", "p1"]).json["message"].as_str().unwrap().to_owned();
    assert!(shown.contains("has 2000 bytes: ") && !shown.contains("git cat-file"), "{shown}");
    let input = "# nothing to see\n".repeat(1000) + "echo the end\n";
    assert_eq!(run(&input).codes(), ["APPROVAL_REQUIRED"]);
    let (_, screen) = workspace.at_terminal("approve p2", "no\n");
    let size = format!("has {} bytes, of which only the first 2000 follow", input.len());
    assert!(screen.contains(&size), "{screen}");
    let shown = workspace.edt(&["show", "p2"]).json["message"].as_str().unwrap().to_owned();
    let all = shown.split('`').find(|one| one.starts_with("git cat-file")).unwrap().to_owned();
    // The object stays as long as the proposal.
    workspace.git(&["reflog", "expire", "--expire=all", "--all"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    let printed = workspace.command("sh").args(["-c", &all]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.stdout), input);
    approve(&workspace, 2);
    let ran = run(&input);
    assert_eq!(
        (ran.exit, ran.json["run"]["stdout"]["text"].as_str()),
        (0, Some("the end\n")),
        "{:#}",
        ran.json
    );
    workspace.is_sound();
}

#[test]
fn an_override_that_the_user_approved_lands() {
    let policy = "[guards.size_reduction]\noverride = \"approval\"\n[guards.mass_deletion]\noverride = \"approval\"\nmax_files = 2\n";
    let long = lines(400);
    let workspace = TestRepo::with(&[
        ("edt.toml", policy.as_bytes()),
        ("long.txt", long.as_bytes()),
        ("a", b"a\n"),
        ("b", b"b\n"),
        ("c", b"c\n"),
    ]);
    let shrink = json!({"path": "long.txt", "mode": "overwrite", "content": lines(20), "allow": ["size_reduction"]});
    let delete = json!({"allow": ["mass_deletion"], "edits": [{"path": "a", "mode": "delete"},
        {"path": "b", "mode": "delete"}, {"path": "c", "mode": "delete"}]});
    for (id, request) in [(1, shrink), (2, delete)] {
        let held = workspace.apply(&request);
        assert_eq!(held.codes(), ["APPROVAL_REQUIRED"], "{:#}", held.json);
        approve(&workspace, id);
        assert_eq!(workspace.edt(&["apply", "--proposal", &format!("p{id}")]).exit, 0);
        let landed = workspace.edt(&["land"]);
        assert_eq!(landed.exit, 0, "p{id}: {:#}", landed.json);
    }
    workspace.is_sound();
}

#[test]
fn an_approved_override_is_not_for_a_later_change() {
    let long = lines(400);
    let policy: &[u8] = b"[guards.size_reduction]\noverride = \"approval\"\n";
    let workspace = TestRepo::with(&[("edt.toml", policy), ("long.txt", long.as_bytes())]);
    let shrink = json!({"path": "long.txt", "mode": "overwrite", "content": lines(99), "allow": ["size_reduction"]});
    assert_eq!(workspace.apply(&shrink).codes(), ["APPROVAL_REQUIRED"]);
    approve(&workspace, 1);
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    workspace.write("long.txt", "short\n");
    workspace.git(&["commit", "--quiet", "--no-verify", "-am", "by hand"]);
    let refused = workspace.edt(&["land"]);
    let both = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
    assert_eq!(refused.codes(), both, "{:#}", refused.json);
}

#[test]
fn an_approved_override_is_not_for_an_earlier_change() {
    let long = lines(400);
    let policy: &[u8] = b"[guards.size_reduction]\noverride = \"approval\"\n";
    let workspace = TestRepo::with(&[("edt.toml", policy), ("long.txt", long.as_bytes())]);
    workspace.edt(&["begin"]);
    workspace.write("long.txt", lines(120));
    workspace.git(&["commit", "--quiet", "--no-verify", "-am", "by hand"]);
    assert_eq!(workspace.edt(&["land"]).codes(), ["SIZE_REDUCTION", "APPROVAL_REQUIRED"]);
    let shrink = json!({"path": "long.txt", "mode": "overwrite", "content": lines(20), "allow": ["size_reduction"]});
    assert_eq!(workspace.apply(&shrink).codes(), ["APPROVAL_REQUIRED"]);
    approve(&workspace, 1);
    assert_eq!(workspace.edt(&["apply", "--proposal", "p1"]).exit, 0);
    let refused = workspace.edt(&["land"]);
    let both = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
    assert_eq!(refused.codes(), both, "{:#}", refused.json);
}

#[test]
fn a_proposal_with_the_digest_of_another_change_is_not_approved() {
    let workspace = workspace();
    workspace.apply(&ci("cargo test --all\n"));
    let commit = workspace.git(&["cat-file", "commit", "refs/edt/proposals/1"]);
    let (start, digest) = commit.split_once("Edt-Digest: ").unwrap();
    let forged = format!("{start}Edt-Digest: {}{}", "0".repeat(64), &digest[64..]);
    workspace.write("forged", &forged);
    let id = workspace.git(&["hash-object", "-t", "commit", "-w", "forged"]);
    std::fs::remove_file(workspace.root.join("forged")).unwrap();
    workspace.git(&["update-ref", "refs/edt/proposals/1", id.trim()]);
    let (status, screen) = workspace.at_terminal("approve 1", "yes\n");
    assert_eq!(status, Some(2), "{screen}");
    assert!(screen.contains("digest"), "{screen}");
    assert_eq!(states(&workspace), [(1, "open".to_owned())]);
}
