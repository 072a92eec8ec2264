//! `edt checkpoint`: what changed outside edt, recorded on the session's branch because someone asks for it.

use super::begin::{self, Begin, Switching};
use super::checkpoint::{Checkpoints, Why};
use super::current::Session;
use super::list::next_kept;
use super::look::Look;
use super::moving::{Step, Steps};
use super::world::World;
use crate::base::{Code, Finding, Findings, RepoPath, Result, Warning};
use crate::git::diff::{Differs, Untracked};
use crate::git::{Attributes, Draft, InHead, Oid, Repo, Tracked, TreeChange};
use crate::io::disk::Parent;
use crate::journal::index::{Disk, EntryMove};
use crate::journal::{Branch, Change, From, IndexView, publish};

/// What is about to be recorded, for a judge.
#[derive(Debug)]
pub struct About<'a> {
    /// Everything that it needs, drafted.
    pub draft: &'a Draft<'a>,
    /// The session, as it was.
    pub session: &'a Session,
    /// The paths that would be recorded.
    pub paths: &'a [Differs],
    /// The paths that differ and cannot be recorded, and why.
    pub left_out: &'a [(RepoPath, Finding)],
}

/// What becomes of what changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is recorded.
    Kept,
    /// The files are set back to what the session holds; the bytes stay at `refs/edt/<name>/refused/<n>`.
    PutBack,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The session, with its new tip.
    pub session: Session,
    /// Whether it began with this.
    pub began: bool,
    /// The tip before.
    pub parent: Oid,
    /// The commits made, oldest first; none if there was nothing to record.
    pub made: Vec<Oid>,
    /// The paths recorded.
    pub paths: Vec<Differs>,
    /// The paths that differ and could not be recorded.
    pub left_out: Vec<RepoPath>,
    /// The ref that keeps what was put back, if it was.
    pub refused: Option<String>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Records the tracked and new files below `only` (all, if that is empty) that differ from the session's tip; ignored files are recorded
/// only if `only` names them in full. A session begins if there is none.
///
/// # Errors
/// `FILE_NOT_FOUND` for a path that is neither there nor recorded; what looking at a path named in full may answer; what publishing may
/// answer. Nothing is then changed.
pub fn record(world: &mut World, why: Why<'_>, only: &[RepoPath]) -> Result<Recorded> {
    record_judged(world, why, only, &mut |_| Ok(Fate::Kept))
}

