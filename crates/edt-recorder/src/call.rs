//! The calls that are notified, with their arguments by meaning.

use nix::libc;

use crate::filter::number;
use crate::kernel::Notice;

/// A path argument: the directory from which it starts, and the address of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathArg {
    pub(crate) directory: i32,
    pub(crate) address: u64,
}

/// A file whose attributes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An open file.
    Open(i32),
    Path(PathArg),
    /// The link itself.
    Link(PathArg),
    /// An open file if the path is empty.
    PathOrOpen(PathArg),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Open {
        path: PathArg,
        flags: i32,
        mode: u32,
    },
    /// `openat2`: `how` is the address of flags, mode and rules.
    OpenHow {
        path: PathArg,
        how: u64,
    },
    Truncate {
        path: PathArg,
        size: u64,
    },
    Rename {
        from: PathArg,
        to: PathArg,
        flags: u32,
    },
    Unlink {
        path: PathArg,
    },
    RemoveDirectory {
        path: PathArg,
    },
    MakeDirectory {
        path: PathArg,
        mode: u32,
    },
    MakeNode {
        path: PathArg,
        mode: u32,
    },
    MakeLink {
        target: u64,
        path: PathArg,
    },
    /// `address` and `length` of what may be the name of a Unix socket.
    Bind {
        address: u64,
        length: u64,
    },
    Name {
        from: PathArg,
        to: PathArg,
        flags: i32,
    },
    Attributes {
        of: Subject,
        extended: bool,
    },
    Umask,
    /// The thread changes what it may do.
    Rights,
    /// A new socket.
    Socket {
        family: i32,
        kind: i32,
    },
    Connect {
        file: i32,
        address: u64,
        length: u64,
    },
    /// The thread asks which recorder is above it.
    Mark,
}

const AT: i32 = libc::AT_FDCWD;

