//! Undoes the last landing of a session: the target branch moves back, or gets a commit that
//! reverts the landing if others may have it.

use std::path::PathBuf;

use super::landed_commits;
use super::left_by_user;
use super::plan::LandTarget;
use super::target::{LANDING_QUEUE_WAIT, landing_lock, other_worktree};
use crate::session::engine::{Applied, Change, HeadMove, RefMove, RefMoves, WorktreeChange};
use crate::session::files::diff_report;
use crate::session::private::uncovered;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::landed::Landing;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::refs::names::{REFS, base_ref, next_numbered_ref};
use crate::session::user::edit_change;
use crate::session::worktree::follow::{self, Operation, TreeMove};
use crate::session::worktree::switch::commit_tree;
use crate::session::worktree::workspace::LockedWorkspace;
use crate::user_decision::UserDecision;
use edt_git::commit_candidate::CommitCandidate;
use edt_git::commit_hooks;
use edt_git::{InHead, Merged, NewCommit, ObjectWriter, Oid, Repo};
use edt_io::{lock, spawn};
use edt_journal::BranchOrigin;
use edt_types::text::Shown as _;
use edt_types::{
    Code, Effect, FileReport, Finding, Outcome, Recovered, Refusal, RepoPath, Result, Status,
    Warning,
};

/// How many commits of HEAD's branch are searched for a landing.
const MAX_COMMITS: usize = 10_000;

/// How a landing was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoneBy {
    /// The branch moved back to its commit before the landing.
    Rewind,
    /// A new commit on the branch reverts the landing.
    Revert,
}

/// An undone landing.
#[derive(Debug)]
pub struct Unlanded {
    pub landing: Landing,
    pub by: UndoneBy,
    /// The branch's commit before this call.
    pub from: Oid,
    /// The branch's commit now.
    pub to: Oid,
    /// The ref that keeps the landed commit.
    pub kept: String,
    /// The files that changed on disk; if no worktree has the branch checked out, those that differ
    /// between the two commits.
    pub files: Vec<FileReport>,
    /// The root of the other worktree that was updated; `None` if it is this one or none.
    pub elsewhere: Option<PathBuf>,
    /// What was recovered in that other worktree first.
    pub recovered: Option<Recovered>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// Who asks, and for which session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnlandOptions {
    /// The session; if `None`, that of the worktree, else the one that landed last on HEAD's
    /// branch.
    pub session: Option<String>,
    /// Whether protected paths may change: only the user may do that.
    pub may_change_protected_paths: bool,
}

impl UnlandOptions {
    /// Undoes the last landing of the session of this name, with or without `edt/`.
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> UnlandOptions {
        self.session = Some(name.into());
        self
    }

    /// States that the user asks. Then protected paths may change.
    #[must_use]
    pub fn by_user(mut self, _: UserDecision) -> UnlandOptions {
        self.may_change_protected_paths = true;
        self
    }
}

impl Unlanded {
    /// The answer to the call.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn outcome(self, workspace: &LockedWorkspace) -> Result<Outcome> {
        let repo = &workspace.repo;
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Session::named(repo, &self.landing.session)?.map(|one| one.report(false));
        outcome.commit = Some(self.to.to_string());
        outcome.parent = Some(self.from.to_string());
        outcome.files = self.files;
        outcome.warnings = self.warnings;
        outcome.recovered = workspace.recovered.clone().or(self.recovered);
        Ok(outcome)
    }
}

impl Landing {
    /// The content of the blob that records `target` before a landing.
    #[must_use]
    pub fn record(target: &LandTarget) -> String {
        let before = target.tip.map_or_else(String::new, |tip| tip.to_string());
        format!("{}\n{before}\n", target.branch)
    }

