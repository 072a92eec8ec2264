//! Sockets of confined programs: Unix sockets in the tree and in directories of their own, and with
//! a network namespace of their own the Internet families.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use nix::libc;
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::sockopt::socket_domain;
use rustix::net::{AddressFamily, SocketAddrUnix, connect};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::event::{Denied, Place};
use crate::inode::Sight;
use crate::kernel::{self, Reply};
use crate::serve::{CONTINUE, Outcome, Request, Server, Step, failed, refuse};
use crate::store::{open_directory, own_path};
use crate::tree::{path_of, strip};
use crate::walk::{Found, LastLink};

/// Which sockets programs may make and connect.
#[derive(Debug)]
pub enum Sockets {
    /// Those that the kernel lets them.
    All,
    /// Unix sockets of streams in the tree and in these directories.
    Own {
        directories: Vec<PathBuf>,
        /// They have a network namespace of their own: also TCP, UDP and abstract names.
        network: bool,
    },
}

/// What the recorder knows of them.
#[derive(Debug)]
pub(crate) struct OwnSockets {
    directories: Vec<OwnedFd>,
    network: bool,
}

impl OwnSockets {
    pub(crate) fn open(sockets: Sockets) -> io::Result<Option<OwnSockets>> {
        let Sockets::Own { directories, network } = sockets else { return Ok(None) };
        let directories: rustix::io::Result<_> =
            directories.iter().map(|path| open_directory(path)).collect();
        Ok(Some(OwnSockets { directories: directories?, network }))
    }
}

const KIND: i32 = 0xF;

impl Server {
    pub(crate) fn socket(&mut self, family: i32, kind: i32) -> Step<Outcome> {
        let Some(own) = &self.sockets else { return Ok(CONTINUE) };
        let is = |kinds: &[i32]| kinds.contains(&(kind & KIND));
        let allowed = match family {
            // One of datagrams sends to any path without a call that is notified.
            libc::AF_UNIX => is(&[libc::SOCK_STREAM, libc::SOCK_SEQPACKET]),
            libc::AF_INET | libc::AF_INET6 => {
                own.network && is(&[libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET])
            }
            _ => false,
        };
        if allowed {
            return Ok(CONTINUE);
        }
        self.deny(Denied::Socket { family })
    }

    pub(crate) fn connect(
        &mut self,
        request: &Request<'_>,
        number: i32,
        address: u64,
        length: u64,
    ) -> Step<Outcome> {
        let Some(own) = &self.sockets else { return Ok(CONTINUE) };
        let thread = request.thread();
        let Some(process) = Pid::from_raw(thread.process()?) else { return Ok(CONTINUE) };
        let process = pidfd_open(process, PidfdFlags::empty())?;
        let socket = match pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) {
            Ok(socket) => socket,
            Err(error) => return Ok(failed(error)),
        };
        match socket_domain(&socket) {
            Ok(AddressFamily::UNIX) => {}
            // The family of the socket decides, whatever the address is in the end.
            Ok(_) => return Ok(CONTINUE),
            Err(error) => return Ok(failed(error)),
        }
        let length = usize::try_from(length).ok().filter(|one| (3..=110).contains(one));
        let Some(length) = length else { return Ok(failed(Errno::INVAL)) };
        let bytes = thread.bytes(address, length)?;
        if i32::from(u16::from_ne_bytes([bytes[0], bytes[1]])) != libc::AF_UNIX {
            return Ok(failed(Errno::INVAL));
        }
        if bytes[2] == 0 {
            if !own.network {
                return self.deny(Denied::UnixSocket(bytes[2..].to_vec()));
            }
            let name = SocketAddrUnix::new_abstract_name(&bytes[3..])?;
            return self.connect_to(request, socket, name, None);
        }
        let path = bytes[2..].split(|byte| *byte == 0).next().unwrap_or_default();
        let found = match self.walker.find(thread, libc::AT_FDCWD, path, LastLink::Follow) {
            Ok(Found::File(found)) => found,
            Ok(Found::Missing(..)) => return Ok(failed(Errno::NOENT)),
            Err(error) => return Ok(failed(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
        };
        let sight = Sight::of(&found)?;
        if sight.kind != FileType::Socket {
            return Ok(failed(Errno::CONNREFUSED));
        }
        let place = self.tree.place(&found, &sight, thread)?;
        if !matches!(place, Some(Place::Tree(_))) && !self.is_own_socket(&found)? {
            return self.deny(Denied::UnixSocket(path.to_vec()));
        }
        let name = SocketAddrUnix::new(own_path(&found))?;
        self.connect_to(request, socket, name, Some(found))
    }

    fn is_own_socket(&self, found: &OwnedFd) -> io::Result<bool> {
        let files = self.tree.own_files();
        let path = path_of(files, found)?;
        let directories = self.sockets.iter().flat_map(|own| &own.directories);
        for directory in directories {
            if strip(&path, &path_of(files, directory)?).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Connects for the thread, so that no other address can be in its memory then. A full queue
    /// lets it wait, and others go on.
    #[expect(clippy::unused_self, reason = "as its neighbours")]
    fn connect_to(
        &self,
        request: &Request<'_>,
        socket: OwnedFd,
        name: SocketAddrUnix,
        found: Option<OwnedFd>,
    ) -> Step<Outcome> {
        let (listener, id) = (request.listener.try_clone()?, request.notice.id);
        let work = move || {
            let done = connect(&socket, &name);
            drop(found);
            let reply =
                done.map_or_else(|error| Reply::Error(error.raw_os_error()), |()| Reply::Value(0));
            kernel::answer(&listener, id, reply);
        };
        std::thread::Builder::new().name("edt-connect".to_owned()).spawn(work)?;
        Ok(Outcome::Answered)
    }

    fn deny(&mut self, denied: Denied) -> Step<Outcome> {
        self.note_denied(denied).map_err(refuse)?;
        Ok(failed(Errno::ACCESS))
    }
}
