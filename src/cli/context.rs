//! What every command needs, read from the arguments and the environment.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::render::screen;
use super::user_files::UserFiles;
use super::{caller, note, pager, render};
use edt_agents::hook::who::Who;
use edt_core::Environment;
use edt_core::observe::Observer;
use edt_core::proposal::decisions::{self, NewDecisions};
use edt_core::refusals::{self, Attempt};
use edt_core::session::comments::delivery::{CommentedSession, Delivery};
use edt_core::session::comments::shown::CommentReader;
use edt_core::session::turns::CallingAgent;
use edt_core::session::views::user_switch;
use edt_core::session::worktree::options::{Cache, Options};
use edt_core::session::worktree::workspace;
use edt_core::session::{LockedWorkspace, Session};
use edt_git::{Oid, Repo};
use edt_guard::policy::Policy;
use edt_io::lock::LockGuard;
use edt_io::{clock, inherited};
use edt_types::{
    Code, Durability, Finding, OpenComments, Outcome, Recovered, Refusal, Result, SessionReport,
    Status, Warning,
};

use crate::lessons::Lessons;
use crate::telemetry::Telemetry;

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Global {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    dir: Option<std::path::PathBuf>,
    /// Print the answer as one JSON object on standard output (`edt schema` prints its schema).
    #[arg(long, global = true)]
    json: bool,
    /// The longest time to wait for another edt process, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        global = true,
        hide_short_help = true
    )]
    wait: f64,
    /// What is on disk before edt answers: journal (after a power cut edt recovers answered edits),
    /// full (plain Git finds them), off.
    #[arg(long, value_name = "LEVEL", global = true, hide_short_help = true)]
    durability: Option<Durability>,
}

/// The longest answer of a tool, in bytes: as JSON, and as text.
pub(super) const ROOM: usize = 64 * 1024;

/// Longest wait for the worktree's lock, to note that comments were given.
const MARK_WAIT: Duration = Duration::from_secs(1);

pub(super) struct Context {
    pub(super) start: PathBuf,
    pub(super) json: bool,
    caller: CallingAgent,
    command: String,
    wait: f64,
    durability: Option<Durability>,
    cache: Option<Arc<Cache>>,
    observers: Vec<Arc<dyn Observer>>,
    out: Out,
    recovered: RefCell<Option<Recovered>>,
    new_decisions: RefCell<NewDecisions>,
    /// The session whose comments the next answer has.
    commented: RefCell<Option<CommentedSession>>,
    /// The user's comments for the answer that is built now.
    comments: RefCell<Delivery>,
    /// The agent that the request names.
    named_agent: RefCell<Option<String>>,
    /// The worktree's lock, while a workspace of this call holds it.
    lock: RefCell<Weak<LockGuard>>,
    /// Warnings of programs that were interrupted together with edt.
    interrupted: RefCell<Vec<Warning>>,
    /// The warning that names the session that the user switched away from.
    user_switch: RefCell<Option<Warning>>,
    /// Whether a refusal is recorded.
    records: Cell<bool>,
}

/// The destination of answers.
#[derive(Debug)]
enum Out {
    /// The standard streams.
    Streams,
    /// This value, from which the caller takes it.
    Captured(RefCell<Option<CapturedAnswer>>),
}

/// An answer in both of its forms.
#[derive(Debug, Default)]
pub(super) struct CapturedAnswer {
    pub(super) json: serde_json::Value,
    pub(super) text: String,
}

impl CapturedAnswer {
    /// The length of its longer form, in bytes.
    fn length(&self) -> usize {
        self.json.to_string().len().max(self.text.len())
    }
}

/// What all calls to one server have in common.
#[cfg(any(feature = "acp", feature = "mcp", feature = "review"))]
#[derive(Debug, Clone)]
pub(super) struct CallDefaults {
    pub(super) start: PathBuf,
    wait: f64,
    durability: Option<Durability>,
    observers: Vec<Arc<dyn Observer>>,
}

#[cfg(any(feature = "acp", feature = "mcp", feature = "review"))]
impl CallDefaults {
    /// The context of a call of `command` in the worktree `start`; `cache` lasts from call to call.
    pub(super) fn context(&self, command: &str, start: PathBuf, cache: Arc<Cache>) -> Context {
        Context {
            start,
            json: true,
            caller: CallingAgent::default(),
            command: command.to_owned(),
            wait: self.wait,
            durability: self.durability,
            cache: Some(cache),
            observers: self.observers.clone(),
            out: Out::Captured(RefCell::default()),
            recovered: RefCell::default(),
            new_decisions: RefCell::default(),
            commented: RefCell::default(),
            comments: RefCell::default(),
            named_agent: RefCell::default(),
            lock: RefCell::default(),
            interrupted: RefCell::default(),
            user_switch: RefCell::default(),
            records: Cell::new(true),
        }
    }
}

