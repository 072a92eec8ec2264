//! What transactions read and wrote at a path: whether a file there is edt's own after a power failure.

use super::files::{StagedState, StagingArea};
use super::private;
use super::record::{ChangeRecord, FileRecord};
use edt_git::{Oid, Repo};
use edt_io::disk::{Parent, Stat};
use edt_io::failed;
use edt_types::{RepoPath, Result};

/// What edt read and wrote at a path.
#[derive(Default)]
pub(super) struct PathHistory {
    /// Whether the path was empty at some time.
    pub(super) nothing: bool,
    /// Files that records found there, with their bytes.
    found: Vec<(Stat, Option<Oid>)>,
    /// Files that records wrote there, with their bytes, and whether they were rolled back: such a
    /// file must be removed, complete or torn.
    put: Vec<(Stat, Option<Oid>, bool)>,
}

/// The maximum time in seconds between the staging of a file and its exchange: two locks may be
/// waited for.
pub(super) const MAX_SWAP_SECONDS: i64 = 10;
/// The maximum time in seconds for writing a staged file. After a power failure the inode may have
/// any time in that span.
const MAX_WRITE_SECONDS: i64 = 2;

impl PathHistory {
    pub(super) fn add(&mut self, file: &FileRecord, rolled_back: bool) {
        self.nothing |= if rolled_back { file.new.is_none() } else { file.old.is_none() };
        // A rolled back transaction replaced nothing.
        if !rolled_back {
            self.found.extend(file.old.as_ref().map(|(id, _, stat)| (*stat, id.oid())));
        }
        self.put.extend(
            file.staged.zip(file.new.as_ref()).map(|(stat, (id, _))| (stat, id.oid(), rolled_back)),
        );
    }

    /// Whether `here`, at the path of `file`, is a file whose replacement was lost, or a file that
    /// edt wrote and the power failure tore. Nobody may have changed it since. The change time of
    /// the inode (`ctime`) decides, which no program can set: writing, renaming, linking or
    /// replacing the file makes it later.
    pub(super) fn holds(
        &self,
        repo: &Repo,
        stage: &StagingArea<'_>,
        file: &FileRecord,
        here: &Stat,
    ) -> bool {
        let complete = |bytes: Option<Oid>| bytes.and_then(|oid| private::bytes(repo, oid).ok());
        let bytes = || stage.read(file).map(|(_, bytes)| bytes);
        let found = |(stat, oid): &(Stat, Option<Oid>)| {
            stat.inode() == here.inode()
                && here.ctime <= stat.ctime
                && complete(*oid)
                    .zip(bytes())
                    .map_or(stat.same_content_as(here), |(complete, left)| {
                        is_torn_form(&left, &complete)
                    })
        };
        let put = |(stat, oid, rolled_back): &(Stat, Option<Oid>, bool)| {
            let is_unchanged = here.ctime.0 <= stat.ctime.0 + MAX_SWAP_SECONDS;
            stat.inode() == here.inode()
                && here.mtime <= stat.mtime
                && here.mtime.0 >= stat.mtime.0 - MAX_WRITE_SECONDS
                && complete(*oid).zip(bytes()).is_some_and(|(complete, left)| {
                    // btrfs repeats renames when it is mounted, and sets the change time then.
                    (left != complete || *rolled_back && is_unchanged)
                        && is_torn_form(&left, &complete)
                })
        };
        self.found.iter().any(found) || self.put.iter().any(put)
    }
}

/// Whether `bytes` is what a power failure may leave of `complete`: shorter, zero in places, or both.
fn is_torn_form(bytes: &[u8], complete: &[u8]) -> bool {
    bytes.len() <= complete.len()
        && bytes.iter().zip(complete).all(|(found, wrote)| found == wrote || *found == 0)
}

/// Whether only the old file's half of an exchange is there: btrfs may keep it alone after a power
/// failure, if it knows the old inode and not the new one.
pub(super) fn is_half_exchanged(stage: &StagingArea<'_>, file: &FileRecord) -> bool {
    let old = file.old.as_ref().map(|(.., old)| old.inode());
    old.is_some() && stage.staged_stat(file).map(|staged| staged.inode()) == old
}

