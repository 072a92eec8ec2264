//! `edt-bench unit`: the worker process of `run` and `check`. Hidden; not called by users.

use super::context::print;
use super::render;
use crate::runner::{self, WorkerJob};
use edt_io::streams;
use edt_memory::episodes;
use edt_types::{Code, Finding, Result, Status};

/// Do one job, read as JSON from standard input, and print its result as JSON.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

impl Args {
    #[expect(clippy::unused_self, reason = "every command has arguments")]
    pub(super) fn run(&self) -> Result<Status> {
        // A job quotes the episodes that a strategy begins with.
        const MAX_JOB: u64 = 3 * episodes::MAX_BYTES as u64;
        let bad = |summary: String| {
            let remedy = "Call `edt-bench run` or `edt-bench check`, which start this command.";
            Finding::new(Code::BadRequest, summary, remedy)
        };
        let input = streams::read_stdin(MAX_JOB)
            .map_err(|error| bad(format!("The job cannot be read: {error}.")))?;
        let input = input.ok_or_else(|| bad(format!("The job has more than {MAX_JOB} bytes.")))?;
        let job: WorkerJob = serde_json::from_slice(&input)
            .map_err(|error| bad(format!("The job cannot be read: {error}.")))?;
        print(&render::json(&runner::work(&job)?));
        Ok(Status::Applied)
    }
}
