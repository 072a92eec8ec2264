//! What an agent can do in an attempt: apply, read, run, undo; each as edt does it, and counted.

use std::path::Path;

use serde_json::{Value, json};

use super::ground::Ground;
use super::memory::{About, Effect, Failure, Fix, Lesson, Lessons, Split};
use super::record::{Attempt, Traced};
use super::seed::Chance;
use super::strategy::Given;
use super::tally::Tally;
use crate::base::{Findings, GuardReport, Level, Outcome, RepoPath, Result, Status, Verdict};
use crate::io::folder::Files;
use crate::io::{failed, whole};
use crate::proposal::make;
use crate::run::{self, Stream, Watch};
use crate::session::undo::{self, Back};
use crate::session::{Look, Session};
use crate::txn::{self, Request, Run, tried};

/// An attempt in its worktree.
pub struct Scene<'a> {
    ground: &'a Ground,
    tally: Tally,
    teacher: Option<Teacher<'a>>,
    /// Refused edits that nothing has mended yet.
    open: Vec<Open>,
    trace: Vec<Traced>,
    /// Lessons that were given before the attempt, and of which nothing has come yet.
    priors: Vec<Lesson>,
    /// What keeps the memory from being read or written.
    broken: Option<Findings>,
}

struct Open {
    failure: Failure,
    shown: Vec<String>,
}

/// Who gives lessons to an agent.
pub struct Teacher<'a> {
    /// What was learned.
    pub memory: &'a mut dyn Lessons,
    /// Which lessons are given.
    pub given: Given,
    /// To whom.
    pub about: About,
    /// What may be taught to them.
    pub split: Split,
    /// Whether something is learned from them.
    pub learns: bool,
    /// For the placebo.
    pub chance: Chance,
}

impl Teacher<'_> {
    fn lessons(&mut self, failure: Option<&Failure>) -> Result<Vec<Lesson>> {
        let (split, to) = (self.split, self.about.origin.clone());
        let may = move |from: &super::memory::Origin| split.allows(from, &to);
        let right = match failure {
            None => self.memory.priors(&self.about, &may)?,
            Some(failure) => self.memory.in_refusal(failure, &may)?,
        };
        Ok(match self.given {
            Given::None => Vec::new(),
            Given::Own => right,
            Given::Wrong => super::memory::wrong(right, &self.memory.all(&may)?, &mut self.chance),
        })
    }

    /// A placebo's effect says nothing of the episode whose place it took.
    fn became(&mut self, shown: &[String], effect: Effect) -> Result<()> {
        if self.given == Given::Own && self.learns && !shown.is_empty() {
            return self.memory.became(shown, effect);
        }
        Ok(())
    }
}

