//! Which system calls are notified, and the BPF filter made from that table.

use nix::libc;
use nix::libc::sock_filter;

/// When the action of a rule applies. Else the call is allowed.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Always,
    /// The argument has the flags of an `open` that may change a file.
    WritingOpen(u32),
    /// The argument has one of these bits.
    Has(u32, u32),
    /// Both arguments have these values.
    Are((u32, u32), (u32, u32)),
}

use Condition::{Always, Are, Has, WritingOpen};

type Rule = (libc::c_long, Condition, u32);

const NOTIFY: u32 = 0x7FC0_0000;
const ALLOW: u32 = 0x7FFF_0000;
const FAIL: u32 = 0x0005_0000;

const fn bits(value: i32) -> u32 {
    value.cast_unsigned()
}

const PERM: u32 = FAIL | bits(libc::EPERM);
const NOT_IMPLEMENTED: u32 = FAIL | bits(libc::ENOSYS);
/// The call succeeds without an effect.
const NO_EFFECT: u32 = FAIL;

/// `O_TMPFILE` contains `O_DIRECTORY`.
const UNNAMED: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
pub(crate) const CHANGES: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | UNNAMED;

/// Numbers that the C library does not name on every system.
pub(crate) mod number {
    use nix::libc::c_long;
    pub(crate) const LANDLOCK_RESTRICT_SELF: c_long = 446;
    pub(crate) const FCHMODAT2: c_long = 452;
    pub(crate) const SETXATTRAT: c_long = 463;
    pub(crate) const REMOVEXATTRAT: c_long = 466;
    pub(crate) const FILE_SETATTR: c_long = 469;
}

/// The calls that are frequent come first: a filter is a list.
const RULES: &[Rule] = &[
    (libc::SYS_openat, WritingOpen(2), NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, WritingOpen(1), NOTIFY),
    // Its flags are in memory, which a filter cannot read.
    (libc::SYS_openat2, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, Always, NOTIFY),
    (libc::SYS_truncate, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, Always, NOTIFY),
    (libc::SYS_renameat, Always, NOTIFY),
    (libc::SYS_renameat2, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, Always, NOTIFY),
    (libc::SYS_unlinkat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, Always, NOTIFY),
    (libc::SYS_mkdirat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, Always, NOTIFY),
    (libc::SYS_linkat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, Always, NOTIFY),
    (libc::SYS_symlinkat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, Always, NOTIFY),
    (libc::SYS_mknodat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, Always, NOTIFY),
    (libc::SYS_fchmod, Always, NOTIFY),
    (libc::SYS_fchmodat, Always, NOTIFY),
    (number::FCHMODAT2, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, Always, NOTIFY),
    (libc::SYS_fchown, Always, NOTIFY),
    (libc::SYS_fchownat, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utime, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utimes, Always, NOTIFY),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_futimesat, Always, NOTIFY),
    (libc::SYS_utimensat, Always, NOTIFY),
    // The name of a Unix socket.
    (libc::SYS_bind, Always, NOTIFY),
    (libc::SYS_setxattr, Always, NOTIFY),
    (libc::SYS_lsetxattr, Always, NOTIFY),
    (libc::SYS_fsetxattr, Always, NOTIFY),
    (number::SETXATTRAT, Always, NOTIFY),
    (libc::SYS_removexattr, Always, NOTIFY),
    (libc::SYS_lremovexattr, Always, NOTIFY),
    (libc::SYS_fremovexattr, Always, NOTIFY),
    (number::REMOVEXATTRAT, Always, NOTIFY),
    (number::FILE_SETATTR, Always, NOTIFY),
    // Afterwards the recorder must not act for the program, or would need another umask.
    (libc::SYS_umask, Always, NOTIFY),
    (number::LANDLOCK_RESTRICT_SELF, Always, NOTIFY),
    (libc::SYS_setuid, Always, NOTIFY),
    (libc::SYS_setgid, Always, NOTIFY),
    (libc::SYS_setreuid, Always, NOTIFY),
    (libc::SYS_setregid, Always, NOTIFY),
    (libc::SYS_setresuid, Always, NOTIFY),
    (libc::SYS_setresgid, Always, NOTIFY),
    (libc::SYS_setfsuid, Always, NOTIFY),
    (libc::SYS_setfsgid, Always, NOTIFY),
    (libc::SYS_setgroups, Always, NOTIFY),
    (libc::SYS_capset, Always, NOTIFY),
    (libc::SYS_setns, Always, NOTIFY),
    (libc::SYS_unshare, Has(0, bits(libc::CLONE_NEWUSER)), NOTIFY),
    // No kernel has it any more: programs ask with it whether they are recorded.
    (libc::SYS_nfsservctl, Always, NOTIFY),
    // These open and write files without a call that is notified.
    (libc::SYS_io_uring_setup, Always, PERM),
    (libc::SYS_open_by_handle_at, Always, PERM),
    // The recorder could not read the paths of such a process.
    (libc::SYS_prctl, Are((0, bits(libc::PR_SET_DUMPABLE)), (1, 0)), NO_EFFECT),
];

/// `AUDIT_ARCH_*` of the target. Calls of any other architecture do not exist.
#[cfg(target_arch = "x86_64")]
pub(crate) const MACHINE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
pub(crate) const MACHINE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const MACHINE: Option<u32> = None;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_HAS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The calls that make and connect sockets.
const SOCKETS: [Rule; 2] =
    [(libc::SYS_socket, Always, NOTIFY), (libc::SYS_connect, Always, NOTIFY)];

