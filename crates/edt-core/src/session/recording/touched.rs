//! The snapshot of a program that was recorded at the system call: what was at the paths that it
//! touched. No other path is looked at, so that what the user saves meanwhile is the user's.

use std::collections::HashSet;
use std::path::PathBuf;

use super::snapshot::{self, Snapshot};
use crate::session::files::file_copy::{Copy, stat_at};
use crate::session::private::not_kept::NotKept;
use edt_git::{Oid, Repo};
use edt_io::disk::{FoundEntry, Parent};
use edt_io::{failed, fs};
use edt_types::{RepoPath, Result};

/// The most bytes of a file of the user that a new file is compared with.
const MAX_COMPARED: u64 = 1024 * 1024;

/// A path that a program touched.
#[derive(Debug)]
pub struct TouchedPath {
    pub path: RepoPath,
    pub before: TouchedBefore,
    /// Where the file is now, if the program moved it.
    pub moved_to: Option<RepoPath>,
    /// Whether somebody else wrote it meanwhile, too.
    pub is_foreign: bool,
}

/// What was at a touched path before.
#[derive(Debug)]
pub enum TouchedBefore {
    /// Nothing, or a directory.
    Missing,
    /// A file, whose bytes are in a file of this name in the directory of the recording.
    Stored { name: String, permissions: u32 },
    /// A file with these bytes.
    Bytes { bytes: Vec<u8>, permissions: u32 },
    /// A symbolic link with this target.
    Link(Vec<u8>),
    /// Something that was not kept.
    Unknown,
}

impl Snapshot {
    /// The snapshot of a recorded program. `tree` is the session's when the program began;
    /// `directory` has the stored files. `is_proved` says that it touched nothing else.
    ///
    /// # Errors
    /// `IO_ERROR` if bytes cannot be written there.
    pub fn of_recording(
        repo: &Repo,
        tree: Oid,
        (directory, is_proved): (PathBuf, bool),
        touched: Vec<TouchedPath>,
    ) -> Result<Snapshot> {
        let mut snapshot = Snapshot {
            tree: Some(tree),
            directory,
            is_recorded: true,
            is_unproved: !is_proved,
            ..Snapshot::default()
        };
        let copy = |key: String, permissions: u32| {
            let executable = permissions & 0o100 != 0;
            Some(Copy { key, executable, permissions: permissions & 0o777, link: None })
        };
        for (at, one) in touched.into_iter().enumerate() {
            let TouchedPath { path, before, moved_to, is_foreign } = one;
            if let Some(now) = moved_to {
                snapshot.moved.insert(now, path.clone());
            }
            if is_foreign {
                snapshot.foreign.insert(path.clone());
            }
            let copy = match before {
                TouchedBefore::Missing => None,
                TouchedBefore::Stored { name, permissions } => copy(name, permissions),
                TouchedBefore::Bytes { bytes, permissions } => {
                    let name = format!("moved-{at}");
                    let place = snapshot.directory.join(&name);
                    fs::write_atomic(&place, &bytes, 0o600)
                        .map_err(|error| failed("write", &place, &error))?;
                    copy(name, permissions)
                }
                TouchedBefore::Link(target) => {
                    let (key, link) = (String::new(), Some(target));
                    Some(Copy { key, executable: false, permissions: 0, link })
                }
                TouchedBefore::Unknown => {
                    snapshot.not_kept.push(NotKept::file(repo, path));
                    continue;
                }
            };
            snapshot.files.insert(path, copy);
        }
        Ok(snapshot)
    }

    /// The blob ids of the user's files that a recorded program did not touch: uncommitted,
    /// untracked, and single ignored ones.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub(super) fn untouched_blobs(&self, repo: &Repo, ids: &mut HashSet<Oid>) -> Result<()> {
        let tree = self.tree.unwrap_or_else(|| repo.empty_tree());
        for path in snapshot::differing(repo, tree)?.into_iter().chain(repo.ignored()?) {
            if self.files.contains_key(&path) {
                continue;
            }
            let (directory, name) = path.split();
            let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { continue };
            if stat_at(repo, &path).is_none_or(|stat| stat.is_directory() || stat.is_symlink()) {
                continue;
            }
            if let Ok(FoundEntry::File(_, bytes)) = parent.read_at_most(name, MAX_COMPARED)
                && bytes.len() >= snapshot::SMALLEST_COPY
            {
                ids.insert(repo.blob_id(&bytes)?);
            }
        }
        Ok(())
    }
}
