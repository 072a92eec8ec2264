//! A program run within bounds: a time limit for it and everything it starts, and an output that is drained to the end but kept
//! only in part. [`run`] gives it exactly these arguments, a clean environment and no input; [`through`] sends bytes through it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::effect::{self, Effect};
use super::{clock, strays};

/// How much of the output is kept: its end.
pub const KEPT: usize = 64 * 1024;

/// What is to run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The program, as [`find`] gives it.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Its folder, which is also its place for temporary files.
    pub dir: &'a Path,
    /// The longest it may take.
    pub limit: Duration,
}

/// Bytes to be sent through a command line.
#[derive(Debug)]
pub struct Through<'a> {
    /// The command line, for `sh -c`.
    pub command: &'a OsStr,
    /// Where it runs.
    pub dir: &'a Path,
    /// Its place for temporary files, by which what it leaves behind is known.
    pub scratch: &'a Path,
    /// What it reads.
    pub input: &'a [u8],
    /// The most it may write.
    pub most: usize,
    /// The longest it may take.
    pub limit: Duration,
}

/// What came out.
#[derive(Debug)]
pub struct Passed {
    /// How the program ended.
    pub end: End,
    /// What it wrote; `None` if that was more than it may.
    pub output: Option<Vec<u8>>,
    /// The end of what it complained of.
    pub complaint: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was ended, with all that it had started.
    TimedOut,
}

/// What a program left.
#[derive(Debug)]
pub struct Done {
    /// How it ended.
    pub end: End,
    /// The end of what it wrote to standard output and standard error, in the order in which it wrote.
    pub output: Vec<u8>,
    /// How many bytes it wrote in all.
    pub written: u64,
}

/// The program `name`: an absolute path as it is, a plain name by the absolute folders of `PATH`. `None` if it is not there.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && runs(path));
    }
    std::env::split_paths(&search_path())
        .filter(|folder| folder.is_absolute())
        .map(|dir| dir.join(name))
        .find(runs)
}

/// The `PATH` by which programs are looked for.
pub(super) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// Runs `job`. When this returns, nothing that it started is left, whether it ended by itself or not: its process group is
/// ended as a whole, and so is what left the group but still has the job's folder in its environment.
///
/// # Errors
/// What the system says if the program cannot be started or watched.
#[expect(clippy::disallowed_methods, reason = "one of the two places that start programs")]
pub fn run(job: &Job<'_>) -> io::Result<Done> {
    strays::adopt();
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(job.program);
    command
        .args(job.args)
        .current_dir(job.dir)
        .env_clear()
        .env("PATH", search_path())
        .env("TMPDIR", job.dir);
    for name in ["HOME", "LANG"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    effect::step(Effect::Start, job.program)?;
    let mut group = Group { child: command.spawn()?, folder: job.dir, over: false };
    // The writing ends that are left are the program's.
    drop(command);
    let mut output = Output::new(reader.into(), KEPT)?;
    let in_time = wait(&group.child, &mut [&mut output], job.limit)?;
    let status = group.end()?;
    output.drain(Duration::from_millis(100));
    Ok(Done { end: end_of(in_time, status), output: output.kept, written: output.written })
}

/// Sends bytes through a command line, in the caller's own environment. As with [`run`], nothing that it started is left.
///
/// # Errors
/// What the system says if the program cannot be started or watched.
#[expect(clippy::disallowed_methods, reason = "one of the two places that start programs")]
pub fn through(bytes: &Through<'_>) -> io::Result<Passed> {
    strays::adopt();
    // A file that only memory holds: whether and when the program reads it needs no watching.
    let mut input = File::from(memfd_create("edt-input", MemfdFlags::CLOEXEC)?);
    input.write_all(bytes.input)?;
    input.rewind()?;
    let ((out_reader, out_writer), (err_reader, err_writer)) = (io::pipe()?, io::pipe()?);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(bytes.command).current_dir(bytes.dir).env("TMPDIR", bytes.scratch);
    command.stdin(input).stdout(out_writer).stderr(err_writer).process_group(0);
    effect::step(Effect::Start, Path::new("/bin/sh"))?;
    let mut group = Group { child: command.spawn()?, folder: bytes.scratch, over: false };
    drop(command);
    let mut output = Output::new(out_reader.into(), bytes.most)?;
    let mut complaint = Output::new(err_reader.into(), 4096)?;
    let in_time = wait(&group.child, &mut [&mut output, &mut complaint], bytes.limit)?;
    let status = group.end()?;
    // What a program that has ended left in its pipe is there at once.
    output.drain(Duration::from_secs(10));
    complaint.drain(Duration::from_millis(100));
    let whole = output.written == output.kept.len() as u64;
    Ok(Passed {
        end: end_of(in_time, status),
        output: whole.then_some(output.kept),
        complaint: complaint.kept,
    })
}

fn end_of(in_time: bool, status: ExitStatus) -> End {
    match (in_time, status.code()) {
        (false, _) => End::TimedOut,
        (true, Some(code)) => End::Exit(code),
        (true, None) => End::Signal(status.signal().unwrap_or_default()),
    }
}

/// Waits for the child's end and drains its output; false if the time is over first. The child is not reaped: its number, which
/// is its group's, stays its own.
fn wait(child: &Child, outputs: &mut [&mut Output], limit: Duration) -> io::Result<bool> {
    let watch = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let deadline = clock::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let mut fds = vec![PollFd::new(&watch, PollFlags::IN)];
        let open = outputs.iter().filter(|output| output.open);
        fds.extend(open.map(|output| PollFd::from_borrowed_fd(output.pipe.as_fd(), PollFlags::IN)));
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !fds[0].revents().is_empty();
        if ended {
            return Ok(true);
        }
        for output in outputs.iter_mut() {
            output.read_some();
        }
    }
}

