//! Begins a session: creates a branch and a ref for its base, and switches HEAD to the branch. It
//! starts at HEAD, where no file changes. In a session it starts at the branch that the session
//! began on, and the files follow.

use std::path::Path;

use super::follow::{self, Operation, TreeMove};
use super::return_target::ReturnTarget;
use super::reviewed::{self, users_head};
use super::switch::commit_tree;
use super::workspace::LockedWorkspace;
use crate::session::engine::{Applied, Change, HeadMove, RefMove, RefMoves};
use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::refs::names::{BRANCHES, POINTER, REFS, base_ref};
use crate::session::refs::record::Step;
use crate::session::user::user_commits::UserCommits;
use edt_git::read::ObjectKind;
use edt_git::{Head, InHead, NewCommit, ObjectWriter, Oid, Repo, worktrees};
use edt_journal::BranchOrigin;
use edt_journal::delete_refs;
use edt_types::{Code, FileReport, Finding, RepoPath, Result, Warning, WarningCode};

/// How to begin a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeginOptions {
    /// The session's name; derived from the current branch if `None`.
    pub name: Option<String>,
    /// Whether to switch HEAD to the session's branch.
    pub switching: HeadSwitch,
    /// The session or revision it begins from. If `None`: HEAD, or in a session the branch that
    /// the session began on.
    pub from: Option<String>,
    /// Whether the user begins it, who may begin from a commit with another `edt.toml` than HEAD's.
    pub by_user: bool,
}

/// Whether to switch HEAD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadSwitch {
    /// As the policy says.
    #[default]
    AsConfigured,
    /// Never: HEAD and the index stay as they are.
    Never,
    /// Never, and this worktree does not remember the session: a new worktree will use it.
    Elsewhere,
}

/// Names that edt uses below `refs/edt/`.
const RESERVED: &[&str] = &[
    "base",
    "origin",
    "record",
    "comments",
    "undone",
    "refused",
    "aside",
    "landed",
    "landing",
    "onto",
    "unlanded",
    "abandoned",
    "pending",
    "memory",
    "memory-at",
    "proposals",
    "resolution",
    "saved",
    "switch",
];

/// A session about to begin, with the refs that its first commit creates.
#[derive(Debug)]
pub struct NewSession {
    /// The session; its tip is the commit it starts from.
    pub session: Session,
    /// The refs that must exist first.
    pub create: Vec<(String, Oid)>,
    /// What HEAD names now, if it is switched.
    pub head_from: Option<String>,
    /// The worktree's symbolic ref that will name the session, if HEAD is not switched.
    pub point: Option<String>,
    /// The session that this worktree is in now.
    pub running: Option<Session>,
}