/// A text for another program, wrapped in JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Text<'a> {
    /// Always `edt.text/1`.
    schema: &'static str,
    /// The text.
    text: &'a str,
}

/// A repository and the policy of its session.
pub(super) struct RepoWithPolicy {
    pub(super) repo: Repo,
    pub(super) recovered: Option<Recovered>,
    pub(super) base: Oid,
    pub(super) tree: Oid,
    pub(super) policy: Policy,
}

impl Context {
    pub(super) fn new(global: &Global, command: String) -> Context {
        let start = global.dir.clone().unwrap_or_else(|| PathBuf::from("."));
        Context {
            start,
            json: global.json,
            caller: caller::of_command(|name| Environment::Process.text(name)),
            command,
            wait: global.wait,
            durability: global.durability,
            cache: None,
            observers: vec![Arc::new(Telemetry), Arc::new(Lessons)],
            out: Out::Streams,
            recovered: RefCell::default(),
            new_decisions: RefCell::default(),
            commented: RefCell::default(),
            comments: RefCell::default(),
            named_agent: RefCell::default(),
            lock: RefCell::default(),
            interrupted: RefCell::default(),
            user_switch: RefCell::default(),
            records: Cell::new(true),
        }
    }

    /// The context of a command that is run in `directory`.
    #[cfg(test)]
    pub(super) fn in_directory(directory: &std::path::Path) -> Context {
        let dir = Some(directory.to_owned());
        Context::new(&Global { dir, json: false, wait: 10.0, durability: None }, "test".to_owned())
    }

    /// The same for the call of this agent.
    #[cfg(feature = "mcp")]
    pub(super) fn called_by(self, caller: CallingAgent) -> Context {
        Context { caller, ..self }
    }

    #[cfg(any(feature = "acp", feature = "mcp", feature = "review"))]
    pub(super) fn call_defaults(&self) -> CallDefaults {
        CallDefaults {
            start: self.start.clone(),
            wait: self.wait,
            durability: self.durability,
            observers: self.observers.clone(),
        }
    }

    /// The captured answer; `None` if this context prints its answers.
    #[cfg(feature = "mcp")]
    pub(super) fn captured(self) -> Option<CapturedAnswer> {
        match self.out {
            Out::Streams => None,
            Out::Captured(captured) => captured.into_inner(),
        }
    }

    /// The options with which a workspace is opened.
    pub(super) fn options(&self) -> Result<Options> {
        let files = UserFiles::read()?;
        let mut options = Options::default();
        options.command = format!("edt {}", self.command);
        options.lock_wait = Duration::try_from_secs_f64(self.wait).unwrap_or(options.lock_wait);
        options.user_policy = files.policy;
        options.user_home = files.home;
        options.trust = files.trust;
        options.configuration = files.configuration;
        options.environment = Environment::Process;
        options.reap_orphans = true;
        options.durability = self.durability;
        options.caller.clone_from(&self.caller);
        options.cache.clone_from(&self.cache);
        options.observers.clone_from(&self.observers);
        let is_user: fn() -> bool = match self.out {
            Out::Streams => || Who::here() == Who::User,
            // As in `Context::who`.
            Out::Captured(_) => || false,
        };
        let programs = edt_run::RepositoryPrograms::new(options.clone(), is_user);
        options.confinement = Some(Arc::new(programs));
        Ok(options)
    }

    /// The repository, opened for reading, with the session's base commit (else HEAD's) and the
    /// policy at that commit.
    pub(super) fn repo_with_policy(&self) -> Result<RepoWithPolicy> {
        let (repo, recovered) = self.repo()?;
        let head = repo.head()?;
        let session = Session::current(&repo, &head)?;
        let base = session.map_or_else(
            || head.commit.unwrap_or_else(|| repo.empty_tree()),
            |session| session.base,
        );
        let tree = repo.tree_of(base)?;
        let policy = workspace::policy(&repo, &self.options()?, tree)?;
        Ok(RepoWithPolicy { repo, recovered, base, tree, policy })
    }

