//! The program `edt`: commands, servers, set-up of agents.
//!
//! This is no interface: programs embed the crate `edt-core`.

#[cfg(feature = "acp")]
mod acp;
mod cli;
mod find;
mod lessons;
#[cfg(feature = "mcp")]
mod mcp;
mod telemetry;

use std::ffi::OsString;
use std::process::ExitCode;

use edt_io::inherited::{Inherited, Printed};

/// The commands and their flags, as the program parses them.
#[doc(hidden)]
#[must_use]
pub fn command() -> clap::Command {
    cli::command()
}

/// Answers the call that started this process.
#[doc(hidden)]
#[must_use]
pub fn main() -> ExitCode {
    // `edt run` starts this executable again as the supervisor of the program.
    if let Some(code) = edt_run::sandbox::child::entry(std::env::args_os()) {
        return code;
    }
    if std::env::args_os().skip(1).take(2).eq(["gc", "--auto"]) {
        edt_io::background::close_inherited();
    }
    ExitCode::from(cli::main(std::env::args_os()))
}

/// Answers `edt ARGS` for `caller` on this thread, and returns the exit status and what was
/// printed. Not for commands that end the process or set it up for one program: `agent-hook`,
/// `hook`, `mcp`, `run`; nor for those that ask the user at a terminal.
#[doc(hidden)]
#[must_use]
pub fn call(args: &[OsString], caller: Inherited) -> (u8, Printed) {
    let directory = caller.directory.clone();
    let args = [&["edt".into(), "-C".into(), directory.into()], args].concat();
    edt_io::inherited::answer(caller, || cli::main(args.into_iter()))
}