/// A session that began.
#[derive(Debug)]
pub struct Begun {
    pub session: Session,
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// Begins a session without an edit. A session that the worktree is in stays open, and the files
/// follow from it to the new one.
///
/// # Errors
/// `SESSION_EXISTS`, `BAD_REQUEST` for an unusable name or revision, `REPOSITORY_BUSY`,
/// `UNSAVED_CHANGES` if the files must follow and the user changed the same lines; errors of
/// publishing. Nothing is changed on an error.
pub fn begin(workspace: &mut LockedWorkspace, options: &BeginOptions) -> Result<Begun> {
    let repo = &workspace.repo;
    let mut objects = ObjectWriter::new(repo);
    let begun = prepare(workspace, &mut objects, options)?;
    let session = begun.session.clone();
    let start = objects.tree_of(session.tip)?;
    let elsewhere = options.switching == HeadSwitch::Elsewhere;
    let left = begun.running.clone().filter(|_| !elsewhere);
    let mut change = change(&session, Some(begun), session.tip, String::new());
    let mut warnings = Vec::new();
    if !elsewhere && (left.is_some() || session.head == InHead::Yes) {
        let head = commit_tree(repo, repo.head()?.commit)?;
        let from = left.as_ref().map_or(Ok(head), |left| repo.tree_of(left.tip))?;
        let mut index = (session.head == InHead::Yes).then_some(TreeMove { from: head, to: start });
        if let Some(left) = left.as_ref().filter(|_| session.head == InHead::No)
            && left.head == InHead::Yes
        {
            // HEAD must leave the other session's branch, or that session would go on.
            let target = ReturnTarget::of(repo, left)?;
            index = Some(TreeMove { from: head, to: target.tree(repo)? });
            change.head.on_branch = InHead::Yes;
            change.head.from = Some(left.branch());
            change.head.to = target.onto;
            warnings.extend(target.warning);
        }
        if let Some(left) = left.as_ref().filter(|_| session.head == InHead::Yes) {
            change.refs.delete.extend(left.pointer_to_drop(repo)?);
        }
        let from_session =
            options.from.as_deref().map_or(Ok(None), |from| Session::named(repo, from))?;
        let users = from_session.as_ref().map(|other| UserCommits::of(&objects, other));
        let operation = Operation {
            name: "beginning the session",
            command: "edt begin",
            elsewhere: None,
            users: users.as_ref(),
        };
        change.worktree = follow::plan(repo, TreeMove { from, to: start }, index, &operation)?;
    }
    change.objects = objects.loose_objects();
    change.entry = Some((session.clone(), Step::Edit(0)));
    let Applied { files, warnings: more } = workspace.apply(change)?;
    warnings.extend(more);
    if let Some(left) = left {
        if session.head == InHead::Yes {
            left.drop_pointer(&workspace.repo);
        }
        let from_edits = session.tip == left.tip && session.tip != left.base;
        warnings.push(left_session(&left, &session, from_edits));
    }
    Ok(Begun { session, files, warnings })
}

fn left_session(left: &Session, session: &Session, from_edits: bool) -> Warning {
    let (left, name) = (&left.name, &session.name);
    let start = if from_edits { "with" } else { "without" };
    Warning {
        code: WarningCode::SessionLeft,
        path: None,
        message: format!(
            "The worktree was in the session {left}, which stays open. The session {name} begins \
             {start} its edits. `edt switch {left}` returns to it; `edt begin --from {left}` begins \
             with its edits."
        ),
    }
}

/// The change that moves the branch of `session` to `new`. `begun` is given if the session begins
/// with this commit.
pub fn change(session: &Session, begun: Option<NewSession>, new: Oid, log: String) -> Change {
    let from = if begun.is_some() {
        BranchOrigin::Created(session.tip)
    } else {
        BranchOrigin::Existing(session.tip)
    };
    let (create, head_from, point) =
        begun.map_or_else(Default::default, |begun| (begun.create, begun.head_from, begun.point));
    Change {
        base: Some(session.base),
        head: HeadMove { on_branch: session.head, from: head_from, to: None, point },
        refs: RefMoves { create, ..RefMoves::default() },
        ..Change::of(&session.name, RefMove { name: session.branch(), from, new, log })
    }
}

/// Begins a session in a new worktree at `place`, made by `git worktree add`.
///
/// # Errors
/// As [`begin`]; `BAD_REQUEST` if `place` is unusable, `IO_ERROR` if Git fails. No session remains
/// after an error.
pub fn begin_in_worktree(
    workspace: &mut LockedWorkspace,
    options: &BeginOptions,
    place: &Path,
) -> Result<Begun> {
    worktrees::check_path_free(place)?;
    let options = BeginOptions { switching: HeadSwitch::Elsewhere, ..options.clone() };
    let begun = begin(workspace, &options)?;
    let LockedWorkspace { repo, journal, .. } = workspace;
    let session = &begun.session;
    let Err(failed) = repo.add_worktree(place, session.short_branch()) else { return Ok(begun) };
    let mut refs = repo.refs_below(&format!("{REFS}{}/", session.name))?;
    refs.push((session.branch(), session.tip));
    delete_refs(repo, journal, &refs)?;
    Err(failed)
}

/// Prepares a session: writes objects to `writer` only, changes nothing.
///
/// # Errors
/// As [`begin`], without those of publishing.
pub fn prepare(
    workspace: &LockedWorkspace,
    writer: &mut ObjectWriter<'_>,
    begin: &BeginOptions,
) -> Result<NewSession> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let running = Session::current(repo, &head)?;
    let home = running.as_ref().map_or_else(|| Ok(head.clone()), |one| users_head(repo, one))?;
    let other = match &begin.from {
        Some(from) => Session::named(repo, from)?,
        None => None,
    };
    let name = match (&begin.name, &other) {
        (Some(name), _) => checked_name(repo, name)?,
        (None, Some(other)) => {
            let branch = Some(format!("{BRANCHES}{}", other.name));
            free_name(repo, &Head { branch, ..home.clone() })?
        }
        (None, None) => free_name(repo, &home)?,
    };
    let (start, base) = match &other {
        Some(other) => (other.tip, other.tip),
        None => start_of(repo, writer, begin, &home, &name)?,
    };
    check_base_policy(repo, (running.as_ref(), other.as_ref()), &home, base, begin.by_user)?;
    if !begin.by_user && begin.from.is_some() && other.is_none() {
        reviewed::check(workspace, &home, base, "begin a session there")?;
    }
    let policy = workspace.policy(repo.tree_of(base)?)?;
    let switch = begin.switching == HeadSwitch::AsConfigured && policy.switch;
    let target = |head: Head| {
        head.branch.or_else(|| head.commit.map(|commit| commit.to_string())).unwrap_or_default()
    };
    let origin = writer.write_blob(format!("{}\n", target(home)).as_bytes())?;
    Ok(NewSession {
        create: vec![(base_ref(&name), base), (format!("{REFS}{name}/origin"), origin)],
        head_from: switch.then(|| target(head)),
        point: (!switch && begin.switching != HeadSwitch::Elsewhere).then(|| POINTER.to_owned()),
        running,
        session: Session {
            branch: format!("{BRANCHES}{name}"),
            name,
            tip: start,
            base,
            head: if switch { InHead::Yes } else { InHead::No },
            planned: None,
        },
    })
}

