//! Descendant processes: finding and killing them, and their resource usage.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, pidfd_open,
    pidfd_send_signal, wait, waitpid,
};

use edt_io::clock;

/// How long killing may take. Processes left then are blocked in the kernel or belong to another
/// user.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A process, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    session: i32,
    zombie: bool,
    /// Processor time in ticks, including its reaped children.
    pub(super) ticks: u64,
    pub(super) threads: u64,
    /// The start time. With the PID it identifies the process.
    start: u64,
}

/// Kills all descendants of this process. Returns how many could not be killed. `on_reaped` is
/// called for each reaped process.
///
/// Orphans become children of this process, because it is the subreaper. So the kernel knows
/// whether any child is left, and a process that forks during the search is found in the next
/// round.
pub(super) fn end_all(on_reaped: &mut dyn FnMut(Pid, WaitStatus)) -> u32 {
    let deadline = clock::now() + KILL_TIMEOUT;
    while reap(on_reaped) {
        kill(&below(getpid().as_raw_nonzero().get(), &|_| true));
        if clock::now() > deadline {
            return u32::try_from(below(getpid().as_raw_nonzero().get(), &|_| true).len())
                .unwrap_or(u32::MAX);
        }
        pause();
    }
    0
}

/// Reaps ended children. False if no child is left.
pub(super) fn reap(on_reaped: &mut dyn FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_reaped(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The supervisors of this process that have not been reaped.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Registers a supervisor, so that [`end_orphans`] of another one does not kill it.
pub(super) fn register(pid: u32) {
    if let (Ok(mut all), Ok(pid)) = (SUPERVISORS.lock(), i32::try_from(pid)) {
        all.insert(pid);
    }
}

pub(super) fn unregister(pid: u32) {
    if let (Ok(mut all), Ok(pid)) = (SUPERVISORS.lock(), i32::try_from(pid)) {
        all.remove(&pid);
    }
}

/// Kills the orphans of a killed supervisor: children of this process in a different session.
/// Returns how many could not be killed.
pub(super) fn end_orphans() -> u32 {
    let deadline = clock::now() + KILL_TIMEOUT;
    // From `/proc`: in a container, a session that began outside has id 0, which a `Pid` cannot
    // represent.
    let own = read(getpid().as_raw_nonzero().get()).map_or(0, |process| process.session);
    let known = SUPERVISORS.lock().map(|all| all.clone()).unwrap_or_default();
    let orphan = |process: &Process| process.session != own && !known.contains(&process.pid);
    loop {
        let left = below(getpid().as_raw_nonzero().get(), &orphan);
        if left.is_empty() || clock::now() > deadline {
            return u32::try_from(left.len()).unwrap_or(u32::MAX);
        }
        kill(&left);
        for process in left.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // Only direct children of this process can be reaped.
            let _ = waitpid(Some(process), WaitOptions::NOHANG);
        }
        pause();
    }
}

fn pause() {
    std::thread::sleep(Duration::from_micros(200));
}

/// Kills each process, unless its PID now belongs to another process.
fn kill(processes: &[Process]) {
    for process in processes.iter().filter(|process| !process.zombie) {
        let Some(pid) = Pid::from_raw(process.pid) else { continue };
        // Some containers refuse the call.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => continue,
            opened => opened.ok(),
        };
        // The PID may have been reused. The start time shows whether it is the same process.
        if read(process.pid).is_some_and(|now| now.start == process.start) {
            let _ = match &handle {
                Some(handle) => pidfd_send_signal(handle, Signal::KILL),
                None => kill_process(pid, Signal::KILL),
            };
        }
    }
}

/// The descendants of the process `root`: the children that `direct` accepts, and all below them.
pub(super) fn below(root: i32, direct: &dyn Fn(&Process) -> bool) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<Process> = children
        .remove(&root)
        .unwrap_or_default()
        .into_iter()
        .filter(|process| direct(process))
        .collect();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.pid).unwrap_or_default());
        next += 1;
    }
    found
}

fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(read).collect()
}

fn read(pid: i32) -> Option<Process> {
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

fn parse(pid: i32, stat: &str) -> Option<Process> {
    // The name is in parentheses and may contain any text, including parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        threads: number(17)?,
        start: number(19)?,
    })
}

/// The private memory of a process in bytes. `exactly` divides shared pages among processes; it is
/// slower.
pub(super) fn memory(pid: i32, exactly: bool) -> u64 {
    let directory = Path::new("/proc").join(pid.to_string());
    let text = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    if exactly {
        let rollup = text("smaps_rollup");
        let line = |name: &str| {
            let rest = rollup.lines().find_map(|line| line.strip_prefix(name))?;
            rest.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        return (line("Pss_Anon:").unwrap_or(0) + line("Pss_Shmem:").unwrap_or(0)) * 1024;
    }
    let statm = text("statm");
    let mut numbers =
        statm.split_ascii_whitespace().skip(1).filter_map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_fields() {
        let stat = "7 (a) R 9 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20";
        let expected = Process {
            pid: 7,
            parent: 1,
            session: 3,
            zombie: false,
            ticks: 11 + 12 + 13 + 14,
            threads: 17,
            start: 19,
        };
        assert_eq!(parse(7, stat), Some(expected));
    }

    #[test]
    fn a_process_that_ended_is_a_zombie() {
        let stat = |state: &str| {
            format!("7 (x) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20")
        };
        let zombie = |state| parse(7, &stat(state)).unwrap().zombie;
        assert_eq!((zombie("Z"), zombie("X"), zombie("S")), (true, true, false));
    }

    #[test]
    fn a_line_that_is_cut_is_no_process() {
        assert_eq!(parse(7, "7 (x) S 1 2 3"), None);
        assert_eq!(parse(7, "7 x S 1 2 3"), None);
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let own = getpid().as_raw_nonzero().get();
        let process = read(own).unwrap();
        assert_eq!((process.pid, process.zombie), (own, false));
        assert!(below(process.parent, &|_| true).iter().any(|one| one.pid == own));
        assert!(memory(own, false) > 0);
    }
}
