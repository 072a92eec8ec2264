use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{App, Effect};
use super::ask::Overlay;
use super::draw;
use super::row::Row;
use super::worker::{Job, News};
use crate::action::{Acted, Action, CommentAction, Part};
use crate::hunks::{LineSource, ReviewFile};
use crate::model::{ReviewStep, ReviewTurn, SessionReview};
use edt_core::session::views::file_diff::FileDiff;
use edt_types::{Comment, CommentState, FileChangeKind, SessionReport};

const PATCH: &str = "@@ -1,4 +1,4 @@\n a\n-let x = 1;\n+let x = 2;\n b\n-gone\n+new\n\
                     @@ -10,2 +10,3 @@\n j\n+x\n+y\n k\n";

fn file(path: &str, patch: &str) -> ReviewFile {
    ReviewFile::of(FileDiff {
        path: path.to_owned(),
        change: FileChangeKind::Modified,
        from: None,
        similarity: None,
        hash_before: Some("1".to_owned()),
        hash_after: Some("2".to_owned()),
        mode_before: Some("100644".to_owned()),
        mode_after: Some("100644".to_owned()),
        binary: false,
        lines_added: 4,
        lines_removed: 2,
        patch: patch.to_owned(),
    })
}

fn step(edit: u64, files: Vec<ReviewFile>) -> ReviewStep {
    ReviewStep {
        commit: format!("{edit:040}"),
        kind: Some("edit"),
        edits: vec![edit],
        amended: false,
        by_user: false,
        subject: format!("subject {edit}"),
        reason: String::new(),
        agent: None,
        model: None,
        turn: None,
        allowed: Vec::new(),
        author: "A".to_owned(),
        time: 0,
        lines_added: 4,
        lines_removed: 2,
        is_read: true,
        files,
        private: Vec::new(),
    }
}

/// A session with an edit of `a` and one of `b`.
fn review() -> SessionReview {
    let steps = vec![step(1, vec![file("a", PATCH)]), step(2, vec![file("b", PATCH)])];
    SessionReview {
        schema: "edt.review/1",
        session: SessionReport {
            name: "s".to_owned(),
            branch: "edt/s".to_owned(),
            base: "0".repeat(40),
            began: false,
        },
        tip: "t".to_owned(),
        landed: None,
        checked_out: true,
        turns: vec![ReviewTurn {
            turn: None,
            title: None,
            agent: None,
            model: None,
            conversation: None,
            by_user: false,
            time: 0,
            steps,
        }],
        undone: Vec::new(),
        files: vec![file("a", PATCH), file("b", PATCH)],
        sources_complete: true,
        uncommitted: Vec::new(),
        left_over: Vec::new(),
        refused_edits: Vec::new(),
        refused_runs: Vec::new(),
        refusals: Vec::new(),
        proposals: Vec::new(),
        decided_proposals: Vec::new(),
        comments: Vec::new(),
        review_summaries: Vec::new(),
    }
}

fn comment(id: u64, edit: Option<u64>, lines: (u64, u64), now: Option<u64>) -> Comment {
    Comment {
        id,
        edit,
        path: Some("a".to_owned()),
        path_now: Some("a".to_owned()),
        lines: Some(lines),
        before: false,
        quoted: vec!["quoted".to_owned()],
        text: format!("comment {id}"),
        time: 0,
        state: CommentState::Draft,
        outdated: now.is_none(),
        line_now: now,
        review: None,
        read: None,
        answers: Vec::new(),
    }
}

/// The view of a session at a terminal of this size.
fn app(review: SessionReview, size: (u16, u16)) -> App {
    let mut app = App::new(false);
    app.learn(News::Read(Ok(Box::new(review))));
    screen(&mut app, size);
    app
}

