//! Landing: the session's work as one commit on the branch it began from, made true where that branch is checked out.

use std::path::PathBuf;

use super::current::{POINTER, Session};
use super::history::Commit;
use super::list::{next_kept, origin};
use super::look::Look;
use super::message::{self, Kind, Trailers};
use super::moving::{self, Steps};
use super::work::{Piece, Target, Work};
use super::world::World;
use crate::base::{Code, Finding, Findings, Result, Warning};
use crate::git::commit_hooks::{self, Proposed};
use crate::git::diff::Differs;
use crate::git::index::Staged;
use crate::git::read::ObjectKind;
use crate::git::{self, Draft, FileId, InHead, Oid, Repo, Tracked};
use crate::journal::{Branch, Change, From, IndexView, publish};

/// How to land.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Land {
    /// The branch; the one the session began on if not given.
    pub into: Option<String>,
    /// The message of the commit; made from the session's edits if not given.
    pub message: Option<String>,
    /// Overrides for guards that judge the landing as a whole: edt's own `pre-commit` hook, where it is installed.
    pub allow: Vec<String>,
}

/// What landed.
#[derive(Debug)]
pub struct Landed {
    /// The branch.
    pub target: Target,
    /// Its commit now.
    pub commit: Oid,
    /// The commits that are new on it, oldest first.
    pub made: Vec<Oid>,
    /// How many edits of the session it holds.
    pub edits: u64,
    /// The paths that differ from the branch's commit before.
    pub paths: Vec<Differs>,
    /// The other worktree whose files followed, if it is not this one.
    pub elsewhere: Option<PathBuf>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Lands `session`.
///
/// # Errors
/// `NOTHING_TO_LAND`, `MERGE_CONFLICT`, `UNSAVED_CHANGES`, `GIT_OPERATION_BLOCKED` (a commit hook), `BAD_REQUEST` (no such branch), and what
/// publishing may answer. Nothing is then changed, but for what a hook itself did to files.
pub fn land(world: &mut World, session: &Session, how: &Land) -> Result<Landed> {
    let repo = &world.repo;
    repo.check_idle()?;
    session.check_alone(repo)?;
    let target = target(repo, session, how)?;
    let mut elsewhere = other_worktree(world, session, &target)?;
    let mut draft = Draft::new(repo);
    let work = Work::of(repo, &mut draft, session, &target)?;
    let place = elsewhere.as_ref().map_or(repo, |(world, _)| &world.repo);
    place.check_idle()?;
    let made = Commits { repo: place, session, target: &target, work: &work, how };
    let made = made.make(&mut draft)?;
    let commit = *made.last().unwrap_or(&session.tip);
    // A hook may have changed what is landed: the commit's own tree counts, not the one that was merged.
    let tree = draft.tree_of(commit)?;
    let (mut following, stays) = Following::of(place, session, &target, tree, &mut draft, elsewhere.is_some())?;
    let mut warnings = Vec::from_iter(stays);
    warnings.extend(folded(&work.folded, &target));
    let branch = Branch {
        name: target.branch.clone(),
        from: target.tip.map_or(From::Nothing(commit), From::Value),
        new: commit,
        log: format!("edt land: edt/{}", session.name),
        head: following.head,
        head_from: following.head_from.take(),
        point: None,
    };
    let change = Change {
        objects: draft.loose(),
        create: vec![
            (next_kept(repo, &session.name, "landed")?, session.tip),
            (next_kept(repo, &session.name, "landing")?, commit),
        ],
        files: following.steps.files,
        index: following.index.map(|index| (index, following.steps.moves)),
        folders: following.steps.folders,
        ..Change::of(branch)
    };
    let before = target.tree(repo)?;
    let (there, journal) = match &mut elsewhere {
        Some((world, _)) => (&world.repo, &mut world.journal),
        None => (repo, &mut world.journal),
    };
    warnings.extend(publish(there, journal, change)?);
    commit_hooks::after(there);
    if session.head == InHead::No {
        world.repo.unpoint_ref(POINTER, &session.branch());
    }
    let paths = world.repo.tree_diff(before, world.repo.tree_of(commit)?)?;
    let edits = work.commits.iter().filter(|commit| is_edit(commit)).count() as u64;
    Ok(Landed { target, commit, made, edits, paths, elsewhere: elsewhere.map(|(_, root)| root), warnings })
}

fn is_edit(commit: &Commit) -> bool {
    commit.trailers.as_ref().is_some_and(|trailers| trailers.kind.is_edit())
}

/// The branch to land on.
fn target(repo: &Repo, session: &Session, how: &Land) -> Result<Target> {
    let unknown = |why: String| {
        Finding::new(
            Code::BadRequest,
            format!("{why} Nothing was changed."),
            "Name a branch to land on: `edt land --into BRANCH` (`git branch` lists them).",
        )
    };
    let origin = origin(repo, &session.name)?;
    let branch = match (&how.into, &origin) {
        (Some(into), _) if into.starts_with("refs/heads/") => into.clone(),
        (Some(into), _) => format!("refs/heads/{into}"),
        (None, Some(origin)) if origin.starts_with("refs/heads/") => origin.clone(),
        (None, _) => return Err(unknown(format!("edt/{} did not begin on a branch.", session.name)).into()),
    };
    if !repo.is_ref_name(&branch) || branch == session.branch() {
        return Err(unknown(format!("{branch} is no branch that edt/{} can land on.", session.name)).into());
    }
    let tip = repo.ref_value(&branch)?;
    let unborn = session.base == repo.empty_tree() && origin.as_ref() == Some(&branch);
    if tip.is_none() && !unborn {
        return Err(unknown(format!("There is no branch {}.", branch.trim_start_matches("refs/heads/"))).into());
    }
    Ok(Target { branch, tip })
}

/// The other worktree that has the target checked out, opened to change it.
fn other_worktree(world: &World, session: &Session, target: &Target) -> Result<Option<(World, PathBuf)>> {
    let on_target = |worktree: &git::Worktree| {
        !worktree.here && worktree.head.as_ref() == Some(&target.branch) && worktree.head != Some(session.branch())
    };
    let Some(other) = world.repo.worktrees(POINTER).into_iter().find(on_target) else { return Ok(None) };
    let Some(root) = world.repo.root_of(&other) else { return Ok(None) };
    Ok(Some((world.neighbour(&root)?, root)))
}

/// The commits to make on the target.
struct Commits<'a> {
    repo: &'a Repo,
    session: &'a Session,
    target: &'a Target,
    work: &'a Work,
    how: &'a Land,
}

