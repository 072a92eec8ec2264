//! Removes old sessions when the user asks for it, and packs loose objects.

use std::time::Duration;

use super::gc_lock::GcLock;
use crate::session::landing::list::{self, LandedBy, SessionState, SessionSummary};
use crate::session::recording::kept;
use crate::session::refs::commit::Commit;
use crate::session::refs::names::{self, BRANCHES, POINTER, REFS, RESOLUTIONS};
use crate::session::turns::session_turns;
use crate::session::worktree::elsewhere::is_gone;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{Oid, Repo, Worktree};
use edt_io::{fs, lock, spawn};
use edt_journal::delete_refs;
use edt_journal::{lost, private};
use edt_types::{Code, Finding, Result};

/// What to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Remove sessions, undone tips and resolutions whose newest commit is older than this, in
    /// seconds since 1970.
    pub before: i64,
    /// Report only; remove nothing.
    pub dry_run: bool,
}

/// The age from which on sessions are removed unasked, in seconds.
const UNASKED_AGE: i64 = 30 * 24 * 60 * 60;

/// What was removed, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcReport {
    /// Names and states of the ended sessions that were removed.
    pub sessions: Vec<(String, SessionState)>,
    /// The removed refs with their commits, including those of the sessions.
    pub refs: Vec<(String, Oid)>,
    /// The object database before.
    pub before: ObjectStats,
    /// The object database after; equal to `before` for a dry run.
    pub after: ObjectStats,
}

/// The size of the object database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObjectStats {
    /// Loose objects.
    pub loose: u64,
    /// Packs.
    pub packs: u64,
    /// Size of both on disk, in KiB.
    pub kib: u64,
}

/// Removes old sessions that ended (landed, abandoned, deleted), old undone tips of the others, and
/// old resolutions of merge conflicts, and what edt kept for worktrees that no longer exist. Then
/// packs loose objects, unless `extensions.preciousObjects` forbids it.
///
/// The objects stay until Git prunes them (`git gc`, after two weeks by default). A session stays
/// if a worktree uses it, or if no other branch contains its landing. Other calls wait only while
/// refs are removed.
///
/// # Errors
/// `SESSION_BUSY` if `git gc` runs; `IO_ERROR`, `OBJECT_MISSING`, `PROGRAM_NOT_FOUND`. Refs removed
/// before the error stay removed.
pub fn gc(mut workspace: LockedWorkspace, options: GcOptions) -> Result<GcReport> {
    let _lock = if options.dry_run { None } else { Some(GcLock::take(&workspace.repo)?) };
    let (mut report, resolutions) = workspace.unlocked(|repo| removable(repo, options.before))?;
    if options.dry_run {
        return Ok(report);
    }
    let LockedWorkspace { repo, journal, .. } = &mut workspace;
    delete_refs(repo, journal, &report.refs)?;
    for (_, commit) in &resolutions {
        private::remove_record(repo, "resolution", &commit.to_string());
    }
    report.sessions.iter().for_each(|(name, _)| forget(repo, name));
    kept::remove_older(repo, options.before);
    remove_state_of_gone_worktrees(repo);
    lost::release(repo)?;
    workspace.release();
    let repo = &workspace.repo;
    if !repo.has_precious_objects() {
        // `repack.writeBitmaps` is for repacking everything.
        git(repo, &["repack", "-d", "-l", "-q", "--no-write-bitmap-index"])?;
        git(repo, &["prune-packed", "-q"])?;
    }
    report.after = object_stats(repo)?;
    Ok(report)
}