/// What the terminal shows, one text for each line.
fn screen(app: &mut App, (width, height): (u16, u16)) -> Vec<String> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    draw::all(app, &mut buffer);
    let line = |y: u16| {
        let cells = (0..width).map(|x| buffer.cell((x, y)).unwrap().symbol().to_owned());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

fn press(app: &mut App, keys: &str) -> Effect {
    let key = |c: char| match c {
        '\r' => KeyCode::Enter,
        '↓' => KeyCode::Down,
        '→' => KeyCode::Right,
        c => KeyCode::Char(c),
    };
    let mut last = Effect::None;
    for c in keys.chars() {
        last = app.key(KeyEvent::new(key(c), KeyModifiers::NONE));
    }
    last
}

/// The action that the keys lead to, once the user agreed.
fn asked(app: &mut App, keys: &str) -> Action {
    press(app, keys);
    assert!(matches!(app.overlay, Some(Overlay::Question(_))), "{keys}: {:?}", app.message);
    match press(app, "y") {
        Effect::Send(Job::Act(tip, action)) => {
            assert_eq!(tip, "t");
            app.busy = None;
            action
        }
        other => panic!("{other:?}"),
    }
}

fn part(edit: Option<u64>, added: &[(u64, u64)], removed: &[(u64, u64)]) -> Action {
    let (added, removed) = (added.to_vec(), removed.to_vec());
    Action::RevertPart(Part { edit, path: "a".to_owned(), added, removed })
}

#[test]
fn a_hunk_chosen_lines_and_a_file_become_ranges_of_changed_lines() {
    for size in [(80, 40), (200, 40)] {
        let mut app = app(review(), size);
        let hunk = part(None, &[(2, 2), (4, 4)], &[(2, 2), (4, 4)]);
        assert_eq!(asked(&mut app, "n↓x"), hunk, "{size:?}");
        press(&mut app, "g");
        assert_eq!(asked(&mut app, "nx"), part(None, &[], &[]), "{size:?}");
        assert_eq!(asked(&mut app, "jnx"), part(Some(1), &[], &[]), "{size:?}");
    }
    let mut app = app(review(), (80, 40));
    // The second hunk's added lines.
    assert_eq!(asked(&mut app, "/y\rvx"), part(None, &[(12, 12)], &[]));
    assert_eq!(asked(&mut app, "gn↓↓↓v↓x"), part(None, &[(2, 2)], &[(2, 2)]));
}

#[test]
fn lines_of_two_files_and_unchanged_lines_are_not_reverted() {
    let mut app = app(review(), (80, 60));
    press(&mut app, "n↓↓vnx");
    assert_eq!(app.message.as_deref(), Some("The chosen lines are of several files."));
    press(&mut app, "vgn↓↓vx");
    assert_eq!(app.message.as_deref(), Some("None of these lines was changed."));
    assert!(app.overlay.is_none());
}

#[test]
fn a_session_of_another_worktree_is_only_shown() {
    let mut app = app(SessionReview { checked_out: false, ..review() }, (80, 40));
    for key in ["ju", "x", "L", "R", "A", "o", "c", "S"] {
        press(&mut app, key);
        assert!(app.overlay.is_none(), "{key}");
        assert!(app.message.as_deref().unwrap_or_default().contains("not the one"), "{key}");
    }
}

#[test]
fn marked_edits_land_alone() {
    let mut app = app(review(), (80, 40));
    press(&mut app, "jjmkm");
    let action = asked(&mut app, "Lboth\r");
    assert_eq!(action, Action::LandOnly(vec![1, 2], Some("both".to_owned())));
    press(&mut app, "mjm");
    assert_eq!(asked(&mut app, "L"), Action::LandTo(2));
}

#[test]
fn a_comment_names_the_lines_on_their_side() {
    let mut app = app(review(), (80, 40));
    let add = |edit, lines, before| {
        let (path, text) = (Some("a".to_owned()), "why".to_owned());
        Action::Comment(CommentAction::Add { edit, path, lines, before, text })
    };
    assert_eq!(asked(&mut app, "jn↓↓↓cwhy\r"), add(Some(1), Some((2, 2)), true));
    assert_eq!(asked(&mut app, "gn↓↓↓↓v↓cwhy\r"), add(Some(1), Some((2, 3)), false));
    assert_eq!(asked(&mut app, "gncwhy\r"), add(Some(1), None, false));
    assert!(press(&mut app, "gnc\r").is_none() && app.overlay.is_none());
}

impl Effect {
    fn is_none(&self) -> bool {
        matches!(self, Effect::None)
    }
}

#[test]
fn a_comment_is_below_its_line_where_that_is_now() {
    let all = vec![
        comment(1, Some(1), (2, 2), Some(11)),
        comment(2, None, (1, 1), None),
        Comment { path: None, lines: None, ..comment(3, None, (1, 1), Some(1)) },
    ];
    let mut app = app(SessionReview { comments: all, ..review() }, (80, 60));
    let shown = screen(&mut app, (80, 60));
    let below = |shown: &[String], text: &str| {
        let at = shown.iter().position(|line| line.contains(text)).unwrap();
        shown[at + 1..=at + 2].join("\n")
    };
    assert!(below(&shown, "+x").contains("Comment 1 (draft: S sends it)"), "{shown:#?}");
    assert!(below(&shown, "+x").contains("▎ comment 1"), "{shown:#?}");
    assert!(below(&shown, "13       k").contains("Comment 2 on a, lines 1-1"), "{shown:#?}");
    assert!(shown.iter().any(|line| line.contains("> quoted")));
    assert!(below(&shown, "From 0000").contains("Comment 3 (draft"), "{shown:#?}");
    press(&mut app, "j");
    let shown = screen(&mut app, (80, 60));
    assert!(below(&shown, "+let x = 2;").contains("comment 1"), "{shown:#?}");
    assert!(!shown.iter().any(|line| line.contains("comment 2")), "{shown:#?}");
    assert_eq!(asked(&mut app, "/comment 1\rd"), Action::Comment(CommentAction::Drop(1)),);
}

#[test]
fn a_change_of_white_space_can_be_left_out() {
    let patch = "@@ -1,2 +1,2 @@\n-if (a)  b();\n+if (a) b();\n c\n";
    let mut app = app(SessionReview { files: vec![file("a", patch)], ..review() }, (80, 20));
    let has = |app: &mut App| screen(app, (80, 20)).iter().any(|line| line.contains("-if (a)"));
    assert!(has(&mut app));
    press(&mut app, "w");
    assert!(!has(&mut app));
}

#[test]
fn what_white_space_hides_is_reverted_with_its_hunk_and_its_line() {
    let patch = "@@ -1,3 +1,3 @@\n-if (a)  b();\n-gone\n+if (a) b();\n+new\n c\n";
    let mut app = app(SessionReview { files: vec![file("a", patch)], ..review() }, (80, 20));
    press(&mut app, "w");
    assert_eq!(asked(&mut app, "n↓x"), part(None, &[(1, 2)], &[(1, 2)]));
    // The rows are: the hunk, -gone, +if, +new.
    assert_eq!(asked(&mut app, "gn↓↓↓vx"), part(None, &[(1, 1)], &[(1, 1)]));
    assert_eq!(asked(&mut app, "gn↓↓↓↓vx"), part(None, &[(2, 2)], &[]));
}

#[test]
fn a_question_names_the_session_and_the_lines() {
    let mut app = app(review(), (120, 40));
    press(&mut app, "n↓x");
    let Some(Overlay::Question(question)) = &app.overlay else { panic!("no question") };
    assert_eq!(
        question.text,
        "s, 2 edits: Revert “-let x = 1;”: 2 added lines 2, 4 and 2 removed lines 2, 4 of the \
         session in a?"
    );
    let narrow = screen(&mut app, (60, 20)).join(" ");
    assert!(narrow.contains("session in a?"), "{narrow}");
}

#[test]
fn the_cursor_stays_at_its_hunk_or_goes_to_the_head_of_its_file() {
    let mut app = app(review(), (80, 40));
    press(&mut app, "gn]]↓↓");
    assert_eq!(app.rows[app.cursor].hunk(), Some(1));
    let second = part(None, &[(11, 12)], &[]);
    assert_eq!(asked(&mut app, "x"), second);
    let early = "@@ -1,1 +1,2 @@\n+first\n a\n";
    let moved = PATCH.replace("@@ -1,4 +1,4 @@", "@@ -1,4 +2,4 @@").replace("+10,3", "+11,3");
    let files = vec![file("a", &format!("{early}{moved}")), file("b", PATCH)];
    app.learn(News::Read(Ok(Box::new(SessionReview { files, ..review() }))));
    assert_eq!(asked(&mut app, "x"), part(None, &[(12, 13)], &[]));
    let files = vec![file("a", early), file("b", PATCH)];
    app.learn(News::Read(Ok(Box::new(SessionReview { files, ..review() }))));
    assert_eq!(app.rows[app.cursor], Row::File(0));
    assert!(app.message.as_deref().unwrap_or_default().contains("changed"));
}

#[test]
fn what_is_written_while_the_session_changes_is_not_done_and_is_kept() {
    let mut app = app(review(), (80, 40));
    press(&mut app, "Lmine");
    app.learn(News::Read(Ok(Box::new(SessionReview { tip: "u".to_owned(), ..review() }))));
    press(&mut app, "\r");
    assert!(app.overlay.is_none());
    assert!(app.message.as_deref().unwrap_or_default().contains("Nothing was done"));
    app.learn(News::Read(Ok(Box::new(review()))));
    let land = Action::Land(Some("mine too".to_owned()));
    assert_eq!(asked(&mut app, "L too\r"), land);
    let refused = Acted { command: String::new(), done: false, text: String::new() };
    app.learn(News::Acted(refused));
    press(&mut app, " ");
    assert_eq!(asked(&mut app, "L\r"), land);
}

#[test]
fn a_number_finds_its_edit_and_e_the_edit_of_a_line() {
    let mut app = app(review(), (80, 40));
    press(&mut app, "/2\r");
    assert_eq!(app.edit(), Some(2));
    press(&mut app, "kk/let x = 2\r");
    let mut written = review();
    for line in written.files[0].hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
        line.source = line.old.is_none().then_some(LineSource::Edit(1));
    }
    app.learn(News::Read(Ok(Box::new(written))));
    press(&mut app, "e");
    assert_eq!(app.edit(), Some(1));
}

