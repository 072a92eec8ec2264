//! The commits of a session as a graph, for `edt log --graph`: undone edits are branches.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::log::{Answer, Line};
use super::log_files;
use super::render::{DIM, paint, short};
use edt_core::session::Session;
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::record::{Records, Undone};
use edt_git::Repo;
use edt_types::Result;

/// The undone edits of the session that are kept, oldest first.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub(super) fn undone(repo: &Repo, session: &Session) -> Result<Vec<Line>> {
    let records = Records::of(repo, session)?;
    let is_undone = |commit: &&Commit| !records.has(commit.oid, Undone::Never);
    Ok(records.commits(Undone::Count).filter(is_undone).map(Line::of).collect())
}

/// The graph, newest first, down to the base of the session.
pub(super) fn render_human(answer: &Answer) -> String {
    let branches = branches(&answer.undone);
    let mut out = String::new();
    let branch = |out: &mut String, at: &str| {
        for (_, lines) in branches.iter().filter(|(from, _)| *from == at) {
            for line in lines {
                let _ = writeln!(out, "| * {} {}", line.render_human(), paint(DIM, "(undone)"));
            }
            out.push_str("|/\n");
        }
    };
    for line in &answer.commits {
        branch(&mut out, &line.commit);
        let _ = writeln!(out, "* {}", line.render_human());
        let files = log_files::render_human(line.files.as_deref().unwrap_or_default());
        files.lines().for_each(|file| {
            let _ = writeln!(out, "| {file}");
        });
    }
    if answer.truncated {
        let _ = writeln!(out, "{}", paint(DIM, "… more: raise -n"));
    } else {
        let base = &answer.session.base;
        branch(&mut out, base);
        let _ = writeln!(out, "o      {} {}", short(base), paint(DIM, "the base"));
    }
    if let Some(landed) = &answer.landed {
        out.push_str(&landed.render_human());
    }
    out
}

/// The undone commits as branches, newest first: from which commit, and its commits. A commit that
/// two branches have is in the newer one.
fn branches(undone: &[Line]) -> Vec<(&str, Vec<&Line>)> {
    let known: HashMap<&str, &Line> =
        undone.iter().map(|line| (line.commit.as_str(), line)).collect();
    let parents: HashSet<&str> = undone.iter().filter_map(|line| line.parent.as_deref()).collect();
    let mut shown = HashSet::new();
    let mut all = Vec::new();
    for tip in undone.iter().rev().filter(|line| !parents.contains(line.commit.as_str())) {
        let mut lines = Vec::new();
        let mut at = Some(tip);
        let mut from = "";
        while let Some(line) = at {
            if shown.insert(line.commit.as_str()) {
                lines.push(line);
            }
            from = line.parent.as_deref().unwrap_or_default();
            at = known.get(from).copied();
        }
        all.push((from, lines));
    }
    all
}
