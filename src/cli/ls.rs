//! `edt ls`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::render::{DIM, NAME, paint, short};
use crate::base::text::harmless;
use crate::base::{Result, Status};
use crate::find::Selection;
use crate::git::files::{Comparer, Kind, Listed, Origin, State, Which};
use crate::git::{FileMode, Repo};

/// List the files of the worktree: tracked ones and new ones that are not ignored.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Examples:\n  edt ls src --glob '*.rs'\n  edt ls --dirs --depth 2")]
pub(super) struct Args {
    /// Only at or below these files and folders, relative to the worktree's root.
    #[serde(default)]
    paths: Vec<String>,
    /// Only files that fit: '*.rs' (a name anywhere), 'src/**/*.c' (a path), '!*.lock' (not these). Repeatable.
    #[arg(short, long, value_name = "GLOB")]
    #[serde(default)]
    glob: Vec<String>,
    /// Only tracked files; the worktree's folders are not looked through.
    #[arg(long, conflicts_with = "ignored")]
    #[serde(default)]
    tracked: bool,
    /// Also files that are ignored.
    #[arg(long)]
    #[serde(default)]
    ignored: bool,
    /// Only folders, each with how many files are below it.
    #[arg(short, long)]
    #[serde(default)]
    dirs: bool,
    /// Files so many folders down; what is deeper is counted in its folder.
    #[arg(long, value_name = "N")]
    #[serde(default)]
    depth: Option<u64>,
    /// At most so many lines; a cut is said.
    #[arg(short, long, value_name = "N", default_value_t = most())]
    #[serde(default = "most")]
    max: u64,
    /// Pass over so many: to go on where the last answer was cut.
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
    /// What is listed, by path.
    entries: Vec<Entry>,
    /// Whether there are more entries than are shown.
    truncated: bool,
    /// The `skip` with which to go on; null if every entry is shown.
    next_skip: Option<u64>,
    /// How many entries there are in all.
    total_entries: u64,
    /// How many files they stand for, those counted in folders included.
    total_files: u64,
    /// The paths asked for of which nothing is listed, because all there is ignored, or nothing is there.
    unlisted: Vec<String>,
}

/// A file, or a folder with its files counted.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// The path; a folder's ends in `/`.
    path: String,
    /// Whether bytes of the path that are not UTF-8 were replaced by U+FFFD.
    lossy: bool,
    /// `file`, `link`, `repository` (a submodule, or another repository in the worktree), or `folder`.
    kind: &'static str,
    /// `tracked` (as in Git's index), `changed`, `new`, `deleted`, `ignored`, `conflicted`, `not_checked_out`; null for a folder.
    state: Option<&'static str>,
    /// The mode as Git writes it, such as `100644`; null for a folder.
    mode: Option<&'static str>,
    /// The blob id that `expected_hash` takes, of a file whose state is `tracked`; of others `edt read` tells it.
    hash: Option<String>,
    /// The size on disk in bytes; null if it is not there, and for a folder or repository.
    bytes: Option<u64>,
    /// How many files stand below a folder; null for all else.
    files: Option<u64>,
}

