//! `edt stats` compared with `git log` of the same repository.

use serde_json::{Value, json};

use crate::test_repo::{TestRepo, lines};

/// How many commits of `range` have all of these trailers, by Git.
fn commits(workspace: &TestRepo, range: &str, trailers: &[&str]) -> u64 {
    let format = "--format=%(trailers:only,unfold)%x00";
    let log = workspace.git(&["log", "--first-parent", format, range]);
    log.split('\0')
        .filter(|one| trailers.iter().all(|trailer| one.lines().any(|line| line == *trailer)))
        .count() as u64
}

fn stats(workspace: &TestRepo, flags: &[&str]) -> Value {
    workspace.edt(&[&["stats"], flags].concat()).json
}

fn one<'j>(list: &'j Value, key: &str, name: &Value) -> &'j Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|one| one[key] == *name)
        .unwrap_or_else(|| panic!("{name} in {list:#}"))
}

/// Two sessions, two agents, overrides, undone edits, a checkpoint, a run, a user's commit; one
/// landed, one abandoned.
fn busy() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("long.txt", lines(200).as_bytes())]);
    let edit = |agent: &str, content: &str| {
        workspace
            .edt(&["apply", "a.txt", "--mode", "append", "--content", content, "--agent", agent])
            .landed();
    };
    workspace.edt(&["begin", "first"]);
    edit("robot", "two\n");
    edit("robot", "three\n");
    edit("other", "four\n");
    workspace.edt(&["undo", "2"]);
    workspace.edt(&["redo"]);
    workspace.edt(&["undo"]);
    let short =
        ["apply", "long.txt", "--mode", "overwrite", "--content", "short\n", "--agent", "robot"];
    assert_eq!(workspace.edt(&short).codes(), ["SIZE_REDUCTION"]);
    workspace.edt(&[&short[..], &["--allow", "size_reduction"]].concat()).landed();
    workspace.write("new.txt", "by hand\n");
    workspace.edt(&["checkpoint"]);
    workspace.runs(&[], &["touch", "made.txt"]);
    workspace.write("user.txt", "p\n");
    workspace.git(&["add", "user.txt"]);
    workspace.git(&["commit", "--quiet", "-m", "a user's own"]);
    let (exit, screen) = workspace.at_terminal("land -m all", "");
    assert_eq!(exit, Some(0), "{screen}");
    workspace.edt(&["begin", "second"]);
    edit("other", "five\n");
    workspace.edt(&["abandon"]);
    workspace
}

#[test]
fn the_numbers_are_those_of_git() {
    let workspace = busy();
    let all = stats(&workspace, &["--ended"]);
    let first = one(&all["sessions"], "name", &json!("first"));
    let range = "refs/edt/first/base..refs/edt/first/landed/1";
    for (key, trailers) in [
        ("edits", &["Edt-Session: first", "Edt-Kind: edit"][..]),
        ("runs", &["Edt-Kind: run"]),
        ("checkpoints", &["Edt-Kind: checkpoint"]),
    ] {
        assert_eq!(first["made"][key], commits(&workspace, range, trailers), "{key}");
        assert!(first["made"][key].as_u64() > Some(0), "{key}");
    }
    let undone = commits(&workspace, "refs/edt/first/undone/1", &["Edt-Kind: edit"]);
    assert!(undone > 0);
    let undone = workspace.git(&[
        "log",
        "--format=%H",
        "--glob=refs/edt/first/undone",
        "--not",
        "refs/edt/first/landed/1",
    ]);
    assert_eq!(first["made"]["undone"], undone.lines().count());
    assert_eq!(first["made"]["user_commits"], 1);
    assert_eq!(first["made"]["overrides"], json!({"size_reduction": 1}));
    assert_eq!((&first["state"], &first["landed"]), (&json!("landed"), &json!(1)));
    let numstat =
        workspace.git(&["diff", "--numstat", "refs/edt/first/base", "refs/edt/first/landed/1"]);
    let sum = |at: usize| {
        numstat
            .lines()
            .map(|line| line.split('\t').nth(at).unwrap().parse::<u64>().unwrap())
            .sum::<u64>()
    };
    let net = &first["net"];
    assert_eq!(
        (&net["files"], &net["lines_added"]),
        (&json!(numstat.lines().count()), &json!(sum(0)))
    );
    assert_eq!(net["lines_removed"], sum(1));
    let second = one(&all["sessions"], "name", &json!("second"));
    assert_eq!((&second["state"], &second["made"]["edits"]), (&json!("abandoned"), &json!(1)));
    let made = first["made"]["edits"].as_u64().unwrap() + first["made"]["runs"].as_u64().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let rate = undone.lines().count() as f64 / (made + undone.lines().count() as u64) as f64;
    assert_eq!(first["made"]["undo_rate"], rate);
}

