//! Runs a unit in its worker process: each task is attempted, judged and attempted again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent_tools::AgentTools;
use super::episode_store::EpisodeStore;
use super::executor::chat::secret::Secret;
use super::executor::{self, Executor, ExecutorConfig};
use super::judge::{JudgeInput, JudgeModel};
use super::lessons::{TaskOrigin, TeachingSplit};
use super::plan::{RunPlan, SuitePlan, Unit};
use super::protocol::{AttemptBrief, PROTOCOL};
use super::results::{AttemptEnd, AttemptResult, MarkedCall, TaskResult, UnitResult};
use super::rng::SeededRng;
use super::scratch_repo::{ScratchRepo, without_guards};
use super::strategy::{Feedback, Strategy};
use super::suite::Suite;
use super::task::Task;
use super::teacher::Teacher;
use super::{evaluation, plan, refusal_lessons};
use edt_io::{clock, directory, failed, fs};
use edt_types::Result;

/// A unit with everything that its worker process needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitJob {
    pub plan: RunPlan,
    pub unit: Unit,
    /// The worker's scratch directory.
    pub work: PathBuf,
    /// The directory that the benchmark was started in.
    pub start: PathBuf,
    /// The directory for recordings.
    pub record: Option<PathBuf>,
    /// The directory for the memory that a strategy ends with.
    pub memories: PathBuf,
    /// The episodes that the strategy begins with.
    pub memory: Option<String>,
    /// The API key of the model's server. It is passed here and in no environment variable.
    pub key: Option<Secret>,
    /// The model that judges.
    pub judge_model: JudgeModel,
}

/// Runs every task of the unit.
///
/// # Errors
/// Errors that stop the benchmark; `BENCH_MISMATCH` if the suite has changed since the run began.
pub fn run(job: &UnitJob) -> Result<UnitResult> {
    let started = clock::now();
    let suite_plan = job.plan.suite(&job.unit.suite)?;
    let suite = Suite::open(&suite_plan.location, &job.start)?;
    if suite.digest != suite_plan.digest {
        return Err(plan::mismatch(&format!(
            "The suite {} has changed since the run began",
            suite.name
        ))
        .into());
    }
    let strategy = Strategy::of(&job.unit.strategy)
        .ok_or_else(|| plan::mismatch(&format!("There is no strategy {}", job.unit.strategy)))?;
    let policy = (job.unit.guards == "off").then(without_guards);
    let mut runner = UnitRunner {
        job,
        suite_plan,
        suite_dir: suite_dir(&suite, &job.work)?,
        suite: &suite,
        strategy: *strategy,
        policy: policy.as_deref(),
        memory: if strategy.remembers() {
            Some(EpisodeStore::create(job.memory.as_deref())?)
        } else {
            None
        },
        first_scores: BTreeMap::new(),
        count: 0,
    };
    let mut tasks = Vec::new();
    match &job.unit.only {
        Some(only) => tasks.push(runner.task(suite.task(&only.task)?, only.session, false)?),
        None => {
            for session in 1..=suite_plan.sessions {
                for (task, teaches) in runner.tasks_of(session)? {
                    tasks.push(runner.task(task, session, teaches)?);
                }
            }
        }
    }
    if let Some(memory) = &runner.memory {
        let Unit { suite, strategy, guards, .. } = &job.unit;
        let file = job.memories.join(format!("{suite}-{strategy}-{guards}.jsonl"));
        let text = memory.export();
        let written = fs::make_dir(&job.memories)
            .and_then(|_| fs::write_atomic(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("write", &file, &error))?;
    }
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(UnitResult { unit: job.unit.clone(), runs: tasks, ms })
}

/// The suite's directory. A shipped suite is written below `work` first.
pub fn suite_dir(suite: &Suite, work: &Path) -> Result<PathBuf> {
    if let Some(dir) = &suite.dir {
        return Ok(dir.clone());
    }
    let dir = work.join("suite");
    directory::write_tree(&dir, &suite.files)
        .map_err(|error| failed("write the suite to", &dir, &error))?;
    Ok(dir)
}

struct UnitRunner<'o> {
    job: &'o UnitJob,
    suite_plan: &'o SuitePlan,
    suite: &'o Suite,
    suite_dir: PathBuf,
    strategy: Strategy,
    policy: Option<&'o str>,
    memory: Option<EpisodeStore>,
    /// The best score of a first attempt at each task so far.
    first_scores: BTreeMap<String, f64>,
    /// How many tasks have begun; each has its own directory.
    count: u32,
}