/// The filter for `machine`; `with_sockets`: also of sockets.
pub(crate) fn program(machine: u32, with_sockets: bool) -> Vec<sock_filter> {
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        jump(IF_EQUAL, machine, 1, 0),
        instruction(RETURN, NOT_IMPLEMENTED),
        instruction(LOAD, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The x32 ABI has other numbers for the same calls.
        program.push(jump(IF_AT_LEAST, 0x4000_0000, 0, 1));
        program.push(instruction(RETURN, NOT_IMPLEMENTED));
    }
    let sockets: &[Rule] = if with_sockets { &SOCKETS } else { &[] };
    for (number, condition, action) in RULES.iter().chain(sockets) {
        let body = body(*condition, *action);
        let skip = u8::try_from(body.len()).unwrap_or(u8::MAX);
        program.push(jump(IF_EQUAL, u32::try_from(*number).unwrap_or(u32::MAX), 0, skip));
        program.extend(body);
    }
    program.push(instruction(RETURN, ALLOW));
    program
}

fn body(condition: Condition, action: u32) -> Vec<sock_filter> {
    let load = |argument: u32| instruction(LOAD, ARGUMENTS + 8 * argument);
    let (act, allow) = (instruction(RETURN, action), instruction(RETURN, ALLOW));
    match condition {
        Always => vec![act],
        // With O_PATH the kernel ignores the flags that write.
        WritingOpen(argument) => vec![
            load(argument),
            jump(IF_HAS, bits(libc::O_PATH), 2, 0),
            jump(IF_HAS, bits(CHANGES), 0, 1),
            act,
            allow,
        ],
        Has(argument, mask) => vec![load(argument), jump(IF_HAS, mask, 0, 1), act, allow],
        Are((first, one), (second, other)) => vec![
            load(first),
            jump(IF_EQUAL, one, 0, 3),
            load(second),
            jump(IF_EQUAL, other, 0, 1),
            act,
            allow,
        ],
    }
}

fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does.
    fn action(architecture: u32, number: i64, args: &[i32]) -> u32 {
        let program = program(MACHINE.unwrap(), true);
        let word = |offset: u32| match offset {
            NUMBER => u32::try_from(number).unwrap(),
            ARCHITECTURE => architecture,
            offset => args.get(((offset - ARGUMENTS) / 8) as usize).map_or(0, |arg| bits(*arg)),
        };
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let branch = |taken: bool| usize::from(if taken { jt } else { jf });
            at += 1 + match code {
                LOAD => {
                    accumulator = word(k);
                    0
                }
                IF_EQUAL => branch(accumulator == k),
                IF_AT_LEAST => branch(accumulator >= k),
                IF_HAS => branch(accumulator & k != 0),
                RETURN => return k,
                _ => panic!("the instruction {code:#x} is unknown"),
            };
        }
    }

    fn here(number: i64, args: &[i32]) -> u32 {
        action(MACHINE.unwrap(), number, args)
    }

    #[test]
    fn reading_is_never_notified() {
        for number in [libc::SYS_read, libc::SYS_write, libc::SYS_execve, libc::SYS_statx] {
            assert_eq!(here(number, &[]), ALLOW, "{number}");
        }
        for flags in [libc::O_RDONLY, libc::O_DIRECTORY, libc::O_PATH | libc::O_RDWR] {
            assert_eq!(here(libc::SYS_openat, &[3, 0, flags]), ALLOW, "{flags:o}");
        }
    }

    #[test]
    fn every_open_that_may_change_a_file_is_notified() {
        let flags = [
            libc::O_WRONLY,
            libc::O_RDWR,
            libc::O_TRUNC,
            libc::O_CREAT,
            libc::O_TMPFILE | libc::O_RDWR,
            libc::O_ACCMODE,
        ];
        for flags in flags {
            assert_eq!(here(libc::SYS_openat, &[3, 0, flags]), NOTIFY, "{flags:o}");
        }
        assert_eq!(here(libc::SYS_openat2, &[]), NOTIFY);
    }

    #[test]
    fn every_rule_without_a_condition_has_its_action() {
        for (number, condition, wanted) in RULES {
            if matches!(condition, Always) {
                assert_eq!(here(*number, &[]), *wanted, "{number}");
            }
        }
    }

    #[test]
    fn other_architectures_have_no_calls() {
        let other = MACHINE.unwrap() ^ 1;
        assert_eq!(action(other, libc::SYS_read, &[]), NOT_IMPLEMENTED);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(here(libc::SYS_read + 0x4000_0000, &[]), NOT_IMPLEMENTED);
    }

    #[test]
    fn a_process_stays_readable() {
        assert_eq!(here(libc::SYS_prctl, &[libc::PR_SET_DUMPABLE, 0]), NO_EFFECT);
        assert_eq!(here(libc::SYS_prctl, &[libc::PR_SET_DUMPABLE, 1]), ALLOW);
        assert_eq!(here(libc::SYS_prctl, &[libc::PR_SET_NAME, 0]), ALLOW);
    }

    #[test]
    fn a_new_user_namespace_is_notified() {
        assert_eq!(here(libc::SYS_unshare, &[libc::CLONE_NEWUSER]), NOTIFY);
        assert_eq!(here(libc::SYS_unshare, &[libc::CLONE_FS]), ALLOW);
    }

    #[test]
    fn every_jump_stays_in_the_filter() {
        let program = program(MACHINE.unwrap(), true);
        for (at, one) in program.iter().enumerate() {
            let far = usize::from(one.jt.max(one.jf));
            assert!(at + 1 + far < program.len() || one.code == RETURN, "{at}");
        }
    }
}