#[test]
fn wide_letters_and_long_lines_stay_in_their_columns() {
    let long = format!("@@ -1 +1 @@\n-{}\n+{}\n", "漢字".repeat(80), "é".repeat(300));
    let mut app = app(SessionReview { files: vec![file("漢\ta", &long)], ..review() }, (200, 20));
    for size in [(200, 20), (80, 20), (61, 9), (30, 5)] {
        let shown = screen(&mut app, size);
        assert_eq!(shown.len(), usize::from(size.1));
    }
    let shown = screen(&mut app, (200, 20));
    let row = shown.iter().find(|line| line.contains("-漢")).unwrap();
    assert!(row.contains("│") && row.contains("+é"), "{row}");
    press(&mut app, "→→");
    let moved = screen(&mut app, (200, 20));
    assert!(moved.iter().any(|line| line.contains("+é")), "{moved:#?}");
}

#[test]
fn a_place_is_kept_when_the_session_is_read_again() {
    let mut app = app(review(), (80, 20));
    press(&mut app, "jjn↓↓");
    let before = (app.place, app.cursor);
    let mut renewed = review();
    renewed.turns[0].steps.push(step(3, vec![file("c", PATCH)]));
    app.learn(News::Read(Ok(Box::new(renewed))));
    assert_eq!((app.place, app.cursor), before);
    let mut undone = review();
    undone.turns[0].steps.pop();
    app.learn(News::Read(Ok(Box::new(undone))));
    assert!(screen(&mut app, (80, 20)).iter().any(|line| line.starts_with("> All changes")));
}
