//! `edt apply` and `edt check`.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::edit_name::ProposalName;
use super::terminal_user::{is_stdin, require_readable};
use super::value::one_of;
use super::{applied_diff, gc, render};
use edt_core::proposal;
use edt_core::refusals::{self, Attempt};
use edt_core::txn::edit_fields::EditFields;
use edt_core::txn::other_words::Surroundings;
use edt_core::txn::patch_text::PatchText;
use edt_core::txn::request::CONTEXT;
use edt_core::txn::tried::Shown;
use edt_core::txn::wire::Match;
use edt_core::txn::{self, Request, tried};
use edt_edit::Mode;
use edt_edit::place::Matching;
use edt_io::disk::MAX_FILE;
use edt_io::fs;
use edt_types::text::Shown as _;
use edt_types::{Code, DryRun, Finding, Refusal, RepoPath, Result, Status};

/// The largest request or patch that is read, in bytes: one file of the largest size, and the
/// overhead of JSON.
const MAX_REQUEST: u64 = 2 * MAX_FILE;

/// The flags of one edit that neither a patch nor a JSON request takes.
const ONE_EDIT: [&str; 15] = [
    "mode",
    "old_text",
    "old_text_file",
    "content",
    "content_file",
    "replace_all",
    "executable",
    "to",
    "symbol",
    "start_line",
    "end_line",
    "start_anchor",
    "end_anchor",
    "expected_text",
    "expected_text_file",
];

/// Apply edits as one transaction: all or none, recorded as one commit.
///
/// Flags give one edit; a patch or a JSON request gives several. Content is read from standard
/// input if neither --content nor --content-file is given.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Modes: create (a new file), edit (--old-text once), append, overwrite (an existing file), insert (--start-line), replace_lines and delete_lines (--start-line, --end-line, and --expected-text or --expected-hash), delete, rename (--to).\n\nExamples:\n  edt apply Makefile --mode append --content-file targets.mk\n  edt apply src/calc.c --mode edit --old-text 'return a;' --content 'return a + b;'\n  git diff -R HEAD~1 | edt apply --patch -\n  echo '{\"path\": \"a.txt\", \"mode\": \"create\", \"content\": \"hi\\n\"}' | edt apply --request -"
)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Do everything except writing.
    #[arg(long)]
    dry_run: bool,
}

/// Propose edits: the guards judge them as in `apply`, then they wait for the user to approve or
/// reject them.
///
/// A new proposal supersedes an older one of the same session if it changes all of the older one's
/// paths.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt propose .github/workflows/ci.yml --mode overwrite --content-file ci.yml -m 'run the tests on arm64'\n  edt proposals\n  edt apply --proposal p7   # after the user has typed: edt approve p7"
)]
pub(super) struct ProposeArgs {
    #[command(flatten)]
    input: Input,
}

/// Check edits: do everything that `apply` does, except writing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt check --request edits.json --json")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    input: Input,
}

