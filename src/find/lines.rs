//! Finds matching lines, ordered by path. First all files are counted in parallel; then the files
//! that are shown are read again for their lines. So memory use depends only on the lines shown,
//! and the order does not depend on the threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};

use edt_git::Repo;
use edt_git::files::{ListedFile, ListedKind};
use edt_io::disk::{Dir, FoundEntry as OnDisk, Parent};
use edt_types::text::BOM;
use edt_types::{Code, Finding, RepoPath, Result};

/// How many files are counted between two checks of the limits.
const CHUNK: usize = 1024;
/// How many more bytes are counted after all matches to be shown were found.
const EXTRA_COUNT_BYTES: u64 = 512 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;
/// The maximum number of threads; more threads only wait for the disk.
const MAX_THREADS: usize = 8;

/// How a pattern is interpreted.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own on the command line"
)]
pub(crate) struct PatternOptions {
    /// Text, not a regular expression.
    pub fixed: bool,
    /// Ignore case.
    pub ignore_case: bool,
    /// Ignore case unless the pattern has an upper-case letter.
    pub smart_case: bool,
    /// Whole words only.
    pub word: bool,
}

#[derive(Debug)]
pub(crate) struct SearchQuery {
    matcher: RegexMatcher,
}

/// Which of the matches are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchLimits {
    /// The number of matching lines (or files) to skip.
    pub skip: u64,
    /// The maximum number shown.
    pub matches: u64,
    /// The maximum number of bytes of a line.
    pub columns: usize,
    /// The maximum number of bytes of all lines; the first match is always shown.
    pub bytes: usize,
    /// The number of lines before and after each match.
    pub context: usize,
}

#[derive(Debug, Default)]
pub(crate) struct SearchResult {
    /// The matches that are shown.
    pub hits: Vec<Hit>,
    /// The files with matches that are shown, each with its number of matching lines.
    pub files: Vec<(RepoPath, u64)>,
    /// The number of matching lines, as far as files were counted.
    pub lines: u64,
    /// The number of files with matches, as far as files were counted.
    pub matching_files: u64,
    /// Files that were searched.
    pub searched: u64,
    /// Files that were not counted because counting took too long.
    pub not_counted: u64,
    /// Files that were not searched.
    pub passed: SkippedCounts,
}

/// The numbers of files that were not searched, by reason.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SkippedCounts {
    /// They contain a NUL byte.
    pub binary: u64,
    /// They are larger than edt's limit.
    pub too_large: u64,
    /// The system refused to read them.
    pub unreadable: u64,
    /// They are symbolic links.
    pub links: u64,
    /// They are other repositories.
    pub repositories: u64,
}

/// A matching line.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The file.
    pub path: RepoPath,
    /// The line.
    pub line: TextLine,
    /// Where the first match begins in the line, in bytes, 1-based.
    pub column: usize,
    /// The lines before it that no other match shows.
    pub before: Vec<TextLine>,
    /// The lines after it that no other match shows.
    pub after: Vec<TextLine>,
}

/// A line, or a part of it.
#[derive(Debug)]
pub(crate) struct TextLine {
    /// Its number, 1-based.
    pub number: u64,
    /// The bytes shown, without the line end.
    pub text: Vec<u8>,
    /// Where they begin in the line, in bytes, 1-based.
    pub from: usize,
    /// How many bytes the line has.
    pub bytes: usize,
}

/// What the caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// The lines.
    Lines,
    /// The names of the files.
    Names,
}

