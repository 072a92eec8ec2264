//! Runs a program under the recorder, from the command line: `record ROOT STORE PROGRAM ARG…`
//! writes the log to STORE, `record --restore ROOT STORE` reverts it.
//!
//! `record --guarded …` does it in a second process, whose programs this one kills if it dies.

#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, clippy::disallowed_methods, reason = "a program")]
pub(crate) mod linux {
    use std::ffi::OsString;
    use std::io::{self, IoSlice, IoSliceMut};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::path::Path;
    use std::process::{Command, ExitCode, Stdio};

    use edt_recorder::{Listener, NothingClean, Recorder, Recording, restore};
    use rustix::cmsg_space;
    use rustix::net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
    };
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

    /// `again`: the command that starts this program with other arguments.
    pub(crate) fn run(
        mut args: Vec<OsString>,
        again: impl Fn(&[OsString]) -> Command,
    ) -> io::Result<ExitCode> {
        let mode = args.first().and_then(|arg| arg.to_str()).unwrap_or_default().to_owned();
        if mode.starts_with("--") {
            args.remove(0);
        }
        match mode.as_str() {
            "--restore" => {
                let done = restore(Path::new(&args[1]), Path::new(&args[0]), &mut NothingClean)?;
                eprintln!("{done:?}");
                Ok(ExitCode::SUCCESS)
            }
            "--guarded" => {
                args.insert(0, "--from-guard".into());
                guard(again(&args))
            }
            "--from-guard" => record(&args, Some(rustix::stdio::stdin().try_clone_to_owned()?)),
            _ => record(&args, None),
        }
    }

    fn record(args: &[OsString], guard: Option<OwnedFd>) -> io::Result<ExitCode> {
        let (setup, recorder) = Recorder::prepare(Recording::new(&args[0], &args[1]))?;
        let mut command = Command::new(&args[2]);
        command.args(&args[3..]).current_dir(&args[0]);
        let start = move || -> io::Result<_> {
            let listener = setup.apply()?.into_fd();
            if let Some(guard) = guard {
                command.stdin(Stdio::null());
                let fds = [listener.as_fd()];
                let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
                let mut rights = SendAncillaryBuffer::new(&mut space);
                rights.push(SendAncillaryMessage::ScmRights(&fds));
                sendmsg(&guard, &[IoSlice::new(b"l")], &mut rights, SendFlags::empty())?;
            }
            command.spawn()
        };
        let started = std::thread::spawn(start).join();
        let mut child = started.map_err(|_| io::Error::other("it panicked"))??;
        let status = child.wait()?;
        let run = recorder.finish()?;
        if !run.unproved.is_empty() {
            eprintln!("unproved: {:?}", run.unproved);
        }
        Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(99)).unwrap_or(98)))
    }

    fn guard(mut command: Command) -> io::Result<ExitCode> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let (own, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let mut recorder = command.stdin(theirs).spawn()?;
        drop(command);
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let into = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&own, into, &mut rights, RecvFlags::CMSG_CLOEXEC)?;
        let listener = rights.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let listener = Listener::from_fd(listener.ok_or(io::ErrorKind::UnexpectedEof)?);
        let status = recorder.wait()?;
        if let Some(code) = status.code() {
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(98)));
        }
        eprintln!("the recorder was killed");
        listener.kill_callers(|| !kill_children())?;
        Ok(ExitCode::from(97))
    }

    /// Kills all children, which orphans are as well. False if none is left.
    fn kill_children() -> bool {
        // Orphans become children of the main thread.
        let main = format!("/proc/self/task/{}/children", std::process::id());
        let text = std::fs::read_to_string(main).unwrap_or_default();
        for pid in text.split_whitespace().filter_map(|text| Pid::from_raw(text.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        wait(WaitOptions::NOHANG).is_ok()
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a program")]
#[allow(dead_code, reason = "a test has this file as a module")]
fn main() -> std::io::Result<std::process::ExitCode> {
    let args = std::env::args_os().skip(1).collect();
    linux::run(args, |args| {
        let mut command = std::process::Command::new("/proc/self/exe");
        command.args(args);
        command
    })
}

#[cfg(not(target_os = "linux"))]
fn main() {}
