//! `edt log`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::complete;
use super::context::Context;
use super::log_refusals::{self, RefusedLine};
use super::render::{DIM, NAME, NOTE, paint, short};
use super::status::refused_lines;
use super::{log_files, log_graph, log_turns};
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::refs::landed::Landing;
use edt_core::session::refs::revision;
use edt_core::session::views::file_diff::FileDiff;
use edt_core::session::views::log::FileRevision;
use edt_core::session::views::refused::{self, BackupDirectory, RefusedRun};
use edt_core::txn::refused_edits::{self, RefusedEdit};
use edt_git::{Oid, Repo, Tracked};
use edt_io::{Environment, clock};
use edt_types::text::{counted, escape_controls};
use edt_types::{FileChangeKind, RepoPath, Result, SessionReport, Status};

/// List the session's edits, newest first, with the overrides they needed; or the revisions of one
/// file, across its renames.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Examples:\n  edt log -n 5\n  edt log --stat       # with the files of each edit\n  edt log 3..7 -p      # edits 4 to 7 with their diffs\n  edt log src/calc.c   # the revisions of this file in the session\n  edt log --by-turn    # the edits of each prompt\n  edt log --graph      # also the edits that were undone"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct Args {
    /// A file: list its revisions. Or A..B: list what is between two edits or revisions of Git. Or
    /// the name of a session, also of one that has ended.
    #[serde(default, deserialize_with = "edt_types::text::optional_os_string")]
    #[schemars(with = "Option<String>")]
    path: Option<OsString>,
    /// The maximum number of commits.
    #[arg(short = 'n', long, value_name = "N")]
    number: Option<usize>,
    /// The session, also one that has ended; if omitted, that of the worktree, or else the one whose
    /// landing HEAD is at.
    #[arg(long, value_name = "NAME", add = complete::sessions())]
    session: Option<String>,
    /// Group the edits by the user's prompts that they were made for.
    #[arg(long, conflicts_with = "path")]
    #[serde(default)]
    by_turn: bool,
    /// List the files that each commit changed, with the numbers of changed lines.
    #[arg(long, conflicts_with = "by_turn")]
    #[serde(skip)]
    stat: bool,
    /// Print the diff of each commit.
    #[arg(short, long, conflicts_with = "by_turn")]
    #[serde(skip)]
    patch: bool,
    /// Print the number, the id and the subject of each commit alone.
    #[arg(long, conflicts_with_all = ["by_turn", "stat", "patch"])]
    #[serde(skip)]
    oneline: bool,
    /// Draw the commits as a graph, with the undone edits where they were.
    #[arg(long, conflicts_with = "by_turn")]
    #[serde(default)]
    graph: bool,
}

/// The answer of `edt log`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.log/1`.
    schema: &'static str,
    /// The session.
    pub(super) session: SessionReport,
    /// Its commits, newest first; with a path, those that changed the file.
    pub(super) commits: Vec<Line>,
    /// Its undone edits that are kept, oldest first, with `--graph`; else empty.
    pub(super) undone: Vec<Line>,
    /// The turns of these commits' edits, newest first, with `--by-turn`; else empty.
    turns: Vec<log_turns::PromptEdits>,
    /// Whether `--number` cut the list.
    pub(super) truncated: bool,
    /// Its landing, if it has no commit since; else null.
    pub(super) landed: Option<Landed>,
    /// Its refused calls in the record, newest first: of a cut list those since its last commit.
    refusals: Vec<RefusedLine>,
    /// Its refused edits that are kept in this worktree, oldest first.
    refused_edits: Vec<RefusedEdit>,
    /// Its runs that were refused and rolled back, oldest first.
    refused_runs: Vec<RefusedRun>,
    /// Copies of files as they were before a program that was interrupted in this worktree.
    backups: Vec<BackupDirectory>,
}

