//! `edt ls`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, paint, short};
use crate::find::Selection;
use edt_git::files::{Comparer, FileState, ListScope, ListedFile, ListedKind, ListedOrigin};
use edt_git::{FileMode, Repo};
use edt_types::text::{counted, escape_controls};
use edt_types::{RepoPath, Result, Status};

/// List the files of the worktree: tracked files, and new files that are not ignored.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Examples:\n  edt ls src --glob '*.rs'\n  edt ls --dirs --depth 2")]
pub(super) struct Args {
    /// Only these files and the files below these directories.
    #[serde(default)]
    paths: Vec<String>,
    /// Only files that match: '*.rs' (a name in any directory), 'src/**/*.c' (a path), '!*.lock'
    /// (excluded). Repeatable.
    #[arg(short, long, value_name = "GLOB")]
    #[serde(default)]
    glob: Vec<String>,
    /// Only tracked files; the worktree's directories are not scanned.
    #[arg(long, conflicts_with = "ignored")]
    #[serde(default)]
    tracked: bool,
    /// Also files that are ignored.
    #[arg(long)]
    #[serde(default)]
    ignored: bool,
    /// Only directories, each with the number of files below it.
    #[arg(short, long)]
    #[serde(default)]
    dirs: bool,
    /// List files at most N directories deep; deeper files are counted in their directory.
    #[arg(long, value_name = "N")]
    #[serde(default)]
    depth: Option<u64>,
    /// The maximum number of entries; the answer says when it was cut.
    #[arg(short, long, value_name = "N", default_value_t = most())]
    #[serde(default = "most")]
    max: u64,
    /// Skip the first N, to continue where the last answer was cut.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    skip: u64,
}

const fn most() -> u64 {
    500
}

/// The answer of `edt ls`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.ls/1`.
    schema: &'static str,
    /// The entries, ordered by path.
    entries: Vec<Entry>,
    /// Whether there are more entries than are shown.
    truncated: bool,
    /// The value of `skip` that continues the list; null if every entry is shown.
    next_skip: Option<u64>,
    /// How many entries there are in all.
    total_entries: u64,
    /// How many files there are, including those counted in directories.
    total_files: u64,
    /// The requested paths without entries: everything there is ignored, or the directory is empty.
    unlisted: Vec<String>,
}

/// A file, or a directory with the number of its files.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// The path; that of a directory ends in `/`.
    path: String,
    /// Whether bytes of the path that are not UTF-8 were replaced by U+FFFD.
    lossy: bool,
    /// `file`, `link`, `directory`, or `repository` (a submodule, or another repository in the
    /// worktree).
    kind: &'static str,
    /// `tracked` (as in Git's index), `changed`, `new`, `deleted`, `ignored`, `conflicted`,
    /// `not_checked_out`; null for a directory.
    state: Option<&'static str>,
    /// The mode as Git prints it, such as `100644`; null for a directory.
    mode: Option<&'static str>,
    /// The blob id for `expected_hash`, if the file's state is `tracked`. For other files `edt
    /// read` prints it.
    hash: Option<String>,
    /// The size on disk in bytes; null for a missing file, a directory or a repository.
    bytes: Option<u64>,
    /// How many files are below a directory; null for other entries.
    files: Option<u64>,
}

