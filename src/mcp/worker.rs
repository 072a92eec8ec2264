//! The threads that calls are answered on.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::{Answer, Call, Effect, Handler, Pulse, Reply};

type Job = (Call, oneshot::Sender<Answer>);

fn to(reply: oneshot::Sender<Answer>) -> Reply {
    Box::new(move |answer| drop(reply.send(answer)))
}

/// One thread for all calls but those that run a program: edits of one worktree come one after the other anyway, and in the order in
/// which they were sent nobody has to guess what an edit was made on.
pub(super) struct Worker {
    jobs: Sender<Job>,
    handler: Arc<dyn Fn() -> Handler + Send + Sync>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    pulses: Mutex<Vec<Arc<Pulse>>>,
}

impl Worker {
    pub(super) fn start(handler: Arc<dyn Fn() -> Handler + Send + Sync>) -> Worker {
        let (jobs, queue) = mpsc::channel::<Job>();
        let make = Arc::clone(&handler);
        let answer = move || {
            let mut handler = make();
            for (call, reply) in queue {
                // Nobody waits for it any more: it was not begun, and is not.
                if !call.pulse.is_stopped() && !reply.is_closed() {
                    handler(call, to(reply));
                }
            }
        };
        Worker {
            jobs,
            handler,
            threads: Mutex::new(vec![std::thread::spawn(answer)]),
            pulses: Mutex::default(),
        }
    }

    /// Has `call` answered. The receiver fails if the server ends before.
    pub(super) fn call(&self, call: Call, effect: Effect) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        if effect != Effect::Runs {
            let _ = self.jobs.send((call, reply));
            return answer;
        }
        let handler = Arc::clone(&self.handler);
        let mut pulses = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        pulses.retain(|pulse| Arc::strong_count(pulse) > 1);
        pulses.push(Arc::clone(&call.pulse));
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        let run = move || {
            handler()(call, to(reply));
        };
        // Without a thread there is no answer: whoever waits for it is told so.
        threads.extend(std::thread::Builder::new().spawn(run).ok());
        answer
    }

    /// Waits for what was begun: an edit to its end, which takes a moment; programs are ended.
    pub(super) fn finish(self) {
        drop(self.jobs);
        self.pulses
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .for_each(|pulse| pulse.stop());
        for thread in self.threads.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let _ = thread.join();
        }
    }
}
