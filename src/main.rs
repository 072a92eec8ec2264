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
    cli::main(std::env::args_os())
}
