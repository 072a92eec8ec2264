//! Begins a session: creates a branch at HEAD and a ref for its base, and switches HEAD to the
//! branch. No file changes.

use std::path::Path;

use super::current::{BRANCHES, POINTER, REFS, Session, base_ref};
use super::message::{self, Kind, Trailers};
use super::workspace::LockedWorkspace;
use edt_git::read::ObjectKind;
use edt_git::worktrees;
use edt_git::{Head, InHead, NewCommit, ObjectWriter, Oid, Repo};
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, publish};
use edt_types::{Code, Finding, RepoPath, Result, Warning};

/// How to begin a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginOptions {
    /// The session's name; derived from the current branch if `None`.
    pub name: Option<String>,
    /// Whether to switch HEAD to the session's branch.
    pub switching: HeadSwitch,
    /// The revision it begins from; HEAD if `None`.
    pub base: Option<String>,
}

/// Whether to switch HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadSwitch {
    /// As the policy says.
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
}

/// Begins a session without an edit.
///
/// # Errors
/// `SESSION_EXISTS`, `BAD_REQUEST` for an unusable name or revision, `REPOSITORY_BUSY`, errors of
/// publishing.
pub fn begin(
    workspace: &mut LockedWorkspace,
    options: &BeginOptions,
) -> Result<(Session, Vec<Warning>)> {
    let mut objects = ObjectWriter::new(&workspace.repo);
    let begun = prepare(workspace, &mut objects, options)?;
    let session = begun.session.clone();
    let (branch, create) = branch(&session, Some(begun), session.tip, String::new());
    let change = ChangeSet { objects: objects.loose_objects(), create, ..ChangeSet::of(branch) };
    workspace.require_durability(session.base);
    let warnings = publish(&workspace.repo, &mut workspace.journal, change)?;
    Ok((session, warnings))
}

/// Moves the branch of `session` to `new`. `begun` is given if the session begins with this commit.
/// Returns the branch and the refs that must exist first.
#[must_use]
pub fn branch(
    session: &Session,
    begun: Option<NewSession>,
    new: Oid,
    log: String,
) -> (BranchUpdate, Vec<(String, Oid)>) {
    let from = if begun.is_some() {
        BranchOrigin::Created(session.tip)
    } else {
        BranchOrigin::Existing(session.tip)
    };
    let (create, head_from, point) =
        begun.map_or_else(Default::default, |begun| (begun.create, begun.head_from, begun.point));
    (
        BranchUpdate {
            name: session.branch(),
            from,
            new,
            log,
            head: session.head,
            head_from,
            point,
        },
        create,
    )
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
) -> Result<(Session, Vec<Warning>)> {
    worktrees::check_path_free(place)?;
    let options = BeginOptions { switching: HeadSwitch::Elsewhere, ..options.clone() };
    let (session, warnings) = begin(workspace, &options)?;
    let repo = &workspace.repo;
    let branch = format!("edt/{}", session.name);
    let Err(failed) = repo.add_worktree(place, &branch) else { return Ok((session, warnings)) };
    let mut refs = repo.refs_below(&format!("{REFS}{}/", session.name))?;
    refs.push((session.branch(), session.tip));
    repo.delete_refs(&refs)?;
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
    let name = match &begin.name {
        Some(name) => checked_name(repo, name)?,
        None => free_name(repo, &head)?,
    };
    let (start, base) = start_of(repo, writer, begin, &head, &name)?;
    check_base_policy(repo, &head, base)?;
    let policy = workspace.policy(repo.tree_of(base)?)?;
    let switch = begin.switching == HeadSwitch::AsConfigured && policy.switch;
    if switch && head.commit.is_some_and(|commit| commit != start) {
        return Err(other_base().into());
    }
    let from = head
        .branch
        .clone()
        .or_else(|| head.commit.map(|commit| commit.to_string()))
        .unwrap_or_default();
    let origin = writer.write_blob(format!("{from}\n").as_bytes())?;
    Ok(NewSession {
        create: vec![(base_ref(&name), base), (format!("{REFS}{name}/origin"), origin)],
        head_from: switch.then_some(from),
        point: (!switch && begin.switching != HeadSwitch::Elsewhere).then(|| POINTER.to_owned()),
        session: Session {
            name,
            tip: start,
            base,
            head: if switch { InHead::Yes } else { InHead::No },
        },
    })
}

