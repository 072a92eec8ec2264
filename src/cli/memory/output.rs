//! Renders the answers of `edt memory` as text.

use std::fmt::Write as _;

use super::super::render::{self, DIM, GOOD, NAME, NOTE, paint};
use super::Answer;
use edt_io::clock;
use edt_memory::{Episode, lesson, score};
use edt_types::text::{counted, escape_controls, escape_lines};

pub(super) fn render_list(answer: &Answer) -> String {
    let now = clock::seconds();
    let mut out = String::new();
    for one in &answer.episodes {
        let _ = writeln!(out, "{}", brief(one, now));
    }
    let shown = answer.episodes.len() as u64;
    match (shown, answer.total) {
        // Without a commit nothing was ever recorded.
        (0, _) if answer.commit.is_none() => {
            out.push_str(
                "The memory is empty: edt records refusals and their fixes as they happen.\n",
            );
        }
        (0, _) => {
            out.push_str("No episode matches: `edt memory stats` lists the codes and languages.\n");
        }
        (shown, total) if shown < total => {
            let _ = writeln!(
                out,
                "{}",
                paint(NOTE, &format!("{shown} of {total} episodes; -n {total} shows all."))
            );
        }
        _ => {}
    }
    out + &render_unreadable(answer)
}

/// An episode on two lines.
fn brief(one: &Episode, now: i64) -> String {
    let place = match (&one.deprecated, one.teaches()) {
        (Some(_), _) => paint(NOTE, "deprecated"),
        (None, false) => paint(DIM, "open"),
        (None, true) if score::is_still_shown(one.effectiveness_at(now), one.uses) => {
            paint(GOOD, "in use")
        }
        (None, true) => paint(NOTE, "no longer shown"),
    };
    let language = one.language.as_deref().unwrap_or("-");
    let figures = format!(
        "seen {}, helped {} of {}, {:.2}",
        one.seen,
        one.helped,
        one.uses,
        one.effectiveness_at(now)
    );
    let text = lesson::text(one).unwrap_or_else(|| format!("{:?}", one.attempt.fragment));
    format!(
        "{} {} {language} {place} {}\n    {}",
        paint(NAME, &one.id),
        one.code,
        paint(DIM, &figures),
        escape_controls(&text).0
    )
}

pub(super) fn render_episodes(answer: &Answer) -> String {
    answer.episodes.iter().map(|one| escape_lines(&one.to_json())).collect()
}

pub(super) fn render_lessons(answer: &Answer) -> String {
    let mut out = String::new();
    for lesson in &answer.lessons {
        let figures = format!(
            "similarity {:.2}, effectiveness {:.2}",
            lesson.similarity, lesson.effectiveness
        );
        let _ = writeln!(
            out,
            "{} {}\n    {}",
            paint(NAME, &lesson.id),
            paint(DIM, &figures),
            escape_controls(&lesson.text).0
        );
    }
    if out.is_empty() { "No lesson matches.\n".to_owned() } else { out }
}

pub(super) fn render_snapshots(answer: &Answer) -> String {
    let mut out = String::new();
    for one in &answer.snapshots {
        let _ = writeln!(
            out,
            "{} {}",
            paint(NAME, render::short(&one.commit)),
            escape_controls(&one.name).0
        );
    }
    if out.is_empty() {
        "There is no snapshot yet: `edt memory snapshot NAME` creates one.\n".to_owned()
    } else {
        out
    }
}

pub(super) fn render_change(answer: &Answer) -> String {
    let now = clock::seconds();
    let what = if answer.changed { paint(GOOD, "recorded") } else { "unchanged".to_owned() };
    let commit = answer.commit.as_deref().map(render::short).unwrap_or_default();
    let mut out =
        format!("{what}: {}, refs/edt/memory at {commit}\n", counted(answer.total, "episode"));
    for one in &answer.episodes {
        let _ = writeln!(out, "{}", brief(one, now));
    }
    out + &render_unreadable(answer)
}

pub(super) fn render_stats(answer: &Answer) -> String {
    let Some(stats) = &answer.stats else { return String::new() };
    let mut out = format!(
        "{}: {} teach, {} open, {} deprecated, {} no longer shown\n{} seen; {} used, {} helped, {} made things worse\n",
        counted(stats.episodes, "episode"),
        stats.teach,
        stats.open,
        stats.deprecated,
        stats.no_longer_shown,
        counted(stats.seen, "failure"),
        counted(stats.uses, "lesson"),
        stats.helped,
        stats.worse
    );
    for (code, seen) in &stats.by_code {
        let _ = writeln!(out, "  {seen:>6} {code}");
    }
    out + &render_unreadable(answer)
}

fn render_unreadable(answer: &Answer) -> String {
    let line = |path: &String| {
        format!("{} {}\n", paint(NOTE, "unreadable, not changed:"), escape_controls(path).0)
    };
    answer.unreadable.iter().map(line).collect()
}
