//! `edt diff`, and diffs in the answers of other commands.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::context::Context;
use super::diff_text;
use super::log::{Landed, Line};
use super::render::{DIM, NOTE, paint};
use edt_core::session::Session;
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::refs::revision;
use edt_core::session::user::user_changes;
use edt_core::session::views::file_diff::{self, FileDiff};
use edt_git::{Oid, Repo, Tracked};
use edt_types::text::escape_controls;
use edt_types::{Code, Finding, RepoPath, Result, Status};

/// Show what the session changed, what one edit changed, or the user's uncommitted changes.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Examples:\n  edt diff                # the session: from its base to its tip\n  edt diff 7              # what edit 7 changed\n  edt diff 3..7 src --stat\n  edt diff --turn 2       # what the edits of turn 2 changed\n  edt diff HEAD~2         # from there to the tip\n  edt diff --worktree     # the user's uncommitted changes\n  edt diff --staged a.c   # what is staged of a.c"
)]
pub(super) struct Args {
    /// First, at most once: EDIT (the number of an edit: what it changed), A..B (two edits or
    /// revisions of Git; the session's base and tip if omitted), or REV (from there to the tip).
    /// Then paths. An existing path is a path; write paths after `--` to be sure.
    #[arg(value_name = "EDIT|A..B|PATH")]
    #[serde(skip)]
    operands: Vec<OsString>,
    /// What to compare: `7` (what edit 7 changed), `3..7` (two edits or revisions of Git; the
    /// session's base and tip if omitted), or a revision (from there to the tip). The session if
    /// omitted.
    #[arg(long, value_name = "EDIT|A..B", hide = true, conflicts_with_all = ["staged", "worktree"])]
    revision: Option<String>,
    /// Only these files and directories.
    #[arg(last = true, value_name = "PATH")]
    #[serde(default, deserialize_with = "paths")]
    #[schemars(with = "Vec<String>")]
    paths: Vec<OsString>,
    /// Show what is staged: from HEAD to the index.
    #[arg(long, conflicts_with = "worktree")]
    #[serde(default)]
    staged: bool,
    /// Show the user's uncommitted changes: from the session's tip, or HEAD without a session, to
    /// the files on disk. An untracked file is shown only if a path names it.
    // Of a tool `worktree` names the worktree to act in.
    #[arg(long)]
    #[serde(default, rename = "uncommitted")]
    worktree: bool,
    /// Show what the edits of this turn changed, as `edt log --by-turn` numbers it.
    #[arg(long, value_name = "N", conflicts_with_all = ["staged", "worktree", "revision"])]
    turn: Option<u64>,
    /// Print the numbers of changed lines instead of the lines.
    #[arg(long)]
    #[serde(default)]
    stat: bool,
}

fn paths<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<OsString>, D::Error> {
    let all = <Option<Vec<String>> as Deserialize>::deserialize(deserializer)?;
    Ok(all.unwrap_or_default().into_iter().map(Into::into).collect())
}

/// The answer of `edt show` and `edt diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.diff/1`.
    schema: &'static str,
    /// The commit shown, for `edt show`.
    pub(super) commit: Option<Line>,
    /// Its complete message, for `edt show`.
    pub(super) message: Option<String>,
    /// The old side: a commit or tree, as a hex object id.
    from: String,
    /// The new side: a commit as a hex object id, `index` or `worktree`.
    to: String,
    /// The files that differ, by path. With `stat`, `patch` is empty.
    files: Vec<FileDiff>,
    /// For `edt show`: the files that the edit changed and that no commit has, such as ignored
    /// ones. Only the private store has their content.
    pub(super) private: Vec<String>,
    /// How many lines were added in all files.
    lines_added: u64,
    /// How many lines were removed in all files.
    lines_removed: u64,
    /// The landing of the session that is shown, if it has ended; else null.
    pub(super) landed: Option<Landed>,
}

