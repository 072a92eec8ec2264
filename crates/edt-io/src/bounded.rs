//! Runs a program within bounds: a time limit for the program and everything it starts, and an
//! output that is read to its end but kept only in part.
//!
//! [`run`] passes exactly the given arguments, a clean environment and no input. [`run_filter`]
//! pipes bytes through a shell command.
//!
//! Afterwards nothing in the program's process group is running. A process that left the group is
//! killed only with `reap_orphans`, which makes this process the parent of orphaned descendants
//! (`PR_SET_CHILD_SUBREAPER` of Linux), for good: a library must not do so unless its caller asks.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::effect::{self, SideEffect};
use super::streams::wait_ready;
use super::{Environment, clock, orphans, platform};

/// How often the end of a program is looked for, where the system does not report it.
const TICK: Duration = Duration::from_millis(10);

/// How many bytes of output are kept, from its end.
pub const TAIL_BYTES: usize = 64 * 1024;

/// A program to run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The path of the program, from [`find`].
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// The working directory, and the program's `TMPDIR`.
    pub dir: &'a Path,
    /// The time limit.
    pub limit: Duration,
    /// Where `PATH`, `HOME` and `LANG` come from.
    pub environment: Environment,
    /// Whether processes that leave the process group are killed, too.
    pub reap_orphans: bool,
}

/// A shell command to pipe bytes through.
#[derive(Debug)]
pub struct Filter<'a> {
    /// The command line for `sh -c`.
    pub command: &'a OsStr,
    /// The working directory.
    pub dir: &'a Path,
    /// The program's `TMPDIR`, which identifies the processes that it leaves behind.
    pub scratch: &'a Path,
    /// Standard input.
    pub input: &'a [u8],
    /// The maximum number of bytes of output.
    pub max_output: usize,
    /// The time limit.
    pub limit: Duration,
    /// The environment of the command.
    pub environment: Environment,
    /// Whether processes that leave the process group are killed, too.
    pub reap_orphans: bool,
}

#[derive(Debug)]
pub struct FilterOutput {
    pub end: ProcessEnd,
    /// Standard output; `None` if it was longer than the maximum.
    pub output: Option<Vec<u8>>,
    /// The last bytes of standard error.
    pub stderr_tail: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this status.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// It timed out and was killed, with everything that it had started.
    TimedOut,
}

#[derive(Debug)]
pub struct JobOutput {
    pub end: ProcessEnd,
    /// The last bytes of standard output and standard error together, in the order of writing.
    pub output: Vec<u8>,
    /// How many bytes the program wrote in total.
    pub written: u64,
}

/// The path of the program `name`: an absolute path unchanged, a plain name from the absolute
/// directories of `PATH`. `None` if there is no such program.
#[must_use]
pub fn find(environment: Environment, name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && runs(path));
    }
    let directories = environment.search_dirs().into_iter();
    directories.filter(|directory| directory.is_absolute()).map(|dir| dir.join(name)).find(runs)
}

/// Runs `job`. When this returns, its process group is killed. With `reap_orphans`, so is every
/// process that left the group but still has the job's directory as its `TMPDIR`.
///
/// # Errors
/// Any error of the operating system while starting or watching the program.
#[expect(clippy::disallowed_methods, reason = "one of the two places that start programs")]
pub fn run(job: &Job<'_>) -> io::Result<JobOutput> {
    if job.reap_orphans {
        orphans::become_subreaper();
    }
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(job.program);
    command
        .args(job.args)
        .current_dir(job.dir)
        .env_clear()
        .env("PATH", job.environment.search_path())
        .env("TMPDIR", job.dir);
    for name in ["HOME", "LANG"] {
        command.envs(job.environment.var(name).map(|value| (name, value)));
    }
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    effect::step(SideEffect::Start, job.program)?;
    let mut group = Group {
        child: command.spawn()?,
        directory: job.dir,
        reap_orphans: job.reap_orphans,
        over: false,
    };
    // Close this process's copies of the pipe's writing end. Those that are left belong to the
    // program.
    drop(command);
    let mut output = Output::new(reader.into(), TAIL_BYTES)?;
    let in_time = wait(&group.child, &mut [&mut output], job.limit)?;
    let status = group.end()?;
    output.drain(Duration::from_millis(100));
    Ok(JobOutput { end: end_of(in_time, status), output: output.kept, written: output.written })
}