/// Whether the missing `file` was on disk and someone removed it: its directory changed after
/// `changed_until`, when the transaction had staged it. File systems keep the changes of a directory
/// in order, so the file came before.
pub(super) fn was_removed(
    repo: &Repo,
    stage: &StagingArea<'_>,
    file: &FileRecord,
    changed_until: (i64, u32),
) -> Result<bool> {
    // A rename moves the file from one name to the other: it has not happened.
    // Another file of the same transaction may have changed the directory since.
    if stage.staged(file)? == StagedState::New || stage.is_own(file) {
        return Ok(false);
    }
    Ok(directory_changed(repo, file)?.0 > changed_until)
}

/// When the directory of `file`, or the nearest one above that exists, was changed: the `mtime` and
/// the `ctime`.
pub(super) fn directory_changed(
    repo: &Repo,
    file: &FileRecord,
) -> Result<((i64, u32), (i64, u32))> {
    let wrap = |error: std::io::Error| failed("read", repo.root_path(), &error);
    let path = RepoPath::from_tree(&file.path);
    let mut above = path.split().0;
    loop {
        if let Parent::Open(dir) = repo.root().beneath(above).map_err(wrap)? {
            let stat = dir.stat(b".").map_err(wrap)?;
            return Ok(stat.map_or(Default::default(), |stat| (stat.mtime, stat.ctime)));
        }
        above = &above[..above.iter().rposition(|&byte| byte == b'/').unwrap_or(0)];
    }
}

/// Gives the recorded files the numbers that their devices have now. A device may have another
/// number in each boot, and on btrfs and overlayfs after each mount; the numbers of inodes stay.
pub(super) fn renumber_devices(repo: &Repo, stage: &StagingArea<'_>, record: &mut ChangeRecord) {
    let device = |old: &mut Option<Stat>, now: Option<Stat>| {
        if let (Some(old), Some(now)) = (old, now) {
            old.dev = now.dev;
        }
    };
    device(&mut record.branch.stat, repo.ref_stat(&record.branch.name));
    if let Some(head) = &mut record.branch.head {
        device(&mut head.stat, repo.head_stat());
    }
    for file in &mut record.files {
        let (here, staged) = (stage.stat(file), stage.staged_stat(file));
        if let (Some((.., old)), Some(now)) = (&mut file.old, here.or(staged)) {
            old.dev = now.dev;
        }
        device(&mut file.staged, staged.or(here));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, staged};
    use edt_git::objects;

    #[test]
    fn a_torn_file_counts_although_the_mount_changed_its_inode() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let change = scratch.change(&repo, &[("a.txt", Some("two\n"))]);
        objects::write(&repo, &change.objects).unwrap();
        for (left, torn) in [("tw", true), ("two\n", false)] {
            let mut record = staged(&stage, &change.files[0], 0);
            stage.swap(&record).unwrap();
            let own = record.staged.as_mut().unwrap();
            own.ctime.0 -= 3600;
            let file = std::fs::File::options().write(true).open(scratch.root().join("a.txt"));
            let file = file.unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_len(left.len() as u64).unwrap();
            file.set_modified(written).unwrap();
            let mut history = PathHistory::default();
            history.add(&record, false);
            let here = stage.stat(&record).unwrap();
            assert_eq!(history.holds(&repo, &stage, &record, &here), torn, "{left:?}");
            stage.roll_back(&record).unwrap();
            scratch.write("a.txt", "one\n");
        }
    }

    #[test]
    fn missing_and_zero_bytes_are_torn_and_other_bytes_are_a_users() {
        for torn in [b"".as_slice(), b"ab", b"abcd", b"\0\0\0\0", b"ab\0\0", b"\0\0cd"] {
            assert!(is_torn_form(torn, b"abcd"), "{torn:?}");
        }
        for other in [b"x".as_slice(), b"abcde", b"abcx", b"\0\0\0x"] {
            assert!(!is_torn_form(other, b"abcd"), "{other:?}");
        }
    }
}
