//! Lines that match, in the order of their paths. Every file is counted first, many at once; then the few that are shown are read again
//! for their lines: so what is kept in memory follows what is shown, and the order never depends on which thread was faster.

use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};

use crate::base::text::BOM;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::Repo;
use crate::git::files::{Kind, Listed};
use crate::io::disk::{Dir, Found as OnDisk, Parent};

/// How many files are counted before the next look at the limits.
const CHUNK: usize = 256;
/// How many bytes are counted on when all that is shown is found.
const COUNT_ON: u64 = 512 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const PATTERN: usize = 10 * 1024 * 1024;
/// More threads only wait for the disk.
const MOST_THREADS: usize = 8;

/// How a pattern is meant.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own on the command line"
)]
pub struct Meaning {
    /// Text, not a regular expression.
    pub fixed: bool,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// They are the same unless the pattern has an upper-case letter.
    pub smart_case: bool,
    /// Whole words only.
    pub word: bool,
}

/// What is searched for.
#[derive(Debug)]
pub struct Query {
    matcher: RegexMatcher,
}

/// What is shown of what is found.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// So many matching lines (or files) are passed over.
    pub skip: u64,
    /// At most so many are shown.
    pub matches: u64,
    /// At most so many bytes of a line.
    pub columns: usize,
    /// At most so many bytes of lines in all; the first match is always shown.
    pub bytes: usize,
    /// Lines around each match.
    pub context: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The matches that are shown.
    pub hits: Vec<Hit>,
    /// The files that have matches, with how many matching lines; as many as the caller wants.
    pub files: Vec<(RepoPath, u64)>,
    /// Matching lines in all, as far as was counted.
    pub lines: u64,
    /// Files with matches, as far as was counted.
    pub matching_files: u64,
    /// Files that were searched.
    pub searched: u64,
    /// Files that were left when counting was cut short.
    pub not_counted: u64,
    /// Files that were not searched.
    pub passed: Passed,
}

/// Why files were not searched, and how many.
#[derive(Debug, Default, Clone, Copy)]
pub struct Passed {
    /// They hold a NUL byte.
    pub binary: u64,
    /// They are larger than edt reads.
    pub too_large: u64,
    /// The system would not let them be read.
    pub unreadable: u64,
    /// They are symbolic links.
    pub links: u64,
    /// They are repositories of their own.
    pub repositories: u64,
}

/// A matching line.
#[derive(Debug)]
pub struct Hit {
    /// The file.
    pub path: RepoPath,
    /// The line.
    pub line: Line,
    /// Where the first match begins in it, in bytes, 1-based.
    pub column: usize,
    /// The lines before it that no other match shows.
    pub before: Vec<Line>,
    /// The lines after it that no other match shows.
    pub after: Vec<Line>,
}

/// A line, or a part of it.
#[derive(Debug)]
pub struct Line {
    /// Its number, 1-based.
    pub number: u64,
    /// The bytes shown, without the line end.
    pub text: Vec<u8>,
    /// Where they begin in the line, in bytes, 1-based.
    pub from: usize,
    /// How many bytes the line has.
    pub bytes: usize,
}

/// What is wanted of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The lines.
    Lines,
    /// The names of the files.
    Names,
}