/// The session that would begin by default. It serves to evaluate an edit before a session exists.
///
/// # Errors
/// `SESSION_EXISTS` if no name is free; `OBJECT_MISSING`.
pub fn preview_session(repo: &Repo, head: &Head) -> Result<Session> {
    let tip = head.commit.unwrap_or_else(|| repo.empty_tree());
    let name = free_name(repo, head)?;
    let branch = format!("{BRANCHES}{name}");
    Ok(Session { name, branch, tip, base: tip, head: InHead::No, planned: None })
}

/// Refuses to begin from a policy that neither the user's branch nor the base of `running` or
/// `other` has: that of a session has not landed, and only the user may choose an earlier one.
fn check_base_policy(
    repo: &Repo,
    (running, other): (Option<&Session>, Option<&Session>),
    home: &Head,
    base: Oid,
    by_user: bool,
) -> Result<()> {
    let changed_by = other.or(running);
    if changed_by.is_none() && (by_user || home.commit.is_none_or(|commit| commit == base)) {
        return Ok(());
    }
    let policy = RepoPath::from_tree(b"edt.toml");
    let begins_with = repo.tracked(repo.tree_of(base)?, &policy)?;
    let bases = [running.map(|one| one.base), other.map(|one| one.base), home.commit];
    for known in bases.into_iter().flatten() {
        if repo.tracked(repo.tree_of(known)?, &policy)? == begins_with {
            return Ok(());
        }
    }
    let (summary, remedy) = match changed_by {
        Some(session) => (
            format!(
                "The session {} changed edt.toml. A new session must not begin from an edt.toml \
                 that has not landed.",
                session.name
            ),
            "The user must land the new policy first (`git merge --squash`, `git commit`); then \
             begin from there.",
        ),
        None => (
            format!(
                "Commit {} has another edt.toml than HEAD. Only the user may begin a session \
                 under it.",
                base.to_hex_with_len(12)
            ),
            "Begin from a commit with HEAD's edt.toml; or ask the user to type this command in a \
             terminal.",
        ),
    };
    Err(Finding::new(Code::ProtectedPath, summary, remedy).nothing_changed().at(&policy).into())
}

