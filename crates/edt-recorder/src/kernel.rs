//! The calls of a seccomp listener, which no crate offers. The only file with unsafe code: each
//! call gets a pointer to a structure of the kernel's size that lives until the call returns.
#![expect(unsafe_code, reason = "no crate has safe functions for seccomp listeners and leases")]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use nix::libc;

/// A system call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notice {
    pub(crate) id: u64,
    /// The thread that made the call, in the PID namespace of the reader.
    pub(crate) thread: i32,
    pub(crate) number: i64,
    pub(crate) args: [u64; 6],
}

/// The answer to a [`Notice`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The kernel executes the call.
    Continue,
    Value(i64),
    Error(i32),
}

/// Sets `no_new_privs` and installs `filter` for this thread and all that it starts. Returns the
/// listener, which closes on `exec`.
pub(crate) fn install(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    rustix::thread::set_no_new_privs(true)?;
    let mut sizes =
        libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the kernel writes the three numbers of `sizes`.
    let got = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes)
    };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    if usize::from(sizes.seccomp_notif) != size_of::<libc::seccomp_notif>()
        || usize::from(sizes.seccomp_notif_resp) != size_of::<libc::seccomp_notif_resp>()
    {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let len = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: `program` points to `len` instructions, which the kernel copies.
    let listener = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    match i32::try_from(listener) {
        // SAFETY: the kernel returned a new descriptor that nobody else owns.
        Ok(listener) if listener >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(listener) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes a notified thread wake the reader on its own processor, which is faster. Older kernels
/// than 6.6 do not know it.
pub(crate) fn wake_synchronously(listener: impl AsFd) {
    let listener = listener.as_fd().as_raw_fd();
    // SAFETY: the argument is a number.
    let _ = unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, 1u64) };
}

/// The next notice. `NotFound`: its thread was killed meanwhile.
pub(crate) fn receive(listener: impl AsFd) -> io::Result<Notice> {
    // SAFETY: all fields are numbers, for which zero is valid, and the kernel requires zeros.
    let mut raw: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    request(listener.as_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut raw)?;
    Ok(Notice {
        id: raw.id,
        thread: raw.pid.cast_signed(),
        number: i64::from(raw.data.nr),
        args: raw.data.args,
    })
}

/// Whether the thread of the notice still waits for the answer.
pub(crate) fn waits(listener: impl AsFd, notice: &Notice) -> bool {
    let mut id = notice.id;
    request(listener.as_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id).is_ok()
}

/// Answers a notice. An error is ignored: the thread was killed.
pub(crate) fn answer(listener: impl AsFd, id: u64, reply: Reply) {
    let mut raw = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
    match reply {
        Reply::Continue => raw.flags = 1,
        Reply::Value(value) => raw.val = value,
        Reply::Error(number) => raw.error = -number,
    }
    let _ = request(listener.as_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &mut raw);
}

/// Gives the thread a copy of `file` and answers its call with the number of that descriptor.
pub(crate) fn answer_with_file(
    listener: impl AsFd,
    id: u64,
    file: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<()> {
    let mut raw = libc::seccomp_notif_addfd {
        id,
        flags: u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).unwrap_or_default(),
        srcfd: file.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
    };
    request(listener.as_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut raw)
}

/// Whether a process has `file`, which is open for reading, open for writing. Unknown counts as no.
pub(crate) fn has_writer(file: impl AsFd) -> bool {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the argument is a number. The lease ends with the file's descriptor.
    let lease = unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) };
    lease != 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// The number that an outer recorder answers to [`libc::SYS_nfsservctl`], a call that no kernel has
/// any more.
pub(crate) fn outer_mark() -> Option<u32> {
    // SAFETY: the call has no arguments.
    let mark = unsafe { libc::syscall(libc::SYS_nfsservctl) };
    u32::try_from(mark).ok().filter(|mark| *mark > 0)
}

fn request<T>(listener: BorrowedFd<'_>, request: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // SAFETY: each caller passes the structure that the request names.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), request, std::ptr::from_mut(argument)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