impl SearchQuery {
    /// Parses a pattern.
    ///
    /// # Errors
    /// `BAD_REQUEST` with the fault of the pattern.
    pub(crate) fn parse(pattern: &str, options: PatternOptions) -> Result<SearchQuery> {
        if pattern.is_empty() {
            let hint = "Send a pattern; `edt ls` lists files without one.";
            return Err(Finding::new(Code::BadRequest, "The pattern is empty.", hint).into());
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .fixed_strings(options.fixed)
            .case_insensitive(options.ignore_case)
            .case_smart(options.smart_case);
        builder.word(options.word).multi_line(true).crlf(true).size_limit(MAX_PATTERN_BYTES);
        let matcher = builder.build(pattern).map_err(|error| {
            let text = error.to_string();
            let why = text.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(&text);
            let hint = if pattern.contains('\n') || pattern.contains("\\n") {
                "Search for one line at a time; the pattern must not match a line end."
            } else {
                "Correct the regular expression (Rust's syntax, no look-around), or repeat with --fixed (in JSON \"fixed\": true) to search for literal text."
            };
            Finding::new(Code::BadRequest, format!("The pattern {pattern:?} cannot be read: {why}."), hint)
                .with("regex", text.as_str())
        })?;
        Ok(SearchQuery { matcher })
    }

    #[must_use]
    pub(crate) fn search(
        &self,
        repo: &Repo,
        files: &[ListedFile],
        limits: &SearchLimits,
        kind: ResultKind,
    ) -> SearchResult {
        let (root, most) = (repo.root(), repo.max_file_size());
        let mut found = SearchResult::default();
        let (mut skip, mut budget) =
            (limits.skip, Budget { matches: limits.matches, bytes: limits.bytes, closed: false });
        let mut extra_bytes = 0;
        for (number, chunk) in files.chunks(CHUNK).enumerate() {
            if budget.closed && extra_bytes > EXTRA_COUNT_BYTES {
                found.not_counted = (files.len() - number * CHUNK) as u64;
                break;
            }
            for (file, counted) in chunk.iter().zip(self.counted(root, most, chunk)) {
                let (lines, bytes) = match counted {
                    Ok(counted) => counted,
                    Err(SkipReason::Gone) => continue,
                    Err(why) => {
                        found.passed.add(why);
                        continue;
                    }
                };
                found.searched += 1;
                extra_bytes += if budget.closed { bytes } else { 0 };
                if lines == 0 {
                    continue;
                }
                found.lines += lines;
                found.matching_files += 1;
                let unit = if kind == ResultKind::Names { 1 } else { lines };
                let passed = skip.min(unit);
                skip -= passed;
                if passed == unit {
                    continue;
                }
                if budget.matches == 0 {
                    budget.closed = true;
                } else if !budget.closed && kind == ResultKind::Names {
                    budget.matches -= 1;
                    found.files.push((file.path.clone(), lines));
                } else if !budget.closed {
                    self.collect(
                        root,
                        most,
                        &file.path,
                        passed,
                        limits,
                        &mut budget,
                        &mut found.hits,
                    );
                }
            }
        }
        found
    }

    /// The number of matching lines and the size of each file, or why it was skipped.
    fn counted(&self, root: &Dir, most: u64, files: &[ListedFile]) -> Vec<Counted> {
        let threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)
            .min(files.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut searcher, mut done) = (searcher(0), Vec::new());
            let mut reader = FileReader { root, most, parent: None };
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else { return done };
                done.push((at, self.count(&mut searcher, &mut reader, file)));
            }
        };
        let mut all: Vec<(usize, Counted)> = if threads < 2 {
            work()
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                let ended = |panic| std::panic::resume_unwind(panic);
                workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(ended)).collect()
            })
        };
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().map(|(_, counted)| counted).collect()
    }

    fn count<'f>(
        &self,
        searcher: &mut Searcher,
        reader: &mut FileReader<'_, 'f>,
        file: &'f ListedFile,
    ) -> Counted {
        match file.kind {
            ListedKind::File(_) => {}
            ListedKind::Symlink => return Err(SkipReason::Link),
            ListedKind::Repository => return Err(SkipReason::Repository),
        }
        let bytes = reader.bytes(&file.path)?;
        let mut count = Count(0);
        // Searching a slice with this sink cannot fail.
        let _ = searcher.search_slice(&self.matcher, body(&bytes), &mut count);
        Ok((count.0, bytes.len() as u64))
    }

    /// Adds the matches of one file after the first `skip`, while the budget lasts.
    #[expect(clippy::too_many_arguments, reason = "one file's part of `search`")]
    fn collect(
        &self,
        root: &Dir,
        most: u64,
        path: &RepoPath,
        skip: u64,
        limits: &SearchLimits,
        budget: &mut Budget,
        hits: &mut Vec<Hit>,
    ) {
        // A file that was deleted since it was counted is not shown.
        let mut reader = FileReader { root, most, parent: None };
        let Ok(bytes) = reader.bytes(path) else { return };
        let columns = limits.columns;
        let mut collect = Collect {
            query: self,
            path,
            skip,
            columns,
            budget,
            hits,
            before: Vec::new(),
            own: false,
        };
        let _ = searcher(limits.context).search_slice(&self.matcher, body(&bytes), &mut collect);
    }
}