/// The session that would begin by default. It serves to evaluate an edit before a session exists.
///
/// # Errors
/// `SESSION_EXISTS` if no name is free; `OBJECT_MISSING`.
pub fn preview_session(repo: &Repo, head: &Head) -> Result<Session> {
    let tip = head.commit.unwrap_or_else(|| repo.empty_tree());
    Ok(Session { name: free_name(repo, head)?, tip, base: tip, head: InHead::No })
}

/// Refuses to begin from a policy that another session changed: only a landed policy counts.
fn check_base_policy(repo: &Repo, head: &Head, base: Oid) -> Result<()> {
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
            "The session {} changed edt.toml. A new session must not begin from an edt.toml that \
             has not landed.",
            running.name
        ),
        "The user must land the new policy first (`git merge --squash`, `git commit`); then begin \
         from there.",
    )
    .nothing_changed()
    .at(&policy)
    .into())
}

fn start_of(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    begin: &BeginOptions,
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

fn other_base() -> Finding {
    Finding::new(
        Code::BadRequest,
        "--base names a commit other than HEAD; switching to it would change files.",
        "Run `git switch --detach REV` and then `edt begin`, or keep HEAD with --no-switch.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::list::origin;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;

    fn named(name: &str) -> BeginOptions {
        let name = Some(name.to_owned());
        BeginOptions { name, switching: HeadSwitch::AsConfigured, base: None }
    }

    fn unnamed() -> BeginOptions {
        BeginOptions { name: None, switching: HeadSwitch::AsConfigured, base: None }
    }

    fn begun(scratch: &Scratch, options: &BeginOptions) -> Session {
        begin(&mut scratch.open(), options).unwrap().0
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
        let expected = Session { name: "main-1".into(), tip: head, base: head, head: InHead::Yes };
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
            "Use a valid Git branch name without a leading `-` and without the parts base, origin, \
             undone, refused, aside, landed, landing, abandoned, pending, memory, proposals.",
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
        let root = crate::session::history::Commit::read(&repo, session.tip).unwrap();
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
    fn head_does_not_switch_to_a_base_with_other_files() {
        let scratch = one_file();
        let first = scratch.head();
        scratch.user_commit("main", &[("b.txt", Some("two\n"))], "second\n");
        let options = BeginOptions { base: Some(first.to_string()), ..named("fix") };
        assert_eq!(refusal(begin(&mut scratch.open(), &options)), other_base());
    }

    #[test]
    fn a_session_may_begin_elsewhere_if_head_is_not_switched() {
        let scratch = one_file();
        let first = scratch.head();
        scratch.user_commit("main", &[("b.txt", Some("two\n"))], "second\n");
        let switching = HeadSwitch::Never;
        let options = BeginOptions { base: Some("HEAD~1".into()), switching, ..named("fix") };
        let session = begun(&scratch, &options);
        assert_eq!((session.tip, session.base, session.head), (first, first, InHead::No));
    }

    #[test]
    fn a_base_that_is_no_revision_is_refused() {
        let options = BeginOptions { base: Some("nowhere".into()), ..named("fix") };
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
        let expected = Session { name: "main-1".into(), tip: head, base: head, head: InHead::No };
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
        scratch.apply(&Request::new("loosen").create("edt.toml", "[session]\n")).unwrap();
        let finding = Finding::new(
            Code::ProtectedPath,
            "The session one changed edt.toml. A new session must not begin from an edt.toml that \
             has not landed.",
            "The user must land the new policy first (`git merge --squash`, `git commit`); then \
             begin from there.",
        );
        let finding = finding.nothing_changed().at(&path("edt.toml"));
        assert_eq!(refusal(begin(&mut scratch.open(), &named("two"))), finding);
    }
}
