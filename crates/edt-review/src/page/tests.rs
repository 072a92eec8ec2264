use super::*;
use crate::hunks::{LineSource, ReviewFile, ReviewHunk, ReviewLine};
use crate::model::{ReviewStep, ReviewTurn};
use crate::proposals::ReviewProposal;
use crate::refusals::{ReviewRefusal, SentEdit};
use edt_types::{FileChangeKind, SessionReport};

fn line(text: &str) -> ReviewLine {
    let source = Some(LineSource::User);
    let text = text.to_owned();
    ReviewLine {
        old: None,
        new: Some(1),
        text,
        unterminated: false,
        changed: vec![(0, 1)],
        space_only: false,
        source,
    }
}

fn changed(path: &str, texts: &[&str]) -> ReviewFile {
    let lines = texts.iter().map(|text| line(text)).collect();
    ReviewFile {
        path: path.into(),
        change: FileChangeKind::Renamed,
        from: Some(path.into()),
        similarity: Some(50),
        hash_before: None,
        hash_after: Some("0123456789abcdef".into()),
        mode_before: None,
        mode_after: Some("100755".into()),
        binary: false,
        folded: false,
        reviewed: false,
        lines_added: texts.len() as u64,
        lines_removed: 0,
        hunks: vec![ReviewHunk { header: "@@ -0,0 +1 @@".into(), lines }],
    }
}

fn step(number: u64, text: &str, files: Vec<ReviewFile>) -> ReviewStep {
    ReviewStep {
        commit: format!("{number:040}"),
        kind: Some("edit"),
        edits: vec![number],
        amended: true,
        by_user: false,
        subject: text.into(),
        reason: text.into(),
        agent: Some(text.into()),
        model: Some(text.into()),
        turn: Some(1),
        allowed: vec![text.into()],
        author: text.into(),
        time: 1_700_000_000,
        lines_added: 1,
        lines_removed: 0,
        is_read: true,
        files,
        private: vec![text.into()],
    }
}

fn refusal(text: &str) -> ReviewRefusal {
    let some = || Some(text.to_owned());
    ReviewRefusal {
        id: "1f-\"2<".into(),
        time: 0,
        call: text.into(),
        codes: vec![text.into()],
        paths: vec![text.into()],
        command: some(),
        agent: some(),
        model: some(),
        turn: Some(1),
        followed: Some("landed"),
        followed_by: Some(format!("{:040}", 1)),
        sent: vec![SentEdit {
            path: some(),
            mode: some(),
            old: Some(text.replace('\n', " ")),
            new: None,
            texts: "cut",
        }],
    }
}

fn proposal(number: u64, state: &'static str, text: &str) -> ReviewProposal {
    ReviewProposal {
        proposal: number,
        state,
        detail: Some(text.into()),
        subject: text.into(),
        reason: text.into(),
        agent: Some(text.into()),
        time: 0,
        command: Some(text.into()),
        grants: vec![text.into()],
        allowed: vec![text.into()],
        files: vec![changed(text, &[text])],
    }
}

/// A session with these steps in one turn, where every other text is `text`.
fn review(text: &str, steps: Vec<ReviewStep>) -> SessionReview {
    let turn = ReviewTurn {
        turn: Some(1),
        title: Some(text.into()),
        agent: Some(text.into()),
        model: None,
        conversation: None,
        by_user: false,
        time: 0,
        steps,
    };
    SessionReview {
        schema: "edt.review/1",
        session: SessionReport {
            name: text.into(),
            branch: text.into(),
            base: "0".repeat(40),
            began: false,
        },
        tip: "1".repeat(40),
        landed: None,
        checked_out: true,
        turns: vec![turn],
        undone: Vec::new(),
        files: vec![changed(text, &[text])],
        sources_complete: true,
        uncommitted: vec![changed(text, &[text])],
        left_over: vec![crate::model::ReviewLeftOver {
            path: text.into(),
            edits: vec![1],
            lines: vec!["1".into()],
            touched: vec![crate::three_way::TouchedPlace {
                edit: 1,
                committed: vec![text.into()],
                user: vec![text.into()],
                agent: vec![text.into()],
                line: 1,
            }],
        }],
        refused_edits: vec![edt_core::txn::refused_edits::RefusedEdit {
            session: text.into(),
            path: text.into(),
            hash: "0".repeat(40),
            request: serde_json::json!({"path": text, "content": text}),
        }],
        refused_runs: vec![edt_core::session::views::refused::RefusedRun {
            name: text.into(),
            commit: "2".repeat(40),
            subject: text.into(),
            time: 0,
        }],
        refusals: vec![refusal(text)],
        proposals: vec![proposal(1, "open", text)],
        decided_proposals: vec![proposal(2, "rejected", text)],
        comments: vec![edt_core::session::comments::Comment {
            id: 1,
            edit: Some(1),
            path: Some(text.into()),
            path_now: Some(text.into()),
            lines: Some((1, 1)),
            before: false,
            quoted: vec![text.into()],
            text: text.into(),
            time: 0,
            state: edt_core::session::comments::CommentState::Open,
            outdated: false,
            line_now: Some(1),
            review: Some(1),
            read: Some(edt_core::session::comments::Reading { agent: Some(text.into()), time: 0 }),
            answers: vec![edt_core::session::comments::CommentAnswer {
                agent: Some(text.into()),
                text: text.into(),
                time: 0,
            }],
        }],
        review_summaries: vec![edt_core::session::comments::ReviewSummary {
            review: 1,
            text: text.into(),
            time: 0,
        }],
    }
}