/// The source of one entry.
enum Row<'l> {
    File(&'l ListedFile),
    /// A directory with the number of files below it; its path ends in `/`.
    Directory(u64),
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        super::value::require_positive("max", self.max)?;
        let which = match (self.tracked, self.ignored) {
            (true, _) => ListScope::Tracked,
            (false, true) => ListScope::All,
            (false, false) => ListScope::NotIgnored,
        };
        let below = context.paths_or_all(self.paths.iter().map(String::as_bytes))?;
        let selection = Selection::new(below, &self.glob, which)?;
        let (repo, _) = context.repo()?;
        let selected = selection.of(&repo)?;
        let rows = self.rows(&selected.files);
        let (total, size) =
            (rows.len() as u64, |number: u64| usize::try_from(number).unwrap_or(usize::MAX));
        let comparer = repo.comparer()?;
        let part = |most: u64| {
            let shown = rows.iter().skip(size(self.skip)).take(size(most));
            let entries: Vec<Entry> =
                shown.map(|(path, row)| Entry::of(&repo, &comparer, path, row)).collect();
            let next = self.skip.saturating_add(entries.len() as u64);
            Ok(Answer {
                schema: "edt.ls/1",
                truncated: next < total,
                next_skip: (next < total).then_some(next),
                entries,
                total_entries: total,
                total_files: selected.files.len() as u64,
                unlisted: selected.unlisted.iter().map(RepoPath::text).collect(),
            })
        };
        context.answer_part(self.max, part, render_human)
    }

    /// The rows for `files`, which are in order. The files of a directory follow each other.
    fn rows<'l>(&self, files: &'l [ListedFile]) -> Vec<(&'l [u8], Row<'l>)> {
        let depth =
            self.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
        let ends = |path: &'l [u8]| {
            path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1)
        };
        if self.dirs {
            let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
            for path in files.iter().map(|file| file.path.as_bytes()) {
                ends(path)
                    .take(depth)
                    .for_each(|end| *counts.entry(&path[..end]).or_default() += 1);
            }
            return counts.into_iter().map(|(path, n)| (path, Row::Directory(n))).collect();
        }
        let mut rows: Vec<(&[u8], Row<'_>)> = Vec::with_capacity(files.len());
        for file in files {
            let path = file.path.as_bytes();
            let Some(end) = ends(path).nth(depth) else {
                rows.push((path, Row::File(file)));
                continue;
            };
            match rows.last_mut() {
                Some((last, Row::Directory(files))) if *last == &path[..end] => *files += 1,
                _ => rows.push((&path[..end], Row::Directory(1))),
            }
        }
        rows
    }
}