impl Query {
    /// Reads a pattern.
    ///
    /// # Errors
    /// `BAD_REQUEST` with what is wrong with it.
    pub fn parse(pattern: &str, meaning: Meaning) -> Result<Query> {
        if pattern.is_empty() {
            let hint = "Name what to look for; `edt ls` lists files without a pattern.";
            return Err(Finding::new(Code::BadRequest, "The pattern is empty.", hint).into());
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .fixed_strings(meaning.fixed)
            .case_insensitive(meaning.ignore_case)
            .case_smart(meaning.smart_case);
        builder.word(meaning.word).multi_line(true).crlf(true).size_limit(PATTERN);
        let matcher = builder.build(pattern).map_err(|error| {
            let whole = error.to_string();
            let why = whole.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(&whole);
            let hint = if pattern.contains('\n') || pattern.contains("\\n") {
                "Search for one line at a time, without a line end."
            } else {
                "Correct the regular expression (Rust's syntax, no look-around), or repeat with --fixed (in JSON \"fixed\": true) to search for the text as it is."
            };
            Finding::new(Code::BadRequest, format!("The pattern {pattern:?} cannot be read: {why}."), hint)
                .with("regex", whole.as_str())
        })?;
        Ok(Query { matcher })
    }

    /// Searches `files`.
    #[must_use]
    pub fn search(&self, repo: &Repo, files: &[Listed], limits: &Limits, wanted: Wanted) -> Found {
        let (root, most) = (repo.root(), repo.largest_file());
        let mut found = Found::default();
        let (mut skip, mut room) =
            (limits.skip, Room { matches: limits.matches, bytes: limits.bytes, closed: false });
        let mut counted_on = 0;
        for (number, chunk) in files.chunks(CHUNK).enumerate() {
            if room.closed && counted_on > COUNT_ON {
                found.not_counted = (files.len() - number * CHUNK) as u64;
                break;
            }
            for (file, counted) in chunk.iter().zip(self.counted(root, most, chunk)) {
                let (lines, bytes) = match counted {
                    Ok(counted) => counted,
                    Err(Why::Gone) => continue,
                    Err(why) => {
                        found.passed.add(why);
                        continue;
                    }
                };
                found.searched += 1;
                counted_on += if room.closed { bytes } else { 0 };
                if lines == 0 {
                    continue;
                }
                found.lines += lines;
                found.matching_files += 1;
                let unit = if wanted == Wanted::Names { 1 } else { lines };
                let passed = skip.min(unit);
                skip -= passed;
                if passed == unit {
                    continue;
                }
                if room.matches == 0 {
                    room.closed = true;
                } else if !room.closed && wanted == Wanted::Names {
                    room.matches -= 1;
                    found.files.push((file.path.clone(), lines));
                } else if !room.closed {
                    self.collect(
                        root,
                        most,
                        &file.path,
                        passed,
                        limits,
                        &mut room,
                        &mut found.hits,
                    );
                }
            }
        }
        found
    }

    /// The matching lines and the size of each file, or why it has none.
    fn counted(&self, root: &Dir, most: u64, files: &[Listed]) -> Vec<Counted> {
        let threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST_THREADS)
            .min(files.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut searcher, mut done) = (searcher(0), Vec::new());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(at) else { return done };
                done.push((at, self.count(&mut searcher, root, most, file)));
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

    fn count(&self, searcher: &mut Searcher, root: &Dir, most: u64, file: &Listed) -> Counted {
        match file.kind {
            Kind::File(_) => {}
            Kind::Symlink => return Err(Why::Link),
            Kind::Repository => return Err(Why::Repository),
        }
        let bytes = bytes(root, most, &file.path)?;
        let mut count = Count(0);
        // Neither a slice nor this sink can fail.
        let _ = searcher.search_slice(&self.matcher, body(&bytes), &mut count);
        Ok((count.0, bytes.len() as u64))
    }

    /// Adds the matches of one file, all but the first `skip`, as far as there is room.
    #[expect(clippy::too_many_arguments, reason = "one file's part of `search`")]
    fn collect(
        &self,
        root: &Dir,
        most: u64,
        path: &RepoPath,
        skip: u64,
        limits: &Limits,
        room: &mut Room,
        hits: &mut Vec<Hit>,
    ) {
        // What is gone since it was counted is not shown.
        let Ok(bytes) = bytes(root, most, path) else { return };
        let columns = limits.columns;
        let mut collect = Collect {
            query: self,
            path,
            skip,
            columns,
            room,
            hits,
            before: Vec::new(),
            own: false,
        };
        let _ = searcher(limits.context).search_slice(&self.matcher, body(&bytes), &mut collect);
    }
}

type Counted = std::result::Result<(u64, u64), Why>;

/// Why a file is not searched.
#[derive(Debug, Clone, Copy)]
enum Why {
    Gone,
    Binary,
    TooLarge,
    Unreadable,
    Link,
    Repository,
}

impl Passed {
    fn add(&mut self, why: Why) {
        *(match why {
            Why::Gone => return,
            Why::Binary => &mut self.binary,
            Why::TooLarge => &mut self.too_large,
            Why::Unreadable => &mut self.unreadable,
            Why::Link => &mut self.links,
            Why::Repository => &mut self.repositories,
        }) += 1;
    }
}

/// What may still be shown.
struct Room {
    matches: u64,
    bytes: usize,
    /// Something was left out for want of room.
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

/// The bytes of a text file.
fn bytes(root: &Dir, most: u64, path: &RepoPath) -> std::result::Result<Vec<u8>, Why> {
    let (folder, name) = path.split();
    let dir = match root.beneath(folder) {
        Ok(Parent::Open(dir)) => dir,
        Ok(_) => return Err(Why::Gone),
        Err(_) => return Err(Why::Unreadable),
    };
    match dir.read_at_most(name, most) {
        Ok(OnDisk::File(_, bytes)) if memchr::memchr(0, &bytes).is_some() => Err(Why::Binary),
        Ok(OnDisk::File(_, bytes)) => Ok(bytes),
        Ok(OnDisk::TooLarge(_)) => Err(Why::TooLarge),
        Ok(OnDisk::Nothing | OnDisk::Folder | OnDisk::Special) => Err(Why::Gone),
        Ok(OnDisk::Symlink) => Err(Why::Link),
        Err(_) => Err(Why::Unreadable),
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

/// Takes the matches of one file.
struct Collect<'c> {
    query: &'c Query,
    path: &'c RepoPath,
    skip: u64,
    columns: usize,
    room: &'c mut Room,
    hits: &'c mut Vec<Hit>,
    before: Vec<Line>,
    /// Whether the last of `hits` is of this file.
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
        let line = Line::of(found.bytes(), found.line_number(), (start, end), self.columns);
        let bytes = line.text.len() + before.iter().map(|line| line.text.len()).sum::<usize>();
        if self.room.matches == 0 || bytes > self.room.bytes && !self.hits.is_empty() {
            self.room.closed = true;
            return Ok(false);
        }
        self.room.matches -= 1;
        self.room.bytes = self.room.bytes.saturating_sub(bytes);
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
        let line = Line::of(context.bytes(), context.line_number(), (0, 0), self.columns);
        match (context.kind(), self.hits.last_mut().filter(|_| self.own)) {
            (SinkContextKind::After, Some(hit)) => {
                self.room.bytes = self.room.bytes.saturating_sub(line.text.len());
                hit.after.push(line);
            }
            (SinkContextKind::Before, _) => self.before.push(line),
            _ => {}
        }
        Ok(true)
    }
}

impl Line {
    /// At most `columns` bytes of `line`, among them the match if it fits.
    fn of(line: &[u8], number: Option<u64>, (start, end): (usize, usize), columns: usize) -> Line {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let (mut from, mut to) = (0, text.len());
        if text.len() > columns {
            // A fourth of the room goes to what stands before the match.
            from = if end <= columns { 0 } else { start.saturating_sub(columns / 4) };
            to = (from + columns).min(text.len());
            // No character is cut in two.
            let continues = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
            while from < to && continues(from) {
                from += 1;
            }
            while to > from && continues(to) {
                to -= 1;
            }
        }
        let number = number.unwrap_or_default();
        Line { number, text: text[from..to].to_vec(), from: from + 1, bytes: text.len() }
    }
}
