//! Proposals: what waits for a person, and what their word is good for.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::trust::says_at_terminal as person;
use crate::world::{Answer, EDT, World, lines};

const PROTECT: &str = "[[protect]]\npaths = [\"ci/**\", \"*.lock\"]\noverride = \"approval\"\n[[protect]]\npaths = [\"edt.toml\"]\n[guards.size_reduction]\noverride = \"approval\"\n";

fn world() -> World {
    let long = lines(100);
    World::with(&[
        ("edt.toml", PROTECT.as_bytes()),
        ("ci/run", b"cargo test\n"),
        ("src/long.txt", long.as_bytes()),
        ("a.txt", b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        ("x.lock", b"1\n"),
    ])
}

#[track_caller]
fn approve(world: &World, id: u64) {
    let (status, screen) = person(world, &format!("approve {id}"), "yes\n");
    assert_eq!(status, Some(0), "{screen}");
}

fn ci(content: &str) -> Value {
    json!({"path": "ci/run", "mode": "overwrite", "content": content})
}

fn states(world: &World) -> Vec<(u64, String)> {
    let listed = world.edt(&["proposals", "--all"]).json;
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
fn a_path_that_needs_a_person_becomes_a_proposal_that_lands_once_approved() {
    let world = world();
    let (files, refs) = (world.files(), world.git(&["for-each-ref", "refs/heads"]));
    let held = world.apply(&ci("cargo test --all\n"));
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    assert!(
        held.hint().contains("`edt approve 1`") && held.hint().contains("edt apply --proposal 1"),
        "{}",
        held.hint()
    );
    assert_eq!(
        (world.files(), world.git(&["for-each-ref", "refs/heads"])),
        (files, refs),
        "nothing but the proposal"
    );
    assert_eq!(world.edt(&["status"]).json["proposals"], json!(["1"]));
    // The same again is the same proposal.
    assert_eq!(world.apply(&ci("cargo test --all\n")).json["proposal"], json!(1));
    let shown = world.edt(&["show", "1"]).json;
    assert_eq!(
        (&shown["proposal"]["state"], &shown["grants"]),
        (&json!("open"), &json!(["protected_path ci/run"]))
    );
    assert!(
        shown["files"][0]["patch"].as_str().unwrap().contains("-cargo test\n+cargo test --all\n"),
        "{shown:#}"
    );
    world.refuses(&["APPROVAL_REQUIRED"], 4, &["apply", "--proposal", "1"]);
    approve(&world, 1);
    // The next answer of any command brings the word, once.
    let next = world.apply(&json!({"path": "a.txt", "mode": "append", "content": "eight\n"}));
    assert_eq!((next.exit, warnings(&next)), (0, vec!["proposal_approved"]), "{:#}", next.json);
    let landed = world.edt(&["apply", "--proposal", "1"]);
    assert_eq!(
        (landed.exit, &landed.json["proposal"], warnings(&landed)),
        (0, &json!(1), vec![]),
        "{:#}",
        landed.json
    );
    assert_eq!(world.text("ci/run"), "cargo test --all\n");
    let trailers =
        world.git(&["log", "-1", "--format=%(trailers:key=Edt-Proposal,key=Edt-Allowed,unfold)"]);
    assert_eq!(trailers, "Edt-Allowed: protected_path\nEdt-Proposal: 1\n\n");
    world.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "1"]);
    assert_eq!(states(&world), [(1, "done".to_owned())]);
    // Another change of the path needs another word.
    assert_eq!(world.apply(&ci("rm -rf /\n")).codes(), ["APPROVAL_REQUIRED"]);
    world.is_clean();
    world.is_sound();
}

