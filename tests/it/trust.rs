//! `edt trust` and `edt guards`: what a person decides, and how it is shown.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::validators::{trust, warnings};
use crate::world::{Answer, EDT, World};

const POLICY: &str = "[[validator]]\nname = \"never\"\npaths = [\"*.txt\"]\ncommand = [\"false\", \"{file}\", \"\\u001b[2J\"]\n";

fn create(world: &World, path: &str) -> Answer {
    world.edt(&["apply", path, "--mode", "create", "--content", "x"])
}

/// Runs `edt trust` at a terminal (made by `script`) where someone types `typed`; returns its exit status and what stood on the screen.
pub(crate) fn at_terminal(world: &World, typed: &str) -> (Option<i32>, String) {
    says_at_terminal(world, "trust", typed)
}

/// The same for another call.
pub(crate) fn says_at_terminal(world: &World, call: &str, typed: &str) -> (Option<i32>, String) {
    let mut command = world.command("script");
    command
        .args(["-qec", &format!("\"$EDT\" {call}"), "/dev/null"])
        .env("EDT", EDT)
        .env("SHELL", "/bin/sh");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
}

fn trusted(world: &World) -> bool {
    world.edt(&["trust", "--list"]).json["trusted"].as_bool().unwrap()
}

#[test]
fn what_nobody_trusts_does_not_run_and_stops_nobody() {
    let world = World::with(&[("edt.toml", POLICY.as_bytes())]);
    let answer = create(&world, "a.txt");
    let told = warnings(&answer);
    assert_eq!((answer.exit, told.len(), told[0].0), (0, 1, "trust_required"), "{:#}", answer.json);
    assert!(
        told[0].1.contains("TRUST_REQUIRED: never") && told[0].1.contains("edt trust"),
        "{told:?}"
    );
    assert_eq!(answer.json["warnings"][0]["path"], Value::Null);
    create(&world, "a.md").landed();
}

#[test]
fn policy_may_require_that_they_run() {
    let policy = [POLICY, "[guards.validator]\nrequire = true\n"].concat();
    let world = World::with(&[("edt.toml", policy.as_bytes())]);
    let held = world.refuses(
        &["TRUST_REQUIRED"],
        4,
        &["apply", "a.txt", "--mode", "create", "--content", "x"],
    );
    assert_eq!(held.json["status"], "held");
    assert!(
        held.hint().contains("edt trust") && held.message().contains("never"),
        "{:#}",
        held.json
    );
    create(&world, "a.md").landed();
    trust(&world);
    world.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "b.txt", "--mode", "create", "--content", "x"],
    );
}

