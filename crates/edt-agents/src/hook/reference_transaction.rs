//! `reference-transaction`: only the user and edt may delete or rewind protected branches and
//! sessions' refs.
//!
//! edt writes refs itself, which runs no hook. Git calls the hook for every ref, so names are
//! compared first.

use std::io::ErrorKind;
use std::path::Path;

use super::call::{Hook, HookCall, Site};
use super::plumbing::{Git, Object};
use super::pre_push::unreadable_input;
use super::refs::{
    Protection, RefAction, RefKind, RefUpdate, is_null, kind_of_name, ref_action, updates,
};
use super::renames::BranchRenames;
use super::repair::{Rewritten, rewritten};
use super::who::Who;
use edt_io::fs::{self, PathContent};
use edt_types::{Code, Effect, Finding, Refusal, Result, Warning};

/// The hook `reference-transaction`.
#[derive(Debug)]
pub struct ReferenceTransaction;

impl Hook for ReferenceTransaction {
    fn name(&self) -> &'static str {
        "reference-transaction"
    }

    fn site(&self) -> Site {
        Site::Worktree
    }

    fn stops(&self) -> &'static str {
        "deletion and rewinding of protected and shadow refs by anyone but the user or edt"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/reference-transaction")
    }

    fn judge(&self, call: &HookCall<'_>) -> Result<Vec<Warning>> {
        // Only in this state does Git hold the locks and accept a refusal.
        if call.args.first().is_none_or(|state| state != "prepared") || call.who == Who::User {
            return Ok(Vec::new());
        }
        let mut guarded =
            updates(call.input).ok_or_else(|| unreadable_input("reference-transaction"))?;
        guarded.retain(|one| {
            one.name.starts_with("refs/heads/") || kind_of_name(&one.name) != RefKind::Free
        });
        if guarded.is_empty() {
            return Ok(Vec::new());
        }
        Refusal::check(refusals(call, guarded)?)?;
        Ok(Vec::new())
    }
}

fn refusals(call: &HookCall<'_>, mut updates: Vec<RefUpdate>) -> Result<Vec<Finding>> {
    let git = &call.git;
    let common = git.common()?;
    let packed = Packed::of(&common)?;
    let is_new = |one: &RefUpdate| is_null(&one.old) && packed.is_new(&common, &one.name);
    updates.retain(|one| !(packed.still_has(one, &one.old) || is_new(one)));
    if updates.is_empty() {
        return Ok(Vec::new());
    }
    // One call of Git reads all current values (Git may not have the old value), and the branches'
    // own policies.
    let named = updates.iter().flat_map(|one| [one.name.clone(), format!("{}:edt.toml", one.name)]);
    let specs: Vec<String> = named.chain(["HEAD:edt.toml".to_owned()]).collect();
    let mut objects = git.objects(&specs)?;
    let head = objects.pop().flatten();
    let protection = call
        .user_policy_text()
        .and_then(|user| Protection::of(user, head.iter().map(|file| file.bytes.as_slice())));
    let renames = BranchRenames::of(git, &common);
    let (mut refused, mut found) = (Vec::new(), Vec::new());
    for (update, pair) in updates.iter().zip(objects.chunks(2)) {
        let old = Some(update.old.as_str()).filter(|old| !is_null(old) && !old.starts_with("ref:"));
        let current =
            pair.first().and_then(Option::as_ref).map(|object| object.id.as_str()).or(old);
        let Some(current) = current else { continue };
        if current == update.new || packed.still_has(update, current) {
            continue;
        }
        let branch_policy = pair
            .get(1)
            .and_then(Option::as_ref)
            .filter(|own| head.as_ref().is_none_or(|head| head.id != own.id));
        let kind = kind(&protection, branch_policy, &renames, &update.name);
        // A fast-forward is allowed even if a policy cannot be read.
        let assumed = kind.as_ref().map_or(RefKind::Protected, |kind| *kind);
        if is_null(&update.new)
            && assumed != RefKind::Protected
            && renames.is_under_way(&update.name, current)?
        {
            renames.write_note(&update.name, current)?;
            continue;
        }
        let action = ref_action(assumed, Some(current), &update.new, || {
            git.is_ancestor(current, &update.new)
        })?;
        if action == RefAction::Allowed {
            continue;
        }
        if action == RefAction::Deleted {
            renames.restore_log(&update.name, current)?;
        }
        match kind {
            Ok(_) => refused.push((update, current.to_owned(), action)),
            Err(findings) => found.extend(findings.into_vec()),
        }
    }
    let restored =
        if refused.is_empty() && found.is_empty() { None } else { renames.roll_back()? };
    for (update, current, action) in refused {
        let mut one = refusal(git, update, &current, action, &call.who)?;
        if let Some((name, id)) = &restored {
            one.summary.push_str(&format!(
                " Git had already deleted {name} to rename it; edt restored it at {}.",
                short(id)
            ));
        }
        found.push(one);
    }
    Ok(found)
}

