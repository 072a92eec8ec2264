//! Which edits a commit of a session's branch has. Its change decides, and not its message: for each
//! path the removed and the added lines, white space counted, context not.
//!
//! A commit that the record names is as edt wrote it. Any other one may make the change of an edit
//! that is not on the branch (reworded, rebased), that of several (squashed), or more than that
//! (amended): the rest is the user's.

use std::collections::{BTreeMap, HashSet};

use super::ownership::{MergedFile, Version, merge3};
use crate::session::refs::commit::{Commit, Rewritten};
use crate::session::refs::current::Session;
use crate::session::refs::message;
use crate::session::refs::record::{RecordTip, Records, Undone};
use edt_edit::diff::LineDiff;
use edt_git::file_id::TreeItem;
use edt_git::{FileMode, ObjectWriter, Oid, Repo};
use edt_io::clock;
use edt_types::{RepoPath, Result};

/// How often files are merged or compared for one session. Beyond that, commits are the user's.
const MAX_TRIES: usize = 10_000;
/// How long lines are compared, in milliseconds.
const DIFF_TIME: u64 = 200;

/// A file before and after a change.
type Sides<V> = (Option<V>, Option<V>);

/// A change: each path with its file before and after.
#[derive(Debug, Clone)]
pub struct Change<V> {
    pub files: BTreeMap<RepoPath, Sides<V>>,
    /// The numbers of edits that the message names; one of an edit.
    pub named: Vec<u64>,
    /// Of an edit: whether no other one is between it and the one before it in the list.
    pub follows: bool,
}

/// The edits that a commit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Their places in the list of edits, in order.
    pub edits: Vec<usize>,
    /// Whether the commit has something else, too.
    pub has_more: bool,
}

/// What is asked of files.
pub trait Files {
    /// The content of a file.
    type Version: Clone;

    fn is_same(&self, one: Option<&Self::Version>, other: Option<&Self::Version>) -> bool;

    /// `at` with the change from `before` to `after`; `None` if they conflict.
    ///
    /// # Errors
    /// If a file cannot be read.
    fn applied(
        &self,
        sides: &Sides<Self::Version>,
        at: Option<&Self::Version>,
    ) -> Result<Option<Option<Self::Version>>>;

    /// The removed and the added lines of each place that changed, with the old lines' numbers.
    /// `None` if there are no lines to compare.
    ///
    /// # Errors
    /// If a file cannot be read.
    fn hunks(&self, sides: &Sides<Self::Version>) -> Result<Option<Vec<Hunk>>>;
}

/// One place that a change changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first removed line.
    pub at: usize,
    pub removed: Vec<Vec<u8>>,
    pub added: Vec<Vec<u8>>,
}

/// The edits of each commit, the oldest first; `None` for one that has none. Each edit is in one
/// commit at most.
///
/// # Errors
/// If a file cannot be read.
pub fn found_in<F: Files>(
    files: &F,
    commits: &[Change<F::Version>],
    edits: &[Change<F::Version>],
) -> Result<Vec<Option<Found>>> {
    let mut search = Search { files, edits, taken: vec![false; edits.len()], tries: 0 };
    let mut all: Vec<Option<Found>> = vec![None; commits.len()];
    let passes: [Pass<F>; 3] = [Search::exact, Search::contained, Search::claimed];
    for pass in passes {
        for (commit, found) in commits.iter().zip(&mut all).filter(|(_, found)| found.is_none()) {
            *found = pass(&mut search, commit)?;
            for edit in found.iter().flat_map(|found| &found.edits) {
                search.taken[*edit] = true;
            }
        }
    }
    for (commit, found) in commits.iter().zip(&mut all) {
        let Some(found) = found else { continue };
        for edit in search.empty_ones(commit, found) {
            search.taken[edit] = true;
            found.edits.push(edit);
        }
        found.edits.sort_unstable();
    }
    Ok(all)
}

type Pass<'f, F> = fn(&mut Search<'f, F>, &Change<<F as Files>::Version>) -> Result<Option<Found>>;

struct Search<'f, F: Files> {
    files: &'f F,
    edits: &'f [Change<F::Version>],
    taken: Vec<bool>,
    tries: usize,
}

/// The files of a commit's paths while edits are applied to them.
type State<V> = BTreeMap<RepoPath, Option<V>>;

