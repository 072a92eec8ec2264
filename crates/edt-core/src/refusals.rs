//! Every refusal goes through here on its way to the caller: it is recorded, and the observers see
//! it. So does every edit that lands, to say what followed.

mod command;

use std::collections::BTreeSet;

use crate::observe::MemoryUse;
use crate::session::turns::Asked;
use crate::session::turns::session_turns::called;
use crate::session::worktree::options::Options;
use crate::session::{LockedWorkspace, Session};
use crate::txn::request::Request;
use crate::txn::tried;
use edt_edit::Mode;
use edt_git::{Repo, RepositoryView};
use edt_guard::guard::secret;
use edt_guard::policy::Policy;
use edt_io::fs;
use edt_journal::refusals::{
    Followed, How, Place, RefusalLog, RefusedCall, RefusedFinding, TriedEdit,
};
use edt_types::{FileReport, Landing, Outcome, Refusal, RepoPath, Verdict};

/// How much of the words of two texts is equal if they are about the same place.
const SAME_WORDS: f64 = 0.6;

/// A call that was refused, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub struct Attempt<'a> {
    /// Its kind: [`RefusedCall::call`].
    pub call: &'a str,
    /// The agent that it names.
    pub agent: Option<&'a str>,
    /// The edits that it tried.
    pub edits: Vec<TriedEdit>,
    /// The command that it would have run.
    pub command: Option<String>,
    /// The request, if it could be read.
    pub request: Option<&'a Request>,
}

impl<'a> Attempt<'a> {
    /// An attempt to apply `request`.
    #[must_use]
    pub fn of(call: &'a str, request: &'a Request) -> Attempt<'a> {
        let edits = tried::of_request(request);
        let agent = request.agent.as_deref();
        Attempt { call, agent, edits, command: None, request: Some(request) }
    }
}

/// Records that `attempt` was refused with `found`, and notifies the observers. Returns the
/// findings with the lessons of the observers.
#[must_use]
pub fn refused(workspace: &LockedWorkspace, attempt: Attempt<'_>, found: Refusal) -> Refusal {
    let policy = workspace.current_policy().ok();
    let (request, options) = (attempt.request, workspace.options());
    let memory = MemoryUse::of(policy.as_ref());
    let call = record(&workspace.repo, options, policy.as_ref(), attempt, &found);
    options.observers.iter().fold(found.recorded(), |found, observer| {
        observer.refused((&workspace.repo).into(), memory, request, &call, found)
    })
}

/// Records that `attempt` was refused with `found`. Returns what is kept. Without a policy no text
/// of an edit is.
pub fn record(
    repo: &Repo,
    options: &Options,
    policy: Option<&Policy>,
    attempt: Attempt<'_>,
    found: &Refusal,
) -> RefusedCall {
    let session = repo.head().and_then(|head| Session::current(repo, &head)).ok().flatten();
    let who = who(repo, options, session.as_ref());
    let mut call = RefusedCall {
        session: session.map(|session| session.name),
        worktree: root_of(repo),
        agent: attempt.agent.map(str::to_owned).or(who.agent),
        model: who.model,
        turn: who.turn,
        call: attempt.call.to_owned(),
        findings: found.as_slice().iter().map(RefusedFinding::of).collect(),
        edits: attempt.edits,
        command: attempt.command.as_deref().map(command::shape),
        ..RefusedCall::default()
    };
    for edit in &mut call.edits {
        if !may_be_kept(repo, policy, edit) {
            edit.withhold();
        }
    }
    keep_names(&mut call);
    let log = RefusalLog::of(repo);
    make_directory(repo);
    let place = Place { worktree: &call.worktree, session: call.session.as_deref() };
    for earlier in log.open(place, &call.paths()) {
        if is_same_place(&earlier, &call.edits, &call.paths()) {
            let (how, session) = (How::RefusedAgain, call.session.clone());
            log.follow(Followed { of: earlier.id, how, session, ..Followed::default() });
        }
    }
    log.append(call)
}

