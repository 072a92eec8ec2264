//! Programs that show something to the user: pager, editor, browser.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;

use super::command;
use crate::Environment;
use crate::effect::{self, SideEffect};

/// Shows `text` in a pager, a line for the shell, and waits for its end. Returns whether the shell
/// found it.
///
/// # Errors
/// Any error of the operating system: nothing was shown.
pub fn page(pager: &OsStr, env: &[(&str, &OsStr)], text: &[u8]) -> std::io::Result<bool> {
    let shell = Path::new("/bin/sh");
    let mut command = command(Environment::Process, shell, Path::new("."), env);
    command.arg("-c").arg(pager).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = effect::step(SideEffect::Start, shell).and_then(|()| command.spawn())?;
    // A reader that ends it early wants no more.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(text));
    Ok(child.wait()?.code() != Some(127))
}

/// Lets the user change `file` in their editor, a line for the shell, and waits for its end. Returns
/// whether it succeeded.
///
/// # Errors
/// Any error of the operating system: the file was not changed.
pub fn edit(editor: &OsStr, file: &Path) -> std::io::Result<bool> {
    let shell = Path::new("/bin/sh");
    let mut line = editor.to_owned();
    line.push(" \"$1\"");
    let mut command = command(Environment::Process, shell, Path::new("."), &[]);
    command.arg("-c").arg(line).arg("sh").arg(file);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = effect::step(SideEffect::Start, shell).and_then(|()| command.spawn())?;
    Ok(child.wait()?.success())
}

/// Starts a program that shows the file in `args` to the user, away from the terminal. Nobody waits
/// for it.
///
/// # Errors
/// Any error of the operating system: it was not started.
pub fn show(program: &OsStr, args: &[OsString]) -> std::io::Result<()> {
    let mut command = command(Environment::Process, program, Path::new("/"), &[]);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0);
    let mut child =
        effect::step(SideEffect::Start, Path::new(program)).and_then(|()| command.spawn())?;
    std::thread::spawn(move || child.wait());
    Ok(())
}
