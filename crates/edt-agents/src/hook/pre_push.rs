//! `pre-push`: refuses to push shadow branches, and to rewind or delete protected branches of the
//! remote.

use super::call::{Hook, HookCall, Site, allows_shadow_push};
use super::plumbing::Git;
use super::refs::{Protection, RefAction, RefKind, is_id, is_null, kind_of_name, ref_action};
use super::who::Who;
use edt_types::{Code, Effect, Finding, Refusal, Result, Warning};

/// The hook `pre-push`.
#[derive(Debug)]
pub struct PrePush;

/// One ref to push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRef {
    /// Its new id; all zeros for a deletion.
    pub new: String,
    /// Its name in the remote.
    pub name: String,
    /// Its id in the remote; all zeros if the remote does not have it.
    pub current: String,
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

    fn judge(&self, call: &HookCall<'_>) -> Result<Vec<Warning>> {
        let remote = call.args.first().map_or("the remote", String::as_str);
        let pushes = pushes(call.input).ok_or_else(|| unreadable_input("pre-push"))?;
        let mut found = Vec::new();
        let shadow_pushes: Vec<&PushedRef> =
            pushes.iter().filter(|push| pushes_shadow(push, &call.who)).collect();
        if !shadow_pushes.is_empty() && !allows_shadow_push(&call.git) {
            found.extend(shadow_pushes.into_iter().map(|push| shadow_push(&push.name, remote)));
        }
        found.extend(destroyed_branches(call, remote, &pushes)?);
        Refusal::check(found)?;
        Ok(Vec::new())
    }
}

/// Whether it would create or change a shadow ref of the remote, or delete one without the user.
fn pushes_shadow(push: &PushedRef, who: &Who) -> bool {
    kind_of_name(&push.name) != RefKind::Free && !(is_null(&push.new) && *who == Who::User)
}

/// Which of `pushes` would rewind or delete a protected branch. Names are compared first; then one
/// call of Git reads all files.
fn destroyed_branches(
    call: &HookCall<'_>,
    remote: &str,
    pushes: &[PushedRef],
) -> Result<Vec<Finding>> {
    let git = &call.git;
    let changes = |push: &&PushedRef| !is_null(&push.current) && push.current != push.new;
    let branches: Vec<&PushedRef> = pushes
        .iter()
        .filter(|push| {
            push.name.starts_with("refs/heads/") && kind_of_name(&push.name) == RefKind::Free
        })
        .filter(changes)
        .collect();
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let mut specs = vec!["HEAD:edt.toml".to_owned()];
    specs.extend(branches.iter().map(|push| format!("{}:edt.toml", push.current)));
    let files = git.objects(&specs)?;
    let (head, own) = files.split_first().map_or((&None, &[][..]), |(head, own)| (head, own));
    let default = remote_head(git, remote);
    let mut found = Vec::new();
    for (push, own) in branches.into_iter().zip(own) {
        let policies = head.iter().chain(own).map(|file| file.bytes.as_slice());
        let kind = Protection::readable(call.user_policy_text()?, policies)?.kind(&push.name);
        let kind = if default.as_ref() == Some(&push.name) { RefKind::Protected } else { kind };
        let verb = match ref_action(kind, Some(&push.current), &push.new, || {
            git.is_ancestor(&push.current, &push.new)
        })? {
            RefAction::Allowed => continue,
            RefAction::Deleted => "delete",
            RefAction::Rewound | RefAction::MadeSymbolic => "rewind",
        };
        found.push(destruction(push, remote, verb));
    }
    Ok(found)
}

fn destruction(push: &PushedRef, remote: &str, verb: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "This push would {verb} the protected branch {} of {remote}, which is at {}.",
            push.name,
            &push.current.get(..12).unwrap_or(&push.current)
        ),
        "Run `git fetch`, merge or rebase onto the remote's branch, and push without --force; only \
         the user may run `git push --no-verify`.",
    )
    .with_effect(Effect::NothingPushed)
    .with("ref", push.name.as_str())
    .with("current", push.current.as_str())
    .with("rule", verb)
}

/// The remote's default branch, as of the last fetch or clone.
fn remote_head(git: &Git, remote: &str) -> Option<String> {
    let tracking = format!("refs/remotes/{remote}/");
    let head = git.line(&["symbolic-ref", "--quiet", &format!("{tracking}HEAD")]).ok().flatten()?;
    Some(format!("refs/heads/{}", head.strip_prefix(&tracking)?))
}

/// The refusal of a push of a shadow ref.
#[must_use]
pub fn shadow_push(name: &str, remote: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!("{name} belongs to a session of edt and may not be pushed to {remote}."),
        "Push the branch that the session was landed on. To share sessions, the user sets `git \
         config edt.pushShadow true` in the repository that refuses.",
    )
    .with_effect(Effect::NothingPushed)
    .with("ref", name)
    .with("rule", "shadow")
}

pub(super) fn unreadable_input(hook: &str) -> Finding {
    Finding::new(
        Code::Internal,
        format!("Git's input to {hook} could not be read, so everything is refused."),
        "Run `edt doctor`; if it reports no problem, report this message.",
    )
}

/// Parses lines `LOCAL-REF NEW REMOTE-REF OLD`; `None` if one has another form.
#[must_use]
pub fn pushes(input: &[u8]) -> Option<Vec<PushedRef>> {
    let text = String::from_utf8_lossy(input);
    let one = |line: &str| {
        // The local ref may be any expression, with spaces. The last three words are unambiguous.
        let mut words = line.rsplitn(4, ' ').map(str::to_owned);
        let (current, name, new) = (words.next()?, words.next()?, words.next()?);
        words.next().filter(|_| is_id(&new) && is_id(&current)).map(|_| PushedRef {
            new,
            name,
            current,
        })
    };
    text.lines().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_may_delete_shadow_refs() {
        let push = |new: &str, name: &str| PushedRef {
            new: new.to_owned(),
            name: name.to_owned(),
            current: "a".to_owned(),
        };
        let result = |new, name, who: &Who| pushes_shadow(&push(new, name), who);
        assert!(
            result("1", "refs/heads/edt/x", &Who::User)
                && result("0", "refs/edt/x/base", &Who::Unattended)
        );
        assert!(
            !result("0", "refs/heads/edt/x", &Who::User)
                && !result("1", "refs/heads/x", &Who::Unattended)
        );
    }

    #[test]
    fn a_line_is_parsed_from_its_end() {
        let [zero, one, two] = ["0", "1", "2"].map(|digit| digit.repeat(40));
        let text = format!(
            "HEAD@{{1 day ago}} {one} refs/heads/x {zero}\n(delete) {zero} refs/heads/y {two}\n"
        );
        let read = pushes(text.as_bytes()).unwrap();
        let push = |new: &str, name: &str, current: &str| PushedRef {
            new: new.to_owned(),
            name: name.to_owned(),
            current: current.to_owned(),
        };
        assert_eq!(read, [push(&one, "refs/heads/x", &zero), push(&zero, "refs/heads/y", &two)]);
        assert_eq!((pushes(b""), pushes(b"a b c d\n")), (Some(Vec::new()), None));
    }
}