/// The same; `judge` says what becomes of it before anything is on the session's branch.
///
/// # Errors
/// As [`record`]; what `judge` answers.
pub fn record_judged(
    world: &mut World,
    why: Why<'_>,
    only: &[RepoPath],
    judge: &mut dyn FnMut(&About<'_>) -> Result<Fate>,
) -> Result<Recorded> {
    let repo = &world.repo;
    repo.check_idle()?;
    let mut draft = Draft::new(repo);
    let (session, new) = if let Some(running) = Session::current(repo, &repo.head()?)? {
        running.check_alone(repo)?;
        (running, None)
    } else {
        let how = Begin { name: None, switching: Switching::AsConfigured, base: None };
        let new = begin::draft(world, &mut draft, &how)?;
        (new.session.clone(), Some(new))
    };
    let tree = draft.tree_of(session.tip)?;
    repo.limit_files(world.policy(draft.tree_of(session.base)?)?.max_file_bytes);
    let index = IndexView::read(repo)?;
    let (candidates, mut warnings) = candidates(repo, tree, only)?;
    let (mut looks, mut found, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for path in candidates {
        let seen = (session.head == InHead::Yes).then_some(&index);
        match Look::at(repo, tree, seen, &path) {
            Ok(look) if look.disk_file() != look.tip || look.is_staged_apart() => looks.push(look),
            Ok(_) => {}
            Err(error) if only.contains(&path) => found.extend(error.into_vec()),
            Err(error) => {
                left.extend(error.into_vec().into_iter().map(|finding| (path.clone(), finding)))
            }
        }
    }
    Findings::check(found)?;
    warnings.extend(left.iter().map(|(path, finding)| left_out(path, finding)));
    let left_out: Vec<RepoPath> = left.iter().map(|(path, _)| path.clone()).collect();
    let edits = if new.is_some() { 0 } else { session.edits(repo)? };
    let all: Vec<&Look> = looks.iter().collect();
    let checkpoints = Checkpoints::draft(&mut draft, &session, tree, edits, &all, why)?;
    let paths = draft.tree_diff(tree, checkpoints.tree)?;
    let about = About { draft: &draft, session: &session, paths: &paths, left_out: &left };
    let (began, parent, fate) = (new.is_some(), session.tip, judge(&about)?);
    if checkpoints.made.is_empty() {
        let (made, paths, refused) = Default::default();
        return Ok(Recorded {
            session,
            began: false,
            parent,
            made,
            paths,
            left_out,
            refused,
            warnings,
        });
    }
    if fate == Fate::PutBack {
        let name = next_kept(repo, &session.name, "refused")?;
        let change = back(draft, &session, &name, (tree, checkpoints.tip), index, looks)?;
        world.heed(session.base);
        warnings.extend(publish(&world.repo, &mut world.journal, change)?);
        let made = checkpoints.made;
        return Ok(Recorded {
            session,
            began: false,
            parent,
            made,
            paths,
            left_out,
            refused: Some(name),
            warnings,
        });
    }
    let entry = |look: &Look| EntryMove {
        path: look.path.clone(),
        file: look.disk_file(),
        seen: look.staged,
        disk: look.disk.as_ref().map_or(Disk::Other, |disk| Disk::Stands(disk.stat)),
    };
    let changes: Vec<TreeChange> = looks
        .iter()
        .map(|look| TreeChange { path: look.path.clone(), file: look.disk_file() })
        .collect();
    let folders = draft.folders(tree, &changes)?;
    let log = match why {
        Why::Run(_) => "edt run",
        Why::Edited(_) => "edt agent-hook",
        Why::Foreign | Why::Asked(_) => "edt checkpoint",
    };
    let (branch, create) = begin::branch(&session, new, checkpoints.tip, log.to_owned());
    let index = (session.head == InHead::Yes).then(|| (index, looks.iter().map(entry).collect()));
    let change = Change { objects: draft.loose(), create, index, folders, ..Change::of(branch) };
    world.heed(session.base);
    warnings.extend(publish(&world.repo, &mut world.journal, change)?);
    let session = Session { tip: checkpoints.tip, ..session };
    Ok(Recorded {
        session,
        began,
        parent,
        made: checkpoints.made,
        paths,
        left_out,
        refused: None,
        warnings,
    })
}

/// The change that sets files and index back to `tree` and keeps `refused` under `name`. The session's branch does not move.
fn back(
    mut draft: Draft<'_>,
    session: &Session,
    name: &str,
    (tree, refused): (Oid, Oid),
    index: IndexView,
    looks: Vec<Look>,
) -> Result<Change> {
    let step = |look: Look| Step { disk: look.tip, entry: look.tip, look };
    let steps: Vec<Step> = looks.into_iter().map(step).collect();
    let follows = session.head == InHead::Yes;
    let attributes = steps.iter().any(|step| step.look.path.is_attributes());
    let from = if attributes { Attributes::Tree(tree) } else { Attributes::Worktree(tree) };
    let Steps { files, moves, folders } =
        Steps::of(&mut draft, follows.then_some(tree), from, &steps)?;
    let (log, head) = (format!("edt run: put back {}", refused.to_hex_with_len(12)), InHead::No);
    let branch = Branch {
        name: name.to_owned(),
        from: From::Nothing(refused),
        new: refused,
        log,
        head,
        head_from: None,
        point: None,
    };
    let index = follows.then_some((index, moves));
    Ok(Change { objects: draft.loose(), files, index, folders, ..Change::of(branch) })
}

/// The paths that may differ from `tree`, in order, those below `only` alone if that names any; a warning for each folder of which
/// nothing is one.
fn candidates(repo: &Repo, tree: Oid, only: &[RepoPath]) -> Result<(Vec<RepoPath>, Vec<Warning>)> {
    if !only.is_empty() && only.iter().all(|path| is_file(repo, tree, path)) {
        // Nothing lies below a file: what is named is all there is, and the worktree need not be walked.
        let mut only = only.to_vec();
        only.sort();
        only.dedup();
        return Ok((only, Vec::new()));
    }
    let mut all: Vec<RepoPath> = Vec::new();
    for path in repo.uncommitted(Untracked::Files)? {
        let bytes = path.as_bytes();
        all.push(RepoPath::from_tree(bytes.strip_suffix(b"/").unwrap_or(bytes)));
    }
    let head =
        repo.head()?.commit.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    all.extend(repo.tree_diff(head, tree)?.into_iter().map(|differs| differs.path));
    all.sort();
    all.dedup();
    if only.is_empty() {
        return Ok((all, Vec::new()));
    }
    let below = |path: &RepoPath, above: &RepoPath| {
        path == above
            || path
                .as_bytes()
                .strip_prefix(above.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"/"))
    };
    all.retain(|path| only.iter().any(|named| below(path, named)));
    let mut warnings = Vec::new();
    for named in only {
        if all.iter().any(|path| below(path, named))
            || repo.tracked(tree, named)? != Tracked::Nothing
        {
            continue;
        }
        let (folder, name) = named.split();
        let failed =
            |error| crate::io::failed("look at", &repo.root_path().join(named.to_string()), &error);
        let found = match repo.root().beneath(folder).map_err(failed)? {
            Parent::Open(dir) => dir.stat(name).map_err(failed)?,
            Parent::Missing | Parent::NotAFolder => None,
            // Looking at it says what is in the way.
            Parent::Symlink => {
                all.push(named.clone());
                continue;
            }
        };
        match found {
            None => return Err(not_found(named).into()),
            Some(found) if found.is_folder() => warnings.push(nothing_below(named)),
            // Ignored; who names it means it.
            Some(_) => all.push(named.clone()),
        }
    }
    all.sort();
    Ok((all, warnings))
}

/// Whether a file stands at `path`, or nothing where the session holds one.
fn is_file(repo: &Repo, tree: Oid, path: &RepoPath) -> bool {
    let (folder, name) = path.split();
    let Ok(Parent::Open(dir)) = repo.root().beneath(folder) else { return false };
    match dir.stat(name) {
        Ok(Some(found)) => !found.is_folder(),
        Ok(None) => matches!(repo.tracked(tree, path), Ok(Tracked::File(_))),
        Err(_) => false,
    }
}

fn not_found(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("{path} is neither in the worktree nor in the session. Nothing was recorded."),
        "Check the path with `edt status`; without a path, `edt checkpoint` records everything.",
    )
    .at(path)
}

fn nothing_below(path: &RepoPath) -> Warning {
    Warning {
        code: "left_out",
        path: Some(path.to_string()),
        message: "Nothing below it was recorded: Git ignores what it holds, or it holds nothing. `edt checkpoint` records an ignored file that is named in full.".to_owned(),
    }
}

fn left_out(path: &RepoPath, finding: &Finding) -> Warning {
    Warning {
        code: "left_out",
        path: Some(path.to_string()),
        message: format!("It was not recorded: {} ({}).", finding.message, finding.code.name()),
    }
}
