//! The system calls that are denied to a confined program: a table, and the BPF filter made from
//! it.

use nix::libc;
use seccompiler::sock_filter;

/// When a call is denied.
#[derive(Debug, Clone, Copy)]
enum Condition {
    Always,
    /// The argument with this index is one of these values.
    Is(u32, &'static [u32]),
    /// The argument is none of these values.
    IsNot(u32, &'static [u32]),
    /// The argument has one of these bits.
    Has(u32, u32),
    /// Both arguments have one of their bits.
    HasBoth((u32, u32), (u32, u32)),
    /// The bits of this mask in the argument are one of these values.
    Masked(u32, u32, &'static [u32]),
}

type SyscallRule = (libc::c_long, &'static [Condition], i32);

const ALWAYS: &[Condition] = &[Condition::Always];

#[expect(clippy::cast_sign_loss, reason = "positive constants of the C library")]
const fn bits(value: i32) -> u32 {
    value as u32
}

const NEW_NAMESPACES: u32 = bits(
    libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET,
);
/// These inject input into a terminal, and access the console's clipboard.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
const UNIX: u32 = bits(libc::AF_UNIX);
const INTERNET: &[u32] = &[bits(libc::AF_INET), bits(libc::AF_INET6)];
/// Socket types, without the flags in the same argument.
const STREAM_OR_DATAGRAM: &[u32] = &[1, 2, 5];

/// Set-user-ID and set-group-ID: a file with one of these gives its rights to whoever executes it.
const SETS_ID: u32 = libc::S_ISUID | libc::S_ISGID;
const FILE_TYPE: u32 = libc::S_IFMT;
const DEVICES: &[u32] = &[libc::S_IFCHR, libc::S_IFBLK];
/// The flags of `open` with which it uses its mode: `O_CREAT`, and `O_TMPFILE` without
/// `O_DIRECTORY`.
const CREATES: u32 = bits(libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY));

/// Calls denied at standard and strict.
const RULES: &[SyscallRule] = &[
    // Access to other processes. Landlock restricts this, too; the filter is a second barrier.
    (libc::SYS_ptrace, ALWAYS, libc::EPERM),
    (libc::SYS_process_vm_readv, ALWAYS, libc::EPERM),
    (libc::SYS_process_vm_writev, ALWAYS, libc::EPERM),
    (libc::SYS_process_madvise, ALWAYS, libc::EPERM),
    (libc::SYS_pidfd_getfd, ALWAYS, libc::EPERM),
    // Changes of other processes of the same user, which Landlock does not restrict. Zero is the
    // caller.
    (libc::SYS_prlimit64, &[Condition::IsNot(0, &[0])], libc::EPERM),
    (libc::SYS_setpriority, &[Condition::IsNot(1, &[0])], libc::EPERM),
    (libc::SYS_ioprio_set, &[Condition::IsNot(1, &[0])], libc::EPERM),
    (libc::SYS_kcmp, ALWAYS, libc::EPERM),
    // Mounts and namespaces.
    (libc::SYS_mount, ALWAYS, libc::EPERM),
    (libc::SYS_umount2, ALWAYS, libc::EPERM),
    (libc::SYS_pivot_root, ALWAYS, libc::EPERM),
    (libc::SYS_chroot, ALWAYS, libc::EPERM),
    (libc::SYS_open_tree, ALWAYS, libc::EPERM),
    (libc::SYS_move_mount, ALWAYS, libc::EPERM),
    (libc::SYS_fsopen, ALWAYS, libc::EPERM),
    (libc::SYS_fsconfig, ALWAYS, libc::EPERM),
    (libc::SYS_fsmount, ALWAYS, libc::EPERM),
    (libc::SYS_fspick, ALWAYS, libc::EPERM),
    (libc::SYS_mount_setattr, ALWAYS, libc::EPERM),
    // open_tree_attr, which the C library does not name yet.
    (467, ALWAYS, libc::EPERM),
    (libc::SYS_unshare, ALWAYS, libc::EPERM),
    (libc::SYS_setns, ALWAYS, libc::EPERM),
    (libc::SYS_clone, &[Condition::Has(0, NEW_NAMESPACES)], libc::EPERM),
    // Its flags are in memory, which a filter cannot read. With ENOSYS libraries fall back to
    // `clone`.
    (libc::SYS_clone3, ALWAYS, libc::ENOSYS),
    // Calls that bypass this filter or have a large attack surface.
    (libc::SYS_io_uring_setup, ALWAYS, libc::EPERM),
    (libc::SYS_io_uring_enter, ALWAYS, libc::EPERM),
    (libc::SYS_io_uring_register, ALWAYS, libc::EPERM),
    (libc::SYS_bpf, ALWAYS, libc::EPERM),
    (libc::SYS_perf_event_open, ALWAYS, libc::EPERM),
    (libc::SYS_userfaultfd, ALWAYS, libc::EPERM),
    (libc::SYS_open_by_handle_at, ALWAYS, libc::EPERM),
    (libc::SYS_fanotify_init, ALWAYS, libc::EPERM),
    // Keyrings.
    (libc::SYS_keyctl, ALWAYS, libc::EPERM),
    (libc::SYS_add_key, ALWAYS, libc::EPERM),
    (libc::SYS_request_key, ALWAYS, libc::EPERM),
    // The machine.
    (libc::SYS_kexec_load, ALWAYS, libc::EPERM),
    (libc::SYS_kexec_file_load, ALWAYS, libc::EPERM),
    (libc::SYS_reboot, ALWAYS, libc::EPERM),
    (libc::SYS_init_module, ALWAYS, libc::EPERM),
    (libc::SYS_finit_module, ALWAYS, libc::EPERM),
    (libc::SYS_delete_module, ALWAYS, libc::EPERM),
    (libc::SYS_swapon, ALWAYS, libc::EPERM),
    (libc::SYS_swapoff, ALWAYS, libc::EPERM),
    (libc::SYS_settimeofday, ALWAYS, libc::EPERM),
    (libc::SYS_clock_settime, ALWAYS, libc::EPERM),
    (libc::SYS_sethostname, ALWAYS, libc::EPERM),
    (libc::SYS_setdomainname, ALWAYS, libc::EPERM),
    (libc::SYS_acct, ALWAYS, libc::EPERM),
    (libc::SYS_quotactl, ALWAYS, libc::EPERM),
    (libc::SYS_syslog, ALWAYS, libc::EPERM),
    (libc::SYS_vhangup, ALWAYS, libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, ALWAYS, libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, ALWAYS, libc::EPERM),
    // Files that give their rights away, and devices.
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, &[Condition::Has(1, SETS_ID)], libc::EPERM),
    (libc::SYS_fchmod, &[Condition::Has(1, SETS_ID)], libc::EPERM),
    (libc::SYS_fchmodat, &[Condition::Has(2, SETS_ID)], libc::EPERM),
    // fchmodat2, which the C library does not name on every system.
    (452, &[Condition::Has(2, SETS_ID)], libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, &[Condition::Has(1, SETS_ID)], libc::EPERM),
    (libc::SYS_mkdirat, &[Condition::Has(2, SETS_ID)], libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, &[Condition::Has(1, SETS_ID)], libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[Condition::HasBoth((1, CREATES), (2, SETS_ID))], libc::EPERM),
    (libc::SYS_openat, &[Condition::HasBoth((2, CREATES), (3, SETS_ID))], libc::EPERM),
    // Its mode is in memory, which a filter cannot read. With ENOSYS programs fall back to
    // `openat`.
    (libc::SYS_openat2, ALWAYS, libc::ENOSYS),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, NEW_NODE[0], libc::EPERM),
    (libc::SYS_mknodat, NEW_NODE[1], libc::EPERM),
    // Terminals.
    (libc::SYS_ioctl, &[Condition::Is(1, &[TIOCSTI, TIOCLINUX])], libc::EPERM),
    // Socket pairs are used as pipes, which need only AF_UNIX. One of datagrams could send to any
    // path.
    (
        libc::SYS_socketpair,
        &[Condition::IsNot(0, &[UNIX]), Condition::IsNot(1 | KIND, &[1, 5])],
        libc::EACCES,
    ),
];

/// Of `mknod` and of `mknodat`.
const NEW_NODE: [&[Condition]; 2] = [
    &[Condition::Has(1, SETS_ID), Condition::Masked(1, FILE_TYPE, DEVICES)],
    &[Condition::Has(2, SETS_ID), Condition::Masked(2, FILE_TYPE, DEVICES)],
];

/// Without a network namespace all sockets are denied, including Unix sockets: key agents, Docker,
/// D-Bus.
static NO_SOCKETS: SyscallRule = (libc::SYS_socket, ALWAYS, libc::EACCES);
/// In a network namespace, Internet sockets reach only the loopback device.
static OWN_SOCKETS: SyscallRule = (
    libc::SYS_socket,
    &[Condition::IsNot(0, INTERNET), Condition::IsNot(1 | KIND, STREAM_OR_DATAGRAM)],
    libc::EACCES,
);

/// Who decides which sockets the program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketRule {
    /// It may make none.
    None,
    /// It may make those that reach its own network namespace alone.
    OwnNetwork,
    /// The recorder decides.
    Recorder,
}

