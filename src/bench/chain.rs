//! A unit: its tasks one after the other, each attempted, judged and attempted again. One process of edt's own does it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::executor::chat::secret::Secret;
use super::executor::{self, Executor, Setting};
use super::ground::{Ground, without_guards};
use super::judge::{Judging, Verdict, judge};
use super::kept::Kept;
use super::memory::{About, Lessons, Origin, Split};
use super::plan::{Chosen, Plan, Unit};
use super::protocol::{Brief, PROTOCOL};
use super::record::{Attempt, Done, Ended, TaskRun, Traced};
use super::scene::{Scene, Teacher, language_of};
use super::seed::Chance;
use super::strategy::{Hears, Strategy};
use super::suite::Suite;
use super::task::Task;
use super::{harm, plan, region};
use crate::base::Result;
use crate::io::{clock, failed, folder, whole};

/// What a worker is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The run.
    pub plan: Plan,
    /// Which part of it.
    pub unit: Unit,
    /// A folder of the worker's own.
    pub work: PathBuf,
    /// The folder that the benchmark was started in.
    pub start: PathBuf,
    /// Where recordings go.
    pub record: Option<PathBuf>,
    /// Where the memory goes that a strategy ends with.
    pub memories: PathBuf,
    /// The episodes that it begins with.
    pub memory: Option<String>,
    /// The key of a model's server: here, and in no environment.
    pub key: Option<Secret>,
}

/// Does it.
///
/// # Errors
/// What keeps the benchmark from going on; `BENCH_MISMATCH` if the suite is another one now.
pub fn run(order: &Order) -> Result<Done> {
    let started = clock::now();
    let chosen = order.plan.chosen(&order.unit.suite)?;
    let suite = Suite::named(&chosen.named, &order.start)?;
    if suite.digest != chosen.digest {
        return Err(plan::mismatch(&format!(
            "The suite {} has changed since the run began",
            suite.name
        ))
        .into());
    }
    let strategy = Strategy::of(&order.unit.strategy)
        .ok_or_else(|| plan::mismatch(&format!("There is no strategy {}", order.unit.strategy)))?;
    let policy = (order.unit.guards == "off").then(without_guards);
    let mut chain = Chain {
        order,
        chosen,
        folder: laid_out(&suite, &order.work)?,
        suite: &suite,
        strategy: *strategy,
        policy: policy.as_deref(),
        memory: if strategy.remembers() {
            Some(Box::new(Kept::begin(&order.work.join("memory"), order.memory.as_deref())?))
        } else {
            None
        },
        count: 0,
    };
    let mut runs = Vec::new();
    match &order.unit.only {
        Some(only) => runs.push(chain.task(suite.task(&only.task)?, only.session, false)?),
        None => {
            for session in 1..=chosen.sessions {
                for (task, teaches) in chain.order_of(session)? {
                    runs.push(chain.task(task, session, teaches)?);
                }
            }
        }
    }
    if let Some(memory) = &chain.memory {
        let Unit { suite, strategy, guards, .. } = &order.unit;
        let file = order.memories.join(format!("{suite}-{strategy}-{guards}.jsonl"));
        let text = memory.export()?;
        let written = whole::make_folder(&order.memories)
            .and_then(|_| whole::put(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("write", &file, &error))?;
    }
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Done { unit: order.unit.clone(), runs, ms })
}

/// The suite's folder; one of edt's own is written to a place below `work`.
///
/// # Errors
/// `IO_ERROR`.
pub fn laid_out(suite: &Suite, work: &Path) -> Result<PathBuf> {
    if let Some(folder) = &suite.folder {
        return Ok(folder.clone());
    }
    let place = work.join("suite");
    folder::plant(&place, &suite.files)
        .map_err(|error| failed("write the suite to", &place, &error))?;
    Ok(place)
}

struct Chain<'o> {
    order: &'o Order,
    chosen: &'o Chosen,
    suite: &'o Suite,
    /// The suite's folder.
    folder: PathBuf,
    strategy: Strategy,
    policy: Option<&'o str>,
    memory: Option<Box<dyn Lessons>>,
    /// Tasks so far: each has a folder of its own.
    count: u32,
}

impl<'o> Chain<'o> {
    /// The tasks of a session: first those that only teach, oldest first; then the others, in an order of the seed's.
    fn order_of(&self, session: u32) -> Result<Vec<(&'o Task, bool)>> {
        let of = |names: &[String]| {
            names.iter().map(|name| self.suite.task(name)).collect::<Result<Vec<&Task>>>()
        };
        let (mut teaching, mut judged) = (of(&self.chosen.teaching)?, of(&self.chosen.tasks)?);
        teaching.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
        let label = format!("order/{}/{session}", self.suite.name);
        Chance::new(self.order.plan.seed, &label).shuffle(&mut judged);
        Ok(teaching
            .into_iter()
            .map(|task| (task, true))
            .chain(judged.into_iter().map(|task| (task, false)))
            .collect())
    }

    fn task(&mut self, task: &Task, session: u32, teaches: bool) -> Result<TaskRun> {
        self.count += 1;
        let place = self.order.work.join(format!("task-{}", self.count));
        whole::make_folder(&place).map_err(|error| failed("make", &place, &error))?;
        let ground = Ground::plant(&place.join("repo"), &task.before, self.policy)?;
        let setting = Setting {
            agent: &self.chosen.agent,
            task,
            suite: &self.folder,
            start: &self.order.start,
            limit: Duration::try_from_secs_f64(self.order.plan.seconds)
                .unwrap_or(Duration::from_secs(600)),
            key: self.order.key.as_ref(),
        };
        let mut executor = executor::of(&setting)?;
        let episodes = self.memory.as_ref().map_or(Ok(0), |memory| memory.count())?;
        let (mut attempts, mut trace, mut said) = (Vec::new(), Vec::new(), Vec::new());
        self.attempts(
            task,
            (session, teaches),
            &ground,
            executor.as_mut(),
            &place,
            &mut |attempt, traced, lines| {
                attempts.push(attempt);
                trace.extend(traced);
                said.extend(lines);
            },
        )?;
        executor.end();
        self.record(task, session, &said)?;
        whole::remove_folder(&place).map_err(|error| failed("remove", &place, &error))?;
        Ok(TaskRun {
            task: task.id.clone(),
            class: task.class.clone(),
            session,
            teaches,
            episodes,
            attempts,
            trace,
        })
    }

