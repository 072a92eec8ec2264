//! What is recorded of a program at the system call, and the snapshot that it gives.
//!
//! The store is `recordings/<name>/` in edt's state directory. Beside it, `<name>.run` has the tree of the
//! session, and is locked while edt lives: a store without a locked file is of an interrupted run.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::kept_directory::{self, Kept};
use super::snapshot::Snapshot;
use super::touched::{TouchedBefore, TouchedPath};
use crate::session::files::file_copy::stat_at;
use crate::session::private::not_kept::{self, MAX_IGNORED_FILE, MAX_IGNORED_TOTAL};
use edt_git::{Oid, Repo};
use edt_io::disk::{FoundEntry, MAX_FILE, Parent};
use edt_io::file::{File, OpenMode};
use edt_io::{failed, fs, lock};
use edt_recorder::event::{self, Attributes, Denied, FileEvent, Node, Place};
use edt_recorder::{Before, RecordedRun};
use edt_types::path::spells_git;
use edt_types::text::Shown as _;
use edt_types::{RepoPath, Result, Warning, WarningCode};

/// The store of a run.
#[derive(Debug)]
pub struct RunStore {
    /// The directory.
    pub place: PathBuf,
    owner: PathBuf,
    tree: Oid,
    /// Locked while edt lives.
    _lock: File,
}

impl RunStore {
    /// Makes the store of a run that begins with `tree`. `None` where programs cannot be recorded.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn new(repo: &Repo, tree: Oid) -> Result<Option<RunStore>> {
        if !edt_recorder::is_supported() {
            return Ok(None);
        }
        let all = directory(repo);
        fs::make_private_dir(&all).map_err(|error| failed("make", &all, &error))?;
        let mut number = 0;
        let place = loop {
            let place = all.join(format!("{}-{number}", edt_io::process::process_id()));
            if !place.exists() && !place.with_extension(OWNER).exists() {
                break place;
            }
            number += 1;
        };
        let owner = place.with_extension(OWNER);
        let wrap = |error: std::io::Error| failed("write", &owner, &error);
        // Under its name it is always locked, so that no call takes it for an interrupted one.
        let staged = place.with_extension("new");
        fs::write_atomic(&staged, tree.to_string().as_bytes(), 0o600).map_err(wrap)?;
        let locked = File::open(&staged, OpenMode::Existing).map_err(wrap)?;
        let _ = lock::try_exclusive(&locked);
        fs::rename(&staged, &owner).map_err(wrap)?;
        fs::make_private_dir(&place).map_err(|error| failed("make", &place, &error))?;
        Ok(Some(RunStore { place, owner, tree, _lock: locked }))
    }

    /// What is recorded of the program. `ignored`: what Git ignored before, in order.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn snapshot(&self, repo: &Repo, ignored: &[RepoPath]) -> Result<TakenRun> {
        let touched = Touched { repo, place: &self.place, ignored };
        touched.snapshot(self.tree)
    }

    /// Whether a recorded program runs, or was interrupted and not handled yet.
    pub(crate) fn any(repo: &Repo) -> bool {
        let all = fs::files_in(&directory(repo));
        all.iter().any(|path| path.extension().is_some_and(|kind| kind == OWNER))
    }

    /// The stores of programs that were interrupted together with edt. Each is locked, so that no
    /// other call handles it, too.
    pub(crate) fn interrupted(repo: &Repo) -> Vec<RunStore> {
        let all = fs::files_in(&directory(repo)).into_iter();
        let owners = all.filter(|path| path.extension().is_some_and(|kind| kind == OWNER));
        let store = |owner: PathBuf| {
            let locked = File::open(&owner, OpenMode::Existing).ok()?;
            if !lock::try_exclusive(&locked) || !locked.is_at(&owner) {
                return None;
            }
            let tree = Oid::from_hex(&fs::read_small(&owner, 200)?).ok()?;
            Some(RunStore { place: owner.with_extension(""), owner, tree, _lock: locked })
        };
        owners.filter_map(store).collect()
    }

    /// Removes the store.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.place);
        let _ = fs::remove_file(&self.owner);
    }
}

