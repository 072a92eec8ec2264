//! Landing: the session's work as one commit on the branch it began from, made true where that branch is checked out.

use std::path::{Path, PathBuf};

use super::current::{POINTER, Session};
use super::history::Commit;
use super::list::{next_kept, origin};
use super::look::Look;
use super::moving::{self, Steps};
use super::squash::Squash;
use super::work::{Piece, Target, Work};
use super::world::World;
use crate::base::{Code, Finding, Findings, Result, Settled, Warning};
use crate::git::commit_hooks;
use crate::git::diff::Differs;
use crate::git::{self, Draft, FileId, InHead, Loose, Oid, Repo, Tracked};
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
    /// What was settled first in that other worktree.
    pub settled: Option<Settled>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Lands `session`.
///
/// # Errors
/// `NOTHING_TO_LAND`, `MERGE_CONFLICT`, `UNSAVED_CHANGES`, `GIT_OPERATION_BLOCKED` (a commit hook), `BAD_REQUEST` (no such branch), and what
/// publishing may answer. Nothing is then changed, but for what a hook itself did to files.
pub fn land(world: &mut World, session: &Session, how: &Land) -> Result<Landed> {
    world.repo.check_idle()?;
    session.check_alone(&world.repo)?;
    // Git's hooks may take long, and may call edt: nothing is held meanwhile, and everything is looked at again after them.
    let drafted = world.unlocked(|repo| Drafted::of(repo, session, how))?;
    let repo = &world.repo;
    let Drafted { target, work, made, mut objects, commit, tree } = drafted;
    repo.check_idle()?;
    session.check_alone(repo)?;
    let mut elsewhere = other_worktree(world, session, &target)?;
    let moved = |what: &str| {
        let message = format!("{what} moved while Git's hooks ran. Nothing was landed.");
        Finding::new(Code::SessionMoved, message, "Repeat the call.")
    };
    if Session::current(repo, &repo.head()?)?.as_ref() != Some(session) {
        return Err(moved(&format!("edt/{}", session.name)).into());
    }
    if repo.ref_value(&target.branch)? != target.tip {
        return Err(moved(target.short()).into());
    }
    let place = elsewhere.as_ref().map_or(repo, |(world, _)| &world.repo);
    place.check_idle()?;
    let root = elsewhere.as_ref().map(|(_, root)| root.as_path());
    let (mut following, stays) = Following::of(place, session, &target, tree, root)?;
    let mut warnings = Vec::from_iter(stays);
    warnings.extend(folded(&work.folded, &target));
    warnings.extend(unused_message(&work, how));
    // The commits themselves, too: nothing names them until the branch does.
    objects.append(&mut following.objects);
    let paths = repo.tree_diff(target.tree(repo)?, tree)?;
    let branch = Branch {
        name: target.branch.clone(),
        from: target.tip.map_or(From::Nothing(commit), From::Value),
        new: commit,
        log: format!("edt land: edt/{}", session.name),
        head: following.head,
        head_from: following.head_from.take(),
        point: None,
    };
    // A session beside HEAD is over with its landing.
    let pointer = match (session.head, &elsewhere) {
        (InHead::No, None) if repo.symbolic_ref(POINTER)? == Some(session.branch()) => {
            vec![(POINTER.to_owned(), session.tip)]
        }
        _ => Vec::new(),
    };
    let change = Change {
        objects,
        create: vec![
            (next_kept(repo, &session.name, "landed")?, session.tip),
            (next_kept(repo, &session.name, "landing")?, commit),
        ],
        files: following.steps.files,
        index: following.index.map(|index| (index, following.steps.moves)),
        folders: following.steps.folders,
        drop: pointer,
        ..Change::of(branch)
    };
    world.heed(session.base);
    let (repo, level) = (&world.repo, world.journal.durability());
    let (there, journal) = match &mut elsewhere {
        Some((world, _)) => (&world.repo, &mut world.journal),
        None => (repo, &mut world.journal),
    };
    journal.heed(level);
    warnings.extend(publish(there, journal, change)?);
    let settled = elsewhere.as_ref().and_then(|(world, _)| world.settled.clone());
    let root = elsewhere.map(|(_, root)| root);
    if session.head == InHead::No {
        // The other worktree's journal cannot tell of it: what a crash leaves here is a session that may go on.
        let _ = world.repo.unpoint_ref(POINTER, &session.branch());
    }
    let place = root.clone().unwrap_or_else(|| world.repo.root_path().to_owned());
    // It is done: what the last hook does, and how long it takes, changes nothing, and needs no lock.
    world.release();
    warnings.extend(commit_hooks::after(&world.repo, &place));
    let edits = work.commits.iter().filter(|commit| commit.is_edit()).count() as u64;
    Ok(Landed { target, commit, made, edits, paths, elsewhere: root, settled, warnings })
}

