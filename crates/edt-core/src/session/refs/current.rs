//! The session of this worktree.

use super::commit::Commit;
use super::landed::Landing;
use super::names::{BRANCHES, POINTER, base_ref};
use super::renamed;
use edt_git::{Head, InHead, Oid, Repo, Worktree};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result, SessionReport};

/// A session with its branch and base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name, without `edt/`. Its refs are below `refs/edt/<name>/`.
    pub name: String,
    /// The full name of its branch: `refs/heads/edt/<name>` unless the user renamed it.
    pub branch: String,
    /// The branch's commit.
    pub tip: Oid,
    /// The commit it began from, or the empty tree.
    pub base: Oid,
    /// Whether HEAD is on the branch.
    pub head: InHead,
    /// The entry of its record that a planned landing adds; `None` while none does. Its commits are
    /// edt's although no ref names the entry yet.
    pub planned: Option<Oid>,
}

impl Session {
    /// The session of this worktree: the branch `edt/…` that HEAD is on, or else the one that
    /// `--no-switch` remembered.
    ///
    /// # Errors
    /// `NO_SESSION` if HEAD is on such a branch without a base; `IO_ERROR`.
    pub fn current(repo: &Repo, head: &Head) -> Result<Option<Session>> {
        let on_head =
            head.branch.as_ref().and_then(|branch| Some((branch, branch.strip_prefix(BRANCHES)?)));
        if let Some((branch, name)) = on_head {
            let Some(tip) = head.commit else { return Err(without_branch(repo, name)?.into()) };
            let found = Session::at(repo, branch, tip)?.ok_or_else(|| without_base(name))?;
            return Ok(Some(Session { head: InHead::Yes, ..found }));
        }
        let Some(branch) = repo.symbolic_ref(POINTER)? else { return Ok(None) };
        let Some(name) = branch.strip_prefix(BRANCHES) else { return Ok(None) };
        match repo.ref_value(&branch)? {
            Some(tip) => Ok(repo.ref_value(&base_ref(name))?.map(|base| {
                let name = name.to_owned();
                Session { name, tip, base, head: InHead::No, branch: branch.clone(), planned: None }
            })),
            // A session ends when the user deletes its branch.
            None => Session::named(repo, name),
        }
    }

    /// The session of `branch`, a full ref name at `tip`; `None` if it is no session's.
    fn at(repo: &Repo, branch: &str, tip: Oid) -> Result<Option<Session>> {
        let Some(short) = branch.strip_prefix(BRANCHES) else { return Ok(None) };
        let (name, base) = if let Some(base) = repo.ref_value(&base_ref(short))? {
            (short.to_owned(), base)
        } else {
            let Some(name) = renamed::session_of(repo, branch, tip)? else { return Ok(None) };
            let Some(base) = repo.ref_value(&base_ref(&name))? else { return Ok(None) };
            (name, base)
        };
        Ok(Some(Session {
            name,
            branch: branch.to_owned(),
            tip,
            base,
            head: InHead::No,
            planned: None,
        }))
    }

    /// The session with this name or with the branch `edt/<name>`, as one that HEAD is not on.
    /// `None` if there is none, or if it has no branch.
    ///
    /// # Errors
    /// `IO_ERROR`, `OBJECT_MISSING`.
    pub fn named(repo: &Repo, name: &str) -> Result<Option<Session>> {
        let name = name.strip_prefix("refs/heads/").unwrap_or(name);
        let name = name.strip_prefix("edt/").unwrap_or(name);
        let branch = format!("{BRANCHES}{name}");
        if !repo.is_ref_name(&branch) {
            return Ok(None);
        }
        if let Some(tip) = repo.ref_value(&branch)? {
            return Session::at(repo, &branch, tip);
        }
        let Some(base) = repo.ref_value(&base_ref(name))? else { return Ok(None) };
        Ok(renamed::branch_of(repo, name)?.map(|(branch, tip)| Session {
            name: name.to_owned(),
            branch,
            tip,
            base,
            head: InHead::No,
            planned: None,
        }))
    }

    /// As [`Session::current`], for a command that cannot work without a session.
    ///
    /// # Errors
    /// `NO_SESSION` if there is none; `SESSION_LANDED` if HEAD is at the landing of one.
    pub fn required(repo: &Repo, head: &Head) -> Result<Session> {
        if let Some(session) = Session::current(repo, head)? {
            return Ok(session);
        }
        let landing = head.commit.map(|commit| Landing::at(repo, commit)).transpose()?.flatten();
        let is_over = landing.as_ref().map_or(Ok(false), |landing| ended(repo, landing))?;
        Err(landing
            .filter(|_| is_over)
            .map_or_else(
                || {
                    Finding::new(
                        Code::NoSession,
                        "There is no edt session in this worktree.",
                        "`edt begin` or the first `edt apply` begins one; `git switch edt/<name>` \
                     returns to an earlier one.",
                    )
                },
                |landing| landing.is_over(),
            )
            .into())
    }