#[derive(Debug, clap::Args)]
struct Input {
    /// The file, from the current directory; `:/PATH` counts from the worktree's root.
    #[arg(required_unless_present_any = ["request", "patch", "proposal"])]
    path: Option<OsString>,
    /// The kind of edit.
    #[arg(long, value_parser = one_of(Mode::ALL.iter().map(|mode| (mode.name(), *mode))), required_unless_present_any = ["request", "patch", "proposal"])]
    mode: Option<Mode>,
    /// The text to replace, exactly as in the file.
    #[arg(long, value_name = "TEXT", conflicts_with = "old_text_file", allow_hyphen_values = true)]
    old_text: Option<OsString>,
    /// A file with the text to replace.
    #[arg(long, value_name = "FILE")]
    old_text_file: Option<PathBuf>,
    /// The new text.
    #[arg(long, value_name = "TEXT", conflicts_with = "content_file", allow_hyphen_values = true)]
    content: Option<OsString>,
    /// A file with the new text; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    content_file: Option<PathBuf>,
    /// Replace every occurrence of the old text (mode edit).
    #[arg(long)]
    replace_all: bool,
    /// Make the file executable (mode create).
    #[arg(long)]
    executable: bool,
    /// The new path (mode rename), or the new name (mode `rename_symbol`).
    #[arg(long, value_name = "PATH")]
    to: Option<OsString>,
    /// The definition, as `edt outline` names it (modes with symbol).
    #[arg(long, value_name = "NAME")]
    symbol: Option<String>,
    /// The first line, 1-based (modes insert, `replace_lines`, `delete_lines`); with --symbol a line
    /// of the definition, if several have the name.
    #[arg(long, value_name = "N")]
    start_line: Option<u64>,
    /// The last line, included (modes `replace_lines`, `delete_lines`).
    #[arg(long, value_name = "N")]
    end_line: Option<u64>,
    /// Instead of --start-line: the anchor of the first line, as `edt read --anchors` prints it.
    #[arg(long, value_name = "ANCHOR")]
    start_anchor: Option<String>,
    /// Instead of --end-line: the anchor of the last line; the first one if omitted.
    #[arg(long, value_name = "ANCHOR")]
    end_anchor: Option<String>,
    /// The present text of the lines in the range; for insert, of the lines that follow.
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "expected_text_file",
        allow_hyphen_values = true
    )]
    expected_text: Option<OsString>,
    /// A file with the expected text.
    #[arg(long, value_name = "FILE")]
    expected_text_file: Option<PathBuf>,
    /// The blob id that the file must have, as `edt read` prints it.
    #[arg(long, value_name = "OID")]
    expected_hash: Option<String>,
    /// A patch instead of flags: a unified diff, `*** Begin Patch`, SEARCH/REPLACE blocks, or
    /// fenced files; `-` is standard input. PATH names the file where the patch names none.
    #[arg(long, value_name = "FILE", conflicts_with = "request", conflicts_with_all = ONE_EDIT)]
    patch: Option<PathBuf>,
    /// How far the hunks of a patch, or the old text, may differ from the file.
    #[arg(long = "match", value_name = "HOW", value_parser = one_of(Match::ALL), conflicts_with = "request")]
    matching: Option<Match>,
    /// A JSON request instead of flags; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "expected_hash"], conflicts_with_all = ONE_EDIT)]
    request: Option<PathBuf>,
    /// Apply this approved proposal instead.
    #[arg(long, value_name = "PROPOSAL", conflicts_with_all = ["path", "mode", "patch", "request", "matching", "allow", "message", "agent"])]
    proposal: Option<ProposalName>,
    /// The reason; becomes the commit's subject.
    #[arg(short, long)]
    message: Option<String>,
    /// An override, such as `size_reduction` (repeatable).
    #[arg(long, value_name = "CODE")]
    allow: Vec<String>,
    /// The agent's name; becomes a trailer of the commit.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Lines of context around a change in the answer.
    #[arg(long, value_name = "N", default_value_t = CONTEXT)]
    context: usize,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        self.input.run(context, if self.dry_run { DryRun::Yes } else { DryRun::No })
    }
}

impl ProposeArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if let Some(ProposalName(id)) = self.input.proposal {
            let message = format!("p{id} is already a proposal.");
            return Err(Finding::new(
                Code::BadRequest,
                message,
                format!("`edt show p{id}` shows it."),
            )
            .nothing_changed()
            .into());
        }
        require_readable(&context.start, self.input.files())?;
        let mut tried = Shown::default();
        let request = self.input.request(context, &mut tried);
        propose(context, request, || tried)
    }
}

impl CheckArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        self.input.run(context, DryRun::Yes)
    }
}

