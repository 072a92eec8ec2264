//! Executes calls for the program, with its rights: inside the same Landlock rules and with its
//! umask.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, linkat, mkdirat, mknodat, openat,
    renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::store::own_path;

/// A directory and a name in it.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) directory: Arc<OwnedFd>,
    pub(crate) name: Vec<u8>,
}

/// A name without the slashes that may follow it.
pub(crate) fn trimmed(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    &name[..end]
}

/// One call, with all paths resolved.
#[derive(Debug)]
pub(crate) enum Deed {
    Unlink(Slot),
    RemoveDirectory(Slot),
    MakeDirectory(Slot, Mode),
    MakeNode(Slot, FileType, Mode, u64),
    MakeLink(Vec<u8>, Slot),
    /// A further name of an open file.
    Name(Arc<OwnedFd>, Slot),
    Rename(Slot, Slot, RenameFlags),
    /// Makes a file that does not exist.
    Create(Slot, OFlags, Mode),
    /// Opens the file of an `O_PATH` descriptor.
    Open(Arc<OwnedFd>, OFlags),
    Truncate(Arc<OwnedFd>, u64),
}

/// The umask for one call.
pub(crate) type Umask = u32;

type Done = rustix::io::Result<Option<OwnedFd>>;

/// The rights with which the recorder acts for the program.
pub enum Rights {
    /// Those of the thread that serves: the program has no Landlock rules.
    Own,
    /// Those of a thread that this function confines as the program is confined.
    Confined(Box<dyn FnOnce() -> Result<(), String> + Send>),
}

impl std::fmt::Debug for Rights {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Rights::Own => "Own",
            Rights::Confined(_) => "Confined",
        })
    }
}

/// What executes.
#[derive(Debug)]
pub(crate) enum Hands {
    Here { umask: Option<Umask> },
    There { requests: SyncSender<(Deed, Umask)>, done: Receiver<Done>, thread: JoinHandle<()> },
}

impl Hands {
    /// Call it in the thread that serves: it changes that thread's umask.
    pub(crate) fn start(rights: Rights) -> Result<Hands, String> {
        let confine = match rights {
            Rights::Own => {
                own_umask()?;
                return Ok(Hands::Here { umask: None });
            }
            Rights::Confined(confine) => confine,
        };
        let (requests, incoming) = sync_channel::<(Deed, Umask)>(1);
        let (outgoing, done) = sync_channel(1);
        let (ready, is_ready) = sync_channel(1);
        let work = move || {
            let prepared = own_umask().and_then(|()| confine());
            let failed = prepared.is_err();
            let _ = ready.send(prepared);
            if failed {
                return;
            }
            let mut current = None;
            for (deed, umask) in incoming {
                set_umask(&mut current, umask);
                if outgoing.send(execute(&deed)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("edt-hands".to_owned())
            .spawn(work)
            .map_err(|error| error.to_string())?;
        is_ready.recv().map_err(|error| error.to_string())??;
        Ok(Hands::There { requests, done, thread })
    }

    pub(crate) fn execute(&mut self, deed: Deed, mask: Umask) -> Done {
        match self {
            Hands::Here { umask } => {
                set_umask(umask, mask);
                execute(&deed)
            }
            Hands::There { requests, done, .. } => {
                requests.send((deed, mask)).map_err(|_| Errno::IO)?;
                done.recv().map_err(|_| Errno::IO)?
            }
        }
    }

    pub(crate) fn stop(self) {
        if let Hands::There { requests, done, thread } = self {
            drop((requests, done));
            let _ = thread.join();
        }
    }
}

/// Gives this thread an umask that other threads do not share.
fn own_umask() -> Result<(), String> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).map_err(|error| error.to_string())
}

fn set_umask(current: &mut Option<Umask>, umask: Umask) {
    if *current != Some(umask) {
        rustix::process::umask(Mode::from_bits_truncate(umask));
        *current = Some(umask);
    }
}

fn execute(deed: &Deed) -> Done {
    let empty = AtFlags::empty();
    match deed {
        Deed::Unlink(slot) => unlinkat(&slot.directory, &slot.name[..], empty)?,
        Deed::RemoveDirectory(slot) => {
            unlinkat(&slot.directory, &slot.name[..], AtFlags::REMOVEDIR)?;
        }
        Deed::MakeDirectory(slot, mode) => mkdirat(&slot.directory, &slot.name[..], *mode)?,
        Deed::MakeNode(slot, kind, mode, device) => {
            mknodat(&slot.directory, &slot.name[..], *kind, *mode, *device)?;
        }
        Deed::MakeLink(target, slot) => symlinkat(&target[..], &slot.directory, &slot.name[..])?,
        Deed::Name(file, slot) => {
            let follow = AtFlags::SYMLINK_FOLLOW;
            linkat(CWD, own_path(file), &slot.directory, &slot.name[..], follow)?;
        }
        Deed::Rename(from, to, flags) => {
            renameat_with(&from.directory, &from.name[..], &to.directory, &to.name[..], *flags)?;
        }
        Deed::Create(slot, flags, mode) => {
            let flags = *flags | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            return openat(&slot.directory, &slot.name[..], flags, *mode).map(Some);
        }
        Deed::Open(file, flags) => {
            let flags = (*flags - OFlags::CREATE - OFlags::NOFOLLOW) | OFlags::CLOEXEC;
            return openat(CWD, own_path(file), flags, Mode::empty()).map(Some);
        }
        Deed::Truncate(file, size) => {
            let writable = openat(CWD, own_path(file), OFlags::WRONLY, Mode::empty())?;
            rustix::fs::ftruncate(&writable, *size)?;
        }
    }
    Ok(None)
}
