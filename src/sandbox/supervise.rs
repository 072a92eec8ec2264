//! The supervisor: confines, starts, watches, ends.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, setsid, waitpid,
};

use super::wire::{self, Orders, Over, Report, Spaces};
use super::{How, Limit, Limits, confine, mounts, spaces, tree};
use crate::base::Level;

/// Takes orders from `control`, starts the program and sees everything to its end.
pub(super) fn supervise(control: &OwnedFd) -> io::Result<()> {
    let (orders, streams) = wire::receive_orders(control.as_fd())?;
    let report = |report: &Report| wire::report(control, report);
    match prepare(&orders).and_then(|()| launch(&orders, streams, control)) {
        Ok(program) => {
            report(&Report::Started);
            let over = watch(control, &orders, program)?;
            report(&Report::Over(over));
            empty(&orders);
        }
        Err(failed) => report(&failed),
    }
    Ok(())
}

/// Removes what the program left in its temporary folder: edt, whose folder it is, may be gone. Nothing runs any more that could
/// put links in the way, or what does is in the same namespace and ends with this process.
fn empty(orders: &Orders) {
    let Some(temporary) = orders.temporary.as_ref().filter(|_| orders.level == Level::Standard)
    else {
        return;
    };
    for entry in std::fs::read_dir(temporary.path()).into_iter().flatten().flatten() {
        let _ =
            std::fs::remove_dir_all(entry.path()).or_else(|_| std::fs::remove_file(entry.path()));
    }
}

/// What the supervisor does to itself. After this it is, but for its main thread, as the program will be.
fn prepare(orders: &Orders) -> Result<(), Report> {
    // bubblewrap has made a session already.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(|error| system(&error.into()))?;
    if orders.spaces == Spaces::Mounts {
        spaces::mounts().map_err(Report::Unavailable)?;
    }
    if let Some(ops) = &orders.mounts {
        mounts::perform(ops).map_err(Report::Unavailable)?;
    }
    if orders.spaces == Spaces::All {
        // What held the old root must not lead out of the new one.
        rustix::process::chdir("/").map_err(|error| system(&error.into()))?;
        spaces::limit_processes(&orders.limits);
    }
    orders.limits.apply().map_err(|error| system(&error.into()))?;
    if orders.level == Level::Strict {
        orders.limits.apply_to_user().map_err(|error| system(&error.into()))?;
    }
    Ok(())
}

/// Starts the program from a thread that confines itself first: the main thread stays outside, where the program cannot reach it.
fn launch(orders: &Orders, streams: [OwnedFd; 3], control: &OwnedFd) -> Result<Pid, Report> {
    let start = || {
        if orders.level > Level::Permissive {
            confine::this_thread(orders).map_err(Report::Unavailable)?;
        }
        let [input, output, errors] = streams;
        wire::report(control, &Report::Starting);
        spawn(orders, input.into(), output.into(), errors.into())
            .map_err(|error| not_started(orders, &error))
    };
    if orders.level == Level::Permissive {
        return start();
    }
    let started = std::thread::scope(|scope| scope.spawn(start).join());
    started.unwrap_or_else(|_| {
        Err(Report::Unavailable("The thread that confines the program broke.".to_owned()))
    })
}

#[expect(clippy::disallowed_methods, reason = "the place where the program of `edt run` starts")]
fn spawn(orders: &Orders, input: Stdio, output: Stdio, errors: Stdio) -> io::Result<Pid> {
    let mut command = Command::new(orders.program.path());
    command.args(orders.args.iter().map(wire::Bytes::text)).current_dir(orders.dir.path());
    command.env_clear().envs(orders.env.iter().map(|(name, value)| (name.text(), value.text())));
    command.stdin(input).stdout(output).stderr(errors).process_group(0);
    let child = command.spawn()?;
    Ok(Pid::from_child(&child))
}

/// Why the program did not start: itself, or its folder.
fn not_started(orders: &Orders, error: &io::Error) -> Report {
    match error.raw_os_error() {
        Some(number) if orders.dir.path().is_dir() => Report::NoProgram(number),
        _ => system(&io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(0))),
    }
}

fn system(error: &io::Error) -> Report {
    Report::System(error.raw_os_error().unwrap_or_default())
}

/// Waits for the program's end, for edt's, or for a limit; then ends all that is left.
fn watch(control: &OwnedFd, orders: &Orders, program: Pid) -> io::Result<Over> {
    let ended = pidfd_open(program, PidfdFlags::empty())?;
    let limits = &orders.limits;
    let tick = if limits.watched() { Duration::from_millis(50) } else { Duration::from_secs(1) };
    let tick = Timespec::try_from(tick).map_err(io::Error::other)?;
    let mut how = None;
    let mut note = |pid: Pid, status: WaitStatus| {
        if pid == program {
            let signal = || How::Signal(status.terminating_signal().unwrap_or_default());
            how = Some(status.exit_status().map_or_else(signal, How::Exit));
        }
    };
    let mut limit = None;
    loop {
        let mut fds = [PollFd::new(&ended, PollFlags::IN), PollFd::new(control, PollFlags::IN)];
        match poll(&mut fds, Some(&tick)) {
            Ok(0) => {}
            Ok(_) => break,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // What the program left behind and has ended since.
        if !tree::reap(&mut note) {
            break;
        }
        limit = over_limit(limits);
        if limit.is_some() {
            break;
        }
    }
    let left = if orders.spaces == Spaces::All {
        // The end of a namespace's first process is that of all others; only the program's own end is waited for.
        let _ = pidfd_send_signal(&ended, Signal::KILL);
        if let Ok(Some((pid, status))) = waitpid(Some(program), WaitOptions::empty()) {
            note(pid, status);
        }
        0
    } else {
        tree::end_all(&mut note)
    };
    let (cpu, max_rss) = used();
    let how = how.unwrap_or(How::Signal(Signal::KILL.as_raw()));
    if limit.is_none() && limits.cpu.is_some() && how == How::Signal(Signal::XCPU.as_raw()) {
        limit = Some(Limit::Cpu);
    }
    Ok(Over { how, limit, cpu, max_rss, left })
}

/// Which limit of all processes together is passed.
fn over_limit(limits: &Limits) -> Option<Limit> {
    if !limits.watched() {
        return None;
    }
    let all = tree::below(getpid().as_raw_nonzero().get(), &|_| true);
    if limits
        .processes
        .is_some_and(|most| all.iter().map(|process| process.threads).sum::<u64>() > most)
    {
        return Some(Limit::Processes);
    }
    if let Some(most) = limits.cpu {
        let ticks: u64 = all.iter().map(|process| process.ticks).sum();
        let running =
            Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        if used().0 + running > most {
            return Some(Limit::Cpu);
        }
    }
    if let Some(most) = limits.memory_bytes {
        let sum =
            |exactly| all.iter().map(|process| tree::memory(process.pid, exactly)).sum::<u64>();
        // Processes that forked share pages: only a sum that divides these is one to end them for.
        if sum(false) > most && sum(true) > most {
            return Some(Limit::Memory);
        }
    }
    None
}

/// Processor time and the most memory of the processes that were waited for.
fn used() -> (Duration, u64) {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or((Duration::ZERO, 0), |usage| {
        let time = |time: nix::sys::time::TimeVal| {
            Duration::new(
                u64::try_from(time.tv_sec()).unwrap_or(0),
                u32::try_from(time.tv_usec() * 1000).unwrap_or(0),
            )
        };
        let memory = u64::try_from(usage.max_rss()).unwrap_or(0) * 1024;
        (time(usage.user_time()) + time(usage.system_time()), memory)
    })
}
