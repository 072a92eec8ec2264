//! Calls that change names. The recorder executes them, so that it knows which succeeded.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::libc;
use rustix::fs::{FileType, Mode, OFlags, RenameFlags, openat, readlinkat};
use rustix::io::Errno;

use crate::call::PathArg;
use crate::event::{FileEvent, Former, Kept, NewNode, Node, Place};
use crate::hands::{Deed, Slot, trimmed};
use crate::inode::{Sight, existing};
use crate::kernel::Reply;
use crate::serve::{CONTINUE, Outcome, Request, Server, Step, Stop, failed, refuse};
use crate::tree::Tree;
use crate::walk::{Found, LastLink};

const DONE: Outcome = Outcome::Reply(Reply::Value(0));

impl Server {
    pub(crate) fn remove(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        directory: bool,
    ) -> Step<Outcome> {
        let slot = self.slot(request, arg)?;
        let Some(sight) = existing(Sight::at(&slot.directory, trimmed(&slot.name)))? else {
            return self.not_there(request);
        };
        let place = self.place_of_slot(request, &slot, &sight)?;
        let of_kind =
            sight.is_directory() == directory && (directory || !slot.name.ends_with(b"/"));
        let recorded = slot.clone();
        let deed = if directory { Deed::RemoveDirectory(slot) } else { Deed::Unlink(slot) };
        let Some(place) = place.filter(|_| of_kind) else {
            return self.as_resolved(request, deed);
        };
        let former = self.former(&recorded, &sight, &place)?;
        let event = FileEvent::Removed { place, former };
        if !self.acts_for(request) {
            self.record(&event)?;
            return Ok(CONTINUE);
        }
        if let Err(outcome) = self.execute_recorded(request, &event, deed)? {
            return Ok(outcome);
        }
        self.note_gone(&sight);
        Ok(DONE)
    }

    pub(crate) fn rename(
        &mut self,
        request: &Request<'_>,
        from: PathArg,
        to: PathArg,
        flags: u32,
    ) -> Step<Outcome> {
        let (from, to) = (self.slot(request, from)?, self.slot(request, to)?);
        let Some(moved) = existing(Sight::at(&from.directory, trimmed(&from.name)))? else {
            return self.not_there(request);
        };
        let deed = |from, to| Deed::Rename(from, to, RenameFlags::from_bits_retain(flags));
        let target = existing(Sight::at(&to.directory, trimmed(&to.name)))?;
        if target.is_some_and(|target| target.inode == moved.inode) {
            // Two names of one file: both stay.
            return self.as_resolved(request, deed(from, to));
        }
        let source = self.place_of_slot(request, &from, &moved)?;
        let destination = match &target {
            Some(target) => self.place_of_slot(request, &to, target)?,
            None => self.place_below(request, &to.directory, trimmed(&to.name))?,
        };
        if source.is_none() && destination.is_none() {
            return self.as_resolved(request, deed(from, to));
        }
        if flags & libc::RENAME_WHITEOUT != 0 {
            self.unproved("a rename left a whiteout").map_err(refuse)?;
            return Ok(CONTINUE);
        }
        let exchange = flags & libc::RENAME_EXCHANGE != 0;
        let outside =
            |tree: &mut Tree, slot: &Slot| tree.outside(&slot.directory, trimmed(&slot.name));
        let from_place = match source {
            Some(place) => place,
            None => outside(&mut self.tree, &from)?,
        };
        let to_place = match destination {
            Some(place) => place,
            None => outside(&mut self.tree, &to)?,
        };
        let replaced = match &target {
            Some(target) if flags & (libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE) == 0 => {
                Some(self.former(&to, target, &to_place)?)
            }
            _ => None,
        };
        let exchanged = target.filter(|_| exchange);
        self.check_moved(&moved, &from_place, &to_place)?;
        if let Some(other) = &exchanged {
            self.check_moved(other, &to_place, &from_place)?;
        }
        let moves = [
            Some((moved, handle_of(&from, &moved), &from_place, &to_place)),
            exchanged.map(|other| (other, handle_of(&to, &other), &to_place, &from_place)),
        ];
        let moves: Vec<(Sight, Option<OwnedFd>, bool, bool)> = moves
            .into_iter()
            .flatten()
            .map(|(sight, handle, from, to)| (sight, handle, is_in_tree(from), is_in_tree(to)))
            .collect();
        let watched = moved.is_directory().then(|| (from_place.clone(), to_place.clone()));
        let event = FileEvent::Renamed {
            from: from_place,
            to: to_place,
            inode: moved.inode,
            directory: moved.is_directory() || exchanged.is_some_and(|other| other.is_directory()),
            replaced,
            exchanged: exchanged.map(|other| other.inode),
        };
        if self.acts_for(request) {
            if let Err(outcome) = self.execute_recorded(request, &event, deed(from, to))? {
                return Ok(outcome);
            }
        } else {
            self.record(&event)?;
        }
        if let Some((Place::Tree(from), to)) = watched {
            let to = if let Place::Tree(path) = &to { Some(&path[..]) } else { None };
            self.watch.note_moved(&from, to.filter(|_| !exchange));
        }
        for (sight, handle, from_tree, to_tree) in moves {
            self.note_move(&sight, handle, from_tree, to_tree);
        }
        if !self.acts_for(request) {
            return Ok(CONTINUE);
        }
        if let Some(target) = target.filter(|_| !exchange) {
            self.note_gone(&target);
        }
        Ok(DONE)
    }

