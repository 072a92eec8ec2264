//! What edt and its supervisor tell each other, over a socket that keeps messages apart.
//!
//! edt sends the [`Orders`] once, as a file in memory, with the program's three streams; the supervisor answers with a [`Report`]
//! when the program has started or not, and with another when all is over. The end of the socket means the end of the other side.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::layout::Op;
use super::{How, Limit, Limits};
use crate::base::Level;

/// Bytes that need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(super) fn text(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }
}

impl<T: Into<OsString>> From<T> for Bytes {
    fn from(text: T) -> Bytes {
        Bytes(text.into().into_vec())
    }
}

/// What the supervisor is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) level: Level,
    pub(super) program: Bytes,
    pub(super) args: Vec<Bytes>,
    pub(super) dir: Bytes,
    pub(super) env: Vec<(Bytes, Bytes)>,
    /// The namespaces that this supervisor makes for itself.
    pub(super) spaces: Spaces,
    /// What it mounts in them, if it does not find it done.
    pub(super) mounts: Option<Vec<Op>>,
    /// Where Landlock lets the program write.
    pub(super) writable: Vec<Bytes>,
    /// The private temporary folder, which the supervisor empties if edt is gone.
    pub(super) temporary: Option<Bytes>,
    pub(super) limits: Limits,
}

/// Which namespaces the supervisor itself still has to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Spaces {
    /// None: there are none at this level.
    None,
    /// One of mounts, and for all but root one of users.
    Mounts,
    /// It stands in all of them already, as their first process.
    All,
}

/// What the supervisor answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The program is being started: a supervisor that is gone after this may have been killed by it.
    Starting,
    Started,
    Unavailable(String),
    NoProgram(i32),
    System(i32),
    Over(Over),
}

/// How all ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Over {
    pub(super) how: How,
    pub(super) limit: Option<Limit>,
    pub(super) cpu: Duration,
    pub(super) max_rss: u64,
    pub(super) left: u32,
}

/// Sends the orders, with standard input, output and error of the program.
pub(super) fn send_orders(
    socket: BorrowedFd<'_>,
    orders: &Orders,
    streams: &[OwnedFd; 3],
) -> io::Result<()> {
    let bytes = postcard::to_stdvec(orders).map_err(io::Error::other)?;
    let mut file = File::from(memfd_create("edt-orders", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    let fds = [file.as_fd(), streams[0].as_fd(), streams[1].as_fd(), streams[2].as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(socket, &[IoSlice::new(b"o")], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives them.
pub(super) fn receive_orders(socket: BorrowedFd<'_>) -> io::Result<(Orders, [OwnedFd; 3])> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
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
    let [file, input, output, errors] = <[OwnedFd; 4]>::try_from(fds).map_err(|_| missing())?;
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let orders = postcard::from_bytes(&bytes).map_err(io::Error::other)?;
    Ok((orders, [input, output, errors]))
}

/// Sends a report; whether anyone is there to read it does not matter.
pub(super) fn report(socket: impl AsFd, report: &Report) {
    if let Ok(bytes) = postcard::to_stdvec(report) {
        let _ = send(socket, &bytes, SendFlags::NOSIGNAL);
    }
}

/// The next report; `None` if the supervisor is gone.
pub(super) fn next_report(socket: impl AsFd) -> io::Result<Option<Report>> {
    let mut bytes = [0; 4096];
    let (length, _) = loop {
        match recv(&socket, &mut bytes, RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            other => break other?,
        }
    };
    if length == 0 {
        return Ok(None);
    }
    postcard::from_bytes(&bytes[..length]).map(Some).map_err(io::Error::other)
}

/// Paths for the wire.
pub(super) fn bytes_of(paths: &[PathBuf]) -> Vec<Bytes> {
    paths.iter().map(|path| Bytes::from(path.as_os_str())).collect()
}
