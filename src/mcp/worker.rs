//! The threads on which calls are answered.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::{CallProgress, Handler, Reply, ToolAnswer, ToolCall, ToolEffect};

type Job = (ToolCall, oneshot::Sender<ToolAnswer>);

fn to(reply: oneshot::Sender<ToolAnswer>) -> Reply {
    Box::new(move |answer| drop(reply.send(answer)))
}

/// Answers all calls on one thread, in the order in which they were sent, so that each edit builds
/// on the previous one. Calls that run a program have their own threads.
pub(super) struct Worker {
    jobs: Sender<Job>,
    handler: Arc<dyn Fn() -> Handler + Send + Sync>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    progresses: Mutex<Vec<Arc<CallProgress>>>,
}

impl Worker {
    pub(super) fn start(handler: Arc<dyn Fn() -> Handler + Send + Sync>) -> Worker {
        let (jobs, queue) = mpsc::channel::<Job>();
        let make = Arc::clone(&handler);
        let answer = move || {
            let mut handler = make();
            for (call, reply) in queue {
                // A call that was cancelled before it began is skipped.
                if !call.progress.is_stopped() && !reply.is_closed() {
                    handler(call, to(reply));
                }
            }
        };
        Worker {
            jobs,
            handler,
            threads: Mutex::new(vec![std::thread::spawn(answer)]),
            progresses: Mutex::default(),
        }
    }

    /// Queues `call`. The receiver fails if the server ends before the answer.
    pub(super) fn call(&self, call: ToolCall, effect: ToolEffect) -> oneshot::Receiver<ToolAnswer> {
        let (reply, answer) = oneshot::channel();
        if effect != ToolEffect::Runs {
            let _ = self.jobs.send((call, reply));
            return answer;
        }
        let handler = Arc::clone(&self.handler);
        let mut progresses = self.progresses.lock().unwrap_or_else(PoisonError::into_inner);
        progresses.retain(|progress| Arc::strong_count(progress) > 1);
        progresses.push(Arc::clone(&call.progress));
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        let run = move || {
            handler()(call, to(reply));
        };
        // If the thread cannot be started, the sender is dropped and the receiver fails.
        threads.extend(std::thread::Builder::new().spawn(run).ok());
        answer
    }

    /// Stops running programs, and waits until every call that was begun has ended.
    pub(super) fn finish(self) {
        drop(self.jobs);
        self.progresses
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .for_each(|progress| progress.stop());
        for thread in self.threads.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let _ = thread.join();
        }
    }
}