    pub(crate) fn name(
        &mut self,
        request: &Request<'_>,
        from: PathArg,
        to: PathArg,
        flags: i32,
    ) -> Step<Outcome> {
        let thread = request.thread();
        let path = thread.path(from.address)?;
        let file = if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            thread.file(from.directory)?
        } else {
            let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
            let last = if follow { LastLink::Follow } else { LastLink::Keep };
            match self.walker.find(thread, from.directory, &path, last)? {
                Found::File(file) => file,
                Found::Missing(..) => return self.not_there(request),
            }
        };
        let sight = Sight::of(&file)?;
        let slot = self.slot(request, to)?;
        let source = self.place(request, &file, &sight)?;
        let place = self.place_below(request, &slot.directory, trimmed(&slot.name))?;
        let is_named = existing(Sight::at(&slot.directory, trimmed(&slot.name)))?.is_some();
        if is_named || sight.is_directory() || source.is_none() && place.is_none() {
            return self.as_resolved(request, Deed::Name(Arc::new(file), slot));
        }
        if !source.as_ref().is_some_and(is_in_tree) || place.is_none() {
            self.tree.note_elsewhere(sight.inode);
        }
        let Some(place) = place else {
            return self.as_resolved(request, Deed::Name(Arc::new(file), slot));
        };
        // A file that was made without a name.
        let node = if sight.names == 0 { NewNode::File } else { NewNode::Name };
        self.check_new(&slot, &place, node)?;
        let acts = self.acts_for(request);
        if acts {
            let deed = Deed::Name(Arc::new(file), slot.clone());
            if let Err(error) = self.execute_making(request, (&slot, &place, node), deed)? {
                return Ok(failed(error));
            }
        }
        if node == NewNode::File {
            self.made.insert(sight.inode);
        }
        self.record(&FileEvent::Made { place, node, inode: Some(sight.inode) })?;
        Ok(if acts { DONE } else { CONTINUE })
    }

    pub(crate) fn make_directory(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        mode: u32,
    ) -> Step<Outcome> {
        let mode = Mode::from_raw_mode(mode & 0o7777);
        self.make(request, arg, NewNode::Directory, |slot| Deed::MakeDirectory(slot, mode))
    }

    pub(crate) fn make_node(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        mode: u32,
    ) -> Step<Outcome> {
        let kind = match FileType::from_raw_mode(mode) {
            FileType::Fifo => FileType::Fifo,
            FileType::Socket => FileType::Socket,
            FileType::RegularFile => FileType::RegularFile,
            FileType::Unknown if mode & libc::S_IFMT == 0 => FileType::RegularFile,
            // A device; its number is not needed, because the kernel makes it.
            _ => return self.make_by_kernel(request, arg, NewNode::Special),
        };
        let is_file = kind == FileType::RegularFile;
        let node = if is_file { NewNode::File } else { NewNode::Special };
        let mode = Mode::from_raw_mode(mode & 0o7777);
        self.make(request, arg, node, |slot| Deed::MakeNode(slot, kind, mode, 0))
    }

    pub(crate) fn make_link(
        &mut self,
        request: &Request<'_>,
        target: u64,
        arg: PathArg,
    ) -> Step<Outcome> {
        let target = request.thread().path(target)?;
        self.make(request, arg, NewNode::Link, |slot| Deed::MakeLink(target, slot))
    }

    fn make(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        node: NewNode,
        deed: impl FnOnce(Slot) -> Deed,
    ) -> Step<Outcome> {
        if !self.acts_for(request) {
            return self.make_by_kernel(request, arg, node);
        }
        let slot = self.slot(request, arg)?;
        let Some(place) = self.place_below(request, &slot.directory, trimmed(&slot.name))? else {
            if existing(Sight::at(&slot.directory, trimmed(&slot.name)))?.is_none() {
                self.note_outside(&slot.directory, trimmed(&slot.name))?;
            }
            return self.as_resolved(request, deed(slot));
        };
        self.check_new(&slot, &place, node)?;
        let made = (&slot, &place, node);
        if let Err(error) = self.execute_making(request, made, deed(slot.clone()))? {
            self.note_failure(&place, error)?;
            return Ok(failed(error));
        }
        let sight = Sight::at(&slot.directory, trimmed(&slot.name))?;
        self.note_made(sight, place, node)?;
        Ok(DONE)
    }

    /// Executes a call that is not recorded. The kernel would read its paths again, and a program
    /// can change them meanwhile.
    fn as_resolved(&mut self, request: &Request<'_>, deed: Deed) -> Step<Outcome> {
        if !self.acts_for(request) {
            return Ok(CONTINUE);
        }
        Ok(self.execute(request, deed)?.map_or_else(failed, |_| DONE))
    }

    /// Answers a call of a name that is not there.
    pub(crate) fn not_there(&self, request: &Request<'_>) -> Step<Outcome> {
        Ok(if self.acts_for(request) { failed(Errno::NOENT) } else { CONTINUE })
    }

    fn make_by_kernel(
        &mut self,
        request: &Request<'_>,
        arg: PathArg,
        node: NewNode,
    ) -> Step<Outcome> {
        let slot = self.slot(request, arg)?;
        self.made_by_kernel(request, &slot, node)
    }

    /// The name of a Unix socket; only the kernel can make it.
    pub(crate) fn bind(
        &mut self,
        request: &Request<'_>,
        address: u64,
        length: u64,
    ) -> Step<Outcome> {
        // The family, then the path, which may have no terminating zero. Those of names that are
        // not files begin with one.
        let Some(length) = usize::try_from(length).ok().filter(|one| (4..=110).contains(one))
        else {
            return Ok(CONTINUE);
        };
        let bytes = request.thread().bytes(address, length)?;
        let family = u16::from_ne_bytes([bytes[0], bytes[1]]);
        let path = bytes[2..].split(|byte| *byte == 0).next().unwrap_or_default();
        if i32::from(family) != libc::AF_UNIX || path.is_empty() {
            return Ok(CONTINUE);
        }
        let slot = self.slot_of(request, libc::AT_FDCWD, path)?;
        self.made_by_kernel(request, &slot, NewNode::Special)
    }

    fn made_by_kernel(
        &mut self,
        request: &Request<'_>,
        slot: &Slot,
        node: NewNode,
    ) -> Step<Outcome> {
        let place = self.place_below(request, &slot.directory, trimmed(&slot.name))?;
        let is_named = existing(Sight::at(&slot.directory, trimmed(&slot.name)))?.is_some();
        if let Some(place) = place.filter(|_| !is_named) {
            self.check_new(slot, &place, node)?;
            self.record(&FileEvent::Made { place, node, inode: None })?;
        }
        Ok(CONTINUE)
    }

    /// What the name is, kept for the time after it is removed or replaced.
    fn former(&mut self, slot: &Slot, sight: &Sight, place: &Place) -> Step<Former> {
        let former =
            |sight: &Sight, node| Former { inode: sight.inode, attributes: sight.attributes, node };
        let name = trimmed(&slot.name);
        if sight.is_directory() {
            return Ok(former(sight, Node::Directory));
        }
        if sight.is_link() {
            let target = readlinkat(&slot.directory, name, Vec::new())?.into_bytes();
            return Ok(former(sight, Node::Link(target)));
        }
        let node = |kept| if sight.is_file() { Node::File(kept) } else { Node::Special(kept) };
        let known = self.known.get(&sight.inode).copied().unwrap_or_default();
        if self.made.contains(&sight.inode) {
            return Ok(former(sight, node(Kept::Made)));
        }
        if sight.is_file()
            && sight.names == 1
            && !known.content
            && let Place::Tree(path) = place
            && let Some(clean) = self.clean.name(path, sight.inode, &sight.attributes)
        {
            return Ok(former(sight, node(Kept::Clean(clean))));
        }
        match self.store.link(&slot.directory, name, place) {
            Ok((number, linked)) => {
                self.stored.insert(linked.inode, number);
                self.tree.note_elsewhere(linked.inode);
                Ok(former(&linked, node(Kept::Linked(number))))
            }
            // Another owner, another file system, too many names, or one that knows no links.
            Err(error) => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(&slot.directory, name, flags, Mode::empty())?;
                if !sight.is_file() {
                    let why = format!("it cannot be linked: {error}");
                    return Ok(former(sight, node(Kept::Lost(why))));
                }
                match self.store.copy(&file, sight).map_err(refuse)? {
                    Kept::Lost(_) => Err(Stop::Refuse(Errno::ACCESS)),
                    kept => Ok(former(sight, node(kept))),
                }
            }
        }
    }

    pub(crate) fn note_made(&mut self, sight: Sight, place: Place, node: NewNode) -> Step<()> {
        if sight.is_file() {
            self.made.insert(sight.inode);
        }
        let inode = Some(sight.inode);
        self.record(&FileEvent::Made { place, node, inode })?;
        Ok(())
    }

    /// A name of this inode is gone. If it was the last one, its number is free.
    fn note_gone(&mut self, sight: &Sight) {
        if sight.names <= 1 && !self.stored.contains_key(&sight.inode) {
            self.known.remove(&sight.inode);
            self.made.remove(&sight.inode);
        }
    }

    fn note_move(
        &mut self,
        sight: &Sight,
        handle: Option<OwnedFd>,
        from_tree: bool,
        to_tree: bool,
    ) {
        if !sight.is_directory() {
            if from_tree != to_tree {
                self.tree.note_elsewhere(sight.inode);
            }
        } else if to_tree {
            self.tree.note_moved_in(sight.inode);
        } else if let Some(handle) = handle.filter(|_| from_tree) {
            self.tree.note_moved_out(sight.inode, handle);
        }
    }

    fn slot(&self, request: &Request<'_>, arg: PathArg) -> Step<Slot> {
        let thread = request.thread();
        let path = thread.path(arg.address)?;
        self.slot_of(request, arg.directory, &path)
    }

    fn slot_of(&self, request: &Request<'_>, directory: i32, path: &[u8]) -> Step<Slot> {
        let (directory, name) = self.walker.parent(request.thread(), directory, path)?;
        Ok(Slot { directory: Arc::new(directory), name })
    }

    /// Where a name is, if it or what it names is recorded.
    fn place_of_slot(
        &mut self,
        request: &Request<'_>,
        slot: &Slot,
        sight: &Sight,
    ) -> Step<Option<Place>> {
        let place = self.place_below(request, &slot.directory, trimmed(&slot.name))?;
        let tracked = self.tree.is_elsewhere(sight.inode) || self.tree.is_moved_out(sight.inode);
        if place.is_some() || !tracked {
            return Ok(place);
        }
        Ok(Some(self.tree.outside(&slot.directory, trimmed(&slot.name))?))
    }

    pub(crate) fn place_below(
        &self,
        request: &Request<'_>,
        directory: &OwnedFd,
        name: &[u8],
    ) -> Step<Option<Place>> {
        Ok(self.tree.place_below(directory, name, request.thread())?)
    }

    pub(crate) fn place(
        &mut self,
        request: &Request<'_>,
        file: &OwnedFd,
        sight: &Sight,
    ) -> Step<Option<Place>> {
        let place = self.tree.place(file, sight, request.thread())?;
        if let Some(Place::Outside(_)) = place
            && !sight.is_directory()
        {
            self.tree.note_elsewhere(sight.inode);
        }
        // A file without a name has one in the store.
        let has_none =
            matches!(&place, Some(Place::Outside(path)) if path.ends_with(b" (deleted)"));
        match self.stored.get(&sight.inode) {
            Some(number) if has_none => Ok(Some(Place::Stored(*number))),
            _ => Ok(place),
        }
    }
}

/// A directory that may leave the tree.
fn handle_of(slot: &Slot, sight: &Sight) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || openat(&slot.directory, trimmed(&slot.name), flags, Mode::empty()).ok();
    sight.is_directory().then(open).flatten()
}

fn is_in_tree(place: &Place) -> bool {
    matches!(place, Place::Tree(_))
}
