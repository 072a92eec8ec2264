//! The tools of an agent in an attempt: apply, read, run and undo, each as edt does it, and
//! counted.

use std::path::Path;

use serde_json::{Value, json};

use super::counters::AttemptCounters;
use super::lessons::{
    LandedFix, LessonOutcome, LessonStore, RefusedEdit, ShownLesson, TaskContext, TeachingSplit,
};
use super::results::{AttemptResult, MarkedCall};
use super::rng::SeededRng;
use super::scratch_repo::ScratchRepo;
use super::strategy::LessonKind;
use edt_core::proposal::propose;
use edt_core::session::back::undo::{self, UndoTarget};
use edt_core::session::{PathState, Session};
use edt_core::txn::{self, Request};
use edt_io::directory::FileTree;
use edt_io::{failed, fs};
use edt_memory::observe;
use edt_run::{OutputStream, RunObserver};
use edt_types::{DryRun, GuardReport, Level, Outcome, Refusal, RepoPath, Result, Status, Verdict};

/// The tools of one agent on one task, over all its attempts.
pub struct AgentTools<'a> {
    repo: &'a ScratchRepo,
    counters: AttemptCounters,
    lesson_provider: Option<LessonProvider<'a>>,
    /// Refused edits that no landed edit has fixed yet.
    open_refusals: Vec<OpenRefusal>,
    trace: Vec<MarkedCall>,
    /// Lessons shown before the attempt whose outcome is not known yet.
    priors: Vec<ShownLesson>,
    /// The first error of the memory.
    memory_error: Option<Refusal>,
}

struct OpenRefusal {
    failure: RefusedEdit,
    shown: Vec<String>,
}

/// Selects lessons for an agent and records their outcomes.
pub struct LessonProvider<'a> {
    pub memory: &'a mut dyn LessonStore,
    pub kind: LessonKind,
    /// The task that lessons are selected for.
    pub context: TaskContext,
    /// Which lessons the task may receive.
    pub split: TeachingSplit,
    /// Whether the task adds to the memory.
    pub learns: bool,
    /// For the placebo.
    pub rng: SeededRng,
}

impl LessonProvider<'_> {
    fn lessons(&mut self, failure: Option<&RefusedEdit>) -> Result<Vec<ShownLesson>> {
        let (split, target) = (self.split, self.context.origin.clone());
        let allowed = move |from: &super::lessons::TaskOrigin| split.allows(from, &target);
        let matching = match failure {
            None => self.memory.priors(&self.context, &allowed)?,
            Some(failure) => self.memory.for_refusal(failure, &allowed)?,
        };
        Ok(match self.kind {
            LessonKind::None => Vec::new(),
            LessonKind::Matching => matching,
            LessonKind::Placebo => {
                super::lessons::placebo(matching, &self.memory.all(&allowed)?, &mut self.rng)
            }
        })
    }

    /// The outcome of a placebo says nothing about the episode that it replaced.
    fn record_outcome(&mut self, shown: &[String], effect: LessonOutcome) -> Result<()> {
        if self.kind == LessonKind::Matching && self.learns && !shown.is_empty() {
            return self.memory.record_outcome(shown, effect);
        }
        Ok(())
    }
}

