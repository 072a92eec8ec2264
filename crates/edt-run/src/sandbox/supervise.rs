//! The supervisor process: confines itself, starts the program, watches it and kills what is left.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    pidfd_open, pidfd_send_signal, set_child_subreaper, setsid, test_kill_process_group, waitpid,
};

use super::os_bytes::OsBytes;
use super::wire::{self, Ended, Namespaces, Orders, SupervisorReport};
use super::{ResourceLimit, ResourceLimits, Termination, confine, mounts, namespaces, tree};
use edt_io::clock;
use edt_io::streams::wait_ready;
use edt_recorder::{ChildSetup, Recorder, Rights};
use edt_types::Level;

/// Receives orders from `control`, starts the program and waits until all its processes ended.
pub(super) fn supervise(control: &OwnedFd) -> io::Result<()> {
    let (orders, streams, store) = wire::receive_orders(control.as_fd())?;
    let report = |report: &SupervisorReport| wire::report(control, report);
    let prepared = prepare(&orders, store)
        .and_then(|store| record(&orders, store.as_ref()).map(|recording| (store, recording)));
    let launched = prepared.and_then(|(store, (setup, recorder))| {
        Ok((launch(&orders, streams, control, setup)?, recorder, store))
    });
    match launched {
        Ok((program, recorder, _store)) => {
            report(&SupervisorReport::Started);
            let mut outcome = watch(control, &orders, program)?;
            // All programs have ended.
            outcome.is_recorded = recorder.is_none_or(|recorder| recorder.finish().is_ok());
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

/// What the program's thread applies to be recorded, and who records.
type Recording = (Option<ChildSetup>, Option<Recorder>);

/// Prepares the recording into `store`.
fn record(orders: &Orders, store: Option<&OwnedFd>) -> Result<Recording, SupervisorReport> {
    let (Some(record), Some(store)) = (&orders.record, store) else { return Ok((None, None)) };
    let store = format!("/proc/self/fd/{}", store.as_raw_fd());
    let mut recording = edt_recorder::Recording::new(record.root.path(), store);
    recording.excluded = record.excluded.iter().map(|path| path.path().to_owned()).collect();
    if orders.level > Level::Permissive {
        let orders = orders.clone();
        recording.rights = Rights::Confined(Box::new(move || confine::this_thread(&orders)));
    }
    let prepared = Recorder::prepare(recording).map_err(|error| not_recorded(&error))?;
    Ok((Some(prepared.0), Some(prepared.1)))
}

fn not_recorded(error: &io::Error) -> SupervisorReport {
    SupervisorReport::Unavailable(format!("The program cannot be recorded: {error}."))
}

/// Confines the supervisor itself, except what only the program's thread applies. Returns the store.
fn prepare(
    orders: &Orders,
    mut store: Option<OwnedFd>,
) -> Result<Option<OwnedFd>, SupervisorReport> {
    // Fails if bubblewrap has made a session already.
    let _ = setsid();
    set_child_subreaper(Some(getpid())).map_err(|error| system(&error.into()))?;
    if orders.namespaces == Namespaces::Mounts {
        namespaces::mounts().map_err(SupervisorReport::Unavailable)?;
    }
    if let Some(ops) = &orders.mounts {
        let place = orders.record.as_ref().map(|record| record.store.path());
        let opened = mounts::perform(ops, place).map_err(SupervisorReport::Unavailable)?;
        store = opened.or(store);
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
    Ok(store)
}

/// Starts the program from a thread that confines itself first. The main thread stays unconfined,
/// and the program cannot reach it.
fn launch(
    orders: &Orders,
    streams: [OwnedFd; 3],
    control: &OwnedFd,
    setup: Option<ChildSetup>,
) -> Result<Pid, SupervisorReport> {
    let is_recorded = setup.is_some();
    let start = || {
        if orders.level > Level::Permissive {
            confine::this_thread(orders).map_err(SupervisorReport::Unavailable)?;
        }
        // The recorder has the listener: this copy ends with the thread.
        setup.map(ChildSetup::apply).transpose().map_err(|error| not_recorded(&error))?;
        let [input, output, errors] = streams;
        wire::report(control, &SupervisorReport::Starting);
        spawn(orders, input.into(), output.into(), errors.into())
            .map_err(|error| not_started(orders, &error))
    };
    if orders.level == Level::Permissive && !is_recorded {
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
fn watch(control: &OwnedFd, orders: &Orders, program: Pid) -> io::Result<Ended> {
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
    let left = if orders.namespaces == Namespaces::All {
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
    Ok(Ended { how, limit, cpu, max_rss, left, is_recorded: true })
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
