//! What edt does when an agent's own tool is about to change files, and when it has.

use std::path::Path;

use super::event::{Event, Moment, Said};
use super::request::{self, Asked};
use super::words;
use crate::base::{Code, Finding, Findings, RepoPath, Result};
use crate::git::Tracked;
use crate::policy::Policy;
use crate::policy::command::OnFindings;
use crate::proposal::make;
use crate::run::changes;
use crate::session::checkpoint::{Ran, Why};
use crate::session::record::{Fate, Recorded, record, record_judged};
use crate::session::world::Caller;
use crate::session::{Session, World};
use crate::txn::Run;

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
    let cwd = event.cwd.as_deref().map_or_else(|| call.start.to_owned(), |cwd| call.start.join(cwd));
    match event.at.moment {
        Moment::Before => before(request::of(event, &cwd, call.agent), call),
        Moment::After => after(event, request::of(event, &cwd, call.agent), call),
        Moment::Start if super::place::place(&cwd, "-").is_some() => Ok(Said::Told(words::greeting())),
        Moment::Start | Moment::Other => Ok(Said::Nothing),
    }
}

/// Every worktree's part is judged before anything is recorded in one.
fn before(asked: Vec<Asked>, call: &Call<'_>) -> Result<Said> {
    let (mut found, mut cleared) = (Vec::new(), Vec::new());
    for Asked { root, paths, request } in asked {
        let Some(mut world) = open(&root, call)? else { continue };
        match request.map(|request| make::apply(&mut world, &request?, Run::Dry)) {
            Some(Err(findings)) => found.extend(findings.into_vec()),
            Some(Ok(_)) | None => cleared.push((world, paths)),
        }
    }
    if let Err(findings) = Findings::check(found) {
        return Ok(Said::Refused(words::refusal(findings)));
    }
    for (mut world, paths) in cleared {
        let paths = there(&world, &paths)?;
        if !paths.is_empty() {
            record(&mut world, Why::Foreign, &paths)?;
        }
    }
    Ok(Said::Nothing)
}

fn after(event: &Event, asked: Vec<Asked>, call: &Call<'_>) -> Result<Said> {
    let (mut told, mut objected) = (Vec::new(), false);
    for Asked { root, paths, .. } in asked {
        let Some(mut world) = open(&root, call)? else { continue };
        let paths = there(&world, &paths)?;
        if paths.is_empty() {
            continue;
        }
        let policy = policy(&world)?;
        let recording = Ran { message: subject(&event.tool, &paths), agent: Some(call.agent.to_owned()) };
        let mut said = changes::Said::default();
        let recorded = record_judged(&mut world, Why::Edited(&recording), &paths, &mut |about| {
            said = changes::judge(about, &policy, OnFindings::Refuse)?;
            // It stands in the file; what stands there is recorded, and can be taken back.
            Ok(Fate::Kept)
        })?;
        if !recorded.made.is_empty() {
            objected |= !said.refused.is_empty();
            told.extend(words::landed(&recorded, edits(&world, &recorded)?, &said.refused, &said.warnings));
        }
    }
    let told = told.join("\n\n");
    Ok(match (told.is_empty(), objected) {
        (true, _) => Said::Nothing,
        (false, true) => Said::Objected(told),
        (false, false) => Said::Told(told),
    })
}

/// The repository at `root`; `None` if there is none after all.
fn open(root: &Path, call: &Call<'_>) -> Result<Option<World>> {
    match World::open(root, call.caller.clone()) {
        Err(found) if found.any(|finding| finding.code == Code::NotARepository) => Ok(None),
        opened => opened.map(Some),
    }
}

fn edits(world: &World, recorded: &Recorded) -> Result<u64> {
    recorded.session.edits(&world.repo)
}

/// Those of `paths` at which something stands or is recorded; without what Git ignores: nobody asked edt to make a commit of that, and it may be
/// a secret.
fn there(world: &World, paths: &[Vec<u8>]) -> Result<Vec<RepoPath>> {
    let head = world.repo.head()?;
    let tip = Session::current(&world.repo, &head)?.map(|session| session.tip).or(head.commit);
    let tree = tip.map_or_else(|| Ok(world.repo.empty_tree()), |tip| world.repo.tree_of(tip))?;
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
