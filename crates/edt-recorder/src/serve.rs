//! Answers the calls of programs, one after the other.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::call::Call;
use crate::event::{Denied, FileEvent, Inode, NewNode, Place, VERSION};
use crate::expect::{Replay, replay};
use crate::hands::{Deed, Hands, Slot, Umask, trimmed};
use crate::inode::{Sight, existing};
use crate::kernel::{self, Notice, Reply};
use crate::log::EventLog;
use crate::record::RecordedRun;
use crate::sockets::OwnSockets;
use crate::store::Store;
use crate::thread::{CallingThread, own_user_namespace};
use crate::tree::Tree;
use crate::walk::Walker;
use crate::watch::Watch;
use crate::{Clean, Names};

/// What is known of an inode since the run began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// Its content was kept.
    pub(crate) content: bool,
    pub(crate) attributes: bool,
    pub(crate) extended: bool,
}

/// How a call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Reply(Reply),
    /// With a file.
    Answered,
}

pub(crate) const CONTINUE: Outcome = Outcome::Reply(Reply::Continue);

/// Why a call is not handled further.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Its arguments are wrong, so that the kernel refuses it, or it cannot be understood.
    Arguments(io::Error),
    /// What it would destroy cannot be kept.
    Refuse(Errno),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Arguments(error)
    }
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Stop {
        Stop::Arguments(error.into())
    }
}

pub(crate) type Step<T> = Result<T, Stop>;

/// A failure of the recorder's own files.
pub(crate) fn refuse(error: impl Into<io::Error>) -> Stop {
    let number = error.into().raw_os_error().unwrap_or(Errno::IO.raw_os_error());
    Stop::Refuse(Errno::from_raw_os_error(number))
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) walker: Walker,
    pub(crate) known: HashMap<Inode, Known>,
    /// Files that the run made.
    pub(crate) made: HashSet<Inode>,
    /// Links in the store.
    pub(crate) stored: HashMap<Inode, u64>,
    pub(crate) clean: Box<dyn Clean>,
    pub(crate) watch: Watch,
    log: EventLog,
    hands: Hands,
    umask: Umask,
    /// No thread has changed its umask.
    one_umask: bool,
    /// No thread has changed its rights.
    pub(crate) one_right: bool,
    user_namespace: u64,
    unproved: HashSet<String>,
    pub(crate) names: Box<dyn Names>,
    pub(crate) denied: HashSet<Denied>,
    /// Which sockets programs may make, if not all.
    pub(crate) sockets: Option<OwnSockets>,
    /// The answer to programs that ask whether they are recorded.
    pub(crate) mark: u32,
}

impl Server {
    pub(crate) fn new(
        root: &Path,
        store: &Path,
        kept: Store,
        excluded: &[PathBuf],
        hands: Hands,
        (clean, names): (Box<dyn Clean>, Box<dyn Names>),
    ) -> io::Result<Server> {
        let tree = Tree::open(root, excluded)?;
        let mut log = EventLog::create(store)?;
        log.append(&FileEvent::Start { version: VERSION, root: tree.root_inode() })?;
        Ok(Server {
            tree,
            store: kept,
            walker: Walker::new()?,
            known: HashMap::new(),
            made: HashSet::new(),
            stored: HashMap::new(),
            clean,
            watch: Watch::new()?,
            log,
            hands,
            umask: CallingThread::own().umask()?,
            one_umask: true,
            one_right: true,
            user_namespace: own_user_namespace()?,
            unproved: HashSet::new(),
            names,
            denied: HashSet::new(),
            sockets: None,
            mark: 0,
        })
    }