/// Removes the sessions that ended more than 30 days before `now`, as [`gc`] does, and nothing else.
///
/// # Errors
/// As [`gc`].
pub fn remove_ended(workspace: &mut LockedWorkspace, now: i64) -> Result<GcReport> {
    let _lock = GcLock::take(&workspace.repo)?;
    let before = now - UNASKED_AGE;
    let mut report = workspace.unlocked(|repo| {
        let stats = object_stats(repo)?;
        let (sessions, refs) = (Vec::new(), Vec::new());
        let mut report = GcReport { sessions, refs, before: stats, after: stats };
        for session in list::sessions(repo)?.into_iter().filter(|one| one.time < before) {
            let refs = refs_of(repo, &session)?;
            if is_removable(repo, &session, &refs, before)? {
                report.refs.extend(refs);
                report.sessions.push((session.name, session.state));
            }
        }
        Ok(report)
    })?;
    let LockedWorkspace { repo, journal, .. } = workspace;
    delete_refs(repo, journal, &report.refs)?;
    report.sessions.iter().for_each(|(name, _)| forget(repo, name));
    report.after = report.before;
    Ok(report)
}

fn is_removable(
    repo: &Repo,
    session: &SessionSummary,
    refs: &[(String, Oid)],
    before: i64,
) -> Result<bool> {
    Ok(session.worktree.is_none() && newest(repo, refs)? < before && has_ended(repo, session)?)
}

/// What can be removed, and which of the refs keep resolutions of merge conflicts.
fn removable(repo: &Repo, before: i64) -> Result<(GcReport, Vec<(String, Oid)>)> {
    let stats = object_stats(repo)?;
    let (sessions, refs) = (Vec::new(), Vec::new());
    let mut report = GcReport { sessions, refs, before: stats, after: stats };
    for session in list::sessions(repo)? {
        let refs = refs_of(repo, &session)?;
        if is_removable(repo, &session, &refs, before)? {
            report.refs.extend(refs);
            report.sessions.push((session.name, session.state));
        } else {
            report.refs.extend(old_undone(repo, &session, before)?);
        }
    }
    let resolutions = old_resolutions(repo, before)?;
    report.refs.extend(resolutions.iter().cloned());
    Ok((report, resolutions))
}

/// Forgets what is kept about a session that was removed.
fn forget(repo: &Repo, name: &str) {
    private::remove_session(repo, name);
    session_turns::forget(repo, name);
}

/// Removes the locks, the journals and the staged indexes of linked worktrees that no longer exist.
/// What may be a user's only copy stays: private bytes, the quarantine, displaced files.
fn remove_state_of_gone_worktrees(repo: &Repo) {
    let linked = repo.common_dir().join("edt/linked");
    for name in fs::names_in(&linked) {
        if !is_gone(repo, &name) {
            continue;
        }
        let state = linked.join(name);
        // A call that still works there holds the lock.
        let Ok(_lock) = lock::acquire(&state.join("lock"), "gc", Duration::ZERO) else { continue };
        for file in DISPOSABLE {
            let _ = fs::remove_file(&state.join(file));
        }
        fs::remove_empty_dir(&state.join("stage"));
        let _ = fs::remove_file(&state.join("lock"));
        fs::remove_empty_dir(&state);
    }
    fs::remove_empty_dir(&linked);
}

/// Files of edt that have nothing of the user's, in the directory of a worktree.
const DISPOSABLE: &[&str] = &[
    "journal",
    "journal.new",
    "ref",
    "head",
    "packed",
    "beside",
    "running",
    "approved-run",
    "approved-run.edt-new",
    "stage/index",
    "stage/index.own",
    "stage/index.before",
];

/// From how many loose objects on they are packed unasked, as an estimate.
const MANY_LOOSE: usize = 2048;

/// Whether there are so many loose objects that they should be packed. Looks at one of their 256
/// directories, as `git gc --auto` does.
#[must_use]
pub fn has_many_loose_objects(repo: &Repo) -> bool {
    repo.packs_automatically()
        && fs::names_in(&repo.objects_dir().join("17")).len() > MANY_LOOSE / 256
}

