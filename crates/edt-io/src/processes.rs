//! The processes that started this one.

use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

#[cfg(target_os = "linux")]
use super::platform::PROCESSES;

/// What the system says about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its name, at most 15 bytes. It may have changed its name itself.
    pub name: Vec<u8>,
    /// The path of its program; `None` if it belongs to another user.
    pub program: Option<PathBuf>,
    /// Its arguments, with the name under which it was called.
    pub args: Vec<Vec<u8>>,
}

/// The longest command line that is read.
#[cfg(target_os = "linux")]
const MAX_BYTES: u64 = 64 * 1024;

/// The parent of this process, its parent, and so on. Empty if the system does not name them: on Linux
/// without `/proc`, elsewhere without `ps`.
pub fn ancestors() -> impl Iterator<Item = Process> {
    let mut next = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    std::iter::from_fn(move || {
        let (process, parent) = read(next.take().filter(|pid| *pid > 0)?)?;
        next = Some(parent);
        Some(process)
    })
}

/// The process and the number of its parent, as `ps` prints them. The name is that of the program's
/// file. Arguments with spaces are several here.
#[cfg(not(target_os = "linux"))]
fn read(pid: i32) -> Option<(Process, i32)> {
    let (ps, root) = (Path::new("/bin/ps"), Path::new("/"));
    let (number, isolated) = (pid.to_string(), super::Environment::Isolated);
    let args = ["-ww", "-o", "ppid=,args=", "-p", &number];
    let done = super::spawn::run_hook(isolated, ps, root, &args, b"", &[]).ok()?;
    printed(&done.stdout)
}

/// The process and the number of its parent in a line of `ps -o ppid=,args=`.
#[cfg(any(test, not(target_os = "linux")))]
fn printed(line: &[u8]) -> Option<(Process, i32)> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let parent = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let args: Vec<Vec<u8>> = words.map(<[u8]>::to_vec).collect();
    let name = args.first()?.rsplit(|byte| *byte == b'/').next()?.to_vec();
    Some((Process { name, program: None, args }, parent))
}

/// The process and the number of its parent.
#[cfg(target_os = "linux")]
fn read(pid: i32) -> Option<(Process, i32)> {
    let directory = Path::new(PROCESSES).join(pid.to_string());
    let file = |name: &str| {
        let file = std::fs::File::open(directory.join(name)).ok()?;
        super::fs::read_limited(file, MAX_BYTES).ok()?
    };
    let stat = file("stat")?;
    let (name, parent) = parse(&stat)?;
    let args = file("cmdline").unwrap_or_default();
    let args = args.split(|byte| *byte == 0).filter(|arg| !arg.is_empty());
    let program = std::fs::read_link(directory.join("exe")).ok().map(without_deleted);
    Some((Process { name, program, args: args.map(<[u8]>::to_vec).collect() }, parent))
}

/// The name and the parent in `/proc/PID/stat`. A name may have parentheses and spaces.
#[cfg(target_os = "linux")]
fn parse(stat: &[u8]) -> Option<(Vec<u8>, i32)> {
    let from = stat.iter().position(|byte| *byte == b'(')? + 1;
    let to = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(to + 1..)?).ok()?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some((stat.get(from..to)?.to_vec(), parent))
}

/// The kernel marks a program that was replaced, as by an update.
#[cfg(target_os = "linux")]
fn without_deleted(program: PathBuf) -> PathBuf {
    let kept = program.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    kept.map(|kept| PathBuf::from(OsStr::from_bytes(kept))).unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ps_prints_names_the_program_and_its_parent() {
        let (process, parent) = printed(b"  7 /usr/local/bin/node /x/cli.js -p\n").unwrap();
        assert_eq!((process.name, process.args.len(), parent), (b"node".to_vec(), 3, 7));
        assert_eq!(printed(b""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_is_found_after_any_name() {
        let of = |text: &str| parse(text.as_bytes());
        assert_eq!(of("7 (sh) S 5 7 7 0"), Some((b"sh".to_vec(), 5)));
        assert_eq!(of("7 (a) b (c)) S 12 7"), Some((b"a) b (c)".to_vec(), 12)));
        assert_eq!(of("7 (sh"), None);
    }

    #[test]
    fn the_ancestors_end_with_the_first_process() {
        let all: Vec<Process> = ancestors().take(200).collect();
        assert!(!all.is_empty() && all.len() < 200);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_was_replaced_keeps_its_path() {
        assert_eq!(without_deleted("/a/b (deleted)".into()), PathBuf::from("/a/b"));
        assert_eq!(without_deleted("/a/b".into()), PathBuf::from("/a/b"));
    }
}