/// How the ref is guarded: by the policies of the user and HEAD, its own policy, and its former
/// name.
fn kind(
    protection: &Result<Protection>,
    branch_policy: Option<&Object>,
    renames: &BranchRenames<'_>,
    name: &str,
) -> Result<RefKind> {
    let by_name = kind_of_name(name);
    if by_name != RefKind::Free {
        return Ok(by_name);
    }
    let all = [
        protection.as_ref().map_err(Clone::clone)?,
        &Protection::of(None, branch_policy.map(|file| file.bytes.as_slice()))?,
    ];
    if let Some(kind) = all.iter().map(|one| one.kind(name)).find(|kind| *kind != RefKind::Free) {
        return Ok(kind);
    }
    Ok(if renames.was_session(name)? { RefKind::Shadow } else { RefKind::Free })
}

/// The packed refs, which edt reads without a call of Git.
struct Packed {
    bytes: Vec<u8>,
    /// Whether a process is changing them: `git pack-refs`, or a deletion.
    locked: bool,
}

impl Packed {
    fn of(common: &Path) -> Result<Packed> {
        let path = common.join("packed-refs");
        let locked = fs::minutes_old(&path.with_extension("lock")).is_some();
        let content =
            fs::read_path(&path).map_err(|error| edt_io::failed("read", &path, &error))?;
        Ok(Packed {
            bytes: if let PathContent::File { bytes, .. } = content { bytes } else { Vec::new() },
            locked,
        })
    }

    /// Whether only the loose file is removed and the packed value stays, as at the end of
    /// `git pack-refs` and `git gc`. A deletion holds the lock.
    fn still_has(&self, update: &RefUpdate, current: &str) -> bool {
        let line = format!("\n{current} {}\n", update.name);
        !self.locked && is_null(&update.new) && !is_null(current) && self.contains(&line)
    }

    /// Whether no such ref exists yet, in a repository whose refs are files.
    fn is_new(&self, common: &Path, name: &str) -> bool {
        let is_absent = |path: &str| {
            common.join(path).symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound)
        };
        is_absent("reftable") && is_absent(name) && !self.contains(&format!(" {name}\n"))
    }

    fn contains(&self, text: &str) -> bool {
        memchr::memmem::find(&self.bytes, text.as_bytes()).is_some()
    }
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn refusal(
    git: &Git,
    update: &RefUpdate,
    current: &str,
    action: RefAction,
    who: &Who,
) -> Result<Finding> {
    let what = match action {
        RefAction::Deleted => "be deleted".to_owned(),
        RefAction::MadeSymbolic => {
            format!("become a symbolic ref to {}", update.new.trim_start_matches("ref:"))
        }
        RefAction::Rewound | RefAction::Allowed => match git.commits_lost(current, &update.new) {
            Some(1) => format!("leave one commit behind by moving to {}", short(&update.new)),
            Some(lost @ 2..) => {
                format!("leave {lost} commits behind by moving to {}", short(&update.new))
            }
            _ => format!("move to {}", short(&update.new)),
        },
    };
    let mut message = format!(
        "{} is at {} and would {what}; this is {}.",
        update.name,
        short(current),
        who.reason()
    );
    let rewritten = if action == RefAction::Rewound {
        rewritten(git, current, &update.new)?
    } else {
        Rewritten::Not
    };
    message.extend(rewritten.description().map(|description| format!(" {description}")));
    let mut repair = rewritten.repair(short(&update.new));
    if rewritten == Rewritten::Not && is_rebasing(git)? {
        repair = Some("`git rebase --abort` goes back to the branch's current commit.".to_owned());
    }
    let alternative = match kind_of_name(&update.name) {
        RefKind::Free => {
            "To undo changes use `git revert` or `edt restore`; the user may repeat the command in \
             a terminal."
        }
        _ => {
            "Use `edt undo`, `edt restore` or `edt abandon`; the user may repeat the command in a \
             terminal."
        }
    };
    let hint =
        repair.map_or_else(|| alternative.to_owned(), |repair| format!("{repair} {alternative}"));
    let finding =
        Finding::new(Code::GitOperationBlocked, message, hint).with_effect(Effect::RefUnchanged);
    let finding = finding.with("ref", update.name.as_str());
    Ok(finding.with("current", current).with("new", update.new.as_str()))
}

fn is_rebasing(git: &Git) -> Result<bool> {
    let dir = git.git_dir()?;
    Ok(["rebase-merge", "rebase-apply"]
        .iter()
        .any(|mark| fs::minutes_old(&dir.join(mark)).is_some()))
}
