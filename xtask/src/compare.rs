//! Paired timings of two builds: the same edits by turns, in two equal repositories. What disturbs
//! one disturbs the other, so that small differences show on a busy machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{cargo, cargo_command, root, target};

/// How many edits each build makes.
const EDITS: usize = 300;
/// How much slower than the other build the present one may be, in per cent.
const TOLERANCE: f64 = 5.0;
/// How many tracked files each repository has.
const FILES: usize = 5000;

/// `compare REVISION`
pub(super) fn compare(args: &[String]) -> Result<(), String> {
    let revision = args.first().ok_or("name the revision to compare with, such as HEAD~10")?;
    cargo(&["build", "--quiet", "--locked", "--release", "--package", "edt-cli"], &[])?;
    let old = built(revision)?;
    let new = target().join("release/edt");
    let home = std::env::temp_dir().join(format!("edt-compare-{}", std::process::id()));
    let ratio = measured(&home, [&old, &new]);
    let _ = std::fs::remove_dir_all(&home);
    let ratio = ratio?;
    if ratio > 1.0 + TOLERANCE / 100.0 {
        return Err(format!("an edit takes {ratio:.3} times as long as in {revision}"));
    }
    Ok(())
}

/// The release build of `revision`.
fn built(revision: &str) -> Result<PathBuf, String> {
    let worktree = root().join("target/compare/source");
    let git = |args: &[&str]| run(Command::new("git").current_dir(root()).args(args));
    let _ = git(&["worktree", "remove", "--force", &worktree.to_string_lossy()]);
    git(&["worktree", "add", "--quiet", "--detach", &worktree.to_string_lossy(), revision])?;
    let target = root().join("target/compare/build");
    let mut build = cargo_command();
    build.current_dir(&worktree).env("CARGO_TARGET_DIR", &target);
    let done =
        run(build.args(["build", "--quiet", "--locked", "--release", "--package", "edt-cli"]));
    git(&["worktree", "remove", "--force", &worktree.to_string_lossy()])?;
    done.map(|()| target.join("release/edt"))
}

/// The median of the paired ratios of the second program's times to the first one's.
fn measured(home: &Path, programs: [&Path; 2]) -> Result<f64, String> {
    let repos = [repository(home, "old")?, repository(home, "new")?];
    let (mut times, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for n in 0..EDITS {
        let mut pair = [0.0; 2];
        // Each is the first of a pair as often as the second.
        for at in [n % 2, 1 - n % 2] {
            let old = format!("line {n}\n");
            let new = format!("edited {n}\n");
            let mut edit = command(home, programs[at], &repos[at]);
            edit.args(["apply", "a/b/c/a.txt", "--mode", "edit", "--old-text", &old]);
            let begun = Instant::now();
            run(edit.args(["--content", &new]))?;
            pair[at] = begun.elapsed().as_secs_f64() * 1000.0;
        }
        // The first edits begin the session and fill caches.
        if n >= 20 {
            times.iter_mut().zip(pair).for_each(|(times, time)| times.push(time));
            ratios.push(pair[1] / pair[0]);
        }
    }
    let [old, new] = times.map(median);
    let ratio = median(ratios);
    println!("one edit, {FILES} files: {old:.3} ms, now {new:.3} ms; median of ratios {ratio:.3}");
    Ok(ratio)
}

fn repository(home: &Path, name: &str) -> Result<PathBuf, String> {
    let repo = home.join(name);
    let fail = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(repo.join("a/b/c")).map_err(fail)?;
    for n in 0..FILES {
        let directory = repo.join(format!("d{}", n / 100));
        std::fs::create_dir_all(&directory).map_err(fail)?;
        std::fs::write(directory.join(format!("f{n}")), format!("{n}\n")).map_err(fail)?;
    }
    let lines: String = (0..EDITS).map(|n| format!("line {n}\n")).collect();
    std::fs::write(repo.join("a/b/c/a.txt"), lines).map_err(fail)?;
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "U"],
        &["config", "user.email", "u@example.com"],
        &["config", "gc.auto", "0"],
        &["add", "."],
        &["commit", "--quiet", "--message=first"],
    ] {
        run(command(home, Path::new("git"), &repo).args(args))?;
    }
    Ok(repo)
}

fn command(home: &Path, program: &Path, repo: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repo).env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
    command.stdout(Stdio::null());
    command
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.stderr(Stdio::piped()).output();
    let done = done.map_err(|error| format!("{command:?}: {error}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