/// Notifies the observers that an edit was recorded, and records which refusals it followed.
/// `request` is `None` if it did not come as one.
pub fn landed(workspace: &mut LockedWorkspace, request: Option<&Request>, landing: &Landing<'_>) {
    let edits = || request.map_or_else(Vec::new, tried::of_request);
    let paths = landing.paths.iter().flat_map(|(path, from)| std::iter::once(*path).chain(*from));
    let paths: Vec<&str> = paths.collect();
    let what = Follower { paths: &paths, session: landing.session, commit: Some(landing.commit) };
    // Only what came as a request can teach.
    follow(workspace, what, edits, &landing.overrode, request.map(|_| landing));
    workspace.observe_landed(request, landing);
}

/// Records which refusals `request` followed, which left no edit of its own on the branch. It
/// teaches nothing.
pub fn landed_elsewhere(workspace: &LockedWorkspace, request: &Request, outcome: &Outcome) {
    let paths = paths_of(&outcome.files);
    let overrode = outcome.guards.iter().filter(|report| report.verdict == Verdict::Allowed);
    let overrode: Vec<_> = overrode.map(|report| (report.guard, report.path.as_str())).collect();
    let session = outcome.session.as_ref().map_or("", |session| session.name.as_str());
    let what = Follower { paths: &paths, session, commit: outcome.commit.as_deref() };
    follow(workspace, what, || tried::of_request(request), &overrode, None);
}

/// Records which refusals about `files` a change of these followed that did not come as a request:
/// a run, a restore. It teaches nothing.
pub fn changed(
    workspace: &LockedWorkspace,
    session: &str,
    commit: Option<&str>,
    files: &[FileReport],
) {
    let what = Follower { paths: &paths_of(files), session, commit };
    follow(workspace, what, Vec::new, &[], None);
}

/// The paths of `files`, also those that they were renamed from.
fn paths_of(files: &[FileReport]) -> Vec<&str> {
    let named = files.iter().map(|file| (file.path.as_str(), file.from.as_deref()));
    named.flat_map(|(path, from)| std::iter::once(path).chain(from)).collect()
}

/// What followed a refusal.
#[derive(Debug, Clone, Copy)]
struct Follower<'a> {
    paths: &'a [&'a str],
    session: &'a str,
    commit: Option<&'a str>,
}

/// Records which refusals `what` followed. The observers classify them if it was a `landing`.
fn follow(
    workspace: &LockedWorkspace,
    what: Follower<'_>,
    edits: impl FnOnce() -> Vec<TriedEdit>,
    overrode: &[(&str, &str)],
    landing: Option<&Landing<'_>>,
) {
    let log = RefusalLog::of(&workspace.repo);
    if log.has_none_open() {
        return;
    }
    let Follower { paths, session, commit } = what;
    let place = Place { worktree: &root_of(&workspace.repo), session: Some(session) };
    let open = log.open(place, paths);
    if open.is_empty() {
        return;
    }
    let (edits, memory) = (edits(), MemoryUse::of(workspace.current_policy().ok().as_ref()));
    let observers = &workspace.options().observers;
    let repository = RepositoryView::from(&workspace.repo);
    for refused in open.iter().filter(|refused| is_same_place(refused, &edits, paths)) {
        let class = landing.and_then(|landing| {
            let mut all = observers.iter();
            all.find_map(|observer| observer.followed(repository, memory, refused, &edits, landing))
        });
        let overrode = overrode.iter().any(|(_, path)| refused.paths().contains(path));
        log.follow(Followed {
            of: refused.id.clone(),
            how: if overrode { How::Overridden } else { How::Landed },
            session: Some(session.to_owned()).filter(|name| !name.is_empty()),
            commit: commit.map(str::to_owned),
            class,
            ..Followed::default()
        });
    }
}

/// The root of the worktree, as an absolute path without symbolic links.
fn root_of(repo: &Repo) -> String {
    let root = repo.real_root().unwrap_or_else(|_| repo.root_path().to_owned());
    root.to_string_lossy().into_owned()
}

/// Makes the directory of the record, which may not be there before the first edit.
fn make_directory(repo: &Repo) {
    let directory = repo.common_dir().join("edt");
    if !directory.is_dir() && fs::make_dir(&directory).is_ok() {
        let _ = repo.share(&directory);
    }
}