impl<'a> Scene<'a> {
    /// A scene on `ground`.
    #[must_use]
    pub fn new(ground: &'a Ground, teacher: Option<Teacher<'a>>) -> Scene<'a> {
        Scene {
            ground,
            tally: Tally::default(),
            teacher,
            open: Vec::new(),
            trace: Vec::new(),
            priors: Vec::new(),
            broken: None,
        }
    }

    /// The worktree.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.ground.root()
    }

    /// Its files.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn files(&self) -> Result<Files> {
        self.ground.files()
    }

    /// What is worth knowing before the attempt.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn priors(&mut self) -> Result<Vec<String>> {
        let lessons = self
            .teacher
            .as_mut()
            .map(|teacher| teacher.lessons(None))
            .transpose()?
            .unwrap_or_default();
        self.tally.attempt.priors = count(lessons.len());
        self.priors = lessons;
        Ok(self.priors.iter().map(|lesson| lesson.text.clone()).collect())
    }

    /// Applies a request of `edt apply --request`; the answer is `edt.outcome/1`.
    pub fn apply(&mut self, request: &Value) -> Value {
        self.tally.call("apply");
        self.tally.attempt.sent += 1;
        let read = Request::from_json(request.to_string().as_bytes());
        self.tally.attempt.parsed +=
            u32::from(read.as_ref().is_ok_and(|one| one.understood().is_ok()));
        let done = self.ground.world("apply").and_then(|mut world| match read {
            Ok(read) => make::apply(&mut world, &read, Run::Real),
            Err(found) => {
                txn::refused(&world, &found);
                Err(found)
            }
        });
        match done {
            Ok(outcome) => {
                if outcome.status == Status::Applied {
                    self.landed(&outcome, request);
                }
                json!(outcome)
            }
            Err(found) => self.refused(found, request),
        }
    }

    fn landed(&mut self, outcome: &Outcome, request: &Value) {
        let paths: Vec<String> = outcome
            .files
            .iter()
            .flat_map(|file| [Some(file.path.clone()), file.from.clone()])
            .flatten()
            .collect();
        let mended: Vec<Open> =
            self.open.extract_if(.., |one| paths.contains(&one.failure.path)).collect();
        let languages: Vec<String> = paths.iter().map(|path| language_of(path)).collect();
        let given = ids(self.priors.extract_if(.., |prior| languages.contains(&prior.language)));
        let taught = self.teacher.as_mut().map_or(Ok(()), |teacher| {
            teacher.became(&given, Effect::Helped)?;
            mended.iter().try_for_each(|Open { failure, shown }| {
                teacher.became(shown, Effect::Helped)?;
                if !teacher.learns {
                    return Ok(());
                }
                let allowed = |report: &&GuardReport| {
                    report.verdict == Verdict::Allowed && report.path == failure.path
                };
                let fix = Fix {
                    request: request.clone(),
                    commit: outcome.commit.clone().unwrap_or_default(),
                    overrode: outcome
                        .guards
                        .iter()
                        .filter(allowed)
                        .map(|report| report.guard.to_owned())
                        .collect(),
                };
                teacher.memory.learned(&teacher.about.origin, failure, &fix)
            })
        });
        self.keep(taught);
        self.tally.landed(paths);
    }

    fn refused(&mut self, found: Findings, request: &Value) -> Value {
        let guards_alone = !found.any(|finding| finding.code.allow().is_none());
        let status = found.status();
        let mut outcome = Outcome::new(status);
        outcome.errors = found.into_vec();
        self.tally.refused(outcome.errors.iter().map(|error| error.code.name()));
        self.tally.stuck();
        if guards_alone {
            let ground = self.ground;
            self.tally.suspect(|| ground.files().ok(), request);
        }
        if let (Some(teacher), Some(first)) = (&mut self.teacher, outcome.errors.first()) {
            let path = first.path.clone().or_else(|| path_of(request)).unwrap_or_default();
            let failure = Failure {
                finding: first.clone(),
                count: outcome.errors.len(),
                mode: mode_of(request, &path),
                language: language_of(&path),
                path,
                request: request.clone(),
            };
            let earlier: Vec<&mut Open> =
                self.open.iter_mut().filter(|open| open.failure.path == failure.path).collect();
            let (code, language) = (first.code.name(), failure.language.clone());
            // It was told beforehand how not to come here.
            let given = ids(self
                .priors
                .extract_if(.., |prior| prior.code == code && prior.language == language));
            let taught = teacher.became(&given, Effect::NotHelped);
            let earlier = taught.map(|()| earlier);
            let taught = earlier.and_then(|earlier| {
                earlier.into_iter().try_for_each(|open| {
                    // What was shown for an earlier failure has had its turn.
                    let shown = std::mem::take(&mut open.shown);
                    let worse = failure.count > open.failure.count;
                    teacher.became(&shown, if worse { Effect::Worse } else { Effect::NotHelped })
                })
            });
            let lessons = taught.and_then(|()| teacher.lessons(Some(&failure)));
            let lessons = match lessons {
                Ok(lessons) => lessons,
                Err(found) => {
                    self.broken.get_or_insert(found);
                    Vec::new()
                }
            };
            self.tally.attempt.lessons += count(lessons.len());
            outcome.lessons = lessons.iter().map(|lesson| lesson.text.clone()).collect();
            self.open.push(Open {
                failure,
                shown: lessons.into_iter().map(|lesson| lesson.id).collect(),
            });
        }
        json!(outcome)
    }

    /// Reads a file: its text and its blob id.
    ///
    /// # Errors
    /// The refusal, as `edt read` would answer it.
    pub fn read(&mut self, path: &str) -> std::result::Result<(String, String), Value> {
        self.tally.call("read");
        let found = self.ground.world("read").and_then(|world| {
            let path = RepoPath::parse(path.as_bytes())
                .map_err(|problem| problem.finding(path.as_bytes()))?;
            Look::at(&world.repo, world.repo.empty_tree(), None, &path)
        });
        match found.map(|look| look.disk) {
            Ok(Some(disk)) => {
                Ok((String::from_utf8_lossy(&disk.bytes).into_owned(), disk.file.oid.to_string()))
            }
            Ok(None) => {
                let message = format!("There is no file {path}.");
                let hint = "Check the path; the task's `files` lists what there is.";
                Err(self.answer_of(
                    crate::base::Finding::new(crate::base::Code::FileNotFound, message, hint)
                        .into(),
                ))
            }
            Err(found) => Err(self.answer_of(found)),
        }
    }

    /// Runs a program as `edt run` does; the answer is `edt.run/1`, or a refusal.
    pub fn run(&mut self, argv: &[String], timeout: Option<f64>) -> Value {
        self.tally.call("run");
        let done = request(argv, self.root(), timeout).and_then(|request| {
            let mut world = self.ground.world("run")?;
            run::run(&mut world, &request, &mut Unwatched)
        });
        match done {
            Ok(answer) => {
                self.tally.refused(answer.errors.iter().map(|error| error.code.name()));
                json!(answer)
            }
            Err(found) => self.answer_of(found),
        }
    }

    /// Takes the last edit back; the answer is `edt.outcome/1`.
    pub fn undo(&mut self) -> Value {
        self.tally.call("undo");
        let moved = self.ground.world("undo").and_then(|mut world| {
            let session = Session::needed(&world.repo, &world.repo.head()?)?;
            undo::undo(&mut world, &session, &Back::Edits(1))
        });
        match moved {
            Ok(moved) => {
                self.tally.undone();
                let commit = Some(moved.to.to_string());
                json!(Outcome { commit, warnings: moved.warnings, ..Outcome::new(Status::Applied) })
            }
            Err(found) => self.answer_of(found),
        }
    }

    fn answer_of(&mut self, found: Findings) -> Value {
        let mut outcome = Outcome::new(found.status());
        outcome.errors = found.into_vec();
        self.tally.refused(outcome.errors.iter().map(|error| error.code.name()));
        json!(outcome)
    }

    /// Somebody else applies a request through edt: no call of the agent's.
    ///
    /// # Errors
    /// Why it did not land.
    pub fn other_applies(&self, request: &Value) -> Result<()> {
        let read = Request::from_json(request.to_string().as_bytes())?;
        make::apply(&mut self.ground.world("apply")?, &read, Run::Real).map(drop)
    }

    /// Somebody else writes a file, past edt.
    ///
    /// # Errors
    /// `IO_ERROR`; what a path may be refused with.
    pub fn other_writes(&self, path: &str, text: &str) -> Result<()> {
        let checked =
            RepoPath::parse(path.as_bytes()).map_err(|problem| problem.finding(path.as_bytes()))?;
        let file = self.root().join(checked.to_string());
        let folder = file.parent().map_or(Ok(false), whole::make_folder);
        let written = folder.and_then(|_| whole::put(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("write", &file, &error).into())
    }

    /// Notes a marked call.
    pub(super) fn traced(&mut self, call: Traced) {
        self.trace.push(call);
    }

    /// The attempt is over: what it left to look at. Judging it may come after.
    ///
    /// # Errors
    /// The memory could not be read or written: its figures would be none.
    pub(super) fn close(&mut self) -> Result<Closed> {
        self.broken.take().map_or(Ok(()), Err)?;
        Ok(Closed {
            suspects: std::mem::take(&mut self.tally.suspects),
            trace: std::mem::take(&mut self.trace),
        })
    }

    fn keep(&mut self, taught: Result<()>) {
        if let Err(found) = taught {
            self.broken.get_or_insert(found);
        }
    }

    /// The attempt's figures, with the judgement; `wrong` says whether a file has other bytes than expected. The next attempt begins on
    /// the same ground, with what is not mended yet.
    pub(super) fn judged(&mut self, pass: bool, wrong: impl Fn(&String) -> bool) -> Attempt {
        self.tally.judged(pass, wrong)
    }
}

