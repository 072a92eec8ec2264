//! The identity of a file and the version of its content.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs as sys;
use serde::{Deserialize, Serialize};

/// The permission bits of a mode.
#[allow(clippy::cast_possible_truncation, reason = "a mode has 16 bits on some systems")]
pub(super) fn mode(bits: u32) -> sys::Mode {
    sys::Mode::from_raw_mode(bits as sys::RawMode)
}

/// The type of a file with this mode.
#[allow(clippy::cast_possible_truncation, reason = "a mode has 16 bits on some systems")]
pub(super) fn file_type(mode: u32) -> sys::FileType {
    sys::FileType::from_raw_mode(mode as sys::RawMode)
}

/// Identifies a file's inode and the last write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content: seconds and nanoseconds.
    pub mtime: (i64, u32),
    /// Last change of the inode: seconds and nanoseconds.
    pub ctime: (i64, u32),
    /// File type and permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// The identity of the inode: device and inode number.
    #[must_use]
    pub fn inode(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// When the content was last written.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        let seconds = Duration::from_secs(self.mtime.0.unsigned_abs());
        let second = if self.mtime.0 < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
        second + Duration::from_nanos(self.mtime.1.into())
    }

    /// The stat of the file or directory at `path`, following links; `None` if there is none.
    #[must_use]
    pub fn of_target(path: &std::path::Path) -> Option<Stat> {
        sys::stat(path).ok().map(|stat| Stat::from(&stat))
    }

    /// When the inode was last changed.
    #[must_use]
    pub fn changed(&self) -> SystemTime {
        Stat { mtime: self.ctime, ..*self }.modified()
    }

    /// Whether both are the same inode with the same size and last write.
    #[must_use]
    pub fn same_content_as(&self, other: &Stat) -> bool {
        (self.dev, self.ino, self.size, self.mtime)
            == (other.dev, other.ino, other.size, other.mtime)
    }

    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    #[must_use]
    pub fn is_directory(&self) -> bool {
        file_type(self.mode) == sys::FileType::Directory
    }

    /// Whether it is a FIFO, a socket or a device. Reading one may block.
    #[must_use]
    pub fn is_special(&self) -> bool {
        use sys::FileType::{Directory, RegularFile, Symlink};
        !matches!(file_type(self.mode), Directory | RegularFile | Symlink)
    }

    /// Whether the owner may execute it: Git's executable bit.
    #[must_use]
    pub fn executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

impl From<&sys::Stat> for Stat {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::useless_conversion
    )]
    fn from(st: &sys::Stat) -> Stat {
        Stat {
            dev: st.st_dev as u64,
            ino: st.st_ino as u64,
            size: st.st_size as u64,
            mtime: (st.st_mtime as i64, st.st_mtime_nsec as u32),
            ctime: (st.st_ctime as i64, st.st_ctime_nsec as u32),
            mode: st.st_mode as u32,
            uid: st.st_uid,
            gid: st.st_gid,
        }
    }
}