    fn attempts(
        &mut self,
        task: &Task,
        (session, teaches): (u32, bool),
        ground: &Ground,
        executor: &mut dyn Executor,
        place: &Path,
        keep: &mut dyn FnMut(Attempt, Vec<Traced>, Vec<String>),
    ) -> Result<()> {
        let (seed, split) = (
            self.order.plan.seed,
            if self.order.plan.since.is_some() { Split::ByTime } else { Split::Off },
        );
        let label = format!("{}/{}/{session}", self.suite.name, task.id);
        let origin = Origin {
            suite: self.suite.name.clone(),
            task: task.id.clone(),
            date: task.date.clone(),
        };
        let mut languages: Vec<String> = task.before.keys().map(|path| language_of(path)).collect();
        languages.sort();
        languages.dedup();
        let teacher = self.memory.as_mut().map(|memory| Teacher {
            memory: memory.as_mut(),
            given: self.strategy.lessons,
            about: About { origin, instruction: task.instruction.clone(), languages },
            split,
            // What is judged must not teach once the split is on.
            learns: teaches || split == Split::Off,
            chance: Chance::new(seed, &format!("placebo/{label}")),
        });
        let mut scene = Scene::new(ground, teacher);
        let mut feedback = None;
        for number in 1..=self.chosen.attempts {
            let brief = Brief {
                protocol: PROTOCOL,
                suite: self.suite.name.clone(),
                task: task.id.clone(),
                session,
                attempt: number,
                attempts: self.chosen.attempts,
                instruction: task.instruction.clone(),
                worktree: ground.root().display().to_string(),
                files: ground.files()?.into_keys().collect(),
                priors: scene.priors()?,
                feedback: feedback.take(),
                // Small enough for every JSON reader.
                seed: Chance::new(seed, &label).next() >> 11,
            };
            let attempted = executor.attempt(&mut scene, &brief)?;
            if attempted.ended == Ended::Exhausted {
                break;
            }
            let closed = scene.close()?;
            let files = match ground.files() {
                Ok(files) => files,
                // What an agent leaves is a result of its attempt, and nobody can go on from it.
                Err(found) => {
                    let (ended, complaint) = (Ended::Ruined, Some(cut(&found.to_string())));
                    let attempt = Attempt {
                        ended,
                        complaint,
                        usage: attempted.usage,
                        ..scene.judged(false, |_| false)
                    };
                    keep(attempt, closed.trace, attempted.said);
                    break;
                }
            };
            let folder = self.folder.join(&task.id);
            let judging = Judging {
                task,
                files: &files,
                attempt: number,
                folder: &folder,
                place: &place.join("judged"),
            };
            let verdict = judge(&judging)?;
            let wanted = task.wanted();
            let wrong = |path: &String| {
                let differs = |wanted: &folder::Files| {
                    wanted.get(path).map(|one| &one.bytes) != files.get(path).map(|one| &one.bytes)
                };
                task.speaks_of(path) && wanted.as_ref().is_some_and(differs)
            };
            let mut attempt = scene.judged(verdict.pass, wrong);
            let deadline = clock::in_ms(10_000);
            attempt.outside = region::intended(task, deadline)
                .map(|intended| region::outside(&task.before, &files, &intended, deadline));
            for suspect in &closed.suspects {
                attempt.tried_without += 1;
                attempt.harmful +=
                    u32::from(harm::would_pass(task, suspect, number, (&folder, place))?);
            }
            attempt.score = verdict.score;
            attempt.feedback = cut(&verdict.feedback);
            attempt.ended = attempted.ended;
            attempt.malformed = attempted.malformed;
            attempt.complaint = attempted.complaint;
            attempt.usage = attempted.usage;
            feedback = (self.strategy.hears == Hears::Why).then(|| reflection(&verdict, &attempt));
            let pass = attempt.pass;
            keep(attempt, closed.trace, attempted.said);
            if pass {
                break;
            }
        }
        Ok(())
    }

    /// Writes down what the agent said.
    fn record(&self, task: &Task, session: u32, said: &[String]) -> Result<()> {
        let Some(folder) = &self.order.record else { return Ok(()) };
        let Unit { suite, strategy, guards, .. } = &self.order.unit;
        let folder = folder.join(suite).join(&task.id);
        let file = folder.join(format!("{strategy}-{guards}-{session}.jsonl"));
        let text = said.iter().fold(String::new(), |text, line| text + line + "\n");
        let written =
            whole::make_folder(&folder).and_then(|_| whole::put(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("record to", &file, &error).into())
    }
}

/// What an agent is told of its last attempt: what the judge said, and the codes of its refusals.
fn reflection(verdict: &Verdict, attempt: &Attempt) -> String {
    let codes: Vec<String> =
        attempt.refusals.iter().map(|(code, count)| format!("{code} {count}×")).collect();
    let refused =
        if codes.is_empty() { String::new() } else { format!("\nRefused: {}.", codes.join(", ")) };
    format!("{}{refused}", cut(&verdict.feedback))
}

fn cut(text: &str) -> String {
    const MOST: usize = 2000;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
