//! Which files are the tree's: by device and inode, whatever the path that led to them.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2, readlinkat};

use crate::event::{Inode, Place};
use crate::inode::Sight;
use crate::store::open_directory;
use crate::thread::CallingThread;

/// The suffix of the path of an open file that has no name any more.
const REMOVED: &[u8] = b" (deleted)";

/// The directory that is recorded, and what came from it.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    root_sight: Sight,
    /// Directories in the tree whose content is not recorded, such as Git's.
    excluded: Vec<OwnedFd>,
    /// Directories that the program moved out of the tree.
    moved_out: Vec<(Inode, OwnedFd)>,
    /// Files of the tree that have a name outside of it or in the store.
    elsewhere: HashSet<Inode>,
    /// Names outside, in the directories with these inodes, that are in the log.
    names_outside: HashSet<(Inode, Vec<u8>)>,
    /// `/proc/self/fd` of this process.
    own_files: OwnedFd,
}

impl Tree {
    pub(crate) fn open(root: &Path, excluded: &[std::path::PathBuf]) -> io::Result<Tree> {
        let root = open_directory(root)?;
        let root_sight = Sight::of(&root)?;
        let excluded = excluded.iter().filter_map(|path| open_directory(path).ok()).collect();
        let own_files = open_directory(Path::new("/proc/self/fd"))?;
        Ok(Tree {
            root,
            root_sight,
            excluded,
            moved_out: Vec::new(),
            elsewhere: HashSet::new(),
            names_outside: HashSet::new(),
            own_files,
        })
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    pub(crate) fn own_files(&self) -> &OwnedFd {
        &self.own_files
    }

    pub(crate) fn root_inode(&self) -> Inode {
        self.root_sight.inode
    }

    /// Where the open `file` is, if it is recorded. `thread` opened it.
    pub(crate) fn place(
        &self,
        file: &OwnedFd,
        sight: &Sight,
        thread: CallingThread,
    ) -> io::Result<Option<Place>> {
        for _ in 0..4 {
            let path = self.path(file)?;
            let below = match strip(&path, &self.path(&self.root)?) {
                Some(below) => Some(below.to_vec()),
                None if self.may_be_bound(sight) => self.below_bound(file, sight, thread)?,
                None => None,
            };
            if let Some(below) = below {
                if below.is_empty() || self.is_at(&below, sight) {
                    let excluded = self.is_excluded(&path)?;
                    return Ok((!excluded).then_some(Place::Tree(below)));
                }
                // It has moved meanwhile, or has no name any more.
                if !path.ends_with(REMOVED) {
                    continue;
                }
            }
            let outside = || Place::Outside(path.clone());
            if self.elsewhere.contains(&sight.inode) {
                return Ok(Some(outside()));
            }
            for (_, directory) in &self.moved_out {
                if strip(&path, &self.path(directory)?).is_some() {
                    return Ok(Some(outside()));
                }
            }
            // One of its names may be in the tree.
            let shared = sight.is_file()
                && sight.names > 1
                && sight.inode.device == self.root_sight.inode.device;
            return Ok(shared.then(outside));
        }
        Err(io::Error::other("a directory moves while its path is read"))
    }

    /// Where `name` in the open directory is, if names there are recorded.
    pub(crate) fn place_below(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        thread: CallingThread,
    ) -> io::Result<Option<Place>> {
        let sight = Sight::of(directory)?;
        if let Some(place) = self.place(directory, &sight, thread)? {
            return Ok(Some(joined(place, name)));
        }
        if self.names_outside.is_empty()
            || !self.names_outside.contains(&(sight.inode, name.into()))
        {
            return Ok(None);
        }
        Ok(Some(joined(Place::Outside(self.path(directory)?), name)))
    }

    /// A name outside of the tree, as the recorder reaches it. Whatever is made there later is
    /// recorded as well, so that it is not in the way when this is reverted.
    pub(crate) fn outside(&mut self, directory: &OwnedFd, name: &[u8]) -> io::Result<Place> {
        self.names_outside.insert((Sight::of(directory)?.inode, name.to_vec()));
        Ok(joined(Place::Outside(self.path(directory)?), name))
    }

    /// Notes that the inode has a name elsewhere, so that its changes there are recorded.
    pub(crate) fn is_elsewhere(&self, inode: Inode) -> bool {
        self.elsewhere.contains(&inode)
    }

    pub(crate) fn note_elsewhere(&mut self, inode: Inode) {
        self.elsewhere.insert(inode);
    }

    /// Notes that the open directory leaves the tree.
    pub(crate) fn note_moved_out(&mut self, inode: Inode, directory: OwnedFd) {
        if !self.is_moved_out(inode) {
            self.moved_out.push((inode, directory));
        }
    }

    pub(crate) fn note_moved_in(&mut self, inode: Inode) {
        self.moved_out.retain(|(one, _)| *one != inode);
    }

    pub(crate) fn is_moved_out(&self, inode: Inode) -> bool {
        self.moved_out.iter().any(|(one, _)| *one == inode)
    }

    fn is_excluded(&self, path: &[u8]) -> io::Result<bool> {
        for directory in &self.excluded {
            if strip(path, &self.path(directory)?).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_at(&self, below: &[u8], sight: &Sight) -> bool {
        Sight::at(&self.root, below).is_ok_and(|found| found.inode == sight.inode)
    }

    fn path(&self, file: &OwnedFd) -> io::Result<Vec<u8>> {
        path_of(&self.own_files, file)
    }

    /// A part of the tree may be mounted at another path.
    fn may_be_bound(&self, sight: &Sight) -> bool {
        sight.mount != self.root_sight.mount && sight.inode.device == self.root_sight.inode.device
    }

    /// The path below the root of a file that was reached through another mount.
    fn below_bound(
        &self,
        file: &OwnedFd,
        sight: &Sight,
        thread: CallingThread,
    ) -> io::Result<Option<Vec<u8>>> {
        let root = self.path_in_file_system(&self.root, &self.root_sight, CallingThread::own())?;
        let path = self.path_in_file_system(file, sight, thread)?;
        Ok(strip(&path, &root).map(<[u8]>::to_vec))
    }

    /// The path of `file` from the root of its file system.
    fn path_in_file_system(
        &self,
        file: &OwnedFd,
        sight: &Sight,
        thread: CallingThread,
    ) -> io::Result<Vec<u8>> {
        let mounted = mounted_directory(&thread.mounts()?, sight.mount);
        let mut path = mounted.ok_or_else(|| io::Error::other("a mount is not in its table"))?;
        let full = self.path(file)?;
        let (parent, mut levels) = if sight.is_directory() {
            (file.try_clone()?, 0)
        } else {
            (parent_of(&full, thread)?, 1)
        };
        levels += levels_in_mount(parent, sight.mount)?;
        let names: Vec<&[u8]> = full.split(|byte| *byte == b'/').collect();
        for name in &names[names.len().saturating_sub(levels)..] {
            if path.last() != Some(&b'/') {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        Ok(path)
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory of a file with this path, in the mount namespace of the thread.
fn parent_of(path: &[u8], thread: CallingThread) -> io::Result<OwnedFd> {
    // Paths of files in other namespaces begin at the top of these.
    let mut top = thread.root()?;
    loop {
        let above = openat(&top, c"..", DIRECTORY, Mode::empty())?;
        let (here, there) = (Sight::of(&top)?, Sight::of(&above)?);
        if (here.inode, here.mount) == (there.inode, there.mount) {
            break;
        }
        top = above;
    }
    let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let parent = path[..end].strip_prefix(b"/").unwrap_or(&path[..end]);
    let parent = if parent.is_empty() { b"." } else { parent };
    let rules = ResolveFlags::NO_SYMLINKS;
    Ok(openat2(&top, parent, DIRECTORY, Mode::empty(), rules)?)
}

/// How many names of the path of `directory` are below the root of its mount.
fn levels_in_mount(mut directory: OwnedFd, mount: u64) -> io::Result<usize> {
    let mut at = Sight::of(&directory)?;
    if at.mount != mount {
        return Err(io::Error::other("a file is a mount of its own"));
    }
    let mut levels = 0;
    loop {
        let above = openat(&directory, c"..", DIRECTORY, Mode::empty())?;
        let found = Sight::of(&above)?;
        if found.mount != mount || found.inode == at.inode {
            return Ok(levels);
        }
        levels += 1;
        (directory, at) = (above, found);
    }
}

/// The path of an open file. `own_files`: `/proc/self/fd`.
pub(crate) fn path_of(own_files: &OwnedFd, file: &OwnedFd) -> io::Result<Vec<u8>> {
    let number = file.as_raw_fd().to_string();
    Ok(readlinkat(own_files, number, Vec::with_capacity(256))?.into_bytes())
}

fn joined(place: Place, name: &[u8]) -> Place {
    let join = |mut path: Vec<u8>| {
        if !path.is_empty() && path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    };
    match place {
        Place::Tree(path) => Place::Tree(join(path)),
        Place::Outside(path) => Place::Outside(join(path)),
        stored @ Place::Stored(_) => stored,
    }
}

/// The part of `path` below `root`; empty for `root` itself.
pub(crate) fn strip<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() || root.ends_with(b"/") {
        return Some(rest);
    }
    rest.strip_prefix(b"/")
}

/// The directory of its file system that the mount shows.
fn mounted_directory(mounts: &[u8], mount: u64) -> Option<Vec<u8>> {
    let number = mount.to_string();
    let line = mounts
        .split(|byte| *byte == b'\n')
        .find(|line| line.split(|byte| *byte == b' ').next() == Some(number.as_bytes()))?;
    let field = line.split(|byte| *byte == b' ').nth(3)?;
    Some(unescaped(field))
}

/// Spaces and such are written as `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_are_below_a_root() {
        assert_eq!(strip(b"/a/b/c", b"/a/b"), Some(&b"c"[..]));
        assert_eq!(strip(b"/a/b", b"/a/b"), Some(&b""[..]));
        assert_eq!(strip(b"/a/bc", b"/a/b"), None);
        assert_eq!(strip(b"/a", b"/"), Some(&b"a"[..]));
    }

    #[test]
    fn the_mount_table_names_the_directory_of_a_mount() {
        let table = b"21 1 8:1 / / rw - ext4 /dev/x rw\n\
            37 21 8:1 /home/my\\040tree /mnt rw - ext4 /dev/x rw\n";
        assert_eq!(mounted_directory(table, 37), Some(b"/home/my tree".to_vec()));
        assert_eq!(mounted_directory(table, 3), None);
    }
}
