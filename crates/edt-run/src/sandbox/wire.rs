//! The protocol between edt and its supervisor, over a socket that preserves message boundaries.
//!
//! edt sends the [`Orders`] once, as a memory file, with the program's three streams. The
//! supervisor answers with a [`SupervisorReport`] when the program has started or failed to start,
//! and with another when everything has ended. Meanwhile edt may send signals for the program. A
//! closed socket means that the other side has ended.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use edt_guard::policy::NamedPath;
use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::layout::MountOp;
use super::os_bytes::OsBytes;
use super::outcome::Termination;
use super::{ResourceLimit, ResourceLimits};
use edt_types::Level;

/// The instructions to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) level: Level,
    pub(super) program: OsBytes,
    pub(super) args: Vec<OsBytes>,
    pub(super) dir: OsBytes,
    pub(super) env: Vec<(OsBytes, OsBytes)>,
    /// The namespaces that this supervisor has to create.
    pub(super) namespaces: Namespaces,
    /// The mounts that it has to make; `None` if they exist already.
    pub(super) mounts: Option<Vec<MountOp>>,
    /// Where Landlock allows the program to write.
    pub(super) writable: Vec<OsBytes>,
    /// The private temporary directory, which the supervisor empties.
    pub(super) temporary: Option<OsBytes>,
    pub(super) limits: ResourceLimits,
    /// What is recorded. The root and the store are sent with the orders, because the program's
    /// mounts are others.
    pub(super) recorded: Option<RecordedOrders>,
}

/// What the supervisor records.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedOrders {
    pub(super) root: OsBytes,
    pub(super) excluded: Vec<OsBytes>,
    /// The paths from which Git executes something, if edt says which names may be made.
    pub(super) named: Option<Vec<NamedPath>>,
}

/// What the supervisor records with, on the mounts of edt.
#[derive(Debug)]
pub(super) struct Outer {
    pub(super) root: OwnedFd,
    pub(super) store: OwnedFd,
    /// Where it asks which names may be made.
    pub(super) names: Option<OwnedFd>,
}

/// Which namespaces the supervisor has to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Namespaces {
    /// This level has no namespaces.
    None,
    /// A mount and an IPC namespace, and unless it is root a user namespace.
    Mounts,
    /// None: it is already the first process in all of them.
    All,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SupervisorReport {
    /// The program is being started. If the supervisor ends after this, the program may have killed
    /// it.
    Starting,
    Started,
    Unavailable(String),
    NoProgram(i32),
    System(i32),
    Ended(Ended),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) how: Termination,
    pub(super) limit: Option<ResourceLimit>,
    pub(super) cpu: Duration,
    pub(super) max_rss: u64,
    pub(super) left: u32,
}

/// Sends the orders with the program's standard input, output and error.
pub(super) fn send_orders(
    socket: BorrowedFd<'_>,
    orders: &Orders,
    streams: &[OwnedFd; 3],
    recorded: Option<&Outer>,
) -> io::Result<()> {
    let bytes = postcard::to_stdvec(orders).map_err(io::Error::other)?;
    let mut file = File::from(memfd_create("edt-orders", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    let mut fds = vec![file.as_fd(), streams[0].as_fd(), streams[1].as_fd(), streams[2].as_fd()];
    fds.extend(recorded.iter().flat_map(|outer| [outer.root.as_fd(), outer.store.as_fd()]));
    fds.extend(recorded.and_then(|outer| outer.names.as_ref()).map(AsFd::as_fd));
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(7))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(socket, &[IoSlice::new(b"o")], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

pub(super) fn receive_orders(
    socket: BorrowedFd<'_>,
) -> io::Result<(Orders, [OwnedFd; 3], Option<Outer>)> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(7))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut rights, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let names = if fds.len() == 7 { fds.pop() } else { None };
    let outer = match fds.len() {
        6 => fds.pop().zip(fds.pop()).map(|(store, root)| Outer { root, store, names }),
        _ => None,
    };
    let [file, input, output, errors] = <[OwnedFd; 4]>::try_from(fds).map_err(|_| missing())?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let orders = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
    Ok((orders, [input, output, errors], outer))
}

/// Asks the supervisor to send `signal` to the program. An error is ignored: the supervisor may
/// have ended.
pub(super) fn send_signal(socket: impl AsFd, signal: Signal) {
    let number = u8::try_from(signal.as_raw()).unwrap_or_default();
    let _ = send(socket, &[number], SendFlags::NOSIGNAL);
}

/// The signal that edt sent; `None` if edt wants everything to end, or has ended.
pub(super) fn receive_signal(socket: impl AsFd) -> Option<Signal> {
    let mut number = [0];
    match recv(socket, &mut number, RecvFlags::empty()) {
        Ok((1, _)) => Signal::from_named_raw(i32::from(number[0])),
        _ => None,
    }
}

/// Sends a report. An error is ignored: edt may have ended.
pub(super) fn report(socket: impl AsFd, report: &SupervisorReport) {
    if let Ok(bytes) = postcard::to_stdvec(report) {
        let _ = send(socket, &bytes, SendFlags::NOSIGNAL);
    }
}

/// Sends a report with a descriptor, which [`next_report`] returns.
pub(super) fn report_with(socket: impl AsFd, report: &SupervisorReport, fd: BorrowedFd<'_>) {
    let Ok(bytes) = postcard::to_stdvec(report) else { return };
    let fds = [fd];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&fds));
    let _ = sendmsg(socket, &[IoSlice::new(&bytes)], &mut rights, SendFlags::NOSIGNAL);
}

/// The next report, with its descriptor if it has one; `None` if the supervisor has ended.
pub(super) fn next_report(
    socket: impl AsFd,
) -> io::Result<Option<(SupervisorReport, Option<OwnedFd>)>> {
    let mut bytes = [0; 4096];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let length = loop {
        let into = &mut [IoSliceMut::new(&mut bytes)];
        match recvmsg(&socket, into, &mut rights, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            other => break other?.bytes,
        }
    };
    if length == 0 {
        return Ok(None);
    }
    let fd = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut received) => received.next(),
        _ => None,
    });
    let report = postcard::from_bytes(&bytes[..length]).map_err(io::Error::other)?;
    Ok(Some((report, fd)))
}

pub(super) fn bytes_of(paths: &[PathBuf]) -> Vec<OsBytes> {
    paths.iter().map(|path| OsBytes::from(path.as_os_str())).collect()
}