impl Input {
    /// The files from which the request is read.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let texts = [&self.old_text_file, &self.content_file, &self.expected_text_file];
        texts.into_iter().chain([&self.patch, &self.request]).flatten().map(PathBuf::as_path)
    }

    fn run(&self, context: &Context, dry_run: DryRun) -> Result<Status> {
        require_readable(&context.start, self.files())?;
        if let Some(ProposalName(id)) = self.proposal {
            return apply_proposal(context, id, dry_run);
        }
        let mut tried = Shown::default();
        let request = self.request(context, &mut tried);
        apply(context, request, || tried, dry_run)
    }

    /// The request. `tried` gets what one that cannot be read shows.
    fn request(&self, context: &Context, tried: &mut Shown) -> Result<Request> {
        let mut request = match &self.request {
            Some(file) => {
                let bytes = bytes_of(file, MAX_REQUEST)?;
                let request = request_of(context, &bytes);
                let mut request = request.inspect_err(|_| *tried = tried::of_json(&bytes))?;
                request.message = self.message.clone().or(request.message);
                request.agent = self.agent.clone().or(request.agent);
                request.allow.extend(self.allow.iter().cloned());
                request
            }
            None if let Some(file) = &self.patch => {
                let path = self.path.as_ref().map(|path| context.path(path.as_bytes()));
                let path = path.transpose()?;
                let path = path.as_ref().map(RepoPath::as_bytes);
                let matching = self.matching.map_or(Matching::Strict, Match::matching);
                let patch = PatchText::new(
                    bytes_of(file, MAX_REQUEST)?,
                    path,
                    self.expected_hash.clone(),
                    matching,
                )?;
                Request::patch(self.message.clone(), self.agent.clone(), self.allow.clone(), patch)?
            }
            None => {
                let fields = self.edit_fields(context)?;
                *tried =
                    Shown { agent: self.agent.clone(), edits: vec![tried::of_fields(&fields)] };
                let request = Request::of(
                    self.message.clone(),
                    self.agent.clone(),
                    self.allow.clone(),
                    vec![fields],
                )?;
                match self.matching {
                    Some(matching) => request.matching(matching.matching())?,
                    None => request,
                }
            }
        };
        request.context = self.context;
        Ok(request)
    }

    fn edit_fields(&self, context: &Context) -> Result<EditFields> {
        let text = |text: &Option<OsString>, file: &Option<PathBuf>| match (text, file) {
            (Some(text), _) => Ok(Some(text.as_bytes().to_vec())),
            (None, Some(file)) => bytes_of(file, MAX_FILE).map(Some),
            (None, None) => Ok(None),
        };
        let path = |path: &OsString| -> Result<Vec<u8>> {
            Ok(context.path(path.as_bytes())?.as_bytes().to_vec())
        };
        let mode = self.mode.unwrap_or(Mode::Edit);
        let to = match &self.to {
            Some(to) if mode == Mode::Rename => Some(path(to)?),
            to => to.as_ref().map(|to| to.as_bytes().to_vec()),
        };
        let mut content = text(&self.content, &self.content_file)?;
        if content.is_none() && mode.keys().0.contains(&"content") {
            content = Some(bytes_of(Path::new("-"), MAX_FILE)?);
        }
        Ok(EditFields {
            path: self.path.as_ref().map_or(Ok(Vec::new()), path)?,
            mode: Some(mode),
            old_text: text(&self.old_text, &self.old_text_file)?,
            content,
            replace_all: self.replace_all.then_some(true),
            executable: self.executable.then_some(true),
            to,
            symbol: self.symbol.clone(),
            start_line: self.start_line,
            end_line: self.end_line,
            start_anchor: self.start_anchor.clone(),
            end_anchor: self.end_anchor.clone(),
            expected_text: text(&self.expected_text, &self.expected_text_file)?,
            expected_hash: self.expected_hash.clone(),
        })
    }
}

/// The request of `bytes`, which are JSON.
///
/// # Errors
/// As [`Request::from_json`].
pub(super) fn request_of(context: &Context, bytes: &[u8]) -> Result<Request> {
    Request::from_json_in(bytes, &Worktree { context, roots: OnceCell::new() })
}

/// The worktree that a request is about. It is opened only if the request is in other words.
struct Worktree<'c> {
    context: &'c Context,
    /// Its root as it was given, and without symbolic links.
    roots: OnceCell<Vec<PathBuf>>,
}

impl Worktree<'_> {
    fn roots(&self) -> &[PathBuf] {
        self.roots.get_or_init(|| {
            let Ok((repo, _)) = self.context.repo() else { return Vec::new() };
            let given = repo.root_path().to_owned();
            [Some(given), repo.real_root().ok()].into_iter().flatten().collect()
        })
    }
}

