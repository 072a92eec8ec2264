//! `edt comment`: what the user writes about a session, and the agent's answers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use clap::Subcommand;
use schemars::JsonSchema;
#[cfg(feature = "mcp")]
use serde::Deserialize;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, NAME, paint};
use edt_core::session::Session;
use edt_core::session::comments::shown;
use edt_core::session::comments::write::{self, CommentPlace, Writer};
use edt_core::session::comments::{Comment, CommentState, ReviewSummary, delivery, store};
use edt_core::session::refs::ended::ShownSession;
use edt_git::Repo;
use edt_io::clock;
use edt_types::text::counted;
use edt_types::{Code, Finding, Result, Status, Warning, WarningCode};

/// Comment on the session, its edits, files and lines. The agent reads what was sent in the next
/// answer of edt, and answers.
///
/// Only the user writes, sends, deletes and reopens comments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt comment add --edit 3 --path src/calc.c --lines 10-12 -m 'This overflows.'\n  edt comment send -m 'Nearly there.'\n  edt comment list\n  edt comment answer 1 -m 'It is checked in main now.'   # what the agent calls"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: CommentCommand,
}

#[derive(Debug, Subcommand)]
enum CommentCommand {
    /// Write a draft, which only you see until you send it.
    #[command(
        after_help = "Examples:\n  edt comment add --edit 3 --path src/calc.c --lines 10-12 -m 'This overflows.'\n  edt comment add --path src/calc.c --lines 4 -m 'Why here?'   # lines of the session's content\n  edt comment add -m 'Add tests.'                              # about the session as a whole"
    )]
    Add(AddArgs),
    /// Send all drafts as one review. The agent's next answer of edt has them.
    #[command(after_help = "Example:\n  edt comment send -m 'Nearly there.'")]
    Send {
        /// The summary of the review.
        #[arg(short, long, value_name = "TEXT")]
        message: Option<String>,
    },
    /// Answer a comment. What the user adds, the agent reads; it opens a resolved comment.
    #[command(after_help = "Example:\n  edt comment answer 1 -m 'It is checked in main now.'")]
    Answer {
        /// The comment's number.
        id: u64,
        /// The answer.
        #[arg(short, long, value_name = "TEXT")]
        message: String,
        /// The session, if it is not that of this worktree and has ended.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
    },
    /// Say that a comment is done.
    #[command(
        after_help = "Examples:\n  edt comment resolve 1\n  edt comment resolve 1 --session fix   # it has landed"
    )]
    Resolve {
        /// The comment's number.
        id: u64,
        /// The session, if it is not that of this worktree and has ended.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
    },
    /// Open a resolved comment again.
    #[command(after_help = "Example:\n  edt comment reopen 1")]
    Reopen {
        /// The comment's number.
        id: u64,
        /// The session, if it is not that of this worktree and has ended.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
    },
    /// Delete a draft.
    #[command(after_help = "Example:\n  edt comment drop 1")]
    Drop {
        /// The draft's number.
        id: u64,
        /// The session, if it is not that of this worktree and has ended.
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
    },
    /// List the comments that are open, and your drafts.
    #[command(after_help = "Example:\n  edt comment list --all --json")]
    List(ListArgs),
}

/// What a new comment is about.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The edit; the session as a whole if omitted.
    #[arg(long, value_name = "N")]
    edit: Option<u64>,
    /// A file that the edit, or the session, changes.
    #[arg(long)]
    path: Option<OsString>,
    /// Lines of the file, such as 4 or 10-12.
    #[arg(long, value_name = "A-B", requires = "path", value_parser = lines)]
    lines: Option<(u64, u64)>,
    /// The lines are those before the change.
    #[arg(long, requires = "lines")]
    before: bool,
    /// The comment.
    #[arg(short, long, value_name = "TEXT")]
    message: String,
}

/// Which comments to list.
#[derive(Debug, Default, clap::Args)]
struct ListArgs {
    /// Also those that are resolved.
    #[arg(long)]
    all: bool,
    /// Those of another session, also of one that has ended.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

/// The arguments of the tool that are listed, with their descriptions.
#[cfg(feature = "mcp")]
pub(super) const TOOL_ARGUMENTS: &[(&str, &str)] = &[
    ("action", "list, answer, or resolve: it is done."),
    ("id", "The comment's number."),
    ("message", "The answer."),
    ("all", "list: also resolved ones."),
];

/// The arguments of the tool.
#[cfg(feature = "mcp")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolArgs {
    #[serde(default)]
    action: ToolAction,
    id: Option<u64>,
    message: Option<String>,
    #[serde(default)]
    all: bool,
}

/// What an agent does with comments.
#[cfg(feature = "mcp")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ToolAction {
    #[default]
    List,
    Answer,
    Resolve,
}