#[test]
fn trust_is_for_one_file_as_it_is_in_one_worktree() {
    let world = World::with(&[("edt.toml", POLICY.as_bytes())]);
    trust(&world);
    assert!(trusted(&world));
    assert_eq!(create(&world, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    let copy = world.at(world.root.parent().unwrap().join("copy"));
    world.git(&["worktree", "add", "--quiet", "-b", "other", copy.root.to_str().unwrap()]);
    assert_eq!(warnings(&create(&copy, "a.txt"))[0].0, "trust_required");
    // Even one that only says it in other words.
    world.commit(&[("edt.toml", format!("# hello\n{POLICY}").as_bytes())]);
    assert!(!trusted(&world));
    assert_eq!(warnings(&create(&world, "a.txt"))[0].0, "trust_required");
}

#[test]
fn a_persons_own_validators_need_no_trust() {
    let world = World::with(&[("a", b"x")]);
    std::fs::create_dir_all(world.home.join(".config/edt")).unwrap();
    std::fs::write(world.home.join(".config/edt/edt.toml"), POLICY).unwrap();
    assert_eq!(create(&world, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    assert_eq!(world.edt(&["guards"]).json["validators"][0]["trust"], "own");
}

#[test]
fn trust_is_asked_for_at_a_terminal_and_shows_the_commands_first() {
    let world = World::with(&[("edt.toml", POLICY.as_bytes())]);
    for typed in ["no\n", "y\n", "\n", "\u{4}"] {
        let (exit, screen) = at_terminal(&world, typed);
        assert_eq!((exit, trusted(&world)), (Some(4), false), "{typed:?} {screen}");
    }
    let (exit, screen) = at_terminal(&world, "yes\n");
    assert_eq!((exit, trusted(&world)), (Some(0), true), "{screen}");
    assert!(screen.contains(r#""false" "{file}" "\u{1b}[2J""#), "{screen}");
    assert_eq!(create(&world, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    let list = world.edt(&["trust", "--list"]);
    assert_eq!(list.json["entries"].as_array().unwrap().len(), 1);
    assert_eq!(list.json["validators"][0]["trust"], "given");
    // Nor does an agent switch them off.
    assert_eq!(world.edt(&["trust", "--revoke"]).codes(), ["TRUST_REQUIRED"]);
    assert!(trusted(&world));
    let (exit, screen) = says_at_terminal(&world, "trust --revoke", "");
    assert_eq!((exit, trusted(&world)), (Some(0), false), "{screen}");
    assert_eq!(warnings(&create(&world, "a.txt"))[0].0, "trust_required");
}

#[test]
fn without_a_terminal_nothing_is_trusted() {
    let world = World::with(&[("edt.toml", POLICY.as_bytes())]);
    let refused = world.edt_fed(b"yes\n", &["trust"]);
    assert_eq!((refused.codes(), refused.exit), (vec!["TRUST_REQUIRED"], 4));
    assert!(
        refused.hint().contains("a person") && refused.hint().contains("terminal"),
        "{}",
        refused.hint()
    );
    assert!(!trusted(&world));
    assert_eq!(
        world.edt_fed(b"", &["trust", "--yes"]).codes(),
        ["BAD_REQUEST"],
        "there is no such flag"
    );
    let nothing = World::with(&[("edt.toml", b"[session]\nswitch = true\n")]);
    assert_eq!(
        nothing.edt(&["trust"]).json["validators"],
        json!([]),
        "nothing to trust is no error"
    );
}

#[test]
fn a_session_goes_by_the_file_of_its_base() {
    let world = World::with(&[("edt.toml", POLICY.as_bytes())]);
    trust(&world);
    world.edt(&["begin"]);
    let changed = POLICY.replace("false", "true");
    world.overwrite("edt.toml", &changed);
    assert!(trusted(&world), "the base's file is still the one that was trusted");
    assert_eq!(create(&world, "a.txt").codes(), ["VALIDATOR_FAILED"]);
}

#[test]
fn every_guard_lists_itself() {
    let paths = "[[paths]]\nmatch = [\"gen/**\"]\n[paths.guards.syntax]\nmode = \"off\"\n[guards.encoding]\nmode = \"warn\"\noverride = \"never\"\n";
    let world = World::with(&[("edt.toml", [paths, POLICY].concat().as_bytes())]);
    let of = |answer: &Answer, name: &str| {
        let guards = answer.json["guards"].as_array().unwrap();
        guards
            .iter()
            .find(|guard| guard["name"] == name)
            .unwrap_or_else(|| panic!("{name}"))
            .clone()
    };
    let all = world.edt(&["guards"]);
    assert_eq!(all.json["base"], json!(world.rev("HEAD")));
    let (syntax, encoding) = (of(&all, "syntax"), of(&all, "encoding"));
    assert_eq!(
        (&syntax["code"], &syntax["mode"], &syntax["override"]),
        (&json!("SYNTAX_ERROR"), &json!("refuse"), &json!("allow"))
    );
    assert_eq!((&encoding["mode"], &encoding["override"]), (&json!("warn"), &json!("never")));
    for guard in all.json["guards"].as_array().unwrap() {
        assert!(
            ["rule", "source", "figures"]
                .iter()
                .all(|key| !guard[*key].as_str().unwrap().is_empty()),
            "{guard:#}"
        );
    }
    assert_eq!(all.json["validators"][0]["trust"], "awaited");
    let here = world.edt(&["guards", "gen/a.c"]);
    assert_eq!(
        (&of(&here, "syntax")["mode"], &here.json["validators"]),
        (&json!("off"), &json!([]))
    );
    assert_eq!(world.edt(&["guards", "../x"]).codes(), ["PATH_OUTSIDE_REPO"]);
    let told = world.command(EDT).args(["guards"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("protected_path") && told.contains("waits for `edt trust`"), "{told}");
}
