//! One planned file, as guards see it. The line difference and the trees, which several guards
//! need, are computed once, when the first guard asks for them.

use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use super::transaction::{GainedLines, Transaction, TransactionFile, count, inner};
use edt_edit::diff::LineDiff;
use edt_io::clock::{self, CpuLimit};
use edt_lang::families::{self, Family};
use edt_lang::fault::SyntaxFault;
use edt_lang::judgement::Judgement;
use edt_lang::{Language, Parsed, TreeCache, Unparsed, table};
use edt_types::RepoPath;
use edt_types::text::is_binary;

/// One planned file, as guards see it.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The path it is renamed from.
    pub from: Option<&'a RepoPath>,
    /// The text on disk; `None` for a new file.
    pub before: Option<&'a [u8]>,
    /// The new text; `None` for a removed file.
    pub after: Option<&'a [u8]>,
    /// Recorded states that the file is measured against. Empty for an edit that does not
    /// rename the file and by which it loses neither bytes nor lines.
    pub references: Vec<Reference<'a>>,
    /// The text that would be recorded, if the user's uncommitted changes make it differ from
    /// `after`. Recorded states are compared with it, so that those changes do not count.
    pub recorded: Option<&'a [u8]>,
    users: Option<&'a dyn UsersVersions>,
    landing: bool,
    removed_in_session: usize,
    /// All files of the transaction, including this one.
    pub transaction: &'a [TransactionFile<'a>],
    together: Option<&'a Transaction<'a>>,
    trees: Option<&'a TreeCache>,
    limit: Duration,
    deadline: OnceCell<CpuLimit>,
    parses: Cell<usize>,
    interrupted: Cell<bool>,
    language: OnceCell<Option<&'static Language>>,
    hunks: OnceCell<Vec<LineChange>>,
    lines: OnceCell<LineDiff<'a>>,
    is_text: OnceCell<bool>,
    fresh: OnceCell<Vec<usize>>,
    starts: OnceCell<Vec<usize>>,
    new_tree: OnceCell<Result<Parsed<'a>, Unparsed>>,
    old_tree: OnceCell<Result<Parsed<'a>, Unparsed>>,
}

/// A recorded state of a file.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// Where it is recorded: `HEAD`, `the session's base`.
    pub origin: &'static str,
    /// Its text.
    pub text: &'a [u8],
}

/// The user's commits, as they change the references of one file. Reading them takes time, so a
/// guard asks only before it refuses.
pub trait UsersVersions: std::fmt::Debug {
    /// As [`Subject::reference_with_users_commits`].
    fn reference(&self, at: usize) -> Option<Option<Vec<u8>>>;
}

/// Rows of the old text and the rows of the new text that replace them (0-based, end excluded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// Removed rows.
    pub old: Range<usize>,
    /// Added rows.
    pub new: Range<usize>,
}