/// The answer of `edt comment`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.comments/1`.
    schema: &'static str,
    /// The session's name, without `edt/`.
    session: String,
    /// The comments that this call changed, or that it lists, ordered by number.
    comments: Vec<Comment>,
    /// The summaries of the reviews that were sent, oldest first.
    review_summaries: Vec<ReviewSummary>,
    /// How many comments of the session are open.
    open: u64,
    /// How many further ones the list has, which do not fit this answer.
    left_out: u64,
}

/// `4` or `10-12`.
fn lines(text: &str) -> std::result::Result<(u64, u64), String> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
    range.ok_or_else(|| "lines are counted from 1, such as 4 or 10-12".to_owned())
}

impl Args {
    /// Whether only the user may call it.
    pub(super) const fn is_users(&self) -> bool {
        use CommentCommand::{Add, Drop, Reopen, Send};
        matches!(self.command, Add(_) | Send { .. } | Reopen { .. } | Drop { .. })
    }

    /// Whether it changes comments.
    pub(super) const fn changes(&self) -> bool {
        !matches!(self.command, CommentCommand::List(_))
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        match &self.command {
            CommentCommand::List(args) => list(context, args),
            CommentCommand::Add(args) => {
                let AddArgs { edit, path, lines, before, message } = args;
                let path = path.as_ref().map(|path| context.path(path.as_bytes())).transpose()?;
                let (path, lines) = (path.map(|path| path.text()), *lines);
                let place = CommentPlace { edit: *edit, path, lines, before: *before };
                change(context, open_session, |repo, session| {
                    write::add(repo, session, &place, message, clock::seconds()).map(|id| vec![id])
                })
            }
            CommentCommand::Send { message } => change(context, open_session, |repo, session| {
                write::send(repo, &session.name, message.as_deref(), clock::seconds())
            }),
            CommentCommand::Answer { id, message, session } => {
                answer(context, session.as_deref(), *id, message)
            }
            CommentCommand::Resolve { id, session } => resolve(context, session.as_deref(), *id),
            CommentCommand::Reopen { id, session } => change(
                context,
                |repo| commented(repo, session.as_deref()),
                |repo, session| write::reopen(repo, &session.name, *id).map(|()| vec![*id]),
            ),
            CommentCommand::Drop { id, session } => change(
                context,
                |repo| commented(repo, session.as_deref()),
                |repo, session| write::delete(repo, &session.name, *id).map(|()| vec![]),
            ),
        }
    }
}

#[cfg(feature = "mcp")]
impl ToolArgs {
    pub(super) fn run(self, context: &Context) -> Result<Status> {
        let missing = |what: &str| {
            let summary = format!("This action needs `{what}`.");
            Finding::new(Code::BadRequest, summary, "Send it with the call.").nothing_changed()
        };
        let id = || self.id.ok_or_else(|| missing("id"));
        match self.action {
            ToolAction::List => list(context, &ListArgs { all: self.all, ..ListArgs::default() }),
            ToolAction::Answer => {
                let message = self.message.as_deref().ok_or_else(|| missing("message"))?;
                answer(context, None, id()?, message)
            }
            ToolAction::Resolve => resolve(context, None, id()?),
        }
    }
}

fn answer(context: &Context, session: Option<&str>, id: u64, message: &str) -> Result<Status> {
    let writer = if context.is_for_agent() {
        Writer::Agent(context.agent().unwrap_or(UNNAMED).to_owned())
    } else {
        Writer::User
    };
    change(
        context,
        |repo| commented(repo, session),
        |repo, session| {
            let text = (&writer, message);
            write::answer(repo, &session.name, id, text, clock::seconds()).map(|()| vec![id])
        },
    )
}

/// The name of an agent whose program says none.
const UNNAMED: &str = "unnamed agent";

fn resolve(context: &Context, session: Option<&str>, id: u64) -> Result<Status> {
    change(
        context,
        |repo| commented(repo, session),
        |repo, session| write::resolve(repo, &session.name, id).map(|()| vec![id]),
    )
}

/// The worktree's session, which must be open.
fn open_session(repo: &Repo) -> Result<Session> {
    Session::required(repo, &repo.head()?)
}

