//! Who else writes: how often files were closed after writing, compared with how often programs
//! opened them.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

use crate::event::Inode;
use crate::inode::Sight;
use crate::tree::strip;

/// Watches the directories in which programs write.
#[derive(Debug)]
pub(crate) struct Watch {
    queue: OwnedFd,
    /// The paths below the root of watched directories.
    paths: HashMap<i32, Vec<u8>>,
    numbers: HashMap<Vec<u8>, i32>,
    opened: HashMap<Inode, u64>,
    closed: HashMap<Inode, u64>,
    /// Watched files with several names, of which others may be in no watched directory. The counts
    /// are of the file under all of its names.
    files: HashMap<i32, Inode>,
    closed_anywhere: HashMap<Inode, u64>,
    /// Why not everything was seen.
    pub(crate) blind: Option<String>,
}

impl Watch {
    pub(crate) fn new() -> rustix::io::Result<Watch> {
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Watch {
            queue,
            paths: HashMap::new(),
            numbers: HashMap::new(),
            opened: HashMap::new(),
            closed: HashMap::new(),
            files: HashMap::new(),
            closed_anywhere: HashMap::new(),
            blind: None,
        })
    }

    pub(crate) fn queue(&self) -> &OwnedFd {
        &self.queue
    }

    /// Watches the directory of the file at `path` below `root`. Call it before the file is opened.
    pub(crate) fn add(&mut self, root: &OwnedFd, path: &[u8]) {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let directory = &path[..end];
        if self.numbers.contains_key(directory) {
            return;
        }
        let mut full = crate::store::own_path(root).into_bytes();
        full.push(b'/');
        full.extend_from_slice(directory);
        // A file that was removed while it was open has the name of another.
        let closes = WatchFlags::CLOSE_WRITE | WatchFlags::EXCL_UNLINK | WatchFlags::ONLYDIR;
        match add_watch(&self.queue, &full[..], closes) {
            Ok(number) => {
                if let Some(old) = self.paths.insert(number, directory.to_vec()) {
                    self.numbers.remove(&old);
                }
                self.numbers.insert(directory.to_vec(), number);
            }
            Err(error) => self.blind = Some(format!("a directory cannot be watched: {error}")),
        }
    }

    /// Watches the file at `path` below `root` under all of its names. Call it before the file is
    /// opened.
    pub(crate) fn add_file(&mut self, root: &OwnedFd, path: &[u8], inode: Inode) {
        if self.closed_anywhere.contains_key(&inode) {
            return;
        }
        self.closed_anywhere.insert(inode, 0);
        let mut full = crate::store::own_path(root).into_bytes();
        full.push(b'/');
        full.extend_from_slice(path);
        match add_watch(&self.queue, &full[..], WatchFlags::CLOSE_WRITE | WatchFlags::DONT_FOLLOW) {
            Ok(number) => {
                self.files.insert(number, inode);
            }
            Err(error) => self.blind = Some(format!("a file cannot be watched: {error}")),
        }
    }

    /// Notes that a program opens the inode for writing.
    pub(crate) fn note_opened(&mut self, inode: Inode) {
        *self.opened.entry(inode).or_default() += 1;
    }

    /// Notes that a directory was moved.
    pub(crate) fn note_moved(&mut self, from: &[u8], to: Option<&[u8]>) {
        let below: Vec<(Vec<u8>, i32)> = self
            .numbers
            .iter()
            .filter(|(path, _)| strip(path, from).is_some())
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        for (path, number) in below {
            self.numbers.remove(&path);
            self.paths.remove(&number);
            if let Some(to) = to {
                let rest = &path[from.len()..];
                let path = [to, rest].concat();
                self.paths.insert(number, path.clone());
                self.numbers.insert(path, number);
            }
        }
    }

    /// Reads what was closed. The names are those of now, because the recorder itself executes
    /// what changes them, after this.
    pub(crate) fn read(&mut self, root: &OwnedFd) {
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(error) => {
                    self.blind = Some(format!("closed files cannot be read: {error}"));
                    return;
                }
            };
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                self.blind = Some("files were closed too fast to be counted".to_owned());
            }
            if let Some(inode) = self.files.get(&event.wd()) {
                if event.events().contains(ReadFlags::CLOSE_WRITE) {
                    *self.closed_anywhere.entry(*inode).or_default() += 1;
                } else if event.events().contains(ReadFlags::IGNORED) {
                    self.files.remove(&event.wd());
                }
                continue;
            }
            if event.events().contains(ReadFlags::IGNORED) {
                if let Some(path) = self.paths.remove(&event.wd()) {
                    self.numbers.remove(&path);
                }
                continue;
            }
            let (Some(directory), Some(name)) = (self.paths.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            let mut path = directory.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.to_bytes());
            // Opens of other nodes are not notified.
            if let Some(sight) = Sight::at(root, &path).ok().filter(Sight::is_file) {
                *self.closed.entry(sight.inode).or_default() += 1;
            }
        }
    }

    /// Whether somebody else closed the inode after writing.
    pub(crate) fn is_foreign(&self, inode: Inode) -> bool {
        let count = |of: &HashMap<Inode, u64>| of.get(&inode).copied().unwrap_or(0);
        count(&self.closed).max(count(&self.closed_anywhere)) > count(&self.opened)
    }
}