/// What an attempt left to look at.
pub(super) struct Closed {
    pub(super) suspects: Vec<(Files, Value)>,
    pub(super) trace: Vec<Traced>,
}

/// A request of `edt run` for these words.
pub(super) fn request(argv: &[String], dir: &Path, timeout: Option<f64>) -> Result<run::Request> {
    let (program, args) = argv
        .split_first()
        .map_or((String::new(), Vec::new()), |(p, rest)| (p.clone(), rest.to_vec()));
    Ok(run::Request {
        program: program.into(),
        args: args.into_iter().map(Into::into).collect(),
        dir: dir.to_owned(),
        timeout: timeout.map(run::request::seconds).transpose()?,
        env: Vec::new(),
        sandbox: None::<Level>,
        stdin: run::request::Input::Closed,
        agent: None,
    })
}

/// Nobody follows the run.
pub(super) struct Unwatched;

impl Watch for Unwatched {
    fn output(&mut self, _: Stream, _: &[u8]) {}
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn ids(lessons: impl Iterator<Item = Lesson>) -> Vec<String> {
    lessons.map(|lesson| lesson.id).collect()
}

/// How a request changes `path`: the mode of its first edit there, or `patch`.
fn mode_of(request: &Value, path: &str) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if request.get("patch").is_some() {
        return "patch".to_owned();
    }
    let edits = request.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let own = edits
        .iter()
        .find(|edit| edit.get("path").and_then(Value::as_str) == Some(path))
        .or(edits.first());
    own.unwrap_or(request).get("mode").and_then(text).unwrap_or_else(|| "none".to_owned())
}

fn path_of(request: &Value) -> Option<String> {
    let edit = request.get("edits").and_then(|edits| edits.get(0)).unwrap_or(request);
    edit.get("path").and_then(Value::as_str).map(str::to_owned)
}

/// The language of the file `path`, or what its name ends in; empty if it ends in nothing.
pub(super) fn language_of(path: &str) -> String {
    tried::language_of(path).unwrap_or_default()
}
