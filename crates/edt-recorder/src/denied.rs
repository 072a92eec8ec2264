//! Calls that are denied, and those that the system denies because of the sandbox.

use std::os::fd::OwnedFd;

use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::io::Errno;

use crate::event::{Denied, FileEvent, NewNode, Place};
use crate::hands::Slot;
use crate::hands::trimmed;
use crate::inode::{Sight, existing};
use crate::serve::{Server, Step, Stop, refuse};
use crate::tree::path_of;
use crate::{NewName, Origin};

/// How many denials are in the log.
const MAX_DENIED: usize = 100;

impl Server {
    /// Refuses a new name that programs may not make. A name that is there already is not new.
    pub(crate) fn check_new(&mut self, slot: &Slot, place: &Place, node: NewNode) -> Step<()> {
        let Place::Tree(path) = place else { return Ok(()) };
        if self.names.may_make(&NewName { path, node, origin: Origin::New }) {
            return Ok(());
        }
        match existing(Sight::at(&slot.directory, trimmed(&slot.name)))? {
            Some(_) => Ok(()),
            None => self.refuse_name(place),
        }
    }

    /// Refuses to move what `sight` is to a name that programs may not make.
    pub(crate) fn check_moved(&mut self, sight: &Sight, from: &Place, to: &Place) -> Step<()> {
        let Place::Tree(path) = to else { return Ok(()) };
        let origin =
            if let Place::Tree(from) = from { Origin::Moved(from) } else { Origin::Outside };
        if self.names.may_make(&NewName { path, node: node_of(sight), origin }) {
            return Ok(());
        }
        self.refuse_name(to)
    }

    fn refuse_name(&mut self, place: &Place) -> Step<()> {
        self.note_denied(Denied::Name(place.clone())).map_err(refuse)?;
        Err(Stop::Refuse(Errno::PERM))
    }

    /// Notes that the system denied a call at `place` because it is read-only for programs; what is
    /// mounted there cannot be removed.
    pub(crate) fn note_failure(&mut self, place: &Place, error: Errno) -> Step<()> {
        if !matches!(error, Errno::ROFS | Errno::BUSY) {
            return Ok(());
        }
        self.note_denied(Denied::ReadOnly(place.clone())).map_err(refuse)
    }

    /// Notes a write outside of the tree that the kernel will deny because of a read-only mount.
    pub(crate) fn note_outside(&mut self, directory: &OwnedFd, name: &[u8]) -> Step<()> {
        let is_read_only =
            fstatvfs(directory).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
        if self.sockets.is_none() || !is_read_only {
            return Ok(());
        }
        let mut path = path_of(self.tree.own_files(), directory)?;
        if !name.is_empty() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        self.note_denied(Denied::ReadOnly(Place::Outside(path))).map_err(refuse)
    }

    pub(crate) fn note_denied(&mut self, denied: Denied) -> std::io::Result<()> {
        if self.denied.len() < MAX_DENIED && self.denied.insert(denied.clone()) {
            self.append(&FileEvent::Denied(denied))?;
        }
        Ok(())
    }
}

fn node_of(sight: &Sight) -> NewNode {
    if sight.is_directory() {
        NewNode::Directory
    } else if sight.is_link() {
        NewNode::Link
    } else if sight.is_file() {
        NewNode::File
    } else {
        NewNode::Special
    }
}
