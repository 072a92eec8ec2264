use super::*;
use crate::session::worktree::options::Options;
use crate::tests::Scratch;
use crate::txn::{refused_unread, transact};
use edt_journal::refusals::Recorded;
use edt_types::{Code, DryRun, Finding, Outcome, Result};
use serde_json::json;

fn scratch() -> Scratch {
    Scratch::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")])
}

fn apply(scratch: &Scratch, request: &Request) -> Result<Outcome> {
    transact(&mut scratch.open(), request, DryRun::No)
}

fn recorded(scratch: &Scratch) -> Vec<Recorded> {
    RefusalLog::of(&scratch.repo()).all()
}

/// Each refusal's first code, and how what followed ended.
fn followed(scratch: &Scratch) -> Vec<(String, Option<How>)> {
    let all = recorded(scratch).into_iter();
    all.map(|one| (one.refused.findings[0].code.clone(), one.followed.map(|one| one.how))).collect()
}

const NOT_FOUND: &str = "OLD_TEXT_NOT_FOUND";

fn wrong(path: &str, old: &str) -> Request {
    Request::new("x").edit(path, old, "better words here")
}

#[test]
fn a_refused_edit_is_recorded_with_what_it_tried() {
    let scratch = scratch();
    apply(&scratch, &wrong("a.txt", "some text which is nowhere").agent("codex")).unwrap_err();
    let all = recorded(&scratch);
    let call = &all[0].refused;
    assert_eq!((call.call.as_str(), call.agent.as_deref()), ("apply", Some("codex")));
    assert_eq!((call.session.as_deref(), call.findings[0].code.as_str()), (None, NOT_FOUND));
    let tried = TriedEdit {
        path: Some("a.txt".to_owned()),
        mode: Some("edit".to_owned()),
        ..TriedEdit::default()
    };
    let tried = tried.with_old(b"some text which is nowhere").with_new(b"better words here");
    assert_eq!(call.edits, [tried]);
}

#[test]
fn an_edit_that_lands_and_a_dry_run_record_nothing() {
    let scratch = scratch();
    transact(&mut scratch.open(), &wrong("a.txt", "nowhere"), DryRun::Yes).unwrap_err();
    apply(&scratch, &Request::new("x").edit("a.txt", "one", "1")).unwrap();
    assert_eq!(recorded(&scratch), []);
    assert!(!RefusalLog::of(&scratch.repo()).file().exists());
}

#[test]
fn the_edit_of_the_same_place_follows() {
    let scratch = scratch();
    apply(&scratch, &wrong("a.txt", "one three four")).unwrap_err();
    apply(&scratch, &wrong("b.txt", "c d e f")).unwrap_err();
    let outcome = apply(&scratch, &Request::new("x").edit("a.txt", "one", "other")).unwrap();
    assert_eq!(
        followed(&scratch),
        [(NOT_FOUND.to_owned(), Some(How::Landed)), (NOT_FOUND.to_owned(), None)]
    );
    assert_eq!(recorded(&scratch)[0].followed.as_ref().unwrap().commit, outcome.commit);
}

#[test]
fn an_edit_of_another_place_of_the_file_does_not() {
    let scratch = scratch();
    apply(&scratch, &wrong("a.txt", "one three four")).unwrap_err();
    apply(&scratch, &Request::new("x").edit("a.txt", "two", "2")).unwrap();
    assert_eq!(followed(&scratch), [(NOT_FOUND.to_owned(), None)]);
}

#[test]
fn an_edit_that_stays_out_of_the_branch_follows_and_teaches_nothing() {
    let scratch = Scratch::with_rules(&[("a.txt", "one\n")], "*.log\n");
    scratch.write("x.log", "one\n");
    apply(&scratch, &wrong("x.log", "some text which is nowhere")).unwrap_err();
    let outcome = apply(&scratch, &Request::new("x").overwrite("x.log", "two\n")).unwrap();
    assert_ne!(outcome.files[0].recorded, edt_types::RecordedIn::Branch);
    let all = recorded(&scratch);
    let followed = all[0].followed.as_ref().unwrap();
    assert_eq!((followed.how, &followed.class), (How::Landed, &None));
}

#[test]
fn only_a_request_is_classified() {
    #[derive(Debug)]
    struct Classifier;

    impl crate::observe::Observer for Classifier {
        fn followed(
            &self,
            _: RepositoryView<'_>,
            _: MemoryUse,
            _: &RefusedCall,
            _: &[TriedEdit],
            _: &Landing<'_>,
        ) -> Option<String> {
            Some("class".to_owned())
        }
    }

    let request = Request::new("x").overwrite("a.txt", "all\n");
    for (request, class) in [(Some(&request), Some("class".to_owned())), (None, None)] {
        let scratch = scratch();
        apply(&scratch, &wrong("a.txt", "one three four")).unwrap_err();
        let observers: Vec<std::sync::Arc<dyn crate::observe::Observer>> =
            vec![std::sync::Arc::new(Classifier)];
        let mut workspace = scratch.open_with(Options { observers, ..Options::default() });
        let landing = Landing {
            session: "s",
            commit: "c",
            paths: vec![("a.txt", None)],
            overrode: Vec::new(),
        };
        landed(&mut workspace, request, &landing);
        let followed = recorded(&scratch).remove(0).followed.unwrap();
        assert_eq!((followed.how, followed.class), (How::Landed, class));
    }
}