type Counted = std::result::Result<(u64, u64), SkipReason>;

/// Why a file was not searched.
#[derive(Debug, Clone, Copy)]
enum SkipReason {
    Gone,
    Binary,
    TooLarge,
    Unreadable,
    Link,
    Repository,
}

impl SkippedCounts {
    fn add(&mut self, why: SkipReason) {
        *(match why {
            SkipReason::Gone => return,
            SkipReason::Binary => &mut self.binary,
            SkipReason::TooLarge => &mut self.too_large,
            SkipReason::Unreadable => &mut self.unreadable,
            SkipReason::Link => &mut self.links,
            SkipReason::Repository => &mut self.repositories,
        }) += 1;
    }
}

/// What may still be shown.
struct Budget {
    matches: u64,
    bytes: usize,
    /// Whether a match was omitted because the budget was used up.
    closed: bool,
}

fn searcher(context: usize) -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder.line_terminator(LineTerminator::crlf()).line_number(true).bom_sniffing(false);
    builder
        .binary_detection(BinaryDetection::none())
        .before_context(context)
        .after_context(context);
    builder.build()
}

/// Reads text files. The directory of the last file stays open: files of one directory follow each
/// other.
struct FileReader<'r, 'f> {
    root: &'r Dir,
    /// The size limit of a file, in bytes.
    most: u64,
    parent: Option<(&'f [u8], Dir)>,
}

impl<'f> FileReader<'_, 'f> {
    fn bytes(&mut self, path: &'f RepoPath) -> std::result::Result<Vec<u8>, SkipReason> {
        let (directory, name) = path.split();
        let (_, dir) = match self.parent.take().filter(|(last, _)| *last == directory) {
            Some(parent) => self.parent.insert(parent),
            None => match self.root.beneath(directory) {
                Ok(Parent::Open(dir)) => self.parent.insert((directory, dir)),
                Ok(_) => return Err(SkipReason::Gone),
                Err(_) => return Err(SkipReason::Unreadable),
            },
        };
        match dir.read_at_most(name, self.most) {
            Ok(OnDisk::File(_, bytes)) if memchr::memchr(0, &bytes).is_some() => {
                Err(SkipReason::Binary)
            }
            Ok(OnDisk::File(_, bytes)) => Ok(bytes),
            Ok(OnDisk::TooLarge(_)) => Err(SkipReason::TooLarge),
            Ok(OnDisk::Nothing | OnDisk::Directory | OnDisk::Special) => Err(SkipReason::Gone),
            Ok(OnDisk::Symlink) => Err(SkipReason::Link),
            Err(_) => Err(SkipReason::Unreadable),
        }
    }
}

/// The text without a byte-order mark, as `edt read` shows it.
fn body(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

struct Count(u64);

impl Sink for Count {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> std::io::Result<bool> {
        self.0 += 1;
        Ok(true)
    }
}

/// Collects the matches of one file.
struct Collect<'c> {
    query: &'c SearchQuery,
    path: &'c RepoPath,
    skip: u64,
    columns: usize,
    budget: &'c mut Budget,
    hits: &'c mut Vec<Hit>,
    before: Vec<TextLine>,
    /// Whether the last of `hits` is in this file.
    own: bool,
}

