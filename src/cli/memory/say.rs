//! What `edt memory` says to people.

use std::fmt::Write as _;

use super::super::render::{self, DIM, GOOD, NAME, NOTE, paint};
use super::Answer;
use crate::base::text::harmless;
use crate::io::clock;
use crate::memory::{Episode, lesson, score};

pub(super) fn listed(answer: &Answer) -> String {
    let now = clock::wall().0;
    let mut out = String::new();
    for one in &answer.episodes {
        let _ = writeln!(out, "{}", brief(one, now));
    }
    let shown = answer.episodes.len() as u64;
    match (shown, answer.total) {
        // Without a commit there never was anything.
        (0, _) if answer.commit.is_none() => {
            out.push_str(
                "Nothing is remembered yet: refusals and what fixes them are, as they come.\n",
            );
        }
        (0, _) => {
            out.push_str("No episode is like that: `edt memory stats` tells which codes and languages there are.\n");
        }
        (shown, total) if shown < total => {
            let _ = writeln!(
                out,
                "{}",
                paint(NOTE, &format!("{shown} of {total}; -n {total} shows them all."))
            );
        }
        _ => {}
    }
    out + &left_out(answer)
}

/// An episode on two lines.
fn brief(one: &Episode, now: i64) -> String {
    let place = match (&one.deprecated, one.teaches()) {
        (Some(_), _) => paint(NOTE, "deprecated"),
        (None, false) => paint(DIM, "open"),
        (None, true) if score::has_place(one.effectiveness_at(now), one.uses) => {
            paint(GOOD, "told")
        }
        (None, true) => paint(NOTE, "without place"),
    };
    let language = one.language.as_deref().unwrap_or("-");
    let figures = format!(
        "seen {}, helped {} of {}, {:.2}",
        one.seen,
        one.helped,
        one.uses,
        one.effectiveness_at(now)
    );
    let text = lesson::text(one).unwrap_or_else(|| format!("{:?}", one.tried.fragment));
    format!(
        "{} {} {language} {place} {}\n    {}",
        paint(NAME, &one.id),
        one.code,
        paint(DIM, &figures),
        harmless(&text).0
    )
}

pub(super) fn shown(answer: &Answer) -> String {
    answer.episodes.iter().map(|one| render::safe(&one.to_json())).collect()
}

pub(super) fn told(answer: &Answer) -> String {
    let mut out = String::new();
    for lesson in &answer.lessons {
        let figures =
            format!("alike {:.2}, effective {:.2}", lesson.similarity, lesson.effectiveness);
        let _ = writeln!(
            out,
            "{} {}\n    {}",
            paint(NAME, &lesson.id),
            paint(DIM, &figures),
            harmless(&lesson.text).0
        );
    }
    if out.is_empty() { "Nothing that is remembered is like that.\n".to_owned() } else { out }
}

pub(super) fn snapped(answer: &Answer) -> String {
    let mut out = String::new();
    for one in &answer.snapshots {
        let _ =
            writeln!(out, "{} {}", paint(NAME, render::short(&one.commit)), harmless(&one.name).0);
    }
    if out.is_empty() {
        "There is no snapshot yet: `edt memory snapshot NAME` takes one.\n".to_owned()
    } else {
        out
    }
}

pub(super) fn done(answer: &Answer) -> String {
    let now = clock::wall().0;
    let what = if answer.changed { paint(GOOD, "recorded") } else { "unchanged".to_owned() };
    let commit = answer.commit.as_deref().map(render::short).unwrap_or_default();
    let mut out = format!("{what}: {} episodes, refs/edt/memory at {commit}\n", answer.total);
    for one in &answer.episodes {
        let _ = writeln!(out, "{}", brief(one, now));
    }
    out + &left_out(answer)
}

pub(super) fn counted(answer: &Answer) -> String {
    let Some(stats) = &answer.stats else { return String::new() };
    let mut out = format!(
        "{} episodes: {} teach, {} open, {} deprecated, {} without place\n{} failures seen; {} lessons used, {} helped, {} made things worse\n",
        stats.episodes,
        stats.teach,
        stats.open,
        stats.deprecated,
        stats.without_place,
        stats.seen,
        stats.uses,
        stats.helped,
        stats.worse
    );
    for (code, seen) in &stats.by_code {
        let _ = writeln!(out, "  {seen:>6} {code}");
    }
    out + &left_out(answer)
}

fn left_out(answer: &Answer) -> String {
    let line = |path: &String| {
        format!("{} {}\n", paint(NOTE, "cannot be read, left as it is:"), harmless(path).0)
    };
    answer.unreadable.iter().map(line).collect()
}
