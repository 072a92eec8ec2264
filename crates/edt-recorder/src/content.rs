//! Calls that change the content or the attributes of a file.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use nix::libc;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::call::{PathArg, Subject};
use crate::event::{FileEvent, Kept, NewNode, Place};
use crate::hands::{Deed, Slot};
use crate::inode::Sight;
use crate::kernel::Reply;
use crate::serve::{CONTINUE, Known, Outcome, Request, Server, Step, failed, refuse};
use crate::store::own_path;
use crate::walk::{Found, LastLink};

/// How often an open is resolved again because another process made the file meanwhile.
const TRIES: usize = 8;

impl Server {
    pub(crate) fn open(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        flags: i32,
        mode: u32,
    ) -> Step<Outcome> {
        let has = |flag: i32| flags & flag != 0;
        let path = request.thread().path(arg.address)?;
        let creates = has(libc::O_CREAT) && !has(libc::O_DIRECTORY) && !path.ends_with(b"/");
        let exclusive = has(libc::O_CREAT) && has(libc::O_EXCL);
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || has(libc::O_TRUNC);
        let last =
            if exclusive || has(libc::O_NOFOLLOW) { LastLink::Keep } else { LastLink::Follow };
        let wanted = OFlags::from_bits_retain(flags.cast_unsigned());
        for _ in 0..TRIES {
            match self.walker.find(request.thread(), arg.directory, &path, last)? {
                // The kernel refuses links, directories and files that exist, and others have no
                // content.
                Found::File(file) => {
                    let sight = Sight::of(&file)?;
                    if !sight.is_file() || exclusive || !writes || has(libc::O_DIRECTORY) {
                        return Ok(CONTINUE);
                    }
                    let Some(place) = self.place(request, &file, &sight)? else {
                        self.note_outside(&file, b"")?;
                        return Ok(CONTINUE);
                    };
                    self.note_writer(&place, Some(&sight), flags);
                    let kept = self.keep_content(&file, &sight, place.clone())?;
                    if !self.acts_for(request) {
                        return Ok(CONTINUE);
                    }
                    let opened = self.execute(request, Deed::Open(Arc::new(file), wanted))?;
                    if let Err(error) = &opened {
                        self.note_failure(&place, *error)?;
                        self.nothing_changed(&sight, kept)?;
                    }
                    return Ok(answer_opened(request, opened, flags));
                }
                Found::Missing(directory, name) if creates => {
                    let Some(place) = self.place_below(request, &directory, &name)? else {
                        self.note_outside(&directory, &name)?;
                        return Ok(CONTINUE);
                    };
                    let slot = Slot { directory: Arc::new(directory), name };
                    self.check_new(&slot, &place, NewNode::File)?;
                    if !self.acts_for(request) {
                        let node = NewNode::File;
                        self.record(&FileEvent::Made { place, node, inode: None })?;
                        return Ok(CONTINUE);
                    }
                    self.note_writer(&place, None, flags);
                    let mode = Mode::from_raw_mode(mode & 0o7777);
                    let deed = Deed::Create(slot.clone(), wanted, mode);
                    let made = (&slot, &place, NewNode::File);
                    let opened = self.execute_making(request, made, deed)?;
                    if !exclusive && opened.as_ref().err() == Some(&Errno::EXIST) {
                        continue;
                    }
                    match &opened {
                        Ok(Some(file)) => {
                            let sight = Sight::of(file)?;
                            self.note_writer(&place, Some(&sight), flags);
                            self.note_made(sight, place, NewNode::File)?;
                        }
                        Ok(None) => {}
                        Err(error) => self.note_failure(&place, *error)?,
                    }
                    return Ok(answer_opened(request, opened, flags));
                }
                Found::Missing(..) if !has(libc::O_CREAT) => return self.not_there(request),
                Found::Missing(..) => return Ok(CONTINUE),
            }
        }
        Ok(failed(Errno::AGAIN))
    }

    pub(crate) fn open_how(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        how: u64,
    ) -> Step<Outcome> {
        let [flags, mode, rules] = request.thread().numbers::<3>(how)?;
        let flags = i32::try_from(flags).map_err(|_| Errno::INVAL)?;
        if flags & libc::O_PATH != 0 || flags & crate::filter::CHANGES == 0 {
            return Ok(CONTINUE);
        }
        let mode = u32::try_from(mode).map_err(|_| Errno::INVAL)?;
        if rules == 0 {
            return self.open(request, arg, flags, mode);
        }
        // Its rules are the kernel's business: only what it may change is kept.
        let acts = std::mem::replace(&mut self.one_right, false);
        let outcome = self.open(request, arg, flags, mode);
        self.one_right = acts;
        outcome
    }

    pub(crate) fn truncate(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        size: u64,
    ) -> Step<Outcome> {
        let path = request.thread().path(arg.address)?;
        let found = self.walker.find(request.thread(), arg.directory, &path, LastLink::Follow)?;
        let Found::File(file) = found else { return Ok(CONTINUE) };
        let sight = Sight::of(&file)?;
        if !sight.is_file() || size > i64::MAX as u64 {
            return Ok(CONTINUE);
        }
        let Some(place) = self.place(request, &file, &sight)? else { return Ok(CONTINUE) };
        let kept = self.keep_content(&file, &sight, place.clone())?;
        if !self.acts_for(request) {
            return Ok(CONTINUE);
        }
        self.note_writer(&place, Some(&sight), libc::O_WRONLY);
        let done = self.execute(request, Deed::Truncate(Arc::new(file), size))?;
        if let Err(error) = &done {
            self.note_failure(&place, *error)?;
            self.nothing_changed(&sight, kept)?;
        }
        Ok(done.map_or_else(failed, |_| Outcome::Reply(Reply::Value(0))))
    }