impl Sink for Collect<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        let before = std::mem::take(&mut self.before);
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        let at = self.query.matcher.find(found.bytes()).ok().flatten();
        let (start, end) = at.map_or((0, 0), |at| (at.start(), at.end()));
        let line = TextLine::of(found.bytes(), found.line_number(), (start, end), self.columns);
        let bytes = line.text.len() + before.iter().map(|line| line.text.len()).sum::<usize>();
        if self.budget.matches == 0 || bytes > self.budget.bytes && !self.hits.is_empty() {
            self.budget.closed = true;
            return Ok(false);
        }
        self.budget.matches -= 1;
        self.budget.bytes = self.budget.bytes.saturating_sub(bytes);
        self.own = true;
        self.hits.push(Hit {
            path: self.path.clone(),
            line,
            column: start + 1,
            before,
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        let line = TextLine::of(context.bytes(), context.line_number(), (0, 0), self.columns);
        match (context.kind(), self.hits.last_mut().filter(|_| self.own)) {
            (SinkContextKind::After, Some(hit)) => {
                self.budget.bytes = self.budget.bytes.saturating_sub(line.text.len());
                hit.after.push(line);
            }
            (SinkContextKind::Before, _) => self.before.push(line),
            _ => {}
        }
        Ok(true)
    }
}

impl TextLine {
    /// At most `columns` bytes of `line`, including the match if it fits.
    fn of(
        line: &[u8],
        number: Option<u64>,
        (start, end): (usize, usize),
        columns: usize,
    ) -> TextLine {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let (mut from, mut to) = (0, text.len());
        if text.len() > columns {
            // A quarter of the space shows text before the match.
            from = if end <= columns { 0 } else { start.saturating_sub(columns / 4) };
            to = (from + columns).min(text.len());
            // Do not split a character.
            let continues = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
            while from < to && continues(from) {
                from += 1;
            }
            while to > from && continues(to) {
                to -= 1;
            }
        }
        let number = number.unwrap_or_default();
        TextLine { number, text: text[from..to].to_vec(), from: from + 1, bytes: text.len() }
    }
}

#[cfg(test)]
mod tests {
    use edt_git::files::ListScope;
    use edt_testkit::ScratchRepo;

    use super::*;

    const ALL: SearchLimits =
        SearchLimits { skip: 0, matches: 100, columns: 500, bytes: 10_000, context: 0 };

    fn search(files: &[(&str, &str)], pattern: &str, limits: &SearchLimits) -> SearchResult {
        let scratch = ScratchRepo::with(files);
        let repo = Repo::open(scratch.path()).unwrap();
        let files = repo.files(&[], ListScope::NotIgnored).unwrap();
        let query = SearchQuery::parse(pattern, PatternOptions::default()).unwrap();
        query.search(&repo, &files, limits, ResultKind::Lines)
    }

    /// The matches as `PATH:LINE:COLUMN TEXT`.
    fn hits(found: &SearchResult) -> Vec<String> {
        let hit = |hit: &Hit| {
            let text = String::from_utf8_lossy(&hit.line.text);
            format!("{}:{}:{} {text}", hit.path, hit.line.number, hit.column)
        };
        found.hits.iter().map(hit).collect()
    }

    const FILES: &[(&str, &str)] = &[("b.txt", "x\none x\n"), ("a.txt", "x\r\n")];

    #[test]
    fn matches_are_ordered_by_path_and_line() {
        let found = search(FILES, "x", &ALL);
        assert_eq!(hits(&found), ["a.txt:1:1 x", "b.txt:1:1 x", "b.txt:2:5 one x"]);
        assert_eq!((found.lines, found.matching_files, found.searched), (3, 2, 2));
    }

    #[test]
    fn the_search_continues_after_the_skipped_matches() {
        let found = search(FILES, "x", &SearchLimits { skip: 1, matches: 1, ..ALL });
        assert_eq!(hits(&found), ["b.txt:1:1 x"]);
        assert_eq!(found.lines, 3, "all are counted");
    }

    #[test]
    fn the_first_match_is_shown_whatever_the_bytes() {
        let found = search(FILES, "x", &SearchLimits { bytes: 0, ..ALL });
        assert_eq!(hits(&found), ["a.txt:1:1 x"]);
    }