/// What is recorded of a program.
#[derive(Debug)]
pub struct TakenRun {
    /// What was at the paths that it touched.
    pub snapshot: Snapshot,
    pub warnings: Vec<Warning>,
    /// What it was denied.
    pub denied: Vec<Denied>,
    /// A directory with files in whose place something else is now.
    pub displaced: Option<RepoPath>,
}

/// The extension of the files with a run's tree.
const OWNER: &str = "run";

fn directory(repo: &Repo) -> PathBuf {
    fs::real_path(repo.state_path()).join("recordings")
}

/// What a run touched.
struct Touched<'a> {
    repo: &'a Repo,
    /// The store.
    place: &'a Path,
    /// What Git ignored before, in order; a completely ignored directory is one path.
    ignored: &'a [RepoPath],
}

impl Touched<'_> {
    fn snapshot(&self, tree: Oid) -> Result<TakenRun> {
        let wrap = |error: std::io::Error| failed("read", self.place, &error);
        let root = self.repo.real_root()?;
        let run = RecordedRun::open(self.place).map_err(wrap)?;
        let mut touched = Vec::new();
        let mut warnings = Vec::new();
        let (mut copies, mut output) = (KeptFiles::default(), KeptFiles::default());
        let mut ignored: BTreeSet<RepoPath> = self.ignored.iter().cloned().collect();
        let mut left = MAX_IGNORED_TOTAL;
        let all = run.touched(&root).map_err(wrap)?;
        let displaced = self.displaced(&all);
        for (path, found) in all {
            let Some(before) = self.before(&run, &path, &found.before) else { continue };
            let path = RepoPath::from_tree(&path);
            let now = stat_at(self.repo, &path);
            if path.as_bytes().split(|byte| *byte == b'/').any(spells_git) {
                // No commit has a file of a Git directory.
                let was_directory = matches!(found.before, Before::Directory(_));
                let kept = match before {
                    TouchedBefore::Stored { name, .. } => Kept::File(self.place.join(name)),
                    TouchedBefore::Link(target) => Kept::Link(target),
                    TouchedBefore::Missing if was_directory => Kept::Directory,
                    _ => continue,
                };
                copies.files.push((path, kept));
                continue;
            }
            if matches!(before, TouchedBefore::Missing)
                && (now.is_some_and(|now| now.is_directory()) || self.repo.is_excluded(&path)?)
            {
                // Git has no directories, and a new file that Git ignores is nobody's.
                continue;
            }
            if let TouchedBefore::Stored { name, .. } = &before {
                let stored = self.place.join(name);
                let size = fs::size(&stored).unwrap_or(0);
                let above = self.ignored_above(&path);
                let most = if above.is_some() { left.min(MAX_IGNORED_FILE) } else { MAX_FILE };
                if size > most {
                    let is_output = above.is_some_and(|above| is_build_output(self.repo, above));
                    if self.differs(&path, &stored) {
                        let kept = if is_output { &mut output } else { &mut copies };
                        kept.files.push((path, Kept::File(stored)));
                    }
                    continue;
                } else if above.is_some() {
                    left -= size;
                }
            }
            if matches!(before, TouchedBefore::Unknown) {
                warnings.push(not_kept_of(&path));
                continue;
            }
            if found.named_elsewhere {
                warnings.push(hard_linked(&path));
            }
            if found.foreign {
                // Nothing puts back what is at the path. Versions of others may be among what the
                // program removed or replaced.
                copies.files.extend(self.versions(&run, &path, &before));
                if now.is_some_and(|now| !now.is_directory()) {
                    warnings.push(written_meanwhile(&path));
                }
            }
            let moved_to = run.moved_to(path.as_bytes()).map(|now| RepoPath::from_tree(&now));
            if !matches!(before, TouchedBefore::Missing) && self.repo.is_excluded(&path)? {
                ignored.insert(path.clone());
            }
            touched.push(TouchedPath { path, before, moved_to, is_foreign: found.foreign });
        }
        warnings.extend(copies.keep(self.repo, false)?);
        warnings.extend(output.keep(self.repo, true)?);
        let why = run.unproved.first().cloned();
        let is_proved = run.complete && why.is_none();
        if !is_proved {
            let why = why.unwrap_or_else(|| "the recording has no end".to_owned());
            let message = format!(
                "Not everything that the program did was recorded ({why}). What changed is on disk \
                 alone, and a landing waits for the user."
            );
            warnings.push(Warning { code: WarningCode::RecordingIncomplete, path: None, message });
        }
        let place = (self.place.to_owned(), is_proved);
        let snapshot = Snapshot::of_recording(self.repo, tree, place, touched)?;
        let snapshot = Snapshot { ignored: ignored.into_iter().collect(), ..snapshot };
        Ok(TakenRun { snapshot, warnings, denied: run.denied, displaced })
    }

    /// The first directory with files in whose place something else is now.
    fn displaced(&self, all: &BTreeMap<Vec<u8>, edt_recorder::TouchedPath>) -> Option<RepoPath> {
        let had_files = |directory: &[u8]| {
            let start = [directory, b"/"].concat();
            let mut below =
                all.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
            below.any(|(_, one)| match &one.before {
                Before::File { kept, .. } => *kept != event::Kept::Made,
                Before::Same { .. } => true,
                _ => false,
            })
        };
        // It was removed, or moved to another place.
        let was_directory = |path: &[u8], before: &Before| match before {
            Before::Directory(_) => true,
            Before::Same { now: Place::Tree(now), .. } => now != path,
            _ => false,
        };
        all.iter()
            .filter(|(path, one)| was_directory(path, &one.before) && !one.foreign)
            .map(|(path, _)| RepoPath::from_tree(path))
            .filter(|path| stat_at(self.repo, path).is_some_and(|now| !now.is_directory()))
            .find(|path| had_files(path.as_bytes()))
    }

    /// What was at `path`. `None`: nothing of it changed.
    fn before(&self, run: &RecordedRun, path: &[u8], before: &Before) -> Option<TouchedBefore> {
        Some(match before {
            Before::Missing | Before::Directory(_) => TouchedBefore::Missing,
            Before::Link(target) => TouchedBefore::Link(target.clone()),
            Before::Special => TouchedBefore::Unknown,
            Before::File { attributes, kept } => match run.kept_name(kept) {
                Some(name) => TouchedBefore::Stored { name, permissions: attributes.mode },
                None if *kept == event::Kept::Made => TouchedBefore::Missing,
                None => TouchedBefore::Unknown,
            },
            Before::Same { now, attributes } => {
                return self.same(path, now, *attributes);
            }
        })
    }

    /// What was at `path`, if it is at `now`. `None`: nothing of it changed.
    fn same(
        &self,
        path: &[u8],
        now: &Place,
        attributes: Option<Attributes>,
    ) -> Option<TouchedBefore> {
        let permissions = attributes.map_or(0o644, |before| before.mode);
        let file = match now {
            Place::Tree(now) if now == path && attributes.is_none() => return None,
            Place::Tree(now) => return Some(self.in_tree(&RepoPath::from_tree(now), attributes)),
            Place::Outside(now) => PathBuf::from(std::ffi::OsStr::from_bytes(now)),
            Place::Stored(number) => {
                return Some(TouchedBefore::Stored { name: number.to_string(), permissions });
            }
        };
        let bytes = fs::read_file_limited(&file, MAX_FILE).ok().flatten();
        let known = |bytes| TouchedBefore::Bytes { bytes, permissions };
        Some(bytes.map_or(TouchedBefore::Unknown, known))
    }

    /// What is at `now` below the root.
    fn in_tree(&self, now: &RepoPath, attributes: Option<Attributes>) -> TouchedBefore {
        let (directory, name) = now.split();
        let Ok(Parent::Open(parent)) = self.repo.root().beneath(directory) else {
            return TouchedBefore::Unknown;
        };
        match parent.stat(name) {
            Ok(Some(stat)) if stat.is_directory() => TouchedBefore::Missing,
            Ok(Some(stat)) if stat.is_symlink() => {
                parent.link_target(name).map_or(TouchedBefore::Unknown, TouchedBefore::Link)
            }
            _ => match parent.read_at_most(name, MAX_FILE) {
                Ok(FoundEntry::File(stat, bytes)) => {
                    let permissions = attributes.map_or(stat.mode & 0o777, |before| before.mode);
                    TouchedBefore::Bytes { bytes, permissions }
                }
                _ => TouchedBefore::Unknown,
            },
        }
    }

    /// What was at `path` before, and whenever the program removed or replaced it.
    fn versions(
        &self,
        run: &RecordedRun,
        path: &RepoPath,
        before: &TouchedBefore,
    ) -> Vec<(RepoPath, Kept)> {
        let at = |place: &Place| *place == Place::Tree(path.as_bytes().to_vec());
        let former = |event: &FileEvent| match event {
            FileEvent::Removed { place, former } if at(place) => Some(former.clone()),
            FileEvent::Renamed { to, replaced, .. } if at(to) => replaced.clone(),
            _ => None,
        };
        let stored = run.events().filter_map(former).filter_map(|former| match former.node {
            Node::File(kept) => run.kept_name(&kept),
            _ => None,
        });
        let before = match before {
            TouchedBefore::Stored { name, .. } => Some(name.clone()),
            _ => None,
        };
        let mut names: Vec<String> = Vec::new();
        for name in before.into_iter().chain(stored) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let kept = |name| (path.clone(), Kept::File(self.place.join(name)));
        names.into_iter().map(kept).collect()
    }

    /// Whether another file than the `stored` one is at `path`, or none.
    fn differs(&self, path: &RepoPath, stored: &Path) -> bool {
        let TouchedBefore::Bytes { bytes: now, .. } = self.in_tree(path, None) else { return true };
        fs::read_file_limited(stored, MAX_FILE).ok().flatten().is_none_or(|before| before != now)
    }

    /// The ignored file or directory that `path` was or was in.
    fn ignored_above(&self, path: &RepoPath) -> Option<&RepoPath> {
        let after = self.ignored.partition_point(|ignored| ignored <= path);
        self.ignored[..after].iter().rev().find(|ignored| path.is_at_or_below(ignored))
    }
}

