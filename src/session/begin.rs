//! Starting a session: a branch at HEAD, its base beside it, HEAD switched to it. No file changes.

use std::path::Path;

use super::current::{BRANCHES, POINTER, REFS, Session, base_ref};
use super::message::{self, Kind, Trailers};
use super::world::World;
use crate::base::{Code, Finding, RepoPath, Result, Warning};
use crate::git::read::ObjectKind;
use crate::git::worktrees;
use crate::git::{Commit, Draft, Head, InHead, Oid, Repo};
use crate::journal::{Branch, Change, From, publish};

/// How a session is to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Its name; made from the branch if not given.
    pub name: Option<String>,
    /// Whether HEAD is switched to its branch.
    pub switching: Switching,
    /// The revision it begins from; HEAD if not given.
    pub base: Option<String>,
}

/// Whether HEAD is switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// As policy says.
    AsConfigured,
    /// Never: HEAD and the index stay as they are.
    Never,
    /// Never, nor is the session remembered here: a worktree of its own works in it.
    Elsewhere,
}

/// Names that edt uses below `refs/edt/`.
const RESERVED: &[&str] = &[
    "base",
    "origin",
    "undone",
    "refused",
    "aside",
    "landed",
    "landing",
    "abandoned",
    "pending",
    "memory",
    "proposals",
];

/// A session about to begin: what its first change brings along.
#[derive(Debug)]
pub struct Begun {
    /// The session as it will be; its tip is the commit it starts from.
    pub session: Session,
    /// The refs that must exist first.
    pub create: Vec<(String, Oid)>,
    /// What HEAD names now, if it is to be switched.
    pub head_from: Option<String>,
    /// The worktree's own symbolic ref, if HEAD stays.
    pub point: Option<String>,
}

/// Begins a session without an edit.
///
/// # Errors
/// `SESSION_EXISTS`, `BAD_REQUEST` for a name or revision that cannot serve, `REPOSITORY_BUSY`, and what publishing may answer.
pub fn begin(world: &mut World, how: &Begin) -> Result<(Session, Vec<Warning>)> {
    let mut objects = Draft::new(&world.repo);
    let begun = draft(world, &mut objects, how)?;
    let session = begun.session.clone();
    let (branch, create) = branch(&session, Some(begun), session.tip, String::new());
    let change = Change { objects: objects.loose(), create, ..Change::of(branch) };
    world.heed(session.base);
    let warnings = publish(&world.repo, &mut world.journal, change)?;
    Ok((session, warnings))
}

/// The branch of `session` at `new`, with the refs that must exist first; what `begun` brings along, if the session begins with it.
#[must_use]
pub fn branch(
    session: &Session,
    begun: Option<Begun>,
    new: Oid,
    log: String,
) -> (Branch, Vec<(String, Oid)>) {
    let from = if begun.is_some() { From::Nothing(session.tip) } else { From::Value(session.tip) };
    let (create, head_from, point) =
        begun.map_or_else(Default::default, |begun| (begun.create, begun.head_from, begun.point));
    (
        Branch { name: session.branch(), from, new, log, head: session.head, head_from, point },
        create,
    )
}

/// Begins a session in a new worktree at `place`, which `git worktree add` makes.
///
/// # Errors
/// As [`begin`]; `BAD_REQUEST` if `place` cannot serve, `IO_ERROR` if Git fails. No session is then left behind.
pub fn begin_in(world: &mut World, how: &Begin, place: &Path) -> Result<(Session, Vec<Warning>)> {
    worktrees::check_free(place)?;
    let how = Begin { switching: Switching::Elsewhere, ..how.clone() };
    let (session, warnings) = begin(world, &how)?;
    let repo = &world.repo;
    let branch = format!("edt/{}", session.name);
    let Err(failed) = repo.add_worktree(place, &branch) else { return Ok((session, warnings)) };
    let mut refs = repo.refs_below(&format!("{REFS}{}/", session.name))?;
    refs.push((session.branch(), session.tip));
    repo.delete_refs(&refs)?;
    Err(failed)
}

/// Drafts what a new session needs; nothing is changed.
///
/// # Errors
/// As [`begin`], without those of publishing.
pub fn draft(world: &World, draft: &mut Draft<'_>, begin: &Begin) -> Result<Begun> {
    let repo = &world.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let name = match &begin.name {
        Some(name) => checked_name(repo, name)?,
        None => free_name(repo, &head)?,
    };
    let (start, base) = start_of(repo, draft, begin, &head, &name)?;
    check_leash(repo, &head, base)?;
    let policy = world.policy(repo.tree_of(base)?)?;
    let switch = begin.switching == Switching::AsConfigured && policy.switch;
    if switch && head.commit.is_some_and(|commit| commit != start) {
        return Err(other_base().into());
    }
    let from = head
        .branch
        .clone()
        .or_else(|| head.commit.map(|commit| commit.to_string()))
        .unwrap_or_default();
    let origin = draft.blob(format!("{from}\n").as_bytes())?;
    Ok(Begun {
        create: vec![(base_ref(&name), base), (format!("{REFS}{name}/origin"), origin)],
        head_from: switch.then_some(from),
        point: (!switch && begin.switching != Switching::Elsewhere).then(|| POINTER.to_owned()),
        session: Session {
            name,
            tip: start,
            base,
            head: if switch { InHead::Yes } else { InHead::No },
        },
    })
}

