//! Comments of a session, from the first draft to what an agent reads.

use super::delivery::{CommentedSession, Delivery};
use super::shown::{self, CommentReader};
use super::write::{self, CommentPlace, MAX_ANSWERS, MAX_TEXT, Writer};
use super::{Comment, CommentState, Reading, store};
use crate::tests::{Scratch, refusal};
use crate::txn::Request;
use edt_types::{Code, Result};

const TEN: &str =
    "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n";

/// A session with the edit 1, which changes line 5 of `a.txt`.
fn edited() -> Scratch {
    let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
    scratch.begin("fix");
    scratch.edit("first", "a.txt", "line 5\n", "line five\n");
    scratch
}

fn at(edit: Option<u64>, lines: (u64, u64)) -> CommentPlace {
    CommentPlace { edit, path: Some("a.txt".into()), lines: Some(lines), before: false }
}

fn add(scratch: &Scratch, place: &CommentPlace) -> Result<u64> {
    write::add(&scratch.open().repo, &scratch.session(), place, "Why?", 7)
}

fn send(scratch: &Scratch) -> Vec<u64> {
    write::send(&scratch.open().repo, "fix", Some("Nearly."), 8).unwrap()
}

fn seen(scratch: &Scratch, reader: CommentReader) -> Vec<Comment> {
    shown::comments(&scratch.repo(), &scratch.session(), reader).unwrap().0
}

/// Where the first comment's lines are: outdated, the file, the line.
fn place(scratch: &Scratch) -> (bool, Option<String>, Option<u64>) {
    let one = seen(scratch, CommentReader::User).remove(0);
    (one.outdated, one.path_now, one.line_now)
}

fn there(path: &str, line: u64) -> (bool, Option<String>, Option<u64>) {
    (false, Some(path.to_owned()), Some(line))
}

fn gone(path: Option<&str>) -> (bool, Option<String>, Option<u64>) {
    (true, path.map(str::to_owned), None)
}

#[test]
fn a_comment_keeps_the_lines_that_it_is_about() {
    let scratch = edited();
    assert_eq!(add(&scratch, &at(Some(1), (5, 6))), Ok(1));
    let expected = Comment {
        id: 1,
        edit: Some(1),
        path: Some("a.txt".into()),
        path_now: Some("a.txt".into()),
        lines: Some((5, 6)),
        before: false,
        quoted: vec!["line five".into(), "line 6".into()],
        text: "Why?".into(),
        time: 7,
        state: CommentState::Draft,
        outdated: false,
        line_now: Some(5),
        review: None,
        read: None,
        answers: Vec::new(),
    };
    assert_eq!(seen(&scratch, CommentReader::User), [expected]);
    assert_eq!(seen(&scratch, CommentReader::Agent), []);
}

#[test]
fn what_a_comment_is_about_must_exist() {
    let scratch = edited();
    let code = |place: CommentPlace| refusal(add(&scratch, &place)).code;
    assert_eq!(code(at(Some(2), (1, 1))), Code::BadRequest);
    assert_eq!(code(CommentPlace { path: None, ..at(None, (1, 1)) }), Code::BadRequest);
    assert_eq!(
        code(CommentPlace { before: true, lines: None, ..at(None, (1, 1)) }),
        Code::BadRequest
    );
    assert_eq!(
        code(CommentPlace { path: Some("b.txt".into()), ..at(None, (1, 1)) }),
        Code::FileNotFound
    );
    for lines in [(0, 1), (3, 2), (10, 11), (u64::MAX, u64::MAX)] {
        assert_eq!(code(at(Some(1), lines)), Code::LineOutOfRange, "{lines:?}");
    }
    assert_eq!(seen(&scratch, CommentReader::User), []);
    for place in [CommentPlace::default(), CommentPlace { lines: None, ..at(Some(1), (1, 1)) }] {
        add(&scratch, &place).unwrap();
    }
    assert!(seen(&scratch, CommentReader::User).iter().all(|one| !one.outdated));
}