#[test]
fn a_further_refusal_of_the_same_place_follows_the_first() {
    let scratch = scratch();
    scratch.begin("fix");
    apply(&scratch, &wrong("a.txt", "one three four")).unwrap_err();
    apply(&scratch, &wrong("a.txt", "one three five")).unwrap_err();
    apply(&scratch, &Request::new("x").overwrite("a.txt", "all\n")).unwrap();
    let hows: Vec<Option<How>> = followed(&scratch).into_iter().map(|(_, how)| how).collect();
    assert_eq!(hows, [Some(How::RefusedAgain), Some(How::Landed)]);
}

#[test]
fn an_override_of_the_refusal_is_told_from_a_fix() {
    let scratch = scratch();
    let request = Request::new("x").append("a.txt", b"\xff".to_vec());
    apply(&scratch, &request).unwrap_err();
    apply(&scratch, &request.allow("encoding")).unwrap();
    assert_eq!(followed(&scratch)[0].1, Some(How::Overridden));
}

#[test]
fn a_request_that_cannot_be_read_is_recorded_as_far_as_it_shows() {
    let scratch = scratch();
    let json = br#"{"path": "a.txt", "mode": "edit", "content": "x", "agent": "codex"}"#;
    let found = Request::from_json(json).unwrap_err();
    let found = refused_unread(&scratch.open(), tried::of_json(json), found);
    assert!(found.is_recorded());
    let call = recorded(&scratch).remove(0).refused;
    assert_eq!(call.agent.as_deref(), Some("codex"));
    assert_eq!(call.findings[0].code, "OLD_TEXT_REQUIRED");
    assert_eq!(call.edits[0].new.as_deref(), Some("x"));
    apply(&scratch, &Request::new("x").append("a.txt", "x\n")).unwrap();
    assert_eq!(followed(&scratch)[0].1, Some(How::Landed));
}

#[test]
fn texts_of_ignored_and_protected_files_and_credentials_are_withheld() {
    const POLICY: &str = "[[protect]]\npaths = [\"ci/**\"]\n";
    let scratch = Scratch::with_rules(
        &[("edt.toml", POLICY), ("ci/a.yml", "one\n"), ("a.txt", "one\n")],
        "*.env\n",
    );
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5");
    scratch.write("x.env", "one\n");
    for (path, text) in [("x.env", "plain words"), ("ci/a.yml", "plain words"), ("a.txt", &token)] {
        apply(&scratch, &Request::new("x").edit(path, "nothing like it", text)).unwrap_err();
    }
    // These cannot be applied, and may name the same file.
    let file = scratch.repo().real_root().unwrap().join("x.env");
    let outside = scratch.repo().real_root().unwrap().with_file_name("y.env");
    for path in [json!(file), json!(outside), json!("../y.env"), json!("a/../x.env"), json!(null)] {
        let _ = unread(&scratch, &json!({"path": path, "old_text": "a", "content": "b"}));
    }
    let _ = unread(&scratch, &json!({"patch": "nonsense", "flavour": 1}));
    let all = recorded(&scratch);
    assert_eq!(all.len(), 9);
    for one in all {
        let edit = &one.refused.edits[0];
        assert_eq!((&edit.old, &edit.new), (&None, &None), "{one:?}");
    }
}

/// Records the refusal of a request that cannot be read.
fn unread(scratch: &Scratch, json: &serde_json::Value) -> Refusal {
    let json = json.to_string();
    let found = Request::from_json(json.as_bytes()).unwrap_err();
    refused_unread(&scratch.open(), tried::of_json(json.as_bytes()), found)
}

#[test]
fn a_credential_is_not_kept_as_a_name() {
    let scratch = scratch();
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5");
    for (mode, name) in [("hunter", token.as_str()), ("edit", "codex")] {
        let json = json!({"path": "a.txt", "mode": mode, "agent": name, "symbol": name, "x": 1});
        let _ = unread(&scratch, &json);
    }
    let all = recorded(&scratch).into_iter();
    let names: Vec<_> = all
        .map(|one| {
            let edit = one.refused.edits[0].clone();
            (edit.path, edit.mode, edit.symbol, one.refused.agent)
        })
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        names,
        [
            (some("a.txt"), None, None, None),
            (some("a.txt"), some("edit"), some("codex"), some("codex"))
        ]
    );
}

#[test]
fn a_command_is_recorded_without_its_arguments() {
    let scratch = scratch();
    let found: Refusal = Finding::new(Code::CommandDenied, "x", "y").into();
    let command = Some("PGPASSWORD=hunter git push hunter".to_owned());
    let attempt = Attempt { call: "command", command, ..Attempt::default() };
    record(&scratch.repo(), &Options::default(), None, attempt, &found);
    assert_eq!(recorded(&scratch)[0].refused.command.as_deref(), Some("git push …"));
}

#[test]
fn lines_and_symbols_decide_where_both_name_them() {
    let lines = |first, last| TriedEdit { lines: Some([first, last]), ..TriedEdit::default() };
    let symbol = |name: &str| TriedEdit { symbol: Some(name.to_owned()), ..TriedEdit::default() };
    assert!(is_same(&lines(1, 3), &lines(3, 4)));
    assert!(!is_same(&lines(1, 3), &lines(4, 4)));
    assert!(is_same(&symbol("a"), &symbol("a")));
    assert!(!is_same(&symbol("a"), &symbol("b")));
}
