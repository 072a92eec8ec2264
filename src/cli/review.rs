//! `edt review`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::context::Context;
use super::render::{GOOD, paint};
use super::review_server;
use edt_agents::hook::who::Who;
use edt_core::session::comments::shown::{self, CommentReader};
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::turns::SessionTurn;
use edt_git::Repo;
use edt_io::fs;
use edt_review::contents::Blobs;
use edt_review::marks::Marks;
use edt_review::{Extent, Reader, SessionReview, page};
use edt_types::text::{Shown as _, counted};
use edt_types::{Code, Finding, Result, Status};

/// Review a session in a browser: what the agent did for each prompt, edit by edit.
///
/// edt serves the page on this host until Ctrl-C, or until the page was closed for a minute. Its
/// buttons are commands of edt. With --json, the answer has the same as values.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt review                               # prints a link that works once\n  edt review --tui                         # in this terminal\n  edt review --open                        # and opens it\n  edt review --html review.html            # a file for a pull request\n  edt review fix-parser --html review.html # a session that has ended, too\n  edt review --json"
)]
pub(super) struct Args {
    /// The session, also one that has ended; if omitted, that of the worktree, or else the one whose
    /// landing HEAD is at.
    session: Option<String>,
    /// Write the page to this file, which needs no server and no network. `-` is standard output.
    #[arg(long, value_name = "FILE")]
    html: Option<OsString>,
    /// Show it in this terminal instead; `?` lists the keys.
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with = "html")]
    tui: bool,
    /// Open the page in your browser: `$BROWSER`, or what the system uses.
    #[arg(long, conflicts_with = "html")]
    open: bool,
}

impl Args {
    /// Whether it writes a file at a path that the caller names.
    pub(super) fn writes(&self) -> bool {
        self.html.as_ref().is_some_and(|file| file.as_bytes() != b"-")
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let shown = match &self.session {
            Some(name) => {
                ShownSession::named(&repo, name)?.ok_or_else(|| ShownSession::unknown(name))?
            }
            None => ShownSession::required(&repo, &repo.head()?)?,
        };
        #[cfg(feature = "tui")]
        if self.tui {
            return super::review_tui::run(context, &shown.session);
        }
        if self.html.is_none() && !context.json {
            return review_server::run(context, &shown.session, self.open);
        }
        // As for `edt log --by-turn`: only the user and the turn's own agent get a prompt.
        let is_user = context.who() == Who::User;
        let may_read =
            |turn: &SessionTurn| is_user || context.agent().is_some_and(|agent| turn.is_of(agent));
        let mut review = Reader::default().read(&repo, &shown, Extent::Whole, may_read)?;
        Marks::of(&repo, &shown.session.name).apply(&mut review);
        // A file is for others, too: it has no draft.
        let reader = match &self.html {
            Some(_) => CommentReader::Agent,
            None => context.comment_reader(),
        };
        (review.comments, review.review_summaries) =
            shown::comments(&repo, &shown.session, reader)?;
        match &self.html {
            Some(file) => write(context, &repo, &review, file),
            None => Ok(context.answer(&review, |_| String::new())),
        }
    }
}

fn write(
    context: &Context,
    repo: &Repo,
    review: &SessionReview,
    file: &OsString,
) -> Result<Status> {
    let html = page::file(review, &Blobs(repo));
    if file.as_bytes() == b"-" {
        context.print(&html);
        return Ok(Status::Applied);
    }
    let place = context.start.join(Path::new(file));
    fs::write_atomic_unique(&place, html.as_bytes(), 0o644).map_err(|error| {
        Finding::new(
            Code::IoError,
            format!("The page could not be written to {}: {error}.", place.shown()),
            "Name a file in a directory that exists and that you may write to.",
        )
        .nothing_changed()
    })?;
    if context.json {
        return Ok(context.answer(review, |_| String::new()));
    }
    let size = counted(html.len() as u64, "byte");
    context.print(&format!("{} {} ({size})", paint(GOOD, "written"), file.shown()));
    Ok(Status::Applied)
}