#[test]
fn a_new_file_has_no_lines_before_and_a_deleted_one_none_after() {
    let scratch = edited();
    scratch.apply(&Request::new("x").create("n.txt", "new\n").delete("b.txt")).unwrap();
    let place = |path: &str, before| CommentPlace {
        edit: Some(2),
        path: Some(path.into()),
        lines: Some((1, 1)),
        before,
    };
    assert_eq!(refusal(add(&scratch, &place("n.txt", true))).code, Code::LineOutOfRange);
    assert_eq!(refusal(add(&scratch, &place("b.txt", false))).code, Code::LineOutOfRange);
    add(&scratch, &place("n.txt", false)).unwrap();
    add(&scratch, &place("b.txt", true)).unwrap();
    let quoted: Vec<_> =
        seen(&scratch, CommentReader::User).into_iter().map(|one| one.quoted).collect();
    assert_eq!(quoted, [["new"], ["b"]]);
}

#[test]
fn a_text_has_a_limit_and_any_characters() {
    let scratch = edited();
    let add = |text: &str| {
        write::add(&scratch.open().repo, &scratch.session(), &CommentPlace::default(), text, 7)
    };
    assert_eq!(refusal(add(" \n")).code, Code::BadRequest);
    assert_eq!(refusal(add(&"x".repeat(1 << 20))).code, Code::FileTooLarge);
    assert_eq!(refusal(add(&"x".repeat(MAX_TEXT + 1))).code, Code::FileTooLarge);
    assert!(add(&"x".repeat(MAX_TEXT)).is_ok());
    let hostile = "\u{1b}[2J\0\r\n\u{202e}<script>";
    add(hostile).unwrap();
    assert_eq!(seen(&scratch, CommentReader::User)[1].text, hostile);
}

#[test]
fn long_lines_and_many_of_them_are_kept_in_part() {
    let scratch = edited();
    let text = format!("{}\n", "x".repeat(5000)) + &"y\n".repeat(100);
    scratch.apply(&Request::new("x").create("n.txt", text)).unwrap();
    let path = Some("n.txt".into());
    add(&scratch, &CommentPlace { path, ..at(Some(2), (1, 101)) }).unwrap();
    let one = seen(&scratch, CommentReader::User).remove(0);
    assert_eq!((one.quoted.len(), one.quoted.last().map(String::as_str)), (41, Some("…")));
    assert!(one.quoted[0].len() < 500, "{}", one.quoted[0]);
    assert_eq!((one.outdated, one.line_now), (false, Some(1)));
}

#[test]
fn lines_that_a_later_edit_changes_are_outdated_and_kept() {
    let scratch = edited();
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    scratch.edit("second", "a.txt", "line five\n", "line V\n");
    assert_eq!(place(&scratch), gone(Some("a.txt")));
    assert_eq!(seen(&scratch, CommentReader::User)[0].quoted, ["line five"]);
    scratch.undo(1).unwrap();
    assert_eq!(place(&scratch), there("a.txt", 5));
    scratch.undo(1).unwrap();
    assert_eq!(place(&scratch), gone(Some("a.txt")));
}

#[test]
fn lines_follow_the_edits_above_them() {
    let scratch = edited();
    add(&scratch, &at(None, (5, 5))).unwrap();
    scratch.edit("second", "a.txt", "line 1\n", "zero\nline 1\nand a half\n");
    assert_eq!(place(&scratch), there("a.txt", 7));
}

#[test]
fn lines_follow_their_file_to_another_name() {
    let scratch = edited();
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    scratch.apply(&Request::new("x").rename("a.txt", "c/d.txt")).unwrap();
    assert_eq!(place(&scratch), there("c/d.txt", 5));
    scratch.edit("y", "c/d.txt", "line 1\n", "");
    assert_eq!(place(&scratch), there("c/d.txt", 4));
    scratch.apply(&Request::new("z").delete("c/d.txt")).unwrap();
    assert_eq!(place(&scratch), gone(None));
}

#[test]
fn removed_lines_are_outdated_once_the_session_has_them_again() {
    let scratch = edited();
    add(&scratch, &CommentPlace { before: true, ..at(Some(1), (5, 5)) }).unwrap();
    assert_eq!(seen(&scratch, CommentReader::User)[0].quoted, ["line 5"]);
    assert_eq!(place(&scratch), there("a.txt", 5));
    scratch.edit("second", "a.txt", "line five\n", "line 5\n");
    assert_eq!(place(&scratch), (true, Some("a.txt".into()), Some(5)));
}

