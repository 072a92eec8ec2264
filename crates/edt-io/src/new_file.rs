//! What a new file is like, and how it takes its name.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs as sys;

use super::effect::{self, SideEffect};
use super::stat::{Stat, mode};

/// The permissions of a new file.
#[derive(Debug, Clone, Copy)]
pub enum Perms {
    /// 0666 or 0777, less the process's umask.
    Usual { executable: bool },
    /// Those of the file that is replaced, including owner and group, with this executable bit.
    Of(Stat, bool),
    /// Exactly these bits, less the umask.
    Exactly(u32),
}

/// How a rename treats an existing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameMode {
    /// Fails if the target exists.
    NoReplace,
    /// Exchanges the two files.
    Exchange,
    /// Replaces the target.
    Replace,
}

/// Gives a new file the owner and mode of `perms`.
pub(super) fn finish(file: &File, name: &Path, perms: Perms) -> io::Result<()> {
    if let Perms::Of(like, executable) = perms {
        let mine = Stat::from(&sys::fstat(file)?);
        if (mine.uid, mine.gid) != (like.uid, like.gid) {
            // Without permission to change the owner, the file stays owned by this user. That is
            // better than no edit.
            let (uid, gid) = (sys::Uid::from_raw(like.uid), sys::Gid::from_raw(like.gid));
            let _ = effect::step(SideEffect::Owner, name)
                .map(|()| sys::fchown(file, Some(uid), Some(gid)));
        }
        let read = like.mode & 0o444;
        let bits = if executable { like.mode & 0o7777 | read >> 2 } else { like.mode & 0o7666 };
        if bits != mine.mode & 0o7777 {
            effect::step(SideEffect::Mode, name)?;
            sys::fchmod(file, mode(bits))?;
        }
    }
    Ok(())
}
