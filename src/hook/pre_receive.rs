//! `pre-receive`: the server's side of the same rules. Nobody is a person here: what is pushed is what counts.

use std::collections::BTreeSet;

use super::changes::{self, Parent};
use super::pre_push::{shadow_push, unread};
use super::refs::{Fate, Kind, Protection, Update, fate, is_null, shadow, updates};
use super::{Call, Hook, Site, for_git, shadow_may_pass};
use crate::base::{Code, Finding, Findings, Result, Warning};
use crate::policy::Policy;

/// The hook `pre-receive`.
#[derive(Debug)]
pub struct PreReceive;

impl Hook for PreReceive {
    fn name(&self) -> &'static str {
        "pre-receive"
    }

    fn site(&self) -> Site {
        Site::Server
    }

    fn stops(&self) -> &'static str {
        "pushes of shadow branches, rewinding or deletion of protected ones, and on these what the guards refuse"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/pre-receive")
    }

    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>> {
        let updates = updates(call.input).ok_or_else(|| unread("pre-receive"))?;
        let (shadows, branches): (Vec<&Update>, Vec<&Update>) =
            updates.iter().partition(|one| shadow(&one.name) != Kind::Free);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        if !shadows.is_empty() && !shadow_may_pass(&call.git) {
            found.extend(shadows.iter().map(|one| shadow_push(&one.name, "this server")));
        }
        for update in branches.into_iter().filter(|one| one.name.starts_with("refs/heads/")) {
            found.extend(branch(call, update, &mut warnings)?);
        }
        Findings::check(found)?;
        Ok(warnings)
    }
}

fn branch(call: &Call<'_>, update: &Update, warnings: &mut Vec<Warning>) -> Result<Vec<Finding>> {
    let git = &call.git;
    let specs = ["HEAD:edt.toml".to_owned(), format!("{}:edt.toml", update.old)];
    let mut files = git.objects(&specs)?;
    let own = files.pop().flatten();
    let head = files.pop().flatten();
    let both = head.iter().chain(&own).map(|file| file.bytes.as_slice());
    let default = git.line(&["symbolic-ref", "--quiet", "HEAD"])?.is_some_and(|head| head == update.name);
    let kind = Protection::of(call.person()?, both)?.kind(&update.name);
    let kind = if default { Kind::Protected } else { kind };
    if kind == Kind::Free {
        return Ok(Vec::new());
    }
    let stands = Some(update.old.as_str()).filter(|old| !is_null(old));
    match fate(kind, stands, &update.new, || git.is_ancestor(&update.old, &update.new))? {
        Fate::Kept if is_null(&update.new) => return Ok(Vec::new()),
        Fate::Kept => {}
        Fate::Deleted => return Ok(vec![destroyed(update, "delete")]),
        Fate::Rewound | Fate::Pointed => return Ok(vec![destroyed(update, "rewind")]),
    }
    // A new branch is judged from where it left the default one; a first push has nothing to be measured against.
    let from = match stands {
        Some(old) => Some(old.to_owned()),
        None => git.line(&["merge-base", "HEAD", &update.new])?,
    };
    let Some(from) = from else { return Ok(Vec::new()) };
    let file = if stands.is_some() { own } else { head };
    let file = file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let policy = Policy::of(call.person()?, file.as_deref())?;
    let args = ["diff-tree", "-r", "--raw", "-z", "-M", "--no-abbrev", &from, &update.new];
    let parents = [Parent { whose: "the branch", changes: changes::between(git, &args)? }];
    let allow = allowed(call, &from, &update.new)?;
    let verdict = changes::judge(git, &parents, &[], &policy, &allow)?;
    warnings.extend(verdict.warnings);
    let done = format!("{} was not changed.", update.name);
    let way_out = |allow: Option<&str>| match allow {
        Some(word) => format!("If it is meant so, push a commit whose message has the trailer `Edt-Allowed: {word}`."),
        None => "This server lets nobody override it by a push.".to_owned(),
    };
    Ok(verdict.refused.into_iter().map(|one| for_git(one, &done, way_out)).collect())
}

/// The overrides that the pushed commits record.
fn allowed(call: &Call<'_>, from: &str, to: &str) -> Result<Vec<String>> {
    let bodies = call.git.output(&["log", "--format=%B%x00", &format!("{from}..{to}"), "--"], b"")?;
    let text = String::from_utf8_lossy(&bodies).into_owned();
    let words: BTreeSet<String> =
        text.lines().filter_map(|line| line.strip_prefix("Edt-Allowed:")).map(|word| word.trim().to_owned()).collect();
    Ok(words.into_iter().collect())
}

fn destroyed(update: &Update, what: &str) -> Finding {
    Finding::new(
        Code::GitOperationBlocked,
        format!(
            "This push would {what} the protected branch {}, which is at {}. It was not changed.",
            update.name,
            update.old.get(..12).unwrap_or(&update.old)
        ),
        "`git fetch` and merge or rebase onto what stands there, then push without --force; on this server nobody passes by a push.",
    )
    .with("ref", update.name.as_str())
    .with("stands", update.old.as_str())
    .with("rule", what)
}