impl Commits<'_> {
    /// Drafts them, after Git's hooks have judged the squashed ones; oldest first.
    fn make(&self, draft: &mut Draft<'_>) -> Result<Vec<Oid>> {
        let (mut made, mut at): (Vec<Oid>, Option<Oid>) = (Vec::new(), self.target.tip);
        for piece in &self.work.pieces {
            let commit = match piece {
                Piece::Squash { tree, commits } => self.squash(draft, *tree, commits, at)?,
                Piece::Kept { commit, tree, others } => {
                    let original = self.repo.object(*commit, ObjectKind::Commit)?;
                    let parents: Vec<Oid> = at.into_iter().chain(others.iter().copied()).collect();
                    let read = Commit::read(self.repo, *commit)?;
                    if read.parent == at && read.tree == *tree && read.others == *others {
                        *commit
                    } else {
                        draft.recommit(&original, *tree, &parents)?
                    }
                }
            };
            made.push(commit);
            at = Some(commit);
        }
        Ok(made)
    }

    fn squash(&self, draft: &mut Draft<'_>, tree: Oid, commits: &[Commit], parent: Option<Oid>) -> Result<Oid> {
        let head = match parent {
            Some(parent) if self.target.tip != Some(parent) => parent.to_string(),
            _ => self.target.branch.clone(),
        };
        let allowed = self.allowed(commits);
        let message = self.message(commits, &allowed);
        let proposed = commit_hooks::run(self.repo, draft, Proposed { head, tree, parent, message, allowed })?;
        if let Some(signed) = commit_hooks::signed(self.repo, draft, &proposed)? {
            return Ok(signed);
        }
        draft.commit(&git::Commit { tree: proposed.tree, parent, message: &proposed.message })
    }

    /// The overrides that the edits recorded, and those that the landing itself is given.
    fn allowed(&self, commits: &[Commit]) -> Vec<String> {
        let recorded = commits.iter().filter_map(|commit| commit.trailers.as_ref()).flat_map(|own| own.allowed.clone());
        let mut allowed: Vec<String> = recorded.chain(self.how.allow.iter().cloned()).collect();
        allowed.sort();
        allowed.dedup();
        allowed
    }

    /// What was asked for, else the only edit's subject, else a list of the edits; with trailers.
    fn message(&self, commits: &[Commit], allowed: &[String]) -> String {
        let edits: Vec<&Commit> = commits.iter().filter(|commit| is_edit(commit)).collect();
        let text = match (self.how.message.as_deref(), edits.as_slice()) {
            (Some(text), _) => text.to_owned(),
            (None, [one]) => one.subject().to_owned(),
            (None, many) => {
                let list: Vec<String> = many.iter().map(|edit| format!("* {}", edit.subject())).collect();
                format!("land edt/{}: {} edits\n\n{}", self.session.name, many.len(), list.join("\n"))
            }
        };
        let mut agents: Vec<String> =
            commits.iter().filter_map(|commit| commit.trailers.as_ref()?.agent.clone()).collect();
        agents.sort();
        agents.dedup();
        let folded = self
            .work
            .folded
            .iter()
            .map(|commit| format!("\nIncludes {} ({}, by {})", commit.oid, commit.subject(), commit.author));
        let text =
            text + &folded.fold(String::new(), |all, one| if all.is_empty() { format!("\n{one}") } else { all + &one });
        message::compose(
            &text,
            &Trailers {
                agent: (!agents.is_empty()).then(|| agents.join(", ")),
                allowed: allowed.to_vec(),
                ..Trailers::plain(&self.session.name, Kind::Land, edits.len() as u64)
            },
        )
    }
}

