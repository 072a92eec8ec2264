//! The supervisor process: confines itself, starts the program, watches it and kills what is left.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use edt_recorder::{ChildSetup, Listener, Recorder};
use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    pidfd_open, pidfd_send_signal, set_child_subreaper, setsid, test_kill_process_group, waitpid,
};

use super::os_bytes::OsBytes;
use super::wire::{self, Ended, Namespaces, Orders, Outer, SupervisorReport};
use super::{
    ResourceLimit, ResourceLimits, Termination, confine, mounts, namespaces, recorded, tree,
};
use edt_io::clock;
use edt_io::streams::wait_ready;
use edt_types::Level;

/// Receives orders from `control`, starts the program and waits until all its processes ended.
pub(super) fn supervise(control: &OwnedFd) -> io::Result<()> {
    let (orders, streams, outer) = wire::receive_orders(control.as_fd())?;
    let report = |report: &SupervisorReport| wire::report(control, report);
    let orders = Arc::new(orders);
    match prepare(&orders).and_then(|()| launch(&orders, streams, outer.as_ref(), control)) {
        Ok((program, recording)) => {
            report(&SupervisorReport::Started);
            let outcome = watch(control, &orders, program, recording.is_some())?;
            // An error leaves a log without an end.
            drop(recording.map(edt_recorder::Recorder::finish));
            report(&SupervisorReport::Ended(outcome));
            empty_temporary(&orders);
        }
        Err(failed) => report(&failed),
    }
    Ok(())
}

/// Removes the contents of the program's temporary directory, because edt itself may have been
/// killed. No process can replace paths with symbolic links meanwhile: all have ended, or are in
/// the namespace that ends with this process.
fn empty_temporary(orders: &Orders) {
    let Some(temporary) = orders.temporary.as_ref().filter(|_| orders.level == Level::Standard)
    else {
        return;
    };
    for entry in std::fs::read_dir(temporary.path()).into_iter().flatten().flatten() {
        let _ =
            std::fs::remove_dir_all(entry.path()).or_else(|_| std::fs::remove_file(entry.path()));
    }
}

/// Confines the supervisor itself, except what only the program's thread applies.
fn prepare(orders: &Orders) -> Result<(), SupervisorReport> {
    // Fails if bubblewrap has made a session already.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(|error| system(&error.into()))?;
    if orders.namespaces == Namespaces::Mounts {
        namespaces::mounts().map_err(SupervisorReport::Unavailable)?;
    }
    if let Some(ops) = &orders.mounts {
        mounts::perform(ops).map_err(SupervisorReport::Unavailable)?;
    }
    if orders.namespaces == Namespaces::All {
        // The working directory must not lead back to the old root.
        rustix::process::chdir("/").map_err(|error| system(&error.into()))?;
        namespaces::limit_processes(&orders.limits);
    }
    orders.limits.apply().map_err(|error| system(&error.into()))?;
    if orders.level == Level::Strict {
        orders.limits.apply_to_user().map_err(|error| system(&error.into()))?;
    }
    Ok(())
}

/// Starts the program from a thread that confines itself first. The main thread stays unconfined,
/// and the program cannot reach it.
fn launch(
    orders: &Arc<Orders>,
    streams: [OwnedFd; 3],
    outer: Option<&Outer>,
    control: &OwnedFd,
) -> Result<(Pid, Option<Recorder>), SupervisorReport> {
    let recorded = outer.map_or(Ok(None), |outer| recorded::prepare(orders, outer))?;
    let (setup, recording) = recorded.unzip();
    let pid = start(orders, streams, setup, control)?;
    Ok((pid, recording))
}

fn start(
    orders: &Orders,
    streams: [OwnedFd; 3],
    setup: Option<ChildSetup>,
    control: &OwnedFd,
) -> Result<Pid, SupervisorReport> {
    let recorded = setup.is_some();
    let start = || {
        if orders.level > Level::Permissive {
            confine::this_thread(orders).map_err(SupervisorReport::Unavailable)?;
        }
        let [input, output, errors] = streams;
        let listener = setup.map(ChildSetup::apply).transpose();
        let listener = listener.map_err(|error| recorded::failed(&error))?.map(Listener::into_fd);
        match &listener {
            Some(listener) => {
                wire::report_with(control, &SupervisorReport::Starting, listener.as_fd());
            }
            None => wire::report(control, &SupervisorReport::Starting),
        }
        drop(listener);
        spawn(orders, input.into(), output.into(), errors.into())
            .map_err(|error| not_started(orders, &error))
    };
    // Only a thread of its own may be filtered.
    if orders.level == Level::Permissive && !recorded {
        return start();
    }
    let started = std::thread::scope(|scope| scope.spawn(start).join());
    started.unwrap_or_else(|_| {
        Err(SupervisorReport::Unavailable(
            "The thread that confines the program panicked.".to_owned(),
        ))
    })
}