impl SocketRule {
    fn rule(self) -> Option<&'static SyscallRule> {
        match self {
            SocketRule::None => Some(&NO_SOCKETS),
            SocketRule::OwnNetwork => Some(&OWN_SOCKETS),
            SocketRule::Recorder => None,
        }
    }
}

/// Flag of an argument index: compare only the socket type.
const KIND: u32 = 1 << 8;

/// `AUDIT_ARCH_*` of the target. The filter supports no other architecture.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u32> = None;

/// Applies the filter to this thread permanently.
pub(super) fn apply(sockets: SocketRule) -> Result<(), String> {
    let machine = MACHINE.ok_or("The seccomp filter supports only x86_64 and aarch64.")?;
    seccompiler::apply_filter(&filter(machine, RULES.iter().chain(sockets.rule()))).map_err(
        |error| {
            format!(
                "Seccomp cannot filter system calls: {error}. It requires a kernel with \
             CONFIG_SECCOMP_FILTER."
            )
        },
    )
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_HAS: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
const REFUSE: u32 = 0x0005_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

fn filter<'a>(machine: u32, rules: impl Iterator<Item = &'a SyscallRule>) -> Vec<sock_filter> {
    let refuse = |errno: i32| instruction(RETURN, REFUSE | bits(errno));
    let mut program = vec![
        instruction(LOAD, ARCHITECTURE),
        jump(IF_EQUAL, machine, 1, 0),
        refuse(libc::EPERM),
        instruction(LOAD, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The x32 ABI has other numbers for the same calls.
        program.extend([jump(IF_AT_LEAST, 0x4000_0000, 0, 1), refuse(libc::EPERM)]);
    }
    for (number, conditions, errno) in rules {
        let mut body = Vec::new();
        for condition in *conditions {
            refuse_when(*condition, refuse(*errno), &mut body);
        }
        if !matches!(conditions, [Condition::Always]) {
            body.push(instruction(RETURN, ALLOW));
        }
        let skip = u8::try_from(body.len()).unwrap_or(u8::MAX);
        program.push(jump(IF_EQUAL, u32::try_from(*number).unwrap_or(u32::MAX), 0, skip));
        program.extend(body);
    }
    program.push(instruction(RETURN, ALLOW));
    program
}

/// Appends one condition: denies if it holds, else continues with the next instruction.
fn refuse_when(condition: Condition, refusal: sock_filter, body: &mut Vec<sock_filter>) {
    let load = |argument: u32| instruction(LOAD, ARGUMENTS + 8 * (argument & !KIND));
    let jumps = |values: &[u32], found: usize| -> Vec<sock_filter> {
        let to = |at: usize| u8::try_from(values.len() - 1 - at + found).unwrap_or(u8::MAX);
        values.iter().enumerate().map(|(at, value)| jump(IF_EQUAL, *value, to(at), 0)).collect()
    };
    match condition {
        Condition::Always => body.push(refusal),
        Condition::Is(argument, values) => {
            body.push(load(argument));
            // On a match, skip the jump over the denial.
            body.extend(jumps(values, 1));
            body.extend([skip_next(), refusal]);
        }
        Condition::IsNot(argument, values) => {
            body.push(load(argument));
            if argument & KIND != 0 {
                body.push(instruction(AND, 0xF));
            }
            // On a match, skip the denial.
            body.extend(jumps(values, 1));
            body.push(refusal);
        }
        Condition::Has(argument, mask) => {
            body.push(load(argument));
            body.extend([jump(IF_HAS, mask, 0, 1), refusal]);
        }
        Condition::HasBoth((first, first_mask), (second, second_mask)) => {
            body.push(load(first));
            // Without a bit of the first, skip the second and the denial.
            body.extend([jump(IF_HAS, first_mask, 0, 3), load(second)]);
            body.extend([jump(IF_HAS, second_mask, 0, 1), refusal]);
        }
        Condition::Masked(argument, mask, values) => {
            body.extend([load(argument), instruction(AND, mask)]);
            body.extend(jumps(values, 1));
            body.extend([skip_next(), refusal]);
        }
    }
}

fn skip_next() -> sock_filter {
    // BPF_JMP | BPF_JA
    instruction(0x05, 1)
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

    /// A system call on the target's architecture.
    struct Call {
        number: libc::c_long,
        args: [u64; 6],
    }

    fn call(number: libc::c_long, args: &[u32]) -> Call {
        let mut all = [0; 6];
        all.iter_mut().zip(args).for_each(|(to, from)| *to = u64::from(*from));
        Call { number, args: all }
    }

    /// Runs the filter as the kernel does. `None` if the call is allowed, else the error.
    fn denied(network: bool, architecture: u32, call: &Call) -> Option<i32> {
        let sockets = if network { &OWN_SOCKETS } else { &NO_SOCKETS };
        let program = filter(MACHINE.unwrap(), RULES.iter().chain([sockets]));
        let word = |offset: u32| match offset {
            NUMBER => u32::try_from(call.number).unwrap(),
            ARCHITECTURE => architecture,
            offset => {
                let argument = call.args[((offset - ARGUMENTS) / 8) as usize];
                u32::try_from(argument & 0xffff_ffff).unwrap()
            }
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
                AND => {
                    accumulator &= k;
                    0
                }
                IF_EQUAL => branch(accumulator == k),
                IF_AT_LEAST => branch(accumulator >= k),
                IF_HAS => branch(accumulator & k != 0),
                0x05 => k as usize,
                RETURN if k == ALLOW => return None,
                RETURN => return Some(i32::try_from(k & 0xffff).unwrap()),
                _ => panic!("the instruction {code:#x} is unknown"),
            };
        }
    }

    fn at_standard(number: libc::c_long, args: &[u32]) -> Option<i32> {
        denied(false, MACHINE.unwrap(), &call(number, args))
    }

    #[test]
    fn ordinary_calls_are_allowed() {
        for number in [libc::SYS_read, libc::SYS_write, libc::SYS_execve, libc::SYS_openat] {
            assert_eq!(at_standard(number, &[]), None, "{number}");
        }
    }

    #[test]
    fn every_call_of_the_table_without_a_condition_is_denied_with_its_error() {
        let always = RULES.iter().filter(|(_, when, _)| matches!(when, [Condition::Always]));
        let mut count = 0;
        for (number, _, errno) in always {
            assert_eq!(at_standard(*number, &[]), Some(*errno), "{number}");
            count += 1;
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn another_architecture_is_denied() {
        let other = MACHINE.unwrap() ^ 1;
        assert_eq!(denied(false, other, &call(libc::SYS_read, &[])), Some(libc::EPERM));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_x32_calls_are_denied() {
        let read = libc::SYS_read + 0x4000_0000;
        assert_eq!(at_standard(read, &[]), Some(libc::EPERM));
    }

    #[test]
    fn a_process_limits_only_itself() {
        assert_eq!(at_standard(libc::SYS_prlimit64, &[0]), None);
        assert_eq!(at_standard(libc::SYS_prlimit64, &[1]), Some(libc::EPERM));
    }

    #[test]
    fn a_thread_is_made_but_no_namespace() {
        assert_eq!(at_standard(libc::SYS_clone, &[bits(libc::CLONE_VM)]), None);
        let flags = bits(libc::CLONE_VM | libc::CLONE_NEWUSER);
        assert_eq!(at_standard(libc::SYS_clone, &[flags]), Some(libc::EPERM));
    }

    #[test]
    fn a_library_falls_back_from_clone3() {
        assert_eq!(at_standard(libc::SYS_clone3, &[]), Some(libc::ENOSYS));
    }

    #[test]
    fn no_file_gives_its_rights_away() {
        for mode in [0o4755, 0o2755, 0o6000] {
            assert_eq!(at_standard(libc::SYS_fchmod, &[3, mode]), Some(libc::EPERM));
            assert_eq!(at_standard(libc::SYS_fchmodat, &[3, 0, mode]), Some(libc::EPERM));
            assert_eq!(at_standard(452, &[3, 0, mode, 0]), Some(libc::EPERM));
            assert_eq!(at_standard(libc::SYS_mkdirat, &[3, 0, mode]), Some(libc::EPERM));
            let create = bits(libc::O_CREAT | libc::O_WRONLY);
            assert_eq!(at_standard(libc::SYS_openat, &[3, 0, create, mode]), Some(libc::EPERM));
            let unnamed = bits(libc::O_TMPFILE | libc::O_WRONLY);
            assert_eq!(at_standard(libc::SYS_openat, &[3, 0, unnamed, mode]), Some(libc::EPERM));
            // Without O_CREAT the mode is whatever is in the register.
            let directory = bits(libc::O_DIRECTORY);
            assert_eq!(at_standard(libc::SYS_openat, &[3, 0, directory, mode]), None);
        }
        assert_eq!(at_standard(libc::SYS_fchmodat, &[3, 0, 0o1777]), None);
        assert_eq!(at_standard(libc::SYS_openat2, &[]), Some(libc::ENOSYS));
    }

    #[test]
    fn no_device_is_made_but_fifos_are() {
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            assert_eq!(at_standard(libc::SYS_mknodat, &[3, 0, kind | 0o600]), Some(libc::EPERM));
        }
        for kind in [libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFREG, 0] {
            assert_eq!(at_standard(libc::SYS_mknodat, &[3, 0, kind | 0o600]), None, "{kind:o}");
        }
    }

    #[test]
    fn no_input_is_put_into_a_terminal() {
        assert_eq!(at_standard(libc::SYS_ioctl, &[1, TIOCSTI]), Some(libc::EPERM));
        assert_eq!(at_standard(libc::SYS_ioctl, &[1, TIOCLINUX]), Some(libc::EPERM));
        assert_eq!(at_standard(libc::SYS_ioctl, &[1, 0x5401]), None);
    }

    #[test]
    fn without_a_network_namespace_there_are_no_sockets() {
        for family in [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] {
            assert_eq!(at_standard(libc::SYS_socket, &[bits(family), 1]), Some(libc::EACCES));
        }
    }

    #[test]
    fn socket_pairs_are_pipes() {
        assert_eq!(at_standard(libc::SYS_socketpair, &[UNIX, 1]), None);
        let inet = bits(libc::AF_INET);
        assert_eq!(at_standard(libc::SYS_socketpair, &[inet, 1]), Some(libc::EACCES));
    }

    #[test]
    fn in_a_network_namespace_only_internet_sockets_are_made() {
        let socket = |family: i32, kind: i32| {
            denied(true, MACHINE.unwrap(), &call(libc::SYS_socket, &[bits(family), bits(kind)]))
        };
        assert_eq!(socket(libc::AF_INET, libc::SOCK_STREAM), None);
        assert_eq!(socket(libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC), None);
        assert_eq!(socket(libc::AF_UNIX, libc::SOCK_STREAM), Some(libc::EACCES));
        assert_eq!(socket(libc::AF_INET, libc::SOCK_RAW), Some(libc::EACCES));
        assert_eq!(socket(libc::AF_PACKET, libc::SOCK_DGRAM), Some(libc::EACCES));
    }

    #[test]
    fn every_jump_stays_in_the_filter() {
        let program = filter(MACHINE.unwrap(), RULES.iter().chain([&OWN_SOCKETS]));
        for (at, one) in program.iter().enumerate() {
            let far = usize::from(one.jt.max(one.jf));
            assert!(at + 1 + far < program.len() || one.code == RETURN, "{at}");
        }
    }
}