/// What becomes one entry.
enum Row<'l> {
    File(&'l Listed),
    /// The folder with its `/`, and how many files are below it.
    Folder(u64),
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        super::not_nothing("max", self.max)?;
        let which = match (self.tracked, self.ignored) {
            (true, _) => Which::Tracked,
            (false, true) => Which::All,
            (false, false) => Which::NotIgnored,
        };
        let selection = Selection::parse(&self.paths, &self.glob, which)?;
        let (repo, _) = context.repo()?;
        let selected = selection.of(&repo)?;
        let rows = self.rows(&selected.files);
        let (total, size) =
            (rows.len() as u64, |number: u64| usize::try_from(number).unwrap_or(usize::MAX));
        let shown = rows.into_iter().skip(size(self.skip)).take(size(self.max));
        let comparer = repo.comparer()?;
        let entries: Vec<Entry> =
            shown.map(|(path, row)| Entry::of(&repo, &comparer, path, &row)).collect();
        let next = self.skip.saturating_add(entries.len() as u64);
        let answer = Answer {
            schema: "edt.ls/1",
            truncated: next < total,
            next_skip: (next < total).then_some(next),
            entries,
            total_entries: total,
            total_files: selected.files.len() as u64,
            unlisted: selected.unlisted.iter().map(ToString::to_string).collect(),
        };
        Ok(context.answer(&answer, people))
    }

    /// The entries, by path.
    fn rows<'l>(&self, files: &'l [Listed]) -> BTreeMap<&'l [u8], Row<'l>> {
        let depth =
            self.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
        let mut rows: BTreeMap<&[u8], Row<'_>> = BTreeMap::new();
        for file in files {
            let path = file.path.as_bytes();
            let mut ends =
                path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
            let mut count = |folder: &'l [u8]| match rows.entry(folder).or_insert(Row::Folder(0)) {
                Row::Folder(files) => *files += 1,
                Row::File(_) => {}
            };
            if self.dirs {
                ends.take(depth).for_each(|end| count(&path[..end]));
            } else if let Some(end) = ends.nth(depth) {
                count(&path[..end]);
            } else {
                rows.insert(path, Row::File(file));
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
            kind: "folder",
            state: None,
            mode: None,
            hash: None,
            bytes: None,
            files: None,
        };
        let listed = match row {
            Row::Folder(files) => return Entry { files: Some(*files), ..blank },
            Row::File(listed) => listed,
        };
        let (state, stat) = comparer.compare(listed);
        let on_disk = stat.filter(|stat| !stat.is_folder());
        let executable = on_disk.is_some_and(|stat| stat.executable()) && repo.trusts_mode();
        let kind = match (listed.kind, &listed.origin) {
            (Kind::File(_), Origin::New | Origin::Ignored) => Kind::File(FileMode::of(executable)),
            (kind, _) => kind,
        };
        let hash = match (&listed.origin, state) {
            (Origin::Index(entry), State::Unchanged) if matches!(kind, Kind::File(_)) => {
                Some(entry.oid.to_string())
            }
            _ => None,
        };
        let word = match kind {
            Kind::File(_) => "file",
            Kind::Symlink => "link",
            Kind::Repository => "repository",
        };
        let bytes = on_disk
            .filter(|_| kind != Kind::Repository && state != State::Deleted)
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

fn people(answer: &Answer) -> String {
    let mut out = String::new();
    for entry in &answer.entries {
        let path = harmless(&entry.path).0;
        if let Some(files) = entry.files {
            let _ =
                writeln!(out, "{} {}", paint(NAME, &path), paint(DIM, &format!("{files} files")));
            continue;
        }
        let mut facts = Vec::new();
        facts.extend(entry.state.filter(|state| *state != "tracked").map(str::to_owned));
        facts.extend((entry.kind != "file").then(|| entry.kind.to_owned()));
        facts.extend((entry.mode == Some("100755")).then(|| "executable".to_owned()));
        facts.extend(entry.bytes.map(|bytes| format!("{bytes} bytes")));
        facts.extend(entry.hash.as_deref().map(|hash| short(hash).to_owned()));
        let _ = writeln!(out, "{} {}", paint(NAME, &path), paint(DIM, &facts.join(", ")));
    }
    let mut note = |text: String| {
        let _ = writeln!(out, "{}", paint(DIM, &format!("… {text}")));
    };
    note(format!("{} files", answer.total_files));
    if let Some(next) = answer.next_skip {
        let (shown, total) = (answer.entries.len(), answer.total_entries);
        note(format!(
            "{shown} of {total} entries are shown: go on with --skip {next}, or sum up with --dirs --depth 2"
        ));
    }
    for path in &answer.unlisted {
        note(format!("{path} is ignored or empty: --ignored lists it"));
    }
    out
}
