//! The system calls that a confined program is refused, as a table and as the kernel's filter made from it.

use nix::libc;
use seccompiler::sock_filter;

/// When a call is refused.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// The argument of this number is one of these.
    Is(u32, &'static [u32]),
    /// It is none of these.
    IsNot(u32, &'static [u32]),
    /// It has one of these bits.
    Has(u32, u32),
}

type Rule = (libc::c_long, &'static [When], i32);

const ALWAYS: &[When] = &[When::Always];

#[expect(clippy::cast_sign_loss, reason = "positive constants of the C library")]
const fn bits(value: i32) -> u32 {
    value as u32
}

const NEW_SPACES: u32 = bits(
    libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET,
);
/// Typing into a terminal, and the console's clipboard.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
const UNIX: u32 = bits(libc::AF_UNIX);
const INTERNET: &[u32] = &[bits(libc::AF_INET), bits(libc::AF_INET6)];
/// The kinds of sockets, without the flags that share the argument.
const STREAM_OR_DATAGRAM: &[u32] = &[1, 2, 5];

/// What is refused at standard and strict.
const RULES: &[Rule] = &[
    // Reaching into other processes. Landlock holds those outside; this holds what a future kernel forgets.
    (libc::SYS_ptrace, ALWAYS, libc::EPERM),
    (libc::SYS_process_vm_readv, ALWAYS, libc::EPERM),
    (libc::SYS_process_vm_writev, ALWAYS, libc::EPERM),
    (libc::SYS_process_madvise, ALWAYS, libc::EPERM),
    (libc::SYS_pidfd_getfd, ALWAYS, libc::EPERM),
    // What changes others of the same user, where Landlock has no say. Zero is the caller.
    (libc::SYS_prlimit64, &[When::IsNot(0, &[0])], libc::EPERM),
    (libc::SYS_setpriority, &[When::IsNot(1, &[0])], libc::EPERM),
    (libc::SYS_ioprio_set, &[When::IsNot(1, &[0])], libc::EPERM),
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
    (libc::SYS_clone, &[When::Has(0, NEW_SPACES)], libc::EPERM),
    // Its flags stand in memory, where a filter cannot look; libraries then take `clone`.
    (libc::SYS_clone3, ALWAYS, libc::ENOSYS),
    // What goes round this filter, or has too many doors.
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
    // Terminals.
    (libc::SYS_ioctl, &[When::Is(1, &[TIOCSTI, TIOCLINUX])], libc::EPERM),
    // Pairs are pipes; other families have no business in them.
    (libc::SYS_socketpair, &[When::IsNot(0, &[UNIX])], libc::EACCES),
];

/// Without a network of one's own no socket leads anywhere good, by a path neither: agents of keys, Docker, the bus.
const NO_SOCKETS: Rule = (libc::SYS_socket, ALWAYS, libc::EACCES);
/// In a network of one's own the internet is the program's own machine.
const OWN_SOCKETS: Rule = (
    libc::SYS_socket,
    &[When::IsNot(0, INTERNET), When::IsNot(1 | KIND, STREAM_OR_DATAGRAM)],
    libc::EACCES,
);

/// Marks an argument of which only the kind of socket is looked at.
const KIND: u32 = 1 << 8;

/// `AUDIT_ARCH_*` of the machine that this is built for; a filter for another has no numbers.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u32> = None;

/// Applies the filter to this thread, for good. `network` says whether it has one of its own.
pub(super) fn apply(network: bool) -> Result<(), String> {
    let machine = MACHINE.ok_or("Seccomp's filter is known for x86_64 and aarch64 alone.")?;
    let sockets = if network { OWN_SOCKETS } else { NO_SOCKETS };
    seccompiler::apply_filter(&filter(machine, RULES.iter().chain([&sockets]))).map_err(|error| {
        format!(
            "Seccomp cannot filter system calls: {error}. A kernel with CONFIG_SECCOMP_FILTER can."
        )
    })
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

fn filter<'a>(machine: u32, rules: impl Iterator<Item = &'a Rule>) -> Vec<sock_filter> {
    let refuse = |errno: i32| step(RETURN, REFUSE | bits(errno));
    let mut program = vec![
        step(LOAD, ARCHITECTURE),
        jump(IF_EQUAL, machine, 1, 0),
        refuse(libc::EPERM),
        step(LOAD, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The same calls under the numbers of x32.
        program.extend([jump(IF_AT_LEAST, 0x4000_0000, 0, 1), refuse(libc::EPERM)]);
    }
    for (number, conditions, errno) in rules {
        let mut body = Vec::new();
        for condition in *conditions {
            refuse_when(*condition, refuse(*errno), &mut body);
        }
        if !matches!(conditions, [When::Always]) {
            body.push(step(RETURN, ALLOW));
        }
        let over = u8::try_from(body.len()).unwrap_or(u8::MAX);
        program.push(jump(IF_EQUAL, u32::try_from(*number).unwrap_or(u32::MAX), 0, over));
        program.extend(body);
    }
    program.push(step(RETURN, ALLOW));
    program
}

/// One condition: the refusal if it holds, else what follows.
fn refuse_when(condition: When, refusal: sock_filter, body: &mut Vec<sock_filter>) {
    let load = |argument: u32| step(LOAD, ARGUMENTS + 8 * (argument & !KIND));
    let jumps = |values: &[u32], found: usize| -> Vec<sock_filter> {
        let to = |at: usize| u8::try_from(values.len() - 1 - at + found).unwrap_or(u8::MAX);
        values.iter().enumerate().map(|(at, value)| jump(IF_EQUAL, *value, to(at), 0)).collect()
    };
    match condition {
        When::Always => body.push(refusal),
        When::Is(argument, values) => {
            body.push(load(argument));
            // Found: past the jump over the refusal.
            body.extend(jumps(values, 1));
            body.extend([over_next(), refusal]);
        }
        When::IsNot(argument, values) => {
            body.push(load(argument));
            if argument & KIND != 0 {
                body.push(step(AND, 0xF));
            }
            // Found: past the refusal.
            body.extend(jumps(values, 1));
            body.push(refusal);
        }
        When::Has(argument, mask) => {
            body.push(load(argument));
            body.extend([jump(IF_HAS, mask, 0, 1), refusal]);
        }
    }
}

fn over_next() -> sock_filter {
    // BPF_JMP | BPF_JA
    step(0x05, 1)
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