#[expect(clippy::disallowed_methods, reason = "the place where the program of `edt run` starts")]
fn spawn(orders: &Orders, input: Stdio, output: Stdio, errors: Stdio) -> io::Result<Pid> {
    let mut command = Command::new(orders.program.path());
    command.args(orders.args.iter().map(OsBytes::text)).current_dir(orders.dir.path());
    command.env_clear().envs(orders.env.iter().map(|(name, value)| (name.text(), value.text())));
    command.stdin(input).stdout(output).stderr(errors).process_group(0);
    let child = command.spawn()?;
    Ok(Pid::from_child(&child))
}

/// Distinguishes a program that cannot be executed from an unusable working directory.
fn not_started(orders: &Orders, error: &io::Error) -> SupervisorReport {
    match error.raw_os_error() {
        Some(number) if orders.dir.path().is_dir() => SupervisorReport::NoProgram(number),
        _ => system(&io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(0))),
    }
}

fn system(error: &io::Error) -> SupervisorReport {
    SupervisorReport::System(error.raw_os_error().unwrap_or_default())
}

/// How often the supervisor looks whether a process group has ended.
const GROUP_TICK: Duration = Duration::from_millis(20);

/// Waits until the program ends, edt ends, or a limit is reached; then kills all remaining
/// processes. After a signal from edt it waits for the program's process group: a shell ends before
/// the programs that it started.
fn watch(control: &OwnedFd, orders: &Orders, program: Pid, recorded: bool) -> io::Result<Ended> {
    // Some containers refuse the call. Then the supervisor looks for the end.
    let ended = pidfd_open(program, PidfdFlags::empty()).ok();
    let limits = &orders.limits;
    let tick = match &ended {
        None => GROUP_TICK,
        Some(_) if limits.watched() => Duration::from_millis(50),
        Some(_) => Duration::from_secs(1),
    };
    let how = Cell::new(None);
    let mut note = |pid: Pid, status: WaitStatus| {
        if pid == program {
            let signal = || Termination::Signal(status.terminating_signal().unwrap_or_default());
            how.set(Some(status.exit_status().map_or_else(signal, Termination::Exit)));
        }
    };
    // A program that was reaped has no number any more.
    let send = |signal: Signal| match &ended {
        Some(ended) => pidfd_send_signal(ended, signal),
        None if how.get().is_none() => kill_process(program, signal),
        None => Ok(()),
    };
    let (mut limit, mut over, mut signalled) = (None, false, false);
    loop {
        let mut fds = vec![PollFd::new(control, PollFlags::IN)];
        // The descriptor of a program that has ended is always ready.
        let watched = ended.as_ref().filter(|_| !over);
        fds.extend(watched.map(|ended| PollFd::new(ended, PollFlags::IN)));
        wait_ready(&mut fds, clock::now() + if over { GROUP_TICK } else { tick })?;
        if !fds[0].revents().is_empty() {
            let Some(signal) = wire::receive_signal(control) else { break };
            // A program that left its process group gets the signal alone.
            let _ = kill_process_group(program, signal).or_else(|_| send(signal));
            signalled = true;
        }
        // The program itself, and its orphans that have ended.
        let children = tree::reap(&mut note);
        over |= how.get().is_some();
        let group_goes_on = || signalled && test_kill_process_group(program).is_ok();
        if !children || over && !group_goes_on() {
            break;
        }
        limit = over_limit(limits);
        if limit.is_some() {
            break;
        }
    }
    // The recorder must not end before a program.
    let left = if orders.namespaces == Namespaces::All && !recorded {
        // When the first process of a namespace ends, the kernel kills all others. Only the program
        // itself is waited for.
        let _ = send(Signal::KILL);
        if let Ok(Some((pid, status))) = waitpid(Some(program), WaitOptions::empty()) {
            note(pid, status);
        }
        0
    } else {
        tree::end_all(&mut note)
    };
    let (cpu, max_rss) = used();
    let how = how.get().unwrap_or(Termination::Signal(Signal::KILL.as_raw()));
    if limit.is_none() && limits.cpu.is_some() && how == Termination::Signal(Signal::XCPU.as_raw())
    {
        limit = Some(ResourceLimit::Cpu);
    }
    Ok(Ended { how, limit, cpu, max_rss, left })
}

/// The limit that all processes together exceed.
fn over_limit(limits: &ResourceLimits) -> Option<ResourceLimit> {
    if !limits.watched() {
        return None;
    }
    let all = tree::below(getpid().as_raw_nonzero().get(), &|_| true);
    if limits
        .processes
        .is_some_and(|most| all.iter().map(|process| process.threads).sum::<u64>() > most)
    {
        return Some(ResourceLimit::Processes);
    }
    if let Some(most) = limits.cpu {
        let ticks: u64 = all.iter().map(|process| process.ticks).sum();
        let running =
            Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        if used().0 + running > most {
            return Some(ResourceLimit::Cpu);
        }
    }
    if let Some(most) = limits.memory_bytes {
        let sum =
            |exactly| all.iter().map(|process| tree::memory(process.pid, exactly)).sum::<u64>();
        // Forked processes share pages. The exact sum, which divides them, is slower to compute.
        if sum(false) > most && sum(true) > most {
            return Some(ResourceLimit::Memory);
        }
    }
    None
}

/// Processor time and peak memory of the reaped processes.
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
