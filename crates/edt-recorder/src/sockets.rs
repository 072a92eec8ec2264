//! Which sockets programs may make.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::store::open_directory;

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
    pub(crate) directories: Vec<OwnedFd>,
    pub(crate) network: bool,
}

impl OwnSockets {
    pub(crate) fn open(sockets: Sockets) -> io::Result<Option<OwnSockets>> {
        let Sockets::Own { directories, network } = sockets else { return Ok(None) };
        let directories: rustix::io::Result<_> =
            directories.iter().map(|path| open_directory(path)).collect();
        Ok(Some(OwnSockets { directories: directories?, network }))
    }
}
