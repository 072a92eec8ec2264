//! `edt apply` and `edt check`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::{note, render};
use crate::base::{Code, Finding, Result, Status};
use crate::edit::Mode;
use crate::edit::place::Matching;
use crate::io::disk::MAX_FILE;
use crate::io::whole;
use crate::proposal;
use crate::txn::patch::PatchText;
use crate::txn::request::{CONTEXT, Draft};
use crate::txn::wire::Match;
use crate::txn::{self, Request, Run};

/// The longest request or patch that is read, in bytes: one file of the largest size, and what JSON adds to it.
const MOST_REQUEST: u64 = 2 * MAX_FILE;

/// Apply edits as one transaction: all or none, one commit.
///
/// One edit is given by flags, several by a patch or a JSON request. Content comes from standard input if neither --content nor
/// --content-file is given.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Modes: create (a new file), edit (--old-text once), append, overwrite (an existing file), insert (--start-line), replace_lines and delete_lines (--start-line, --end-line, and --expected-text or --expected-hash), delete, rename (--to).\n\nExamples:\n  edt apply Makefile --mode append --content-file targets.mk\n  edt apply src/calc.c --mode edit --old-text 'return a;' --content 'return a + b;'\n  git diff -R HEAD~1 | edt apply --patch -\n  echo '{\"path\": \"a.txt\", \"mode\": \"create\", \"content\": \"hi\\n\"}' | edt apply --request -"
)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Everything but the writing.
    #[arg(long)]
    dry_run: bool,
}

/// Propose edits: judged as by `apply`, then kept for a person to approve or reject.
///
/// A newer proposal of the same session that changes all that an older one did closes it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt propose .github/workflows/ci.yml --mode overwrite --content-file ci.yml -m 'run the tests on arm64'\n  edt proposals\n  edt apply --proposal 7   # once a person has typed: edt approve 7"
)]
pub(super) struct ProposeArgs {
    #[command(flatten)]
    input: Input,
}

/// Check edits: everything `apply` does but the writing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt check --request edits.json --json")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    input: Input,
}

#[derive(Debug, clap::Args)]
struct Input {
    /// The file, relative to the worktree's root.
    #[arg(required_unless_present_any = ["request", "patch", "proposal"])]
    path: Option<OsString>,
    /// What to do.
    #[arg(long, value_enum, required_unless_present_any = ["request", "patch", "proposal"])]
    mode: Option<Mode>,
    /// The text to replace, exactly as it stands in the file.
    #[arg(long, value_name = "TEXT", conflicts_with = "old_text_file", allow_hyphen_values = true)]
    old_text: Option<OsString>,
    /// A file that holds the text to replace.
    #[arg(long, value_name = "FILE")]
    old_text_file: Option<PathBuf>,
    /// The new text.
    #[arg(long, value_name = "TEXT", conflicts_with = "content_file", allow_hyphen_values = true)]
    content: Option<OsString>,
    /// A file that holds the new text; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    content_file: Option<PathBuf>,
    /// Replace every place where the old text stands (mode edit).
    #[arg(long)]
    replace_all: bool,
    /// Set the mode bit (mode create).
    #[arg(long)]
    executable: bool,
    /// The new path (mode rename).
    #[arg(long, value_name = "PATH")]
    to: Option<OsString>,
    /// The first line, 1-based (modes insert, `replace_lines`, `delete_lines`).
    #[arg(long, value_name = "N")]
    start_line: Option<u64>,
    /// The last line, included (modes `replace_lines`, `delete_lines`).
    #[arg(long, value_name = "N")]
    end_line: Option<u64>,
    /// The lines that stand there: those of the range; for insert those that follow.
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "expected_text_file",
        allow_hyphen_values = true
    )]
    expected_text: Option<OsString>,
    /// A file that holds them.
    #[arg(long, value_name = "FILE")]
    expected_text_file: Option<PathBuf>,
    /// The blob id the file must have, as `edt read` gives it.
    #[arg(long, value_name = "OID")]
    expected_hash: Option<String>,
    /// A patch instead of flags: a unified diff, `*** Begin Patch`, SEARCH/REPLACE blocks, or fenced files; `-` is standard input. PATH
    /// is then the file that is meant where the patch names none.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mode", "request", "old_text", "old_text_file", "content", "content_file", "replace_all", "executable", "to", "start_line", "end_line", "expected_text", "expected_text_file"])]
    patch: Option<PathBuf>,
    /// How far the hunks of a patch may differ from the file.
    #[arg(long = "match", value_name = "HOW", value_enum, requires = "patch")]
    matching: Option<Match>,
    /// A JSON request instead of flags; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["path", "mode", "old_text", "old_text_file", "content", "content_file", "replace_all", "executable", "to", "start_line", "end_line", "expected_text", "expected_text_file", "expected_hash"])]
    request: Option<PathBuf>,
    /// Carry out the approved proposal of this number instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["path", "mode", "patch", "request", "allow", "message", "agent"])]
    proposal: Option<u64>,
    /// Why; becomes the commit's subject.
    #[arg(short, long)]
    message: Option<String>,
    /// An override, such as `size_reduction` (repeatable).
    #[arg(long, value_name = "CODE")]
    allow: Vec<String>,
    /// Who asks; becomes a trailer of the commit.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Lines of context around a change in the answer.
    #[arg(long, value_name = "N", default_value_t = CONTEXT)]
    context: usize,
}