/// The commits to land, made and written; no ref names them.
struct Drafted {
    target: Target,
    work: Work,
    made: Vec<Oid>,
    /// All that they need.
    objects: Vec<Loose>,
    /// The last of them.
    commit: Oid,
    /// Its tree: a hook may have changed what was merged.
    tree: Oid,
}

impl Drafted {
    fn of(repo: &Repo, session: &Session, how: &Land) -> Result<Drafted> {
        let target = target(repo, session, how)?;
        let mut draft = Draft::new(repo);
        let work = Work::of(repo, &mut draft, session, &target)?;
        let made = Squash { repo, session, target: &target, work: &work, how }.make(&mut draft)?;
        let commit = *made.last().unwrap_or(&session.tip);
        let tree = draft.tree_of(commit)?;
        let objects = draft.loose();
        git::objects::write_synced(repo.objects_dir(), &objects)?;
        Ok(Drafted { target, work, made, objects, commit, tree })
    }
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
        (None, _) => {
            return Err(unknown(format!("edt/{} did not begin on a branch.", session.name)).into());
        }
    };
    if !repo.is_ref_name(&branch) || branch == session.branch() {
        return Err(unknown(format!(
            "{branch} is no branch that edt/{} can land on.",
            session.name
        ))
        .into());
    }
    let tip = repo.ref_value(&branch)?;
    let unborn = session.base == repo.empty_tree() && origin.as_ref() == Some(&branch);
    if tip.is_none() && !unborn {
        return Err(unknown(format!(
            "There is no branch {}.",
            branch.trim_start_matches("refs/heads/")
        ))
        .into());
    }
    Ok(Target { branch, tip })
}

/// The other worktree that has the target checked out, opened to change it.
fn other_worktree(
    world: &World,
    session: &Session,
    target: &Target,
) -> Result<Option<(World, PathBuf)>> {
    for other in world.repo.worktrees(POINTER).into_iter().filter(|one| !one.here) {
        let busy = |why: &str, hint: &str| {
            let message = format!(
                "{} {why} ({}). Nothing was landed.",
                target.short(),
                other.git_dir.display()
            );
            Finding::new(Code::RepositoryBusy, message, hint.to_owned())
        };
        if other.is_held(&target.branch) {
            return Err(busy(
                "is being rebased or bisected in another worktree",
                "A person finishes that there first; then repeat `edt land`.",
            )
            .into());
        }
        if other.head.as_ref() != Some(&target.branch) || other.head == Some(session.branch()) {
            continue;
        }
        if let Some(root) = world.repo.root_of(&other) {
            return Ok(Some((world.neighbour(&root)?, root)));
        }
        if !other.is_main() {
            let hint = "Bring that worktree back, or forget it with `git worktree prune`; then repeat `edt land`.";
            return Err(busy("is checked out in a worktree that is not there now", hint).into());
        }
    }
    Ok(None)
}

/// Files and index of the worktree that follows the target.
struct Following {
    head: InHead,
    head_from: Option<String>,
    index: Option<IndexView>,
    objects: Vec<Loose>,
    steps: Steps,
}

