//! The program that is distributed: static, with telemetry and link-time optimisation, and with the
//! functions that calls of `edt` execute side by side.
//!
//! Without an order, an edit touches 150 places of 17 MB of code, and the kernel maps 64 KiB around
//! each of them. Ordered, it touches a third of them: 6 MiB of resident memory in place of 12.

use std::process::Command;

use super::budgets::{functions, output};
use super::{cargo, root, target};

/// The C library is part of the program: it runs with any, or with none.
#[cfg(target_arch = "aarch64")]
const TARGET: (&str, &str) = ("aarch64-unknown-linux-gnu", "linux-arm64");
#[cfg(not(target_arch = "aarch64"))]
const TARGET: (&str, &str) = ("x86_64-unknown-linux-gnu", "linux-x64");

/// `dist [DIR]`: needs `valgrind` and `strip`; with DIR it makes the packages there, with Python.
pub(super) fn dist(args: &[String]) -> Result<(), String> {
    let order = root().join("target/function-order.txt");
    let order = order.to_str().ok_or("the path of the repository is not UTF-8")?;
    build(order, &[])?;
    let program = target().join(TARGET.0).join("dist/edt");
    build(order, &functions(&program)?)?;
    output(Command::new("strip").arg(&program))?;
    println!("{}", program.display());
    let Some(directory) = args.first() else { return Ok(()) };
    let mut packages = Command::new(root().join("packages/build.py"));
    packages.arg(&program).arg(directory).args(["--platform", TARGET.1]);
    print!("{}", output(&mut packages)?);
    Ok(())
}

/// Links the program with these functions first.
fn build(order: &str, functions: &[String]) -> Result<(), String> {
    std::fs::create_dir_all(root().join("target")).map_err(|error| error.to_string())?;
    std::fs::write(order, functions.join("\n")).map_err(|error| error.to_string())?;
    let flags = "-Ctarget-feature=+crt-static -Crelocation-model=static";
    cargo(
        &["build", "--locked", "--features", "otel", "--profile", "dist", "--target", TARGET.0],
        &[
            (
                &format!("CARGO_TARGET_{}_RUSTFLAGS", TARGET.0.to_uppercase().replace('-', "_")),
                flags,
            ),
            ("EDT_FUNCTION_ORDER", order),
        ],
    )
}
