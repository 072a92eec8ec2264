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

/// `dist [DIR] [--order FILE]`: needs `valgrind`, without FILE, and `strip`; with DIR it makes the
/// packages there, with Python. FILE is the order of another build of the same commit: which
/// functions a call executes depends on the processor, so only the same order gives the same bytes.
pub(super) fn dist(args: &[String]) -> Result<(), String> {
    let (directory, known) = arguments(args)?;
    let order = root().join("target/function-order.txt");
    let order = order.to_str().ok_or("the path of the repository is not UTF-8")?;
    let program = target().join(TARGET.0).join("dist/edt");
    let functions = if let Some(file) = known {
        std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?
    } else {
        build(order, "")?;
        functions(&program)?.join("\n") + "\n"
    };
    build(order, &functions)?;
    output(Command::new("strip").arg(&program))?;
    println!("{}", program.display());
    let Some(directory) = directory else { return Ok(()) };
    let mut packages = Command::new(root().join("packages/build.py"));
    packages.arg(&program).arg(directory).args(["--platform", TARGET.1, "--order", order]);
    print!("{}", output(&mut packages)?);
    Ok(())
}

/// The directory of the packages, and the file with a known order.
fn arguments(args: &[String]) -> Result<(Option<&str>, Option<&str>), String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (directory, rest) = match *args {
        [] | ["--order", ..] => (None, &args[..]),
        [directory, ..] => (Some(directory), &args[1..]),
    };
    match *rest {
        [] => Ok((directory, None)),
        ["--order", file] => Ok((directory, Some(file))),
        _ => Err("the arguments are [DIR] [--order FILE]".to_owned()),
    }
}

/// Links the program with these functions first.
fn build(order: &str, functions: &str) -> Result<(), String> {
    std::fs::create_dir_all(root().join("target")).map_err(|error| error.to_string())?;
    std::fs::write(order, functions).map_err(|error| error.to_string())?;
    let mut flags = "-Ctarget-feature=+crt-static -Crelocation-model=static".to_owned();
    // The order of functions needs LLVM's linker, which is Rust's default on x86-64 alone.
    if cfg!(target_arch = "aarch64") {
        flags += " -Clink-arg=-fuse-ld=lld";
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_an_order_may_be_given() {
        let of = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let read = |text| {
            arguments(&of(text))
                .map(|(directory, order)| (directory.map(str::to_owned), order.map(str::to_owned)))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(""), Ok((None, None)));
        assert_eq!(read("out"), Ok((some("out"), None)));
        assert_eq!(read("--order f"), Ok((None, some("f"))));
        assert_eq!(read("out --order f"), Ok((some("out"), some("f"))));
        assert!(read("out --order").is_err() && read("out more").is_err());
    }

    #[test]
    fn the_compilers_map_every_directory_of_a_build() {
        let names: Vec<_> = directories().unwrap().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["/edt", "/target", "/cargo"]);
    }
}