#[test]
fn an_edit_that_was_undone_can_have_comments() {
    let scratch = edited();
    scratch.undo(1).unwrap();
    assert_eq!(add(&scratch, &at(Some(1), (5, 5))), Ok(1));
    assert_eq!(place(&scratch), gone(Some("a.txt")));
}

#[test]
fn content_that_is_missing_makes_a_comment_outdated() {
    let scratch = edited();
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    store::change(&scratch.open().repo, "fix", |all| {
        let anchor = all.comments[0].anchor.as_mut().unwrap();
        anchor.blob = "1".repeat(anchor.blob.len());
        Ok(())
    })
    .unwrap();
    assert!(place(&scratch).0);
}

#[test]
fn drafts_are_sent_together() {
    let scratch = edited();
    let sent = |summary| write::send(&scratch.open().repo, "fix", summary, 8);
    assert_eq!(refusal(sent(None)).code, Code::CommentNotFound);
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    add(&scratch, &CommentPlace::default()).unwrap();
    assert_eq!(sent(Some("Nearly.")), Ok(vec![1, 2]));
    assert_eq!(refusal(sent(None)).code, Code::CommentNotFound);
    add(&scratch, &CommentPlace::default()).unwrap();
    assert_eq!(sent(None), Ok(vec![3]));
    let (all, summaries) =
        shown::comments(&scratch.repo(), &scratch.session(), CommentReader::Agent).unwrap();
    let reviews: Vec<_> = all.iter().map(|one| one.review.unwrap()).collect();
    assert_eq!(reviews, [1, 1, 2]);
    let summaries: Vec<_> = summaries.iter().map(|one| (one.review, one.text.as_str())).collect();
    assert_eq!(summaries, [(1, "Nearly.")]);
}

#[test]
fn a_draft_can_be_deleted_and_its_number_is_not_used_again() {
    let scratch = edited();
    add(&scratch, &CommentPlace::default()).unwrap();
    let delete = |id| write::delete(&scratch.open().repo, "fix", id);
    assert_eq!(refusal(delete(2)).summary, "The session fix has no draft 2.");
    delete(1).unwrap();
    assert_eq!(add(&scratch, &CommentPlace::default()), Ok(2));
    send(&scratch);
    assert_eq!(refusal(delete(2)).code, Code::BadRequest);
}

#[test]
fn answers_of_agents_leave_room_for_the_user() {
    let scratch = edited();
    add(&scratch, &CommentPlace::default()).unwrap();
    send(&scratch);
    let workspace = scratch.open();
    let repo = &workspace.repo;
    let text = "x".repeat(MAX_TEXT);
    let agent = Writer::Agent("n".repeat(10_000));
    let found = loop {
        if let Err(found) = write::answer(repo, "fix", 1, (&agent, &text), 9) {
            break refusal::<()>(Err(found));
        }
    };
    assert_eq!(found.code, Code::FileTooLarge);
    assert!(found.remedy.contains("edt comment resolve"), "{}", found.remedy);
    let (_, stored) = store::read(repo, "fix").unwrap().unwrap();
    assert_eq!(stored.comments[0].answers.len(), MAX_ANSWERS / (MAX_TEXT + 200));
    for _ in 0..32 {
        write::answer(repo, "fix", 1, (&Writer::User, &text), 9).unwrap();
    }
    write::resolve(repo, "fix", 1).unwrap();
}

fn here(scratch: &Scratch) -> Delivery {
    let repo = scratch.repo();
    CommentedSession::here(&repo).delivery(|| Ok(repo))
}

fn delivered(scratch: &Scratch) -> Delivery {
    let workspace = scratch.open();
    let delivery = here(scratch);
    delivery.mark_read(&workspace.repo, Some("codex"), 9).unwrap();
    delivery
}

/// The numbers of the unread comments, how many are open and how many were left out.
fn counts(delivery: &Delivery) -> (Vec<u64>, u64, u64) {
    let Some(all) = &delivery.comments else { return Default::default() };
    (all.unread.iter().map(|one| one.id).collect(), all.open, all.left_out)
}

