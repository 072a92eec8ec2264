//! The agent's process, one thread for each direction, and the end.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, stdin};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::Service;
use super::lines::{self, Line};
use super::route::{Routed, Router, To};
use super::worker::{Job, Outputs, Worker};
use edt_io::clock::Countdown;
use edt_io::{failed, fs, process, spawn};
use edt_run::Signal;
use edt_types::{Result, Status};

/// How often the end of the agent and a signal are looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long an agent may take to end after a signal.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long what an ended agent wrote is still passed on, if another process has its output, too.
const REST_LIMIT: Duration = Duration::from_secs(2);

/// Starts the agent and passes messages until it ends. Returns its exit status.
///
/// # Errors
/// `PROGRAM_NOT_FOUND`, `IO_ERROR` if the agent or a thread cannot be started.
pub(crate) fn run(service: Service) -> Result<i32> {
    let Service { program, args, start, options, note, stop } = service;
    let edt = fs::current_program().map_err(|error| failed("find", Path::new("edt"), &error))?;
    let name = Path::new(&program).file_name().unwrap_or(OsStr::new("agent"));
    // What the agent starts is an agent's call, also where the agent sets no variable.
    let child = ["acp".into(), "--become".into(), "--".into(), program.clone()];
    let args = [&child[..], &args].concat();
    let mut child = spawn::piped(edt.as_os_str(), &args, &start, &[("EDT_AGENT", name)])?;
    let outputs = Arc::new(Outputs { agent: Mutex::new(child.stdin.take()) });
    let router = Arc::new(Router::new(edt, note));
    let (jobs, taken) = channel();
    let shared = (Arc::clone(&router), Arc::clone(&outputs));
    let worker = Worker::new(shared, options, note, name.to_string_lossy().into_owned());
    let wrap = |error: std::io::Error| failed("start", Path::new("a thread"), &error);
    let started = (|| {
        let worker = thread::Builder::new().spawn(move || worker.work(&taken))?;
        let way = |to| Way {
            to,
            note,
            jobs: jobs.clone(),
            router: Arc::clone(&router),
            outputs: Arc::clone(&outputs),
        };
        let (editor, agent) = (way(To::Agent), way(To::Editor));
        thread::Builder::new().spawn(move || {
            editor.pass(&mut stdin().lock());
            let _ = editor.jobs.send(Job::CloseAgent);
        })?;
        let output = child.stdout.take();
        let reader = thread::Builder::new().spawn(move || {
            output.into_iter().for_each(|output| agent.pass(&mut BufReader::new(output)));
        })?;
        Ok((worker, reader))
    })();
    let (worker, reader) = match started {
        Ok(threads) => threads,
        Err(error) => {
            let _ = child.kill();
            return Err(wrap(error).into());
        }
    };
    let status = wait(&mut child, &stop).map_err(wrap)?;
    let mut rest = Countdown::new(REST_LIMIT);
    while !reader.is_finished() && rest.pause() {}
    let _ = jobs.send(Job::End);
    let _ = worker.join();
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Waits for the end of the agent. A signal that asks edt to end is passed to the agent, which is
/// killed if it goes on.
fn wait(
    child: &mut Child,
    stop: &dyn Fn() -> Option<Signal>,
) -> std::io::Result<std::process::ExitStatus> {
    let mut ticks = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Some(signal) = stop() {
            process::signal(child, signal.as_raw());
            ticks.get_or_insert(END_LIMIT.as_millis() / TICK.as_millis());
        }
        match &mut ticks {
            Some(0) => child.kill()?,
            Some(left) => *left -= 1,
            None => {}
        }
        thread::sleep(TICK);
    }
}

/// One direction.
struct Way {
    to: To,
    note: fn(&str),
    jobs: Sender<Job>,
    router: Arc<Router>,
    outputs: Arc<Outputs>,
}

impl Way {
    /// Passes messages on until the input ends.
    fn pass(&self, input: &mut impl BufRead) {
        loop {
            match lines::next(input) {
                Ok(Line::Whole(line)) => self.line(line),
                Ok(Line::TooLong) => {
                    (self.note)("edt: a message was dropped: it is longer than 256 MiB.\n");
                }
                Ok(Line::End) | Err(_) => return,
            }
        }
    }

    fn line(&self, line: Vec<u8>) {
        let routed: Routed = match self.to {
            To::Agent => self.router.of_editor(line),
            To::Editor => self.router.of_agent(line),
        };
        if self.router.waits(&routed) {
            if self.jobs.send(Job::Message(self.to, Box::new(routed))).is_err() {
                // Nothing is judged any more. The agent ends with its input.
                (self.note)("edt: the thread that judges has failed.\n");
                std::process::exit(i32::from(Status::Bug.exit()));
            }
        } else {
            self.outputs.write(self.to, &routed.line);
        }
    }
}
