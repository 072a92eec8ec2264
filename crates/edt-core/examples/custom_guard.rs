//! Registers a guard of the embedding program: no edit may add a line that says `TODO`.
//!
//! `cargo run -p edt-core --example custom_guard`

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
use std::sync::Arc;

use edt_core::{
    Code, Finding, Guard, GuardContext, GuardOutput, Options, Request, Subject, Workspace,
};

#[derive(Debug)]
struct NoTodo;

impl Guard for NoTodo {
    fn name(&self) -> &'static str {
        "no_todo"
    }

    fn rule(&self) -> &'static str {
        "Refuses an edit that adds a line with TODO."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let todo = |text: &[u8]| text.windows(4).any(|word| word == b"TODO");
        let found = file.added_lines().find(|(_, text)| todo(text)).map(|(row, _)| {
            let summary = format!("Line {} of {} would say TODO.", row + 1, file.path);
            Finding::new(Code::CustomGuard, summary, "Finish the line, or open an issue instead.")
                .nothing_changed()
                .at(file.path)
                .overridable_by("no_todo")
                .or_override("If it must stay, repeat with allow: [\"no_todo\"].")
        });
        GuardOutput::of(self.name(), found)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let repo = Scratch::with(&[("notes.txt", "one\n")])?;
    let mut options = Options::default();
    options.guards.push(Arc::new(NoTodo));
    let mut ws = Workspace::open(&repo.0, options)?;

    let request = Request::new("notes: add").append("notes.txt", "TODO: two\n");
    match ws.apply(&request) {
        Ok(_) => println!("applied, which this guard should have refused"),
        Err(refusal) => println!("{refusal}"),
    }
    let outcome = ws.apply(&request.allow("no_todo"))?;
    println!("applied as {}", outcome.commit.unwrap_or_default());
    Ok(())
}

/// A Git repository that exists while the example runs. Your program opens a repository of its own.
struct Scratch(PathBuf);

impl Scratch {
    fn with(files: &[(&str, &str)]) -> io::Result<Scratch> {
        let root = std::env::temp_dir().join(format!("edt-custom-guard-{}", std::process::id()));
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