    /// The caller. A server's calls come from an agent, even if the user started the server at a
    /// terminal.
    pub(super) fn who(&self) -> Who {
        match self.out {
            Out::Streams => Who::here(),
            Out::Captured(_) => Who::Agent("edt mcp".to_owned()),
        }
    }

    /// The agent that calls, as far as its program says.
    pub(super) fn agent(&self) -> Option<&str> {
        self.caller.agent.as_deref()
    }

    /// Notes the agent that the request names, if any.
    pub(super) fn name_agent(&self, agent: Option<&str>) {
        note::agent(agent);
        self.named_agent.replace(agent.map(str::to_owned));
    }

    /// Whether an agent, or a program, reads the answer: anyone but the user.
    pub(super) fn is_for_agent(&self) -> bool {
        !inherited::is_reviewer() && self.who() != Who::User
    }

    /// Who reads comments. Only the user sees drafts.
    pub(super) fn comment_reader(&self) -> CommentReader {
        if self.is_for_agent() { CommentReader::Agent } else { CommentReader::User }
    }

    /// Whether an agent certainly makes the call. A program without a terminal may be the user's.
    fn is_by_agent(&self) -> bool {
        let is_named = self.named_agent.borrow().is_some() && self.is_for_agent();
        is_named || !inherited::is_reviewer() && (self.is_of_server() || Who::is_agent_here())
    }

    /// Whether it is a call to a server.
    pub(super) fn is_of_server(&self) -> bool {
        matches!(self.out, Out::Captured(_))
    }

    /// Takes the warnings that opening the repository found, for the answer that is printed now:
    /// interrupted programs, the session that the user switched away from, and the user's new
    /// decisions on proposals of this worktree.
    pub(super) fn new_decisions(&self) -> Vec<Warning> {
        self.read_comments();
        let new_decisions = self.new_decisions.take();
        // An answer to the user does not reach the agent, so the decisions stay unreported.
        if !new_decisions.is_empty() && self.is_for_agent() {
            new_decisions.mark_reported();
        }
        let interrupted = self.interrupted.take().into_iter();
        let warnings = interrupted.chain(self.user_switch.take()).chain(new_decisions.warnings);
        warnings.chain(self.comments.borrow_mut().warning.take()).collect()
    }

    /// Takes the user's comments for the answer that is printed now, which is about `session` if it
    /// is known. The user gets none.
    pub(super) fn take_comments(&self, session: Option<&SessionReport>) -> Delivery {
        self.read_comments();
        let delivery = self.comments.take();
        let is_other = session.is_some_and(|session| session.name != delivery.session);
        if delivery.comments.is_none() || is_other || !self.is_for_agent() {
            return Delivery::default();
        }
        delivery
    }

    /// As [`Context::take_comments`] for `edt status`, which says to the user how many are open.
    pub(super) fn status_comments(&self) -> Delivery {
        if self.is_for_agent() {
            return self.take_comments(None);
        }
        self.read_comments();
        let (mut counted, all) = (Delivery::default(), self.comments.take());
        counted.comments = all.comments.map(OpenComments::counted);
        counted
    }

    /// Notes that the answer with these comments was printed for an agent. If that fails, or nobody
    /// says that an agent calls, the next answer has them again.
    pub(super) fn delivered(&self, delivery: &Delivery) {
        if !delivery.has_unread() || !self.is_by_agent() {
            return;
        }
        let named = self.named_agent.borrow();
        let agent = named.as_deref().or(self.agent());
        let mark = |repo: &Repo| delivery.mark_read(repo, agent, clock::seconds());
        let held = self.lock.borrow().upgrade();
        let _ = match held {
            Some(_lock) => {
                Repo::open_in(Environment::Process, &self.start).and_then(|repo| mark(&repo))
            }
            None => self.options().and_then(|mut options| {
                options.lock_wait = MARK_WAIT;
                mark(&LockedWorkspace::open(&self.start, options)?.repo)
            }),
        };
    }

    /// Notes, before the command moves HEAD, whose comments the next answer has.
    pub(super) fn load_comments(&self, repo: &Repo) {
        self.commented.replace(Some(CommentedSession::here(repo)));
    }

    /// Reads them for the answer that is built now: the command may have moved their lines.
    fn read_comments(&self) {
        if let Some(session) = self.commented.take() {
            let repo = || Repo::open_in(Environment::Process, &self.start);
            self.comments.replace(session.delivery(repo));
        }
    }

