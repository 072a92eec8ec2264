//! Tasks of the repository that are more than one command: `cargo xtask help`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that starts cargo"
)]

mod budgets;
mod compare;
mod dist;

use std::path::Path;
use std::process::{Command, ExitCode};

/// A task: its name, what it does, and the function.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "test quick|ci|all: one tier of the tests, with its figures",
        run: tier,
    },
    Task {
        name: "bless",
        about: "write what the tests compare against; read the diff before you commit it",
        run: bless,
    },
    Task { name: "docs", about: "write the generated pages of docs/", run: docs },
    Task { name: "schemas", about: "write every JSON schema to target/schemas", run: schemas },
    Task {
        name: "budgets",
        about: "measure what calls cost, --dev of the dev build; compare with budgets.txt, or --bless it",
        run: budgets::budgets,
    },
    Task {
        name: "compare",
        about: "compare REVISION: time edits of this build and that one by turns",
        run: compare::compare,
    },
    Task {
        name: "dist",
        about: "build the static program with link-time optimisation",
        run: dist::dist,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let named = args.first().and_then(|name| TASKS.iter().find(|task| task.name == name));
    let Some(task) = named else {
        println!("cargo xtask TASK\n");
        TASKS.iter().for_each(|task| println!("  {:<8} {}", task.name, task.about));
        println!("\nExample:\n  cargo xtask test ci");
        return if args.is_empty() || args[0] == "help" {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(2)
        };
    };
    match (task.run)(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask {}: {why}", task.name);
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args).envs(env.iter().copied());
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: {status}", args.join(" "))) }
}

/// What `edt` prints.
fn edt(args: &[&str]) -> Result<Vec<u8>, String> {
    cargo(&["build", "--quiet", "--locked"], &[])?;
    let program = root().join("target/debug/edt");
    let done = Command::new(program).args(args).output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(done.stdout) } else { Err(format!("edt {}", args.join(" "))) }
}

fn write(path: &str, bytes: &[u8]) -> Result<(), String> {
    let path = root().join(path);
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn tier(args: &[String]) -> Result<(), String> {
    let tier = args.first().map_or("quick", String::as_str);
    if !["quick", "ci", "all"].contains(&tier) {
        return Err(format!("{tier:?} is not a tier: quick, ci or all"));
    }
    let begun = std::time::Instant::now();
    let done = cargo(&["test", "--locked"], &[("EDT_TESTS", tier)]);
    println!("tier {tier}: {:.0} s", begun.elapsed().as_secs_f64());
    done
}

fn bless(_: &[String]) -> Result<(), String> {
    cargo(&["test", "--locked"], &[("EDT_TESTS", "ci"), ("EDT_BLESS", "1")])
}

fn docs(_: &[String]) -> Result<(), String> {
    write("docs/reference/errors.md", &edt(&["explain", "--all"])?)
}

fn schemas(_: &[String]) -> Result<(), String> {
    let names = String::from_utf8_lossy(&edt(&["schema", "--list"])?).into_owned();
    for name in names.lines() {
        write(&format!("target/schemas/{name}.json"), &edt(&["schema", name])?)?;
    }
    Ok(())
}