    /// Refuses a session that another worktree uses: each would record the other's edits as user
    /// changes.
    ///
    /// # Errors
    /// `SESSION_BUSY` naming that worktree.
    pub fn check_not_shared(&self, repo: &Repo) -> Result<()> {
        let others = repo.other_worktrees(POINTER);
        let Some(other) = others.into_iter().find(|other| self.is_used_by(other)) else {
            return Ok(());
        };
        let place = repo.worktree_root(&other).unwrap_or(other.git_dir);
        Err(Finding::new(
            Code::SessionBusy,
            format!("Another worktree uses {}: {}.", self.short_branch(), place.shown()),
            "Work there, or begin another session here (`git switch` to another branch, then `edt \
             begin`).",
        )
        .nothing_changed()
        .into())
    }

    fn is_used_by(&self, worktree: &Worktree) -> bool {
        worktree.head.as_ref() == Some(&self.branch)
            || worktree.pointer.as_ref().is_some_and(|pointer| self.is_pointed_at(pointer))
    }

    /// Whether a worktree's pointer with the target `pointer` means this session. Git does not
    /// change the pointer when it renames the branch.
    fn is_pointed_at(&self, pointer: &str) -> bool {
        pointer == self.branch || pointer.strip_prefix(BRANCHES) == Some(&self.name)
    }

    /// The branch's full name.
    #[must_use]
    pub fn branch(&self) -> String {
        self.branch.clone()
    }

    /// The branch's name without `refs/heads/`.
    #[must_use]
    pub fn short_branch(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }

    /// This worktree's pointer with its value, to delete it in a transaction; none if it does not
    /// name this session or has no value.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn pointer_to_drop(&self, repo: &Repo) -> Result<Option<(String, Oid)>> {
        let pointer = repo.symbolic_ref(POINTER)?.filter(|pointer| self.is_pointed_at(pointer));
        let value = pointer.map(|pointer| repo.ref_value(&pointer)).transpose()?.flatten();
        Ok(value.map(|value| (POINTER.to_owned(), value)))
    }

    /// Deletes this worktree's pointer if it still names this session. A failure leaves the
    /// session's pointer, which the next call can delete.
    pub fn drop_pointer(&self, repo: &Repo) {
        let pointer = repo.symbolic_ref(POINTER).ok().flatten();
        if let Some(pointer) = pointer.filter(|pointer| self.is_pointed_at(pointer)) {
            let _ = repo.delete_symbolic_ref(POINTER, &pointer);
        }
    }

    /// The session in an answer's form.
    #[must_use]
    pub fn report(&self, began: bool) -> SessionReport {
        SessionReport {
            name: self.name.clone(),
            branch: self.short_branch().to_owned(),
            base: self.base.to_string(),
            began,
        }
    }
}

/// The worktree's session; `None` also if HEAD is on a branch `edt/…` that is no session's, so that
/// it can be left.
pub(crate) fn current(repo: &Repo, head: &Head) -> Result<Option<Session>> {
    match Session::current(repo, head) {
        Err(found) if found.any(|finding| finding.code == Code::NoSession) => Ok(None),
        session => session,
    }
}

/// Whether `landing` ended its session. One of which a part landed goes on.
fn ended(repo: &Repo, landing: &Landing) -> Result<bool> {
    let now = Session::named(repo, &landing.session)?.map(|session| session.tip);
    match now.filter(|tip| *tip != landing.tip) {
        Some(tip) => Ok(!repo.is_ancestor(landing.tip, tip)?),
        None => Ok(true),
    }
}

/// The refusal where HEAD is on a branch that does not exist.
fn without_branch(repo: &Repo, name: &str) -> Result<Finding> {
    let tip = repo.last_logged("HEAD").filter(|tip| Commit::read(repo, *tip).is_ok());
    let is_session = repo.ref_value(&base_ref(name))?.is_some();
    let remedy = match tip.filter(|_| is_session) {
        Some(tip) => format!(
            "`git update-ref {BRANCHES}{name} {tip}` restores it at the last commit that HEAD had."
        ),
        None => {
            "`git switch -c <name>` names an ordinary branch, `git switch <branch>` switches to \
                 another one."
                .to_owned()
        }
    };
    let summary = format!("HEAD is on edt/{name}, but that branch has no commit or was deleted.");
    Ok(Finding::new(Code::NoSession, summary, remedy).nothing_changed())
}

fn without_base(name: &str) -> Finding {
    Finding::new(
        Code::NoSession,
        format!(
            "HEAD is on edt/{name}, but {} is missing, so the session's base is unknown.",
            base_ref(name)
        ),
        format!(
            "If the user created the branch, record its base with `git update-ref {} <commit>`; \
             otherwise switch to another branch and run `edt begin`.",
            base_ref(name)
        ),
    )
}

