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
mod fuzz;
mod picture;

use std::path::{Path, PathBuf};
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
        name: "longer",
        about: "longer ci|all: what the tier has besides the tests of plain `cargo test`",
        run: |args| longer(checked_tier(args)?),
    },
    Task {
        name: "bless",
        about: "[-p CRATE]: write what tests compare; read the diff before you commit it",
        run: bless,
    },
    Task {
        name: "docs",
        about: "write the tables of codes and guards in docs/reference",
        run: docs,
    },
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
        name: "picture",
        about: "draw tests/transcripts/picture.md as docs/images/session.svg, for the README",
        run: picture::picture,
    },
    Task {
        name: "fuzz",
        about: "fuzz SECONDS [TARGET]: run each fuzz target that long; needs cargo-fuzz and nightly",
        run: fuzz::fuzz,
    },
    Task {
        name: "dist",
        about: "dist [DIR] [--order FILE]: build the static program, and packages of it in DIR",
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

/// What a user may set for cargo. Cargo itself sets other variables for this program: build scripts
/// and crates that name one of them would be built again.
const SET_BY_USERS: [&str; 13] = [
    "CARGO",
    "CARGO_HOME",
    "CARGO_INCREMENTAL",
    "CARGO_BUILD_*",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HTTP_*",
    "CARGO_NET_*",
    "CARGO_PROFILE_*",
    "CARGO_REGISTR*",
    "CARGO_SOURCE_*",
    "CARGO_TARGET_*",
    "CARGO_TERM_*",
    "CARGO_UNSTABLE_*",
];

/// Cargo, in the root of the repository.
fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_users = |pattern: &&str| match pattern.strip_suffix('*') {
            Some(prefix) => text.starts_with(prefix),
            None => text == **pattern,
        };
        if text.starts_with("CARGO") && !SET_BY_USERS.iter().any(is_users) {
            command.env_remove(&name);
        }
    }
    command.current_dir(root());
    command
}

fn cargo(args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    let mut command = cargo_command();
    command.args(args).envs(env.iter().copied());
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: {status}", args.join(" "))) }
}

/// Where cargo builds.
fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// What `edt` prints.
fn edt(args: &[&str]) -> Result<Vec<u8>, String> {
    cargo(&["build", "--quiet", "--locked"], &[])?;
    let program = target().join("debug/edt");
    let done = Command::new(program).args(args).output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(done.stdout) } else { Err(format!("edt {}", args.join(" "))) }
}

fn write(path: &str, bytes: &[u8]) -> Result<(), String> {
    let path = root().join(path);
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn checked_tier(args: &[String]) -> Result<&str, String> {
    let tier = args.first().map_or("quick", String::as_str);
    if ["quick", "ci", "all"].contains(&tier) {
        return Ok(tier);
    }
    Err(format!("{tier:?} is not a tier: quick, ci or all"))
}

fn tier(args: &[String]) -> Result<(), String> {
    let tier = checked_tier(args)?;
    let begun = std::time::Instant::now();
    let done = cargo(&["test", "--locked"], &[]).and_then(|()| longer(tier));
    println!("tier {tier}: {:.0} s", begun.elapsed().as_secs_f64());
    done
}

/// The tests that plain `cargo test` leaves out, from the same build. nextest ends those that hang.
fn longer(tier: &str) -> Result<(), String> {
    if tier == "quick" {
        return Ok(());
    }
    let tests = ["--locked", "--test", "e2e", "--test", "thorough"];
    let mut asked = cargo_command();
    let found =
        asked.args(["nextest", "--version"]).output().is_ok_and(|done| done.status.success());
    if !found {
        eprintln!("cargo-nextest is not installed: no test has a time limit");
    }
    let before: &[&str] =
        if found { &["nextest", "run", "--cargo-quiet", "--profile", tier] } else { &["test"] };
    cargo(&[before, &tests].concat(), &[("EDT_TESTS", tier)])
}

/// The tests that write what they compare, by crate.
const BLESSED: [(&str, &str); 2] = [
    ("edt-core", "--test library --test public_api -- formats::every pages:: the_public_interface"),
    (
        "edt-cli",
        "--test calls --test e2e -- documentation::the_console documentation::the_transcripts \
         interface::the_page sandbox_escapes::attempts",
    ),
];

fn bless(args: &[String]) -> Result<(), String> {
    let name = args.iter().find(|arg| *arg != "-p");
    let chosen: Vec<_> =
        BLESSED.iter().filter(|(one, _)| name.is_none_or(|name| name == one)).collect();
    if chosen.is_empty() {
        return Err(format!(
            "nothing is blessed in it; crates: {}",
            BLESSED.map(|b| b.0).join(" ")
        ));
    }
    chosen.into_iter().try_for_each(|(name, tests)| blessed(name, tests))
}

/// Runs tests that write what they otherwise compare.
fn blessed(name: &str, tests: &str) -> Result<(), String> {
    let args: Vec<&str> =
        ["test", "--quiet", "--locked", "-p", name].into_iter().chain(tests.split(' ')).collect();
    cargo(&args, &[("EDT_BLESS", "1")])
}

fn docs(_: &[String]) -> Result<(), String> {
    blessed("edt-core", "--test library -- pages::")
}

fn schemas(_: &[String]) -> Result<(), String> {
    let names = String::from_utf8_lossy(&edt(&["schema", "--list"])?).into_owned();
    for name in names.lines() {
        write(&format!("target/schemas/{name}.json"), &edt(&["schema", name])?)?;
    }
    Ok(())
}
