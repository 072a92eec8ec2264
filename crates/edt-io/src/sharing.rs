//! Permissions of what is created in a repository that several users share
//! (`core.sharedRepository`).

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::fs;

/// Whom Git lets use a repository besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Whom the umask lets.
    Umask,
    /// At least these bits are added.
    AtLeast(u32),
    /// Exactly these bits, whatever the umask is.
    Exactly(u32),
}

impl Sharing {
    /// Reads a value of `core.sharedRepository`, as Git does (`git_config_perm`); `None` if Git
    /// refuses it.
    #[must_use]
    pub fn parse(value: &str) -> Option<Sharing> {
        const GROUP: Sharing = Sharing::AtLeast(0o660);
        const EVERYBODY: Sharing = Sharing::AtLeast(0o664);
        match value.to_ascii_lowercase().as_str() {
            "umask" | "false" | "no" | "off" | "0" => return Some(Sharing::Umask),
            "group" | "true" | "yes" | "on" | "1" => return Some(GROUP),
            "all" | "world" | "everybody" | "2" => return Some(EVERYBODY),
            _ => {}
        }
        match u32::from_str_radix(value, 8).ok()? {
            bits if bits & 0o600 == 0o600 => Some(Sharing::Exactly(bits & 0o666)),
            _ => None,
        }
    }

    /// The mode that Git gives to a file or directory with `mode` (`calc_shared_perm`).
    #[must_use]
    fn of(self, mode: u32, is_directory: bool) -> u32 {
        let (bits, exact) = match self {
            Sharing::Umask => return mode,
            Sharing::AtLeast(bits) => (bits, false),
            Sharing::Exactly(bits) => (bits, true),
        };
        let bits = if mode & 0o200 == 0 { bits & !0o222 } else { bits };
        let bits = if mode & 0o100 == 0 { bits } else { bits | (bits & 0o444) >> 2 };
        let mode = if exact { mode & !0o777 | bits } else { mode | bits };
        if !is_directory {
            return mode;
        }
        let mode = mode | (mode & 0o444) >> 2;
        // New files get the directory's group.
        if mode & 0o060 == (mode & 0o006) << 3 { mode } else { mode | 0o2000 }
    }

    /// Gives the new file or directory at `path` the permissions of a shared repository. Only its
    /// owner can; what another user made has them already.
    ///
    /// # Errors
    /// Any error of the operating system but a denied one.
    pub fn apply(self, path: &Path) -> io::Result<()> {
        if self == Sharing::Umask {
            return Ok(());
        }
        let meta = std::fs::symlink_metadata(path)?;
        let mode = meta.permissions().mode() & 0o7777;
        let wanted = self.of(mode, meta.is_dir());
        if wanted == mode || meta.is_symlink() {
            return Ok(());
        }
        match fs::set_mode(path, wanted) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_git_reads_them() {
        let group = Some(Sharing::AtLeast(0o660));
        assert_eq!(["group", "TRUE", "1"].map(Sharing::parse), [group; 3]);
        assert_eq!(Sharing::parse("world"), Some(Sharing::AtLeast(0o664)));
        assert_eq!(Sharing::parse("0"), Some(Sharing::Umask));
        assert_eq!(Sharing::parse("0640"), Some(Sharing::Exactly(0o640)));
        assert_eq!(["0040", "everyone", ""].map(Sharing::parse), [None; 3]);
    }

    #[test]
    fn modes_are_those_of_git() {
        let group = Sharing::AtLeast(0o660);
        assert_eq!(group.of(0o600, false), 0o660);
        assert_eq!(group.of(0o400, false), 0o440, "an object stays read-only");
        assert_eq!(group.of(0o700, true), 0o2770);
        assert_eq!(Sharing::AtLeast(0o664).of(0o700, true), 0o2775);
        assert_eq!(Sharing::Exactly(0o640).of(0o666, false), 0o640);
        assert_eq!(Sharing::Exactly(0o640).of(0o777, true), 0o2750);
        assert_eq!(Sharing::Umask.of(0o600, false), 0o600);
    }
}
