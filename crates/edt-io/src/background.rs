//! Starts edt itself for work that nobody waits for.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, setpriority_process};

use super::effect::{self, SideEffect};
use super::platform::OPEN_FILES;

/// How much less important the process is than the one that starts it.
const NICENESS: i32 = 10;

/// Closes what this process inherited besides its input and its outputs. A lock or a pipe of the
/// caller would stay in use as long as the process runs. Call it before anything is opened.
pub fn close_inherited() {
    let open = std::fs::read_dir(OPEN_FILES).into_iter().flatten().flatten();
    let numbers: Vec<i32> =
        open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let _ = nix::unistd::close(number);
    }
}

/// Starts the program `edt` in `dir` with `args`. It has no terminal signals, no input and no output,
/// and goes on after this process.
///
/// # Errors
/// Any error of the operating system.
#[expect(clippy::disallowed_methods, reason = "nobody waits for this program: it is edt itself")]
pub fn start(edt: &Path, dir: &Path, args: &[&str]) -> io::Result<()> {
    effect::step(SideEffect::Start, edt)?;
    let mut command = Command::new(edt);
    super::inherited::prepare(&mut command);
    let mut child = command
        .args(args)
        .current_dir(dir)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _ = setpriority_process(Some(Pid::from_child(&child)), NICENESS);
    // A server would keep the ended process as a zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}