/// The landing of a session that has ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Landed {
    /// The branch that it landed on.
    onto: String,
    /// The commit that it landed as, as a hex object id.
    commit: String,
    /// Whether that branch still has the commit.
    contained: bool,
    /// What to do, as a sentence.
    next: String,
}

impl Landed {
    pub(super) fn of(repo: &Repo, landing: &Landing) -> Result<Landed> {
        let (name, lost) = (&landing.session, landing.is_lost(repo)?);
        let next = if lost {
            lands_again(landing)
        } else {
            format!("`edt land --undo --session {name}` takes the landing back.")
        };
        Ok(Landed {
            onto: landing.short_branch().to_owned(),
            commit: landing.commit.to_string(),
            contained: !lost,
            next,
        })
    }

    pub(super) fn render_human(&self) -> String {
        let (onto, commit) = (&self.onto, short(&self.commit));
        let text = if self.contained {
            format!("landed on {onto} as {commit}. {}", self.next)
        } else {
            format!("its landing {commit} is no longer in {onto}. {}", self.next)
        };
        format!("{}\n", paint(NOTE, &escape_controls(&text).0))
    }
}

/// What to do about a landing that the user took out of its branch.
pub(super) fn lands_again(landing: &Landing) -> String {
    let (name, kept) = (&landing.session, landing.kept());
    format!(
        "`edt switch {name}` and `edt land` land it again; `git log {kept}` shows what had landed."
    )
}

/// One commit of the session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Line {
    /// Its id, as hex.
    pub(super) commit: String,
    /// Its first parent.
    pub(super) parent: Option<String>,
    /// Its kind, such as `edit`, `run`, `restore`, `user-changes` or `checkpoint`; null for the
    /// user's own commit.
    pub(super) kind: Option<&'static str>,
    /// The edit's number; that of the newest one if it has several.
    pub(super) edit: Option<u64>,
    /// The numbers of all edits that it has, the oldest first: several if the user squashed them.
    pub(super) edits: Vec<u64>,
    /// Whether it has something else besides its edits, which is the user's.
    pub(super) amended: bool,
    /// Whether its content is the user's: a commit that the user made, or one that records their
    /// uncommitted changes.
    pub(super) by_user: bool,
    /// The first line of its message.
    pub(super) subject: String,
    /// The agent that asked for it.
    pub(super) agent: Option<String>,
    /// The model that the agent's program named.
    pub(super) model: Option<String>,
    /// The turn of the session that it belongs to.
    pub(super) turn: Option<u64>,
    /// The name that the agent's program gives its conversation.
    pub(super) conversation: Option<String>,
    /// Overrides that were needed.
    pub(super) allowed: Vec<String>,
    /// Author's name.
    pub(super) author: String,
    /// Author's time, in seconds since 1970.
    pub(super) time: i64,
    /// The file as this commit left it, if a path was given; else null.
    pub(super) file: Option<Revision>,
    /// The files that the commit changed, with `--stat` or `--patch`; else null.
    pub(super) files: Option<Vec<FileDiff>>,
    /// Time and size of the change, for the text.
    #[serde(skip)]
    pub(super) counts: String,
}

/// A file as one commit left it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Revision {
    /// Its path after the commit.
    path: String,
    /// How the commit changed it.
    change: FileChangeKind,
    /// The path that the commit renamed it from.
    from: Option<String>,
    /// Its blob id after, as hex; null if the commit deleted it.
    hash: Option<String>,
    /// Its size after, in bytes.
    bytes: Option<u64>,
    /// Whether no commit has this content, because Git ignores the file: only the private store.
    private: bool,
}

impl Revision {
    fn of(revision: &FileRevision) -> Revision {
        Revision {
            path: revision.file.path.clone(),
            change: revision.file.change,
            from: revision.file.from.clone(),
            hash: revision.hash.map(|hash| hash.to_string()),
            bytes: revision.bytes,
            private: revision.private,
        }
    }
}

fn edits(commit: &Commit) -> Vec<u64> {
    let edits = commit.units().into_iter().filter(Commit::is_edit);
    edits.filter_map(|edit| Some(edit.trailers?.edit)).collect()
}