impl clap::ValueEnum for Mode {
    fn value_variants<'a>() -> &'a [Mode] {
        Mode::ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        self.input.run(context, if self.dry_run { Run::Dry } else { Run::Real })
    }
}

impl ProposeArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        if let Some(id) = self.input.proposal {
            let message = format!("Proposal {id} is a proposal already. Nothing was changed.");
            return Err(Finding::new(
                Code::BadRequest,
                message,
                format!("`edt show {id}` shows it."),
            )
            .into());
        }
        propose(context, &self.input.request()?)
    }
}

impl CheckArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        self.input.run(context, Run::Dry)
    }
}

impl Input {
    fn run(&self, context: &Context, run: Run) -> Result<Status> {
        match self.proposal {
            Some(id) => carry_out(context, id, run),
            None => apply(context, self.request(), run),
        }
    }

    fn request(&self) -> Result<Request> {
        let mut request = match &self.request {
            Some(file) => {
                let mut request = Request::from_json(&bytes_of(file, MOST_REQUEST)?)?;
                request.message = self.message.clone().or(request.message);
                request.agent = self.agent.clone().or(request.agent);
                request.allow.extend(self.allow.iter().cloned());
                request
            }
            None if let Some(file) = &self.patch => {
                let path = self.path.as_ref().map(|path| path.as_bytes());
                let matching = self.matching.map_or(Matching::Strict, Match::matching);
                let patch = PatchText::new(
                    bytes_of(file, MOST_REQUEST)?,
                    path,
                    self.expected_hash.clone(),
                    matching,
                )?;
                Request::patch(self.message.clone(), self.agent.clone(), self.allow.clone(), patch)?
            }
            None => Request::of(
                self.message.clone(),
                self.agent.clone(),
                self.allow.clone(),
                vec![self.draft()?],
            )?,
        };
        request.context = self.context;
        Ok(request)
    }

    fn draft(&self) -> Result<Draft> {
        let text = |text: &Option<OsString>, file: &Option<PathBuf>| match (text, file) {
            (Some(text), _) => Ok(Some(text.as_bytes().to_vec())),
            (None, Some(file)) => bytes_of(file, MAX_FILE).map(Some),
            (None, None) => Ok(None),
        };
        let mode = self.mode.unwrap_or(Mode::Edit);
        let mut content = text(&self.content, &self.content_file)?;
        if content.is_none() && mode.keys().0.contains(&"content") {
            content = Some(bytes_of(Path::new("-"), MAX_FILE)?);
        }
        Ok(Draft {
            path: self.path.as_ref().map(|path| path.as_bytes().to_vec()).unwrap_or_default(),
            mode: Some(mode),
            old_text: text(&self.old_text, &self.old_text_file)?,
            content,
            replace_all: self.replace_all.then_some(true),
            executable: self.executable.then_some(true),
            to: self.to.as_ref().map(|to| to.as_bytes().to_vec()),
            start_line: self.start_line,
            end_line: self.end_line,
            expected_text: text(&self.expected_text, &self.expected_text_file)?,
            expected_hash: self.expected_hash.clone(),
        })
    }
}

/// Applies a request. One that could not be read counts as a failed one of the file that it names.
pub(super) fn apply(context: &Context, request: Result<Request>, run: Run) -> Result<Status> {
    let request = request.inspect_err(|found| {
        if run == Run::Real
            && found.any(|finding| finding.path.is_some())
            && let Ok(world) = context.world()
        {
            txn::refused(&world, found);
        }
    })?;
    let mut world = context.world()?;
    note::agent(request.agent.as_deref());
    let outcome = proposal::make::apply(&mut world, &request, run)?;
    Ok(context.outcome(&outcome, render::applied))
}

/// Carries out the approved proposal `id`.
pub(super) fn carry_out(context: &Context, id: u64, run: Run) -> Result<Status> {
    let outcome = proposal::apply(&mut context.world()?, id, run)?;
    Ok(context.outcome(&outcome, render::applied))
}

/// Proposes what a request asks for.
pub(super) fn propose(context: &Context, request: &Request) -> Result<Status> {
    let mut world = context.world()?;
    let outcome = proposal::make::propose(&mut world, request)?;
    Ok(context.outcome(&outcome, render::applied))
}

/// The bytes of a file, or of standard input, if they are not more than `most`: what is too much is not read to its end.
pub(super) fn bytes_of(file: &Path, most: u64) -> Result<Vec<u8>> {
    let read = if file == Path::new("-") {
        whole::at_most(std::io::stdin().lock(), most)
    } else {
        whole::read_at_most(file, most)
    };
    let bytes = read.map_err(|error| {
        let message = format!("Could not read {}: {error}.", file.display());
        Finding::new(
            Code::BadRequest,
            message,
            "Give a file that can be read, or `-` for standard input.",
        )
    })?;
    bytes.ok_or_else(|| {
        let name = if file == Path::new("-") {
            "Standard input".to_owned()
        } else {
            file.display().to_string()
        };
        let message = format!(
            "{name} has more than {most} bytes, which is more than edt takes. Nothing was changed."
        );
        Finding::new(
            Code::FileTooLarge,
            message,
            "Send less at once; a large file is changed outside edt and recorded with Git.",
        )
        .with("limit", most)
        .into()
    })
}
