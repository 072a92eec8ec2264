//! `edt review` as a server: what its page reads and does.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::browser;
use super::context::{CallDefaults, Context};
use super::render::{DIM, NAME, paint};
use super::terminal_user::refuse_agent;
use edt_agents::hook::who::Who;
use edt_core::proposal::store as proposals;
use edt_core::session::Session;
use edt_core::session::comments::shown::{self, CommentReader};
use edt_core::session::comments::store;
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::worktree::options::Cache;
use edt_git::Repo;
use edt_io::inherited::{self, Inherited};
use edt_io::scratch::Scratch;
use edt_io::{Environment, environment, fs, terminal};
use edt_journal::refusals::RefusalLog;
use edt_review::action::{Acted, Action, CommentAction, Part};
use edt_review::ahead::ReadAhead;
use edt_review::contents::{Blobs, Contents as _};
use edt_review::hunks::{LineSource, ReviewFile};
use edt_review::marks::{Mark, Marks, Reviewed};
use edt_review::model::whole_file;
use edt_review::refusals::{self, SentTexts};
use edt_review::serve::{self, Ended, Source};
use edt_review::{Extent, Reader, SessionReview};
use edt_types::text::shell_word;
use edt_types::{Code, Finding, Result, Status};

/// How long one call reads ahead, in milliseconds. A server that ends waits for it.
const MAX_READ_AHEAD_MS: u64 = 250;

/// The session that the page shows.
struct Served {
    name: String,
    branch: String,
    start: PathBuf,
    defaults: CallDefaults,
    /// Whether the prompts are shown.
    is_user: bool,
    reader: Reader,
    /// The file that leads the browser to the link, until the page is there.
    opened: Arc<Mutex<Option<Scratch>>>,
}

/// The session as the page and the view in a terminal read it, for the user at `what`.
pub(super) fn source(context: &Context, session: &Session, what: &str) -> Result<Box<dyn Source>> {
    Ok(Box::new(served(context, session, what)?))
}

fn served(context: &Context, session: &Session, what: &str) -> Result<Served> {
    if inherited::is_other() {
        return Err(not_here().into());
    }
    refuse_agent(what)?;
    let start = std::path::absolute(&context.start).map_err(|error| failed(&error))?;
    Ok(Served {
        name: session.name.clone(),
        branch: session.branch.clone(),
        defaults: context.call_defaults(),
        is_user: context.who() == Who::User,
        reader: Reader::default(),
        opened: Arc::default(),
        start,
    })
}