impl Entry {
    fn of(repo: &Repo, comparer: &Comparer<'_>, path: &[u8], row: &Row<'_>) -> Entry {
        let blank = Entry {
            path: String::from_utf8_lossy(path).into_owned(),
            lossy: std::str::from_utf8(path).is_err(),
            kind: "directory",
            state: None,
            mode: None,
            hash: None,
            bytes: None,
            files: None,
        };
        let listed = match row {
            Row::Directory(files) => return Entry { files: Some(*files), ..blank },
            Row::File(listed) => listed,
        };
        let (state, stat) = comparer.compare(listed);
        let on_disk = stat.filter(|stat| !stat.is_directory());
        let executable = on_disk.is_some_and(|stat| stat.executable()) && repo.honors_file_mode();
        let kind = match (listed.kind, &listed.origin) {
            (ListedKind::File(_), ListedOrigin::New | ListedOrigin::Ignored) => {
                ListedKind::File(FileMode::of(executable))
            }
            (kind, _) => kind,
        };
        let hash = match (&listed.origin, state) {
            (ListedOrigin::Index(entry), FileState::Unchanged)
                if matches!(kind, ListedKind::File(_)) =>
            {
                Some(entry.oid.to_string())
            }
            _ => None,
        };
        let word = match kind {
            ListedKind::File(_) => "file",
            ListedKind::Symlink => "link",
            ListedKind::Repository => "repository",
        };
        let bytes = on_disk
            .filter(|_| kind != ListedKind::Repository && state != FileState::Deleted)
            .map(|stat| stat.size);
        Entry {
            kind: word,
            state: Some(state.name()),
            mode: Some(kind.mode()),
            hash,
            bytes,
            ..blank
        }
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    for entry in &answer.entries {
        let path = escape_controls(&entry.path).0;
        if let Some(files) = entry.files {
            let _ = writeln!(out, "{} {}", paint(NAME, &path), paint(DIM, &counted(files, "file")));
            continue;
        }
        let mut facts = Vec::new();
        facts.extend(entry.state.filter(|state| *state != "tracked").map(str::to_owned));
        facts.extend((entry.kind != "file").then(|| entry.kind.to_owned()));
        facts.extend((entry.mode == Some("100755")).then(|| "executable".to_owned()));
        facts.extend(entry.bytes.map(|bytes| counted(bytes, "byte")));
        facts.extend(entry.hash.as_deref().map(|hash| short(hash).to_owned()));
        let _ = writeln!(out, "{} {}", paint(NAME, &path), paint(DIM, &facts.join(", ")));
    }
    let mut note = |text: String| {
        let _ = writeln!(out, "{}", paint(DIM, &format!("… {text}")));
    };
    note(counted(answer.total_files, "file"));
    if let Some(next) = answer.next_skip {
        let (shown, total) = (answer.entries.len(), answer.total_entries);
        note(format!(
            "{shown} of {total} entries are shown: continue with --skip {next}, or count files with --dirs --depth 2"
        ));
    }
    for path in &answer.unlisted {
        note(format!("{path} is ignored or empty: --ignored lists it"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    fn args(dirs: bool, depth: Option<u64>) -> Args {
        Args {
            paths: vec![],
            glob: vec![],
            tracked: false,
            ignored: false,
            dirs,
            depth,
            max: most(),
            skip: 0,
        }
    }

    /// The rows for `a.txt`, `x/b.txt` and `x/y/c.txt`: a path, or a directory with its files.
    fn rows(args: &Args) -> Vec<String> {
        let scratch = Scratch::new();
        scratch.write("x/b.txt", "b\n");
        scratch.write("x/y/c.txt", "c\n");
        let files = scratch.repo().files(&[], ListScope::NotIgnored).unwrap();
        let row = |(path, row): (&[u8], Row<'_>)| match row {
            Row::File(_) => String::from_utf8(path.to_vec()).unwrap(),
            Row::Directory(files) => format!("{} {files}", String::from_utf8_lossy(path)),
        };
        args.rows(&files).into_iter().map(row).collect()
    }

    #[test]
    fn every_file_is_a_row() {
        assert_eq!(rows(&args(false, None)), ["a.txt", "x/b.txt", "x/y/c.txt"]);
    }

    #[test]
    fn deeper_files_are_counted_in_their_directory() {
        assert_eq!(rows(&args(false, Some(0))), ["a.txt", "x/ 2"]);
        assert_eq!(rows(&args(false, Some(1))), ["a.txt", "x/b.txt", "x/y/ 1"]);
    }

    #[test]
    fn directories_count_all_files_below() {
        assert_eq!(rows(&args(true, None)), ["x/ 2", "x/y/ 1"]);
        assert_eq!(rows(&args(true, Some(1))), ["x/ 2"]);
    }

    /// The entry of a path.
    fn entry(scratch: &Scratch, path: &str) -> Entry {
        let repo = scratch.repo();
        let files = repo.files(&[], ListScope::NotIgnored).unwrap();
        let rows = args(false, None);
        let rows = rows.rows(&files);
        let (path, row) = rows.iter().find(|(at, _)| *at == path.as_bytes()).unwrap();
        Entry::of(&repo, &repo.comparer().unwrap(), path, row)
    }

    #[test]
    fn a_tracked_file_has_the_hash_for_the_next_edit() {
        let scratch = Scratch::new();
        let found = entry(&scratch, "a.txt");
        let hash = scratch.repo().blob_id(b"one\n").unwrap().to_string();
        assert_eq!(
            (found.kind, found.state, found.mode, found.hash, found.bytes),
            ("file", Some("tracked"), Some("100644"), Some(hash), Some(4))
        );
    }

    #[test]
    fn a_changed_file_has_no_hash() {
        let scratch = Scratch::new();
        scratch.write("a.txt", "longer\n");
        let found = entry(&scratch, "a.txt");
        assert_eq!((found.state, found.hash, found.bytes), (Some("changed"), None, Some(7)));
    }

    #[test]
    fn a_new_file_is_new() {
        let scratch = Scratch::new();
        scratch.write("new.txt", "x\n");
        let found = entry(&scratch, "new.txt");
        assert_eq!((found.state, found.mode, found.hash), (Some("new"), Some("100644"), None));
    }

    #[test]
    fn facts_of_a_tracked_file_are_short() {
        let entry = |state, mode, hash: Option<&str>| Entry {
            path: "a".to_owned(),
            lossy: false,
            kind: "file",
            state: Some(state),
            mode: Some(mode),
            hash: hash.map(str::to_owned),
            bytes: Some(4),
            files: None,
        };
        let answer = Answer {
            schema: "edt.ls/1",
            entries: vec![
                entry("tracked", "100644", Some("0123456789abcdef")),
                entry("new", "100755", None),
            ],
            truncated: true,
            next_skip: Some(2),
            total_entries: 5,
            total_files: 5,
            unlisted: vec!["build".to_owned()],
        };
        assert_eq!(
            plain(&render_human(&answer)),
            "a 4 bytes, 0123456789ab\na new, executable, 4 bytes\n… 5 files\n… 2 of 5 entries are shown: \
         continue with --skip 2, or count files with --dirs --depth 2\n… build is ignored or empty: \
         --ignored lists it\n"
        );
    }
}