    /// Answers until the other end of `stop` is closed and no call waits. The kernel lets go of the
    /// listener while the last program exits, before it closes that program's files.
    pub(crate) fn serve(&mut self, listener: &OwnedFd, stop: &OwnedFd) -> io::Result<()> {
        let mut open = true;
        loop {
            let mut fds: Vec<PollFd<'_>> = [stop, self.watch.queue()]
                .into_iter()
                .chain(open.then_some(listener))
                .map(|fd| PollFd::new(fd, PollFlags::IN))
                .collect();
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                found => found?,
            };
            let [stopped, closed] = [0, 1].map(|at: usize| fds[at].revents());
            let calls = fds.get(2).map_or(PollFlags::empty(), PollFd::revents);
            if !closed.is_empty() {
                self.watch.read(self.tree.root());
            }
            if calls.contains(PollFlags::IN) {
                self.next(listener)?;
            } else if !stopped.is_empty() {
                return Ok(());
            } else if !calls.is_empty() {
                open = false;
            }
        }
    }

    fn next(&mut self, listener: &OwnedFd) -> io::Result<()> {
        let notice = match kernel::receive(listener) {
            Ok(notice) => notice,
            // Its thread was killed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        let request = Request { listener, notice };
        let reply = match self.handle(&request) {
            Ok(Outcome::Answered) => return Ok(()),
            Ok(Outcome::Reply(reply)) => reply,
            Err(Stop::Refuse(number)) => Reply::Error(number.raw_os_error()),
            Err(Stop::Arguments(error)) => {
                if !is_the_programs(&error) && kernel::waits(listener, &notice) {
                    self.unproved(&format!("a call could not be understood: {error}"))?;
                }
                Reply::Continue
            }
        };
        kernel::answer(listener, notice.id, reply);
        Ok(())
    }

    fn handle(&mut self, request: &Request<'_>) -> Step<Outcome> {
        let Some(call) = Call::of(&request.notice) else { return Ok(CONTINUE) };
        match call {
            Call::Open { path, flags, mode } => self.open(request, path, flags, mode),
            Call::OpenHow { path, how } => self.open_how(request, path, how),
            Call::Truncate { path, size } => self.truncate(request, path, size),
            Call::Rename { from, to, flags } => self.rename(request, from, to, flags),
            Call::Unlink { path } => self.remove(request, path, false),
            Call::RemoveDirectory { path } => self.remove(request, path, true),
            Call::MakeDirectory { path, mode } => self.make_directory(request, path, mode),
            Call::MakeNode { path, mode } => self.make_node(request, path, mode),
            Call::MakeLink { target, path } => self.make_link(request, target, path),
            Call::Bind { address, length } => self.bind(request, address, length),
            Call::Name { from, to, flags } => self.name(request, from, to, flags),
            Call::Attributes { of, extended } => self.attributes(request, of, extended),
            Call::Umask => {
                self.one_umask = false;
                Ok(CONTINUE)
            }
            Call::Socket { family, kind } => self.socket(family, kind),
            Call::Connect { file, address, length } => self.connect(request, file, address, length),
            Call::Mark => Ok(Outcome::Reply(Reply::Value(i64::from(self.mark)))),
            Call::Rights => {
                self.one_right = false;
                Ok(CONTINUE)
            }
        }
    }

    /// Whether the recorder has exactly the rights of the thread, and so may act for it.
    pub(crate) fn acts_for(&self, request: &Request<'_>) -> bool {
        self.one_right && request.thread().has_user_namespace(self.user_namespace)
    }

    /// Executes a call for its thread. The inner error is the answer to it.
    pub(crate) fn execute(
        &mut self,
        request: &Request<'_>,
        deed: Deed,
    ) -> Step<rustix::io::Result<Option<OwnedFd>>> {
        let umask = if self.one_umask { self.umask } else { request.thread().umask()? };
        // Else the thread was killed, and what was read may be another's.
        if !kernel::waits(request.listener, &request.notice) {
            return Err(Stop::Refuse(Errno::INTR));
        }
        Ok(self.hands.execute(deed, umask))
    }

    /// Executes a call that `event` describes.
    pub(crate) fn execute_recorded(
        &mut self,
        request: &Request<'_>,
        event: &FileEvent,
        deed: Deed,
    ) -> Step<Result<(), Outcome>> {
        let number = self.record(event)?;
        match self.execute(request, deed) {
            Ok(Ok(_)) => Ok(Ok(())),
            Ok(Err(error)) => {
                self.record(&FileEvent::Failed { event: number })?;
                if let FileEvent::Removed { place, .. } | FileEvent::Renamed { from: place, .. } =
                    event
                {
                    self.note_failure(place, error)?;
                }
                Ok(Err(failed(error)))
            }
            Err(stop) => {
                self.record(&FileEvent::Failed { event: number })?;
                Err(stop)
            }
        }
    }

    /// Executes a call that makes `place`. Its caller records what was made.
    pub(crate) fn execute_making(
        &mut self,
        request: &Request<'_>,
        (slot, place, node): (&Slot, &Place, NewNode),
        deed: Deed,
    ) -> Step<rustix::io::Result<Option<OwnedFd>>> {
        let is_free = existing(Sight::at(&slot.directory, trimmed(&slot.name)))?.is_none();
        let making = FileEvent::Making { place: place.clone(), node };
        let number = if is_free { Some(self.record(&making)?) } else { None };
        let done = self.execute(request, deed);
        if let (Err(_) | Ok(Err(_)), Some(event)) = (&done, number) {
            self.record(&FileEvent::Failed { event })?;
        }
        done
    }

    pub(crate) fn record(&mut self, event: &FileEvent) -> Step<u64> {
        self.append(event).map_err(refuse)
    }

    pub(crate) fn append(&mut self, event: &FileEvent) -> io::Result<u64> {
        self.log.append(event)
    }

    pub(crate) fn unproved(&mut self, why: &str) -> io::Result<()> {
        if self.unproved.len() < 100 && self.unproved.insert(why.to_owned()) {
            self.log.append(&FileEvent::Unproved { why: why.to_owned() })?;
        }
        Ok(())
    }

    /// Names what others wrote, makes copies of links whose inode lives on, and ends the log.
    pub(crate) fn finish(mut self, store: &Path) -> io::Result<()> {
        let paths = self.foreign(store)?;
        if !paths.is_empty() {
            self.log.append(&FileEvent::Foreign { paths })?;
        }
        if let Some(why) = self.watch.blind.take() {
            self.unproved(&why)?;
        }
        let mut stored: Vec<u64> = self.stored.values().copied().collect();
        stored.sort_unstable();
        for number in stored {
            let Some(sight) = self.store.lives_on(number) else { continue };
            if self.store.copy_link(number, &sight)? {
                let modified = sight.attributes.modified;
                self.log.append(&FileEvent::LinkCopied { stored: number, modified })?;
            }
        }
        self.log.append(&FileEvent::End)?;
        self.hands.stop();
        Ok(())
    }
}

