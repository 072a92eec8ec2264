//! The session that the user left by switching HEAD with Git. The next answer of edt names it, so that
//! an agent does not look for its edits in the new session.

use super::user_reset;
use crate::session::landing::list::{self, SessionState};
use edt_git::Repo;
use edt_git::reflog::HeadLog;
use edt_types::text::{Shown as _, counted};
use edt_types::{Warning, WarningCode};

/// The warning that names what left the branch: the session, or edits of it ([`user_reset`]).
#[must_use]
pub fn warning(repo: &Repo) -> Option<Warning> {
    let log = repo.head_log();
    session_left(repo, &log).or_else(|| user_reset::warning(repo, &log))
}

/// There is none after edt moved HEAD, if the session has no edit that did not land, or if a
/// worktree uses it.
fn session_left(repo: &Repo, log: &HeadLog) -> Option<Warning> {
    let branch = format!("refs/heads/{}", log.switched_from()?);
    let all = list::sessions(repo).ok()?;
    let session = all.into_iter().find(|session| session.branch == branch)?;
    if session.state != SessionState::Open || session.edits == 0 || session.worktree.is_some() {
        return None;
    }
    let head = repo.head_target().ok()??;
    let message = format!(
        "HEAD was switched from the session {0} to {1}. {2} of {0} {3} not here: `edt switch {0}` \
         returns to {4}.",
        session.name,
        head.strip_prefix("refs/heads/").unwrap_or(&head).shown(),
        counted(session.edits, "edit"),
        if session.edits == 1 { "is" } else { "are" },
        if session.edits == 1 { "it" } else { "them" },
    );
    Some(Warning { code: WarningCode::SessionLeft, path: None, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    /// A session with one edit; then the user switches HEAD to `main`, and the log says so.
    fn left() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let (tip, base) = (scratch.head(), scratch.session().base);
        let line = "A <a@b> 1 +0000\tcheckout: moving from edt/fix to main\n";
        let log = scratch.text(".git/logs/HEAD").unwrap();
        scratch.write(".git/logs/HEAD", &format!("{log}{tip} {base} {line}"));
        scratch.write(".git/HEAD", "ref: refs/heads/main\n");
        scratch.write("a.txt", "one\n");
        scratch
    }

    #[test]
    fn a_session_that_the_user_left_is_named_with_its_edits() {
        let message = "HEAD was switched from the session fix to main. 1 edit of fix is not here: \
                       `edt switch fix` returns to it.";
        let expected =
            Warning { code: WarningCode::SessionLeft, path: None, message: message.to_owned() };
        assert_eq!(warning(&left().repo()), Some(expected));
    }

    #[test]
    fn a_session_that_the_user_returned_to_is_not_named() {
        let scratch = left();
        scratch.write(".git/HEAD", "ref: refs/heads/edt/fix\n");
        assert_eq!(warning(&scratch.repo()), None);
    }
}