impl Call {
    /// `None` for a call that the filter does not notify.
    pub(crate) fn of(notice: &Notice) -> Option<Call> {
        let args = &notice.args;
        // The kernel reads these as numbers of 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "the kernel truncates as well")]
        let int = |at: usize| args[at] as u32;
        let path = |directory: usize, address: usize| PathArg {
            directory: int(directory).cast_signed(),
            address: args[address],
        };
        let here = |address: usize| PathArg { directory: AT, address: args[address] };
        let flags = |at: usize| int(at).cast_signed();
        let subject = |path: PathArg, flags: i32| {
            if flags & libc::AT_EMPTY_PATH != 0 {
                Subject::PathOrOpen(path)
            } else if flags & libc::AT_SYMLINK_NOFOLLOW != 0 {
                Subject::Link(path)
            } else {
                Subject::Path(path)
            }
        };
        let attributes = |of: Subject| Call::Attributes { of, extended: false };
        let extended = |of: Subject| Call::Attributes { of, extended: true };
        let open_or = |directory: usize, path: Subject, address: u64| {
            if address == 0 { Subject::Open(int(directory).cast_signed()) } else { path }
        };
        #[cfg(target_arch = "x86_64")]
        {
            let creat = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            let old = match notice.number {
                libc::SYS_open => Some(Call::Open { path: here(0), flags: flags(1), mode: int(2) }),
                libc::SYS_creat => Some(Call::Open { path: here(0), flags: creat, mode: int(1) }),
                libc::SYS_rename => Some(Call::Rename { from: here(0), to: here(1), flags: 0 }),
                libc::SYS_unlink => Some(Call::Unlink { path: here(0) }),
                libc::SYS_rmdir => Some(Call::RemoveDirectory { path: here(0) }),
                libc::SYS_mkdir => Some(Call::MakeDirectory { path: here(0), mode: int(1) }),
                libc::SYS_link => Some(Call::Name { from: here(0), to: here(1), flags: 0 }),
                libc::SYS_symlink => Some(Call::MakeLink { target: args[0], path: here(1) }),
                libc::SYS_mknod => Some(Call::MakeNode { path: here(0), mode: int(1) }),
                libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
                    Some(attributes(Subject::Path(here(0))))
                }
                libc::SYS_lchown => Some(attributes(Subject::Link(here(0)))),
                libc::SYS_futimesat => {
                    Some(attributes(open_or(0, Subject::Path(path(0, 1)), args[1])))
                }
                _ => None,
            };
            if old.is_some() {
                return old;
            }
        }
        Some(match notice.number {
            libc::SYS_openat => Call::Open { path: path(0, 1), flags: flags(2), mode: int(3) },
            libc::SYS_openat2 => Call::OpenHow { path: path(0, 1), how: args[2] },
            libc::SYS_truncate => Call::Truncate { path: here(0), size: args[1] },
            libc::SYS_renameat => Call::Rename { from: path(0, 1), to: path(2, 3), flags: 0 },
            // The kernel refuses flags that it does not know.
            libc::SYS_renameat2 if int(4) & !RENAME_FLAGS != 0 => return None,
            libc::SYS_unlinkat if flags(2) & !libc::AT_REMOVEDIR != 0 => return None,
            libc::SYS_linkat if flags(4) & !LINK_FLAGS != 0 => return None,
            libc::SYS_renameat2 => Call::Rename { from: path(0, 1), to: path(2, 3), flags: int(4) },
            libc::SYS_unlinkat if flags(2) & libc::AT_REMOVEDIR != 0 => {
                Call::RemoveDirectory { path: path(0, 1) }
            }
            libc::SYS_unlinkat => Call::Unlink { path: path(0, 1) },
            libc::SYS_mkdirat => Call::MakeDirectory { path: path(0, 1), mode: int(2) },
            libc::SYS_mknodat => Call::MakeNode { path: path(0, 1), mode: int(2) },
            libc::SYS_symlinkat => Call::MakeLink { target: args[0], path: path(1, 2) },
            libc::SYS_linkat => Call::Name { from: path(0, 1), to: path(2, 3), flags: flags(4) },
            libc::SYS_fchmod | libc::SYS_fchown => attributes(Subject::Open(flags(0))),
            libc::SYS_fchmodat => attributes(Subject::Path(path(0, 1))),
            number::FCHMODAT2 => attributes(subject(path(0, 1), flags(3))),
            libc::SYS_fchownat | number::FILE_SETATTR => attributes(subject(path(0, 1), flags(4))),
            libc::SYS_utimensat => attributes(open_or(0, subject(path(0, 1), flags(3)), args[1])),
            libc::SYS_setxattr | libc::SYS_removexattr => extended(Subject::Path(here(0))),
            libc::SYS_lsetxattr | libc::SYS_lremovexattr => extended(Subject::Link(here(0))),
            libc::SYS_fsetxattr | libc::SYS_fremovexattr => extended(Subject::Open(flags(0))),
            libc::SYS_socket => Call::Socket { family: flags(0), kind: flags(1) },
            libc::SYS_connect => {
                Call::Connect { file: flags(0), address: args[1], length: args[2] }
            }
            libc::SYS_bind => Call::Bind { address: args[1], length: args[2] },
            number::SETXATTRAT | number::REMOVEXATTRAT => extended(subject(path(0, 1), flags(2))),
            libc::SYS_umask => Call::Umask,
            libc::SYS_nfsservctl => Call::Mark,
            number::LANDLOCK_RESTRICT_SELF
            | libc::SYS_setuid
            | libc::SYS_setgid
            | libc::SYS_setreuid
            | libc::SYS_setregid
            | libc::SYS_setresuid
            | libc::SYS_setresgid
            | libc::SYS_setfsuid
            | libc::SYS_setfsgid
            | libc::SYS_setgroups
            | libc::SYS_capset
            | libc::SYS_setns
            | libc::SYS_unshare => Call::Rights,
            _ => return None,
        })
    }
}

/// The flags of `renameat2` and of `linkat`.
const RENAME_FLAGS: u32 = libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE | libc::RENAME_WHITEOUT;
const LINK_FLAGS: i32 = libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH;

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: libc::c_long, args: [u64; 6]) -> Option<Call> {
        Call::of(&Notice { id: 0, thread: 0, number, args })
    }

    #[test]
    fn a_negative_directory_is_the_working_directory() {
        let here = u64::from(AT.cast_unsigned());
        let found = call(libc::SYS_unlinkat, [here, 7, 0, 0, 0, 0]);
        assert_eq!(found, Some(Call::Unlink { path: PathArg { directory: AT, address: 7 } }));
        let found = call(libc::SYS_unlinkat, [here, 7, 0x200, 0, 0, 0]);
        let path = PathArg { directory: AT, address: 7 };
        assert_eq!(found, Some(Call::RemoveDirectory { path }));
    }

    #[test]
    fn times_without_a_path_are_those_of_an_open_file() {
        let of = Subject::Open(5);
        let expected = Some(Call::Attributes { of, extended: false });
        assert_eq!(call(libc::SYS_utimensat, [5, 0, 0, 0, 0, 0]), expected);
    }
}
