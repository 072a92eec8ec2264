//! Starting and ending a recording.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use nix::sys::signal::{SigSet, Signal};

use crate::hands::{Hands, Rights};
use crate::record::RecordedRun;
use crate::serve::Server;
use crate::sockets::{OwnSockets, Sockets};
use crate::store::{CopyLimits, Store};
use crate::{Clean, Names, filter, kernel};

/// What is recorded, and where to.
pub struct Recording {
    /// The directory that is recorded.
    pub root: PathBuf,
    /// An empty directory for the log and for what is kept, on the same file system as the root:
    /// else removed files are copied. Programs must not be able to write there.
    pub store: PathBuf,
    /// The root on the mount of the store, where programs see it on another mount: links are made
    /// within one mount only. Like the store it may be `/proc/self/fd/N`.
    pub outer_root: Option<PathBuf>,
    /// Directories below the root that are not recorded, such as Git's.
    pub excluded: Vec<PathBuf>,
    pub limits: CopyLimits,
    pub rights: Rights,
    pub clean: Box<dyn Clean>,
    /// Which names programs may make.
    pub names: Box<dyn Names>,
    /// Which sockets programs may make.
    pub sockets: Sockets,
    /// What [`outer_mark`] returns below this recorder; zero is nothing.
    pub mark: u32,
}

impl Recording {
    /// Of `root`, with the default limits, for a program that has this process's rights.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, store: impl Into<PathBuf>) -> Recording {
        Recording {
            root: root.into(),
            store: store.into(),
            outer_root: None,
            excluded: Vec::new(),
            limits: CopyLimits::default(),
            rights: Rights::Own,
            clean: Box::new(crate::NothingClean),
            names: Box::new(crate::AnyName),
            sockets: Sockets::All,
            mark: 0,
        }
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Recording").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Answers the calls of the programs, in threads of this process.
///
/// If this process dies before its programs, the kernel answers their calls with ENOSYS. So another
/// process should have [a copy of the listener](Listener) and kill the programs.
#[derive(Debug)]
#[must_use = "dropping it lets the programs fail"]
pub struct Recorder {
    thread: JoinHandle<io::Result<()>>,
    /// The recording ends when it is closed.
    stop: OwnedFd,
    store: PathBuf,
}

/// What the thread does that starts the program.
#[derive(Debug)]
#[must_use = "without it nothing is recorded"]
pub struct ChildSetup {
    listener: SyncSender<OwnedFd>,
    with_sockets: bool,
}

/// A copy of the listener, which keeps the programs waiting when the recorder dies.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// Whether programs that this thread starts can be recorded. False on an older kernel than Linux
/// 5.19, on an unknown processor, and where they are recorded already.
#[must_use]
pub fn is_supported() -> bool {
    let Some(machine) = filter::MACHINE else { return false };
    // A filter cannot be removed: the thread ends with it.
    let probe =
        std::thread::spawn(move || kernel::install(&filter::program(machine, false)).is_ok());
    probe.join().unwrap_or(false)
}

/// The [mark](Recording::mark) of the recorder above this thread. `None`: there is none, or it has
/// no mark.
#[must_use]
pub fn outer_mark() -> Option<u32> {
    kernel::outer_mark()
}

impl Recorder {
    /// Prepares a recording. Nothing is recorded before [`ChildSetup::apply`].
    ///
    /// # Errors
    /// The store cannot be written, or the rights cannot be reduced. `Unsupported`: this system has
    /// no listeners.
    pub fn prepare(recording: Recording) -> io::Result<(ChildSetup, Recorder)> {
        if filter::MACHINE.is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let store = recording.store.clone();
        let with_sockets = matches!(recording.sockets, Sockets::Own { .. });
        let (stopped, stop) = io::pipe()?;
        let (stopped, stop) = (OwnedFd::from(stopped), OwnedFd::from(stop));
        let (listener, incoming) = sync_channel::<OwnedFd>(1);
        let (ready, is_ready) = sync_channel(1);
        let serve = move || {
            // A file above a resource limit of this process is not kept; this goes on.
            let mut too_large = SigSet::empty();
            too_large.add(Signal::SIGXFSZ);
            too_large.thread_block()?;
            let Recording {
                root,
                store,
                outer_root,
                excluded,
                limits,
                rights,
                clean,
                names,
                sockets,
                mark,
            } = recording;
            let prepared = Hands::start(rights).map_err(io::Error::other).and_then(|hands| {
                let kept = Store::open(&store, outer_root.as_deref(), limits)?;
                let mut server =
                    Server::new(&root, &store, kept, &excluded, hands, (clean, names))?;
                server.mark = mark;
                server.sockets = OwnSockets::open(sockets)?;
                Ok(server)
            });
            let mut server = match prepared {
                Ok(server) => server,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return Ok(());
                }
            };
            let _ = ready.send(Ok(()));
            let Ok(listener) = incoming.recv() else {
                server.unproved("nothing was recorded: the filter was not installed")?;
                return server.finish(&store);
            };
            kernel::wake_synchronously(&listener);
            server.serve(&listener, &stopped)?;
            server.finish(&store)
        };
        let builder = std::thread::Builder::new().name("edt-recorder".to_owned());
        let thread = builder.spawn(serve)?;
        is_ready.recv().map_err(io::Error::other)??;
        Ok((ChildSetup { listener, with_sockets }, Recorder { thread, stop, store }))
    }