/// Moves the loose objects into a pack, whether a ref names them or not. Takes time in proportion to
/// their number, not to the history. Returns false if another garbage collection runs.
///
/// # Errors
/// `IO_ERROR`, `PROGRAM_NOT_FOUND`: no object is lost.
pub fn pack_loose_objects(repo: &Repo) -> Result<bool> {
    let _lock = match GcLock::take(repo) {
        Err(found) if found.any(|finding| finding.code == Code::SessionBusy) => return Ok(false),
        lock => lock?,
    };
    let mut ids = String::new();
    for first in (0..=0xff_u8).map(|first| format!("{first:02x}")) {
        for rest in fs::names_in(&repo.objects_dir().join(&first)) {
            let id = format!("{first}{}\n", rest.to_string_lossy());
            if Oid::from_hex(id.trim_end().as_bytes()).is_ok() {
                ids.push_str(&id);
            }
        }
    }
    if ids.is_empty() {
        return Ok(true);
    }
    let base = repo.objects_dir().join("pack/pack");
    let pack = ["pack-objects", "--quiet", "--threads=1", &base.to_string_lossy()];
    git_fed(repo, &pack, ids.as_bytes())?;
    git(repo, &["prune-packed", "-q"])?;
    Ok(true)
}

/// Whether the session is abandoned, deleted, or landed on a branch that still contains the
/// landing.
fn has_ended(repo: &Repo, session: &SessionSummary) -> Result<bool> {
    if session.landed_by == Some(LandedBy::Git) {
        return Ok(true);
    }
    let landed = names::numbered_tips(repo, &session.name, "landed")?;
    match session.state {
        SessionState::Open | SessionState::Renamed => return Ok(false),
        SessionState::Abandoned => return Ok(true),
        SessionState::Deleted if landed.is_empty() => return Ok(true),
        SessionState::Deleted | SessionState::Landed => {}
    }
    let at_tip = |number: u64| landed.contains(&(number, session.tip));
    for (_, landing) in names::numbered_tips(repo, &session.name, "landing")?
        .into_iter()
        .filter(|(number, _)| at_tip(*number))
    {
        let (contains, format) = (format!("--contains={landing}"), "--format=%(refname)");
        let holders =
            git(repo, &["for-each-ref", format, &contains, "refs/heads", "refs/remotes"])?;
        if holders.lines().any(|name| !is_shadow(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the ref is a session's branch, here or on a remote.
fn is_shadow(name: &str) -> bool {
    let on_remote = |name: &str| {
        Some(name.strip_prefix("refs/remotes/")?.split_once('/')?.1.starts_with("edt/"))
    };
    name.starts_with(BRANCHES) || on_remote(name) == Some(true)
}

/// The commit time of the newest commit in `refs`, in seconds since 1970.
fn newest(repo: &Repo, refs: &[(String, Oid)]) -> Result<i64> {
    let mut newest = 0;
    let is_blob = |name: &str| {
        name.ends_with("/origin") || name.ends_with("/comments") || name.contains("/onto/")
    };
    let commits = refs.iter().filter(|(name, oid)| !is_blob(name) && *oid != repo.empty_tree());
    for (_, oid) in commits {
        newest = newest.max(Commit::read(repo, *oid)?.committed_at);
    }
    Ok(newest)
}

/// The refs of a session that have numbers.
const NUMBERED: [&str; 8] =
    ["undone", "refused", "aside", "saved", "landed", "landing", "onto", "unlanded"];

/// All refs of the session. Refs of a session whose name extends this one (`a`, `a/b`) do not
/// count.
fn refs_of(repo: &Repo, session: &SessionSummary) -> Result<Vec<(String, Oid)>> {
    let prefix = format!("{REFS}{}/", session.name);
    let is_own = |name: &str| match name.split_once('/') {
        None => matches!(name, "base" | "origin" | "abandoned" | "record" | "comments"),
        Some((kind, number)) => NUMBERED.contains(&kind) && number.parse::<u64>().is_ok(),
    };
    let mut refs = repo.refs_below(&prefix)?;
    refs.retain(|(name, _)| name.strip_prefix(&prefix).is_some_and(is_own));
    refs.extend(repo.ref_value(&session.branch)?.map(|tip| (session.branch.clone(), tip)));
    Ok(refs)
}

fn old_undone(repo: &Repo, session: &SessionSummary, before: i64) -> Result<Vec<(String, Oid)>> {
    let mut old = Vec::new();
    for (number, tip) in &session.undone {
        if Commit::read(repo, *tip)?.committed_at < before {
            old.push((format!("{REFS}{}/undone/{number}", session.name), *tip));
        }
    }
    Ok(old)
}

/// The refs that keep old edits of files with merge conflicts. All stay while a merge or a rebase
/// is in progress in any worktree: a rebase has moved HEAD since its first conflict.
fn old_resolutions(repo: &Repo, before: i64) -> Result<Vec<(String, Oid)>> {
    let mut refs = repo.refs_below(RESOLUTIONS)?;
    if refs.is_empty() || repo.worktrees(POINTER).iter().any(Worktree::has_operation) {
        return Ok(Vec::new());
    }
    let is_numbered = |name: &str| {
        name.strip_prefix(RESOLUTIONS).is_some_and(|number| number.parse::<u64>().is_ok())
    };
    refs.retain(|(name, _)| is_numbered(name));
    let mut old = Vec::new();
    for (name, commit) in refs {
        if Commit::read(repo, commit)?.committed_at < before {
            old.push((name, commit));
        }
    }
    Ok(old)
}

/// Counts the objects of the repository.
///
/// # Errors
/// `IO_ERROR`, `PROGRAM_NOT_FOUND`.
pub fn object_stats(repo: &Repo) -> Result<ObjectStats> {
    let said = git(repo, &["count-objects", "-v"])?;
    let field = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Ok(ObjectStats {
        loose: field("count"),
        packs: field("packs"),
        kib: field("size") + field("size-pack"),
    })
}

fn git(repo: &Repo, args: &[&str]) -> Result<String> {
    git_fed(repo, args, b"")
}

fn git_fed(repo: &Repo, args: &[&str], input: &[u8]) -> Result<String> {
    let ran = spawn::git(repo.environment(), repo.root_path(), args, input)?;
    if ran.ok {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let message = format!("`git {}` failed: {}", args.join(" "), ran.stderr.trim());
    Err(Finding::new(
        Code::IoError,
        message,
        "Fix what Git reports, then repeat `edt gc`; refs that it removed stay removed.",
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::back::abandon::abandon;
    use crate::tests::Scratch;

    fn one_edit(name: &str) -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin(name);
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn summary(scratch: &Scratch, name: &str) -> SessionSummary {
        let all = list::sessions(&scratch.repo()).unwrap();
        all.into_iter().find(|session| session.name == name).unwrap()
    }

    fn names(refs: &[(String, Oid)]) -> Vec<&str> {
        refs.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_shadow_branch_is_one_here_or_on_a_remote() {
        assert!(is_shadow("refs/heads/edt/fix") && is_shadow("refs/remotes/origin/edt/fix"));
        assert!(!is_shadow("refs/heads/main") && !is_shadow("refs/remotes/edt/main"));
    }

    #[test]
    fn the_refs_of_a_session_include_its_branch() {
        let scratch = one_edit("fix");
        scratch.undo(1).unwrap();
        let refs = refs_of(&scratch.repo(), &summary(&scratch, "fix")).unwrap();
        assert_eq!(
            names(&refs),
            [
                "refs/edt/fix/base",
                "refs/edt/fix/origin",
                "refs/edt/fix/record",
                "refs/edt/fix/undone/1",
                "refs/heads/edt/fix"
            ]
        );
    }

    #[test]
    fn the_refs_of_a_session_exclude_those_of_a_longer_name() {
        let scratch = one_edit("fix");
        let head = scratch.head();
        for other in ["fix/undone/base", "fix/x/base", "fix/landed/x"] {
            scratch.set_ref(&format!("refs/edt/{other}"), head);
        }
        let refs = refs_of(&scratch.repo(), &summary(&scratch, "fix")).unwrap();
        assert_eq!(
            names(&refs),
            [
                "refs/edt/fix/base",
                "refs/edt/fix/origin",
                "refs/edt/fix/record",
                "refs/heads/edt/fix"
            ]
        );
    }

    #[test]
    fn an_open_session_has_not_ended() {
        let scratch = one_edit("fix");
        assert!(!has_ended(&scratch.repo(), &summary(&scratch, "fix")).unwrap());
    }

    #[test]
    fn an_abandoned_session_has_ended() {
        let scratch = one_edit("fix");
        let session = scratch.session();
        abandon(&mut scratch.open(), &session).unwrap();
        assert!(has_ended(&scratch.repo(), &summary(&scratch, "fix")).unwrap());
    }

    #[test]
    fn a_deleted_session_that_never_landed_has_ended() {
        let scratch = one_edit("fix");
        scratch.write(".git/HEAD", "ref: refs/heads/main\n");
        scratch.remove(".git/refs/heads/edt/fix");
        assert!(has_ended(&scratch.repo(), &summary(&scratch, "fix")).unwrap());
    }

    #[test]
    fn a_landed_tip_without_its_landing_has_not_ended() {
        let scratch = one_edit("fix");
        scratch.set_ref("refs/edt/fix/landed/1", scratch.head());
        let summary = summary(&scratch, "fix");
        assert_eq!(summary.state, SessionState::Landed);
        assert!(!has_ended(&scratch.repo(), &summary).unwrap());
    }

    #[test]
    fn the_age_of_a_session_is_that_of_its_newest_commit() {
        let scratch = one_edit("fix");
        let (repo, tip) = (scratch.repo(), scratch.head());
        let refs = refs_of(&repo, &summary(&scratch, "fix")).unwrap();
        assert_eq!(newest(&repo, &refs).unwrap(), Commit::read(&repo, tip).unwrap().committed_at);
    }

    #[test]
    fn an_unborn_base_has_no_age() {
        let scratch = Scratch::unborn();
        let empty = scratch.repo().empty_tree();
        assert_eq!(newest(&scratch.repo(), &[("refs/edt/s/base".into(), empty)]).unwrap(), 0);
    }

    #[test]
    fn old_resolutions_are_removed_after_the_merge() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let commit = scratch.head();
        scratch.set_ref("refs/edt/resolution/1", commit);
        scratch.write(&format!(".git/edt/private/resolution/{commit}"), "bytes");
        let repo = scratch.repo();
        let time = Commit::read(&repo, commit).unwrap().committed_at;
        let old = |before| old_resolutions(&scratch.repo(), before).unwrap();
        scratch.write(".git/MERGE_HEAD", &format!("{commit}\n"));
        assert_eq!(old(time + 1), []);
        scratch.remove(".git/MERGE_HEAD");
        assert_eq!(old(time), []);
        let expected = [("refs/edt/resolution/1".to_owned(), commit)];
        assert_eq!(old(time + 1), expected);
        for dry_run in [true, false] {
            let options = GcOptions { before: time + 1, dry_run };
            let report = gc(scratch.open(), options).unwrap();
            assert_eq!(report.refs, expected);
            let left = scratch.ref_value("refs/edt/resolution/1").is_some();
            let private = scratch.text(&format!(".git/edt/private/resolution/{commit}")).is_some();
            assert_eq!((left, private), (dry_run, dry_run));
        }
    }

    #[test]
    fn only_undone_tips_before_the_limit_are_old() {
        let scratch = one_edit("fix");
        let tip = scratch.undo(1).unwrap().from;
        let (repo, session) = (scratch.repo(), summary(&scratch, "fix"));
        let time = Commit::read(&repo, tip).unwrap().committed_at;
        assert_eq!(old_undone(&repo, &session, time).unwrap(), []);
        let old = old_undone(&repo, &session, time + 1).unwrap();
        assert_eq!(old, [("refs/edt/fix/undone/1".to_owned(), tip)]);
    }
}