impl Surroundings for Worktree<'_> {
    fn exists(&self, path: &str) -> bool {
        self.roots().first().is_some_and(|root| root.join(path).symlink_metadata().is_ok())
    }

    fn inside(&self, absolute: &str) -> Option<String> {
        let mut below =
            self.roots().iter().filter_map(|root| Path::new(absolute).strip_prefix(root).ok());
        below.next()?.to_str().map(str::to_owned)
    }
}

/// Applies a request. A malformed request counts as a failed attempt; `tried` is what it shows.
pub(super) fn apply(
    context: &Context,
    request: Result<Request>,
    tried: impl FnOnce() -> Shown,
    dry_run: DryRun,
) -> Result<Status> {
    if dry_run == DryRun::Yes {
        context.asks_only();
    }
    let request = request.map_err(|found| match dry_run {
        DryRun::No => unread(context, txn::APPLY, tried(), found),
        DryRun::Yes => found,
    })?;
    context.name_agent(request.agent.as_deref());
    let mut workspace = context.workspace()?;
    let outcome = proposal::propose::apply_or_propose(&mut workspace, &request, dry_run)?;
    let status = context.outcome(&outcome, |outcome| {
        render::applied(outcome) + &applied_diff::of(&workspace.repo, outcome)
    });
    if outcome.edit.is_some_and(|number| number.is_multiple_of(EDITS_BETWEEN_PACKS)) {
        gc::pack_in_background(&workspace.repo);
    }
    Ok(status)
}

/// Counts and records a request that was refused with `found` before it was tried. It waits for no
/// other process.
fn unread(context: &Context, call: &str, shown: Shown, found: Refusal) -> Refusal {
    let Shown { agent, edits } = shown;
    let attempt = Attempt { call, agent: agent.as_deref(), edits, ..Attempt::default() };
    let Some(workspace) = context.workspace_at_once() else {
        context.record_attempt(attempt, &found);
        return found.recorded();
    };
    if call == txn::APPLY {
        txn::refused(&workspace, &found);
    }
    refusals::refused(&workspace, attempt, found)
}

/// After how many edits of a session the loose objects are counted.
const EDITS_BETWEEN_PACKS: u64 = 128;

/// Applies the approved proposal `id`.
pub(super) fn apply_proposal(context: &Context, id: u64, dry_run: DryRun) -> Result<Status> {
    if dry_run == DryRun::Yes {
        context.asks_only();
    }
    let outcome = proposal::apply(&mut context.workspace()?, id, dry_run)?;
    Ok(context.outcome(&outcome, render::applied))
}

/// Makes a proposal of a request; `tried` is what one that cannot be read shows.
pub(super) fn propose(
    context: &Context,
    request: Result<Request>,
    tried: impl FnOnce() -> Shown,
) -> Result<Status> {
    const PROPOSE: &str = "propose";
    let request = request.map_err(|found| unread(context, PROPOSE, tried(), found))?;
    context.name_agent(request.agent.as_deref());
    let mut workspace = context.workspace()?;
    let done = proposal::propose::propose(&mut workspace, &request);
    let outcome =
        done.map_err(|found| refusals::refused(&workspace, Attempt::of(PROPOSE, &request), found))?;
    Ok(context.outcome(&outcome, render::applied))
}

/// The bytes of a file, or of standard input for `-`. At most `most` bytes are read; more are
/// refused.
pub(super) fn bytes_of(file: &Path, most: u64) -> Result<Vec<u8>> {
    let read = if is_stdin(file) {
        edt_io::streams::read_stdin(most)
    } else {
        fs::read_file_limited(file, most)
    };
    let bytes = read.map_err(|error| {
        let message = format!("Could not read {}: {error}.", file.shown());
        Finding::new(Code::BadRequest, message, "Name a readable file, or `-` for standard input.")
    })?;
    bytes.ok_or_else(|| {
        let name = if is_stdin(file) { "Standard input".to_owned() } else { file.shown() };
        let message = format!("{name} has more than {most} bytes, which is edt's limit.");
        Finding::new(
            Code::FileTooLarge,
            message,
            "Send less; change a large file outside edt and record it with Git.",
        )
        .nothing_changed()
        .with("limit", most)
        .into()
    })
}
