//! The program `edt`: commands, servers, set-up of agents.

mod cli;
mod find;
mod lessons;
#[cfg(feature = "mcp")]
mod mcp;
mod telemetry;

use std::process::ExitCode;

fn main() -> ExitCode {
    // `edt run` starts this executable again as the supervisor of the program.
    if let Some(code) = edt_run::sandbox::child::entry(std::env::args_os()) {
        return code;
    }
    if std::env::args_os().skip(1).take(2).eq(["gc", "--auto"]) {
        edt_io::background::close_inherited();
    }
    cli::main(std::env::args_os())
}