/// Files and index of the worktree that follows the target.
struct Following {
    head: InHead,
    head_from: Option<String>,
    index: Option<IndexView>,
    steps: Steps,
}

impl Following {
    /// Which worktree follows, and how; the warning says if HEAD stays on the session although it could have gone.
    fn of(
        place: &Repo,
        session: &Session,
        target: &Target,
        tree: Oid,
        draft: &mut Draft<'_>,
        elsewhere: bool,
    ) -> Result<(Following, Option<Warning>)> {
        let nowhere = || Following { head: InHead::No, head_from: None, index: None, steps: Steps::default() };
        let switch = !elsewhere && session.head == InHead::Yes;
        let here = place.head_names()?.as_ref() == Some(&target.branch);
        if !switch && !here {
            return Ok((nowhere(), None));
        }
        let from = if switch { place.tree_of(session.tip)? } else { target.tree(place)? };
        let paths = draft.tree_diff(from, tree)?;
        if switch && !paths.iter().all(Differs::is_of_files) {
            return Ok((nowhere(), Some(stays(target))));
        }
        let index = IndexView::read(place)?;
        let looks = moving::look_at(place, from, Some(&index), &paths)?;
        let tip = place.tree_of(session.tip)?;
        let unsaved: Vec<&Look> = looks
            .iter()
            .zip(&paths)
            .map(|(look, differs)| Ok((look, is_saved(place, tip, look, differs.new.and_then(git::diff::Item::file))?)))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .filter_map(|(look, saved)| (!saved).then_some(look))
            .collect();
        Findings::check(unsaved.into_iter().map(|look| super::moving::unsaved(&look.path)).collect())?;
        // The landed tree may only be drafted; attributes that differ from the session's are the target's.
        let attributes = moving::attributes(&paths, from, target.tree(place)?);
        let steps = Steps::of(draft, Some(from), attributes, &moving::to_second(looks, &paths))?;
        let head_from = switch.then(|| session.branch());
        Ok((Following { head: InHead::Yes, head_from, index: Some(index), steps }, None))
    }
}

/// Whether all that stands at a path, on disk and staged, is in the old tree, the new one or the session.
fn is_saved(place: &Repo, tip: Oid, look: &Look, wanted: Option<FileId>) -> Result<bool> {
    let recorded = match place.tracked(tip, &look.path)? {
        Tracked::File(file) => Some(file),
        _ => None,
    };
    let known = [look.tip, wanted, recorded];
    let staged = match look.staged {
        Staged::File(file) => known.contains(&Some(file)),
        _ => true,
    };
    Ok(staged && known.contains(&look.disk_file()))
}

fn folded(commits: &[Commit], target: &Target) -> Option<Warning> {
    if commits.is_empty() {
        return None;
    }
    let names: Vec<String> =
        commits.iter().map(|commit| format!("{} ({})", commit.oid.to_hex_with_len(12), commit.subject())).collect();
    Some(Warning {
        code: "folded_commits",
        path: None,
        message: format!(
            "{} of a person's commits could not stay apart on {} and are part of the landed commit, which names them: {}.",
            commits.len(),
            target.short(),
            names.join(", ")
        ),
    })
}

fn stays(target: &Target) -> Warning {
    Warning {
        code: "head_stays",
        path: None,
        message: format!(
            "HEAD stays on the session's branch: links or submodules differ on {0}, which edt does not change. `git switch {0}` goes there.",
            target.short()
        ),
    }
}