    /// The landing that `options` mean.
    fn find(repo: &Repo, options: &UnlandOptions) -> Result<Landing> {
        let head = repo.head()?;
        let running = crate::session::refs::current::current(repo, &head)?;
        let name = match (&options.session, running) {
            (Some(name), _) => {
                let short = name.strip_prefix("edt/").unwrap_or(name);
                let known = repo.is_ref_name(&base_ref(short))
                    && repo.ref_value(&base_ref(short))?.is_some();
                let renamed = if known { None } else { Session::named(repo, name)? };
                Some(renamed.map_or_else(|| short.to_owned(), |session| session.name))
            }
            (None, running) => running.map(|session| session.name),
        };
        if let Some(name) = name.filter(|name| repo.is_ref_name(&base_ref(name))) {
            return Landing::all(repo, &name)?.pop().ok_or_else(|| no_landing(&name).into());
        }
        let landings: Vec<(String, Oid)> = repo
            .refs_below(REFS)?
            .into_iter()
            .filter(|(name, _)| name.contains("/landing/"))
            .collect();
        let branch = head.branch.map(|branch| repo.referent(&branch)).transpose()?;
        let mut next = head.commit.filter(|_| !landings.is_empty());
        for _ in 0..MAX_COMMITS {
            let Some(commit) = next else { break };
            for (name, _) in landings.iter().filter(|(_, landed)| *landed == commit) {
                let session = name.trim_start_matches(REFS).split("/landing/").next();
                let all = Landing::all(repo, session.unwrap_or_default())?;
                let on_head = all.into_iter().rev().find(|landing| {
                    landing.commit == commit && Some(&landing.branch) == branch.as_ref()
                });
                if let Some(landing) = on_head {
                    return Ok(landing);
                }
            }
            next = Commit::read(repo, commit)?.parent;
        }
        let summary = "No session of this repository landed on HEAD's branch.".to_owned();
        let remedy =
            "Name the session: `edt land --undo --session NAME` (`edt status` lists them).";
        Err(Finding::new(Code::NothingToUndo, summary, remedy).nothing_changed().into())
    }

    fn refs(&self) -> Vec<(String, Oid)> {
        let name = |what: &str| format!("{REFS}{}/{what}/{}", self.session, self.number);
        vec![(name("landed"), self.tip), (name("landing"), self.commit), (name("onto"), self.onto)]
    }

    /// Whether a remote-tracking branch contains the landed commit.
    fn is_shared(&self, repo: &Repo) -> Result<bool> {
        let contains = format!("--contains={}", self.commit);
        let args = ["for-each-ref", "--count=1", "--format=%(refname)", &contains, "refs/remotes"];
        let ran = spawn::git(repo.environment(), repo.root_path(), &args, b"")?;
        // If Git cannot say, the branch does not move back.
        Ok(!ran.ok || !ran.stdout.is_empty())
    }

    /// The landing's commits, newest first.
    fn commits(&self, repo: &Repo) -> Result<Vec<Commit>> {
        let (mut commits, mut next) = (Vec::new(), Some(self.commit));
        while let Some(oid) = next.filter(|oid| Some(*oid) != self.before) {
            let commit = Commit::read(repo, oid)?;
            next = commit.parent;
            commits.push(commit);
        }
        Ok(commits)
    }
}

/// What undoing a landing makes of its target.
struct Undoing {
    by: UndoneBy,
    from: Oid,
    to: Oid,
    /// The tree of `to`.
    tree: Oid,
    /// The tree that the files on disk follow. The user's own changes that landed stay there. The
    /// error names the paths where they overlap with edits of the landing.
    disk: std::result::Result<Oid, Vec<RepoPath>>,
}

impl Undoing {
    fn of(repo: &Repo, writer: &mut ObjectWriter<'_>, landing: &Landing) -> Result<Undoing> {
        let tip = repo.ref_value(&landing.branch)?;
        let contained = tip.map_or(Ok(false), |tip| repo.is_ancestor(landing.commit, tip))?;
        let Some(from) = tip.filter(|_| contained) else {
            return Err(not_contained(landing).into());
        };
        let (from_tree, before) = (repo.tree_of(from)?, commit_tree(repo, landing.before)?);
        let rewinds = from == landing.commit && !landing.is_shared(repo)?;
        let (by, to, tree) = if let Some(to) = landing.before.filter(|_| rewinds) {
            (UndoneBy::Rewind, to, before)
        } else {
            let landed = repo.tree_of(landing.commit)?;
            let tree = match writer.merge_trees(landed, from_tree, before)? {
                Merged::Clean(tree) => tree,
                Merged::Conflicts(paths) => {
                    let names = paths.iter().map(RepoPath::text).collect();
                    return Err(conflict(landing, names).into());
                }
            };
            if tree == from_tree {
                return Err(reverted_already(landing).into());
            }
            let commit = revert_commit(repo, writer, landing, from, tree)?;
            (UndoneBy::Revert, commit, writer.tree_of(commit)?)
        };
        // What the edits of the landing changed leaves the files; what is the user's does not.
        let mut disk = Ok(from_tree);
        let commits =
            landed_commits::identified(repo, &landing.session, from, landing.commits(repo)?)?;
        for commit in commits.iter().filter(|commit| !commit.is_users()) {
            let parent = commit_tree(repo, commit.parent)?;
            let Ok(now) = disk else { break };
            let edited = edit_change::tree_after(writer, commit)?;
            disk = match writer.merge_trees(edited, now, parent)? {
                Merged::Clean(merged) => Ok(merged),
                Merged::Conflicts(paths) => Err(paths),
            };
        }
        Ok(Undoing { by, from, to, tree, disk })
    }
}