/// The tree of the session, or HEAD's.
pub fn tree_now(repo: &Repo, session: Option<&Session>) -> Result<Oid> {
    let tip =
        session.map_or_else(|| repo.head().map(|head| head.commit), |one| Ok(Some(one.tip)))?;
    tip.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, refusal};

    fn current(scratch: &Scratch) -> Result<Option<Session>> {
        let repo = scratch.repo();
        Session::current(&repo, &repo.head().unwrap())
    }

    fn one_file() -> Scratch {
        Scratch::with(&[("a.txt", "one\n")])
    }

    #[test]
    fn an_ordinary_branch_is_no_session() {
        let scratch = one_file();
        assert_eq!(current(&scratch).unwrap(), None);
        let repo = scratch.repo();
        let finding = Finding::new(
            Code::NoSession,
            "There is no edt session in this worktree.",
            "`edt begin` or the first `edt apply` begins one; `git switch edt/<name>` returns to \
             an earlier one.",
        );
        assert_eq!(refusal(Session::required(&repo, &repo.head().unwrap())), finding);
    }

    #[test]
    fn a_shadow_branch_without_a_base_is_refused() {
        let scratch = one_file();
        scratch.set_ref("refs/heads/edt/lost", scratch.head());
        scratch.write(".git/HEAD", "ref: refs/heads/edt/lost\n");
        let finding = Finding::new(
            Code::NoSession,
            "HEAD is on edt/lost, but refs/edt/lost/base is missing, so the session's base is \
             unknown.",
            "If the user created the branch, record its base with `git update-ref \
             refs/edt/lost/base <commit>`; otherwise switch to another branch and run `edt begin`.",
        );
        assert_eq!(refusal(current(&scratch)), finding);
    }

    #[test]
    fn a_deleted_branch_with_head_on_it_can_be_restored() {
        let scratch = one_file();
        let session = scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let tip = scratch.session().tip;
        scratch.remove(".git/refs/heads/edt/fix");
        let finding = refusal(current(&scratch));
        let restore = format!("git update-ref refs/heads/edt/fix {tip}");
        assert_eq!(
            (finding.code, finding.summary.as_str()),
            (Code::NoSession, "HEAD is on edt/fix, but that branch has no commit or was deleted.")
        );
        assert!(finding.remedy.contains(&restore), "{finding:#?}");
        scratch.set_ref("refs/heads/edt/fix", tip);
        assert_eq!(current(&scratch).unwrap(), Some(Session { tip, ..session }));
    }

    #[test]
    fn the_pointer_names_the_session_while_head_is_elsewhere() {
        let scratch = one_file();
        let begun = scratch.begin_with("fix", HeadSwitch::Never);
        assert_eq!(current(&scratch).unwrap(), Some(Session { head: InHead::No, ..begun }));
    }

    #[test]
    fn a_session_ends_when_its_branch_is_deleted() {
        let scratch = one_file();
        scratch.begin_with("fix", HeadSwitch::Never);
        scratch.remove(".git/refs/heads/edt/fix");
        assert_eq!(current(&scratch).unwrap(), None);
    }

    #[test]
    fn a_pointer_to_an_ordinary_branch_names_no_session() {
        let scratch = one_file();
        scratch.write(&format!(".git/{POINTER}"), "ref: refs/heads/main\n");
        assert_eq!(current(&scratch).unwrap(), None);
    }

    #[test]
    fn a_report_has_the_short_name_of_the_branch() {
        let session = one_file().begin("fix");
        let expected = SessionReport {
            name: "fix".into(),
            branch: "edt/fix".into(),
            base: session.base.to_string(),
            began: true,
        };
        assert_eq!(session.report(true), expected);
    }

    #[test]
    fn two_worktrees_do_not_share_a_session() {
        let scratch = one_file();
        let session = scratch.begin("fix");
        scratch.write(".git/worktrees/other/HEAD", "ref: refs/heads/edt/fix\n");
        scratch.write(".git/worktrees/other/gitdir", "/nowhere/.git\n");
        scratch.write(".git/worktrees/other/commondir", "../..\n");
        let repo = scratch.repo();
        let place = repo.common_dir().join("worktrees/other");
        let finding = Finding::new(
            Code::SessionBusy,
            format!("Another worktree uses edt/fix: {}.", place.display()),
            "Work there, or begin another session here (`git switch` to another branch, then `edt \
             begin`).",
        );
        assert_eq!(refusal(session.check_not_shared(&repo)), finding.nothing_changed());
    }

    #[test]
    fn a_worktree_on_another_branch_does_not_use_the_session() {
        let scratch = one_file();
        let session = scratch.begin("fix");
        scratch.write(".git/worktrees/other/HEAD", "ref: refs/heads/main\n");
        scratch.write(".git/worktrees/other/gitdir", "/nowhere/.git\n");
        session.check_not_shared(&scratch.repo()).unwrap();
    }
}
