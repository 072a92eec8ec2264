//! `pre-push`: shadow branches stay here; protected branches of the other side are neither rewound nor deleted.

use super::plumbing::Git;
use super::refs::{Fate, Kind, Protection, fate, is_id, is_null, shadow};
use super::who::Who;
use super::{Call, Hook, Site, shadow_may_pass};
use crate::base::{Code, Finding, Findings, Result, Warning};

/// The hook `pre-push`.
#[derive(Debug)]
pub struct PrePush;

/// One ref that is to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// What it gets; all zeros for a deletion.
    pub new: String,
    /// Its name on the other side.
    pub name: String,
    /// What it has there; all zeros if it is not there.
    pub stands: String,
}

impl Hook for PrePush {
    fn name(&self) -> &'static str {
        "pre-push"
    }

    fn site(&self) -> Site {
        Site::Worktree
    }

    fn stops(&self) -> &'static str {
        "a push of shadow branches, and one that rewinds or deletes a protected branch"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/pre-push")
    }

    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>> {
        let remote = call.args.first().map_or("the remote", String::as_str);
        let pushes = pushes(call.input).ok_or_else(|| unread("pre-push"))?;
        let mut found = Vec::new();
        let leaving: Vec<&Push> = pushes.iter().filter(|push| leaves(push, &call.who)).collect();
        if !leaving.is_empty() && !shadow_may_pass(&call.git) {
            found.extend(leaving.into_iter().map(|push| shadow_push(&push.name, remote)));
        }
        found.extend(destructions(call, remote, &pushes)?);
        Findings::check(found)?;
        Ok(Vec::new())
    }
}

/// Whether it would put a shadow ref on the other side, or take one away without a person.
fn leaves(push: &Push, who: &Who) -> bool {
    shadow(&push.name) != Kind::Free && !(is_null(&push.new) && *who == Who::Person)
}

/// Which of `pushes` would rewind or delete a protected branch. Names decide first; then one question for all files.
fn destructions(call: &Call<'_>, remote: &str, pushes: &[Push]) -> Result<Vec<Finding>> {
    let git = &call.git;
    let stays = |push: &&Push| !is_null(&push.stands) && push.stands != push.new;
    let branches: Vec<&Push> = pushes
        .iter()
        .filter(|push| push.name.starts_with("refs/heads/") && shadow(&push.name) == Kind::Free)
        .filter(stays)
        .collect();
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let mut specs = vec!["HEAD:edt.toml".to_owned()];
    specs.extend(branches.iter().map(|push| format!("{}:edt.toml", push.stands)));
    let files = git.objects(&specs)?;
    let (head, own) = files.split_first().map_or((&None, &[][..]), |(head, own)| (head, own));
    let default = remote_head(git, remote);
    let mut found = Vec::new();
    for (push, own) in branches.into_iter().zip(own) {
        let said = head.iter().chain(own).map(|file| file.bytes.as_slice());
        let kind = Protection::readable(call.person()?, said)?.kind(&push.name);
        let kind = if default.as_ref() == Some(&push.name) { Kind::Protected } else { kind };
        let what = match fate(kind, Some(&push.stands), &push.new, || {
            git.is_ancestor(&push.stands, &push.new)
        })? {
            Fate::Kept => continue,
            Fate::Deleted => "delete",
            Fate::Rewound | Fate::Pointed => "rewind",
        };
        found.push(destroyed(push, remote, what));
    }
    Ok(found)
}

fn destroyed(push: &Push, remote: &str, what: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "This push would {what} the protected branch {} of {remote}, which is at {}. Nothing was pushed.",
            push.name,
            &push.stands.get(..12).unwrap_or(&push.stands)
        ),
        "`git fetch` and merge or rebase onto what stands there, then push without --force; only a person may pass with `git push --no-verify`.",
    )
    .with("ref", push.name.as_str())
    .with("stands", push.stands.as_str())
    .with("rule", what)
}

/// The branch that the remote itself calls its own, as far as the last fetch or clone told.
fn remote_head(git: &Git, remote: &str) -> Option<String> {
    let tracking = format!("refs/remotes/{remote}/");
    let head = git.line(&["symbolic-ref", "--quiet", &format!("{tracking}HEAD")]).ok().flatten()?;
    Some(format!("refs/heads/{}", head.strip_prefix(&tracking)?))
}

/// The refusal to let a shadow ref out.
#[must_use]
pub fn shadow_push(name: &str, remote: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!("{name} is a session's ref of edt's and stays off {remote}. Nothing was pushed."),
        "Push the branch the session is landed on; a person who wants to share sessions sets `git config edt.pushShadow true` on the side that refuses.",
    )
    .with("ref", name)
    .with("rule", "shadow")
}

pub(super) fn unread(hook: &str) -> Finding {
    Finding::new(
        Code::Internal,
        format!("What Git wrote to {hook} could not be read, so nothing was let through."),
        "Run `edt doctor`; if it finds nothing, report this message.",
    )
}

/// The lines `LOCAL-REF NEW REMOTE-REF OLD`; `None` if one is no such line.
#[must_use]
pub fn pushes(input: &[u8]) -> Option<Vec<Push>> {
    let text = String::from_utf8_lossy(input);
    let one = |line: &str| {
        // The local side may be any expression; the last three words are what is pushed.
        let mut words = line.rsplitn(4, ' ').map(str::to_owned);
        let (stands, name, new) = (words.next()?, words.next()?, words.next()?);
        words.next().filter(|_| is_id(&new) && is_id(&stands)).map(|_| Push { new, name, stands })
    };
    text.lines().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_takes_shadow_refs_away_again() {
        let push = |new: &str, name: &str| Push {
            new: new.to_owned(),
            name: name.to_owned(),
            stands: "a".to_owned(),
        };
        let told = |new, name, who: &Who| leaves(&push(new, name), who);
        assert!(
            told("1", "refs/heads/edt/x", &Who::Person)
                && told("0", "refs/edt/x/base", &Who::Unattended)
        );
        assert!(
            !told("0", "refs/heads/edt/x", &Who::Person)
                && !told("1", "refs/heads/x", &Who::Unattended)
        );
    }

    #[test]
    fn a_line_is_read_from_its_end() {
        let [zero, one, two] = ["0", "1", "2"].map(|digit| digit.repeat(40));
        let text = format!(
            "HEAD@{{1 day ago}} {one} refs/heads/x {zero}\n(delete) {zero} refs/heads/y {two}\n"
        );
        let read = pushes(text.as_bytes()).unwrap();
        let push = |new: &str, name: &str, stands: &str| Push {
            new: new.to_owned(),
            name: name.to_owned(),
            stands: stands.to_owned(),
        };
        assert_eq!(read, [push(&one, "refs/heads/x", &zero), push(&zero, "refs/heads/y", &two)]);
        assert_eq!((pushes(b""), pushes(b"a b c d\n")), (Some(Vec::new()), None));
    }
}
