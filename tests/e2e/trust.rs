//! `edt trust` and `edt guards`: the user's decisions, and how they are shown.

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo};
use crate::validators::{trust, warnings};

const POLICY: &str = "[[validator]]\nname = \"never\"\npaths = [\"*.txt\"]\ncommand = [\"false\", \"{file}\", \"\\u001b[2J\"]\n";

fn create(workspace: &TestRepo, path: &str) -> Answer {
    workspace.edt(&["apply", path, "--mode", "create", "--content", "x"])
}

fn trusted(workspace: &TestRepo) -> bool {
    workspace.edt(&["trust", "--list"]).json["trusted"].as_bool().unwrap()
}

#[test]
fn an_untrusted_validator_does_not_run_and_stops_no_edit() {
    let workspace = TestRepo::with(&[("edt.toml", POLICY.as_bytes())]);
    let answer = create(&workspace, "a.txt");
    let printed = warnings(&answer);
    assert_eq!(
        (answer.exit, printed.len(), printed[0].0),
        (0, 1, "trust_required"),
        "{:#}",
        answer.json
    );
    assert!(
        printed[0].1.contains("TRUST_REQUIRED: never") && printed[0].1.contains("edt trust"),
        "{printed:?}"
    );
    assert_eq!(answer.json["warnings"][0]["path"], Value::Null);
    create(&workspace, "a.md").landed();
}

