//! `edt-bench`: arguments in, exit status out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox starts this executable again as the supervisor of each program that it runs.
    if let Some(code) = edt_run::sandbox::child::entry(std::env::args_os()) {
        return code;
    }
    edt_bench::cli::main(std::env::args_os())
}