impl Following {
    /// Which worktree follows, and how; the warning says if HEAD stays on the session although it could have gone. `elsewhere` is the
    /// root of the place, if it is another worktree.
    fn of(
        place: &Repo,
        session: &Session,
        target: &Target,
        tree: Oid,
        elsewhere: Option<&Path>,
    ) -> Result<(Following, Option<Warning>)> {
        let nowhere = || {
            let (objects, steps) = (Vec::new(), Steps::default());
            Following { head: InHead::No, head_from: None, index: None, objects, steps }
        };
        let switch = elsewhere.is_none() && session.head == InHead::Yes;
        let here = place.head_names()?.as_ref() == Some(&target.branch);
        if !switch && !here {
            return Ok((nowhere(), None));
        }
        let from = if switch { place.tree_of(session.tip)? } else { target.tree(place)? };
        let paths = place.tree_diff(from, tree)?;
        let index = IndexView::read(place)?;
        let looks = match moving::look_at(place, from, Some(&index), &paths) {
            Ok(looks) => looks,
            Err(found) if switch && is_of_kind(&found) => {
                return Ok((nowhere(), Some(stays(target))));
            }
            Err(found) => return Err(by_hand(found, session, elsewhere)),
        };
        let (tip, mut unsaved) = (place.tree_of(session.tip)?, Vec::new());
        for (look, differs) in looks.iter().zip(&paths) {
            let recorded = match place.tracked(tip, &look.path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            };
            let known = [look.tip, differs.new.and_then(git::diff::Item::file), recorded];
            if !look.is_known(&known) {
                unsaved.push(in_the_way(look, &known, elsewhere));
            }
        }
        Findings::check(unsaved)?;
        let mut draft = Draft::new(place);
        let attributes = moving::attributes(&paths, from, tree);
        let steps =
            Steps::of(&mut draft, Some(from), attributes, &moving::to_second(looks, &paths))?;
        let head_from = switch.then(|| session.branch());
        Ok((
            Following {
                head: InHead::Yes,
                head_from,
                index: Some(index),
                objects: draft.loose(),
                steps,
            },
            None,
        ))
    }
}

/// Whether all that was found is about links, submodules and folders, which edt does not change.
fn is_of_kind(found: &Findings) -> bool {
    found
        .clone()
        .into_vec()
        .iter()
        .all(|one| matches!(one.code, Code::NotAFile | Code::PathThroughSymlink))
}

/// The same findings, with the way out that is left: Git's own merge.
fn by_hand(found: Findings, session: &Session, elsewhere: Option<&Path>) -> Findings {
    let git =
        elsewhere.map_or_else(|| "git".to_owned(), |root| format!("git -C {}", root.display()));
    let hint = format!(
        "Land it there with Git: `{git} merge --squash edt/{}`, then `{git} commit`.",
        session.name
    );
    let told = found.into_vec().into_iter().map(|one| {
        if is_of_kind(&one.clone().into()) { Finding { hint: hint.clone(), ..one } } else { one }
    });
    Findings::check(told.collect()).err().unwrap_or_else(|| {
        Finding::new(Code::Internal, "No finding was left.", "Report this message.").into()
    })
}

fn in_the_way(look: &Look, known: &[Option<FileId>], elsewhere: Option<&Path>) -> Finding {
    let path = &look.path;
    let place = elsewhere.map_or_else(String::new, |root| format!(" in {}", root.display()));
    let hint = match elsewhere {
        Some(root) => format!(
            "A person commits or stashes them there (`git -C {} stash push --include-untracked -- {}`); then repeat `edt land`.",
            root.display(),
            path.quoted()
        ),
        None if known.contains(&look.disk_file()) => {
            format!(
                "They are staged. A person commits them, or unstages them with `git restore --staged {}`; then repeat `edt land`.",
                path.for_shell()
            )
        }
        None => format!(
            "Record them with `edt checkpoint {}`, or a person commits or stashes them; then repeat `edt land`.",
            path.for_shell()
        ),
    };
    let message = format!(
        "{path} holds changes{place} that are recorded nowhere, and must be written. Nothing was changed."
    );
    Finding::new(Code::UnsavedChanges, message, hint).at(path)
}

fn unused_message(work: &Work, how: &Land) -> Option<Warning> {
    let kept = work.pieces.iter().all(|piece| matches!(piece, Piece::Kept { .. }));
    (kept && how.message.is_some()).then(|| Warning {
        code: "message_unused",
        path: None,
        message: "Every commit that landed is a person's and kept its own message.".to_owned(),
    })
}

fn folded(commits: &[Commit], target: &Target) -> Option<Warning> {
    if commits.is_empty() {
        return None;
    }
    let names: Vec<String> = commits
        .iter()
        .map(|commit| format!("{} ({})", commit.oid.to_hex_with_len(12), commit.subject()))
        .collect();
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