fn start_of(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    begin: &BeginOptions,
    head: &Head,
    name: &str,
) -> Result<(Oid, Oid)> {
    if let Some(spec) = &begin.from {
        let base = repo.commit_named(spec)?;
        return Ok((base, base));
    }
    if let Some(commit) = head.commit {
        repo.object(commit, ObjectKind::Commit)?;
        return Ok((commit, commit));
    }
    // An unborn branch has no commit to start from. The session gets an empty one, so that every
    // edit can be undone.
    let empty = writer.write_tree(repo.empty_tree(), &[])?.0;
    let trailers = Trailers::plain(name, Kind::Begin, 0);
    let message = message::compose(&format!("begin {name}"), &trailers);
    let root = writer.write_commit(&NewCommit { tree: empty, parent: None, message: &message })?;
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
            format!("{name:?} is not a valid session name."),
            format!(
                "Use a valid Git branch name without a leading `-` and without the parts {}.",
                RESERVED.join(", ")
            ),
        )
        .into());
    }
    if let Some(colliding_ref) = colliding_ref(repo, name)? {
        return Err(Finding::new(
            Code::SessionExists,
            format!("The session {name} cannot begin: {colliding_ref} exists."),
            name_remedy(repo, name)?,
        )
        .with("ref", colliding_ref)
        .into());
    }
    Ok(name.to_owned())
}

/// What to do instead of beginning a session of the same name again.
fn name_remedy(repo: &Repo, name: &str) -> Result<String> {
    let (branch, abandoned) = (format!("{BRANCHES}{name}"), format!("{REFS}{name}/abandoned"));
    Ok(if repo.ref_value(&branch)?.is_some() {
        format!(
            "Choose another name, or continue that session in its worktree (`git worktree list`) \
             or with `git switch edt/{name}`."
        )
    } else if repo.ref_value(&abandoned)?.is_some() {
        format!(
            "Choose another name, or restore that session: `git branch edt/{name} {abandoned}`, \
             then `git switch edt/{name}`."
        )
    } else {
        format!(
            "Choose another name; `git for-each-ref {REFS}{name} {branch}` lists the refs that \
             remain under this one."
        )
    })
}