/// Who made the call, as far as its program says.
fn who(repo: &Repo, options: &Options, session: Option<&Session>) -> Asked {
    match session {
        Some(session) => called(repo, session, &options.caller),
        None => Asked {
            agent: options.caller.name(),
            model: options.caller.model.clone(),
            ..Asked::default()
        },
    }
}

/// Whether the texts of `edit` may be written into a private file: those of a file of the worktree
/// that is neither protected nor ignored, without a credential.
fn may_be_kept(repo: &Repo, policy: Option<&Policy>, edit: &TriedEdit) -> bool {
    let path = edit.path.as_deref().unwrap_or_default();
    let below = path.strip_prefix(&root_of(repo)).and_then(|below| below.strip_prefix('/'));
    let is_open = RepoPath::parse(below.unwrap_or(path).as_bytes()).is_ok_and(|path| {
        policy.is_some_and(|policy| !policy.protects(&path))
            && matches!(repo.ignores(&path), Ok(false))
    });
    let mut texts = [&edit.old, &edit.new].into_iter().flatten();
    is_open && !texts.any(|text| secret::is_in(text.as_bytes()))
}

/// Forgets what is written where a name belongs: a mode that edt does not know, a credential.
fn keep_names(call: &mut RefusedCall) {
    for edit in &mut call.edits {
        edit.mode.take_if(|mode| !Mode::ALL.iter().any(|known| known.name() == mode));
        for name in [&mut edit.path, &mut edit.symbol] {
            name.take_if(|name| secret::is_in(name.as_bytes()));
        }
    }
    for name in [&mut call.agent, &mut call.model] {
        name.take_if(|name| secret::is_in(name.as_bytes()));
    }
}

/// Whether a call with `edits`, about `paths`, is about a place that `refused` is about. The path
/// decides where one of them shows nothing more.
fn is_same_place(refused: &RefusedCall, edits: &[TriedEdit], paths: &[&str]) -> bool {
    if refused.edits.is_empty() || edits.is_empty() {
        return refused.paths().iter().any(|path| paths.contains(path));
    }
    let pairs = refused.edits.iter().flat_map(|one| edits.iter().map(move |two| (one, two)));
    pairs.into_iter().any(|(one, two)| is_same(one, two))
}

fn is_same(one: &TriedEdit, two: &TriedEdit) -> bool {
    if one.path != two.path {
        return false;
    }
    let whole = ["create", "overwrite", "delete", "rename"];
    let is_whole =
        |edit: &TriedEdit| edit.mode.as_deref().is_some_and(|mode| whole.contains(&mode));
    if !one.texts.is_whole() || !two.texts.is_whole() || is_whole(one) || is_whole(two) {
        return true;
    }
    if let (Some(one), Some(two)) = (&one.symbol, &two.symbol) {
        return one == two;
    }
    if let (Some([first, last]), Some([from, to])) = (one.lines, two.lines) {
        return first <= to && from <= last;
    }
    let (here, there) = (texts_of(one), texts_of(two));
    here.is_empty()
        || there.is_empty()
        || here.iter().any(|one| there.iter().any(|two| share(one, two) >= SAME_WORDS))
}

/// The words of each text of `edit`.
fn texts_of(edit: &TriedEdit) -> Vec<BTreeSet<&str>> {
    [&edit.old, &edit.new].into_iter().flatten().filter_map(|text| words(text)).collect()
}

/// The words of `text`; `None` if it has none.
fn words(text: &str) -> Option<BTreeSet<&str>> {
    let words =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    Some(words.collect::<BTreeSet<&str>>()).filter(|words| !words.is_empty())
}

/// Which part of the shorter text's words the other one has.
#[expect(clippy::cast_precision_loss, reason = "a share of a few words")]
fn share(one: &BTreeSet<&str>, two: &BTreeSet<&str>) -> f64 {
    one.intersection(two).count() as f64 / one.len().min(two.len()) as f64
}

#[cfg(test)]
mod tests;