impl<F: Files> Search<'_, F> {
    /// The edits whose composed change is that of `commit`. What its message names comes first.
    fn exact(&mut self, commit: &Change<F::Version>) -> Result<Option<Found>> {
        if commit.files.is_empty() {
            // An empty edit has nothing but its number.
            let is_it = |edit: &usize| self.edits[*edit].files.is_empty();
            let edits: Vec<usize> = self.named(commit).into_iter().filter(is_it).collect();
            return Ok((!edits.is_empty()).then_some(Found { edits, has_more: false }));
        }
        for first in self.starts(commit) {
            let mut found = None;
            self.follow(commit, first, |search, state, run| {
                let same = |(path, sides): (&RepoPath, &Sides<F::Version>)| {
                    search.files.is_same(state[path].as_ref(), sides.1.as_ref())
                };
                if commit.files.iter().all(same) {
                    found = Some(run.to_vec());
                }
                Ok(found.is_some())
            })?;
            self.tries += commit.files.len();
            if found.is_none()
                && self.tries <= MAX_TRIES
                && self.has_same_lines(commit, &self.edits[first])?
            {
                found = Some(vec![first]);
            }
            if let Some(edits) = found {
                return Ok(Some(Found { edits, has_more: false }));
            }
        }
        Ok(None)
    }

    /// The longest run of edits that the change of `commit` contains.
    fn contained(&mut self, commit: &Change<F::Version>) -> Result<Option<Found>> {
        let mut longest: Vec<usize> = Vec::new();
        for first in self.starts(commit) {
            if longest.contains(&first) {
                continue;
            }
            let mut run_here: Vec<usize> = Vec::new();
            self.follow(commit, first, |search, state, run| {
                if search.contains(commit, state)? {
                    run_here = run.to_vec();
                }
                Ok(false)
            })?;
            if run_here.len() > longest.len() {
                longest = run_here;
            }
        }
        Ok((!longest.is_empty()).then_some(Found { edits: longest, has_more: true }))
    }

    /// The edits that the message names and that have a path of the commit: the user changed
    /// lines of them.
    fn claimed(&mut self, commit: &Change<F::Version>) -> Result<Option<Found>> {
        let touches = |edit: &usize| {
            self.edits[*edit].files.keys().any(|path| commit.files.contains_key(path))
        };
        let edits: Vec<usize> = self.named(commit).into_iter().filter(touches).collect();
        Ok((!edits.is_empty()).then_some(Found { edits, has_more: true }))
    }

    /// The edits without a change that were squashed to `commit`: its message names them, or they follow
    /// an edit of it. A commit of their own comes first.
    fn empty_ones(&self, commit: &Change<F::Version>, found: &Found) -> Vec<usize> {
        let is_open = |edit: &usize| self.edits[*edit].files.is_empty() && !self.taken[*edit];
        let mut all: Vec<usize> = self.named(commit).into_iter().filter(is_open).collect();
        for first in &found.edits {
            let later = first + 1..self.edits.len();
            all.extend(later.take_while(|edit| self.edits[*edit].follows && is_open(edit)));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The edits with a number that the message names.
    fn named(&self, commit: &Change<F::Version>) -> Vec<usize> {
        let is_named = |edit: &Change<F::Version>| {
            edit.named.iter().any(|number| commit.named.contains(number))
        };
        let open = self.edits.iter().enumerate().filter(|(at, _)| !self.taken[*at]);
        open.filter(|(_, edit)| is_named(edit)).map(|(at, _)| at).collect()
    }

    /// The edits with which a run in `commit` may begin, those that its message names first.
    fn starts(&self, commit: &Change<F::Version>) -> Vec<usize> {
        let mut all = self.named(commit);
        all.extend((0..self.edits.len()).filter(|at| !self.taken[*at]));
        let mut seen = HashSet::new();
        all.retain(|at| self.is_within(*at, commit) && seen.insert(*at));
        all
    }

    /// Whether the edit changes files, and none but those of `commit`.
    fn is_within(&self, edit: usize, commit: &Change<F::Version>) -> bool {
        let files = &self.edits[edit].files;
        !files.is_empty() && files.keys().all(|path| commit.files.contains_key(path))
    }

    /// Applies consecutive edits from `first` on to the files before `commit`, and asks after each
    /// one whether to stop.
    fn follow(
        &mut self,
        commit: &Change<F::Version>,
        first: usize,
        mut stop: impl FnMut(&Self, &State<F::Version>, &[usize]) -> Result<bool>,
    ) -> Result<()> {
        if self.tries > MAX_TRIES {
            return Ok(());
        }
        let before =
            |(path, sides): (&RepoPath, &Sides<F::Version>)| (path.clone(), sides.0.clone());
        let mut state: State<F::Version> = commit.files.iter().map(before).collect();
        let mut run = Vec::new();
        for at in (first..self.edits.len()).filter(|at| !self.edits[*at].files.is_empty()) {
            if self.taken[at] || !self.is_within(at, commit) {
                return Ok(());
            }
            let mut changed = false;
            for (path, sides) in &self.edits[at].files {
                self.tries += 1;
                let now = state.get(path).and_then(Option::as_ref);
                let Some(next) = self.files.applied(sides, now)? else { return Ok(()) };
                changed |= !self.files.is_same(now, next.as_ref());
                state.insert(path.clone(), next);
            }
            run.push(at);
            if !changed || stop(self, &state, &run)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether `commit` has every change that made `state` of the files before it.
    fn contains(&self, commit: &Change<F::Version>, state: &State<F::Version>) -> Result<bool> {
        let mut any = false;
        for (path, sides) in &commit.files {
            let part = (sides.0.clone(), state[path].clone());
            if self.files.is_same(part.0.as_ref(), part.1.as_ref()) {
                continue;
            }
            any = true;
            if self.files.is_same(part.1.as_ref(), sides.1.as_ref()) {
                continue;
            }
            let (Some(part), Some(all)) = (self.files.hunks(&part)?, self.files.hunks(sides)?)
            else {
                return Ok(false);
            };
            if !part.iter().all(|hunk| all.iter().any(|other| other.contains(hunk))) {
                return Ok(false);
            }
        }
        Ok(any)
    }

    /// Whether both change the same paths, and remove and add the same lines.
    fn has_same_lines(
        &self,
        commit: &Change<F::Version>,
        edit: &Change<F::Version>,
    ) -> Result<bool> {
        if commit.files.len() != edit.files.len() {
            return Ok(false);
        }
        for (path, sides) in &commit.files {
            let Some(other) = edit.files.get(path) else { return Ok(false) };
            let (Some(one), Some(other)) = (self.files.hunks(sides)?, self.files.hunks(other)?)
            else {
                return Ok(false);
            };
            // Place by place: the same lines in other places are another change.
            let is_same = |(one, other): (&Hunk, &Hunk)| {
                one.removed == other.removed && one.added == other.added
            };
            if one.len() != other.len() || !one.iter().zip(&other).all(is_same) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Hunk {
    /// Whether this place of the same old text has all that `part` removes and adds.
    fn contains(&self, part: &Hunk) -> bool {
        let adds = part.added.is_empty()
            || self.added.windows(part.added.len()).any(|lines| lines == part.added);
        let end = |hunk: &Hunk| hunk.at + hunk.removed.len();
        self.at <= part.at && end(part) <= end(self) && adds
    }
}

/// The files of a repository.
struct GitFiles<'w, 'r>(&'w ObjectWriter<'r>);

impl Files for GitFiles<'_, '_> {
    type Version = Version;

    fn is_same(&self, one: Option<&Version>, other: Option<&Version>) -> bool {
        one.map(|version| version.file) == other.map(|version| version.file)
    }

    fn applied(
        &self,
        sides: &Sides<Version>,
        at: Option<&Version>,
    ) -> Result<Option<Option<Version>>> {
        let merged = merge3(self.0, sides.0.as_ref(), at, sides.1.as_ref())?;
        Ok(match merged {
            MergedFile::Clean(version) => Some(version),
            MergedFile::Conflict(_) => None,
        })
    }

    fn hunks(&self, sides: &Sides<Version>) -> Result<Option<Vec<Hunk>>> {
        if let (Some(one), Some(other)) = (&sides.0, &sides.1)
            && one.file.mode != other.file.mode
        {
            return Ok(None);
        }
        let bytes = |version: &Option<Version>| {
            version.as_ref().map_or_else(|| Ok(Vec::new()), |version| version.bytes(self.0))
        };
        let (old, new) = (bytes(&sides.0)?, bytes(&sides.1)?);
        let is_binary = |bytes: &[u8]| bytes.contains(&0);
        if is_binary(&old) || is_binary(&new) {
            return Ok(None);
        }
        let mut hunks = hunks_of(&old, &new);
        let is_executable = |side: &Option<Version>| {
            side.as_ref().is_some_and(|one| one.file.mode == FileMode::Executable)
        };
        if sides.0.is_none() && is_executable(&sides.1) {
            // No line of a text has this byte.
            hunks.push(Hunk { at: 0, removed: Vec::new(), added: vec![b"\0executable".to_vec()] });
        }
        Ok(Some(hunks))
    }
}

fn hunks_of(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let diff = LineDiff::of(old, new, clock::in_ms(DIFF_TIME));
    let (old, new) = diff.texts();
    let lines = |lines: &[&[u8]]| lines.iter().map(|line| line.to_vec()).collect();
    let hunk = |(from, to): (std::ops::Range<usize>, std::ops::Range<usize>)| Hunk {
        at: from.start,
        removed: lines(&old[from]),
        added: lines(&new[to]),
    };
    diff.changes().map(hunk).collect()
}

/// What `commit` changed; `None` if it changed something that is not a file.
fn change(repo: &Repo, commit: &Commit) -> Result<Option<Change<Version>>> {
    let differs = repo.tree_diff(commit.parent_tree(repo)?, commit.tree)?;
    if !differs.iter().all(edt_git::diff::TreeDifference::is_of_files) {
        return Ok(None);
    }
    let side = |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
    let files = differs.into_iter().map(|one| (one.path, (side(one.old), side(one.new)))).collect();
    Ok(Some(Change { files, named: message::numbers(&commit.message), follows: false }))
}

/// The `chain` of a session's commits, the newest first, each with the edits that it has. Without
/// `undone`, an edit that was undone is nobody's but the user's who brought it back.
///
/// # Errors
/// `OBJECT_MISSING`, `INTERNAL`.
pub fn identified(
    repo: &Repo,
    session: &Session,
    chain: Vec<Commit>,
    undone: Undone,
) -> Result<Vec<Commit>> {
    if undone == Undone::Never
        && RecordTip::of(repo, session)?.is_some_and(|entry| entry.vouches_for(&chain))
    {
        return Ok(chain);
    }
    let records = Records::of(repo, session)?;
    let on_branch: HashSet<Oid> = chain.iter().map(|commit| commit.oid).collect();
    let mut pool = Vec::new();
    let mut chain = chain;
    let unknown: Vec<usize> =
        (0..chain.len()).rev().filter(|at| !records.has(chain[*at].oid, undone)).collect();
    if unknown.is_empty() {
        return Ok(chain);
    }
    let mut follows = false;
    for edit in records.commits(undone) {
        let is_open = !on_branch.contains(&edit.oid);
        if is_open && let Some(change) = change(repo, edit)? {
            let named = edit.trailers.iter().map(|trailers| trailers.edit).collect();
            pool.push((edit, Change { named, follows, ..change }));
        }
        follows = is_open;
    }
    let mut changes = Vec::new();
    for at in unknown {
        // A merge makes no edit, and without an edit to find, there is nothing to compare.
        let compared = !pool.is_empty() && chain[at].other_parents.is_empty();
        let change = if compared { change(repo, &chain[at])? } else { None };
        changes.extend(change.map(|change| (at, change)));
        chain[at].trailers = None;
    }
    let (edits, edit_changes): (Vec<&Commit>, Vec<_>) = pool.into_iter().unzip();
    let (places, changes): (Vec<usize>, Vec<_>) = changes.into_iter().unzip();
    let writer = ObjectWriter::new(repo);
    let found = found_in(&GitFiles(&writer), &changes, &edit_changes)?;
    for (at, found) in places.into_iter().zip(found) {
        let Some(Found { edits: own, has_more }) = found else { continue };
        let own: Vec<Commit> = own.into_iter().map(|edit| edits[edit].clone()).collect();
        // What the user had not committed before stays the user's.
        let mixed = own.iter().any(Commit::is_checkpoint) && own.iter().any(Commit::is_edit);
        let has_more = has_more || mixed;
        chain[at].trailers = trailers(&own);
        chain[at].rewritten = Some(Box::new(Rewritten { edits: own, has_more }));
    }
    Ok(chain)
}

/// The trailers of the newest edit, with the overrides of all.
fn trailers(edits: &[Commit]) -> Option<message::Trailers> {
    let newest = edits.iter().rev().find(|edit| edit.is_edit()).or(edits.last())?;
    let mut trailers = newest.trailers.clone()?;
    let all = edits.iter().filter_map(|edit| edit.trailers.as_ref());
    trailers.allowed = all.flat_map(|trailers| trailers.allowed.clone()).collect();
    trailers.allowed.sort();
    trailers.allowed.dedup();
    Some(trailers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_git::merge::{MergedText, merge_text};

    /// Texts in memory.
    struct Texts;

    impl Files for Texts {
        type Version = String;

        fn is_same(&self, one: Option<&String>, other: Option<&String>) -> bool {
            one == other
        }

        fn applied(
            &self,
            (before, after): &Sides<String>,
            at: Option<&String>,
        ) -> Result<Option<Option<String>>> {
            if before.as_ref() == at {
                return Ok(Some(after.clone()));
            }
            let (Some(before), Some(at), Some(after)) = (before, at, after) else {
                return Ok(None);
            };
            let merged = merge_text(before.as_bytes(), at.as_bytes(), after.as_bytes());
            Ok(match merged {
                MergedText::Clean(text) => Some(Some(String::from_utf8(text).unwrap())),
                MergedText::Conflict(_) => None,
            })
        }

        fn hunks(&self, (before, after): &Sides<String>) -> Result<Option<Vec<Hunk>>> {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            Ok(Some(hunks_of(text(before).as_bytes(), text(after).as_bytes())))
        }
    }

    /// A text of a line for each letter, with three lines between them.
    fn text(letters: &str) -> String {
        letters.chars().map(|letter| format!("{letter}\n=\n=\n=\n")).collect()
    }

    /// A change of the file `f` from one text to another; `named` are the numbers in the message.
    fn change(named: &[u64], from: &str, to: &str) -> Change<String> {
        let path = RepoPath::parse(b"f").unwrap();
        let side = |letters: &str| (letters != "-").then(|| text(letters));
        let files = [(path, (side(from), side(to)))].into_iter().filter(|(_, (a, b))| a != b);
        Change { files: files.collect(), named: named.to_vec(), follows: true }
    }

    /// Each commit: the numbers in its message, and its texts before and after.
    type Row<'t> = (&'t [u64], &'t str, &'t str);

    /// A name, the texts before and after each edit, the commits, and what each commit has.
    type Story<'t> = (&'t str, &'t [(&'t str, &'t str)], &'t [Row<'t>], &'t [&'t str]);

    /// What the `commits` have of `edits`, each edit numbered from 1: its numbers, and `+` for more.
    fn found(edits: &[(&str, &str)], commits: &[Row<'_>]) -> Vec<String> {
        let edits: Vec<Change<String>> =
            (1..).zip(edits).map(|(number, (from, to))| change(&[number], from, to)).collect();
        let commits: Vec<Change<String>> =
            commits.iter().map(|(named, from, to)| change(named, from, to)).collect();
        let show = |found: Option<Found>| {
            let Some(found) = found else { return "user".to_owned() };
            let edits: Vec<String> = found.edits.iter().map(|at| (at + 1).to_string()).collect();
            format!("{}{}", edits.join(","), if found.has_more { "+" } else { "" })
        };
        found_in(&Texts, &commits, &edits).unwrap().into_iter().map(show).collect()
    }

    /// Three edits of three lines.
    const THREE: &[(&str, &str)] = &[("abcde", "Abcde"), ("Abcde", "AbCde"), ("AbCde", "AbCdE")];

    #[test]
    fn histories() {
        let rows: &[Story<'_>] = &[
            ("reworded", THREE, &[(&[], "abcde", "Abcde")], &["1"]),
            (
                "the order of the user",
                THREE,
                &[(&[], "abcde", "abCde"), (&[], "abCde", "AbCde")],
                &["2", "1"],
            ),
            ("rebased on other lines", THREE, &[(&[2], "abcdx", "abCdx")], &["2"]),
            ("squashed", THREE, &[(&[], "abcde", "AbCdE")], &["1,2,3"]),
            (
                "the last two squashed",
                THREE,
                &[(&[1], "abcde", "Abcde"), (&[3], "Abcde", "AbCdE")],
                &["1", "2,3"],
            ),
            ("squashed with more", THREE, &[(&[], "abcde", "AbCDE")], &["1,2,3+"]),
            ("amended", THREE, &[(&[1], "abcde", "AbcDe")], &["1+"]),
            ("amended without a message", THREE, &[(&[], "abcde", "AbcDe")], &["1+"]),
            ("a line of the edit amended", THREE, &[(&[1], "abcde", "Xbcde")], &["1+"]),
            ("the same without a message", THREE, &[(&[], "abcde", "Xbcde")], &["user"]),
            (
                "another change with an edit's message",
                THREE,
                &[(&[9], "abcde", "abcDe")],
                &["user"],
            ),
            (
                "an edit twice is in one commit",
                THREE,
                &[(&[], "abcde", "Abcde"), (&[], "abcde", "Abcde")],
                &["1", "user"],
            ),
            (
                "an exact commit comes before one with more",
                THREE,
                &[(&[], "abcde", "AbcDe"), (&[1], "abcde", "Abcde")],
                &["user", "1"],
            ),
            (
                "the message decides between equals",
                &[("ab", "Ab"), ("Ab", "ab"), ("ab", "Ab")],
                &[(&[3], "ab", "Ab")],
                &["3"],
            ),
            (
                "else the order",
                &[("ab", "Ab"), ("Ab", "ab"), ("ab", "Ab")],
                &[(&[], "ab", "Ab")],
                &["1"],
            ),
            ("a new file", &[("-", "ab")], &[(&[], "-", "ab")], &["1"]),
            ("a deleted file", &[("ab", "-")], &[(&[], "ab", "-")], &["1"]),
            ("an empty edit has its number", &[("ab", "ab")], &[(&[1], "ab", "ab")], &["1"]),
            ("an empty commit has none", &[("ab", "ab")], &[(&[], "ab", "ab")], &["user"]),
            (
                "an empty edit that was squashed to the one before it",
                &[("ab", "Ab"), ("Ab", "Ab"), ("Ab", "AB")],
                &[(&[1], "ab", "Ab"), (&[3], "Ab", "AB")],
                &["1,2", "3"],
            ),
            (
                "one to which the next edit was squashed",
                &[("ab", "ab"), ("ab", "Ab")],
                &[(&[1], "ab", "Ab")],
                &["1,2"],
            ),
            (
                "one that has a commit of its own",
                &[("ab", "Ab"), ("Ab", "Ab")],
                &[(&[1], "ab", "Ab"), (&[2], "Ab", "Ab")],
                &["1", "2"],
            ),
            (
                "one without the edit before it",
                &[("ab", "Ab"), ("Ab", "Ab")],
                &[(&[], "ab", "aB")],
                &["user"],
            ),
            (
                "all of it in one commit",
                &[("ab", "Ab"), ("Ab", "Ab"), ("Ab", "AB")],
                &[(&[], "ab", "AB")],
                &["1,2,3"],
            ),
            ("a number alone makes no edit", &[("ab", "Ab")], &[(&[1], "ab", "ab")], &["user"]),
            (
                "an edit of an edit's line",
                &[("ab", "Ab"), ("Ab", "Xb")],
                &[(&[], "ab", "Xb")],
                &["1,2"],
            ),
        ];
        for (story, edits, commits, expected) in rows {
            assert_eq!(found(edits, commits), *expected, "{story}");
        }
    }

    #[test]
    fn white_space_counts_and_context_does_not() {
        let path = RepoPath::parse(b"f").unwrap();
        let change = |from: &str, to: &str| Change {
            files: [(path.clone(), (Some(from.to_owned()), Some(to.to_owned())))].into(),
            named: Vec::new(),
            follows: true,
        };
        let edits = [change("a\nb\nc\n", "a\nB\nc\n")];
        let found = |from: &str, to: &str| {
            found_in(&Texts, &[change(from, to)], &edits).unwrap()[0].is_some()
        };
        assert!(found("x\nb\ny\n", "x\nB\ny\n"));
        assert!(!found("x\nb\ny\n", "x\n B\ny\n"));
        assert!(!found("a\nb\nc\n", "a\nB \nc\n"));
    }
}
