//! Edits a file in a scratch repository, reads a refusal, and lands the session.
//!
//! `cargo run -p edt-core --example embed`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and starts Git for its repository"
)]

use std::error::Error;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use edt_core::{Code, Land, Options, Request, Status, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let repo = Scratch::with(&[("src/calc.c", "int add(int a, int b) { return a - b; }\n")])?;
    let mut ws = Workspace::open(&repo.0, Options::default())?;

    // A wrong old text is refused. Nothing is changed, and the finding says what to send instead.
    let wrong = Request::new("calc: add").edit("src/calc.c", "a * b", "a + b");
    if let Err(refusal) = ws.apply(&wrong) {
        for finding in refusal.as_slice() {
            println!("{}: {}\n  next: {}", finding.code.name(), finding.message(), finding.hint());
        }
        assert!(refusal.any(|finding| finding.code == Code::OldTextNotFound));
    }

    // The edit is one commit on the session's branch, with the file and the index.
    let right = Request::new("calc: add").agent("embed").edit("src/calc.c", "a - b", "a + b");
    let outcome = ws.apply(&right)?;
    assert_eq!(outcome.status, Status::Applied);
    println!("{} {}", outcome.commit.unwrap_or_default(), outcome.files[0].path);

    ws.undo(1)?;
    ws.redo()?;
    for entry in ws.log()? {
        let files: Vec<&str> = entry.files.iter().map(|file| file.path.as_str()).collect();
        println!("{} {} ({})", entry.commit.oid, entry.commit.subject(), files.join(", "));
    }
    for file in ws.diff(None)? {
        print!("{file}");
    }
    let landed = ws.land(Land::default())?;
    println!("landed as {}", landed.commit.unwrap_or_default());
    Ok(())
}

/// A Git repository that exists while the example runs. Your program opens a repository of its own.
struct Scratch(PathBuf);

impl Scratch {
    fn with(files: &[(&str, &str)]) -> io::Result<Scratch> {
        let root = std::env::temp_dir().join(format!("edt-embed-{}", std::process::id()));
        let scratch = Scratch(root);
        for (path, text) in files {
            let path = scratch.0.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&scratch.0))?;
            fs::write(path, text)?;
        }
        let commands: [&[&str]; 5] = [
            &["init", "--quiet"],
            &["config", "user.name", "Example"],
            &["config", "user.email", "example@example.com"],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "start"],
        ];
        for args in commands {
            let status = Command::new("git").args(args).current_dir(&scratch.0).status()?;
            if !status.success() {
                return Err(io::Error::other(format!("git {} failed", args.join(" "))));
            }
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed does not make the example fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}
