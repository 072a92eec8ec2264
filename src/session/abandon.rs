//! Leaving a session: back to the branch it began on, with the files as they were before it. Its work stays at
//! `refs/edt/<name>/abandoned`.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoints, STAGED, Why};
use super::current::{POINTER, REFS, Session};
use super::history::Commit;
use super::list::{next_kept, origin};
use super::look::Look;
use super::message::Kind;
use super::moving::{self, Step, Steps};
use super::world::World;
use crate::base::{Code, Finding, Findings, RepoPath, Result, Warning};
use crate::git::diff::{Differs, Item};
use crate::git::{Draft, FileId, Folders, InHead, Loose, Oid, Repo, Tracked};
use crate::journal::index::EntryMove;
use crate::journal::{Branch, Change, FileChange, From, IndexView, publish};

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
/// `BAD_REQUEST` if the branch it began on is gone; `UNSAVED_CHANGES` in files that are not the session's; what looking and publishing
/// may answer. Nothing is then changed.
pub fn abandon(world: &mut World, session: &Session) -> Result<Abandoned> {
    let repo = &world.repo;
    repo.check_idle()?;
    session.check_alone(repo)?;
    let back = Back::of(repo, session)?;
    let (leaving, back) = match Leaving::of(repo, session, &back) {
        Err(error) if is_of_others(&error) => match back.to_base(session, &error) {
            Some(base) => (Leaving::of(repo, session, &base).map_err(|_| error)?, base),
            None => return Err(error),
        },
        leaving => (leaving?, back),
    };
    let Leaving { objects, tip, made, files, index, folders, paths, mut warnings } = leaving;
    warnings.extend(staged_before(repo, session)?);
    let Kept { name: kept, from, mut create } = Kept::of(repo, session, tip)?;
    let (mut replace, mut head_to) = (Vec::new(), None);
    let branch = match (&back.onto, back.tip) {
        (Some(onto), Some(at)) if onto.starts_with("refs/heads/") => {
            match from {
                From::Nothing(tip) => create.push((kept.clone(), tip)),
                From::Value(earlier) | From::Later(earlier) => {
                    replace.push((kept.clone(), earlier, tip))
                }
            }
            let (name, head_from) = (onto.clone(), Some(session.branch()));
            Branch {
                name,
                from: From::Value(at),
                new: at,
                log: String::new(),
                head: InHead::Yes,
                head_from,
                point: None,
            }
        }
        (onto, _) => {
            head_to.clone_from(onto);
            let head_from = onto.is_some().then(|| session.branch());
            let (name, log) = (kept.clone(), "edt abandon".to_owned());
            Branch { name, from, new: tip, log, head: session.head, head_from, point: None }
        }
    };
    let drop = vec![(session.branch(), session.tip)];
    let change = Change {
        objects,
        create,
        head_to,
        replace,
        drop,
        files,
        index,
        folders,
        ..Change::of(branch)
    };
    warnings.extend(back.warning);
    world.heed(session.base);
    warnings.extend(publish(&world.repo, &mut world.journal, change)?);
    Ok(Abandoned { kept, tip, onto: back.onto, paths, checkpoints: made, warnings })
}

/// What leaving changes.
struct Leaving {
    objects: Vec<Loose>,
    /// The session's tip, checkpoints included.
    tip: Oid,
    made: Vec<Oid>,
    files: Vec<FileChange>,
    index: Option<(IndexView, Vec<EntryMove>)>,
    folders: Folders,
    paths: Vec<Differs>,
    warnings: Vec<Warning>,
}