    #[test]
    fn context_lines_are_shown_once() {
        let found =
            search(&[("a.txt", "1\nx\n3\nx\n5\n")], "x", &SearchLimits { context: 1, ..ALL });
        let numbers = |lines: &[TextLine]| lines.iter().map(|line| line.number).collect::<Vec<_>>();
        let around: Vec<_> =
            found.hits.iter().map(|hit| (numbers(&hit.before), numbers(&hit.after))).collect();
        assert_eq!(around, [(vec![1], vec![3]), (vec![], vec![5])]);
    }

    #[test]
    fn a_binary_file_is_passed() {
        let found = search(&[("a.bin", "x\0")], "x", &ALL);
        assert_eq!((found.searched, found.passed.binary, found.lines), (0, 1, 0));
    }

    #[test]
    fn names_are_counted_as_files() {
        let scratch = ScratchRepo::with(FILES);
        let repo = Repo::open(scratch.path()).unwrap();
        let files = repo.files(&[], ListScope::NotIgnored).unwrap();
        let query = SearchQuery::parse("x", PatternOptions::default()).unwrap();
        let found =
            query.search(&repo, &files, &SearchLimits { skip: 1, ..ALL }, ResultKind::Names);
        assert_eq!(found.files, [(RepoPath::parse(b"b.txt").unwrap(), 2)]);
    }

    fn matches(pattern: &str, options: PatternOptions, text: &str) -> bool {
        let query = SearchQuery::parse(pattern, options).unwrap();
        query.matcher.is_match(text.as_bytes()).unwrap()
    }

    #[test]
    fn fixed_text_is_no_expression() {
        let fixed = PatternOptions { fixed: true, ..PatternOptions::default() };
        assert!(matches("a[0]", fixed, "a[0]") && !matches("a.", fixed, "ab"));
    }

    #[test]
    fn smart_case_depends_on_the_pattern() {
        let smart = PatternOptions { smart_case: true, ..PatternOptions::default() };
        assert!(matches("abc", smart, "ABC") && !matches("Abc", smart, "ABC"));
    }

    #[test]
    fn a_word_ends_at_other_characters() {
        let word = PatternOptions { word: true, ..PatternOptions::default() };
        assert!(matches("ab", word, "x ab-c") && !matches("ab", word, "abc"));
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        let found = SearchQuery::parse("", PatternOptions::default()).unwrap_err();
        assert_eq!(
            found.as_slice(),
            [Finding::new(
                Code::BadRequest,
                "The pattern is empty.",
                "Send a pattern; `edt ls` lists files without one."
            )]
        );
    }

    #[test]
    fn a_pattern_over_several_lines_is_refused() {
        let found = SearchQuery::parse("a\nb", PatternOptions::default()).unwrap_err();
        assert_eq!(
            found.as_slice()[0].remedy,
            "Search for one line at a time; the pattern must not match a line end."
        );
    }

    #[test]
    fn a_broken_pattern_names_its_fault() {
        let found = SearchQuery::parse("a(", PatternOptions::default()).unwrap_err();
        assert_eq!(
            found.as_slice()[0].summary,
            "The pattern \"a(\" cannot be read: unclosed group."
        );
    }

    /// The part of a line that is shown, and where it begins.
    fn part(line: &str, at: (usize, usize), columns: usize) -> (String, usize, usize) {
        let line = TextLine::of(line.as_bytes(), Some(1), at, columns);
        (String::from_utf8(line.text).unwrap(), line.from, line.bytes)
    }

    #[test]
    fn a_short_line_is_shown_without_its_end() {
        assert_eq!(part("abc\r\n", (0, 1), 10), ("abc".to_owned(), 1, 3));
    }

    #[test]
    fn a_long_line_is_shown_from_its_beginning_if_the_match_fits() {
        assert_eq!(part("abcdefghij", (2, 4), 4), ("abcd".to_owned(), 1, 10));
    }

    #[test]
    fn a_late_match_is_shown_with_a_quarter_before_it() {
        assert_eq!(part("0123456789abcdef", (10, 12), 8), ("89abcdef".to_owned(), 9, 16));
    }

    #[test]
    fn no_character_is_split() {
        assert_eq!(part("ééé", (0, 2), 3), ("é".to_owned(), 1, 6));
    }
}