/// What is compared.
#[derive(Debug, PartialEq, Eq)]
enum Compared {
    Commits(Oid, Oid),
    Staged,
    Worktree,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let here = repo.head()?;
        let session = Session::current(&repo, &here)?;
        let mut shown = ShownSession::here(&repo, &here)?;
        let (mut compared, mut paths) = self.parse(context, &repo, session.as_ref(), &mut shown)?;
        if let Some(number) = self.turn {
            (compared, paths) = turn(&repo, shown.as_ref(), number, &paths)?;
        }
        let head = || match &session {
            Some(session) => Ok(session.tip),
            None => repo.head().map(|head| head.commit.unwrap_or_else(|| repo.empty_tree())),
        };
        check_known(&repo, &compared, head()?, &paths)?;
        let mut answer = match compared {
            Compared::Commits(from, to) => {
                let files =
                    file_diff::between_at(&repo, repo.tree_of(from)?, repo.tree_of(to)?, &paths)?;
                Answer::new(from.to_string(), to.to_string(), files)
            }
            Compared::Staged => {
                let from = repo.head()?.commit.unwrap_or_else(|| repo.empty_tree());
                let files = file_diff::staged(&repo, &paths)?;
                Answer::new(from.to_string(), "index".to_owned(), files)
            }
            Compared::Worktree => {
                let files = file_diff::worktree(&repo, session.as_ref(), &paths)?;
                Answer::new(head()?.to_string(), "worktree".to_owned(), files)
            }
        };
        answer.landed = match (&compared, shown.and_then(|shown| shown.landing)) {
            (Compared::Commits(..), Some(landing)) => Some(Landed::of(&repo, &landing)?),
            _ => None,
        };
        if self.stat {
            answer.files.iter_mut().for_each(|file| file.patch.clear());
        }
        let render = if self.stat { render_stat } else { render_human };
        Ok(context.answer(&answer, render))
    }

    /// What to compare, and the paths that limit it. `shown` becomes the session that an operand
    /// names.
    fn parse(
        &self,
        context: &Context,
        repo: &Repo,
        session: Option<&Session>,
        shown: &mut Option<ShownSession>,
    ) -> Result<(Compared, Vec<RepoPath>)> {
        let given = [self.staged, self.worktree, self.revision.is_some(), self.turn.is_some()];
        if given.into_iter().filter(|given| *given).count() > 1 {
            let message = "`staged`, `worktree`, `revision` and `turn` exclude each other.";
            return Err(Finding::new(Code::BadRequest, message, "Send one of them.").into());
        }
        let mut operands = self.operands.iter();
        let mut compared = match (self.staged, self.worktree, &self.revision) {
            (true, ..) => Some(Compared::Staged),
            (_, true, _) => Some(Compared::Worktree),
            (.., Some(spec)) => Some(commits_of(repo, shown, spec)?),
            _ => None,
        };
        let mut paths = Vec::new();
        if compared.is_none()
            && let Some(first) = operands.next()
        {
            let text = first.to_str().unwrap_or_default();
            if revision::edit_number(text).is_none() && is_path(context, repo, session, first)? {
                paths.push(first.as_bytes());
            } else {
                compared = Some(commits_of(repo, shown, text)?);
            }
        }
        paths.extend(operands.chain(&self.paths).map(|path| path.as_bytes()));
        let paths = context.paths_or_all(paths)?;
        let compared = if let Some(compared) = compared {
            compared
        } else {
            let session = required(repo, shown.as_ref())?;
            Compared::Commits(session.base, session.tip)
        };
        Ok((compared, paths))
    }
}

impl Answer {
    fn new(from: String, to: String, files: Vec<FileDiff>) -> Answer {
        Answer {
            schema: "edt.diff/1",
            commit: None,
            message: None,
            from,
            to,
            lines_added: files.iter().map(|file| file.lines_added).sum(),
            lines_removed: files.iter().map(|file| file.lines_removed).sum(),
            files,
            private: Vec::new(),
            landed: None,
        }
    }

    /// Whether the file at `path` differs.
    pub(super) fn names(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path || file.from.as_deref() == Some(path))
    }
}

/// The session to show.
fn required(repo: &Repo, shown: Option<&ShownSession>) -> Result<Session> {
    match shown {
        Some(shown) if shown.landing.is_some() => Ok(shown.session.clone()),
        Some(shown) => shown.session.viewed(repo),
        None => Session::required(repo, &repo.head()?)?.viewed(repo),
    }
}

/// As [`commits`], or all of the session that `spec` names: it becomes the one that is shown. A
/// revision of Git comes first while the worktree has a session.
fn commits_of(repo: &Repo, shown: &mut Option<ShownSession>, spec: &str) -> Result<Compared> {
    let is_open = shown.as_ref().is_some_and(|shown| shown.landing.is_none());
    let found = commits(repo, shown.as_ref(), spec);
    if found.is_ok() && (is_open || !spec.starts_with("edt/")) {
        return found;
    }
    let Some(named) = ShownSession::named(repo, spec)? else { return found };
    let compared = Compared::Commits(named.session.base, named.session.tip);
    *shown = Some(named);
    Ok(compared)
}