fn not_kept_of(path: &RepoPath) -> Warning {
    let message = "The program changed or removed this, and edt could keep no copy: it is too large, \
                   the copies of one run are, or it is not a file. `edt undo` cannot restore it.";
    Warning {
        code: WarningCode::NotRestorable,
        path: Some(path.text()),
        message: message.to_owned(),
    }
}

fn hard_linked(path: &RepoPath) -> Warning {
    let message = "The program wrote this file, which has further names outside of the worktree \
                   (hard links). They have what it wrote, also after `edt undo`.";
    Warning { code: WarningCode::HardLinked, path: Some(path.text()), message: message.to_owned() }
}

fn written_meanwhile(path: &RepoPath) -> Warning {
    let message = "Somebody else wrote this file while the program ran, too. If the program had it \
                   open then, it may have overwritten what they saved, and edt has no copy of that.";
    Warning {
        code: WarningCode::WrittenMeanwhile,
        path: Some(path.text()),
        message: message.to_owned(),
    }
}

/// Whether `ignored` is a directory with so many files that it is taken for build output.
fn is_build_output(repo: &Repo, ignored: &RepoPath) -> bool {
    not_kept::files_of(repo, ignored).is_none()
}

/// What a program changed, removed or replaced, and `edt undo` does not bring back.
#[derive(Debug, Default)]
struct KeptFiles {
    /// At the earlier paths.
    files: Vec<(RepoPath, Kept)>,
}

impl KeptFiles {
    /// Moves them to a place where the user finds them. `is_output`: they are build output, and go
    /// when a later program changes or removes such files; others go after 30 days.
    fn keep(&self, repo: &Repo, is_output: bool) -> Result<Option<Warning>> {
        let Some((first, _)) = self.files.first() else { return Ok(None) };
        let place = kept_directory::move_to_new(repo, &self.files, is_output)?;
        let more = match self.files.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let until =
            if is_output { " until a later program changes or removes such files" } else { "" };
        let message = format!(
            "`edt undo` does not bring back {first}{more}, which the program changed, removed or \
             replaced: it is too large, or in a Git directory, or somebody else wrote it, too. It is \
             in {}{until}.",
            place.shown()
        );
        Ok(Some(Warning { code: WarningCode::BackedUp, path: Some(first.text()), message }))
    }
}