impl Leaving {
    fn of(repo: &Repo, session: &Session, back: &Back) -> Result<Leaving> {
        let (tip_tree, there, base_tree) =
            (repo.tree_of(session.tip)?, back.tree(repo)?, repo.tree_of(session.base)?);
        let was = as_it_was(repo, session)?;
        let mut paths = repo.tree_diff(tip_tree, there)?;
        for (path, before) in &was {
            if !paths.iter().any(|differs| differs.path == *path) {
                let held = held(repo, there, path)?;
                if held != *before {
                    paths.push(Differs {
                        path: path.clone(),
                        old: held.map(Item::File),
                        new: held.map(Item::File),
                    });
                }
            }
        }
        let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
        let looks = moving::look_at(repo, tip_tree, index.as_ref(), &paths)?;
        moving::check_beside(repo, session, &looks, &paths)?;
        check_saved(&looks, &paths, &was)?;
        let mut draft = Draft::new(repo);
        let (edits, all) = (session.edits(repo)?, looks.iter().collect::<Vec<_>>());
        let checkpoints =
            Checkpoints::draft(&mut draft, session, tip_tree, edits, &all, Why::Foreign)?;
        let attributes = moving::attributes(&paths, tip_tree, there);
        let (mut steps, mut warnings) = (Vec::new(), Vec::new());
        for (look, differs) in looks.into_iter().zip(&paths) {
            let entry = differs.new.and_then(Item::file);
            let mut disk = entry;
            if let Some(before) = was.get(&look.path) {
                let base = held(repo, base_tree, &look.path)?;
                if *before != base && base == entry {
                    disk = *before;
                } else if *before != base {
                    warnings.push(overtaken(&look.path, session));
                }
            }
            steps.push(Step { look, disk, entry });
        }
        let changed = |Step { look, disk, .. }: &Step| {
            let (old, new) = (look.disk_file().map(Item::File), disk.map(Item::File));
            (old != new).then(|| Differs { path: look.path.clone(), old, new })
        };
        let paths = steps.iter().filter_map(changed).collect();
        let follows = index.as_ref().map(|_| tip_tree);
        let Steps { files, moves, folders } = Steps::of(&mut draft, follows, attributes, &steps)?;
        let index = index.map(|index| (index, moves));
        let Checkpoints { tip, made, .. } = checkpoints;
        Ok(Leaving { objects: draft.loose(), tip, made, files, index, folders, paths, warnings })
    }
}

/// Whether all that is in the way are links, submodules, and folders in the places of files.
fn is_of_others(error: &Findings) -> bool {
    error.clone().into_vec().iter().all(|finding| finding.code == Code::NotAFile)
}

/// Refuses to write over what stands in files that the session never touched, unless it is in the session or where HEAD goes.
fn check_saved(
    looks: &[Look],
    paths: &[Differs],
    was: &BTreeMap<RepoPath, Option<FileId>>,
) -> Result<()> {
    let others = looks.iter().zip(paths).filter(|(look, _)| !was.contains_key(&look.path));
    let unsaved = others
        .filter(|(look, differs)| !look.is_known(&[look.tip, differs.new.and_then(Item::file)]));
    Findings::check(unsaved.map(|(look, _)| moving::unsaved(&look.path)).collect())
}

/// Where HEAD goes.
struct Back {
    /// The branch in full, or a commit for a HEAD that will be detached; `None` if HEAD stays.
    onto: Option<String>,
    /// The commit there; `None` if the branch is unborn.
    tip: Option<Oid>,
    base: Oid,
    /// What the caller should know of it.
    warning: Option<Warning>,
}

impl Back {
    fn of(repo: &Repo, session: &Session) -> Result<Back> {
        let base = session.base;
        if session.head == InHead::No {
            return Ok(Back { onto: None, tip: None, base, warning: None });
        }
        let origin = origin(repo, &session.name)?.unwrap_or_default();
        if !origin.starts_with("refs/heads/") {
            let commit = Oid::from_hex(origin.as_bytes()).map_err(|_| gone(session, &origin))?;
            return Ok(Back { onto: Some(origin), tip: Some(commit), base, warning: None });
        }
        let Some(tip) = repo.ref_value(&origin)? else {
            let unborn = base == repo.empty_tree();
            let back = unborn.then_some(Back {
                onto: Some(origin.clone()),
                tip: None,
                base,
                warning: None,
            });
            return back.ok_or_else(|| gone(session, &origin).into());
        };
        let other = repo
            .worktrees(POINTER)
            .into_iter()
            .find(|one| !one.here && (one.head.as_ref() == Some(&origin) || one.is_held(&origin)));
        let Some(other) = other else {
            return Ok(Back { onto: Some(origin), tip: Some(tip), base, warning: None });
        };
        let why = format!(
            "{} is checked out, rebased or bisected in {}.",
            short(&origin),
            repo.place_of(&other).display()
        );
        let after = "This worktree is of no further use if it was made for the session (`git worktree remove`).";
        Ok(Back { warning: Some(detached(tip, &why, after)), ..Back::at(tip, base) })
    }

