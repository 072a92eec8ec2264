use super::*;
use crate::hunks::{LineSource, ReviewFile, ReviewHunk, ReviewLine};
use crate::model::{ReviewStep, ReviewTurn};
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
        why: text.into(),
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
        here: true,
        turns: vec![turn],
        undone: Vec::new(),
        files: vec![changed(text, &[text])],
        sources_complete: true,
        uncommitted: vec![changed(text, &[text])],
        left_over: vec![crate::model::ReviewLeftOver {
            path: text.into(),
            edits: vec![1],
            lines: vec!["1".into()],
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
        proposals: vec![crate::model::OpenProposal {
            proposal: 1,
            subject: text.into(),
            agent: Some(text.into()),
            command: Some(text.into()),
        }],
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

/// The tags that the page has besides its own style and script.
fn tags(html: &str) -> Vec<String> {
    let own = html.replace(STYLE, "").replace(SCRIPT, "");
    own.split('<').skip(1).map(|tag| tag.split('>').next().unwrap().to_owned()).collect()
}

#[test]
fn no_text_of_the_repository_becomes_a_tag_or_an_attribute() {
    let hostile = "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>\" \
                   onclick=\"alert(3)' x='\u{202e}\u{0}\u{1b}[31m&lt;\n<!--";
    let of = |text: &str| file(&review(text, vec![step(1, text, vec![changed(text, &[text])])]));
    let (html, plain) = (of(hostile), of("plain"));
    assert_eq!(tags(&html), tags(&plain));
    for raw in ["\u{202e}", "\u{0}", "\u{1b}"] {
        assert!(!html.contains(raw), "{raw:?}");
    }
    assert!(html.contains("\\u{202e}") && html.contains("\\u{1b}"));
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let html = file(&review("plain", vec![step(1, "x", vec![changed("a", &["b"])])]));
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
    let html = file(&review("plain", steps));
    assert!(html.len() <= MAX_BYTES, "{}", html.len());
    let last = format!("edt diff {0:040}^..{0:040} -- a.rs", 200);
    assert!(html.contains(&last));
    assert!(!html.contains(&last.replace("200", "001")));
}

#[test]
fn a_line_of_the_user_is_marked() {
    let html = file(&review("plain", Vec::new()));
    assert!(html.contains("<ins data-n=\"1\" data-w=\"you\"><b>p</b>lain</ins>"), "{html}");
}

fn live(text: &str, at: &str, acted: Option<&Acted>) -> String {
    let review = review(text, vec![step(1, text, vec![changed(text, &[text])])]);
    super::live(&review, &Live { at, form: "secret", acted })
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
fn a_session_of_another_worktree_has_no_actions() {
    let review = SessionReview { here: false, ..review("plain", vec![step(1, "x", Vec::new())]) };
    for at in ["all", "edit-1"] {
        let html = super::live(&review, &Live { at, form: "secret", acted: None });
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
