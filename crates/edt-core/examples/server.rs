//! A server that answers one request a line: each thread has a workspace of its own, because
//! `Workspace` is `Send`, and all edit the same repository.
//!
//! `cargo run -p edt-core --example server`

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
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use edt_core::{Options, Request, Workspace};

/// A job: the file to append to, and where the answer goes.
type Job = (String, Sender<String>);

fn serve(mut ws: Workspace, jobs: &Receiver<Job>) {
    for (path, reply) in jobs {
        let request = Request::new(format!("append to {path}")).append(&path, "one more line\n");
        let answer = match ws.apply(&request) {
            Ok(outcome) => format!("{path}: edit {}", outcome.edit.unwrap_or_default()),
            Err(refusal) => format!("{path}: {}", refusal.codes().join(", ")),
        };
        // A client that went away needs no answer.
        let _ = reply.send(answer);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let repo = Scratch::with(&[("a.txt", "a\n"), ("b.txt", "b\n")])?;
    let (answers, received) = channel();
    let mut workers = Vec::new();
    for path in ["a.txt", "b.txt", "missing.txt"] {
        let (jobs, queue) = channel();
        let ws = Workspace::open(&repo.0, Options::default())?;
        workers.push(thread::spawn(move || serve(ws, &queue)));
        let _ = jobs.send((path.to_owned(), answers.clone()));
    }
    drop(answers);
    let mut lines: Vec<String> = received.iter().collect();
    lines.sort();
    lines.iter().for_each(|line| println!("{line}"));
    workers.into_iter().for_each(|worker| drop(worker.join()));
    Ok(())
}

/// A Git repository that exists while the example runs. Your program opens a repository of its own.
struct Scratch(PathBuf);

impl Scratch {
    fn with(files: &[(&str, &str)]) -> io::Result<Scratch> {
        let root = std::env::temp_dir().join(format!("edt-server-{}", std::process::id()));
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
