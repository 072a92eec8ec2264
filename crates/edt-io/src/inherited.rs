//! The caller of this thread, where one process answers calls of several: its variables, its
//! directory and its streams instead of those of the process.
//!
//! A thread that edt starts during the call belongs to no caller. None of them reads variables or
//! prints.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Command;

/// What a call gets from its caller.
#[derive(Debug, Default)]
pub struct Inherited {
    /// All environment variables.
    pub variables: BTreeMap<OsString, OsString>,
    /// The current directory.
    pub directory: PathBuf,
    /// The program that edt starts where it would start itself.
    pub program: PathBuf,
    /// Standard input.
    pub input: Vec<u8>,
    /// Whether the user makes the call on a page of edt: no agent reads the answer.
    pub is_reviewer: bool,
    /// The session that the caller means. No other one is changed.
    pub session: Option<String>,
}

/// What a call printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// On standard output.
    pub stdout: Vec<u8>,
    /// On standard error.
    pub stderr: Vec<u8>,
}

struct Call {
    caller: Inherited,
    printed: Printed,
}

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// Ends the call also if it panics: a test harness goes on with this thread.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        CALL.set(None);
    }
}

/// Runs `call` for `caller` on this thread.
pub fn answer<T>(caller: Inherited, call: impl FnOnce() -> T) -> (T, Printed) {
    CALL.set(Some(Call { caller, printed: Printed::default() }));
    let end = End;
    let answer = call();
    let printed = CALL.take().map(|call| call.printed).unwrap_or_default();
    drop(end);
    (answer, printed)
}

/// Whether this thread answers a caller that is not the process itself.
#[must_use]
pub fn is_other() -> bool {
    CALL.with_borrow(Option::is_some)
}

/// Whether this thread answers a call that the user makes on a page of edt.
#[must_use]
pub fn is_reviewer() -> bool {
    of(|caller| caller.is_reviewer).unwrap_or(false)
}

/// The name of the session that the caller of this thread means; `None` for that of the worktree.
#[must_use]
pub fn session() -> Option<String> {
    of(|caller| caller.session.clone()).flatten()
}

/// What `read` takes from the caller; `None` if that is the process itself.
pub(crate) fn of<T>(read: impl FnOnce(&Inherited) -> T) -> Option<T> {
    CALL.with_borrow(|call| call.as_ref().map(|call| read(&call.caller)))
}

/// Starts `command` with the caller's variables.
pub(crate) fn prepare(command: &mut Command) {
    let _ = of(|caller| command.env_clear().envs(&caller.variables).current_dir(&caller.directory));
}

/// The value of the variable `name`.
pub(crate) fn variable(name: &OsStr) -> Option<Option<OsString>> {
    of(|caller| caller.variables.get(name).cloned())
}

/// The caller's standard input, from where an earlier reader stopped.
pub(crate) fn stdin() -> Box<dyn Read> {
    let input = CALL
        .with_borrow_mut(|call| call.as_mut().map(|call| std::mem::take(&mut call.caller.input)));
    match input {
        Some(bytes) => Box::new(io::Cursor::new(bytes)),
        None => Box::new(io::stdin()),
    }
}

/// Writes all of `bytes` with one system call, so that answers of two processes are not mixed.
///
/// # Errors
/// Any error of the operating system.
pub(crate) fn print(bytes: &[u8]) -> io::Result<()> {
    write(bytes, |printed| &mut printed.stdout, io::stdout())
}

/// As [`print`], on standard error.
pub(crate) fn print_error(bytes: &[u8]) -> io::Result<()> {
    write(bytes, |printed| &mut printed.stderr, io::stderr())
}

fn write(
    bytes: &[u8],
    captured: fn(&mut Printed) -> &mut Vec<u8>,
    mut stream: impl Write,
) -> io::Result<()> {
    CALL.with_borrow_mut(|call| match call {
        Some(call) => captured(&mut call.printed).write_all(bytes),
        None => stream.write_all(bytes).and_then(|()| stream.flush()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, environment};

    #[test]
    fn a_call_sees_its_caller_and_nothing_of_the_process() {
        let caller = Inherited {
            variables: BTreeMap::from([("EDT_TEST".into(), "x".into())]),
            directory: "/caller".into(),
            program: "/caller/edt".into(),
            input: b"in".to_vec(),
            is_reviewer: false,
            session: None,
        };
        let ((), printed) = answer(caller, || {
            assert_eq!(Environment::Process.text("EDT_TEST").as_deref(), Some("x"));
            assert_eq!(Environment::Process.var("PATH"), None);
            assert_eq!(environment::current_dir().unwrap(), PathBuf::from("/caller"));
            assert_eq!(environment::current_program().unwrap(), PathBuf::from("/caller/edt"));
            let mut input = String::new();
            stdin().read_to_string(&mut input).unwrap();
            assert_eq!(input, "in");
            print(b"out").unwrap();
            print_error(b"error").unwrap();
        });
        assert_eq!((printed.stdout, printed.stderr), (b"out".to_vec(), b"error".to_vec()));
        assert!(!is_other() && Environment::Process.var("PATH").is_some());
    }
}