impl Server {
    /// The touched paths at which something else is than the programs left, or whose file somebody
    /// else wrote as well.
    fn foreign(&mut self, store: &Path) -> io::Result<Vec<Vec<u8>>> {
        self.watch.read(self.tree.root());
        let run = RecordedRun::open(store)?;
        let Replay { end, mut foreign, inodes } = replay(run.events());
        for (path, inode) in end {
            let found = existing(Sight::at(self.tree.root(), &path))?;
            let of_path = inodes.get(&path).map(Vec::as_slice).unwrap_or_default();
            let written = || of_path.iter().any(|inode| self.watch.is_foreign(*inode));
            let open = || found.as_ref().is_some_and(Sight::is_file) && self.has_writer(&path);
            if found.map(|found| found.inode) != inode || written() || open() {
                foreign.insert(path);
            }
        }
        Ok(foreign.into_iter().collect())
    }

    /// Whether somebody has the file at `path` open for writing: the programs have ended.
    fn has_writer(&self, path: &[u8]) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        openat(self.tree.root(), path, flags, Mode::empty()).is_ok_and(kernel::has_writer)
    }
}

/// A call that is answered.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) listener: &'a OwnedFd,
    pub(crate) notice: Notice,
}

impl Request<'_> {
    pub(crate) fn thread(&self) -> CallingThread {
        CallingThread { id: self.notice.thread }
    }

    /// Answers with `file`.
    pub(crate) fn answer(&self, file: BorrowedFd<'_>, close_on_exec: bool) -> Outcome {
        match kernel::answer_with_file(self.listener, self.notice.id, file, close_on_exec) {
            Ok(()) => Outcome::Answered,
            // It was killed, or has too many open files.
            Err(error) => Outcome::Reply(Reply::Error(
                error.raw_os_error().unwrap_or(Errno::MFILE.raw_os_error()),
            )),
        }
    }
}

pub(crate) fn failed(error: Errno) -> Outcome {
    Outcome::Reply(Reply::Error(error.raw_os_error()))
}

/// Whether the kernel refuses the call for the same reason.
fn is_the_programs(error: &io::Error) -> bool {
    const WRONG: [Errno; 8] = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::FAULT,
        Errno::NAMETOOLONG,
        Errno::BADF,
        Errno::INVAL,
        Errno::ACCESS,
    ];
    error.kind() == io::ErrorKind::InvalidInput
        || WRONG.iter().any(|wrong| error.raw_os_error() == Some(wrong.raw_os_error()))
}