#[test]
fn an_override_that_needs_a_person_becomes_a_proposal() {
    let world = world();
    let shrink = json!({"path": "src/long.txt", "mode": "overwrite", "content": "}\n", "allow": ["size_reduction"]});
    let plain = json!({"path": "src/long.txt", "mode": "overwrite", "content": "}\n"});
    let refused = world.refuses_request(&["SIZE_REDUCTION"], 1, &plain);
    assert!(
        refused.hint().contains("allow: [\"size_reduction\"]")
            && refused.hint().contains("proposal"),
        "{}",
        refused.hint()
    );
    let held = world.apply(&shrink);
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    approve(&world, 1);
    let landed = world.edt(&["apply", "--proposal", "1"]);
    assert_eq!((landed.exit, world.text("src/long.txt").as_str()), (0, "}\n"), "{:#}", landed.json);
    // A dry run makes no proposal, and what nobody may override none either.
    let dry = world.edt_fed(ci("x\n").to_string().as_bytes(), &["check", "--request", "-"]);
    assert_eq!((dry.codes(), &dry.json["proposal"]), (vec!["APPROVAL_REQUIRED"], &Value::Null));
    world.refuses(
        &["PROTECTED_PATH"],
        1,
        &["propose", "edt.toml", "--mode", "append", "--content", "#\n"],
    );
    assert_eq!(states(&world).len(), 1);
}

#[test]
fn only_a_person_at_a_terminal_approves() {
    let world = world();
    world.apply(&ci("x\n"));
    world.refuses(&["APPROVAL_REQUIRED"], 4, &["approve", "1"]);
    world.unchanged(&["APPROVAL_REQUIRED"], 4, || {
        world.edt_fed(b"yes\n", &["approve", "1", "--apply"])
    });
    let (status, screen) = person(&world, "approve 1", "no\n");
    assert_eq!(status, Some(4), "{screen}");
    // An agent in a terminal is none.
    let mut command = world.command("script");
    command
        .args(["-qec", &format!("'{EDT}' approve 1"), "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("EDT_AGENT", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"yes\n").unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(4), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(states(&world), [(1, "open".to_owned())]);
    let (status, screen) = person(&world, "approve 1 --apply", "yes\n");
    assert_eq!((status, world.text("ci/run").as_str()), (Some(0), "x\n"), "{screen}");
    assert!(screen.contains("+x") && screen.contains("protected_path ci/run"), "{screen}");
    world.refuses(&["PROPOSAL_NOT_FOUND"], 1, &["approve", "99"]);
    world.refuses(&["PROPOSAL_NOT_FOUND"], 1, &["apply", "--proposal", "99"]);
}

#[test]
fn a_rejection_reaches_the_agent_with_its_reason() {
    let world = world();
    let proposed =
        world.edt(&["propose", "a.txt", "--mode", "append", "--content", "x\n", "-m", "add x"]);
    assert_eq!(
        (proposed.exit, proposed.json["status"].as_str(), &proposed.json["proposal"]),
        (0, Some("proposed"), &json!(1))
    );
    world.refuses(&["BAD_REQUEST"], 2, &["reject", "1", "-m", " "]);
    let why = "Not here.\n\nPut it into b.txt, and say why.";
    let (status, screen) = person(&world, &format!("reject 1 -m '{why}'"), "");
    assert_eq!(status, Some(0), "{screen}");
    let next = world.edt(&["checkpoint"]);
    assert_eq!((next.exit, warnings(&next)), (0, vec!["proposal_rejected"]), "{:#}", next.json);
    assert!(next.json["warnings"][0]["message"].as_str().unwrap().contains(why), "{:#}", next.json);
    assert_eq!(warnings(&world.edt(&["checkpoint"])), Vec::<&str>::new(), "once");
    let refused = world.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "1"]);
    assert!(refused.message().contains(why), "{}", refused.message());
    // A person may think again.
    approve(&world, 1);
    assert_eq!(world.edt(&["apply", "--proposal", "1"]).exit, 0);
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "add x\n");
}