/// Undoes the last landing of a session. The branch moves back to its commit before the landing if
/// nothing came on top and no remote-tracking branch has the landing. Otherwise a new commit
/// reverts it. The session is open again.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `MERGE_CONFLICT` if later commits changed the same lines; `UNSAVED_CHANGES` if
/// the user did, also in changes of their own that landed; `APPROVAL_REQUIRED` if a protected path
/// would change; `SESSION_BUSY`, `REPOSITORY_BUSY`; errors of publishing. Nothing is changed on an
/// error.
pub fn unland(workspace: &mut LockedWorkspace, options: &UnlandOptions) -> Result<Unlanded> {
    let state = landing_lock(&workspace.repo)?;
    // The queue comes before the worktree's lock, as for a landing.
    let _queue =
        workspace.unlocked(|_| lock::acquire(&state, "edt land --undo", LANDING_QUEUE_WAIT))?;
    let repo = &workspace.repo;
    repo.check_idle()?;
    let landing = Landing::find(repo, options)?;
    let mut writer = ObjectWriter::new(repo);
    let undoing = Undoing::of(repo, &mut writer, &landing)?;
    let from_tree = repo.tree_of(undoing.from)?;
    let paths = writer.tree_diff(from_tree, undoing.tree)?;
    if !options.may_change_protected_paths {
        let policy = workspace.policy(from_tree)?;
        let guarded = paths.iter().filter(|differs| policy.protects(&differs.path));
        let found = guarded.map(|differs| protected(&landing).at(&differs.path)).collect();
        Refusal::check(found)?;
    }
    // The session's own branch does not count as its target.
    let target =
        LandTarget { branch: landing.branch.clone(), alias: None, tip: Some(undoing.from) };
    let mut elsewhere = other_worktree(workspace, None, &target)?;
    let place = elsewhere.as_ref().map_or(repo, |(workspace, _)| &workspace.repo);
    place.check_idle()?;
    let root = elsewhere.as_ref().map(|(_, root)| root.clone());
    let here = place.head_is_on(&landing.branch)?;
    let objects = writer.loose_objects();
    let mut worktree = WorktreeChange::default();
    if here {
        edt_git::objects::write(repo, &objects)?;
        let operation = Operation {
            name: "undoing the landing",
            command: "edt land --undo",
            elsewhere: root.as_deref(),
            users: None,
        };
        let to = undoing.disk.map_err(|paths| users_changes_overlap(&landing, &paths))?;
        let disk = TreeMove { from: from_tree, to };
        let index = TreeMove { from: from_tree, to: undoing.tree };
        worktree = follow::plan(place, disk, Some(index), &operation)?;
    }
    let elsewhere_files = if here { None } else { Some(diff_report::files_in(&writer, &paths)?) };
    let branch = RefMove {
        name: landing.branch.clone(),
        from: match undoing.by {
            UndoneBy::Rewind => BranchOrigin::Rewound(undoing.from),
            UndoneBy::Revert => BranchOrigin::Existing(undoing.from),
        },
        new: undoing.to,
        log: left_by_user::log(
            "edt land --undo",
            options.may_change_protected_paths,
            &landing.session,
        ),
    };
    let kept = next_numbered_ref(repo, &landing.session, "unlanded")?;
    let base = landed_commits::session(repo, &landing.session, undoing.from)?.base;
    let change = Change {
        base: Some(base),
        head: HeadMove::stays(if here { InHead::Yes } else { InHead::No }),
        refs: RefMoves {
            create: vec![(kept.clone(), landing.commit)],
            replace: Vec::new(),
            delete: landing.refs(),
        },
        objects,
        worktree,
        ..Change::of(&landing.session, branch)
    };
    let place = elsewhere.as_mut().map(|(workspace, _)| workspace);
    let Applied { files, warnings } = workspace.apply_in(place, change)?;
    let files = elsewhere_files.unwrap_or(files);
    let warnings = uncovered::located(warnings, root.as_deref());
    Ok(Unlanded {
        by: undoing.by,
        from: undoing.from,
        to: undoing.to,
        kept,
        files,
        recovered: elsewhere.as_ref().and_then(|(workspace, _)| workspace.recovered.clone()),
        elsewhere: root,
        warnings,
        landing,
    })
}