/// The two commits that `spec` names: `A..B`, the number of an edit, or a revision.
fn commits(repo: &Repo, shown: Option<&ShownSession>, spec: &str) -> Result<Compared> {
    let required = || required(repo, shown);
    let resolve = |spec: &str| revision::resolve(repo, shown.map(|shown| &shown.session), spec);
    if let Some((from, to)) = spec.split_once("..") {
        let from = if from.is_empty() { required()?.base } else { resolve(from)? };
        let to = if to.is_empty() { required()?.tip } else { resolve(to)? };
        return Ok(Compared::Commits(from, to));
    }
    let commit = resolve(spec)?;
    if revision::edit_number(spec).is_none() {
        return Ok(Compared::Commits(commit, required()?.tip));
    }
    let parent = Commit::read(repo, commit)?.parent.unwrap_or_else(|| repo.empty_tree());
    Ok(Compared::Commits(parent, commit))
}

/// What the edits of a turn changed, in `paths` unless that is empty.
fn turn(
    repo: &Repo,
    shown: Option<&ShownSession>,
    number: u64,
    paths: &[RepoPath],
) -> Result<(Compared, Vec<RepoPath>)> {
    let session = required(repo, shown)?;
    let change = session.turn_change(repo, number)?;
    let is_shown =
        |path: &RepoPath| paths.is_empty() || paths.iter().any(|named| path.is_at_or_below(named));
    let limited: Vec<RepoPath> = change.paths.into_iter().filter(is_shown).collect();
    // Without a path everything would be shown, also what other commits changed between.
    let to = if limited.is_empty() { change.from } else { change.to };
    Ok((Compared::Commits(change.from, to), limited))
}

