//! Who wrote the lines that a session added.

use std::collections::HashMap;
use std::time::Instant;

use crate::hunks::{LineSource, ReviewFile};
use edt_core::session::views::blame::{self, LineAuthor};
use edt_git::{Oid, Repo};
use edt_types::{RepoPath, Result};

/// The sources of the lines of a file in a commit.
pub(crate) type Sources = HashMap<(Oid, String), Vec<LineSource>>;

/// Adds to the added lines of `files` who wrote them, in the order of the files, until `deadline`.
/// Returns whether all have it. `known` keeps what was found.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub(crate) fn add(
    repo: &Repo,
    tip: Oid,
    files: &mut [ReviewFile],
    known: &mut Sources,
    deadline: Instant,
) -> Result<bool> {
    let mut complete = true;
    for file in files {
        if file.hunks.is_empty() || file.lines_added == 0 {
            continue;
        }
        let key = (tip, file.path.clone());
        if !known.contains_key(&key) {
            if edt_io::clock::now() >= deadline {
                complete = false;
                continue;
            }
            known.insert(key.clone(), of_file(repo, tip, &file.path)?);
        }
        let Some(sources) = known.get(&key) else { continue };
        let lines = file.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines);
        for line in lines.filter(|line| line.old.is_none()) {
            let at = line.new.and_then(|new| usize::try_from(new).ok());
            line.source = at.and_then(|at| sources.get(at.checked_sub(1)?).cloned());
        }
    }
    Ok(complete)
}

/// Who wrote each line of the file in the commit `tip`; nothing if it is not there.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub(crate) fn of_file(repo: &Repo, tip: Oid, path: &str) -> Result<Vec<LineSource>> {
    let Some((_, parts)) = blame::at(repo, tip, &RepoPath::from_tree(path.as_bytes()))? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for part in parts {
        let source = match &part.author {
            LineAuthor::Edit { edit, .. } => {
                let number = edit.trailers.as_ref().map(|trailers| trailers.edit);
                number.map_or(LineSource::User, LineSource::Edit)
            }
            LineAuthor::Uncommitted | LineAuthor::Commit(_) => LineSource::User,
        };
        all.resize(all.len().max(part.lines.end), source);
    }
    Ok(all)
}