/// Pipes bytes through a shell command. Afterwards its processes are killed as with [`run`].
///
/// # Errors
/// Any error of the operating system while starting or watching the program.
#[expect(clippy::disallowed_methods, reason = "one of the two places that start programs")]
pub fn run_filter(bytes: &Filter<'_>) -> io::Result<FilterOutput> {
    if bytes.reap_orphans {
        orphans::become_subreaper();
    }
    // A file as input needs no writer that waits for the program to read.
    let input = platform::unnamed_file(bytes.input)?;
    let ((out_reader, out_writer), (err_reader, err_writer)) = (io::pipe()?, io::pipe()?);
    let mut command = Command::new("/bin/sh");
    bytes.environment.prepare(&mut command);
    command.arg("-c").arg(bytes.command).current_dir(bytes.dir).env("TMPDIR", bytes.scratch);
    command.stdin(input).stdout(out_writer).stderr(err_writer).process_group(0);
    effect::step(SideEffect::Start, Path::new("/bin/sh"))?;
    let mut group = Group {
        child: command.spawn()?,
        directory: bytes.scratch,
        reap_orphans: bytes.reap_orphans,
        over: false,
    };
    drop(command);
    let mut output = Output::new(out_reader.into(), bytes.max_output)?;
    let mut stderr_tail = Output::new(err_reader.into(), 4096)?;
    let in_time = wait(&group.child, &mut [&mut output, &mut stderr_tail], bytes.limit)?;
    let status = group.end()?;
    // The output of a program that has ended is in the pipe already.
    output.drain(Duration::from_secs(10));
    stderr_tail.drain(Duration::from_millis(100));
    let complete = output.written == output.kept.len() as u64;
    Ok(FilterOutput {
        end: end_of(in_time, status),
        output: complete.then_some(output.kept),
        stderr_tail: stderr_tail.kept,
    })
}

fn end_of(in_time: bool, status: ExitStatus) -> ProcessEnd {
    match (in_time, status.code()) {
        (false, _) => ProcessEnd::TimedOut,
        (true, Some(code)) => ProcessEnd::Exit(code),
        (true, None) => ProcessEnd::Signal(status.signal().unwrap_or_default()),
    }
}

/// Waits for the end of the child and reads its output; false if `limit` is over first. The child
/// is not reaped, so that its process id, which is also that of its group, is not reused.
fn wait(child: &Child, outputs: &mut [&mut Output], limit: Duration) -> io::Result<bool> {
    let program = Pid::from_child(child);
    // Some containers and systems do not report it. Then the end is looked for.
    let watch = platform::end_of(child);
    let deadline = clock::now() + limit;
    loop {
        let open = outputs.iter().filter(|output| output.open);
        let open = open.map(|output| PollFd::from_borrowed_fd(output.pipe.as_fd(), PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = open.collect();
        fds.extend(watch.as_ref().map(|watch| PollFd::new(watch, PollFlags::IN)));
        let until = if watch.is_some() { deadline } else { deadline.min(clock::now() + TICK) };
        let is_ready = wait_ready(&mut fds, until)?;
        let ended = match &watch {
            Some(_) => fds.last().is_some_and(|watch| !watch.revents().is_empty()),
            None => has_ended(program)?,
        };
        if ended || !is_ready && clock::now() >= deadline {
            return Ok(ended);
        }
        for output in outputs.iter_mut() {
            output.read_some();
        }
    }
}

/// Whether the child `program` has ended. It is not reaped.
fn has_ended(program: Pid) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(program), options)?.is_some())
}

/// The process group of a child. Dropping it kills the group.
struct Group<'a> {
    child: Child,
    directory: &'a Path,
    reap_orphans: bool,
    over: bool,
}

impl Group<'_> {
    /// Kills the group, and the processes that left it if they are reaped here; returns the exit
    /// status of the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.over = true;
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait()?;
        // Killing a process may orphan others, which only the next round finds.
        let rounds = if self.reap_orphans { 50 } else { 0 };
        for _ in 0..rounds {
            if !orphans::has_children() || !orphans::kill_by_tmpdir(self.directory) {
                break;
            }
        }
        Ok(status)
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.end();
        }
    }
}

