//! What edt does when an agent's own tool is about to change files, and when it has.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::event::{Event, Moment, Said};
use super::place;
use super::request::{self, Asked, Asks};
use super::words;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::git::{Oid, Repo, Tracked};
use crate::guard::protected;
use crate::journal::index::Prepared;
use crate::policy::Policy;
use crate::policy::command::OnFindings;
use crate::proposal::make;
use crate::run::changes;
use crate::session::checkpoint::{Ran, Why};
use crate::session::look::Look;
use crate::session::record::{About, Fate, Recorded, record, record_judged};
use crate::session::world::Caller;
use crate::session::{Session, World};
use crate::telemetry::names::RECORD;
use crate::telemetry::{self, stage};
use crate::txn::remember::{self, Landing};
use crate::txn::{Request, Run};

/// Who calls, and from where.
#[derive(Debug)]
pub struct Call<'a> {
    /// The agent's name.
    pub agent: &'static str,
    /// The folder that paths are below where the agent does not say.
    pub start: &'a Path,
    /// What the caller of edt brings along.
    pub caller: &'a Caller,
}

/// Judges or records, and says what is to be said.
///
/// # Errors
/// What kept it from doing so.
pub fn answer(event: &Event, call: &Call<'_>) -> Result<Said> {
    let cwd =
        event.cwd.as_deref().map_or_else(|| call.start.to_owned(), |cwd| call.start.join(cwd));
    match event.at.moment {
        Moment::Before => before(request::of(event, &cwd, call.agent), call),
        Moment::After => after(event, request::of(event, &cwd, call.agent), call),
        Moment::Start if matches!(place::place(&cwd, "-"), Ok(Some(_))) => {
            Ok(Said::Told(words::greeting()))
        }
        Moment::Start | Moment::Other => Ok(Said::Nothing),
    }
}

/// Every worktree's part is judged before anything is recorded in one.
fn before(asks: Asks, call: &Call<'_>) -> Result<Said> {
    let (mut found, mut cleared, mut lessons) =
        ([asks.lost, asks.faults].concat(), Vec::new(), Vec::new());
    for Asked { root, paths, request } in asks.worktrees {
        let mut world = World::at(&root, call.caller.clone())?;
        found.extend(tracked_above(&root, &paths)?);
        let judged = match request {
            Some(request) => request.and_then(|request| tried(&mut world, &request)),
            None => may_change(&world, &paths),
        };
        match judged.and_then(|()| recordable(&world, &paths)) {
            Err(findings) => {
                lessons.extend(findings.lessons().to_vec());
                found.extend(findings.into_vec());
            }
            Ok(()) => cleared.push((world, paths)),
        }
    }
    if let Err(findings) = Findings::check(found) {
        telemetry::refused(&findings);
        return Ok(Said::Refused(words::refusal(findings.teaching(lessons))));
    }
    for (mut world, paths) in cleared {
        let paths = there(&world, &paths)?;
        if !paths.is_empty() {
            stage!(RECORD, record(&mut world, Why::Foreign, &paths))?;
        }
    }
    Ok(Said::Nothing)
}

/// Judges `request`; what is known of failures like it is told with a refusal.
fn tried(world: &mut World, request: &Request) -> Result<()> {
    match make::apply(world, request, Run::Dry) {
        Ok(_) => Ok(()),
        Err(found) => {
            let understood = request.understood();
            Err(remember::refused(world, understood.as_deref().unwrap_or(request), found))
        }
    }
}

/// What landed, for the memory.
fn learned(world: &mut World, request: Option<Result<Request>>, recorded: &Recorded) {
    let Some(commit) = recorded.made.last().map(ToString::to_string) else { return };
    let paths: Vec<String> =
        recorded.paths.iter().map(|differs| differs.path.to_string()).collect();
    let landing = Landing {
        session: &recorded.session.name,
        commit: &commit,
        paths: paths.iter().map(|path| (path.as_str(), None)).collect(),
        overrode: Vec::new(),
    };
    remember::landed(world, request.and_then(Result::ok).as_ref(), &landing);
}

fn after(event: &Event, asks: Asks, call: &Call<'_>) -> Result<Said> {
    let (mut told, mut objected, mut codes) = (Vec::new(), false, Vec::new());
    for Asked { root, paths, request } in asks.worktrees {
        let mut world = World::at(&root, call.caller.clone())?;
        let paths = there(&world, &paths)?;
        if paths.is_empty() {
            continue;
        }
        let policy = policy(&world)?;
        let recording =
            Ran { message: subject(&event.tool, &paths), agent: Some(call.agent.to_owned()) };
        let mut said = changes::Said::default();
        let mut judge = |about: &About<'_>| {
            said = changes::judge(about, &policy, OnFindings::Refuse)?;
            // It stands in the file; what stands there is recorded, and can be taken back.
            Ok(Fate::Kept)
        };
        let recorded =
            stage!(RECORD, record_judged(&mut world, Why::Edited(&recording), &paths, &mut judge))?;
        // What edt would have refused repairs nothing.
        if said.refused.is_empty() {
            learned(&mut world, request, &recorded);
        }
        if !recorded.made.is_empty() {
            objected |= !said.refused.is_empty();
            codes.extend(said.refused.iter().map(|finding| finding.code.name()));
            told.extend(words::landed(
                &recorded,
                edits(&world, &recorded)?,
                &said.refused,
                &said.warnings,
            ));
        }
    }
    if objected {
        telemetry::codes(&codes);
    }
    Findings::check(asks.lost)?;
    let told = told.join("\n\n");
    Ok(match (told.is_empty(), objected) {
        (true, _) => Said::Nothing,
        (false, true) => Said::Objected(told),
        (false, false) => Said::Told(told),
    })
}

