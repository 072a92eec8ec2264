//! The rows on the right: what an entry says, its files with their hunks, and comments.

use std::collections::BTreeMap;

use super::comments::{self, Placed};
use super::entries::Place;
use super::refused;
use super::row::{Row, Shape, paragraphs, say};
use super::text::{Tone, shown};
use crate::hunks::{ReviewFile, ReviewHunk, changes};
use crate::model::{ReviewStep, SessionReview};
use edt_io::clock;
use edt_types::text::counted;

/// The rows of an entry. A file is closed if `closed` says so.
pub(super) fn rows(
    review: &SessionReview,
    place: Place,
    shape: Shape,
    closed: impl Fn(&ReviewFile) -> bool,
) -> Vec<Row> {
    let mut all = Vec::new();
    match place {
        Place::All => session(review, shape, &mut all),
        Place::Uncommitted => uncommitted(review, shape, &mut all),
        Place::Refused => refused::rows(review, shape, &mut all),
        Place::Proposal(at) => proposal(review, at, shape, &mut all),
        Place::Step(..) | Place::Undone(_) => {
            if let Some(one) = place.step(review) {
                step(one, matches!(place, Place::Undone(_)), shape, &mut all);
            }
        }
    }
    let placed = comments::placed(review, place);
    for comment in placed.iter().filter(|one| one.file.is_none()) {
        comments::rows(review, comment, shape.width, &mut all);
    }
    for (number, file) in place.files(review).iter().enumerate() {
        let own: Vec<&Placed> = placed.iter().filter(|one| one.file == Some(number)).collect();
        all.push(Row::Text(Tone::Plain, String::new()));
        all.push(Row::File(number));
        if !closed(file) {
            body(review, (number, file), &own, shape, &mut all);
        }
    }
    all
}

fn session(review: &SessionReview, shape: Shape, all: &mut Vec<Row>) {
    say(all, shape, Tone::Heading, "All changes");
    let short = |id: &str| id.get(..10).unwrap_or(id).to_owned();
    let (base, tip) = (short(&review.session.base), short(&review.tip));
    say(all, shape, Tone::Dim, &format!("From {base} to {tip}, on {}.", review.session.branch));
    if let Some(landed) = &review.landed {
        let text = format!("Landed on {} as {}.", landed.onto, short(&landed.commit));
        say(all, shape, Tone::Plain, &text);
    }
    if !review.checked_out {
        let text = "It is not the session of this worktree: nothing can be done about it here.";
        say(all, shape, Tone::Warning, text);
    }
    for summary in &review.review_summaries {
        say(all, shape, Tone::Dim, &format!("Your review {}:", summary.review));
        paragraphs(all, shape, Tone::Plain, &summary.text);
    }
    if review.files.is_empty() {
        say(all, shape, Tone::Dim, "Nothing differs from the base.");
    }
    for one in &review.decided_proposals {
        let detail = one.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let text = format!("Proposal p{} is {}{detail}: {}", one.proposal, one.state, one.subject);
        say(all, shape, Tone::Plain, &text);
    }
}

fn step(step: &ReviewStep, is_undone: bool, shape: Shape, all: &mut Vec<Row>) {
    let kind = match step.kind {
        Some("edit") | None => {
            if step.by_user {
                "Your commit"
            } else {
                "Edit"
            }
        }
        Some("run") => "Run",
        Some("restore") => "Restore",
        Some("checkpoint") => "Your changes",
        Some(other) => other,
    };
    say(all, shape, Tone::Heading, &format!("{kind} {}: {}", step.name(), step.subject));
    let by = match (&step.agent, &step.model) {
        (Some(agent), Some(model)) => format!("{agent} ({model})"),
        (Some(agent), None) => agent.clone(),
        (None, _) => step.author.clone(),
    };
    let turn = step.turn.map(|turn| format!(" · turn {turn}")).unwrap_or_default();
    let time = clock::utc_at(step.time);
    say(all, shape, Tone::Dim, &format!("{time} · {by}{turn}"));
    if is_undone {
        say(all, shape, Tone::Warning, "Undone: it is not on the branch.");
    }
    if !step.reason.is_empty() {
        say(all, shape, Tone::Plain, "");
        paragraphs(all, shape, Tone::Plain, &step.reason);
    }
    for allowed in &step.allowed {
        say(all, shape, Tone::Warning, &format!("It overrode the refusal {allowed}."));
    }
    if step.amended {
        say(all, shape, Tone::Warning, "You amended this commit: a part of it is yours.");
    }
    if !step.private.is_empty() {
        let text =
            format!("It also changed files that no commit has: {}.", step.private.join(", "));
        say(all, shape, Tone::Plain, &text);
    }
}

