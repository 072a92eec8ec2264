//! Arguments in, exit status out.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The supervisor of a program that `edt run` runs is edt itself: nothing else of it is needed.
    if let Some(code) = edt::sandbox::child::entry(std::env::args_os()) {
        return code;
    }
    edt::cli::main(std::env::args_os())
}