#[test]
fn policy_may_require_that_they_run() {
    let policy = [POLICY, "[guards.validator]\nrequire = true\n"].concat();
    let workspace = TestRepo::with(&[("edt.toml", policy.as_bytes())]);
    let held = workspace.refuses(
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
    create(&workspace, "a.md").landed();
    trust(&workspace);
    workspace.refuses(
        &["VALIDATOR_FAILED"],
        1,
        &["apply", "b.txt", "--mode", "create", "--content", "x"],
    );
}

#[test]
fn trust_is_for_one_file_as_it_is_in_one_worktree() {
    let workspace = TestRepo::with(&[("edt.toml", POLICY.as_bytes())]);
    trust(&workspace);
    assert!(trusted(&workspace));
    assert_eq!(create(&workspace, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    let copy = workspace.at(workspace.root.parent().unwrap().join("copy"));
    workspace.git(&["worktree", "add", "--quiet", "-b", "other", copy.root.to_str().unwrap()]);
    assert_eq!(warnings(&create(&copy, "a.txt"))[0].0, "trust_required");
    // Even a policy that only says it in other words.
    workspace.commit(&[("edt.toml", format!("# hello\n{POLICY}").as_bytes())]);
    assert!(!trusted(&workspace));
    assert_eq!(warnings(&create(&workspace, "a.txt"))[0].0, "trust_required");
}

#[test]
fn validators_of_the_user_need_no_trust() {
    let workspace = TestRepo::with(&[("a", b"x")]);
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(workspace.home.join(".config/edt/edt.toml"), POLICY).unwrap();
    assert_eq!(create(&workspace, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    assert_eq!(workspace.edt(&["guards"]).json["validators"][0]["trust"], "user");
}

#[test]
fn trust_is_asked_for_at_a_terminal_and_shows_the_commands_first() {
    let workspace = TestRepo::with(&[("edt.toml", POLICY.as_bytes())]);
    for typed in ["no\n", "y\n", "\n", "\u{4}"] {
        let (exit, screen) = workspace.at_terminal("trust", typed);
        assert_eq!((exit, trusted(&workspace)), (Some(4), false), "{typed:?} {screen}");
    }
    let (exit, screen) = workspace.at_terminal("trust", "yes\n");
    assert_eq!((exit, trusted(&workspace)), (Some(0), true), "{screen}");
    assert!(screen.contains(r#""false" "{file}" "\u{1b}[2J""#), "{screen}");
    assert_eq!(create(&workspace, "a.txt").codes(), ["VALIDATOR_FAILED"]);
    let list = workspace.edt(&["trust", "--list"]);
    assert_eq!(list.json["entries"].as_array().unwrap().len(), 1);
    assert_eq!(list.json["validators"][0]["trust"], "trusted");
    // Nor does an agent switch them off.
    assert_eq!(workspace.edt(&["trust", "--revoke"]).codes(), ["TRUST_REQUIRED"]);
    assert!(trusted(&workspace));
    let (exit, screen) = workspace.at_terminal("trust --revoke", "");
    assert_eq!((exit, trusted(&workspace)), (Some(0), false), "{screen}");
    assert_eq!(warnings(&create(&workspace, "a.txt"))[0].0, "trust_required");
}

#[test]
fn without_a_terminal_nothing_is_trusted() {
    let workspace = TestRepo::with(&[("edt.toml", POLICY.as_bytes())]);
    let refused = workspace.edt_fed(b"yes\n", &["trust"]);
    assert_eq!((refused.codes(), refused.exit), (vec!["TRUST_REQUIRED"], 4));
    assert!(
        refused.hint().contains("the user") && refused.hint().contains("terminal"),
        "{}",
        refused.hint()
    );
    assert!(!trusted(&workspace));
    assert_eq!(
        workspace.edt_fed(b"", &["trust", "--yes"]).codes(),
        ["BAD_REQUEST"],
        "there is no such flag"
    );
    let nothing = TestRepo::with(&[("edt.toml", b"[session]\nswitch = true\n")]);
    assert_eq!(
        nothing.edt(&["trust"]).json["validators"],
        json!([]),
        "nothing to trust is not an error"
    );
}

#[test]
fn a_session_goes_by_the_file_of_its_base() {
    let workspace = TestRepo::with(&[("edt.toml", POLICY.as_bytes())]);
    trust(&workspace);
    workspace.edt(&["begin"]);
    let changed = POLICY.replace("false", "true");
    workspace.unprotect("edt.toml");
    workspace.overwrite("edt.toml", &changed);
    assert!(trusted(&workspace), "the base's file is still the one that was trusted");
    assert_eq!(create(&workspace, "a.txt").codes(), ["VALIDATOR_FAILED"]);
}

#[test]
fn every_guard_lists_itself() {
    let paths = "[[paths]]\nmatch = [\"gen/**\"]\n[paths.guards.syntax]\nmode = \"off\"\n[guards.encoding]\nmode = \"warn\"\noverride = \"never\"\n";
    let workspace = TestRepo::with(&[("edt.toml", [paths, POLICY].concat().as_bytes())]);
    let of = |answer: &Answer, name: &str| {
        let guards = answer.json["guards"].as_array().unwrap();
        guards
            .iter()
            .find(|guard| guard["name"] == name)
            .unwrap_or_else(|| panic!("{name}"))
            .clone()
    };
    let all = workspace.edt(&["guards"]);
    assert_eq!(all.json["base"], json!(workspace.rev("HEAD")));
    let (syntax, encoding) = (of(&all, "syntax"), of(&all, "encoding"));
    assert_eq!(
        (&syntax["code"], &syntax["mode"], &syntax["override"]),
        (&json!("SYNTAX_ERROR"), &json!("refuse"), &json!("allow"))
    );
    assert_eq!((&encoding["mode"], &encoding["override"]), (&json!("warn"), &json!("never")));
    for guard in all.json["guards"].as_array().unwrap() {
        assert!(!guard["rule"].as_str().unwrap().is_empty(), "{guard:#}");
    }
    assert_eq!(all.json["validators"][0]["trust"], "untrusted");
    let here = workspace.edt(&["guards", "gen/a.c"]);
    assert_eq!(
        (&of(&here, "syntax")["mode"], &here.json["validators"]),
        (&json!("off"), &json!([]))
    );
    assert_eq!(workspace.edt(&["guards", "../x"]).codes(), ["PATH_OUTSIDE_REPO"]);
    let printed = workspace.command(EDT).args(["guards"]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.contains("protected_path") && printed.contains("waits for `edt trust`"),
        "{printed}"
    );
}