impl Line {
    pub(super) fn of(commit: &Commit) -> Line {
        let trailers = commit.trailers.as_ref();
        Line {
            commit: commit.oid.to_string(),
            parent: commit.parent.map(|parent| parent.to_string()),
            kind: trailers.map(|trailers| trailers.kind.name()),
            edit: trailers.map(|trailers| trailers.edit),
            edits: edits(commit),
            amended: commit.has_more_than_edits(),
            by_user: commit.is_users(),
            subject: commit.subject().to_owned(),
            agent: trailers.and_then(|trailers| trailers.agent.clone()),
            model: trailers.and_then(|trailers| trailers.model.clone()),
            turn: trailers.and_then(|trailers| trailers.turn),
            conversation: trailers.and_then(|trailers| trailers.conversation.clone()),
            allowed: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
            author: commit.author.clone(),
            time: commit.authored_at,
            file: None,
            files: None,
            counts: String::new(),
        }
    }

    /// The commit on one line.
    pub(super) fn render_human(&self) -> String {
        let kind = match (self.kind, self.edit) {
            (Some("begin") | None, _) => "   *".to_owned(),
            (Some(_), Some(edit)) if !self.by_user => match self.edits.as_slice() {
                [first, .., last] => format!("{:>4}", format!("{first}-{last}")),
                _ => format!("{edit:>4}"),
            },
            (Some(kind), _) => format!("   {}", kind.chars().next().unwrap_or(' ')),
        };
        let mut out = format!("{kind} {} ", paint(NAME, short(&self.commit)));
        if let Some(file) = &self.file {
            let letter = match file.change {
                FileChangeKind::Added => 'A',
                FileChangeKind::Modified => 'M',
                FileChangeKind::Deleted => 'D',
                FileChangeKind::Renamed => 'R',
            };
            let size =
                file.bytes.map_or_else(|| "deleted".to_owned(), |size| counted(size, "byte"));
            let time = clock::local_minute(Environment::Process, self.time);
            let _ = write!(out, "{} {letter} {size:>12}  ", paint(DIM, &time));
        }
        out.push_str(&self.counts);
        out.push_str(&escape_controls(&self.subject).0);
        if self.file.as_ref().is_some_and(|file| file.private) {
            let _ = write!(out, " {}", paint(NOTE, "[private]"));
        }
        if let Some(Revision { path, from: Some(from), .. }) = &self.file {
            let renamed = format!(" [{from} -> {path}]");
            let _ = write!(out, "{}", paint(NOTE, &escape_controls(&renamed).0));
        }
        if !self.allowed.is_empty() {
            let _ =
                write!(out, " {}", paint(NOTE, &format!("[allowed: {}]", self.allowed.join(", "))));
        }
        if self.by_user {
            let _ = write!(out, " {}", paint(NOTE, "(the user's)"));
        } else if self.amended {
            let _ = write!(out, " {}", paint(NOTE, "(amended by the user)"));
        }
        if let Some(agent) = &self.agent {
            let _ = write!(out, " {}", paint(DIM, &format!("({})", escape_controls(agent).0)));
        }
        out
    }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let (ShownSession { session, landing }, operand) = self.chosen(context, &repo)?;
        let session = if landing.is_none() { session.viewed(&repo)? } else { session };
        let limit = self.number.unwrap_or(usize::MAX);
        let of_file = matches!(operand, Some(Operand::File(_)));
        let is_part = self.oneline || self.graph || matches!(operand, Some(Operand::Range(..)));
        let mut turns = Vec::new();
        let listed: Vec<Commit>;
        let (mut lines, truncated): (Vec<Line>, bool) = match &operand {
            Some(Operand::File(path)) if !self.by_turn => {
                let all = session.revisions(&repo, path)?;
                let line = |one: &FileRevision| Line {
                    file: Some(Revision::of(one)),
                    ..Line::of(&one.commit)
                };
                listed = all.iter().take(limit).map(|one| one.commit.clone()).collect();
                (all.iter().take(limit).map(line).collect(), all.len() > limit)
            }
            _ => {
                let (after, up_to) = match operand {
                    Some(Operand::Range(after, up_to)) => (Some(after), Some(up_to)),
                    _ => (None, None),
                };
                let newer = |commit: &Result<Commit>| {
                    up_to.is_some_and(|up_to| commit.as_ref().is_ok_and(|one| one.oid != up_to))
                };
                let is_in = |commit: &Result<Commit>| {
                    after.is_none_or(|after| commit.as_ref().map_or(true, |one| one.oid != after))
                };
                let mut commits = session.commits(&repo).skip_while(newer).take_while(is_in);
                listed = commits.by_ref().take(limit).collect::<Result<Vec<Commit>>>()?;
                if self.by_turn {
                    turns = log_turns::of(&repo, &session.name, &listed, context)?;
                }
                (listed.iter().map(Line::of).collect(), commits.next().is_some())
            }
        };
        if self.stat || self.patch {
            for (line, commit) in lines.iter_mut().zip(&listed) {
                line.files = Some(log_files::of(&repo, commit, self.patch)?);
            }
        }
        if !(self.oneline || self.by_turn || of_file || context.json) {
            for (line, commit) in lines.iter_mut().zip(&listed) {
                line.counts = log_files::counts(&repo, commit)?;
            }
        }
        let undone =
            if self.graph && !of_file { log_graph::undone(&repo, &session)? } else { Vec::new() };
        let landed = landing.map(|landing| Landed::of(&repo, &landing)).transpose()?;
        let refused_runs = refused::runs(&repo, &session.name)?;
        let file = match &operand {
            Some(Operand::File(path)) if !self.by_turn => Some(path.text()),
            _ => None,
        };
        let since = |most: usize| lines.iter().take(most).next_back().map(|line| line.time);
        let part = |most: u64| {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let truncated = truncated || most < lines.len();
            let since = since(most).filter(|_| truncated);
            Ok(Answer {
                schema: "edt.log/1",
                session: session.report(false),
                refusals: if is_part {
                    Vec::new()
                } else {
                    log_refusals::of(&repo, &session.name, since, file.as_deref())
                },
                commits: lines.iter().take(most).cloned().collect(),
                undone: undone.clone(),
                turns: turns.iter().take(most).cloned().collect(),
                truncated,
                landed: landed.clone(),
                refused_edits: refused_edits::kept(&repo, Some(&session.name)),
                refused_runs: refused_runs.clone(),
                backups: refused::copies(&repo),
            })
        };
        let drawn = self.graph && !of_file;
        let render = |answer: &Answer| {
            if drawn { log_graph::render_human(answer) } else { render_human(answer, of_file) }
        };
        context.answer_part(lines.len() as u64, part, render)
    }

    /// The session, and what of it is listed. An operand that names no file of the session may be
    /// the name of one.
    fn chosen(&self, context: &Context, repo: &Repo) -> Result<(ShownSession, Option<Operand>)> {
        let head = repo.head()?;
        let named = self.session.as_ref().map(|name| {
            ShownSession::named(repo, name)?.ok_or_else(|| ShownSession::unknown(name).into())
        });
        let here = named.map_or_else(|| ShownSession::here(repo, &head), |one| one.map(Some))?;
        let Some(operand) = &self.path else {
            let shown = here.map_or_else(|| ShownSession::required(repo, &head), Ok)?;
            return Ok((shown, None));
        };
        let path = context.path(operand.as_bytes());
        let is_file = path.as_ref().is_ok_and(|path| is_file(repo, here.as_ref(), path));
        let text = operand.to_str().filter(|_| !is_file);
        if let Some(name) = text.filter(|_| self.session.is_none())
            && let Some(named) = ShownSession::named(repo, name)?
        {
            return Ok((named, None));
        }
        let shown = here.map_or_else(|| ShownSession::required(repo, &head), Ok)?;
        if let Some((after, up_to)) = text.and_then(|text| text.split_once("..")) {
            let session = &shown.session;
            let at = |spec: &str, usual| match spec {
                "" => Ok(usual),
                spec => revision::resolve(repo, Some(session), spec),
            };
            let (from, to) = (at(after, session.base)?, at(up_to, session.tip)?);
            session.check_range(repo, (after, from), (up_to, to))?;
            return Ok((shown, Some(Operand::Range(from, to))));
        }
        Ok((shown, Some(Operand::File(path?))))
    }
}