/// The session that would begin by default, to judge an edit before there is one.
///
/// # Errors
/// `SESSION_EXISTS` if no name is free; `OBJECT_MISSING`.
pub fn imagined(repo: &Repo, head: &Head) -> Result<Session> {
    let tip = head.commit.unwrap_or_else(|| repo.empty_tree());
    Ok(Session { name: free_name(repo, head)?, tip, base: tip, head: InHead::No })
}

/// A session must not begin from a policy that another session wrote: only a landed one counts.
fn check_leash(repo: &Repo, head: &Head, base: Oid) -> Result<()> {
    let Some(running) = Session::current(repo, head)? else { return Ok(()) };
    let policy = RepoPath::from_tree(b"edt.toml");
    if repo.tracked(repo.tree_of(running.base)?, &policy)?
        == repo.tracked(repo.tree_of(base)?, &policy)?
    {
        return Ok(());
    }
    Err(Finding::new(
        Code::ProtectedPath,
        format!(
            "edt.toml was changed in the session {}; a new session may not begin from it. Nothing was changed.",
            running.name
        ),
        "A person must land the new policy first (`git merge --squash`, `git commit`), then begin from there.",
    )
    .at(&policy)
    .into())
}

fn start_of(
    repo: &Repo,
    draft: &mut Draft<'_>,
    begin: &Begin,
    head: &Head,
    name: &str,
) -> Result<(Oid, Oid)> {
    if let Some(spec) = &begin.base {
        let base = repo.commit_named(spec)?;
        return Ok((base, base));
    }
    if let Some(commit) = head.commit {
        repo.object(commit, ObjectKind::Commit)?;
        return Ok((commit, commit));
    }
    // An unborn branch has no commit to stand on: the session gets an empty one, so that every edit can be taken back.
    let empty = draft.tree(repo.empty_tree(), &[])?.0;
    let trailers = Trailers::plain(name, Kind::Begin, 0);
    let message = message::compose(&format!("begin {name}"), &trailers);
    let root = draft.commit(&Commit { tree: empty, parent: None, message: &message })?;
    Ok((root, empty))
}

fn checked_name(repo: &Repo, name: &str) -> Result<String> {
    let name = name.strip_prefix("edt/").unwrap_or(name);
    let reserved = name.split('/').find(|part| RESERVED.contains(part));
    if name.starts_with('-')
        || reserved.is_some()
        || !repo.is_ref_name(&format!("{BRANCHES}{name}"))
    {
        return Err(Finding::new(
            Code::BadRequest,
            format!("{name:?} cannot be a session's name."),
            format!(
                "Use what Git takes for a branch, without a leading `-` and without the parts {}.",
                RESERVED.join(", ")
            ),
        )
        .into());
    }
    if let Some(in_the_way) = in_the_way(repo, name)? {
        return Err(Finding::new(
            Code::SessionExists,
            format!("The session {name} cannot begin: {in_the_way} exists."),
            way_on(repo, name)?,
        )
        .with("ref", in_the_way)
        .into());
    }
    Ok(name.to_owned())
}

/// What to do instead of beginning a session of that name again.
fn way_on(repo: &Repo, name: &str) -> Result<String> {
    let (branch, aside) = (format!("{BRANCHES}{name}"), format!("{REFS}{name}/abandoned"));
    Ok(if repo.ref_value(&branch)?.is_some() {
        format!(
            "Choose another name, or continue that session where it is (`git worktree list`), or with `git switch edt/{name}`."
        )
    } else if repo.ref_value(&aside)?.is_some() {
        format!(
            "Choose another name, or bring that session back: `git branch edt/{name} {aside}`, then `git switch edt/{name}`."
        )
    } else {
        format!(
            "Choose another name; `git for-each-ref {REFS}{name} {branch}` lists what is left under this one."
        )
    })
}

/// A ref that a session of that name would collide with.
fn in_the_way(repo: &Repo, name: &str) -> Result<Option<String>> {
    for root in [BRANCHES, REFS] {
        let full = format!("{root}{name}");
        let mut above: Vec<String> =
            full.match_indices('/').skip(2).map(|(at, _)| full[..at].to_owned()).collect();
        above.push(full.clone());
        for one in above {
            if repo.ref_value(&one)?.is_some() {
                return Ok(Some(one));
            }
        }
        if let Some((below, _)) = repo.refs_below(&format!("{full}/"))?.into_iter().next() {
            return Ok(Some(below));
        }
    }
    Ok(None)
}

fn free_name(repo: &Repo, head: &Head) -> Result<String> {
    let branch = head
        .branch
        .as_deref()
        .map_or("detached", |branch| branch.strip_prefix("refs/heads/").unwrap_or(branch));
    let stem = branch.strip_prefix("edt/").unwrap_or(branch);
    for n in 1..100_000 {
        let name = format!("{stem}-{n}");
        if in_the_way(repo, &name)?.is_none() {
            return checked_name(repo, &name);
        }
        // A plain branch `edt`, say, blocks every number.
        if n == 1 && repo.ref_value(BRANCHES.trim_end_matches('/'))?.is_some() {
            break;
        }
    }
    Err(Finding::new(
        Code::SessionExists,
        format!("No session name {stem}-<n> is free; a branch named edt blocks every one."),
        "Rename that branch (`git branch -m edt other`), or give `edt begin` a name.",
    )
    .into())
}

fn other_base() -> Finding {
    Finding::new(
        Code::BadRequest,
        "--base names another commit than HEAD; switching there would change files. Nothing was changed.",
        "Go there first (`git switch --detach REV`, then `edt begin`), or keep HEAD where it is with --no-switch.",
    )
}
