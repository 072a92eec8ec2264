//! Leaving a session: back to the branch it began on, with the files as they were before it. Its work stays at
//! `refs/edt/<name>/abandoned`.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoints, Why};
use super::current::{POINTER, REFS, Session};
use super::history::Commit;
use super::list::{next_kept, origin};
use super::look::Look;
use super::message::Kind;
use super::moving::{self, Step, Steps};
use super::world::World;
use crate::base::{Code, Finding, Findings, RepoPath, Result, Warning};
use crate::git::diff::{Differs, Item};
use crate::git::index::Staged;
use crate::git::{Draft, FileId, InHead, Oid, Repo, Tracked};
use crate::journal::{Branch, Change, From, IndexView, publish};

/// What was left.
#[derive(Debug)]
pub struct Abandoned {
    /// The ref that keeps the work.
    pub kept: String,
    /// Its commit.
    pub tip: Oid,
    /// The branch HEAD is on now, in full; `None` if HEAD stayed.
    pub onto: Option<String>,
    /// The paths that changed on disk.
    pub paths: Vec<Differs>,
    /// Commits that recorded unrecorded changes first.
    pub checkpoints: Vec<Oid>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
}

/// Abandons `session`.
///
/// # Errors
/// `BAD_REQUEST` if the branch it began on is gone; `UNSAVED_CHANGES` in files that are not the session's; what looking and publishing may answer. Nothing is then changed.
pub fn abandon(world: &mut World, session: &Session) -> Result<Abandoned> {
    let repo = &world.repo;
    repo.check_idle()?;
    session.check_alone(repo)?;
    let back = Back::of(repo, session)?;
    let tip_tree = repo.tree_of(session.tip)?;
    let there = back.tree(repo)?;
    let was = as_it_was(repo, session)?;
    let mut paths = repo.tree_diff(tip_tree, there)?;
    for (path, before) in &was {
        if !paths.iter().any(|differs| differs.path == *path) {
            let held = held(repo, there, path)?;
            if held != *before {
                paths.push(Differs { path: path.clone(), old: held.map(Item::File), new: held.map(Item::File) });
            }
        }
    }
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let looks = moving::look_at(repo, tip_tree, index.as_ref(), &paths)?;
    check_saved(&looks, &paths, &was)?;
    let mut draft = Draft::new(repo);
    let edits = session.edits(repo)?;
    let checkpoints =
        Checkpoints::draft(&mut draft, session, tip_tree, edits, &looks.iter().collect::<Vec<_>>(), Why::Foreign)?;
    let base_tree = repo.tree_of(session.base)?;
    let attributes = moving::attributes(&paths, tip_tree, there);
    let (mut steps, mut warnings) = (Vec::new(), Vec::new());
    for (look, differs) in looks.into_iter().zip(&paths) {
        let entry = differs.new.and_then(Item::file);
        let disk = match was.get(&look.path) {
            None => entry,
            Some(before) => {
                let base = held(repo, base_tree, &look.path)?;
                if *before == base {
                    entry
                } else if base == entry {
                    *before
                } else {
                    warnings.push(overtaken(&look.path, session));
                    entry
                }
            }
        };
        steps.push(Step { look, disk, entry });
    }
    let changed = |Step { look, disk, .. }: &Step| {
        let (old, new) = (look.disk_file().map(Item::File), disk.map(Item::File));
        (old != new).then(|| Differs { path: look.path.clone(), old, new })
    };
    let paths = steps.iter().filter_map(changed).collect();
    let Steps { files, moves, folders } = Steps::of(&mut draft, index.as_ref().map(|_| tip_tree), attributes, &steps)?;
    let Kept { name: kept, from, mut create } = Kept::of(repo, session, checkpoints.tip)?;
    let mut replace = Vec::new();
    let branch = if let Some(onto) = &back.onto {
        match from {
            From::Nothing(tip) => create.push((kept.clone(), tip)),
            From::Value(earlier) | From::Later(earlier) => replace.push((kept.clone(), earlier, checkpoints.tip)),
        }
        let at = back.tip.unwrap_or(session.base);
        Branch {
            name: onto.clone(),
            from: From::Value(at),
            new: at,
            log: String::new(),
            head: InHead::Yes,
            head_from: Some(session.branch()),
            point: None,
        }
    } else {
        Branch {
            name: kept.clone(),
            from,
            new: checkpoints.tip,
            log: "edt abandon".to_owned(),
            head: InHead::No,
            head_from: None,
            point: None,
        }
    };
    let index = index.map(|index| (index, moves));
    let drop = vec![(session.branch(), session.tip)];
    let change = Change { objects: draft.loose(), create, replace, drop, files, index, folders, ..Change::of(branch) };
    warnings.extend(publish(&world.repo, &mut world.journal, change)?);
    Ok(Abandoned { kept, tip: checkpoints.tip, onto: back.onto, paths, checkpoints: checkpoints.made, warnings })
}

