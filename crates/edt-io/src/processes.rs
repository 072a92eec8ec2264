//! The processes that started this one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

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
const MAX_BYTES: u64 = 64 * 1024;

/// The parent of this process, its parent, and so on. Empty on systems without `/proc`.
pub fn ancestors() -> impl Iterator<Item = Process> {
    let mut next = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    std::iter::from_fn(move || {
        let (process, parent) = read(next.take().filter(|pid| *pid > 0)?)?;
        next = Some(parent);
        Some(process)
    })
}

/// The process and the number of its parent.
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
fn parse(stat: &[u8]) -> Option<(Vec<u8>, i32)> {
    let from = stat.iter().position(|byte| *byte == b'(')? + 1;
    let to = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(to + 1..)?).ok()?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some((stat.get(from..to)?.to_vec(), parent))
}

/// The kernel marks a program that was replaced, as by an update.
fn without_deleted(program: PathBuf) -> PathBuf {
    let kept = program.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    kept.map(|kept| PathBuf::from(OsStr::from_bytes(kept))).unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_program_that_was_replaced_keeps_its_path() {
        assert_eq!(without_deleted("/a/b (deleted)".into()), PathBuf::from("/a/b"));
        assert_eq!(without_deleted("/a/b".into()), PathBuf::from("/a/b"));
    }
}