fn uncommitted(review: &SessionReview, shape: Shape, all: &mut Vec<Row>) {
    say(all, shape, Tone::Heading, "Uncommitted");
    let text = "What differs on disk from the session's tip. It is yours, except for what is named \
                here.";
    say(all, shape, Tone::Dim, text);
    for one in &review.left_over {
        let edits = one.edits.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let what = if one.lines.is_empty() {
            "there are changes".to_owned()
        } else {
            format!("lines {} are", one.lines.join(", "))
        };
        let text = format!("In {}, {what} of edit {edits}, which no commit has.", one.path);
        say(all, shape, Tone::Warning, &text);
    }
}

fn proposal(review: &SessionReview, at: usize, shape: Shape, all: &mut Vec<Row>) {
    let one = &review.proposals[at];
    say(all, shape, Tone::Heading, &format!("Proposal p{}: {}", one.proposal, one.subject));
    if let Some(agent) = &one.agent {
        say(all, shape, Tone::Dim, &format!("{agent} asks."));
    }
    if let Some(command) = &one.command {
        say(all, shape, Tone::Warning, &format!("It would run: {command}"));
    }
    let text = format!("`edt show p{}` prints it. a approves it, d rejects it.", one.proposal);
    say(all, shape, Tone::Plain, &text);
}

fn body(
    review: &SessionReview,
    (number, file): (usize, &ReviewFile),
    placed: &[&Placed],
    shape: Shape,
    all: &mut Vec<Row>,
) {
    let mut note = |text: String| all.push(Row::Note(number, text));
    file.mode_note().map(|note| shown(&note)).into_iter().for_each(&mut note);
    if file.binary {
        note("A binary file, or one too large to show.".to_owned());
    } else if file.folded {
        let lines = counted(file.lines_added + file.lines_removed, "changed line");
        note(format!("{lines}: e shows it."));
    } else if file.hunks.is_empty() && file.lines_added + file.lines_removed > 0 {
        note("It is read…".to_owned());
    }
    let mut left: BTreeMap<usize, &Placed> = placed.iter().copied().enumerate().collect();
    for (at, hunk) in file.hunks.iter().enumerate() {
        all.push(Row::Hunk(number, at));
        for row in hunk_rows((number, at), hunk, shape) {
            let shows = |one: &Placed| {
                row.lines().iter().any(|line| {
                    let line = &hunk.lines[*line];
                    if one.before { line.old } else { line.new }.is_some_and(|no| no == one.line)
                })
            };
            let here: Vec<usize> =
                left.iter().filter(|(_, one)| shows(one)).map(|(key, _)| *key).collect();
            all.push(row);
            for key in here {
                left.remove(&key).into_iter().for_each(|one| {
                    comments::rows(review, one, shape.width, all);
                });
            }
        }
    }
    // A comment on a line that the hunks do not show.
    left.into_values().for_each(|one| comments::rows(review, one, shape.width, all));
}

fn hunk_rows((file, at): (usize, usize), hunk: &ReviewHunk, shape: Shape) -> Vec<Row> {
    let is_left_out = |line: usize| {
        let line = &hunk.lines[line];
        shape.ignores_space && line.space_only && line.new.is_none()
    };
    if !shape.sides {
        let all = (0..hunk.lines.len()).filter(|line| !is_left_out(*line));
        return all.map(|line| Row::Line(file, at, line)).collect();
    }
    let mut rows = Vec::new();
    let mut next = 0;
    let same = |line: usize| Row::Pair(file, at, Some(line), Some(line));
    for change in changes(&hunk.lines) {
        rows.extend((next..change.removed.start).map(same));
        let (mut old, mut new) = (change.removed, change.added.clone());
        loop {
            let pair = (old.next(), new.next());
            if pair == (None, None) {
                break;
            }
            rows.push(Row::Pair(file, at, pair.0, pair.1));
        }
        next = change.added.end;
    }
    rows.extend((next..hunk.lines.len()).map(same));
    rows
}