/// Refuses to write over what stands in files that the session never touched, unless it is in the session or where HEAD goes.
fn check_saved(looks: &[Look], paths: &[Differs], was: &BTreeMap<RepoPath, Option<FileId>>) -> Result<()> {
    let is_saved = |look: &Look, wanted: Option<FileId>| {
        let known = [look.tip, wanted];
        let staged = match look.staged {
            Staged::File(file) => known.contains(&Some(file)),
            _ => true,
        };
        staged && known.contains(&look.disk_file())
    };
    let others = looks.iter().zip(paths).filter(|(look, _)| !was.contains_key(&look.path));
    let unsaved = others.filter(|(look, differs)| !is_saved(look, differs.new.and_then(Item::file)));
    Findings::check(unsaved.map(|(look, _)| moving::unsaved(&look.path)).collect())
}

/// Where HEAD goes.
struct Back {
    /// The branch in full, or a commit for a HEAD that was detached; `None` if HEAD stays.
    onto: Option<String>,
    /// The commit there.
    tip: Option<Oid>,
    base: Oid,
}

impl Back {
    fn of(repo: &Repo, session: &Session) -> Result<Back> {
        if session.head == InHead::No {
            return Ok(Back { onto: None, tip: None, base: session.base });
        }
        let origin = origin(repo, &session.name)?.unwrap_or_default();
        let gone = || {
            let there = if origin.starts_with("refs/heads/") {
                "`git switch BRANCH`".to_owned()
            } else {
                format!("`git switch --detach {origin}`")
            };
            Finding::new(
                Code::BadRequest,
                format!(
                    "edt/{} began on {origin:?}, which is no branch with a commit. Nothing was changed.",
                    session.name
                ),
                format!("Go where you want to be with {there}; the session's work stays on its branch."),
            )
        };
        if !origin.starts_with("refs/heads/") {
            return Err(gone().into());
        }
        let tip = repo.ref_value(&origin)?.ok_or_else(gone)?;
        if let Some(other) =
            repo.worktrees(POINTER).into_iter().find(|one| !one.here && one.head.as_ref() == Some(&origin))
        {
            let place = repo.root_of(&other).unwrap_or(other.git_dir);
            return Err(Finding::new(
                Code::SessionBusy,
                format!(
                    "{origin} is checked out in {}, so HEAD cannot go there. Nothing was changed.",
                    place.display()
                ),
                format!(
                    "Remove this worktree instead (`git worktree remove`); the work stays on edt/{}.",
                    session.name
                ),
            )
            .into());
        }
        Ok(Back { onto: Some(origin), tip: Some(tip), base: session.base })
    }

    fn tree(&self, repo: &Repo) -> Result<Oid> {
        repo.tree_of(self.tip.unwrap_or(self.base))
    }
}

/// Each path that the session touched, as it was before the first edit of it: what a person had not recorded included.
fn as_it_was(repo: &Repo, session: &Session) -> Result<BTreeMap<RepoPath, Option<FileId>>> {
    let mut commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
    commits.reverse();
    let (mut was, mut edited) = (BTreeMap::new(), std::collections::BTreeSet::new());
    for commit in commits {
        let before = commit.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
        let recorded = commit.trailers.as_ref().is_some_and(|trailers| trailers.kind == Kind::Checkpoint);
        for differs in repo.tree_diff(before, commit.tree)?.into_iter().filter(Differs::is_of_files) {
            if edited.contains(&differs.path) {
                continue;
            }
            if recorded {
                was.insert(differs.path, differs.new.and_then(Item::file));
            } else {
                edited.insert(differs.path.clone());
                was.entry(differs.path).or_insert_with(|| differs.old.and_then(Item::file));
            }
        }
    }
    Ok(was)
}

fn held(repo: &Repo, tree: Oid, path: &RepoPath) -> Result<Option<FileId>> {
    Ok(match repo.tracked(tree, path)? {
        Tracked::File(file) => Some(file),
        _ => None,
    })
}

/// How the work is kept at `refs/edt/<name>/abandoned`.
struct Kept {
    /// That name.
    name: String,
    /// How the ref comes to its value.
    from: From,
    /// Refs that come with it: an earlier tip of the session that stood there stays among the undone ones.
    create: Vec<(String, Oid)>,
}

impl Kept {
    fn of(repo: &Repo, session: &Session, tip: Oid) -> Result<Kept> {
        let name = format!("{REFS}{}/abandoned", session.name);
        let mut create = Vec::new();
        let from = match repo.ref_value(&name)? {
            None => From::Nothing(tip),
            Some(earlier) if earlier == tip => From::Nothing(tip),
            Some(earlier) => {
                if earlier != session.tip {
                    create.push((next_kept(repo, &session.name, "undone")?, earlier));
                }
                if repo.is_ancestor(tip, earlier)? { From::Later(earlier) } else { From::Value(earlier) }
            }
        };
        Ok(Kept { name, from, create })
    }
}

fn overtaken(path: &RepoPath, session: &Session) -> Warning {
    Warning {
        code: "overtaken",
        path: Some(path.to_string()),
        message: format!(
            "It held changes of a person's before the session, and the branch changed it meanwhile; it is as the branch has it. `git log refs/edt/{}/abandoned -- {path}` has the person's bytes, in the checkpoint.",
            session.name
        ),
    }
}
