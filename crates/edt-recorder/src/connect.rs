//! Sockets of confined programs: Unix sockets in the tree and in directories of their own, and with
//! a network namespace of their own the Internet families.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use nix::libc;
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::sockopt::socket_domain;
use rustix::net::{AddressFamily, SocketAddrUnix, connect, connect_unspec};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::event::{Denied, Place};
use crate::inode::Sight;
use crate::kernel::{self, Reply};
use crate::serve::{CONTINUE, Outcome, Request, Server, Step, Stop, failed, refuse};
use crate::store::own_path;
use crate::tree::{path_of, strip};
use crate::walk::{Found, LastLink};

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

    /// The kernel never continues this call: its thread could change the descriptor and the address
    /// in between.
    pub(crate) fn connect(
        &mut self,
        request: &Request<'_>,
        number: i32,
        address: u64,
        length: u64,
    ) -> Step<Outcome> {
        if self.sockets.is_none() {
            return Ok(CONTINUE);
        }
        match self.connect_own(request, number, address, length) {
            Err(Stop::Arguments(error)) => {
                Ok(failed(Errno::from_io_error(&error).unwrap_or(Errno::ACCESS)))
            }
            done => done,
        }
    }

    fn connect_own(
        &mut self,
        request: &Request<'_>,
        number: i32,
        address: u64,
        length: u64,
    ) -> Step<Outcome> {
        let thread = request.thread();
        let process = Pid::from_raw(thread.process()?).ok_or(Errno::SRCH)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        let socket = pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?;
        let domain = socket_domain(&socket)?;
        let length = usize::try_from(length).ok().filter(|one| (2..=128).contains(one));
        let bytes = thread.bytes(address, length.ok_or(Errno::INVAL)?)?;
        let target = match AddressFamily::from_raw(u16::from_ne_bytes([bytes[0], bytes[1]])) {
            AddressFamily::UNSPEC => Target::None,
            family if family != domain => return Ok(failed(Errno::AFNOSUPPORT)),
            AddressFamily::UNIX => match self.unix_target(request, &bytes[2..])? {
                Ok(target) => target,
                Err(outcome) => return Ok(outcome),
            },
            _ => Target::Internet(internet_address(&bytes).ok_or(Errno::INVAL)?),
        };
        connect_to(request, socket, target)
    }

    /// What the name of a Unix socket leads to. The inner error is the answer.
    fn unix_target(&mut self, request: &Request<'_>, name: &[u8]) -> Step<Result<Target, Outcome>> {
        let thread = request.thread();
        let path = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if path.is_empty() {
            let has_network = self.sockets.as_ref().is_some_and(|own| own.network);
            if !has_network || name.is_empty() {
                return self.deny(Denied::UnixSocket(name.to_vec())).map(Err);
            }
            return Ok(Ok(Target::Unix(SocketAddrUnix::new_abstract_name(&name[1..])?, None)));
        }
        let found = match self.walker.find(thread, libc::AT_FDCWD, path, LastLink::Follow)? {
            Found::File(found) => found,
            Found::Missing(..) => return Ok(Err(failed(Errno::NOENT))),
        };
        let sight = Sight::of(&found)?;
        if sight.kind != FileType::Socket {
            return Ok(Err(failed(Errno::CONNREFUSED)));
        }
        let place = self.tree.place(&found, &sight, thread)?;
        if !matches!(place, Some(Place::Tree(_))) && !self.is_own_socket(&found)? {
            return self.deny(Denied::UnixSocket(path.to_vec())).map(Err);
        }
        let name = SocketAddrUnix::new(own_path(&found))?;
        Ok(Ok(Target::Unix(name, Some(found))))
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

    fn deny(&mut self, denied: Denied) -> Step<Outcome> {
        self.note_denied(denied).map_err(refuse)?;
        Ok(failed(Errno::ACCESS))
    }
}

/// To what a socket is connected.
enum Target {
    /// Nothing any more.
    None,
    /// The name leads to the open file, if it is one.
    Unix(SocketAddrUnix, Option<OwnedFd>),
    Internet(SocketAddr),
}

/// Connects for the thread. A full queue lets it wait, and others go on.
fn connect_to(request: &Request<'_>, socket: OwnedFd, target: Target) -> Step<Outcome> {
    let (listener, id) = (request.listener.try_clone()?, request.notice.id);
    let work = move || {
        let done = match target {
            Target::None => connect_unspec(&socket),
            Target::Unix(name, found) => {
                let done = connect(&socket, &name);
                drop(found);
                done
            }
            Target::Internet(address) => connect(&socket, &address),
        };
        let reply = match done {
            Ok(()) => Reply::Value(0),
            Err(error) => Reply::Error(error.raw_os_error()),
        };
        kernel::answer(&listener, id, reply);
    };
    std::thread::Builder::new().name("edt-connect".to_owned()).spawn(work)?;
    Ok(Outcome::Answered)
}

/// The address of a `sockaddr_in` or `sockaddr_in6`.
fn internet_address(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?)) {
        libc::AF_INET => IpAddr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_kernel_is_read() {
        let family = |family: i32| u16::try_from(family).unwrap().to_ne_bytes();
        let four = [&family(libc::AF_INET)[..], &[0, 80, 127, 0, 0, 1]].concat();
        assert_eq!(internet_address(&four), Some("127.0.0.1:80".parse().unwrap()));
        let mut six = [0; 28];
        six[..2].copy_from_slice(&family(libc::AF_INET6));
        (six[3], six[23]) = (80, 1);
        assert_eq!(internet_address(&six), Some("[::1]:80".parse().unwrap()));
        assert_eq!((internet_address(&four[..6]), internet_address(&[])), (None, None));
    }
}
