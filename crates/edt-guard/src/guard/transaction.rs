//! The files of a transaction together. What guards ask of all of them is computed once: otherwise
//! the cost of a transaction would grow with the square of its files.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use edt_types::RepoPath;
use edt_types::text::lines;

/// The texts of a file of the transaction.
#[derive(Debug, Clone, Copy)]
pub struct TransactionFile<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The text on disk; empty for a new file.
    pub before: &'a [u8],
    /// The new text; empty for a removed file.
    pub after: &'a [u8],
}

/// All files of a transaction, each path once.
#[derive(Debug, Default)]
pub struct Transaction<'a> {
    files: Vec<TransactionFile<'a>>,
    by_path: OnceCell<HashMap<&'a RepoPath, TransactionFile<'a>>>,
    gained: OnceCell<HashMap<&'a [u8], i64>>,
    lines_before: OnceCell<HashSet<&'a [u8]>>,
    texts_before: OnceCell<HashSet<&'a [u8]>>,
}

/// How often lines occur more than before, in all files of a transaction but some.
#[derive(Debug)]
pub(super) struct GainedLines<'t, 'a> {
    all: &'t HashMap<&'a [u8], i64>,
    /// The part of the files that do not count.
    own: HashMap<&'a [u8], i64>,
}

impl<'a> Transaction<'a> {
    /// A transaction of these files.
    #[must_use]
    pub fn new(files: Vec<TransactionFile<'a>>) -> Transaction<'a> {
        Transaction { files, ..Transaction::default() }
    }

    pub(super) fn files(&self) -> &[TransactionFile<'a>] {
        &self.files
    }

    /// The lines that files gain, without the files at `path` and `from`.
    pub(super) fn gained_by_others(
        &self,
        path: &RepoPath,
        from: Option<&RepoPath>,
    ) -> GainedLines<'_, 'a> {
        let by_path =
            || self.files.iter().map(|file| (file.path, *file)).collect::<HashMap<_, _>>();
        let by_path = self.by_path.get_or_init(by_path);
        let all = self.gained.get_or_init(|| gained(self.files.iter()));
        let paths = [Some(path), from.filter(|from| *from != path)];
        let own = gained(paths.into_iter().flatten().filter_map(|path| by_path.get(path)));
        GainedLines { all, own }
    }

    /// The lines that files have had, without indentation and line ends.
    pub(super) fn lines_before(&self) -> &HashSet<&'a [u8]> {
        let lines = || self.files.iter().flat_map(|file| lines(file.before)).map(inner).collect();
        self.lines_before.get_or_init(lines)
    }

    /// Whether a file has had exactly this text.
    pub(super) fn has_had(&self, text: &[u8]) -> bool {
        let texts = || self.files.iter().map(|file| file.before).collect();
        self.texts_before.get_or_init(texts).contains(text)
    }
}

impl GainedLines<'_, '_> {
    /// How often the line occurs more than before; negative if less often.
    pub(super) fn times(&self, line: &[u8]) -> i64 {
        let times = |counts: &HashMap<&[u8], i64>| counts.get(line).copied().unwrap_or_default();
        times(self.all) - times(&self.own)
    }
}

fn gained<'t, 'a: 't>(
    files: impl Iterator<Item = &'t TransactionFile<'a>>,
) -> HashMap<&'a [u8], i64> {
    let mut gained = HashMap::new();
    for file in files {
        count(&mut gained, file.after, 1);
        count(&mut gained, file.before, -1);
    }
    gained
}

/// Adds `by` to the count of each line of a text that has a letter or a digit. White space around
/// lines is ignored.
pub(super) fn count<'t>(counts: &mut HashMap<&'t [u8], i64>, text: &'t [u8], by: i64) {
    let lines = lines(text).map(<[u8]>::trim_ascii);
    for line in lines.filter(|line| line.iter().any(u8::is_ascii_alphanumeric)) {
        *counts.entry(line).or_default() += by;
    }
}

/// A line without its line end, and without white space around the rest.
pub(super) fn inner(line: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = &line[..line.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1)];
    let line = &line[..line.iter().rposition(is_text).map_or(0, |at| at + 1)];
    &line[line.iter().position(is_text).unwrap_or_default()..]
}