#[test]
fn agents_are_counted_over_sessions_and_filters_hold() {
    let workspace = busy();
    let all = stats(&workspace, &[]);
    let other = one(&all["agents"], "agent", &json!("other"));
    assert_eq!(
        (&other["sessions"], &other["made"]["edits"], &other["made"]["undone"]),
        (&json!(2), &json!(1), &json!(1))
    );
    let robot = stats(&workspace, &["--agent", "robot"]);
    assert_eq!(robot["agents"].as_array().unwrap().len(), 1);
    assert_eq!(robot["total"], one(&all["agents"], "agent", &json!("robot"))["made"]);
    assert_eq!(stats(&workspace, &["--session", "second"])["total"]["edits"], 1);
    assert_eq!(stats(&workspace, &["--since", "3 days ago"])["total"], all["total"]);
    assert_eq!(stats(&workspace, &["--since", "2099-01-01"])["sessions"], json!([]));
    workspace.refuses(&["NO_SESSION"], 1, &["stats", "--session", "third"]);
    workspace.refuses(&["BAD_REQUEST"], 2, &["stats", "--since", "soon"]);
}

/// The refusals of an answer by code: how many, and how many of each outcome that occurred.
fn refusals(answer: &Value) -> Value {
    let codes = answer["refusals"]["codes"].as_object().unwrap();
    let counts = |outcomes: &Value| {
        let counts = outcomes.as_object().unwrap().iter();
        counts
            .filter(|(_, count)| count.as_u64().is_some_and(|count| count > 0))
            .map(|(key, count)| (key.clone(), count.clone()))
            .collect::<serde_json::Map<String, Value>>()
    };
    codes.iter().map(|(code, outcomes)| (code.clone(), Value::Object(counts(outcomes)))).collect()
}

#[test]
fn modes_are_counted_with_the_share_of_appends() {
    let workspace = busy();
    let first = stats(&workspace, &["--session", "first"])["total"].clone();
    // Three appends, and an overwrite; an undone edit counts, too.
    assert_eq!(first["modes"], json!({"append": 3, "overwrite": 1}), "{first:#}");
    assert_eq!(first["append_share"], 0.75);
    let range = "refs/edt/first/base..refs/edt/first/landed/1";
    assert_eq!(commits(&workspace, range, &["Edt-Mode: append"]), 2);
}

#[test]
fn refusals_are_counted_by_code_and_by_what_followed() {
    let workspace = busy();
    let all = stats(&workspace, &[]);
    let expected = json!({"SIZE_REDUCTION": {"refused": 1, "overridden": 1}});
    assert_eq!(refusals(&all), expected, "an override is not a fix");
    for filter in [["--agent", "robot"], ["--session", "first"], ["--since", "3 days ago"]] {
        assert_eq!(refusals(&stats(&workspace, &filter)), expected, "{filter:?}");
    }
    for filter in [["--agent", "other"], ["--session", "second"], ["--since", "2099-01-01"]] {
        assert_eq!(refusals(&stats(&workspace, &filter)), json!({}), "{filter:?}");
    }
}

#[test]
fn groups_have_edits_and_refusals() {
    let workspace = busy();
    workspace.edt(&["begin", "third"]);
    workspace.apply(&json!({"path": "a.txt", "mode": "edit", "content": "x", "agent": "robot"}));
    let group = |by: &str, key: &str, name: &Value| {
        let groups = stats(&workspace, &["--by", by])["groups"].clone();
        let found = groups.as_array().unwrap().iter().find(|one| one["group"][key] == *name);
        let found = found.unwrap_or_else(|| panic!("{name} in {groups:#}")).clone();
        (found["made"]["edits"].clone(), found["refusals"]["all"]["refused"].clone())
    };
    assert_eq!(group("agent", "agent", &json!("robot")), (json!(3), json!(2)));
    assert_eq!(group("session", "session", &json!("first")), (json!(3), json!(1)));
    assert_eq!(group("session", "session", &json!("third")), (json!(0), json!(1)));
    assert_eq!(group("model", "agent", &json!("robot")), (json!(3), json!(2)));
    assert_eq!(group("turn", "session", &json!("third")), (json!(0), json!(1)));
    assert_eq!(stats(&workspace, &[])["groups"], json!([]));
}

#[test]
fn a_refusal_counts_immediately_and_a_landing_follows_it() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n")]);
    let edit = |old: &str| {
        let args = ["apply", "a.txt", "--mode", "edit", "--content", "three\n", "--old-text", old];
        workspace.edt(&args)
    };
    assert_eq!(edit("four\n").codes(), ["OLD_TEXT_NOT_FOUND"]);
    let now = || refusals(&stats(&workspace, &[]));
    assert_eq!(now(), json!({"OLD_TEXT_NOT_FOUND": {"refused": 1, "nothing": 1}}));
    edit("two\n").landed();
    assert_eq!(now(), json!({"OLD_TEXT_NOT_FOUND": {"refused": 1, "landed": 1}}));
}

#[test]
fn a_repository_without_sessions_has_nothing_to_count() {
    let workspace = TestRepo::unborn(&[]);
    let all = stats(&workspace, &[]);
    assert_eq!((&all["sessions"], &all["agents"]), (&json!([]), &json!([])));
    assert_eq!(
        (&all["total"]["undo_rate"], &all["total"]["append_share"]),
        (&Value::Null, &Value::Null)
    );
    // A session that began on nothing.
    workspace.edt(&["apply", "a", "--mode", "create", "--content", "a\n"]).landed();
    assert_eq!(stats(&workspace, &[])["total"]["edits"], 1);
    assert_eq!(stats(&workspace, &[])["sessions"][0]["net"]["lines_added"], 1);
}