#[test]
fn a_newer_proposal_closes_the_one_it_replaces() {
    let world = world();
    let propose = |path: &str, content: &str| {
        world.edt(&["propose", path, "--mode", "overwrite", "--content", content])
    };
    propose("a.txt", "two\n".repeat(6).as_str());
    propose("x.lock", "2\n");
    let third = propose("a.txt", "three\n".repeat(6).as_str());
    assert_eq!(warnings(&third), ["superseded"], "{:#}", third.json);
    let wanted = [(1, "superseded".to_owned()), (2, "open".to_owned()), (3, "open".to_owned())];
    assert_eq!(states(&world), wanted);
    let (status, screen) = person(&world, "approve 1", "yes\n");
    assert_eq!(status, Some(1), "{screen}");
    let refused = world.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "1"]);
    assert!(refused.hint().contains("edt show 3"), "{}", refused.hint());
}

#[test]
fn a_moved_world_is_merged_or_refused() {
    let world = world();
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": new});
    let propose = |request: &Value| {
        world.edt_fed(request.to_string().as_bytes(), &["propose", "--request", "-"])
    };
    propose(&edit("two\n", "TWO\n"));
    approve(&world, 1);
    // Elsewhere in the file, by an edit and by a person who recorded nothing: carried over.
    world.apply(&edit("seven\n", "SEVEN\n")).landed_with(&["proposal_approved"]);
    world.write("a.txt", "zero\n".to_owned() + &world.text("a.txt"));
    let landed = world.edt(&["apply", "--proposal", "1"]);
    assert_eq!(
        (landed.exit, world.text("a.txt").as_str()),
        (0, "zero\none\nTWO\nthree\nfour\nfive\nsix\nSEVEN\n"),
        "{:#}",
        landed.json
    );
    assert_eq!(landed.checkpoints(), 1);
    // The same lines: refused, and nothing changed.
    propose(&edit("four\n", "FOUR\n"));
    approve(&world, 2);
    world.apply(&edit("four\n", "vier\n")).landed_with(&["proposal_approved"]);
    let stale = world.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "2"]);
    assert!(
        stale.message().contains("a.txt") && stale.hint().contains("edt propose"),
        "{:#}",
        stale.json
    );
    // A part of it made already: what would land is not what was seen.
    propose(
        &json!({"edits": [edit("five\n", "FIVE\n"), {"path": "x.lock", "mode": "overwrite", "content": "2\n"}]}),
    );
    approve(&world, 3);
    world.apply(&edit("five\n", "FIVE\n")).landed_with(&["proposal_approved"]);
    world.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "3"]);
    // The file is gone, or another stands where a new one was to be.
    propose(&json!({"path": "new.txt", "mode": "create", "content": "mine\n"}));
    approve(&world, 4);
    world.write("new.txt", "a person's\n");
    world.refuses(&["PROPOSAL_STALE"], 3, &["apply", "--proposal", "4"]);
    assert_eq!(world.text("new.txt"), "a person's\n");
    world.is_sound();
}

#[test]
fn guards_judge_again_what_was_approved() {
    let world = World::with(&[
        ("a.c", b"int f(void) {\n  return 1;\n}\n"),
        ("b.c", b"int g(void) {\n  return 2;\n}\n"),
    ]);
    let both = json!({"edits": [
        {"path": "a.c", "mode": "edit", "old_text": "return 1;", "content": "return 3;"},
        {"path": "b.c", "mode": "append", "content": "int h(void) {\n  return 4;\n}\n"}]});
    world.edt_fed(both.to_string().as_bytes(), &["propose", "--request", "-"]);
    approve(&world, 1);
    // A person gives the file the function that the proposal would add: clean to merge, and twice the same name.
    world.write("b.c", "int h(void) {\n  return 4;\n}\n\nint g(void) {\n  return 2;\n}\n");
    let refused = world.edt(&["apply", "--proposal", "1"]);
    assert_eq!((refused.exit, refused.codes()), (1, vec!["DUPLICATE_CODE"]), "{:#}", refused.json);
    assert_eq!(states(&world), [(1, "approved".to_owned())]);
}