    fn at(commit: Oid, base: Oid) -> Back {
        Back { onto: Some(commit.to_string()), tip: Some(commit), base, warning: None }
    }

    /// The commit that the session began from, if HEAD cannot go further because of `error`.
    fn to_base(&self, session: &Session, error: &Findings) -> Option<Back> {
        let onto = self.onto.as_deref()?;
        if self.tip == Some(self.base) || self.tip.is_none() {
            return None;
        }
        let paths: Vec<String> =
            error.clone().into_vec().into_iter().filter_map(|finding| finding.path).collect();
        let why =
            format!("On {} edt cannot make {} what it is there.", short(onto), paths.join(", "));
        let to = if onto.starts_with("refs/heads/") {
            short(onto).to_owned()
        } else {
            format!("--detach {onto}")
        };
        let after = format!("`git switch {to}` goes there.");
        Some(Back {
            warning: Some(detached(session.base, &why, &after)),
            ..Back::at(session.base, session.base)
        })
    }

    fn tree(&self, repo: &Repo) -> Result<Oid> {
        repo.tree_of(self.tip.unwrap_or(self.base))
    }
}

fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

fn detached(commit: Oid, why: &str, after: &str) -> Warning {
    let message = format!("HEAD is detached at {}: {why} {after}", commit.to_hex_with_len(12));
    Warning { code: "head_detached", path: None, message }
}

fn gone(session: &Session, origin: &str) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!(
            "edt/{} began on {origin:?}, which is no branch with a commit. Nothing was changed.",
            session.name
        ),
        "Go where you want to be with `git switch BRANCH`; the session's work stays on its branch.",
    )
}

/// Where the bytes are that were staged before an edit and stood nowhere else: the index does not get them back.
fn staged_before(repo: &Repo, session: &Session) -> Result<Vec<Warning>> {
    let mut warnings = Vec::new();
    for commit in session.commits(repo) {
        let commit = commit?;
        if !commit.trailers.as_ref().is_some_and(|own| own.foreign)
            || !commit.subject().starts_with(STAGED)
        {
            continue;
        }
        let before =
            commit.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
        for differs in repo.tree_diff(before, commit.tree)? {
            let (path, oid) = (differs.path, commit.oid.to_hex_with_len(12));
            warnings.push(Warning {
                code: "staged_kept",
                path: Some(path.to_string()),
                message: format!("What was staged here before an edit is in {oid} alone: `git restore --source={oid} --staged -- {}` stages it again.", path.quoted()),
            });
        }
    }
    Ok(warnings)
}

/// Each path that the session touched, as it was before the first edit of it: what a person had not recorded included.
fn as_it_was(repo: &Repo, session: &Session) -> Result<BTreeMap<RepoPath, Option<FileId>>> {
    let mut commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
    commits.reverse();
    let (mut was, mut edited) = (BTreeMap::new(), std::collections::BTreeSet::new());
    for commit in commits {
        let before =
            commit.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
        let recorded =
            commit.trailers.as_ref().is_some_and(|trailers| trailers.kind == Kind::Checkpoint);
        for differs in repo.tree_diff(before, commit.tree)?.into_iter().filter(Differs::is_of_files)
        {
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
                if repo.is_ancestor(tip, earlier)? {
                    From::Later(earlier)
                } else {
                    From::Value(earlier)
                }
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
            "It held changes of a person's before the session, and the branch changed it meanwhile; it is as the branch has it. `git log refs/edt/{}/abandoned -- {}` has the person's bytes, in the checkpoint.",
            session.name,
            path.quoted()
        ),
    }
}