impl<'o> UnitRunner<'o> {
    /// The tasks of a session with whether they only teach: teaching tasks first, oldest first;
    /// then the judged tasks in an order that the seed determines.
    fn tasks_of(&self, session: u32) -> Result<Vec<(&'o Task, bool)>> {
        let of = |names: &[String]| {
            names.iter().map(|name| self.suite.task(name)).collect::<Result<Vec<&Task>>>()
        };
        let (mut teaching, mut judged) =
            (of(&self.suite_plan.teaching)?, of(&self.suite_plan.tasks)?);
        teaching.sort_by(|a, b| (&a.date, &a.id).cmp(&(&b.date, &b.id)));
        let label = format!("order/{}/{session}", self.suite.name);
        SeededRng::new(self.job.plan.seed, &label).shuffle(&mut judged);
        Ok(teaching
            .into_iter()
            .map(|task| (task, true))
            .chain(judged.into_iter().map(|task| (task, false)))
            .collect())
    }

    fn origin(&self, task: &Task) -> TaskOrigin {
        let (suite, task, date) = (self.suite.name.clone(), task.id.clone(), task.date.clone());
        TaskOrigin { suite, task, date }
    }

    fn split(&self) -> TeachingSplit {
        match self.job.plan.since {
            Some(_) => TeachingSplit::ByTime,
            None => TeachingSplit::Off,
        }
    }