fn revert_commit(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    landing: &Landing,
    parent: Oid,
    tree: Oid,
) -> Result<Oid> {
    let landed = Commit::read(repo, landing.commit)?;
    let text = format!(
        "Revert \"{}\"\n\nThis reverts the landing of edt/{} as commit {}.",
        landed.subject(),
        landing.session,
        landing.commit
    );
    let trailers = Trailers::plain(&landing.session, Kind::Unland, 0);
    let message = message::compose(&text, &trailers);
    let candidate = CommitCandidate {
        head: landing.branch.clone(),
        tree,
        parent: Some(parent),
        message,
        allowed: Vec::new(),
    };
    if let Some(signed) = commit_hooks::sign(repo, writer, &candidate)? {
        return Ok(signed);
    }
    writer.write_commit(&NewCommit { tree, parent: Some(parent), message: &candidate.message })
}

fn no_landing(name: &str) -> Finding {
    Finding::new(
        Code::NothingToUndo,
        format!("The session {name} has no landing to undo."),
        "`edt land` lands it; `edt undo` undoes edits that have not landed.",
    )
    .nothing_changed()
}

fn not_contained(landing: &Landing) -> Finding {
    let remedy =
        "The user moved the branch, so there is nothing to undo. `git reflog` shows where it was.";
    nothing_to_undo(landing, ("does not contain", ""), remedy)
}

fn reverted_already(landing: &Landing) -> Finding {
    nothing_to_undo(landing, ("has nothing of", " any more"), "Later commits reverted it already.")
}

fn nothing_to_undo(landing: &Landing, (has, more): (&str, &str), remedy: &str) -> Finding {
    let (branch, session) = (landing.short_branch(), &landing.session);
    let short = landing.commit.to_hex_with_len(12);
    let summary = format!("{branch} {has} the landing of edt/{session} ({short}){more}.");
    Finding::new(Code::NothingToUndo, summary, remedy).nothing_changed()
}

fn conflict(landing: &Landing, paths: Vec<String>) -> Finding {
    let short = landing.commit.to_hex_with_len(12);
    Finding::new(
        Code::MergeConflict,
        format!(
            "Commits on {} after the landing of edt/{} changed the same lines in {}.",
            landing.short_branch(),
            landing.session,
            paths.join(", ").shown()
        ),
        format!(
            "The user can revert it with Git and resolve the conflicts: `git switch {}`, `git \
             revert {short}`.",
            landing.short_branch()
        ),
    )
    .nothing_changed()
    .with("paths", paths)
    .with("commit", landing.commit.to_string())
}

/// The refusal to take lines off the disk that the user typed and let land.
fn users_changes_overlap(landing: &Landing, paths: &[RepoPath]) -> Finding {
    let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
    let finding = Finding::new(
        Code::UnsavedChanges,
        format!(
            "The user's own changes that landed with edt/{} overlap with its edits in {}: the edits \
             alone cannot be taken off the files.",
            landing.session,
            names.join(", ").shown()
        ),
        format!(
            "The user can run `git switch --detach`, then `edt land --undo --session {}`: it moves \
             {} and changes no file.",
            landing.session,
            landing.short_branch()
        ),
    );
    let finding = finding.nothing_changed().with("paths", names);
    match paths.first() {
        Some(first) => finding.at(first),
        None => finding,
    }
}