/// The process group of a child; dropping it ends it.
struct Group<'a> {
    child: Child,
    folder: &'a Path,
    over: bool,
}

impl Group<'_> {
    /// Ends whatever is left, the child included, and tells how the child ended.
    fn end(&mut self) -> io::Result<ExitStatus> {
        self.over = true;
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait()?;
        // What one round ends may have been the parent of what the next finds.
        for _ in 0..50 {
            if !strays::any_child() || !strays::end(self.folder) {
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

/// A pipe's reading end, and what came out of it.
struct Output {
    pipe: File,
    open: bool,
    most: usize,
    kept: Vec<u8>,
    written: u64,
}

impl Output {
    fn new(pipe: OwnedFd, most: usize) -> io::Result<Output> {
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Output { pipe: pipe.into(), open: true, most, kept: Vec::new(), written: 0 })
    }

    /// Reads once; false if there is nothing now.
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
        let surplus = self.kept.len().saturating_sub(self.most);
        self.kept.drain(..surplus);
        true
    }

    /// Reads what is there, for at most `limit`.
    fn drain(&mut self, limit: Duration) {
        let deadline = clock::now() + limit;
        while self.open && self.read_some() && clock::now() < deadline {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::scratch::Scratch;

    fn run_sh(script: &str, ms: u64) -> Done {
        let scratch = Scratch::outside(Path::new("/nowhere")).unwrap();
        let args = ["-c", script].map(OsString::from);
        let limit = Duration::from_millis(ms);
        run(&Job { program: &find("sh").unwrap(), args: &args, dir: scratch.path(), limit })
            .unwrap()
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let done = run_sh("head -c 200000 /dev/zero; echo end >&2; exit 3", 5000);
        assert_eq!((done.end, done.output.len(), done.written), (End::Exit(3), KEPT, 200_004));
        assert!(done.output.ends_with(b"end\n"));
    }

    #[test]
    fn a_program_ends_at_its_limit() {
        let started = clock::now();
        assert_eq!(run_sh("sleep 30 & sleep 30", 100).end, End::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(run_sh("kill -TERM $$", 5000).end, End::Signal(15));
    }

    #[test]
    fn only_absolute_paths_and_names_on_path_are_programs() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()) && find("/bin/sh").is_some());
        assert_eq!((find("./sh"), find("bin/sh"), find("no such program")), (None, None, None));
    }

    #[test]
    fn nothing_survives_that_left_the_group() {
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
            (End::Exit(0), 2, false)
        );
    }
}