/// What of a session is listed.
enum Operand {
    /// The revisions of a file.
    File(RepoPath),
    /// The commits after the first up to the second.
    Range(Oid, Oid),
}

/// Whether the worktree, or the session at its tip or its base, has something at `path`.
fn is_file(repo: &Repo, shown: Option<&ShownSession>, path: &RepoPath) -> bool {
    let sides = shown.iter().flat_map(|shown| [shown.session.tip, shown.session.base]);
    let has = |tree: Oid| repo.tracked(tree, path).is_ok_and(|found| found != Tracked::Nothing);
    repo.root_path().join(path.text()).symlink_metadata().is_ok()
        || sides.filter_map(|side| repo.tree_of(side).ok()).any(has)
}

fn render_human(answer: &Answer, of_file: bool) -> String {
    let mut out = String::new();
    out.push_str(&log_turns::render_human(&answer.turns));
    let mut refusals = answer.refusals.iter().filter(|_| answer.turns.is_empty()).peekable();
    for line in answer.commits.iter().filter(|_| answer.turns.is_empty()) {
        while let Some(refused) = refusals.next_if(|refused| refused.time > line.time) {
            let _ = writeln!(out, "{}", refused.render_human());
        }
        let _ = writeln!(out, "{}", line.render_human());
        out.push_str(&log_files::render_human(line.files.as_deref().unwrap_or_default()));
    }
    for refused in refusals {
        let _ = writeln!(out, "{}", refused.render_human());
    }
    if answer.truncated {
        let _ = writeln!(out, "{}", paint(DIM, "… more: raise -n"));
    }
    if answer.commits.is_empty() {
        let what = if of_file { "No commit of this file" } else { "No edits" };
        let _ = writeln!(out, "{what} on {} yet.", answer.session.branch);
    }
    if !of_file {
        out.push_str(&refused_lines(&answer.refused_edits, &answer.refused_runs, &[]));
        for copies in &answer.backups {
            let text = format!("copies from before an interrupted run: {}", copies.directory);
            let _ = writeln!(out, "{}", paint(NOTE, &escape_controls(&text).0));
        }
    }
    if let Some(landed) = &answer.landed {
        out.push_str(&landed.render_human());
    }
    out
}

