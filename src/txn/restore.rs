//! One file set to an earlier state, as a new commit. Guards do not judge it: the state was there before.

use super::commit::{Drafted, Recipe};
use super::plan::Content;
use crate::base::{Change, FileReport, Outcome, RepoPath, Result, Status};
use crate::edit::diff::Lines;
use crate::git::read::ObjectKind;
use crate::git::{Attributes, Draft, InHead};
use crate::guard::protected;
use crate::io::clock;
use crate::journal::{IndexView, publish};
use crate::session::message::Kind;
use crate::session::{Look, Session, World, restore as history};

/// Sets the file at `path` to what it was before its latest edit (`revision` 0), the one before (1), and so on.
///
/// # Errors
/// `NO_SESSION`, `NOTHING_TO_UNDO` if there is no such revision, and what looking and publishing may answer.
pub fn restore(world: &mut World, path: &RepoPath, revision: u64) -> Result<Outcome> {
    let repo = &world.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let session = Session::needed(repo, &head)?;
    session.check_alone(repo)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let wanted = history::before(repo, &session, path, revision)?;
    let tree = repo.tree_of(session.tip)?;
    let look = Look::at(repo, tree, index.as_ref(), path)?;
    if let Some(finding) = super::resolve::read_only(&look) {
        return Err(finding.into());
    }
    if world.policy(repo.tree_of(session.base)?)?.protects(path) {
        return Err(protected::protected(path).into());
    }
    let content = |file: crate::git::FileId| {
        let blob = repo.object(file.oid, ObjectKind::Blob)?;
        look.checked_out(repo, Attributes::Worktree(tree), blob)
            .map(|forms| Content::of(forms, file.mode))
    };
    let after = wanted.map(content).transpose()?;
    let mut outcome = Outcome::new(Status::Unchanged);
    outcome.session = Some(session.report(false));
    outcome.settled.clone_from(&world.settled);
    if look.disk_file() == wanted {
        return Ok(outcome);
    }
    outcome.files = vec![report(&look, after.as_ref(), wanted.map(|file| file.oid.to_string()))];
    let text = format!("restore {path} to before its edit {revision} back");
    let recipe = Recipe {
        session: &session,
        begun: None,
        tree,
        index,
        files: vec![(look, after)],
        text,
        kind: Kind::Restore,
        verb: "edt restore",
        agent: None,
        allowed: Vec::new(),
        more: Vec::new(),
    };
    let Drafted { change, checkpoints, commit, edit, .. } = recipe.draft(repo, Draft::new(repo))?;
    world.heed(session.base);
    outcome.warnings = publish(&world.repo, &mut world.journal, change)?;
    outcome.status = Status::Applied;
    outcome.commit = Some(commit.to_string());
    outcome.parent = Some(session.tip.to_string());
    outcome.edit = Some(edit);
    outcome.checkpoints = checkpoints.made.iter().map(ToString::to_string).collect();
    Ok(outcome)
}

fn report(look: &Look, after: Option<&Content>, hash_after: Option<String>) -> FileReport {
    let old = look.disk.as_ref();
    let (old_text, new_text) =
        (old.map_or(&[][..], |disk| &disk.bytes), after.map_or(&[][..], |content| &content.bytes));
    let (lines_added, lines_removed) = Lines::of(old_text, new_text, clock::in_ms(100)).counts();
    FileReport {
        path: look.path.to_string(),
        change: match (old, after) {
            (None, _) => Change::Added,
            (_, None) => Change::Deleted,
            _ => Change::Modified,
        },
        from: None,
        hash_before: old.map(|disk| disk.file.oid.to_string()),
        hash_after,
        bytes_before: old.map(crate::session::OnDisk::size),
        bytes_after: after.map(Content::size),
        lines_added,
        lines_removed,
        context: None,
        matched_by: None,
    }
}
