//! The tools of an agent in an attempt: apply, read, run and undo, each as edt does it, and
//! counted.

use std::path::Path;

use serde_json::{Value, json};

use super::counters::AttemptCounters;
use super::results::{AttemptResult, MarkedCall};
use super::scratch_repo::ScratchRepo;
use edt_core::proposal::propose;
use edt_core::session::back::undo::{self, UndoTarget};
use edt_core::session::{PathState, Session};
use edt_core::txn::{self, Request, tried};
use edt_io::directory::FileTree;
use edt_io::{failed, fs};
use edt_run::{OutputStream, RunObserver};
use edt_types::{DryRun, Level, Outcome, Refusal, RepoPath, Result, Status};

/// The tools of one agent on one task, over all its attempts.
pub struct AgentTools<'a> {
    repo: &'a ScratchRepo,
    counters: AttemptCounters,
    trace: Vec<MarkedCall>,
}

impl<'a> AgentTools<'a> {
    #[must_use]
    pub fn new(repo: &'a ScratchRepo) -> AgentTools<'a> {
        AgentTools { repo, counters: AttemptCounters::default(), trace: Vec::new() }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        self.repo.root()
    }

    pub fn files(&self) -> Result<FileTree> {
        self.repo.files()
    }

    /// So many lessons were shown before the attempt.
    pub(super) fn count_priors(&mut self, number: usize) {
        self.counters.attempt.priors = count(number);
    }

    /// Applies a request of `edt apply --request`; the answer is `edt.outcome/1`.
    pub fn apply(&mut self, request: &Value) -> Value {
        self.counters.call("apply");
        self.counters.attempt.sent += 1;
        let read = Request::from_json(request.to_string().as_bytes());
        self.counters.attempt.parsed +=
            u32::from(read.as_ref().is_ok_and(|request| request.with_parsed_patch().is_ok()));
        let result = self.repo.workspace("apply").and_then(|mut workspace| match read {
            Ok(read) => propose::apply_or_propose(&mut workspace, &read, DryRun::No),
            Err(findings) => {
                let shown = tried::of_json(request.to_string().as_bytes());
                Err(txn::refused_unread(&workspace, shown, findings))
            }
        });
        match result {
            Ok(outcome) => {
                if outcome.status == Status::Applied {
                    self.landed(&outcome);
                }
                json!(outcome)
            }
            Err(findings) => self.refused(findings, request),
        }
    }

    fn landed(&mut self, outcome: &Outcome) {
        let paths =
            outcome.files.iter().flat_map(|file| [Some(file.path.clone()), file.from.clone()]);
        self.counters.landed(paths.flatten().collect());
    }

    fn refused(&mut self, findings: Refusal, request: &Value) -> Value {
        let only_guards = !findings.any(|finding| finding.code.allow().is_none());
        let mut outcome = Outcome::new(findings.status());
        outcome.lessons = findings.lessons().to_vec();
        self.counters.attempt.lessons += count(outcome.lessons.len());
        outcome.errors = findings.into_vec();
        self.counters.refused(outcome.errors.iter().map(|error| error.code.name()));
        self.counters.edit_refused();
        if only_guards {
            let repo = self.repo;
            self.counters.guards_refused(|| repo.files().ok(), request);
        }
        json!(outcome)
    }

    /// The text and the blob id of a file.
    ///
    /// # Errors
    /// The refusal, as `edt read` would answer it.
    pub fn read(&mut self, path: &str) -> std::result::Result<(String, String), Value> {
        self.counters.call("read");
        let state = self.repo.workspace("read").and_then(|workspace| {
            let path = RepoPath::parse(path.as_bytes())
                .map_err(|problem| problem.finding(path.as_bytes()))?;
            PathState::at(&workspace.repo, workspace.repo.empty_tree(), None, &path)
        });
        match state.map(|state| state.disk) {
            Ok(Some(disk)) => {
                Ok((String::from_utf8_lossy(&disk.bytes).into_owned(), disk.file.oid.to_string()))
            }
            Ok(None) => {
                let summary = format!("There is no file {path}.");
                let remedy = "Correct the path; `files` of the task lists all files.";
                Err(self.refusal_answer(
                    edt_types::Finding::new(edt_types::Code::FileNotFound, summary, remedy).into(),
                ))
            }
            Err(findings) => Err(self.refusal_answer(findings)),
        }
    }

    /// Runs a program as `edt run` does; the answer is `edt.run/1`, or a refusal.
    pub fn run(&mut self, argv: &[String], timeout: Option<f64>) -> Value {
        self.counters.call("run");
        let result = request(argv, self.root(), timeout).and_then(|request| {
            let mut workspace = self.repo.workspace("run")?;
            edt_run::run(&mut workspace, &request, &mut NoWatcher)
        });
        match result {
            Ok(answer) => {
                self.counters.refused(answer.outcome.errors.iter().map(|error| error.code.name()));
                json!(answer)
            }
            Err(findings) => self.refusal_answer(findings),
        }
    }

    /// Undoes the last edit; the answer is `edt.outcome/1`.
    pub fn undo(&mut self) -> Value {
        self.counters.call("undo");
        let moved = self.repo.workspace("undo").and_then(|mut workspace| {
            let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
            let options = undo::MoveOptions::default();
            undo::undo(&mut workspace, &session, &UndoTarget::Edits(1), options)
        });
        match moved {
            Ok(moved) => {
                self.counters.undone();
                let commit = Some(moved.to.to_string());
                json!(Outcome { commit, warnings: moved.warnings, ..Outcome::new(Status::Applied) })
            }
            Err(findings) => self.refusal_answer(findings),
        }
    }

    fn refusal_answer(&mut self, findings: Refusal) -> Value {
        let mut outcome = Outcome::new(findings.status());
        outcome.errors = findings.into_vec();
        self.counters.refused(outcome.errors.iter().map(|error| error.code.name()));
        json!(outcome)
    }

    /// Applies a request through edt on behalf of somebody else; the agent's counters stay.
    pub fn apply_as_other(&self, request: &Value) -> Result<()> {
        let read = Request::from_json(request.to_string().as_bytes())?;
        propose::apply_or_propose(&mut self.repo.workspace("apply")?, &read, DryRun::No).map(drop)
    }

    /// Writes a file without edt, on behalf of somebody else.
    pub fn write_as_other(&self, path: &str, text: &str) -> Result<()> {
        let checked =
            RepoPath::parse(path.as_bytes()).map_err(|problem| problem.finding(path.as_bytes()))?;
        let file = self.root().join(checked.text());
        let parent = file.parent().map_or(Ok(false), fs::make_dir);
        let written = parent.and_then(|_| fs::write_atomic(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("write", &file, &error).into())
    }

    /// Records a marked call of a recorded session.
    pub(super) fn mark_call(&mut self, call: MarkedCall) {
        self.trace.push(call);
    }

    /// The parts of the attempt that are looked at after it.
    pub(super) fn take_leftovers(&mut self) -> AttemptLeftovers {
        AttemptLeftovers {
            suspects: std::mem::take(&mut self.counters.suspects),
            trace: std::mem::take(&mut self.trace),
        }
    }

    /// The counters of the attempt. `wrong` says whether a file differs from the expected bytes.
    /// The next attempt begins in the same worktree.
    pub(super) fn finish_attempt(
        &mut self,
        pass: bool,
        wrong: impl Fn(&String) -> bool,
    ) -> AttemptResult {
        self.counters.finish(pass, wrong)
    }
}

pub(super) struct AttemptLeftovers {
    pub(super) suspects: Vec<(FileTree, Value)>,
    pub(super) trace: Vec<MarkedCall>,
}

pub(super) fn request(
    argv: &[String],
    dir: &Path,
    timeout: Option<f64>,
) -> Result<edt_run::ProgramRequest> {
    let (program, args) = argv
        .split_first()
        .map_or((String::new(), Vec::new()), |(p, rest)| (p.clone(), rest.to_vec()));
    Ok(edt_run::ProgramRequest {
        program: program.into(),
        args: args.into_iter().map(Into::into).collect(),
        dir: dir.to_owned(),
        timeout: timeout.map(edt_run::request::seconds).transpose()?,
        env: Vec::new(),
        sandbox: None::<Level>,
        stdin: edt_run::request::ProgramInput::Closed,
        agent: None,
    })
}

/// A watcher that ignores the output.
pub(super) struct NoWatcher;

impl RunObserver for NoWatcher {
    fn output(&mut self, _: OutputStream, _: &[u8]) {}
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