    /// Reads which session the user switched away from, before the command moves HEAD.
    fn load_user_switch(&self, repo: &Repo) {
        self.user_switch.replace(user_switch::warning(repo));
    }

    /// For a command that is asked for another session: its answer names it.
    pub(super) fn forget_user_switch(&self) {
        self.user_switch.take();
    }

    /// Reads the user's new decisions on proposals.
    pub(super) fn load_decisions(&self, repo: &Repo) {
        self.new_decisions.replace(decisions::unreported(repo));
    }

    /// Takes the report of an interrupted transaction that was recovered when the repository was
    /// opened.
    pub(super) fn recovered(&self) -> Option<Recovered> {
        self.recovered.take()
    }

    /// Opens the repository for writing, for a command whose answer has the warnings that were
    /// found.
    pub(super) fn workspace(&self) -> Result<LockedWorkspace> {
        // Before the command changes a file that the warnings list.
        let (workspace, interrupted) = self.quiet_workspace()?.with_interrupted();
        self.interrupted.borrow_mut().extend(interrupted);
        Ok(workspace)
    }

    /// As [`Context::workspace`], but leaves interrupted programs to a command that reports them.
    pub(super) fn quiet_workspace(&self) -> Result<LockedWorkspace> {
        self.opened(self.options()?)
    }

    /// As [`Context::quiet_workspace`], if that needs no wait for another process.
    pub(super) fn workspace_at_once(&self) -> Option<LockedWorkspace> {
        let mut options = self.options().ok()?;
        options.lock_wait = Duration::ZERO;
        self.opened(options).ok()
    }

    fn opened(&self, options: Options) -> Result<LockedWorkspace> {
        let workspace = LockedWorkspace::open(&self.start, options)?;
        check_meant(&workspace.repo)?;
        self.recovered.replace(workspace.recovered.clone());
        self.load_decisions(&workspace.repo);
        self.load_user_switch(&workspace.repo);
        self.load_comments(&workspace.repo);
        self.lock.replace(workspace.held());
        Ok(workspace)
    }

    /// Opens the repository for reading.
    pub(super) fn repo(&self) -> Result<(Repo, Option<Recovered>)> {
        let (repo, recovered) = LockedWorkspace::read(&self.start, &self.options()?)?;
        self.recovered.replace(recovered.clone());
        self.load_user_switch(&repo);
        Ok((repo, recovered))
    }

    /// Prints the answer of a command that changes something.
    pub(super) fn outcome(
        &self,
        outcome: &Outcome,
        render_human: impl FnOnce(&Outcome) -> String,
    ) -> Status {
        let new_decisions = self.new_decisions();
        let delivery = self.take_comments(outcome.session.as_ref());
        let is_extended = !new_decisions.is_empty() || delivery.comments.is_some();
        let extended = is_extended.then(|| Outcome {
            warnings: [new_decisions, outcome.warnings.clone()].concat(),
            comments: delivery.comments.clone(),
            ..outcome.clone()
        });
        let outcome = extended.as_ref().unwrap_or(outcome);
        note::outcome(outcome);
        self.answer(outcome, |outcome| {
            render_human(outcome) + &render::comments(outcome.comments.as_ref())
        });
        self.delivered(&delivery);
        outcome.status
    }

    /// Prints the answer of a command that only reads.
    pub(super) fn answer<T: Serialize>(
        &self,
        answer: &T,
        render_human: impl FnOnce(&T) -> String,
    ) -> Status {
        match &self.out {
            Out::Captured(captured) => {
                let json = serde_json::to_value(answer).unwrap_or_default();
                let text = screen(&render_human(answer));
                let text = anstream::adapter::strip_str(&text).to_string();
                captured.replace(Some(CapturedAnswer { json, text }));
            }
            Out::Streams if self.json => self.print(&render::json(answer)),
            Out::Streams => {
                let text = screen(&render_human(answer));
                let shown = || for_stream(&text, &std::io::stdout());
                if !pager::show(&self.command, &self.start, shown) {
                    self.print(&text);
                }
            }
        }
        Status::Applied
    }