/// Whether `raw` names a file or directory on disk, in the session or in its base.
fn is_path(
    context: &Context,
    repo: &Repo,
    session: Option<&Session>,
    raw: &OsString,
) -> Result<bool> {
    let path = match context.path_or_root(raw.as_bytes()) {
        Ok(Some(path)) => path,
        root => return Ok(root.is_ok()),
    };
    if repo.root_path().join(path.text()).symlink_metadata().is_ok() {
        return Ok(true);
    }
    let base = session.map(|session| repo.tree_of(session.base)).transpose()?;
    for tree in [Some(user_changes::compared_tree(repo, session)?), base].into_iter().flatten() {
        if repo.tracked(tree, &path)? != Tracked::Nothing {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses a path that exists on neither side.
fn check_known(repo: &Repo, compared: &Compared, head: Oid, paths: &[RepoPath]) -> Result<()> {
    let (from, to) = match compared {
        Compared::Commits(from, to) => (*from, *to),
        Compared::Staged | Compared::Worktree => (head, head),
    };
    let trees = [repo.tree_of(from)?, repo.tree_of(to)?];
    for path in paths {
        let mut known = repo.root_path().join(path.text()).symlink_metadata().is_ok();
        for tree in trees {
            known = known || repo.tracked(tree, path)? != Tracked::Nothing;
        }
        if !known {
            let message = format!("{path} exists on neither side of the comparison.");
            let remedy = "Check the path: `edt ls` lists the files. Renamed files have their new \
                          and their old name.";
            return Err(Finding::new(Code::FileNotFound, message, remedy).at(path).into());
        }
    }
    Ok(())
}

pub(super) fn answer(repo: &Repo, from: Oid, to: Oid) -> Result<Answer> {
    let files = file_diff::between(repo, repo.tree_of(from)?, repo.tree_of(to)?)?;
    Ok(Answer::new(from.to_string(), to.to_string(), files))
}

pub(super) fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    if let Some(line) = &answer.commit {
        let _ = writeln!(out, "{}", line.render_human().trim_start());
        let message = answer.message.as_deref().unwrap_or_default();
        message.lines().skip(1).filter(|line| !line.is_empty()).for_each(|line| {
            let _ = writeln!(out, "     {}", paint(DIM, &escape_controls(line).0));
        });
    }
    for path in &answer.private {
        let note = format!("changed {path}: its content is in the private store only");
        let _ = writeln!(out, "     {}", paint(NOTE, &escape_controls(&note).0));
    }
    out.push_str(&diff_text::render(&answer.files));
    out.extend(answer.landed.iter().map(Landed::render_human));
    out
}

/// Renders a summary as `git diff --stat` does.
fn render_stat(answer: &Answer) -> String {
    diff_text::summary(&answer.files)
}

#[cfg(test)]
mod tests {
    use edt_core::Request;

    use super::*;
    use crate::cli::tests::{Session as Scratch, plain};

    fn session(repo: &Repo) -> Session {
        Session::required(repo, &repo.head().unwrap()).unwrap()
    }

    #[test]
    fn without_colours_a_diff_is_the_text_of_its_files() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two").create("b.txt", "b\n"));
        let repo = scratch.repo();
        let session = session(&repo);
        let answer = answer(&repo, session.base, session.tip).unwrap();
        let text: String = answer.files.iter().map(ToString::to_string).collect();
        assert_eq!(answer.files.len(), 2);
        assert_eq!(plain(&render_human(&answer)), text);
    }

    /// The arguments as on the command line.
    fn parsed(args: &[&str]) -> Args {
        use clap::{Args as _, FromArgMatches as _};
        let command = Args::augment_args(clap::Command::new("diff").no_binary_name(true));
        Args::from_arg_matches(&command.get_matches_from(args)).unwrap()
    }

    #[test]
    fn the_first_operand_is_an_edit_a_range_a_revision_or_a_path() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("x").edit("a.txt", "one", "two"));
        scratch.apply(&Request::new("y").edit("a.txt", "two", "three"));
        let repo = scratch.repo();
        let session = session(&repo);
        let first = revision::resolve(&repo, Some(&session), "1").unwrap();
        let context = Context::in_directory(scratch.0.path());
        let compared = |args: &[&str]| {
            let mut shown = Some(ShownSession { session: session.clone(), landing: None });
            let (compared, paths) =
                parsed(args).parse(&context, &repo, Some(&session), &mut shown).unwrap();
            (compared, paths.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let none = Vec::<String>::new;
        let (base, tip) = (session.base, session.tip);
        assert_eq!(compared(&[]), (Compared::Commits(base, tip), none()));
        assert_eq!(compared(&["1"]), (Compared::Commits(base, first), none()));
        assert_eq!(compared(&["1..2"]), (Compared::Commits(first, tip), none()));
        assert_eq!(compared(&["..1"]), (Compared::Commits(base, first), none()));
        assert_eq!(compared(&["HEAD~1"]), (Compared::Commits(first, tip), none()));
        let a = || vec!["a.txt".to_owned()];
        assert_eq!(compared(&["a.txt"]), (Compared::Commits(base, tip), a()));
        assert_eq!(compared(&["2", "a.txt"]), (Compared::Commits(first, tip), a()));
        assert_eq!(compared(&["--staged", "a.txt"]), (Compared::Staged, a()));
        assert_eq!(compared(&["--worktree", "--", "1"]), (Compared::Worktree, vec!["1".into()]));
        assert_eq!(compared(&["a.txt", "."]), (Compared::Commits(base, tip), none()));
    }

    #[test]
    fn a_summary_has_a_bar_for_each_file() {
        let scratch = Scratch::new();
        let long: String = (0..100).map(|n| format!("{n}\n")).collect();
        scratch.apply(&Request::new("x").create("long.txt", long).edit("a.txt", "one", "two"));
        scratch.apply(&Request::new("y").rename("a.txt", "b.txt"));
        let repo = scratch.repo();
        let session = session(&repo);
        let answer = answer(&repo, session.base, session.tip).unwrap();
        let bar = "+".repeat(40);
        assert_eq!(
            plain(&render_stat(&answer)),
            format!(
                " a.txt    |   1 -\n b.txt    |   1 +\n long.txt | 100 {bar}\n 3 files changed, \
                 +101 -1\n"
            )
        );
    }

    #[test]
    fn a_summary_shows_a_rename_as_one_file() {
        let scratch = Scratch::new();
        scratch.apply(&Request::new("y").rename("a.txt", "b.txt"));
        let repo = scratch.repo();
        let session = session(&repo);
        let answer = answer(&repo, session.base, session.tip).unwrap();
        assert_eq!(plain(&render_stat(&answer)), " a.txt => b.txt |   0\n 1 file changed, +0 -0\n");
    }
}