/// A repository without contents.
struct Nothing;

impl Contents for Nothing {
    fn blob(&self, _: &str, _: usize) -> Option<Vec<u8>> {
        None
    }
}

fn html(review: &SessionReview) -> String {
    file(review, &Nothing)
}

/// The page of a server at `at`.
fn at_of<'a>(at: &'a str, acted: Option<&'a Acted>, colours: &'a Colours) -> Live<'a> {
    let (opposite, chosen) = (None, None);
    Live { at, form: "secret", acted, opposite, chosen, state: "0", contents: &Nothing, colours }
}

/// The tags that the page has besides its own style and script.
fn tags(html: &str) -> Vec<String> {
    let own = html.replace(STYLE, "").replace(SCRIPT, "");
    own.split('<').skip(1).map(|tag| tag.split('>').next().unwrap().to_owned()).collect()
}

#[test]
fn no_text_of_the_repository_becomes_a_tag_or_an_attribute() {
    let hostile = "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>\" \
                   onclick=\"alert(3)' x='\u{202e}\u{0}\u{1b}[31m&lt;\n<!--";
    let of = |text: &str| html(&review(text, vec![step(1, text, vec![changed(text, &[text])])]));
    let (html, plain) = (of(hostile), of("plain"));
    assert_eq!(tags(&html), tags(&plain));
    for raw in ["\u{202e}", "\u{0}", "\u{1b}"] {
        assert!(!html.contains(raw), "{raw:?}");
    }
    assert!(html.contains("\\u{202e}") && html.contains("\\u{1b}"));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let html = html(&review("plain", vec![step(1, "x", vec![changed("a", &["b"])])]));
    // The script asks for events only on the page of a server, which has the element #news.
    assert!(!html.contains("id=\"news\""));
    let html = html.replace(SCRIPT, "");
    for word in ["http:", "https:", "url(", "@import", " src=", "<link"] {
        assert!(!html.contains(word), "{word}");
    }
}

#[test]
fn a_session_that_does_not_fit_is_folded_and_says_how_to_see_it() {
    let text = "x".repeat(100);
    let texts: Vec<&str> = vec![&text; 200];
    let steps = (1..=200).map(|number| step(number, "x", vec![changed("a.rs", &texts)])).collect();
    let html = html(&review("plain", steps));
    assert!(html.len() <= MAX_BYTES, "{}", html.len());
    let last = format!("edt diff {0:040}^..{0:040} -- a.rs", 200);
    assert!(html.contains(&last));
    assert!(!html.contains(&last.replace("200", "001")));
}

#[test]
fn a_line_of_the_user_is_marked() {
    let html = html(&review("plain", Vec::new()));
    assert!(html.contains("<ins data-n=\"1\" data-w=\"you\"><b>p</b>lain</ins>"), "{html}");
}

fn live(text: &str, at: &str, acted: Option<&Acted>) -> String {
    let review = review(text, vec![step(1, text, vec![changed(text, &[text])])]);
    super::live(&review, &at_of(at, acted, &Colours::default()))
}