impl<'a> AgentTools<'a> {
    #[must_use]
    pub fn new(
        repo: &'a ScratchRepo,
        lesson_provider: Option<LessonProvider<'a>>,
    ) -> AgentTools<'a> {
        AgentTools {
            repo,
            counters: AttemptCounters::default(),
            lesson_provider,
            open_refusals: Vec::new(),
            trace: Vec::new(),
            priors: Vec::new(),
            memory_error: None,
        }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        self.repo.root()
    }

    pub fn files(&self) -> Result<FileTree> {
        self.repo.files()
    }

    /// The lessons to show before the attempt.
    pub fn priors(&mut self) -> Result<Vec<String>> {
        let lessons = self
            .lesson_provider
            .as_mut()
            .map(|lesson_provider| lesson_provider.lessons(None))
            .transpose()?
            .unwrap_or_default();
        self.counters.attempt.priors = count(lessons.len());
        self.priors = lessons;
        Ok(self.priors.iter().map(|lesson| lesson.text.clone()).collect())
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
                txn::refused(&workspace, &findings);
                Err(findings)
            }
        });
        match result {
            Ok(outcome) => {
                if outcome.status == Status::Applied {
                    self.landed(&outcome, request);
                }
                json!(outcome)
            }
            Err(findings) => self.refused(findings, request),
        }
    }

    fn landed(&mut self, outcome: &Outcome, request: &Value) {
        let paths: Vec<String> = outcome
            .files
            .iter()
            .flat_map(|file| [Some(file.path.clone()), file.from.clone()])
            .flatten()
            .collect();
        let fixed: Vec<OpenRefusal> = self
            .open_refusals
            .extract_if(.., |refusal| paths.contains(&refusal.failure.path))
            .collect();
        let languages: Vec<String> = paths.iter().map(|path| language_of(path)).collect();
        let shown = ids(self.priors.extract_if(.., |prior| languages.contains(&prior.language)));
        let recorded = self.lesson_provider.as_mut().map_or(Ok(()), |lesson_provider| {
            lesson_provider.record_outcome(&shown, LessonOutcome::Helped)?;
            fixed.iter().try_for_each(|OpenRefusal { failure, shown }| {
                lesson_provider.record_outcome(shown, LessonOutcome::Helped)?;
                if !lesson_provider.learns {
                    return Ok(());
                }
                let allowed = |report: &&GuardReport| {
                    report.verdict == Verdict::Allowed && report.path == failure.path
                };
                let fix = LandedFix {
                    request: request.clone(),
                    commit: outcome.commit.clone().unwrap_or_default(),
                    overrode: outcome
                        .guards
                        .iter()
                        .filter(allowed)
                        .map(|report| report.guard.to_owned())
                        .collect(),
                };
                lesson_provider.memory.record_fix(&lesson_provider.context.origin, failure, &fix)
            })
        });
        self.note_error(recorded);
        self.counters.landed(paths);
    }

    fn refused(&mut self, findings: Refusal, request: &Value) -> Value {
        let only_guards = !findings.any(|finding| finding.code.allow().is_none());
        let status = findings.status();
        let mut outcome = Outcome::new(status);
        outcome.errors = findings.into_vec();
        self.counters.refused(outcome.errors.iter().map(|error| error.code.name()));
        self.counters.edit_refused();
        if only_guards {
            let repo = self.repo;
            self.counters.guards_refused(|| repo.files().ok(), request);
        }
        if let (Some(lesson_provider), Some(first)) =
            (&mut self.lesson_provider, outcome.errors.first())
        {
            let path = first.path.clone().or_else(|| path_of(request)).unwrap_or_default();
            let failure = RefusedEdit {
                finding: first.clone(),
                count: outcome.errors.len(),
                mode: mode_of(request, &path),
                language: language_of(&path),
                path,
                request: request.clone(),
            };
            let earlier: Vec<&mut OpenRefusal> = self
                .open_refusals
                .iter_mut()
                .filter(|earlier| earlier.failure.path == failure.path)
                .collect();
            let (code, language) = (first.code.name(), failure.language.clone());
            // A lesson about this refusal was shown before the attempt and did not prevent it.
            let shown = ids(self
                .priors
                .extract_if(.., |prior| prior.code == code && prior.language == language));
            let recorded = lesson_provider.record_outcome(&shown, LessonOutcome::NotHelped);
            let earlier = recorded.map(|()| earlier);
            let recorded = earlier.and_then(|earlier| {
                earlier.into_iter().try_for_each(|earlier| {
                    // The lessons shown with an earlier refusal have their outcome now.
                    let shown = std::mem::take(&mut earlier.shown);
                    let worse = failure.count > earlier.failure.count;
                    lesson_provider.record_outcome(
                        &shown,
                        if worse { LessonOutcome::Worse } else { LessonOutcome::NotHelped },
                    )
                })
            });
            let lessons = recorded.and_then(|()| lesson_provider.lessons(Some(&failure)));
            let lessons = match lessons {
                Ok(lessons) => lessons,
                Err(findings) => {
                    self.memory_error.get_or_insert(findings);
                    Vec::new()
                }
            };
            self.counters.attempt.lessons += count(lessons.len());
            outcome.lessons = lessons.iter().map(|lesson| lesson.text.clone()).collect();
            self.open_refusals.push(OpenRefusal {
                failure,
                shown: lessons.into_iter().map(|lesson| lesson.id).collect(),
            });
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
                self.counters.refused(answer.errors.iter().map(|error| error.code.name()));
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
    ///
    /// # Errors
    /// The memory could not be read or written.
    pub(super) fn take_leftovers(&mut self) -> Result<AttemptLeftovers> {
        self.memory_error.take().map_or(Ok(()), Err)?;
        Ok(AttemptLeftovers {
            suspects: std::mem::take(&mut self.counters.suspects),
            trace: std::mem::take(&mut self.trace),
        })
    }

    fn note_error(&mut self, recorded: Result<()>) {
        if let Err(findings) = recorded {
            self.memory_error.get_or_insert(findings);
        }
    }

    /// The counters of the attempt. `wrong` says whether a file differs from the expected bytes.
    /// The next attempt begins in the same worktree, with the same open refusals.
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

fn ids(lessons: impl Iterator<Item = ShownLesson>) -> Vec<String> {
    lessons.map(|lesson| lesson.id).collect()
}

/// The mode of the request's first edit of `path`, or `patch`.
fn mode_of(request: &Value, path: &str) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if request.get("patch").is_some() {
        return "patch".to_owned();
    }
    let edits = request.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let edit_of_path = edits
        .iter()
        .find(|edit| edit.get("path").and_then(Value::as_str) == Some(path))
        .or(edits.first());
    edit_of_path.unwrap_or(request).get("mode").and_then(text).unwrap_or_else(|| "none".to_owned())
}

fn path_of(request: &Value) -> Option<String> {
    let edit = request.get("edits").and_then(|edits| edits.get(0)).unwrap_or(request);
    edit.get("path").and_then(Value::as_str).map(str::to_owned)
}

/// The language of the file `path`, else its extension, else an empty text.
pub(super) fn language_of(path: &str) -> String {
    observe::language_of(path).unwrap_or_default()
}