    /// Ends the recording. Call it when the programs have ended and are reaped: calls of those that
    /// go on fail with ENOSYS, unless a [`Listener`] is left. Files that they still have open count
    /// as somebody else's.
    ///
    /// # Errors
    /// The log cannot be written or read.
    pub fn finish(self) -> io::Result<RecordedRun> {
        drop(self.stop);
        self.thread.join().map_err(|_| io::Error::other("the recorder panicked"))??;
        RecordedRun::open(&self.store)
    }
}

impl ChildSetup {
    /// Installs the filter for this thread and all that it starts; it cannot be removed. Sets
    /// `no_new_privs`.
    ///
    /// Call it last in the thread that starts the program: after namespaces, Landlock and other
    /// filters, which could not be made any more or would be recorded.
    ///
    /// # Errors
    /// `ResourceBusy`: this thread is recorded already. Else this system has no listeners.
    pub fn apply(self) -> io::Result<Listener> {
        let machine = filter::MACHINE.ok_or(io::ErrorKind::Unsupported)?;
        let listener = kernel::install(&filter::program(machine, self.with_sockets))?;
        let copy = listener.try_clone()?;
        self.listener.send(listener).map_err(io::Error::other)?;
        Ok(Listener(copy))
    }
}

impl Listener {
    /// A listener that was received from another process.
    #[must_use]
    pub fn from_fd(listener: OwnedFd) -> Listener {
        Listener(listener)
    }

    /// The descriptor, to be sent to another process.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Kills every process that makes a recorded call, until all have ended. For a process that
    /// outlives the recorder; `ended` is asked after each call whether to stop.
    ///
    /// # Errors
    /// The listener cannot be read.
    pub fn kill_callers(&self, mut ended: impl FnMut() -> bool) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let tick = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        while !ended() {
            let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut fds, Some(&tick)) {
                Err(rustix::io::Errno::INTR) | Ok(0) => continue,
                found => found?,
            };
            if fds[0].revents().contains(PollFlags::HUP) {
                return Ok(());
            }
            match kernel::receive(&self.0) {
                Ok(notice) => {
                    let thread = nix::unistd::Pid::from_raw(notice.thread);
                    if kernel::waits(&self.0, &notice) {
                        // The number of a thread also names its process.
                        let _ = nix::sys::signal::kill(thread, Signal::SIGKILL);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