/// The session of that name, which must be that of the worktree or have ended: another worktree's is
/// not answered from here. Without a name the worktree's, or the one whose landing HEAD is at.
fn commented(repo: &Repo, name: Option<&str>) -> Result<Session> {
    let here = ShownSession::here(repo, &repo.head()?)?.map(|shown| shown.session);
    let Some(name) = name else { return here.map_or_else(|| open_session(repo), Ok) };
    let named = ShownSession::named(repo, name)?.ok_or_else(|| ShownSession::unknown(name))?;
    let is_here = here.is_some_and(|here| here.name == named.session.name);
    let is_open = named.landing.is_none() && Session::named(repo, &named.session.name)?.is_some();
    if is_here || !is_open {
        return Ok(named.session);
    }
    let name = named.session.name;
    Err(Finding::new(
        Code::BadRequest,
        format!("The session {name} is open, and it is not that of this worktree."),
        format!("Call it in the worktree of {name}; `edt status` lists it."),
    )
    .nothing_changed()
    .into())
}

/// Makes a change of comments, and answers with those that it returns.
fn change(
    context: &Context,
    find: impl FnOnce(&Repo) -> Result<Session>,
    act: impl FnOnce(&Repo, &Session) -> Result<Vec<u64>>,
) -> Result<Status> {
    let workspace = context.quiet_workspace()?;
    let repo = &workspace.repo;
    let session = find(repo)?;
    let changed = act(repo, &session)?;
    let mut answer = read(context, repo, &session)?;
    answer.comments.retain(|one| changed.contains(&one.id));
    let reviews: Vec<u64> = answer.comments.iter().filter_map(|one| one.review).collect();
    answer.review_summaries.retain(|one| reviews.contains(&one.review));
    Ok(context.answer(&answer, render))
}

fn list(context: &Context, args: &ListArgs) -> Result<Status> {
    let (repo, _) = context.repo()?;
    let session = match &args.session {
        Some(name) => {
            ShownSession::named(&repo, name)?.ok_or_else(|| ShownSession::unknown(name))?
        }
        None => ShownSession::required(&repo, &repo.head()?)?,
    };
    let stored = store::read(&repo, &session.session.name)?.map(|(_, all)| all.comments);
    let mut all = read(context, &repo, &session.session)?;
    all.comments.retain(|one| args.all || one.state != CommentState::Resolved);
    let (comments, mut listed) = (std::mem::take(&mut all.comments), 0);
    let total = comments.len();
    let build = |most: u64| {
        listed = usize::try_from(most).unwrap_or(usize::MAX).min(total);
        let summaries = all.review_summaries.clone();
        Ok(Answer {
            comments: comments[..listed].to_vec(),
            review_summaries: summaries,
            left_out: (total - listed) as u64,
            session: all.session.clone(),
            ..all
        })
    };
    let status = context.answer_part(total as u64, build, render)?;
    let shown = &comments[..listed];
    // What the user reads is not noted.
    let is_listed = |id: u64| shown.iter().any(|one| one.id == id);
    let unread = stored.iter().flatten().filter(|one| one.is_unread() && is_listed(one.id));
    let given = unread.map(|one| (one.id, one.said)).collect();
    context.delivered(&delivery::Delivery::of_listed(&all.session, given));
    Ok(status)
}

/// All comments that the caller may see.
fn read(context: &Context, repo: &Repo, session: &Session) -> Result<Answer> {
    let (comments, review_summaries) = shown::comments(repo, session, context.comment_reader())?;
    let open = comments.iter().filter(|one| one.state == CommentState::Open).count() as u64;
    Ok(Answer {
        schema: "edt.comments/1",
        session: session.name.clone(),
        comments,
        review_summaries,
        open,
        left_out: 0,
    })
}

fn render(answer: &Answer) -> String {
    let mut out = String::new();
    for one in &answer.review_summaries {
        out += &format!("  {}", one.text_form());
    }
    answer.comments.iter().for_each(|one| out += &one.text_form());
    if answer.left_out > 0 {
        out += &format!("  … and {} more\n", answer.left_out);
    }
    let open = format!("{} open", counted(answer.open, "comment"));
    out + &format!("{} {}\n", paint(NAME, &answer.session), paint(DIM, &open))
}

/// The warning of a landing that leaves comments open.
pub(super) fn left_open(repo: &Repo, session: &str) -> Option<Warning> {
    let (_, all) = store::read(repo, session).ok()??;
    let open = all.comments.iter().filter(|one| one.state == CommentState::Open).count() as u64;
    (open > 0).then(|| Warning {
        code: WarningCode::OpenComments,
        path: None,
        message: format!(
            "{} of the user on what landed {} open: `edt comment list --session {session}` lists \
             {}.",
            counted(open, "comment"),
            if open == 1 { "is" } else { "are" },
            if open == 1 { "it" } else { "them" },
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_one_or_a_range() {
        assert_eq!((lines("4"), lines("10-12")), (Ok((4, 4)), Ok((10, 12))));
        for text in ["", "0", "2-1", "a", "1-", "-1", "1-2-3"] {
            assert!(lines(text).is_err(), "{text}");
        }
    }
}