impl<'a> Subject<'a> {
    /// A planned file. `limit` is the time limit for parsing in all guards together.
    #[must_use]
    pub fn new(
        path: &'a RepoPath,
        from: Option<&'a RepoPath>,
        before: Option<&'a [u8]>,
        after: Option<&'a [u8]>,
        references: Vec<Reference<'a>>,
        limit: Duration,
    ) -> Subject<'a> {
        Subject {
            path,
            from,
            before,
            after,
            references,
            recorded: None,
            users: None,
            landing: false,
            removed_in_session: 0,
            transaction: &[],
            together: None,
            trees: None,
            limit,
            deadline: OnceCell::new(),
            parses: Cell::new(0),
            interrupted: Cell::new(false),
            language: OnceCell::new(),
            hunks: OnceCell::new(),
            lines: OnceCell::new(),
            is_text: OnceCell::new(),
            fresh: OnceCell::new(),
            starts: OnceCell::new(),
            new_tree: OnceCell::new(),
            old_tree: OnceCell::new(),
        }
    }

    /// The same, with all files of the transaction.
    #[doc(hidden)]
    #[must_use]
    pub fn in_transaction(mut self, transaction: &'a Transaction<'a>) -> Subject<'a> {
        self.transaction = transaction.files();
        self.together = Some(transaction);
        self
    }

    /// The same, with the text that would be recorded.
    #[must_use]
    pub fn recorded_as(mut self, recorded: Option<&'a [u8]>) -> Subject<'a> {
        self.recorded = recorded;
        self
    }

    /// The same, with the user's commits, which may have changed the recorded states.
    #[doc(hidden)]
    #[must_use]
    pub fn with_users_commits(mut self, users: &'a dyn UsersVersions) -> Subject<'a> {
        self.users = Some(users);
        self
    }

    /// The same, as part of a landing.
    #[doc(hidden)]
    #[must_use]
    pub fn in_landing(mut self) -> Subject<'a> {
        self.landing = true;
        self
    }

    /// The same, with the number of the session base's files that are gone after the transaction.
    #[doc(hidden)]
    #[must_use]
    pub fn with_removed_in_session(mut self, files: usize) -> Subject<'a> {
        self.removed_in_session = files;
        self
    }

    pub(super) fn removed_in_session(&self) -> usize {
        self.removed_in_session
    }

    /// Whether the change is that of a landing as a whole.
    #[must_use]
    pub fn is_landing(&self) -> bool {
        self.landing
    }

    /// The text of the reference number `at` with the user's later commits applied. `None` if they
    /// did not change the file; the inner `None` if they removed it.
    #[must_use]
    pub fn reference_with_users_commits(&self, at: usize) -> Option<Option<Vec<u8>>> {
        self.users?.reference(at)
    }

    /// The same, with a cache of trees that lasts longer than one call.
    #[doc(hidden)]
    #[must_use]
    pub fn with_trees(mut self, trees: Option<&'a TreeCache>) -> Subject<'a> {
        self.trees = trees;
        self
    }

    /// The new text, unless it is binary.
    #[must_use]
    pub fn text(&self) -> Option<&'a [u8]> {
        self.after.filter(|after| *self.is_text.get_or_init(|| !is_binary(after)))
    }

    /// The text before; empty for a new file.
    #[must_use]
    pub fn old_text(&self) -> &'a [u8] {
        self.before.unwrap_or_default()
    }

    /// The language, detected from the new path and the new text.
    #[must_use]
    pub fn language(&self) -> Option<&'static Language> {
        *self.language.get_or_init(|| table::language_of(self.path, self.after?))
    }

    /// The family of the language, if there is no grammar for it.
    #[doc(hidden)]
    #[must_use]
    pub fn family(&self) -> Option<&'static Family> {
        if self.language().is_some() { None } else { families::family_of(self.path) }
    }

    /// The old text, if it was of the same family.
    pub(super) fn old_family_text(&self, family: &'static Family) -> Option<&'a [u8]> {
        let old = families::family_of(self.from.unwrap_or(self.path))?;
        self.before.filter(|_| std::ptr::eq(old, family))
    }

    /// The line difference, computed within 100 ms; coarser if that does not suffice.
    #[must_use]
    pub fn lines(&self) -> &LineDiff<'a> {
        self.lines.get_or_init(|| {
            LineDiff::of(self.old_text(), self.after.unwrap_or_default(), clock::in_ms(100))
        })
    }

    /// The changed rows, in order.
    #[must_use]
    pub fn hunks(&self) -> &[LineChange] {
        self.hunks.get_or_init(|| {
            self.lines().changes().map(|(old, new)| LineChange { old, new }).collect()
        })
    }

    /// The rows of the new text that the change touches. Where lines are only removed, these are
    /// the rows above and below.
    #[must_use]
    pub fn touched(&self) -> Vec<Range<usize>> {
        let around = |at: usize| at.saturating_sub(1)..at + 1;
        let rows = |hunk: &LineChange| {
            if hunk.new.is_empty() { around(hunk.new.start) } else { hunk.new.clone() }
        };
        self.hunks().iter().map(rows).collect()
    }

    /// The rows of the new text that the change adds.
    #[must_use]
    pub fn added(&self) -> Vec<Range<usize>> {
        self.hunks().iter().map(|hunk| hunk.new.clone()).filter(|rows| !rows.is_empty()).collect()
    }

    /// Every added line, with its row. Rows count from 0; a line has its indentation and no line end.
    pub fn added_lines(&self) -> impl Iterator<Item = (usize, &'a [u8])> + '_ {
        let (_, new) = self.lines().texts();
        self.added().into_iter().flatten().map(move |row| (row, new[row]))
    }

    /// The added lines that occur nowhere in the old text, each with its row. White space at both
    /// ends is not compared: a line that was only indented is not fresh.
    pub fn fresh_lines(&self) -> impl Iterator<Item = (usize, &'a [u8])> + '_ {
        let (old, new) = self.lines().texts();
        let fresh = self.fresh.get_or_init(|| {
            let mut rows: Vec<usize> = self.added().into_iter().flatten().collect();
            let mut fresh: HashSet<&[u8]> = rows.iter().map(|row| new[*row].trim_ascii()).collect();
            // Most lines of the old text have another length than these. Comparing lengths is
            // cheaper than comparing texts.
            let lengths: HashSet<usize> = fresh.iter().map(|line| line.len()).collect();
            let (least, most) = (lengths.iter().min().copied(), lengths.iter().max().copied());
            for line in old.iter().map(|line| line.trim_ascii()) {
                let length = Some(line.len());
                if least <= length && length <= most && lengths.contains(&line.len()) {
                    fresh.remove(line);
                }
            }
            rows.retain(|row| fresh.contains(new[*row].trim_ascii()));
            rows
        });
        fresh.iter().map(|row| (*row, new[*row]))
    }

    /// The lines with content that the file has less often than before and that no other file of
    /// the transaction gains, each with how often it is lost. White space around lines is ignored.
    #[must_use]
    pub fn lost_lines(&self) -> HashMap<&'a [u8], i64> {
        let mut lost = HashMap::new();
        count(&mut lost, self.old_text(), 1);
        count(&mut lost, self.after.unwrap_or_default(), -1);
        if let Some(gained) = self.gained_by_others() {
            lost.iter_mut().for_each(|(line, times)| *times -= gained.times(line).max(0));
        }
        lost.retain(|_, times| *times > 0);
        lost
    }

    /// How often files of the transaction other than this one gain a line, if the transaction is
    /// known.
    pub(super) fn gained_by_others(&self) -> Option<GainedLines<'a, 'a>> {
        self.together.map(|all| all.gained_by_others(self.path, self.from))
    }

    /// Whether a file of the transaction has had the line, with any indentation.
    pub(super) fn has_had_line(&self, line: &[u8]) -> bool {
        self.together.is_some_and(|all| all.lines_before().contains(inner(line)))
    }

    /// Whether a file of the transaction has had exactly this text.
    pub(super) fn has_had(&self, text: &[u8]) -> bool {
        self.together.is_some_and(|all| all.has_had(text))
    }

    /// The offset of the first byte of row `row` of the new text that is not white space.
    #[must_use]
    pub fn start_of(&self, row: usize) -> usize {
        let lines = self.lines().texts().1;
        let starts = self.starts.get_or_init(|| {
            let ends = lines.iter().scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            });
            std::iter::once(0).chain(ends).collect()
        });
        let blank = lines
            .get(row)
            .map_or(0, |line| line.iter().take_while(|byte| byte.is_ascii_whitespace()).count());
        starts.get(row).copied().unwrap_or_default() + blank
    }

    /// Whether row `row` is in a string or a comment that began above it; `false` without a tree,
    /// or when the time limit is over.
    #[must_use]
    pub fn is_prose(&self, row: usize) -> bool {
        if self.is_over() {
            return false;
        }
        let at = self.start_of(row);
        let began_above = |tree: &Parsed<'_>| tree.prose_from(at).is_some_and(|from| from < at);
        matches!(self.new_tree(), Some(Ok(tree)) if began_above(tree))
    }

    /// Whether row `row` is outside strings and comments of a language, or in a script of a page.
    #[must_use]
    pub fn is_code(&self, row: usize) -> bool {
        let script =
            || matches!(self.new_tree(), Some(Ok(tree)) if tree.is_script(self.start_of(row)));
        self.language().is_some() && (!self.is_prose(row) || script())
    }

    /// The tree of the new text; `None` if there is no grammar for it.
    ///
    /// # Errors
    /// The reason why it could not be parsed.
    pub fn new_tree(&self) -> Option<&Result<Parsed<'a>, Unparsed>> {
        let (language, text) = (self.language()?, self.text()?);
        Some(self.new_tree.get_or_init(|| self.parse_cached(language, text)))
    }

    /// Whether a comment near the top of the new text says that a program made it.
    #[must_use]
    pub fn is_generated(&self) -> bool {
        const HEAD: usize = 10;
        const MARKS: [&[u8]; 8] = [b"#", b"//", b"/*", b"*", b"--", b";", b"<!--", b"%"];
        const WARNINGS: [&[u8]; 3] = [b"do not edit", b"don't edit", b"do not modify"];
        const NAMES: [&[u8]; 4] =
            [b"@generated", b"automatically generated", b"auto-generated", b"autogenerated"];
        let head = self.lines().texts().1.iter().take(HEAD).map(|line| line.trim_ascii_start());
        let comments = head.filter(|line| MARKS.iter().any(|mark| line.starts_with(mark)));
        let comments = comments.collect::<Vec<_>>().concat().to_ascii_lowercase();
        let has = |sign: &&[u8]| memchr::memmem::find(&comments, sign).is_some();
        NAMES.iter().any(has) || has(&&b"generated"[..]) && WARNINGS.iter().any(has)
    }

    /// The old text, if it was code of the same language. If a rename changed the language, errors
    /// of the old text excuse none of the new one.
    #[must_use]
    pub fn old_code(&self) -> Option<&'a [u8]> {
        let before = self.before?;
        let old =
            self.from.map_or_else(|| self.language(), |from| table::language_of(from, before));
        (old.map(|old| old.name) == self.language().map(|new| new.name)).then_some(before)
    }

    /// The tree of the old text, parsed in the language of the new one.
    ///
    /// # Errors
    /// As [`Subject::new_tree`].
    pub fn old_tree(&self) -> Option<&Result<Parsed<'a>, Unparsed>> {
        let (language, text) = (self.language()?, self.old_code()?);
        Some(self.old_tree.get_or_init(|| self.parse_cached(language, text)))
    }

    /// Parses a text of this file, within the time limit of the file.
    ///
    /// # Errors
    /// The reason why it could not be parsed.
    pub fn parse<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
    ) -> Result<Parsed<'t>, Unparsed> {
        self.parses.set(self.parses.get() + 1);
        edt_lang::parse(language, text, &|| self.deadline().is_over())
    }

    /// What the language's own parsers say about a text of this file; `None` if they did not read it.
    ///
    /// # Errors
    /// The time limit is over. It does not interrupt these parsers.
    pub(super) fn judge(
        &self,
        language: &Language,
        text: &[u8],
    ) -> Result<Option<Judgement>, Unparsed> {
        if self.deadline().is_over() {
            return Err(Unparsed::OutOfTime);
        }
        Ok(language.judge(self.path, text))
    }

    /// How many texts of this file the guards have parsed.
    #[doc(hidden)]
    #[must_use]
    pub fn parses(&self) -> usize {
        self.parses.get()
    }

    /// The faults of a tree of this file, found within the time limit of the file.
    ///
    /// # Errors
    /// The time limit is over.
    #[doc(hidden)]
    pub fn faults(&self, parsed: &Parsed<'_>) -> Result<Vec<SyntaxFault>, Unparsed> {
        parsed.faults(&|| self.deadline().is_over())
    }

    /// As [`Language::without_idioms`], within the time limit of the file.
    ///
    /// # Errors
    /// The time limit is over.
    #[doc(hidden)]
    pub fn without_idioms(
        &self,
        language: &Language,
        text: &[u8],
    ) -> Result<Option<Vec<u8>>, Unparsed> {
        language.without_idioms(text, &|| self.deadline().is_over())
    }

    /// Parses a text that the next edit of the file may start from.
    fn parse_cached<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
    ) -> Result<Parsed<'t>, Unparsed> {
        self.parses.set(self.parses.get() + 1);
        match self.trees {
            Some(trees) => trees.parse(language, text, &|| self.deadline().is_over()),
            None => edt_lang::parse(language, text, &|| self.deadline().is_over()),
        }
    }

    /// Whether the time limit of the file is over. A search asks this, and ends.
    pub(super) fn is_over(&self) -> bool {
        let over = self.deadline().is_over();
        if over {
            self.interrupted.set(true);
        }
        over
    }

    /// The result of a search that ends when the time limit of the file is over.
    ///
    /// # Errors
    /// The search did not end by itself, so its result means nothing.
    pub(super) fn within_limit<T>(&self, search: impl FnOnce() -> T) -> Result<T, Unparsed> {
        self.interrupted.set(false);
        let found = search();
        if self.interrupted.get() { Err(Unparsed::OutOfTime) } else { Ok(found) }
    }

    /// The same file with another new text, within the same time limit.
    pub(super) fn with_text<'t>(&'t self, after: &'t [u8]) -> Subject<'t> {
        let other =
            Subject::new(self.path, self.from, self.before, Some(after), Vec::new(), self.limit);
        Subject { deadline: OnceCell::from(self.deadline()), ..other }
    }

    /// A part of this file as a file of its own, within the same time limit.
    pub(super) fn with_part<'t>(
        &'t self,
        path: &'t RepoPath,
        before: Option<&'t [u8]>,
        after: &'t [u8],
    ) -> Subject<'t> {
        let part = Subject::new(path, None, before, Some(after), Vec::new(), self.limit);
        Subject { deadline: OnceCell::from(self.deadline()), trees: self.trees, ..part }
    }

    fn deadline(&self) -> CpuLimit {
        *self.deadline.get_or_init(|| CpuLimit::new(self.limit))
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::naive_bytecount,
        clippy::single_range_in_vec_init,
        clippy::unnecessary_wraps,
        clippy::useless_asref,
        clippy::cloned_ref_to_slice_refs,
        reason = "tests are read, not tuned"
    )]

    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn subject<'a>(
        path: &'a RepoPath,
        before: Option<&'a str>,
        after: Option<&'a str>,
    ) -> Subject<'a> {
        let (before, after) = (before.map(str::as_bytes), after.map(str::as_bytes));
        Subject::new(path, None, before, after, Vec::new(), Duration::from_secs(1))
    }

    #[test]
    fn a_replaced_row_is_touched_and_added() {
        let path = path("a.txt");
        let file = subject(&path, Some("a\nb\nc\n"), Some("a\nB\nc\n"));
        assert_eq!((file.touched(), file.added()), (vec![1..2], vec![1..2]));
    }

    #[test]
    fn around_removed_rows_both_neighbours_are_touched() {
        let path = path("a.txt");
        let file = subject(&path, Some("a\nb\nc\n"), Some("a\nc\n"));
        assert_eq!((file.touched(), file.added()), (vec![0..2], vec![]));
        assert_eq!(file.hunks(), [LineChange { old: 1..2, new: 1..1 }]);
    }

    #[test]
    fn every_row_of_a_new_file_is_added() {
        let path = path("a.txt");
        assert_eq!(subject(&path, None, Some("a\nb\n")).added(), [0..2]);
    }

    #[test]
    fn a_moved_line_is_not_fresh() {
        let path = path("a.txt");
        let file = subject(&path, Some("a\nb\n"), Some("  b\nnew\na\n"));
        let fresh: Vec<(usize, &[u8])> = file.fresh_lines().collect();
        assert_eq!(fresh, [(1, &b"new\n"[..])]);
    }

    #[test]
    fn a_row_starts_at_its_first_sign() {
        let path = path("a.txt");
        let file = subject(&path, None, Some("ab\n\t x\n\n"));
        assert_eq!((file.start_of(0), file.start_of(1), file.start_of(2)), (0, 5, 8));
    }

    #[test]
    fn binary_content_has_no_text() {
        let path = path("a.txt");
        assert_eq!(subject(&path, None, Some("a\0")).text(), None);
        assert_eq!(subject(&path, Some("a"), None).text(), None);
    }

    #[test]
    fn the_language_is_that_of_the_new_path() {
        let (path, other) = (path("a.rs"), path("a.unknown"));
        assert_eq!(
            subject(&path, None, Some("x")).language().map(|one| one.name.as_ref()),
            Some("rust")
        );
        assert!(subject(&other, None, Some("x")).language().is_none());
    }

    #[test]
    fn text_of_another_language_excuses_no_error() {
        let (new, old) = (path("a.rs"), path("a.py"));
        let (before, after) = (Some(&b"x"[..]), Some(&b"x"[..]));
        let limit = Duration::from_secs(1);
        let renamed = Subject::new(&new, Some(&old), before, after, Vec::new(), limit);
        assert_eq!(renamed.old_code(), None);
        assert_eq!(subject(&new, Some("x"), Some("x")).old_code(), Some(&b"x"[..]));
    }

    #[test]
    fn lines_without_a_letter_or_a_digit_are_not_counted() {
        let mut counts = HashMap::new();
        count(&mut counts, b"  a\n}\n\na \n{ 1 }", 1);
        assert_eq!(counts, HashMap::from([(&b"a"[..], 2), (&b"{ 1 }"[..], 1)]));
    }

    #[test]
    fn a_row_inside_a_comment_that_began_above_is_prose() {
        let path = path("a.rs");
        let file = subject(&path, None, Some("/* one\n two */\nfn f() {}\n"));
        assert_eq!((0..3).map(|row| file.is_prose(row)).collect::<Vec<_>>(), [false, true, false]);
    }
}