    /// Prints the answer that `build` makes of an amount of bytes or entries: of what was `asked` for,
    /// or of as much as fits the answer of a tool.
    ///
    /// # Errors
    /// Those of `build`.
    pub(super) fn answer_part<T: Serialize>(
        &self,
        asked: u64,
        mut build: impl FnMut(u64) -> Result<T>,
        render_human: impl Fn(&T) -> String,
    ) -> Result<Status> {
        let Out::Captured(captured) = &self.out else {
            return Ok(self.answer(&build(asked)?, render_human));
        };
        let room = ROOM as u64;
        let mut amount = asked.min(room);
        loop {
            let status = self.answer(&build(amount)?, &render_human);
            let length = captured.borrow().as_ref().map_or(0, CapturedAnswer::length) as u64;
            if length <= room || amount <= 1 {
                return Ok(status);
            }
            // A little less than the share that fits, as not everything gets shorter.
            amount = (amount * room / length * 15 / 16).clamp(1, amount - 1);
        }
    }

    /// Prints a text for another program, or wraps it in JSON.
    pub(super) fn text(&self, text: &str) -> Status {
        if self.json || matches!(self.out, Out::Captured(_)) {
            return self.answer(&Text { schema: "edt.text/1", text }, |_| text.to_owned());
        }
        self.print(text);
        Status::Applied
    }

    /// Prints `text`. A closed pipe is ignored.
    #[expect(clippy::unused_self, reason = "every print goes through the context")]
    pub(super) fn print(&self, text: &str) {
        print_out(text);
    }

    /// Prints `text` on standard error.
    #[expect(clippy::unused_self, reason = "every print goes through the context")]
    pub(super) fn note(&self, text: &str) {
        print_error(&screen(text));
    }

    /// Records on the call's span how the call ended.
    pub(super) fn record_end(&self, status: Status) {
        note::ended(status, matches!(self.out, Out::Captured(_)));
    }

    /// The call only asks, so that its refusal is not recorded.
    pub(super) fn asks_only(&self) {
        self.records.set(false);
    }

    /// Records a refusal that is not in the record yet.
    pub(super) fn record(&self, found: &Refusal) {
        if !found.is_recorded() && self.records.get() {
            self.record_attempt(Attempt { call: &self.command, ..Attempt::default() }, found);
        }
    }

    /// Records an attempt without the worktree's lock.
    pub(super) fn record_attempt(&self, attempt: Attempt<'_>, found: &Refusal) {
        let (Ok(options), Ok(repo)) =
            (self.options(), Repo::open_in(Environment::Process, &self.start))
        else {
            return;
        };
        refusals::record(&repo, &options, None, attempt, found);
    }

    /// Prints a refusal: JSON on standard output, text on standard error.
    pub(super) fn refusal(&self, findings: Refusal, status: Status) {
        self.record(&findings);
        let mut outcome = render::refusal(findings, status);
        self.explain_paths(&mut outcome);
        outcome.recovered = self.recovered();
        outcome.warnings = self.new_decisions();
        let delivery = self.take_comments(None);
        outcome.comments.clone_from(&delivery.comments);
        outcome.proposal =
            outcome.errors.iter().find_map(|one| one.evidence.get("proposal")?.as_u64());
        note::outcome(&outcome);
        if self.json {
            self.answer(&outcome, render::refused);
        } else {
            self.note(&render::refused(&outcome));
            self.note(&render::comments(outcome.comments.as_ref()));
        }
        self.delivered(&delivery);
    }
}

/// Refuses a call that means one session, as the user saw it, if the worktree is in another one now.
/// Without any, the command itself finds none.
fn check_meant(repo: &Repo) -> Result<()> {
    let Some(meant) = inherited::session() else { return Ok(()) };
    let current = Session::current(repo, &repo.head()?)?;
    let Some(other) = current.filter(|session| session.name != meant) else { return Ok(()) };
    let message = format!("This worktree is in {} now, not in edt/{meant}.", other.short_branch());
    let hint = format!("`git switch edt/{meant}` returns to it.");
    Err(Finding::new(Code::SessionMoved, message, hint).nothing_changed().into())
}

/// Prints `text` and a line end on standard output, without its colors where that is no terminal. A
/// closed pipe is ignored.
pub(super) fn print_out(text: &str) {
    let mut text = for_stream(text, &std::io::stdout());
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    super::long_call::clear();
    super::printed::print(text.as_bytes());
}

/// Prints `text` on standard error, without its colors where that is no terminal.
pub(super) fn print_error(text: &str) {
    super::long_call::clear();
    let _ = edt_io::streams::print_error(for_stream(text, &std::io::stderr()).as_bytes());
}

fn for_stream(text: &str, stream: &impl anstream::stream::RawStream) -> String {
    let plain = edt_io::inherited::is_other()
        || anstream::AutoStream::choice(stream) == anstream::ColorChoice::Never;
    if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() }
}