/// The reading end of a pipe, and what was read from it.
struct Output {
    pipe: File,
    open: bool,
    limit: usize,
    kept: Vec<u8>,
    written: u64,
}

impl Output {
    fn new(pipe: OwnedFd, max_output: usize) -> io::Result<Output> {
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Output {
            pipe: pipe.into(),
            open: true,
            limit: max_output,
            kept: Vec::new(),
            written: 0,
        })
    }

    /// Reads once; false if there is nothing to read now.
    fn read_some(&mut self) -> bool {
        let mut part = [0; 16 * 1024];
        let read = match self.pipe.read(&mut part) {
            Ok(0) => {
                self.open = false;
                return false;
            }
            Ok(read) => read,
            Err(error) => {
                self.open &=
                    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                return false;
            }
        };
        self.written += read as u64;
        self.kept.extend_from_slice(&part[..read]);
        let surplus = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..surplus);
        true
    }

    /// Reads what is available, for at most `limit`.
    fn drain(&mut self, limit: Duration) {
        let deadline = clock::now() + limit;
        while self.open && self.read_some() && clock::now() < deadline {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn run_sh(script: &str, ms: u64) -> JobOutput {
        run_program(&find(Environment::Process, "sh").unwrap(), &["-c", script], ms, true)
    }

    fn run_program(program: &Path, args: &[&str], ms: u64, reap_orphans: bool) -> JobOutput {
        let environment = Environment::Process;
        let scratch = Scratch::outside(environment, Path::new("/nowhere")).unwrap();
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let (dir, limit) = (scratch.path(), Duration::from_millis(ms));
        run(&Job { program, args: &args, dir, limit, environment, reap_orphans }).unwrap()
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let done = run_sh("head -c 200000 /dev/zero; echo end >&2; exit 3", 5000);
        assert_eq!(
            (done.end, done.output.len(), done.written),
            (ProcessEnd::Exit(3), TAIL_BYTES, 200_004)
        );
        assert!(done.output.ends_with(b"end\n"));
    }

    #[test]
    fn a_program_ends_at_its_limit() {
        let started = clock::now();
        assert_eq!(run_sh("sleep 30 & sleep 30", 100).end, ProcessEnd::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(run_sh("kill -TERM $$", 5000).end, ProcessEnd::Signal(15));
    }

    #[test]
    fn only_absolute_paths_and_names_on_path_are_programs() {
        for environment in [Environment::Isolated, Environment::Process] {
            let find = |name| find(environment, name);
            assert!(find("sh").is_some_and(|path| path.is_absolute()) && find("/bin/sh").is_some());
            assert_eq!((find("./sh"), find("bin/sh"), find("no such program")), (None, None, None));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn processes_that_left_the_group_are_killed() {
        let done = run_sh(
            "setsid sleep 77 & echo $!; setsid sh -c 'setsid sleep 78 & echo $!; wait' & sleep 1",
            5000,
        );
        let pids = String::from_utf8(done.output).unwrap();
        let lives = |pid: &str| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.starts_with(b"sleep"))
        };
        assert_eq!(
            (done.end, pids.lines().count(), pids.lines().any(lives)),
            (ProcessEnd::Exit(0), 2, false)
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "runs alone in its process, started by the next test"]
    fn in_its_own_process_a_program_leaves_the_reaper_as_it_is() {
        let reaper = || rustix::process::child_subreaper().unwrap();
        let sh = find(Environment::Process, "sh").unwrap();
        assert_eq!(run_program(&sh, &["-c", "exit 3"], 5000, false).end, ProcessEnd::Exit(3));
        assert_eq!(reaper(), None);
        run_program(&sh, &["-c", "exit 3"], 5000, true);
        assert!(reaper().is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_reaping_orphans_changes_this_process() {
        let name = "bounded::tests::in_its_own_process_a_program_leaves_the_reaper_as_it_is";
        let own = crate::environment::current_program().unwrap();
        let done = run_program(&own, &["--exact", name, "--ignored"], 60_000, true);
        let output = String::from_utf8_lossy(&done.output).into_owned();
        assert!(done.end == ProcessEnd::Exit(0) && output.contains("1 passed"), "{output}");
    }
}
