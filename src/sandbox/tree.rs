//! The processes below this one: finding them, ending them, what they use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
    waitpid,
};

use crate::io::clock;

/// How long ending may take: what does not end then, waits in the kernel or belongs to another user.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process, as `/proc/PID/stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    session: i32,
    zombie: bool,
    /// Processor time, that of its reaped children included, in ticks.
    pub(super) ticks: u64,
    pub(super) threads: u64,
    /// When it started: with its number, what no other process has.
    start: u64,
}

/// Ends every child of this process and what is below; returns how many could not be ended. `seen` gets each that is reaped.
///
/// What a process leaves behind becomes this one's child, the reaper's. So "no child is left" is one question to the kernel, and
/// a process that forks while it is looked for is found the next time.
pub(super) fn end_all(seen: &mut dyn FnMut(Pid, WaitStatus)) -> u32 {
    let deadline = clock::now() + PATIENCE;
    while reap(seen) {
        end_those(&below(getpid().as_raw_nonzero().get(), &|_| true));
        if clock::now() > deadline {
            return u32::try_from(below(getpid().as_raw_nonzero().get(), &|_| true).len())
                .unwrap_or(u32::MAX);
        }
        wait_a_little();
    }
    0
}

/// Reaps what has ended; false if no child is left.
pub(super) fn reap(seen: &mut dyn FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => seen(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The supervisors of this process that are not yet waited for.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Notes a supervisor, so that ending the orphans of another leaves it alone.
pub(super) fn note(pid: u32) {
    if let (Ok(mut all), Ok(pid)) = (SUPERVISORS.lock(), i32::try_from(pid)) {
        all.insert(pid);
    }
}

/// Forgets it.
pub(super) fn forget(pid: u32) {
    if let (Ok(mut all), Ok(pid)) = (SUPERVISORS.lock(), i32::try_from(pid)) {
        all.remove(&pid);
    }
}

/// Ends what a killed supervisor left to this process: children in a session that is not this process's own. Returns how many
/// could not be ended.
pub(super) fn end_orphans() -> u32 {
    let deadline = clock::now() + PATIENCE;
    // Read, not asked for: a container's process whose session began outside has session 0, which no `Pid` can hold.
    let own = read(getpid().as_raw_nonzero().get()).map_or(0, |process| process.session);
    let known = SUPERVISORS.lock().map(|all| all.clone()).unwrap_or_default();
    let orphan = |process: &Process| process.session != own && !known.contains(&process.pid);
    loop {
        let left = below(getpid().as_raw_nonzero().get(), &orphan);
        if left.is_empty() || clock::now() > deadline {
            return u32::try_from(left.len()).unwrap_or(u32::MAX);
        }
        end_those(&left);
        for process in left.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // Only those that are this process's children by now can be reaped.
            let _ = waitpid(Some(process), WaitOptions::NOHANG);
        }
        wait_a_little();
    }
}

fn wait_a_little() {
    std::thread::sleep(Duration::from_micros(200));
}

/// Kills each, if it is still the process that was seen.
fn end_those(processes: &[Process]) {
    for process in processes.iter().filter(|process| !process.zombie) {
        let Some(pid) = Pid::from_raw(process.pid) else { continue };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // The number may have gone to another process meanwhile: the handle holds the one that this start belongs to.
        if read(process.pid).is_some_and(|now| now.start == process.start) {
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }
}

/// What is below the process `root`: those of its children that `direct` takes, and everything below them.
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
    // The name stands in brackets and may hold anything, brackets too.
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

/// The memory that only this process has, in bytes; exactly, with shared pages divided, where that was asked for.
pub(super) fn memory(pid: i32, exactly: bool) -> u64 {
    let folder = Path::new("/proc").join(pid.to_string());
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
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
}