    fn task(&mut self, task: &Task, session: u32, teaches: bool) -> Result<TaskResult> {
        self.count += 1;
        let place = self.job.work.join(format!("task-{}", self.count));
        fs::make_dir(&place).map_err(|error| failed("make", &place, &error))?;
        let mut repo = ScratchRepo::create(&place.join("repo"), &task.before, self.policy)?;
        let origin = self.origin(task);
        if let Some(memory) = &self.memory {
            let split = self.split();
            let lent = memory.lend(&|from| split.allows(from, &origin), clock::seconds());
            refusal_lessons::begin(&mut repo, (self.strategy.lessons, self.job.plan.seed), &lent)?;
        }
        let config = ExecutorConfig {
            agent: &self.suite_plan.agent,
            task,
            suite: &self.suite_dir,
            start: &self.job.start,
            limit: Duration::try_from_secs_f64(self.job.plan.seconds)
                .unwrap_or(Duration::from_secs(600)),
            key: self.job.key.as_ref(),
        };
        let mut executor = executor::for_agent(&config)?;
        let episodes = self.memory.as_ref().map_or(0, EpisodeStore::count);
        // With a split by time, judged tasks must not teach.
        let learns = teaches || self.split() == TeachingSplit::Off;
        let (mut attempts, mut trace, mut transcript) = (Vec::new(), Vec::new(), Vec::new());
        self.attempts(
            task,
            (session, learns),
            &repo,
            executor.as_mut(),
            &place,
            &mut |attempt, calls, lines| {
                attempts.push(attempt);
                trace.extend(calls);
                transcript.extend(lines);
            },
        )?;
        executor.end();
        if let Some(memory) = self.memory.as_mut().filter(|_| learns) {
            memory.returned(&origin, &refusal_lessons::end(&repo)?);
        }
        self.record(task, session, &transcript)?;
        fs::remove_dir_all(&place).map_err(|error| failed("remove", &place, &error))?;
        Ok(TaskResult {
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
        (session, learns): (u32, bool),
        repo: &ScratchRepo,
        executor: &mut dyn Executor,
        place: &Path,
        on_attempt: &mut dyn FnMut(AttemptResult, Vec<MarkedCall>, Vec<String>),
    ) -> Result<()> {
        let (seed, split, origin) = (self.job.plan.seed, self.split(), self.origin(task));
        let label = format!("{}/{}/{session}", self.suite.name, task.id);
        let mut teacher = self.memory.as_mut().map(|memory| Teacher {
            memory,
            kind: self.strategy.lessons,
            task,
            origin,
            split,
            learns,
            best_before: self.first_scores.get(&task.id).copied(),
            rng: SeededRng::new(seed, &format!("placebo/{label}")),
            open: Vec::new(),
            failed: None,
        });
        let mut tools = AgentTools::new(repo);
        let mut feedback = None;
        for number in 1..=self.suite_plan.attempts {
            let priors = teacher.as_mut().map_or_else(Vec::new, |teacher| teacher.priors(number));
            tools.count_priors(priors.len());
            let brief = AttemptBrief {
                protocol: PROTOCOL,
                suite: self.suite.name.clone(),
                task: task.id.clone(),
                session,
                attempt: number,
                attempts: self.suite_plan.attempts,
                instruction: task.instruction.clone(),
                worktree: repo.root().display().to_string(),
                files: repo.files()?.into_keys().collect(),
                priors: priors.into_iter().map(|lesson| lesson.text).collect(),
                feedback: feedback.take(),
                // 53 bits: exact in every JSON reader.
                seed: SeededRng::new(seed, &label).next() >> 11,
            };
            let agent = executor.attempt(&mut tools, &brief)?;
            if agent.ended == AttemptEnd::Exhausted {
                break;
            }
            let leftovers = tools.take_leftovers();
            let files = match repo.files() {
                Ok(files) => files,
                // An unreadable worktree is a result of the attempt; no further attempt can begin
                // there.
                Err(found) => {
                    let (ended, complaint) =
                        (AttemptEnd::Ruined, Some(evaluation::shortened(&found.to_string())));
                    let attempt = AttemptResult {
                        ended,
                        complaint,
                        usage: agent.usage,
                        ..tools.finish_attempt(false, |_| false)
                    };
                    on_attempt(attempt, leftovers.trace, agent.transcript);
                    break;
                }
            };
            let task_dir = self.suite_dir.join(&task.id);
            let input = JudgeInput {
                task,
                files: &files,
                attempt: number,
                task_dir: &task_dir,
                copy_dir: &place.join("judged"),
                model: &self.job.judge_model,
                explain: true,
            };
            let attempt = evaluation::evaluate(&input, &mut tools, &leftovers.suspects, place)?;
            let attempt = AttemptResult {
                ended: agent.ended,
                malformed: agent.malformed,
                complaint: agent.complaint,
                usage: agent.usage,
                ..attempt
            };
            feedback = (self.strategy.feedback == Feedback::Reason).then(|| reason(&attempt));
            if let Some(teacher) = &mut teacher {
                teacher.evaluated(&files, &attempt);
            }
            if number == 1 {
                let best = self.first_scores.entry(task.id.clone()).or_default();
                *best = best.max(attempt.score);
            }
            let pass = attempt.pass;
            on_attempt(attempt, leftovers.trace, agent.transcript);
            if pass {
                break;
            }
        }
        Ok(())
    }

    fn record(&self, task: &Task, session: u32, transcript: &[String]) -> Result<()> {
        let Some(dir) = &self.job.record else { return Ok(()) };
        let Unit { suite, strategy, guards, .. } = &self.job.unit;
        let dir = dir.join(suite).join(&task.id);
        let file = dir.join(format!("{strategy}-{guards}-{session}.jsonl"));
        let text = transcript.iter().fold(String::new(), |text, line| text + line + "\n");
        let written =
            fs::make_dir(&dir).and_then(|_| fs::write_atomic(&file, text.as_bytes(), 0o644));
        written.map_err(|error| failed("record to", &file, &error).into())
    }
}

/// The judge's feedback and hint on the attempt, and the codes of its refusals.
fn reason(attempt: &AttemptResult) -> String {
    let codes: Vec<String> =
        attempt.refusals.iter().map(|(code, count)| format!("{code} {count}×")).collect();
    let refused =
        if codes.is_empty() { String::new() } else { format!("\nRefused: {}.", codes.join(", ")) };
    let hint = attempt.hint.as_ref().map_or_else(String::new, |hint| format!("\n{hint}"));
    format!("{}{hint}{refused}", attempt.feedback)
}
