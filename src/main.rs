//! The program `edt`.

use std::process::ExitCode;

fn main() -> ExitCode {
    edt_cli::main()
}