    /// Watches the directory of a file that is opened for writing, or all names of the file if it
    /// has several, and counts the open.
    fn note_writer(&mut self, place: &Place, sight: Option<&Sight>, flags: i32) {
        if flags & libc::O_ACCMODE == libc::O_RDONLY {
            return;
        }
        if let Place::Tree(path) = place {
            self.watch.add(self.tree.root(), path);
            if let Some(sight) = sight.filter(|sight| sight.names > 1) {
                self.watch.add_file(self.tree.root(), path, sight.inode);
            }
        }
        if let Some(sight) = sight {
            self.watch.note_opened(sight.inode);
        }
    }

    /// Keeps the content of an inode before it is written for the first time.
    /// Returns the event, with what was known of the inode before it.
    fn keep_content(
        &mut self,
        file: &OwnedFd,
        sight: &Sight,
        place: Place,
    ) -> Step<Option<(u64, Known)>> {
        let known = self.known.get(&sight.inode).copied().unwrap_or_default();
        if known.content || self.made.contains(&sight.inode) {
            return Ok(None);
        }
        let clean = match &place {
            Place::Tree(path) => self.clean.name(path, sight.inode, &sight.attributes),
            _ => None,
        };
        let kept = match clean {
            Some(name) => Kept::Clean(name),
            None => self.store.copy(file, sight).map_err(refuse)?,
        };
        let (inode, attributes) = (sight.inode, sight.attributes);
        let event = self.record(&FileEvent::Content { place, inode, attributes, kept })?;
        self.known.insert(inode, Known { content: true, attributes: true, ..known });
        Ok(Some((event, known)))
    }

    /// The call failed before which the content was kept.
    fn nothing_changed(&mut self, sight: &Sight, kept: Option<(u64, Known)>) -> Step<()> {
        if let Some((event, known)) = kept {
            self.record(&FileEvent::Failed { event })?;
            self.known.insert(sight.inode, known);
        }
        Ok(())
    }

    pub(crate) fn attributes(
        &mut self,
        request: &Request<'_>,
        of: Subject,
        extended: bool,
    ) -> Step<Outcome> {
        let thread = request.thread();
        let by_path = |arg: PathArg, last: LastLink| -> Step<Option<OwnedFd>> {
            let path = thread.path(arg.address)?;
            match self.walker.find(thread, arg.directory, &path, last)? {
                Found::File(file) => Ok(Some(file)),
                Found::Missing(..) => Ok(None),
            }
        };
        let file = match of {
            Subject::Open(number) => Some(thread.file(number)?),
            Subject::Path(arg) => by_path(arg, LastLink::Follow)?,
            Subject::Link(arg) => by_path(arg, LastLink::Keep)?,
            Subject::PathOrOpen(arg) => {
                if arg.address == 0 || thread.path(arg.address)?.is_empty() {
                    Some(thread.file(arg.directory)?)
                } else {
                    by_path(arg, LastLink::Keep)?
                }
            }
        };
        let Some(file) = file else { return Ok(CONTINUE) };
        let sight = Sight::of(&file)?;
        let known = self.known.get(&sight.inode).copied().unwrap_or_default();
        let noted = if extended { known.extended } else { known.attributes };
        if noted || self.made.contains(&sight.inode) {
            return Ok(CONTINUE);
        }
        let Some(place) = self.place(request, &file, &sight)? else { return Ok(CONTINUE) };
        let (inode, attributes) = (sight.inode, sight.attributes);
        let all = if extended && !sight.is_link() { Some(extended_of(&file)?) } else { None };
        self.record(&FileEvent::Attributes { place, inode, attributes, extended: all })?;
        let known = Known { attributes: true, extended: known.extended || extended, ..known };
        self.known.insert(inode, known);
        Ok(CONTINUE)
    }
}

fn answer_opened(
    request: &Request<'_>,
    opened: rustix::io::Result<Option<OwnedFd>>,
    flags: i32,
) -> Outcome {
    match opened {
        Ok(Some(file)) => request.answer(file.as_fd(), flags & libc::O_CLOEXEC != 0),
        Ok(None) => failed(Errno::IO),
        Err(error) => failed(error),
    }
}

/// All extended attributes that this process may read.
fn extended_of(file: &OwnedFd) -> rustix::io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let path = own_path(file);
    let mut names = vec![0; 64 << 10];
    let length = match rustix::fs::listxattr(&path, &mut names[..]) {
        Err(Errno::NOTSUP) => 0,
        listed => listed?,
    };
    let mut all = Vec::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 64 << 10];
        if let Ok(length) = rustix::fs::getxattr(&path, name, &mut value[..]) {
            value.truncate(length);
            all.push((name.to_vec(), value));
        }
    }
    Ok(all)
}
