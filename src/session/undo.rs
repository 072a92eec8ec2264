//! Taking edits back and bringing them again: the branch moves, and the files that differ follow. Nothing is lost: the tip that
//! was left is kept at `refs/edt/<name>/undone/<n>`, and unrecorded changes are checkpointed first.

use super::checkpoint::{Checkpoints, Why};
use super::current::{REFS, Session};
use super::history::Commit;
use super::list::{next_kept, numbered};
use super::moving::{self, Steps};
use super::world::World;
use crate::base::{Code, Finding, Result, Warning};
use crate::git::diff::Differs;
use crate::git::{Draft, InHead, Oid, Repo};
use crate::journal::{Branch, Change, From, IndexView, publish};

/// How far back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Back {
    /// So many edits.
    Edits(u64),
    /// To a commit of the session.
    To(String),
}

/// What was moved.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The branch before.
    pub from: Oid,
    /// The branch now.
    pub to: Oid,
    /// The paths that differ, from before to now.
    pub paths: Vec<Differs>,
    /// Commits that recorded unrecorded changes first.
    pub checkpoints: Vec<Oid>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Takes edits back.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `BAD_REQUEST` for a revision outside the session; what looking and publishing may answer.
pub fn undo(world: &mut World, session: &Session, back: &Back) -> Result<Moved> {
    let target = match back {
        Back::Edits(count) => before_edits(&world.repo, session, *count)?,
        Back::To(spec) => within_session(&world.repo, session, spec)?,
    };
    let keep = next_kept(&world.repo, &session.name, "undone")?;
    go(world, session, target, From::Later(session.tip), Some(keep))
}

/// Brings back what the last `undo` took.
///
/// # Errors
/// `NOTHING_TO_REDO`; what looking and publishing may answer.
pub fn redo(world: &mut World, session: &Session) -> Result<Moved> {
    // The newest one that continues the branch as it stands; what was brought back already does not.
    for (_, tip) in numbered(&world.repo, &session.name, "undone")?.into_iter().rev() {
        if tip != session.tip && world.repo.leads_to(tip, session.tip, session.base)? {
            return go(world, session, tip, From::Value(session.tip), None);
        }
    }
    Err(Finding::new(
        Code::NothingToRedo,
        format!(
            "There is nothing to redo in the session {}: nothing was undone, or edits came after the undo.",
            session.name
        ),
        format!(
            "`git for-each-ref {}` lists what was undone; `git cherry-pick` or `edt restore` brings parts of it back.",
            undone_prefix(session)
        ),
    )
    .into())
}

/// Moves the branch to `target`; the tip that is left is kept under the name `keep`.
fn go(
    world: &mut World,
    session: &Session,
    target: Oid,
    from: From,
    keep: Option<String>,
) -> Result<Moved> {
    let repo = &world.repo;
    repo.check_idle()?;
    session.check_alone(repo)?;
    let mut draft = Draft::new(repo);
    let (tip_tree, target_tree) = (repo.tree_of(session.tip)?, repo.tree_of(target)?);
    let paths = repo.tree_diff(tip_tree, target_tree)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let looks = moving::look_at(repo, tip_tree, index.as_ref(), &paths)?;
    moving::check_beside(repo, session, &looks, &paths)?;
    let edits = session.edits(repo)?;
    let attributes = moving::attributes(&paths, tip_tree, target_tree);
    let checkpoints = Checkpoints::draft(
        &mut draft,
        session,
        tip_tree,
        edits,
        &looks.iter().collect::<Vec<_>>(),
        Why::Foreign,
    )?;
    let tree = index.as_ref().map(|_| tip_tree);
    let Steps { files, moves, folders } =
        Steps::of(&mut draft, tree, attributes, &moving::to_second(looks, &paths))?;
    let verb = if matches!(from, From::Later(_)) { "edt undo" } else { "edt redo" };
    // What a checkpoint just recorded must stay reachable although the branch goes elsewhere.
    let recorded = !checkpoints.made.is_empty();
    let keep = if keep.is_none() && recorded {
        Some(next_kept(repo, &session.name, "undone")?)
    } else {
        keep
    };
    let create = keep.map(|name| (name, checkpoints.tip)).into_iter().collect();
    let branch = Branch {
        name: session.branch(),
        from,
        new: target,
        log: format!("{verb}: moving to {}", target.to_hex_with_len(12)),
        head: session.head,
        head_from: None,
        point: None,
    };
    let change = Change {
        objects: draft.loose(),
        create,
        files,
        index: index.map(|index| (index, moves)),
        folders,
        ..Change::of(branch)
    };
    world.heed(session.base);
    let warnings = publish(&world.repo, &mut world.journal, change)?;
    Ok(Moved { from: session.tip, to: target, paths, checkpoints: checkpoints.made, warnings })
}

/// The commit before the last `count` edits; the checkpoints between them go with them, those before them stay.
fn before_edits(repo: &Repo, session: &Session, count: u64) -> Result<Oid> {
    let mut left = count;
    for commit in session.commits(repo) {
        let commit = commit?;
        match &commit.trailers {
            None => return Err(persons_commit(session, &commit).into()),
            Some(trailers) if trailers.kind.is_edit() => left -= 1,
            Some(_) => {}
        }
        if left == 0 {
            return commit.parent.ok_or_else(|| nothing(session, count).into());
        }
    }
    Err(nothing(session, count).into())
}

fn within_session(repo: &Repo, session: &Session, spec: &str) -> Result<Oid> {
    let target = repo.commit_named(spec)?;
    if target == session.tip {
        return Err(nothing(session, 0).into());
    }
    if target == session.base {
        return Ok(target);
    }
    for commit in session.commits(repo) {
        if commit?.oid == target {
            return Ok(target);
        }
    }
    Err(Finding::new(
        Code::BadRequest,
        format!("{spec} is not a commit of the session {}.", session.name),
        "`edt log` lists the session's commits; name one of them, or the base.",
    )
    .into())
}

fn undone_prefix(session: &Session) -> String {
    format!("{REFS}{}/undone/", session.name)
}

fn nothing(session: &Session, count: u64) -> Finding {
    let message = match count {
        0 => format!("The session {} is there already.", session.name),
        1 => format!("The session {} has no edit to take back.", session.name),
        count => format!("The session {} does not have {count} edits to take back.", session.name),
    };
    Finding::new(
        Code::NothingToUndo,
        message,
        "`edt log` lists what there is; `edt redo` brings back what was undone.",
    )
}

fn persons_commit(session: &Session, commit: &Commit) -> Finding {
    let short = commit.oid.to_hex_with_len(12);
    Finding::new(
        Code::NothingToUndo,
        format!("The commit {short} ({}) on edt/{} was made by a person; undo takes back only edits of edt's.", commit.subject(), session.name),
        format!("A person may take it back with `git reset --keep {short}~1`, or go past it on purpose with `edt undo --to {short}~1`."),
    )
    .with("commit", commit.oid.to_string())
}
