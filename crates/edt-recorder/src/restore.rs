//! Replaying a log backwards.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat,
    chownat, linkat, mkdirat, openat, renameat_with, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use crate::CleanBytes;
use crate::event::{Attributes, FileEvent, Former, Inode, Kept, NewNode, Node, Place};
use crate::inode::Sight;
use crate::locate::{Located, Locator};
use crate::record::RecordedRun;
use crate::store::{copy_content, copy_name, name, own_path, reopen};
use crate::touched::Restoration;

/// Reverts everything that the run of the log in `store` did below `root`. What the run made is
/// moved into the store, and what is overwritten is copied there first: others may have written it
/// since. It can be repeated if it was interrupted.
///
/// # Errors
/// The log cannot be read, or the file system failed; what was reverted stays reverted.
pub fn restore(store: &Path, root: &Path, clean: &mut dyn CleanBytes) -> io::Result<Restoration> {
    let run = RecordedRun::open(store)?;
    let locator = Locator::open(root, store)?;
    let written = run.written_since(&locator);
    let mut replay = Replay {
        written,
        run: &run,
        locator,
        clean,
        again: HashMap::new(),
        made: HashSet::new(),
        undone: 0,
        done: Restoration::default(),
    };
    for event in run.events() {
        if let FileEvent::Made { inode: Some(inode), node, .. } = event
            && *node != NewNode::Name
        {
            replay.made.insert(*inode);
        }
    }
    for event in run.events().rev() {
        replay.revert(event)?;
    }
    Ok(replay.done)
}

struct Replay<'a> {
    run: &'a RecordedRun,
    locator: Locator,
    clean: &'a mut dyn CleanBytes,
    /// Inodes that were made again, under the numbers of the log.
    again: HashMap<Inode, Inode>,
    made: HashSet<Inode>,
    /// Stored links whose inode was written after the end.
    written: HashSet<u64>,
    /// The number of the last file that was moved into the store.
    undone: u64,
    done: Restoration,
}

const OTHER: &str = "something else is there";

