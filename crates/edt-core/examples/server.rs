//! A server that answers one request a line: each thread has a workspace of its own, because
//! `Workspace` is `Send`, and all edit the same repository.
//!
//! `cargo run -p edt-core --example server`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use edt_core::{Options, Refusal, Request, Workspace};
use edt_testkit::ScratchRepo;

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

fn main() -> Result<(), Refusal> {
    let repo = ScratchRepo::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let (answers, received) = channel();
    let mut workers = Vec::new();
    for path in ["a.txt", "b.txt", "missing.txt"] {
        let (jobs, queue) = channel();
        let ws = Workspace::open(repo.path(), Options::default())?;
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