#[test]
fn everything_that_an_edit_can_do_can_be_proposed() {
    let world = World::with(&[
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
    let direct = world.edt_fed(request.to_string().as_bytes(), &["check", "--request", "-"]);
    assert_eq!(direct.exit, 0, "{:#}", direct.json);
    world.edt_fed(request.to_string().as_bytes(), &["propose", "--request", "-"]);
    let before = world.files();
    approve(&world, 1);
    assert_eq!(world.files(), before);
    let landed = world.edt(&["apply", "--proposal", "1"]);
    assert_eq!(landed.exit, 0, "{:#}", landed.json);
    assert_eq!(world.read("x.eol"), b"one\r\nthree\r\n");
    assert_eq!(world.read("crlf.txt"), b"a\r\nc\r\n");
    assert_eq!(
        (world.exists("from.txt"), world.text("to.txt"), world.exists("gone.txt")),
        (false, lines(20), false)
    );
    assert_eq!(world.git(&["ls-tree", "HEAD", "new/deep.txt"]).split(' ').next(), Some("100755"));
    assert!(world.git(&["log", "-1", "--format=%B"]).contains("Edt-Agent: robot"));
    assert_eq!(world.rev("HEAD^{tree}"), world.rev("refs/edt/proposals/1^{tree}"));
    world.is_clean();
    world.edt(&["undo"]);
    assert_eq!(world.files(), before);
    world.is_sound();
}

#[test]
fn a_command_that_policy_asks_about_runs_once_after_a_persons_word() {
    let world = world();
    let call = || world.runs(&["--env", "A=b"], &["cp", "a.txt", "/tmp/edt-never-made"]);
    let held = call();
    assert_eq!(
        (held.exit, held.codes(), &held.json["proposal"]),
        (4, vec!["APPROVAL_REQUIRED"], &json!(1)),
        "{:#}",
        held.json
    );
    assert!(
        held.hint().contains("edt approve 1") && held.message().contains("Nothing was run"),
        "{:#}",
        held.json
    );
    assert_eq!(call().json["proposal"], json!(1), "asked twice, one proposal");
    // Any other call is another command.
    assert_eq!(
        world.runs(&["--env", "A=c"], &["cp", "a.txt", "/tmp/edt-never-made"]).json["proposal"],
        json!(2)
    );
    assert_eq!(
        world.runs(&["--cwd", "src", "--env", "A=b"], &["cp", "a.txt", "/tmp/edt-never-made"]).json
            ["proposal"],
        json!(3)
    );
    assert_eq!(
        world
            .runs(
                &["--sandbox", "permissive", "--env", "A=b"],
                &["cp", "a.txt", "/tmp/edt-never-made"]
            )
            .json["proposal"],
        json!(4)
    );
    let (status, screen) = person(&world, "approve 1", "yes\n");
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
        (10, Some("failed"), vec!["proposal_approved"]),
        "{:#}",
        ran.json
    );
    assert_eq!(call().json["proposal"], json!(5), "a word is good for one run");
    let (status, _) = person(&world, "reject 5 -m 'Copy it below out/ instead.'", "");
    assert_eq!(status, Some(0));
    let again = call();
    assert_eq!((again.exit, again.codes()), (1, vec!["PROPOSAL_REJECTED"]), "{:#}", again.json);
    assert!(again.message().contains("below out/"), "{}", again.message());
    world.refuses(&["BAD_REQUEST"], 2, &["approve", "2", "--apply"]);
    world.is_clean();
    world.is_sound();
}

#[test]
fn a_word_for_a_command_is_for_what_it_holds() {
    let world = world();
    let rule = "[[command]]\nname = \"dep\"\nargv = [\"./dep\"]\ndecision = \"ask\"\nreason = \"It deploys.\"\nmatch = [\"./dep\"]\n[[command]]\nname = \"sh\"\nargv = [\"sh\"]\ndecision = \"ask\"\nreason = \"A shell.\"\nmatch = [\"sh\"]\n";
    let folder = world.home.join(".config/edt");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("edt.toml"), rule).unwrap();
    let program = |text: &str| {
        world.write("dep", text);
        std::fs::set_permissions(
            world.root.join("dep"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    };
    let call = || world.runs(&[], &["./dep"]);
    program("#!/bin/sh\necho good\n");
    assert_eq!(call().json["proposal"], json!(1));
    approve(&world, 1);
    program("#!/bin/sh\necho evil\n");
    assert_eq!(call().json["proposal"], json!(2), "another program");
    program("#!/bin/sh\necho good\n");
    assert_eq!(call().json["run"]["stdout"]["text"], "good\n");
    // What it reads is part of it, and is shown.
    let fed = |text: &str| {
        world.edt_fed(
            json!({"program": "sh", "stdin": text}).to_string().as_bytes(),
            &["run", "--request", "-"],
        )
    };
    let held = fed("echo one");
    assert!(held.message().contains("echo one"), "{}", held.message());
    approve(&world, 3);
    assert_eq!(fed("echo two").json["proposal"], json!(4));
    assert_eq!(fed("echo one").json["run"]["stdout"]["text"], "one\n");
    // One that does not start spends nothing.
    program("#!/no/such/interpreter\n");
    assert_eq!(call().json["proposal"], json!(5));
    approve(&world, 5);
    assert_eq!(call().codes(), ["PROGRAM_NOT_FOUND"]);
    assert_eq!(call().codes(), ["PROGRAM_NOT_FOUND"], "the word is still good");
    world.is_sound();
}

#[test]
fn a_denied_command_is_refused_with_the_way_that_is_edts() {
    let world = world();
    let before = world.snapshot();
    let denied = world.runs(&[], &["git", "reset", "--hard", "HEAD~1"]);
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
    assert_eq!(world.snapshot(), before);
}

#[test]
fn the_refs_of_proposals_are_histories_that_git_keeps() {
    let world = world();
    world.apply(&ci("x\n"));
    world.edt(&["gc"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    approve(&world, 1);
    world.git(&["pack-refs", "--all"]);
    assert_eq!(world.edt(&["apply", "--proposal", "1"]).exit, 0);
    let log = world.git(&["log", "--format=%s", "refs/edt/proposals/1"]);
    let wanted = "done: edit ci/run (+1 -1)\napproved: edit ci/run (+1 -1)\nedit ci/run (+1 -1)\na person's commit\n";
    assert_eq!(log, wanted);
    // Git's own hook keeps them from an agent.
    world.edt(&["hooks", "install"]);
    let forged = world.try_git(&["update-ref", "-d", "refs/edt/proposals/1"]);
    assert!(!forged.status.success(), "deleted");
    world.is_sound();
}

#[test]
fn a_session_with_an_approved_change_lands_with_git_hooks_in_place() {
    let world = world();
    world.edt(&["hooks", "install"]);
    world.apply(&ci("x\n"));
    approve(&world, 1);
    assert_eq!(world.edt(&["apply", "--proposal", "1"]).exit, 0);
    // The same bytes as another kind of file are something else.
    let blob = world.rev("HEAD:ci/run");
    world.git(&["update-index", "--cacheinfo", &format!("120000,{blob},ci/run")]);
    assert!(!world.try_git(&["commit", "-m", "a link"]).status.success());
    world.git(&["reset", "--quiet"]);
    let landed = world.edt(&["land"]);
    assert_eq!(landed.exit, 0, "{:#}", landed.json);
    assert_eq!(world.blob("main:ci/run"), b"x\n");
    // Without a proposal the hook still refuses it, and the word that was given is used up.
    let commit = |text: &str, flags: &[&str]| {
        world.write("ci/run", text);
        world.git(&["add", "ci/run"]);
        world.try_git(&[&["commit", "-m", "past edt"], flags].concat()).status.success()
    };
    assert!(!commit("by hand\n", &[]));
    assert!(commit("cargo test\n", &["--no-verify"]), "a person takes it back");
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
fn told(answer: &Answer) -> Vec<(String, String)> {
    let all = answer.json["warnings"].as_array().unwrap().iter();
    let word = |one: &Value| {
        let number =
            one["message"].as_str()?.strip_prefix("Proposal ")?.split(' ').next()?.to_owned();
        Some((one["code"].as_str()?.to_owned(), number))
    };
    all.filter_map(word).collect()
}

#[test]
fn every_change_of_a_persons_mind_is_told_once() {
    let world = world();
    world.apply(&ci("x\n"));
    let says = |call: &str| {
        let (status, screen) = person(&world, call, "yes\n");
        assert_eq!(status, Some(0), "{screen}");
    };
    let one = |word: &str| vec![(format!("proposal_{word}"), "1".to_owned())];
    // Regression: the second decision of each pair never reached the agent.
    let minds = [
        ("reject 1 -m first", one("rejected")),
        ("approve 1", one("approved")),
        ("reject 1 -m second", one("rejected")),
        ("reject 1 -m third", one("rejected")),
        ("approve 1", one("approved")),
        ("approve 1", vec![]),
    ];
    for (call, word) in minds {
        says(call);
        // A person's own call is no answer to the agent; a status is one.
        says("status");
        assert_eq!(
            (told(&world.edt(&["status"])), told(&world.edt(&["status"]))),
            (word, vec![]),
            "{call}"
        );
    }
    let checkpoint = || told(&world.edt(&["checkpoint", "-m", "x"]));
    assert_eq!(checkpoint(), []);
    // Regression: a number that was added after another call had read the list was lost with what that call wrote back.
    says("reject 1 -m no");
    let news = edt::proposal::told::news(&edt::git::Repo::open(&world.root).unwrap());
    world.apply(&json!({"path": "x.lock", "mode": "overwrite", "content": "2\n"}));
    assert_eq!(news.warnings.len(), 1);
    news.told();
    says("approve 2");
    assert_eq!(told(&world.edt(&["status"])), [("proposal_approved".to_owned(), "2".to_owned())]);
    assert_eq!(world.edt(&["apply", "--proposal", "2"]).exit, 0);
    assert_eq!(checkpoint(), []);
    let awaited =
        std::fs::read_to_string(world.git_dir("--git-dir").join("edt/main/proposals-awaited"))
            .unwrap();
    assert_eq!(
        awaited.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["1"]
    );
}

#[test]
fn who_is_no_person_withdraws_and_decides_nothing() {
    let world = world();
    world.apply(&ci("x\n"));
    approve(&world, 1);
    world.edt(&["status"]);
    let kept =
        world.unchanged(&["APPROVAL_REQUIRED"], 4, || world.edt(&["reject", "1", "-m", "no"]));
    assert!(kept.hint().contains("`edt reject 1 -m WHY`"), "{}", kept.hint());
    world.apply(&ci("y\n"));
    let withdrawn = world.edt(&["reject", "2", "-m", "a slip"]);
    assert_eq!(
        (withdrawn.exit, &withdrawn.json["proposal"]["state"]),
        (0, &json!("withdrawn")),
        "{:#}",
        withdrawn.json
    );
    assert_eq!(withdrawn.json["proposal"]["detail"], json!("a slip"));
    assert_eq!(told(&world.edt(&["status"])), [], "it is no person's word");
    let closed = world.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "2"]);
    assert!(
        closed.message().contains("withdrawn") && !closed.message().contains("A person"),
        "{}",
        closed.message()
    );
    world.refuses(&["PROPOSAL_REJECTED"], 1, &["reject", "2", "-m", "again"]);
    assert_eq!(person(&world, "approve 2", "yes\n").0, Some(1));
    // It may be proposed again.
    assert_eq!(world.apply(&ci("y\n")).json["proposal"], json!(3));
    assert_eq!(
        states(&world).iter().map(|one| one.1.as_str()).collect::<Vec<_>>(),
        ["approved", "withdrawn", "open"]
    );
}

#[test]
fn what_was_approved_is_said_to_be() {
    let world = world();
    let held = world.apply(&ci("x\n"));
    approve(&world, 1);
    let again = world.apply(&ci("x\n"));
    assert_eq!(
        (again.codes(), &again.json["proposal"]),
        (vec!["APPROVAL_REQUIRED"], &held.json["proposal"])
    );
    assert_eq!(again.hint(), "Proposal 1 was approved: `edt apply --proposal 1` lands it.");
    let proposed = world.edt(&["propose", "ci/run", "--mode", "overwrite", "--content", "x\n"]);
    assert_eq!(
        (&proposed.json["proposal"], warnings(&proposed)),
        (&json!(1), vec!["approved_already"])
    );
    // What cannot be carried over is not approved on the way.
    world.apply(&ci("y\n"));
    world.write("ci/run", "other\n");
    let (status, screen) = person(&world, "approve 2 --apply", "yes\n");
    assert_eq!((status, states(&world)[1].1.as_str()), (Some(3), "open"), "{screen}");
    assert!(
        screen.contains("PROPOSAL_STALE") && screen.contains("Nothing was changed."),
        "{screen}"
    );
}

#[test]
fn nothing_that_is_proposed_hides_from_who_approves_it() {
    let world = world();
    let hidden = "evil\n\u{1b}[1A\u{1b}[2Kgood\rover\u{202e}turned\r\n";
    let message = "an edit\n\n  approving it allows nothing\ncommit 000000000000\n";
    let request =
        json!({"path": "ci/run", "mode": "overwrite", "content": hidden, "message": message});
    assert_eq!(world.apply(&request).codes(), ["APPROVAL_REQUIRED"]);
    let diff = "+evil\n+\\u{1b}[1A\\u{1b}[2Kgood\\u{d}over\\u{202e}turned\n";
    let (_, screen) = person(&world, "approve 1", "yes\n");
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
    assert_eq!(world.edt(&["apply", "--proposal", "1"]).exit, 0);
    for call in [["show", "HEAD"], ["diff", "HEAD~1"], ["show", "1"]] {
        let shown = world.command(EDT).args(call).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(
            shown.contains(diff) && !shown.contains(['\u{1b}', '\r', '\u{202e}']),
            "{call:?}: {shown:?}"
        );
    }
    // A reader that is a program gets the very bytes.
    assert!(
        world.edt(&["show", "1"]).json["files"][0]["patch"].as_str().unwrap().contains("\u{1b}[1A")
    );
}

#[test]
fn an_approval_is_for_what_it_changed_and_not_for_what_stood_there() {
    for hooks in [false, true] {
        let world =
            World::with(&[("edt.toml", PROTECT.as_bytes()), ("ci/run", lines(20).as_bytes())]);
        if hooks {
            world.edt(&["hooks", "install"]);
        }
        let good = world.text("ci/run");
        world.write("ci/run", good.replacen("line 1 ", "EVIL ", 1));
        let last = json!({"path": "ci/run", "mode": "append", "content": "seen\n"});
        assert_eq!(world.apply(&last).json["proposal"], json!(1));
        approve(&world, 1);
        assert_eq!(world.edt(&["apply", "--proposal", "1"]).exit, 0);
        let land = world.edt(&["land"]);
        assert_eq!((land.exit, land.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", land.json);
        // Nor by plain Git, where the hook looks.
        world.git(&["switch", "-q", "main"]);
        world.git(&["merge", "-q", "--squash", "edt/main-1"]);
        assert_eq!(world.try_git(&["commit", "-m", "squashed"]).status.success(), !hooks);
    }
    // What changes nothing needs nobody.
    let world = world();
    let same = world.edt(&["propose", "x.lock", "--mode", "overwrite", "--content", "1\n"]);
    assert_eq!(
        (same.exit, same.json["status"].as_str()),
        (0, Some("unchanged")),
        "{:#}",
        same.json
    );
}