/// Serves the page of `session` until it ends, and `opens` it in the user's browser.
pub(super) fn run(context: &Context, session: &Session, opens: bool) -> Result<Status> {
    let served = served(context, session, "edt review")?;
    let (opened, start) = (Arc::clone(&served.opened), served.start.clone());
    let branch = session.short_branch().to_owned();
    let started = |link: &str| {
        let how = "Open the link in a browser on this host; it works once. Ctrl-C ends.";
        context.print(&format!("{} {link}\n  {}", paint(NAME, &branch), paint(DIM, how)));
        if opens {
            match browser::open(link, &start) {
                Ok(file) => *locked(&opened) = Some(file),
                Err(why) => context.note(&format!("The browser was not opened. {why}\n")),
            }
        }
    };
    let ended = serve::serve(Box::new(served), started).map_err(|error| failed(&error))?;
    if ended == Ended::Closed && terminal::is_interactive() {
        context.note("The page was closed: `edt review` has ended.\n");
    }
    Ok(Status::Applied)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Served {
    fn open(&self) -> Result<(Repo, ShownSession)> {
        let repo = Repo::open_in(Environment::Process, &self.start)?;
        let shown = ShownSession::named(&repo, &self.name)?
            .ok_or_else(|| ShownSession::unknown(&self.name))?;
        Ok((repo, shown))
    }
}

impl Source for Served {
    fn read(&self, extent: Extent<'_>) -> Result<SessionReview> {
        // The browser has used the link.
        drop(locked(&self.opened).take());
        let cache = Arc::new(Cache::default());
        let context = self.defaults.context("review", self.start.clone(), cache);
        let (repo, _) = context.repo()?;
        let shown = ShownSession::named(&repo, &self.name)?
            .ok_or_else(|| ShownSession::unknown(&self.name))?;
        let mut review = self.reader.read(&repo, &shown, extent, |_| self.is_user)?;
        Marks::of(&repo, &self.name).apply(&mut review);
        if self.is_user {
            review.refusals = refusals::of_session(&repo, &self.name, SentTexts::Shown);
        }
        (review.comments, review.review_summaries) =
            shown::comments(&repo, &shown.session, CommentReader::User)?;
        Ok(review)
    }

    fn read_ahead(&self) -> Result<ReadAhead> {
        let (repo, shown) = self.open()?;
        self.reader.read_ahead(&repo, &shown, MAX_READ_AHEAD_MS)
    }

    fn line_sources(&self, path: &str) -> Result<(String, Vec<LineSource>)> {
        let (repo, shown) = self.open()?;
        self.reader.line_sources(&repo, &shown, path)
    }

    fn whole(&self, commit: Option<&str>, path: &str) -> Result<Option<ReviewFile>> {
        let (repo, shown) = self.open()?;
        whole_file(&repo, &shown, commit, path)
    }

    fn blob(&self, hash: &str, max: usize) -> Option<Vec<u8>> {
        let repo = Repo::open_in(Environment::Process, &self.start).ok()?;
        Blobs(&repo).blob(hash, max)
    }

    fn worktree_blob(&self, path: &str, hash: &str, max: usize) -> Option<Vec<u8>> {
        let repo = Repo::open_in(Environment::Process, &self.start).ok()?;
        let bytes = fs::read_small(&repo.root_path().join(path), max as u64)?;
        let id = repo.blob_id(&bytes).ok()?.to_string();
        (id == hash).then_some(bytes)
    }

    fn mark(&self, mark: Mark, reviewed: Reviewed) -> Result<()> {
        let repo = Repo::open_in(Environment::Process, &self.start)?;
        Marks::set(&repo, &self.name, mark, reviewed)
    }

    fn state(&self) -> String {
        let Ok(repo) = Repo::open_in(Environment::Process, &self.start) else {
            return String::new();
        };
        let value = |name: &str| repo.ref_value(name).ok().flatten();
        let head = repo.head().ok().map(|head| (head.branch, head.commit));
        let record = value(&format!("refs/edt/{}/record", self.name));
        let comments = value(&store::comments_ref(&self.name));
        let proposals = repo.refs_below(proposals::PREFIX).unwrap_or_default();
        let refusals = fs::size(RefusalLog::of(&repo).file());
        format!(
            "{:?} {record:?} {comments:?} {head:?} {proposals:?} {refusals:?}",
            value(&self.branch)
        )
    }

    /// The command itself, called as from a program without a terminal: what needs the user's
    /// terminal is refused and says so.
    fn act(&self, action: &Action) -> Acted {
        let args = args(action, &self.name);
        let names_session = args.iter().any(|arg| arg.as_bytes().starts_with(b"--session="));
        let words = args.iter().map(|arg| shell_word(arg.as_encoded_bytes()));
        let command = std::iter::once("edt".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
        let caller = Inherited {
            variables: environment::variables().into_iter().collect(),
            directory: self.start.clone(),
            program: environment::current_program().unwrap_or_default(),
            input: Vec::new(),
            is_reviewer: true,
            session: Some(self.name.clone()).filter(|_| !names_session),
        };
        let (status, printed) = crate::call(&args, caller);
        let text = [printed.stdout, printed.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        Acted { command, done: status == 0, text }
    }
}

/// The arguments of the command, for the session with this name. One that needs no current session
/// names it.
fn args(action: &Action, session: &str) -> Vec<OsString> {
    let all: Vec<String> = match action {
        Action::Revert(edit) => vec!["revert".into(), edit.to_string()],
        Action::UndoTo(edit) => vec!["undo".into(), "--to".into(), edit.to_string()],
        Action::Undo => vec!["undo".into()],
        Action::Redo => vec!["redo".into()],
        Action::Restore(path) => vec!["restore".into(), "--".into(), from_root(path)],
        Action::Land(None) => vec!["land".into()],
        Action::Land(Some(message)) => vec!["land".into(), format!("--message={message}")],
        Action::LandTo(edit) => vec!["land".into(), "--to".into(), edit.to_string()],
        Action::UndoLanding => {
            vec!["land".into(), "--undo".into(), format!("--session={session}")]
        }
        Action::Abandon => vec!["abandon".into()],
        Action::RevertPart(part) => revert_part(part),
        Action::LandOnly(edits, message) => {
            let edits = edits.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let message = message.iter().map(|message| format!("--message={message}"));
            ["land".into(), format!("--only={edits}")].into_iter().chain(message).collect()
        }
        Action::Approve(proposal) => vec!["approve".into(), format!("p{proposal}")],
        Action::Reject(proposal, message) => {
            vec!["reject".into(), format!("p{proposal}"), format!("--message={message}")]
        }
        Action::Comment(action) => comment(action),
    };
    all.into_iter().map(OsString::from).collect()
}

/// The path of the page, which counts from the worktree's root, wherever the server was started.
fn from_root(path: &str) -> String {
    format!(":/{path}")
}

fn revert_part(part: &Part) -> Vec<String> {
    let which = part.edit.map_or_else(|| "--session".to_owned(), |edit| edit.to_string());
    let mut all = vec!["revert".to_owned(), which, format!("--path={}", from_root(&part.path))];
    for (option, ranges) in [("added", &part.added), ("removed", &part.removed)] {
        all.extend(ranges.iter().map(|(first, last)| format!("--{option}={first}-{last}")));
    }
    all
}

fn comment(action: &CommentAction) -> Vec<String> {
    let mut all = vec!["comment".to_owned()];
    match action {
        CommentAction::Add { edit, path, lines, before, text } => {
            all.push("add".into());
            all.extend(edit.map(|edit| format!("--edit={edit}")));
            all.extend(path.iter().map(|path| format!("--path={}", from_root(path))));
            all.extend(lines.map(|(first, last)| format!("--lines={first}-{last}")));
            all.extend(before.then(|| "--before".to_owned()));
            all.push(format!("--message={text}"));
        }
        CommentAction::Send(summary) => {
            all.push("send".into());
            all.extend(summary.iter().map(|summary| format!("--message={summary}")));
        }
        CommentAction::Answer(id, text) => {
            all.extend(["answer".into(), id.to_string(), format!("--message={text}")]);
        }
        CommentAction::Resolve(id) => all.extend(["resolve".into(), id.to_string()]),
        CommentAction::Reopen(id) => all.extend(["reopen".into(), id.to_string()]),
        CommentAction::Drop(id) => all.extend(["drop".into(), id.to_string()]),
    }
    all
}

fn not_here() -> Finding {
    Finding::new(
        Code::BadRequest,
        "The page is served by a process of its own.",
        "Send --json for the values, or --html - for the page.",
    )
    .nothing_changed()
}

fn failed(error: &std::io::Error) -> Finding {
    Finding::new(
        Code::IoError,
        format!("The page cannot be served: {error}."),
        "`edt review --html review.html` writes the page to a file.",
    )
    .nothing_changed()
}