/// What can be judged of a change of which only the outcome shows: the state of the repository, and the paths.
fn may_change(world: &World, paths: &[Vec<u8>]) -> Result<()> {
    let repo = &world.repo;
    repo.check_idle()?;
    let (policy, tree) = (policy(world)?, tree(world)?);
    repo.limit_files(policy.max_file_bytes);
    let mut found = Vec::new();
    for raw in paths {
        let path = match RepoPath::parse(raw) {
            Ok(path) => path,
            Err(problem) => {
                found.push(problem.finding(raw));
                continue;
            }
        };
        found.extend(
            Look::at(repo, tree, None, &path).err().into_iter().flat_map(Findings::into_vec),
        );
        found.extend(policy.protects(&path).then(|| protected::protected(&path)));
    }
    Findings::check(found)
}

/// How long a program of Git may hold the index before an edit is refused.
const INDEX_WAIT: Duration = Duration::from_secs(1);

/// What is let through is recorded afterwards, so that must be possible.
fn recordable(world: &World, paths: &[Vec<u8>]) -> Result<()> {
    for raw in paths {
        let path = RepoPath::parse(raw).map_err(|problem| problem.finding(raw))?;
        if !world.repo.ignores(&path)? {
            return Prepared::check_free(&world.repo, INDEX_WAIT);
        }
    }
    Ok(())
}

/// A file that a repository above this one tracks as its own belongs to two, and edt cannot tell to which.
fn tracked_above(root: &Path, paths: &[Vec<u8>]) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for outer in place::above(root) {
        let (Ok(repo), Ok(below)) = (Repo::linked(outer), root.strip_prefix(outer)) else {
            continue;
        };
        let Some(commit) = repo.head()?.commit else { continue };
        let tree = repo.tree_of(commit)?;
        for raw in paths {
            let Ok(path) = RepoPath::parse(&[below.as_os_str().as_bytes(), raw].join(&b'/')) else {
                continue;
            };
            if matches!(repo.tracked(tree, &path)?, Tracked::File(_) | Tracked::Symlink) {
                let (inner, outer) = (root.display(), outer.display());
                let message = format!(
                    "{path} is tracked by the repository {outer}, and lies in another one, {inner}. Nothing was changed."
                );
                let hint = format!(
                    "A person must settle which of the two keeps it: `git -C {outer} rm -r --cached {}`, or remove the inner one's .git.",
                    below.display()
                );
                found.push(Finding::new(Code::PathOutsideRepo, message, hint).at(&path));
            }
        }
    }
    Ok(found)
}

fn edits(world: &World, recorded: &Recorded) -> Result<u64> {
    recorded.session.edits(&world.repo)
}

/// Those of `paths` at which something stands or is recorded; without what Git ignores: nobody asked edt to make a commit of that, and it may be
/// a secret.
fn there(world: &World, paths: &[Vec<u8>]) -> Result<Vec<RepoPath>> {
    let tree = tree(world)?;
    let (mut found, mut refused): (Vec<RepoPath>, Vec<Finding>) = (Vec::new(), Vec::new());
    for raw in paths {
        match RepoPath::parse(raw) {
            Ok(path) if found.contains(&path) => {}
            Ok(path) => {
                let full = world.repo.root_path().join(path.to_string());
                let recorded = world.repo.tracked(tree, &path)? != Tracked::Nothing;
                if recorded || full.symlink_metadata().is_ok() && !world.repo.ignores(&path)? {
                    found.push(path);
                }
            }
            Err(problem) => refused.push(problem.finding(raw)),
        }
    }
    Findings::check(refused)?;
    Ok(found)
}

/// What the session holds, or HEAD.
fn tree(world: &World) -> Result<Oid> {
    let head = world.repo.head()?;
    let tip = Session::current(&world.repo, &head)?.map(|session| session.tip).or(head.commit);
    tip.map_or_else(|| Ok(world.repo.empty_tree()), |tip| world.repo.tree_of(tip))
}

fn policy(world: &World) -> Result<Policy> {
    let head = world.repo.head()?;
    let session = Session::current(&world.repo, &head)?.map(|session| session.base);
    let base = session.or(head.commit).unwrap_or_else(|| world.repo.empty_tree());
    world.policy(world.repo.tree_of(base)?)
}

fn subject(tool: &str, paths: &[RepoPath]) -> String {
    let tool = crate::base::text::harmless(tool).0;
    match paths {
        [one] => format!("edit {one} ({tool})"),
        many => format!("edit {} files ({tool})", many.len()),
    }
}
