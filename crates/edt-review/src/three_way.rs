//! Where an edit changed lines of the user that no commit has: the committed text, the user's, and
//! that of the edit.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

use edt_core::session::refs::commit::Commit;
use edt_core::session::user::edit_places::EditPlaces;
use edt_core::session::user::unwind;
use edt_git::file_id::TreeItem;
use edt_git::read::ObjectKind;
use edt_git::{Oid, Repo};

/// Larger texts are not compared, in bytes.
const MAX_BYTES: usize = 256 << 10;
/// The most lines of one column.
const MAX_LINES: usize = 60;
/// The most places of a file.
const MAX_PLACES: usize = 20;

/// A place in a file where the lines of an edit touch the user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TouchedPlace {
    /// The number of the edit.
    pub edit: u64,
    /// The committed lines.
    pub committed: Vec<String>,
    /// The user's lines before the edit.
    pub user: Vec<String>,
    /// The lines after the edit.
    pub agent: Vec<String>,
    /// The number of the first of the user's lines.
    pub line: u64,
}

/// The places of the newest edit in a file on disk. None if a text is missing, too large, or not
/// UTF-8.
pub(crate) fn of_file(
    repo: &Repo,
    tree: Oid,
    commits: &[Commit],
    file: &EditPlaces,
) -> Vec<TouchedPlace> {
    let found = || {
        let edit = *file.edits.iter().max()?;
        let is_it = |unit: &Commit| unit.trailers.as_ref().is_some_and(|own| own.edit == edit);
        let unit = commits.iter().flat_map(Commit::units).find(is_it)?;
        let all = unwind::private_files(repo, &unit)?;
        let private = all.into_iter().find(|one| one.is_left_over && one.path() == file.path)?;
        let committed = match repo.tree_item(tree, &file.path).ok()? {
            Some(TreeItem::File(item)) => repo.object(item.oid, ObjectKind::Blob).ok()?,
            Some(TreeItem::Other(..)) => return None,
            None => Vec::new(),
        };
        let text = |bytes: Vec<u8>| {
            (bytes.len() <= MAX_BYTES).then(|| String::from_utf8(bytes).ok()).flatten()
        };
        let bytes =
            |side: Option<edt_journal::PrivateBytes>| side.map_or(Vec::new(), |one| one.bytes);
        let (user, agent) = (text(bytes(private.before))?, text(bytes(private.after))?);
        Some(places(edit, &text(committed)?, &user, &agent))
    };
    found().unwrap_or_default()
}

/// A change from lines of the user to lines of another text.
type Change = (Range<usize>, Range<usize>);

fn places(edit: u64, committed: &str, user: &str, agent: &str) -> Vec<TouchedPlace> {
    let lines = |text: &'_ str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let (committed, user, agent) = (lines(committed), lines(user), lines(agent));
    let (by_edit, by_user) = (changes(&user, &agent), changes(&user, &committed));
    let mut all: Vec<TouchedPlace> = Vec::new();
    for span in spans(&by_edit, &by_user) {
        let cut = |text: &[String], at: Range<usize>| -> Vec<String> {
            text.get(at).unwrap_or_default().iter().take(MAX_LINES).cloned().collect()
        };
        let place = TouchedPlace {
            edit,
            committed: cut(&committed, other_side(&by_user, &span)),
            agent: cut(&agent, other_side(&by_edit, &span)),
            line: span.start as u64 + 1,
            user: cut(&user, span),
        };
        // What the commit has, and what is the user's alone, is no conflict.
        if place.agent != place.committed && place.user != place.agent {
            all.push(place);
        }
    }
    all.truncate(MAX_PLACES);
    all
}

fn changes(from: &[String], to: &[String]) -> Vec<Change> {
    let all = capture_diff_slices(Algorithm::Myers, from, to);
    let differs = |one: &&DiffOp| one.tag() != DiffTag::Equal;
    all.iter().filter(differs).map(|one| (one.old_range(), one.new_range())).collect()
}

/// The user's lines that the edit changed, each with all changes that touch it.
fn spans(by_edit: &[Change], by_user: &[Change]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (range, _) in by_edit {
        let mut span = range.clone();
        loop {
            let touching = by_edit.iter().chain(by_user).map(|(range, _)| range);
            let touching = touching.filter(|range| touches(range, &span));
            let wider = touching.fold(span.clone(), |span, range| {
                span.start.min(range.start)..span.end.max(range.end)
            });
            if wider == span {
                break;
            }
            span = wider;
        }
        match all.last() {
            Some(last) if *last == span => {}
            _ => all.push(span),
        }
    }
    all
}

fn touches(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start <= other.end && other.start <= one.end
}

/// The lines of the other text for a span that has every change which touches it.
fn other_side(changes: &[Change], span: &Range<usize>) -> Range<usize> {
    let moved = |at: usize, all: &mut dyn Iterator<Item = &Change>| {
        all.fold(at, |at, (from, to)| at + to.len() - from.len())
    };
    let before = |change: &&Change| change.0.end < span.start;
    let start = moved(span.start, &mut changes.iter().filter(before));
    let until = |change: &&Change| change.0.end <= span.end;
    start..moved(span.end, &mut changes.iter().filter(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(committed: &str, user: &str, agent: &str) -> Vec<[String; 3]> {
        let all = places(7, committed, user, agent).into_iter();
        all.map(|one| [one.committed, one.user, one.agent].map(|lines| lines.join("|"))).collect()
    }

    #[test]
    fn a_line_of_the_user_that_an_edit_changed_has_three_texts() {
        let found = columns("a\nb\nc\n", "a\nmine\nc\n", "a\nagent's\nc\n");
        assert_eq!(found, [["b", "mine", "agent's"]]);
        let found = columns("a\nc\n", "a\nmine\nc\n", "a\nagent's\nc\nd\n");
        assert_eq!(found[0], ["", "mine", "agent's"]);
    }

    #[test]
    fn what_the_commit_has_is_no_place() {
        assert_eq!(columns("a\nnew\nc\n", "a\nb\nc\n", "a\nnew\nc\n"), [[""; 3]; 0]);
    }

    #[test]
    fn the_lines_of_each_text_are_those_of_one_place() {
        let committed = "1\n2\n3\n4\n5\n6\n7\n";
        let user = "0\n1\n2\n3\n4\nmine\n6\n7\n";
        let agent = "0\n1\n2\n3\n4\nmine too\nmore\n7\n";
        assert_eq!(columns(committed, user, agent), [["5|6", "mine|6", "mine too|more"]]);
        assert_eq!(places(7, committed, user, agent)[0].line, 6);
    }
}