fn protected(landing: &Landing) -> Finding {
    Finding::new(
        Code::ApprovalRequired,
        format!("Undoing the landing of edt/{} changes a protected path.", landing.session),
        "Ask the user to type `edt land --undo` in their own terminal.",
    )
    .with_effect(Effect::NothingLanded)
    .with("commit", landing.commit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::landing::list::{SessionState, sessions};
    use crate::session::landing::options::LandOptions;
    use crate::session::worktree::switch::switch;
    use crate::tests::{Scratch, refusal};

    fn landed() -> (Scratch, Oid) {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n"), ("b.txt", "b\n")]);
        let before = scratch.head();
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        (scratch, before)
    }

    fn undone(scratch: &Scratch) -> Result<Unlanded> {
        unland(&mut scratch.open(), &UnlandOptions::default())
    }

    fn state(scratch: &Scratch) -> SessionState {
        sessions(&scratch.repo()).unwrap().remove(0).state
    }

    #[test]
    fn the_branch_moves_back_and_the_session_is_open_again() {
        let (scratch, before) = landed();
        let landing = scratch.head();
        let answer = undone(&scratch).unwrap();
        assert_eq!((answer.by, answer.to), (UndoneBy::Rewind, before));
        assert_eq!((scratch.head_target(), scratch.head()), ("refs/heads/main".into(), before));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\n"));
        assert_eq!(scratch.ref_value("refs/edt/fix/landed/1"), None);
        assert_eq!(scratch.ref_value("refs/edt/fix/unlanded/1"), Some(landing));
        assert_eq!(state(&scratch), SessionState::Open);
        assert_eq!(refusal(undone(&scratch)).code, Code::NothingToUndo);
    }

    #[test]
    fn the_users_lines_stay_on_disk() {
        let (scratch, _) = landed();
        scratch.write("a.txt", "ONE\n2\n3\n4\nmine\n");
        undone(&scratch).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\nmine\n"));
    }

    #[test]
    fn a_landing_with_a_commit_on_top_is_reverted_and_can_land_again() {
        let (scratch, _) = landed();
        let top = scratch.user_commit("main", &[("b.txt", Some("B\n"))], "on top\n");
        scratch.write("b.txt", "B\n");
        let answer = undone(&scratch).unwrap();
        assert_eq!((answer.by, answer.from), (UndoneBy::Revert, top));
        assert_eq!(Commit::read(&scratch.repo(), answer.to).unwrap().parent, Some(top));
        assert_eq!(scratch.message(answer.to).lines().next(), Some("Revert \"first\""));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\n"));
        assert_eq!(state(&scratch), SessionState::Open);
        scratch.write(".git/HEAD", "ref: refs/heads/edt/fix\n");
        scratch.write("a.txt", "ONE\n2\n3\n4\n5\n");
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        assert_eq!(scratch.committed(scratch.head(), "a.txt").unwrap(), "ONE\n2\n3\n4\n5\n");
    }

    #[test]
    fn a_landing_that_a_remote_has_is_reverted() {
        let (scratch, _) = landed();
        scratch.set_ref("refs/remotes/origin/main", scratch.head());
        assert_eq!(undone(&scratch).unwrap().by, UndoneBy::Revert);
    }

    #[test]
    fn later_commits_of_the_same_lines_are_a_conflict() {
        let (scratch, _) = landed();
        let top = scratch.user_commit("main", &[("a.txt", Some("uno\n2\n3\n4\n5\n"))], "top\n");
        scratch.write("a.txt", "uno\n2\n3\n4\n5\n");
        assert_eq!(refusal(undone(&scratch)).code, Code::MergeConflict);
        assert_eq!(scratch.head(), top);
    }

    /// An undone landing with a line of the user that the agent changed.
    fn unlanded_with_the_users_line() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        scratch.write("a.txt", "ONE\n2\n3\n4\n5 mine\n6\n7\n8\n9\n");
        crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch.edit("second", "a.txt", "5 mine", "5 mine, changed");
        let options = LandOptions {
            by_user: true,
            allow: vec!["leaves_out".to_owned()],
            ..LandOptions::default()
        };
        let session = scratch.session();
        land(&mut scratch.open(), &session, &options).unwrap();
        undone(&scratch).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5 mine\n6\n7\n8\n9\n"));
        scratch
    }

    #[test]
    fn a_switch_continues_a_session_whose_landing_with_the_users_lines_was_undone() {
        let scratch = unlanded_with_the_users_line();
        scratch.write("a.txt", "1\n2\n3\n4\n5 mine\n6\n7\n8\n9 later\n");
        switch(&mut scratch.open(), "fix").unwrap();
        let text = "ONE\n2\n3\n4\n5 mine, changed\n6\n7\n8\n9 later\n";
        assert_eq!(scratch.text("a.txt").as_deref(), Some(text));
    }

    #[test]
    fn a_session_that_begins_from_it_merges_the_users_lines_too() {
        use crate::session::worktree::begin::{BeginOptions, HeadSwitch, begin};
        let scratch = unlanded_with_the_users_line();
        scratch.write("a.txt", "1\n2\n3\n4\n5 mine\n6\n7\n8\n9 later\n");
        let (switching, from) = (HeadSwitch::AsConfigured, Some("fix".to_owned()));
        let options = BeginOptions { name: None, switching, from, by_user: false };
        begin(&mut scratch.open(), &options).unwrap();
        let text = "ONE\n2\n3\n4\n5 mine, changed\n6\n7\n8\n9 later\n";
        assert_eq!(scratch.text("a.txt").as_deref(), Some(text));
    }

    #[test]
    fn a_switch_overwrites_no_line_that_the_session_does_not_have() {
        let scratch = unlanded_with_the_users_line();
        for text in ["1\n2\n3\n4\n5 other\n6\n7\n8\n9\n", "1\n2\n3\n4\n5 mine, too\n6\n7\n8\n9\n"] {
            scratch.write("a.txt", text);
            let finding = refusal(switch(&mut scratch.open(), "fix"));
            assert_eq!(finding.code, Code::UnsavedChanges);
            assert_eq!(scratch.text("a.txt").as_deref(), Some(text));
        }
    }

    #[test]
    fn the_users_lines_that_landed_stay_on_disk() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        let before = scratch.head();
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        scratch.write("a.txt", "ONE by hand\n2\n3\n4\n5\n");
        crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch.edit("second", "a.txt", "ONE by", "TWO by");
        let session = scratch.session();
        let consent = LandOptions {
            by_user: true,
            allow: vec!["leaves_out".to_owned()],
            ..LandOptions::default()
        };
        land(&mut scratch.open(), &session, &consent).unwrap();
        let landed = scratch.head();
        let finding = refusal(undone(&scratch));
        assert_eq!((finding.code, finding.path.as_deref()), (Code::UnsavedChanges, Some("a.txt")));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("TWO by hand\n2\n3\n4\n5\n"));
        assert_eq!(scratch.ref_value("refs/heads/main"), Some(landed));
        scratch.write(".git/HEAD", &format!("{landed}\n"));
        let options = UnlandOptions { session: Some("fix".into()), ..UnlandOptions::default() };
        unland(&mut scratch.open(), &options).unwrap();
        assert_eq!(scratch.ref_value("refs/heads/main"), Some(before));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("TWO by hand\n2\n3\n4\n5\n"));
    }

    #[test]
    fn the_answer_names_only_the_files_that_changed_on_disk() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        scratch.write("n.txt", "mine\n");
        crate::session::recording::record::checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let session = scratch.session();
        let consent = LandOptions {
            by_user: true,
            allow: vec!["leaves_out".to_owned()],
            ..LandOptions::default()
        };
        land(&mut scratch.open(), &session, &consent).unwrap();
        let paths = |done: Unlanded| -> Vec<String> {
            done.files.into_iter().map(|file| file.path).collect()
        };
        assert_eq!(paths(undone(&scratch).unwrap()), ["a.txt"]);
        assert_eq!(scratch.text("n.txt").as_deref(), Some("mine\n"));
        // Without a worktree on the branch, the answer names what differs on it.
        switch(&mut scratch.open(), "fix").unwrap();
        let session = scratch.session();
        land(&mut scratch.open(), &session, &consent).unwrap();
        scratch.write(".git/HEAD", "ref: refs/heads/edt/fix\n");
        assert_eq!(paths(undone(&scratch).unwrap()), ["a.txt", "n.txt"]);
    }

    #[test]
    fn the_users_lines_in_an_amended_edit_that_landed_stay_on_disk() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "ONE");
        let message = scratch.message(scratch.head());
        scratch.set_ref("refs/heads/edt/fix", scratch.session().base);
        let text = "ONE\n2\n3\n4\n5 mine\n";
        scratch.user_commit("edt/fix", &[("a.txt", Some(text))], &message);
        scratch.write("a.txt", text);
        let session = scratch.session();
        land(
            &mut scratch.open(),
            &session,
            &LandOptions { by_user: true, ..LandOptions::default() },
        )
        .unwrap();
        undone(&scratch).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5 mine\n"));
    }

    #[test]
    fn a_landing_that_left_its_branch_is_not_undone() {
        let (scratch, before) = landed();
        scratch.set_ref("refs/heads/main", before);
        let options = UnlandOptions { session: Some("fix".into()), ..UnlandOptions::default() };
        let finding = refusal(unland(&mut scratch.open(), &options));
        assert_eq!(finding.code, Code::NothingToUndo);
        assert!(finding.summary.starts_with("main does not contain"), "{}", finding.summary);
    }
}