impl Replay<'_> {
    fn revert(&mut self, event: &FileEvent) -> io::Result<()> {
        match event {
            FileEvent::Content { place, inode, attributes, kept } => {
                self.revert_content(place, *inode, attributes, kept)
            }
            FileEvent::Attributes { place, inode, attributes, extended } => {
                let Some(found) = self.expect(place, *inode)? else { return Ok(()) };
                if let Some(extended) = extended {
                    set_extended(&found, extended)?;
                }
                set_attributes(&found, attributes)?;
                self.done.reverted += 1;
                Ok(())
            }
            FileEvent::Made { place, inode, .. } => self.revert_made(place, *inode),
            FileEvent::Removed { place, former } => self.put(place, former),
            FileEvent::Renamed { from, to, inode, replaced, exchanged, .. } => {
                self.revert_rename(from, to, *inode, *exchanged)?;
                replaced.as_ref().map_or(Ok(()), |former| self.put(to, former))
            }
            _ => Ok(()),
        }
    }

    /// The inode that has the content of `inode` now.
    fn now(&self, inode: Inode) -> Inode {
        self.again.get(&inode).copied().unwrap_or(inode)
    }

    fn leave(&mut self, place: &Place, why: impl Into<String>) {
        self.done.left.push((place.clone(), why.into()));
    }

    /// `place` if `inode` is there.
    fn expect(&mut self, place: &Place, inode: Inode) -> io::Result<Option<Located>> {
        if let Some(found) = self.locator.locate(place)? {
            match found.sight()? {
                Some(sight) if sight.inode == self.now(inode) => return Ok(Some(found)),
                // The run removed it itself.
                None if self.made.contains(&inode) => return Ok(None),
                _ => {}
            }
        }
        if !self.made.contains(&inode) {
            self.leave(place, OTHER);
        }
        Ok(None)
    }

    fn revert_content(
        &mut self,
        place: &Place,
        inode: Inode,
        attributes: &Attributes,
        kept: &Kept,
    ) -> io::Result<()> {
        let Some(found) = self.expect(place, inode)? else { return Ok(()) };
        if let Kept::Lost(why) = kept {
            self.done.lost.push((place.clone(), why.clone()));
            return Ok(());
        }
        let handle = found.open()?;
        let path = own_path(&handle);
        self.save(place, &handle)?;
        let open = || openat(CWD, &path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        let file = match open() {
            Err(Errno::ACCESS) => {
                chmodat(CWD, &path, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
                open()
            }
            opened => opened,
        };
        match file {
            Ok(file) => self.fill(&file, kept)?,
            Err(error) => {
                self.leave(place, format!("it cannot be written: {error}"));
                return Ok(());
            }
        }
        set_attributes(&found, attributes)?;
        self.done.reverted += 1;
        Ok(())
    }

    /// Copies what is overwritten into the store.
    fn save(&mut self, place: &Place, file: &OwnedFd) -> io::Result<()> {
        let name = self.undone_name()?;
        let from = match reopen(file, OFlags::RDONLY) {
            Err(Errno::ACCESS) => {
                chmodat(CWD, own_path(file), Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
                reopen(file, OFlags::RDONLY)?
            }
            opened => opened?,
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let to = openat(&self.locator.store, &name[..], flags, Mode::RUSR | Mode::WUSR)?;
        copy_content(&from, &to)?;
        self.note_saved(place, &name);
        Ok(())
    }

    fn note_saved(&mut self, place: &Place, name: &[u8]) {
        self.done.saved.push((place.clone(), String::from_utf8_lossy(name).into_owned()));
    }

    fn fill(&mut self, file: &OwnedFd, kept: &Kept) -> io::Result<()> {
        if let Kept::Clean(name) = kept {
            rustix::fs::ftruncate(file, 0)?;
            return self.clean.write(name, &mut File::from(file.try_clone()?));
        }
        let from = self.run.open_kept(kept)?.ok_or(io::ErrorKind::NotFound)?;
        copy_content(&OwnedFd::from(from), file)
    }

    fn revert_made(&mut self, place: &Place, inode: Option<Inode>) -> io::Result<()> {
        let Some(found) = self.locator.locate(place)? else { return Ok(()) };
        let Some(sight) = found.sight()? else { return Ok(()) };
        if inode.is_some_and(|inode| self.now(inode) != sight.inode) {
            self.leave(place, OTHER);
            return Ok(());
        }
        let unlink =
            |flags| writable(&found, &|| unlinkat(&found.directory, &found.name[..], flags));
        let name = self.undone_name()?;
        let displace = || {
            writable(&found, &|| {
                let (from, to) = (&found.directory, &self.locator.store);
                renameat_with(from, &found.name[..], to, &name[..], RenameFlags::NOREPLACE)
            })
        };
        let done = if sight.is_directory() {
            match unlink(AtFlags::REMOVEDIR) {
                // What was made there is not recorded, but may be in the way.
                Err(Errno::NOTEMPTY) if matches!(place, Place::Outside(_)) => displace(),
                done => done,
            }
        } else if sight.is_link() || sight.names > 1 {
            unlink(AtFlags::empty())
        } else {
            displace()
        };
        if crate::inode::existing(Sight::at(&self.locator.store, &name))?.is_some() {
            self.note_saved(place, &name);
        }
        match done {
            Ok(()) => self.done.reverted += 1,
            Err(error) => self.leave(place, format!("it cannot be removed: {error}")),
        }
        Ok(())
    }

    /// A free name in the store.
    fn undone_name(&mut self) -> io::Result<Vec<u8>> {
        loop {
            self.undone += 1;
            let name = format!("undone-{}", self.undone).into_bytes();
            if crate::inode::existing(Sight::at(&self.locator.store, &name))?.is_none() {
                return Ok(name);
            }
        }
    }

    fn revert_rename(
        &mut self,
        from: &Place,
        to: &Place,
        inode: Inode,
        exchanged: Option<Inode>,
    ) -> io::Result<()> {
        let located = (self.locator.locate(from)?, self.locator.locate(to)?);
        let (Some(source), Some(target)) = located else {
            if !self.made.contains(&inode) {
                self.leave(to, OTHER);
            }
            return Ok(());
        };
        let (at_source, at_target) = (source.sight()?, target.sight()?);
        let is = |sight: Option<Sight>, inode: Inode| {
            sight.is_some_and(|sight| sight.inode == self.now(inode))
        };
        // What the run made and removed is not put back.
        let gone = |sight: Option<Sight>, inode| sight.is_none() && self.made.contains(&inode);
        let none = |sight: Option<Sight>| exchanged.is_none() && sight.is_none();
        let other = |sight, test: &dyn Fn(Option<Sight>, Inode) -> bool| {
            exchanged.is_some_and(|other| test(sight, other))
        };
        let done = if is(at_target, inode) && other(at_source, &is) {
            moved(&target, &source, RenameFlags::EXCHANGE)
        } else if is(at_target, inode) && (none(at_source) || other(at_source, &gone)) {
            moved(&target, &source, RenameFlags::NOREPLACE)
        } else if gone(at_target, inode) && other(at_source, &is) {
            moved(&source, &target, RenameFlags::NOREPLACE)
        } else {
            // It was reverted before, or there is nothing to revert.
            if !is(at_source, inode) && !gone(at_target, inode) {
                self.leave(to, OTHER);
            }
            return Ok(());
        };
        match done {
            Ok(()) => self.done.reverted += 1,
            Err(error) => self.leave(to, format!("it cannot be moved back: {error}")),
        }
        Ok(())
    }

    /// Puts back what a call removed or replaced.
    fn put(&mut self, place: &Place, former: &Former) -> io::Result<()> {
        if let Node::File(Kept::Made) | Node::Special(Kept::Made) = former.node {
            return Ok(());
        }
        let Some(found) = self.locator.locate(place)? else {
            self.leave(place, "its directory is not there");
            return Ok(());
        };
        if let Some(sight) = found.sight()? {
            if sight.inode != self.now(former.inode) {
                self.leave(place, OTHER);
            }
            return Ok(());
        }
        match &former.node {
            Node::Directory => {
                writable(&found, &|| mkdirat(&found.directory, &found.name[..], Mode::RWXU))?;
            }
            Node::Link(target) => {
                writable(&found, &|| symlinkat(&target[..], &found.directory, &found.name[..]))?;
            }
            Node::File(Kept::Lost(why)) | Node::Special(Kept::Lost(why)) => {
                self.done.lost.push((place.clone(), why.clone()));
                return Ok(());
            }
            Node::File(Kept::Linked(number)) | Node::Special(Kept::Linked(number)) => {
                if self.put_link(place, &found, *number)? {
                    self.done.reverted += 1;
                    return Ok(());
                }
            }
            Node::File(kept) => self.make_file(&found, kept)?,
            Node::Special(_) => return Ok(()),
        }
        set_attributes(&found, &former.attributes)?;
        if let Some(sight) = found.sight()? {
            self.again.insert(former.inode, sight.inode);
        }
        self.done.reverted += 1;
        Ok(())
    }

    /// Moves a stored link back. False if it had to be copied.
    fn put_link(&mut self, place: &Place, found: &Located, number: u64) -> io::Result<bool> {
        let stored = name(number);
        // Who holds the file open goes on with it; the copy stays in the store.
        let written = self.written.contains(&number);
        if written {
            self.leave(place, "it was written after the end; a copy is in the store");
        }
        let linked = writable(found, &|| {
            let (store, to) = (&self.locator.store, &found.directory);
            linkat(store, &stored[..], to, &found.name[..], AtFlags::empty())
        });
        match linked {
            Ok(()) => {
                let _ = unlinkat(&self.locator.store, &stored[..], AtFlags::empty());
                if !written {
                    let copy = copy_name(number);
                    let _ = unlinkat(&self.locator.store, &copy[..], AtFlags::empty());
                }
                Ok(true)
            }
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {
                self.make_file(found, &Kept::Linked(number))?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn make_file(&mut self, found: &Located, kept: &Kept) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = None;
        writable(found, &|| Ok(()))?;
        let open = || openat(&found.directory, &found.name[..], flags, mode);
        match open() {
            Err(Errno::ACCESS) => writable(found, &|| open().map(drop))?,
            opened => file = Some(opened?),
        }
        let file = match file {
            Some(file) => file,
            None => openat(&found.directory, &found.name[..], OFlags::WRONLY, mode)?,
        };
        self.fill(&file, kept)
    }
}

fn moved(from: &Located, to: &Located, flags: RenameFlags) -> rustix::io::Result<()> {
    writable(from, &|| {
        writable(to, &|| {
            let (old, new) = (&from.name[..], &to.name[..]);
            renameat_with(&from.directory, old, &to.directory, new, flags)
        })
    })
}

/// Repeats `act`, which changes the directory, with a right to write there if it has none.
fn writable(found: &Located, act: &dyn Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    match act() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let path = own_path(&found.directory);
    let before = Sight::of(&found.directory)?.attributes.mode;
    chmodat(CWD, &path, Mode::from_raw_mode(before | 0o700), AtFlags::empty())?;
    let done = act();
    chmodat(CWD, &path, Mode::from_raw_mode(before), AtFlags::empty())?;
    done
}

/// Sets owner, permissions and times where they differ.
fn set_attributes(found: &Located, wanted: &Attributes) -> io::Result<()> {
    let file = found.open()?;
    let now = Sight::of(&file)?;
    if (now.attributes.user, now.attributes.group) != (wanted.user, wanted.group) {
        let (user, group) = (Uid::from_raw(wanted.user), Gid::from_raw(wanted.group));
        chownat(file.as_fd(), c"", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
    }
    if !now.is_link() && Sight::of(&file)?.attributes.mode != wanted.mode {
        let mode = Mode::from_raw_mode(wanted.mode);
        chmodat(CWD, own_path(&file), mode, AtFlags::empty())?;
    }
    let time =
        |(seconds, nanos): (i64, u32)| Timespec { tv_sec: seconds, tv_nsec: i64::from(nanos) };
    let times =
        Timestamps { last_access: time(wanted.accessed), last_modification: time(wanted.modified) };
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    match utimensat(&found.directory, &found.name[..], &times, flags) {
        // Only the owner sets times; the content is what counts.
        Err(Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

fn set_extended(found: &Located, wanted: &[(Vec<u8>, Vec<u8>)]) -> io::Result<()> {
    let file = found.open()?;
    let path = own_path(&file);
    let mut names = vec![0; 64 << 10];
    let length = rustix::fs::listxattr(&path, &mut names[..])?;
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if !wanted.iter().any(|(wanted, _)| wanted == name) {
            let _ = rustix::fs::removexattr(&path, name);
        }
    }
    for (name, value) in wanted {
        // Those of the system may need rights.
        let _ = rustix::fs::setxattr(&path, &name[..], value, XattrFlags::empty());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::VERSION;
    use crate::log::EventLog;

    struct NoClean;

    impl CleanBytes for NoClean {
        fn write(&mut self, _: &[u8], _: &mut File) -> io::Result<()> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Restores a log of these events, in a root with the directory `made`.
    fn made_remains_after(events: &[FileEvent]) -> bool {
        let (root, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(root.path().join("made")).unwrap();
        let mut log = EventLog::create(store.path()).unwrap();
        log.append(&FileEvent::Start { version: VERSION, root: Inode::default() }).unwrap();
        for event in events {
            log.append(event).unwrap();
        }
        restore(store.path(), root.path(), &mut NoClean).unwrap();
        root.path().join("made").exists()
    }

    #[test]
    fn what_was_made_when_the_recorder_was_killed_is_removed() {
        let place = Place::Tree(b"made".to_vec());
        let making = FileEvent::Making { place: place.clone(), node: NewNode::Directory };
        let another = Some(Inode { number: 1, ..Inode::default() });
        let made = FileEvent::Made { place, node: NewNode::Directory, inode: another };
        assert!(!made_remains_after(std::slice::from_ref(&making)));
        assert!(made_remains_after(&[making.clone(), FileEvent::Failed { event: 1 }]));
        assert!(made_remains_after(&[making, made]));
    }
}
