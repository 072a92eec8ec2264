//! The program that is distributed: static, with telemetry and link-time optimisation, and with the
//! functions that calls of `edt` execute side by side.
//!
//! Without an order, an edit touches 150 places of 17 MB of code, and the kernel maps 64 KiB around
//! each of them. Ordered, it touches a third of them: 6 MiB of resident memory in place of 12.

use std::path::PathBuf;
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
    let mut flags = "-Ctarget-feature=+crt-static -Crelocation-model=static".to_owned();
    let mut c_flags = String::new();
    for (directory, name) in directories()? {
        flags += &format!(" --remap-path-prefix={directory}={name}");
        c_flags += &format!(" -ffile-prefix-map={directory}={name}");
    }
    let target = TARGET.0.replace('-', "_");
    cargo(
        &["build", "--locked", "--features", "otel", "--profile", "dist", "--target", TARGET.0],
        &[
            (&format!("CARGO_TARGET_{}_RUSTFLAGS", target.to_uppercase()), &flags),
            (&format!("CFLAGS_{target}"), c_flags.trim()),
            ("EDT_FUNCTION_ORDER", order),
        ],
    )
}

/// The directories whose paths the compilers would write into the program, and the names that it
/// has in their place: builds in other directories give the same bytes. The last that fits counts.
fn directories() -> Result<Vec<(String, &'static str)>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.ok_or("neither CARGO_HOME nor HOME is set")?;
    let named = [(root().to_owned(), "/edt"), (target(), "/target"), (home, "/cargo")];
    named
        .into_iter()
        .map(|(path, name)| {
            std::fs::create_dir_all(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let path =
                path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
            let path = path.to_str().ok_or("a path of the build is not UTF-8")?.to_owned();
            if path.contains([' ', '=']) {
                return Err(format!(
                    "{path}: a path with a space or an equals sign cannot be mapped"
                ));
            }
            Ok((path, name))
        })
        .collect()
}