#[cfg(test)]
mod tests {
    use edt_core::session::recording::record;
    use edt_core::session::refs::message::Kind;
    use edt_core::session::{LockedWorkspace, Session};
    use edt_core::{Options, Request};

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    fn commits(scratch: &Scratch) -> Vec<Line> {
        let repo = scratch.repo();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        session.commits(&repo).map(|commit| Line::of(&commit.unwrap())).collect()
    }

    /// The lines without the commits' ids.
    fn rendered(scratch: &Scratch) -> Vec<String> {
        let line = |line: &Line| plain(&line.render_human()).replace(short(&line.commit), "ID");
        commits(scratch).iter().map(line).collect()
    }

    #[test]
    fn an_edit_has_its_number_and_agent() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("first").edit("a.txt", "one", "two").agent("codex"));
        assert_eq!(rendered(&scratch), ["   1 ID first (codex)"]);
    }

    #[test]
    fn the_users_changes_have_a_letter_and_are_shown_as_theirs() {
        let scratch = Scratch::new();
        scratch.write("a.txt", "mine\n");
        let mut workspace =
            LockedWorkspace::open(scratch.workspace().root(), Options::default()).unwrap();
        record::checkpoint(&mut workspace, None, &[]).unwrap();
        drop(workspace);
        scratch.apply(&Request::new("first").edit("a.txt", "mine", "two"));
        let lines = rendered(&scratch);
        assert_eq!(lines[0], "   1 ID first");
        assert!(lines[1].starts_with("   c ID checkpoint: "), "{lines:?}");
        assert!(lines[1].ends_with(" (the user's)"), "{lines:?}");
        let commits = commits(&scratch);
        assert_eq!((commits[0].by_user, commits[1].by_user), (false, true));
        assert_eq!(commits[1].kind, Some(Kind::Checkpoint.name()));
    }

    #[test]
    fn a_revision_has_time_change_and_size() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("move").rename("a.txt", "b.txt"));
        scratch.apply(&Request::new("more").append("b.txt", "two\n"));
        let repo = scratch.repo();
        let session = Session::required(&repo, &repo.head().unwrap()).unwrap();
        let found = session.revisions(&repo, &RepoPath::from_tree(b"b.txt")).unwrap();
        let line = |one: &FileRevision| {
            let line = Line { file: Some(Revision::of(one)), ..Line::of(&one.commit) };
            let time = clock::local_minute(Environment::Process, line.time);
            plain(&line.render_human()).replace(short(&line.commit), "ID").replace(&time, "TIME")
        };
        assert_eq!(
            found.iter().map(line).collect::<Vec<_>>(),
            [
                "   2 ID TIME M      8 bytes  more",
                "   1 ID TIME R      4 bytes  move [a.txt -> b.txt]"
            ]
        );
    }

    #[test]
    fn an_override_is_named() {
        let scratch = Scratch::new();
        let text: String = (0..200).map(|n| format!("line {n}\n")).collect();
        scratch.apply(&Request::new("long").overwrite("a.txt", text));
        scratch.apply(&Request::new("short").overwrite("a.txt", "x\n").allow("size_reduction"));
        assert_eq!(rendered(&scratch)[0], "   2 ID short [allowed: size_reduction]");
    }

    #[test]
    fn a_line_names_its_parent() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("first").edit("a.txt", "one", "two"));
        scratch.apply(&Request::new("second").edit("a.txt", "two", "three"));
        let lines = commits(&scratch);
        assert_eq!(lines[0].parent.as_ref(), Some(&lines[1].commit));
        assert_eq!((lines[0].kind, lines[0].edit), (Some("edit"), Some(2)));
    }

    fn answer(commits: Vec<Line>, truncated: bool) -> String {
        let session = SessionReport {
            name: "fix".to_owned(),
            branch: "edt/fix".to_owned(),
            base: String::new(),
            began: false,
        };
        let answer = Answer {
            schema: "edt.log/1",
            session,
            commits,
            undone: vec![],
            turns: vec![],
            truncated,
            landed: None,
            refusals: vec![],
            refused_edits: vec![],
            refused_runs: vec![],
            backups: vec![],
        };
        plain(&render_human(&answer, false))
    }

    #[test]
    fn a_session_without_edits_says_so() {
        assert_eq!(answer(vec![], false), "No edits on edt/fix yet.\n");
    }

    #[test]
    fn a_cut_list_says_how_to_see_more() {
        let line = Line {
            commit: "0123456789abcdef".to_owned(),
            parent: None,
            kind: None,
            edit: None,
            edits: vec![],
            amended: false,
            by_user: true,
            subject: "a\u{1b}b".to_owned(),
            agent: None,
            model: None,
            turn: None,
            conversation: None,
            allowed: vec![],
            author: String::new(),
            time: 0,
            file: None,
            files: None,
            counts: String::new(),
        };
        assert_eq!(
            answer(vec![line], true),
            "   * 0123456789ab a\\u{1b}b (the user's)\n… more: raise -n\n"
        );
    }
}