/// An existing ref that collides with a session of that name.
fn colliding_ref(repo: &Repo, name: &str) -> Result<Option<String>> {
    for root in [BRANCHES, REFS] {
        let full = format!("{root}{name}");
        let mut above: Vec<String> =
            full.match_indices('/').skip(2).map(|(at, _)| full[..at].to_owned()).collect();
        above.push(full.clone());
        for name in above {
            if repo.ref_value(&name)?.is_some() {
                return Ok(Some(name));
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
        if colliding_ref(repo, &name)?.is_none() {
            return checked_name(repo, &name);
        }
        // For example, a plain branch `edt` blocks every number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::refs::names::origin;
    use crate::tests::{Scratch, path, refusal};

    fn named(name: &str) -> BeginOptions {
        let name = Some(name.to_owned());
        BeginOptions { name, ..BeginOptions::default() }
    }

    fn unnamed() -> BeginOptions {
        BeginOptions { name: None, ..BeginOptions::default() }
    }

    fn begun(scratch: &Scratch, options: &BeginOptions) -> Session {
        begin(&mut scratch.open(), options).unwrap().session
    }

    fn free(scratch: &Scratch, branch: Option<&str>) -> String {
        let head = Head { branch: branch.map(str::to_owned), commit: None };
        free_name(&scratch.repo(), &head).unwrap()
    }

    fn one_file() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    #[test]
    fn a_session_begins_at_head_and_is_named_after_its_branch() {
        let scratch = one_file();
        let head = scratch.head();
        let expected = Session {
            name: "main-1".into(),
            branch: "refs/heads/edt/main-1".into(),
            tip: head,
            base: head,
            head: InHead::Yes,
            planned: None,
        };
        assert_eq!(begun(&scratch, &unnamed()), expected);
        assert_eq!(scratch.ref_value("refs/heads/edt/main-1"), Some(head));
        assert_eq!(scratch.ref_value("refs/edt/main-1/base"), Some(head));
        assert_eq!(scratch.head_target(), "refs/heads/edt/main-1");
    }

    #[test]
    fn a_session_records_the_branch_that_it_began_on() {
        let scratch = one_file();
        begun(&scratch, &named("fix"));
        let repo = scratch.repo();
        assert_eq!(origin(&repo, "fix").unwrap().as_deref(), Some("refs/heads/main"));
    }

    #[test]
    fn a_session_on_a_detached_head_records_the_commit() {
        let scratch = one_file();
        let head = scratch.head();
        scratch.write(".git/HEAD", &format!("{head}\n"));
        assert_eq!(begun(&scratch, &unnamed()).name, "detached-1");
        let repo = scratch.repo();
        assert_eq!(origin(&repo, "detached-1").unwrap(), Some(head.to_string()));
    }

    #[test]
    fn a_number_that_a_session_has_is_skipped() {
        let scratch = one_file();
        scratch.set_ref("refs/edt/main-1/abandoned", scratch.head());
        assert_eq!(free(&scratch, Some("refs/heads/main")), "main-2");
    }

    #[test]
    fn a_name_has_the_slashes_of_its_branch() {
        assert_eq!(free(&one_file(), Some("refs/heads/feature/x")), "feature/x-1");
    }

    #[test]
    fn a_session_that_begins_in_another_has_no_second_prefix() {
        assert_eq!(free(&one_file(), Some("refs/heads/edt/fix")), "fix-1");
    }

    #[test]
    fn a_given_name_may_have_the_prefix_of_shadow_branches() {
        assert_eq!(begun(&one_file(), &named("edt/fix")).name, "fix");
    }

    #[test]
    fn a_part_of_a_name_that_edt_uses_itself_is_refused() {
        let scratch = one_file();
        let finding = Finding::new(
            Code::BadRequest,
            "\"team/landed\" is not a valid session name.",
            "Use a valid Git branch name without a leading `-` and without the parts base, origin, record, \
             comments, undone, refused, aside, landed, landing, onto, unlanded, abandoned, pending, memory, \
             memory-at, proposals, resolution, saved, switch.",
        );
        assert_eq!(refusal(begin(&mut scratch.open(), &named("team/landed"))), finding);
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_refused() {
        let finding = refusal(begin(&mut one_file().open(), &named("-x")));
        assert_eq!(finding.summary, "\"-x\" is not a valid session name.");
    }

    #[test]
    fn a_name_that_git_does_not_accept_is_refused() {
        let finding = refusal(begin(&mut one_file().open(), &named("a..b")));
        assert_eq!(finding.summary, "\"a..b\" is not a valid session name.");
    }

    #[test]
    fn an_open_session_keeps_its_name() {
        let scratch = one_file();
        begun(&scratch, &named("fix"));
        let finding = Finding::new(
            Code::SessionExists,
            "The session fix cannot begin: refs/heads/edt/fix exists.",
            "Choose another name, or continue that session in its worktree (`git worktree list`) \
             or with `git switch edt/fix`.",
        );
        let finding = finding.with("ref", "refs/heads/edt/fix");
        assert_eq!(refusal(begin(&mut scratch.open(), &named("fix"))), finding);
    }

    #[test]
    fn an_abandoned_session_keeps_its_name_and_can_be_restored() {
        let scratch = one_file();
        scratch.set_ref("refs/edt/old/abandoned", scratch.head());
        let finding = refusal(begin(&mut scratch.open(), &named("old")));
        assert_eq!(
            finding.remedy,
            "Choose another name, or restore that session: `git branch edt/old \
             refs/edt/old/abandoned`, then `git switch edt/old`."
        );
        assert_eq!(finding.evidence["ref"], "refs/edt/old/abandoned");
    }

    #[test]
    fn remaining_refs_of_a_session_keep_its_name() {
        let scratch = one_file();
        scratch.set_ref("refs/edt/old/base", scratch.head());
        assert_eq!(
            refusal(begin(&mut scratch.open(), &named("old"))).remedy,
            "Choose another name; `git for-each-ref refs/edt/old refs/heads/edt/old` lists the \
             refs that remain under this one."
        );
    }

    #[test]
    fn a_name_below_a_session_collides_with_it() {
        let scratch = one_file();
        begun(&scratch, &named("a"));
        assert_eq!(
            refusal(begin(&mut scratch.open(), &named("a/b"))).summary,
            "The session a/b cannot begin: refs/heads/edt/a exists."
        );
    }

    #[test]
    fn a_name_above_a_session_collides_with_it() {
        let scratch = one_file();
        begun(&scratch, &named("a/b"));
        assert_eq!(
            refusal(begin(&mut scratch.open(), &named("a"))).summary,
            "The session a cannot begin: refs/heads/edt/a/b exists."
        );
    }

    #[test]
    fn a_branch_named_edt_leaves_no_name_free() {
        let scratch = one_file();
        scratch.set_ref("refs/heads/edt", scratch.head());
        let finding = Finding::new(
            Code::SessionExists,
            "No session name main-<n> is free; a branch named edt blocks every one.",
            "Rename that branch (`git branch -m edt other`), or give `edt begin` a name.",
        );
        assert_eq!(refusal(begin(&mut scratch.open(), &unnamed())), finding);
    }

    #[test]
    fn a_session_on_an_unborn_branch_begins_with_an_empty_commit() {
        let scratch = Scratch::unborn();
        let session = begun(&scratch, &unnamed());
        let repo = scratch.repo();
        let root = crate::session::refs::commit::Commit::read(&repo, session.tip).unwrap();
        assert_eq!(
            (session.base, root.tree, root.parent),
            (repo.empty_tree(), repo.empty_tree(), None)
        );
        assert_eq!(
            root.message,
            "begin main-1\n\nEdt-Session: main-1\nEdt-Kind: begin\nEdt-Edit: 0\n"
        );
        assert_eq!(session.edits(&repo).unwrap(), 0);
    }

    #[test]
    fn policy_may_leave_head_on_its_branch() {
        let scratch = Scratch::with(&[("edt.toml", "[session]\nswitch = false\n")]);
        assert_eq!(begun(&scratch, &named("fix")).head, InHead::No);
        assert_eq!(scratch.head_target(), "refs/heads/main");
        let pointer = scratch.repo().symbolic_ref(POINTER).unwrap();
        assert_eq!(pointer.as_deref(), Some("refs/heads/edt/fix"));
    }

    #[test]
    fn a_session_for_another_worktree_is_not_remembered_in_this_one() {
        let scratch = one_file();
        begun(&scratch, &BeginOptions { switching: HeadSwitch::Elsewhere, ..named("fix") });
        let repo = scratch.repo();
        assert_eq!(repo.symbolic_ref(POINTER).unwrap(), None);
        assert_eq!(Session::current(&repo, &repo.head().unwrap()).unwrap(), None);
    }

    #[test]
    fn the_files_follow_to_a_base_with_other_files() {
        let scratch = one_file();
        let first = scratch.head();
        scratch.user_commit("main", &[("b.txt", Some("two\n"))], "second\n");
        scratch.write("b.txt", "two\n");
        let options = BeginOptions { from: Some(first.to_string()), ..named("fix") };
        assert_eq!(begun(&scratch, &options).tip, first);
        assert_eq!(scratch.head_target(), "refs/heads/edt/fix");
        assert_eq!(scratch.text("b.txt"), None);
    }

    #[test]
    fn a_session_that_begins_in_another_starts_from_the_users_branch() {
        let scratch = one_file();
        let main = scratch.head();
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let second = begin(&mut scratch.open(), &unnamed()).unwrap();
        assert_eq!((second.session.name.as_str(), second.session.tip), ("main-1", main));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        let codes: Vec<&str> = second.warnings.iter().map(|warning| warning.code.name()).collect();
        assert_eq!(codes, ["session_left"]);
        let repo = scratch.repo();
        assert_eq!(origin(&repo, "main-1").unwrap().as_deref(), Some("refs/heads/main"));
    }

    #[test]
    fn a_session_may_begin_from_another_session() {
        let scratch = one_file();
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let tip = scratch.head();
        let options = BeginOptions { from: Some("fix".into()), ..unnamed() };
        let session = begun(&scratch, &options);
        assert_eq!((session.name.as_str(), session.base), ("fix-1", tip));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn a_session_without_a_switched_head_leaves_the_branch_of_the_other() {
        let scratch = one_file();
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let second = scratch.begin_with("second", HeadSwitch::Never);
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!(scratch.session(), second);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_session_may_begin_elsewhere_if_head_is_not_switched() {
        let scratch = one_file();
        let first = scratch.head();
        scratch.user_commit("main", &[("b.txt", Some("two\n"))], "second\n");
        let switching = HeadSwitch::Never;
        let options = BeginOptions { from: Some("HEAD~1".into()), switching, ..named("fix") };
        let session = begun(&scratch, &options);
        assert_eq!((session.tip, session.base, session.head), (first, first, InHead::No));
    }

    #[test]
    fn a_base_that_is_no_revision_is_refused() {
        let options = BeginOptions { from: Some("nowhere".into()), ..named("fix") };
        assert_eq!(refusal(begin(&mut one_file().open(), &options)).code, Code::BadRequest);
    }

    #[test]
    fn no_session_begins_during_a_merge() {
        let scratch = one_file();
        scratch.write(".git/MERGE_HEAD", &format!("{}\n", scratch.head()));
        let finding = refusal(begin(&mut scratch.open(), &named("fix")));
        assert_eq!(
            (finding.code, &finding.evidence["operation"]),
            (Code::RepositoryBusy, &"merge".into())
        );
        assert_eq!(scratch.ref_value("refs/heads/edt/fix"), None);
    }

    #[test]
    fn a_preview_makes_no_ref() {
        let scratch = one_file();
        let (repo, head) = (scratch.repo(), scratch.head());
        let preview = preview_session(&repo, &repo.head().unwrap()).unwrap();
        let expected = Session {
            name: "main-1".into(),
            branch: "refs/heads/edt/main-1".into(),
            tip: head,
            base: head,
            head: InHead::No,
            planned: None,
        };
        assert_eq!(preview, expected);
        assert_eq!(repo.refs_below(REFS).unwrap(), []);
    }

    #[test]
    fn a_preview_on_an_unborn_branch_starts_from_the_empty_tree() {
        let scratch = Scratch::unborn();
        let repo = scratch.repo();
        let preview = preview_session(&repo, &repo.head().unwrap()).unwrap();
        assert_eq!((preview.tip, preview.base), (repo.empty_tree(), repo.empty_tree()));
    }

    #[test]
    fn a_session_does_not_begin_from_a_policy_that_a_session_wrote() {
        let scratch = one_file();
        begun(&scratch, &named("one"));
        scratch.user_commit("edt/one", &[("edt.toml", Some("[session]\n"))], "loosen\n");
        let finding = Finding::new(
            Code::ProtectedPath,
            "The session one changed edt.toml. A new session must not begin from an edt.toml that \
             has not landed.",
            "The user must land the new policy first (`git merge --squash`, `git commit`); then \
             begin from there.",
        );
        let finding = finding.nothing_changed().at(&path("edt.toml"));
        let from = BeginOptions { from: Some("one".to_owned()), ..named("two") };
        assert_eq!(refusal(begin(&mut scratch.open(), &from)), finding);
        // Nor from the user's branch.
        scratch.write(".git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(refusal(begin(&mut scratch.open(), &from)), finding);
    }
}