#[test]
fn an_agent_gets_each_comment_once() {
    let scratch = edited();
    assert_eq!(delivered(&scratch), Delivery::default());
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    assert_eq!(delivered(&scratch), Delivery::default());
    send(&scratch);
    // Not noted, so it is given again.
    assert!(here(&scratch).has_unread());
    let delivery = delivered(&scratch);
    assert_eq!(counts(&delivery), (vec![1], 1, 0));
    assert_eq!(delivery.comments.unwrap().summaries[0].text, "Nearly.");
    assert_eq!(counts(&delivered(&scratch)), (vec![], 1, 0));
    let read = seen(&scratch, CommentReader::User)[0].read.clone();
    assert_eq!(read, Some(Reading { agent: Some("codex".into()), time: 9 }));
}

#[test]
fn what_the_user_adds_is_given_again() {
    let scratch = edited();
    add(&scratch, &at(Some(1), (5, 5))).unwrap();
    send(&scratch);
    let workspace = scratch.open();
    let repo = &workspace.repo;
    let delivery = here(&scratch);
    // While the answer is printed.
    write::answer(repo, "fix", 1, (&Writer::User, "And test it."), 9).unwrap();
    delivery.mark_read(repo, None, 9).unwrap();
    let again = here(&scratch);
    assert_eq!(again.comments.as_ref().unwrap().unread[0].answers[0].text, "And test it.");
    again.mark_read(repo, None, 9).unwrap();
    write::answer(repo, "fix", 1, (&Writer::Agent("codex".into()), "Done."), 10).unwrap();
    assert!(!here(&scratch).has_unread());
    write::resolve(repo, "fix", 1).unwrap();
    assert_eq!(here(&scratch), Delivery::default());
    write::reopen(repo, "fix", 1).unwrap();
    assert_eq!(counts(&here(&scratch)), (vec![1], 1, 0));
    let named = |id| write::answer(repo, "fix", id, (&Writer::User, "x"), 9);
    assert_eq!(refusal(named(2)).code, Code::CommentNotFound);
}

#[test]
fn an_answer_has_a_few_comments_and_says_how_many_are_left() {
    let scratch = edited();
    let add = |bytes: usize| {
        let (workspace, place) = (scratch.open(), CommentPlace::default());
        write::add(&workspace.repo, &scratch.session(), &place, &"x".repeat(bytes), 7).unwrap();
    };
    [MAX_TEXT, 1500, 1500, 1500].into_iter().for_each(add);
    send(&scratch);
    let all: Vec<_> = (0..4).map(|_| counts(&delivered(&scratch))).collect();
    assert_eq!(all, [(vec![1], 4, 3), (vec![2, 3], 4, 1), (vec![4], 4, 0), (vec![], 4, 0)]);
}

#[test]
fn comments_that_cannot_be_read_are_a_warning() {
    let scratch = edited();
    scratch.set_ref("refs/edt/fix/comments", scratch.head());
    let warning = here(&scratch).warning.unwrap();
    assert_eq!(warning.code.name(), "comments_not_read");
}

#[test]
fn a_session_that_is_not_switched_to_has_its_comments() {
    let scratch = Scratch::with(&[("a.txt", "one\n")]);
    scratch.begin_with("fix", crate::session::worktree::begin::HeadSwitch::Never);
    add(&scratch, &CommentPlace::default()).unwrap();
    send(&scratch);
    assert_eq!(counts(&here(&scratch)), (vec![1], 1, 0));
}

#[test]
fn the_comments_end_with_the_session() {
    use crate::session::back::abandon::abandon;
    use crate::session::collection::gc::{GcOptions, gc};
    let scratch = edited();
    add(&scratch, &CommentPlace::default()).unwrap();
    send(&scratch);
    let session = scratch.session();
    abandon(&mut scratch.open(), &session).unwrap();
    assert!(scratch.ref_value("refs/edt/fix/comments").is_some());
    gc(scratch.open(), GcOptions { before: i64::MAX, dry_run: false }).unwrap();
    assert_eq!(scratch.ref_value("refs/edt/fix/comments"), None);
    assert_eq!(scratch.repo().refs_below("refs/edt/fix/").unwrap(), []);
}