#[test]
fn the_page_of_a_server_has_one_article_and_its_actions() {
    let html = live("plain", "edit-1", None);
    assert_eq!(html.matches("<article").count(), 1);
    for part in ["value=\"revert\"", "value=\"undo-to\"", "value=\"secret\"", "/?at=all#all-1"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(live("plain", "all", None).contains("value=\"land\""));
    assert!(live("plain", "no such", None).contains("id=\"all\""));
}

#[test]
fn each_file_and_each_hunk_of_an_edit_has_a_button_that_takes_it_back() {
    for at in ["all", "edit-1"] {
        let html = live("plain", at, None);
        let form = format!("<form class=\"part\" id=\"part-{at}-1\"");
        let button = format!("form=\"part-{at}-1\" name=\"lines\" value=\"a1\"");
        assert!(html.contains(&form) && html.contains(&button), "{html}");
        assert!(html.contains(&format!("/?at={at}&amp;lines=0#{at}-1")), "{html}");
    }
    let uncommitted = live("plain", "uncommitted", None);
    assert!(uncommitted.contains("<article") && !uncommitted.contains("class=\"part\""));
}

#[test]
fn lines_are_chosen_with_boxes_in_the_file_that_the_address_names() {
    let review = review("plain", vec![step(1, "plain", vec![changed("plain", &["plain"])])]);
    let colours = Colours::default();
    let at = |chosen| Live { chosen, ..at_of("edit-1", None, &colours) };
    let html = super::live(&review, &at(Some(0)));
    let boxed = "<input type=\"checkbox\" form=\"part-edit-1-1\" name=\"line\" value=\"a1\"";
    assert!(html.contains(boxed) && html.contains("Revert these lines"), "{html}");
    assert!(!super::live(&review, &at(None)).contains("checkbox"));
}

#[test]
fn an_action_can_be_taken_back_where_edt_has_a_command_for_it() {
    let review = review("plain", vec![step(1, "x", Vec::new())]);
    let acted = Acted { command: "edt x".into(), done: true, text: String::new() };
    let answer = |action: &Action| {
        let opposite = action.opposite();
        let opposite = opposite.as_ref();
        let colours = Colours::default();
        let live = Live { opposite, ..at_of("all", Some(&acted), &colours) };
        super::live(&review, &live)
    };
    for (action, value) in [
        (Action::Revert(1), "undo"),
        (Action::UndoTo(1), "redo"),
        (Action::Land(None), "undo-landing"),
    ] {
        let html = answer(&action);
        assert!(html.contains(&format!("value=\"{value}\"")), "{html}");
        assert!(html.contains("Undo this"));
    }
    assert!(!answer(&Action::Abandon).contains("Undo this"));
}

#[test]
fn a_comment_is_at_its_line_and_drafts_are_sent_together() {
    let steps = vec![step(1, "plain", vec![changed("plain", &["plain"])])];
    let mut review = review("plain", steps);
    let colours = Colours::default();
    let html = super::live(&review, &at_of("edit-1", None, &colours));
    let (_, hunk) = html.split_once("<div class=\"hunk\">").unwrap();
    assert!(hunk.contains("id=\"comment-1\"") && hunk.contains("value=\"comment-resolve\""));
    assert!(!html.contains("value=\"comment-send\""));
    review.comments[0].state = edt_core::session::comments::CommentState::Draft;
    review.comments[0].lines = Some((7, 8));
    let html = super::live(&review, &at_of("edit-1", None, &colours));
    assert!(html.contains("value=\"comment-send\"") && html.contains("Send 1 comment"), "{html}");
    // Its lines are not in the hunks: it is below them.
    assert_eq!(html.matches("id=\"comment-1\"").count(), 1);
}

#[test]
fn a_session_of_another_worktree_has_no_actions() {
    let review =
        SessionReview { checked_out: false, ..review("plain", vec![step(1, "x", Vec::new())]) };
    for at in ["all", "edit-1"] {
        let html = super::live(&review, &at_of(at, None, &Colours::default()));
        assert!(!html.contains("\"/act\""), "{at}");
    }
}

#[test]
fn an_answer_and_the_place_of_the_page_are_escaped() {
    let text = "<b>\"'</b>\u{1b}";
    let acted = Acted { command: text.into(), done: false, text: text.into() };
    let html = live(text, "\"><script>", Some(&acted));
    assert_eq!(tags(&html).len(), tags(&live("plain", "x", Some(&acted))).len());
    assert!(!html.contains('\u{1b}') && !html.contains("<script>"));
    assert!(!over(text, Some(&acted)).contains("<b>"));
}
