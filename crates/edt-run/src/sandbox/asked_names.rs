//! The supervisor asks edt which names a program may make: edt has the policy and the repository.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use edt_guard::executed;
use edt_guard::policy::{NamedPath, Policy};
use edt_io::names::NameKind;
#[cfg(target_os = "linux")]
use edt_recorder::{NewName, Origin, event::NewNode};
use edt_types::path::spells_git;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::{Deserialize, Serialize};

/// Entries of a Git directory without `.git`: it has the first one, and the last one or both
/// others.
pub(crate) const PARTS: [&str; 4] = ["HEAD", "refs", "objects", "commondir"];

/// The longest question: two paths.
const MAX_QUESTION: usize = 3 * 4096;

/// Where the supervisor asks.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no supervisor asks there"))]
pub struct NameQuestions {
    pub(crate) socket: Arc<OwnedFd>,
    /// The paths of the worktree that programs execute because of settings and links.
    pub(crate) named: Vec<NamedPath>,
}

/// A name that a program is about to make.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AskedName {
    /// Its path below the root.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: AskedKind,
    /// Its path until now, if it is moved.
    pub(crate) moved_from: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AskedKind {
    Directory,
    Link,
    Other,
}

impl From<AskedKind> for NameKind {
    fn from(kind: AskedKind) -> NameKind {
        match kind {
            AskedKind::Directory => NameKind::Directory,
            AskedKind::Link => NameKind::Link,
            AskedKind::Other => NameKind::Other,
        }
    }
}

/// Two ends: for the supervisor, and for who answers.
#[cfg(target_os = "linux")]
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// The same where no supervisor asks.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (theirs, ours) = std::os::unix::net::UnixStream::pair()?;
    Ok((theirs.into(), ours.into()))
}

/// A socket whose other end is closed is an error, not a signal.
#[cfg(target_os = "linux")]
const QUIET: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const QUIET: SendFlags = SendFlags::empty();

/// Answers questions until the other end is closed.
pub(crate) fn answer(socket: &OwnedFd, mut may_make: impl FnMut(&AskedName) -> bool) {
    let mut bytes = vec![0; MAX_QUESTION];
    loop {
        let length = match recv(socket, &mut bytes[..], RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            Ok((length @ 1.., _)) => length,
            _ => return,
        };
        let asked = postcard::from_bytes(&bytes[..length]);
        let allowed = asked.is_ok_and(|asked| may_make(&asked));
        if send(socket, &[u8::from(allowed)], QUIET).is_err() {
            return;
        }
    }
}

/// The side of the supervisor: asks about the names that may matter.
#[cfg(target_os = "linux")]
pub(super) struct AskingNames {
    socket: OwnedFd,
    policy: Policy,
}

#[cfg(target_os = "linux")]
impl AskingNames {
    /// `None` if the lists that are built in cannot be read.
    pub(super) fn new(socket: OwnedFd, named: Vec<NamedPath>) -> Option<AskingNames> {
        let policy = Policy::of(None, None).ok()?.with_named(named);
        Some(AskingNames { socket, policy })
    }

    fn ask(&self, asked: &AskedName) -> Option<bool> {
        let bytes = postcard::to_stdvec(asked).ok()?;
        send(&self.socket, &bytes, QUIET).ok()?;
        let mut answer = [0];
        loop {
            match recv(&self.socket, &mut answer, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                Ok((1, _)) => return Some(answer[0] == 1),
                _ => return None,
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl edt_recorder::Names for AskingNames {
    fn may_make(&mut self, name: &NewName<'_>) -> bool {
        let moved_from = match name.origin {
            Origin::Moved(from) => Some(from.to_vec()),
            Origin::New | Origin::Outside => None,
        };
        let kind = match name.node {
            NewNode::Directory => AskedKind::Directory,
            NewNode::Link => AskedKind::Link,
            _ => AskedKind::Other,
        };
        // What is in a moved directory may matter where it is then.
        let moves_more = kind == AskedKind::Directory && moved_from.is_some();
        if !moves_more && !matters(&self.policy, name.path, kind.into()) {
            return true;
        }
        // Without edt nobody would look at it afterwards.
        self.ask(&AskedName { path: name.path.to_vec(), kind, moved_from }).unwrap_or(false)
    }
}

/// Whether something may be executed because of a name at `path`. Names in a Git directory count as
/// parts of that.
pub(crate) fn matters(policy: &Policy, path: &[u8], kind: NameKind) -> bool {
    let mut names = path.split(|byte| *byte == b'/').peekable();
    let mut matters = false;
    while let Some(name) = names.next() {
        if spells_git(name) {
            return names.peek().is_none();
        }
        let is_part = || PARTS.iter().any(|part| part.as_bytes().eq_ignore_ascii_case(name));
        let is_last = names.peek().is_none();
        let asks_as_link = || kind == NameKind::Link && executed::asks_as_link(name);
        matters |= policy.knows_name(name) || is_last && (is_part() || asks_as_link());
    }
    matters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nothing_executes_are_not_asked_about() {
        let policy = Policy::of(None, None).unwrap();
        for path in
            ["a.txt", "src/main.rs", "HEAD/x", "refs/heads/x", "sub/.git/config", ".github2"]
        {
            assert!(!matters(&policy, path.as_bytes(), NameKind::Other), "{path}");
        }
        for path in [".git", "a/.GIT", "a/HEAD", "refs", "objects", ".envrc", ".vscode/x", ".cargo"]
        {
            assert!(matters(&policy, path.as_bytes(), NameKind::Other), "{path}");
        }
        for (kind, asks) in [(NameKind::Link, true), (NameKind::Other, false)] {
            assert_eq!(matters(&policy, b"a/.unknown", kind), asks);
        }
    }
}
