//! The user's approvals of proposals, as far as a commit contains exactly the approved change.

use super::call::HookCall;
use super::changes::{PathChange, TreeEntry};
use super::plumbing::{Git, Object};
use edt_core::Environment;
use edt_core::proposal::signature::{ApprovalKey, SignedParts};
use edt_core::proposal::store::{DECISION, GRANT, PREFIX, SIGNATURE, parse_grant};
use edt_core::session::refs::message::values;
use edt_guard::guard::Grant;
use edt_types::{Finding, Result};

/// How many decisions a proposal may have.
const MAX_DECISIONS: usize = 32;

/// Those of `held` that the user did not approve. An approval counts for a path whose new blob is
/// exactly the approved one; both may be absent. If the user signs approvals, it must be the one of
/// the signed proposal.
///
/// # Errors
/// `IO_ERROR` if Git fails; as [`ApprovalKey::verifies`].
pub(super) fn without_approval(
    call: &HookCall<'_>,
    changes: &[PathChange],
    held: Vec<Finding>,
) -> Result<Vec<Finding>> {
    if held.is_empty() {
        return Ok(held);
    }
    let approvals = approvals(call, changes)?;
    let word = |finding: &Finding| {
        finding.evidence.get("word").and_then(|word| word.as_str()).map(str::to_owned)
    };
    let is_approved = |finding: &Finding| {
        let (word, path) = (word(finding), finding.path.as_ref());
        approvals.iter().any(|(approved, at)| Some(approved) == word.as_ref() && Some(at) == path)
    };
    Ok(held.into_iter().filter(|finding| !is_approved(finding)).collect())
}

/// The approved words and paths whose content is still the approved one.
fn approvals(call: &HookCall<'_>, changes: &[PathChange]) -> Result<Vec<(String, String)>> {
    let git = &call.git;
    let key = ApprovalKey::named(call.user_policy_text()?, call.user_home, Environment::Process)?;
    let refs = git.output(&["for-each-ref", "--format=%(objectname) %(refname)", PREFIX], b"")?;
    let refs = String::from_utf8_lossy(&refs).into_owned();
    let (tips, names): (Vec<String>, Vec<&str>) = refs
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(tip, name)| (tip.to_owned(), name))
        .unzip();
    let mut all = Vec::new();
    for ((tip, name), newest) in tips.iter().zip(names).zip(git.objects(&tips)?) {
        let Some(newest) = newest.as_ref().map(text) else { continue };
        let decision = values(&newest, DECISION).pop().unwrap_or_default();
        let Some(applied) = decision.strip_prefix("done ") else { continue };
        let above: Vec<String> =
            (1..=MAX_DECISIONS).map(|number| format!("{tip}~{number}")).collect();
        let above = git.objects(&above)?;
        let is_creation = |one: &&Object| values(&text(one), "Edt-Kind") == ["proposal"];
        let Some(proposal) = above.iter().flatten().find(is_creation) else { continue };
        let creation = text(proposal);
        let grants = values(&creation, GRANT);
        let grants: Vec<(Grant, &PathChange)> = grants
            .iter()
            .map(|line| parse_grant(line))
            .filter_map(|grant| {
                let is_it = |one: &&PathChange| Some(one.path.text()) == grant.path;
                changes.iter().find(is_it).map(|staged| (grant.clone(), staged))
            })
            .collect();
        if grants.is_empty() {
            continue;
        }
        let commit = match &key {
            None => applied,
            Some(key) => match above.first() {
                Some(Some(approval)) if signed(key, name, proposal, approval)? => &proposal.id,
                _ => continue,
            },
        };
        for (Grant { word, path }, staged) in grants {
            let Some(path) = path else { continue };
            let parent = format!("{commit}^");
            if let (Some(before), Some(after)) =
                (mode_and_blob(git, &parent, &path)?, mode_and_blob(git, commit, &path)?)
                && !has_landed(git, applied, &creation)?
            {
                let entry = |entry: &Option<TreeEntry>| {
                    entry
                        .as_ref()
                        .map_or_else(String::new, |entry| format!("{} {}", entry.mode, entry.id))
                };
                let (from, to) = (entry(&staged.old), entry(&staged.new));
                all.push(Approval { word, path, before, after, from, to });
            }
        }
    }
    let approved = |approval: &Approval| {
        is_reached(&all, approval).then(|| (approval.word.clone(), approval.path.clone()))
    };
    Ok(all.iter().filter_map(approved).collect())
}

/// Whether `key` signed `approval`, the decision before the newest one at the ref `name`, for
/// `proposal`.
fn signed(key: &ApprovalKey, name: &str, proposal: &Object, approval: &Object) -> Result<bool> {
    let (decision, raw) = (text(approval), text(proposal));
    let Some((head, message)) = raw.split_once("\n\n") else { return Ok(false) };
    let approved = values(&decision, DECISION).pop().unwrap_or_default();
    let signature = values(&decision, SIGNATURE).pop().unwrap_or_default();
    let parts = SignedParts {
        id: name.strip_prefix(PREFIX).and_then(|id| id.parse().ok()).unwrap_or_default(),
        commit: &proposal.id,
        tree: field(head, "tree ").unwrap_or_default(),
        parent: field(head, "parent "),
        message,
        state: field(&decision, "parent ").unwrap_or_default(),
    };
    Ok(approved.starts_with("approved") && key.verifies(&parts, &signature)?)
}

/// The value of the first line of a commit that begins with `key`.
fn field<'t>(commit: &'t str, key: &str) -> Option<&'t str> {
    commit.lines().find_map(|line| line.strip_prefix(key))
}

/// One approved change of one path.
struct Approval {
    word: String,
    path: String,
    /// The mode and blob of the path before the change.
    before: String,
    /// The mode and blob after the change.
    after: String,
    /// The mode and blob in HEAD.
    from: String,
    /// The mode and blob in the commit that is judged.
    to: String,
}

/// Whether a chain of approved changes of the path leads from HEAD's content to the commit's: an
/// approval permits only the change from the content that the user saw.
fn is_reached(all: &[Approval], approval: &Approval) -> bool {
    let mut at = approval.from.as_str();
    for _ in 0..=all.len() {
        if at == approval.to {
            return at != approval.from;
        }
        let next = all.iter().find(|one| {
            (&one.word, &one.path) == (&approval.word, &approval.path) && one.before == at
        });
        match next {
            Some(next) => at = &next.after,
            None => return false,
        }
    }
    false
}

/// The mode and blob of `path` in `commit`, or an empty text; `None` if there is no such commit.
fn mode_and_blob(git: &Git, commit: &str, path: &str) -> Result<Option<String>> {
    let ran = git.run(&["ls-tree", "--full-tree", "-z", commit, "--", path], b"")?;
    if !ran.ok {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&ran.stdout).into_owned();
    let words: Vec<&str> = line.split(['\t', '\0']).next().unwrap_or_default().split(' ').collect();
    Ok(Some(match words[..] {
        [mode, _, id] => format!("{mode} {id}"),
        _ => String::new(),
    }))
}

/// Whether the session was landed with that commit. Then the approval is consumed, and does not
/// permit the same change again.
fn has_landed(git: &Git, commit: &str, creation: &str) -> Result<bool> {
    let session = values(creation, "Edt-Session").pop().unwrap_or_default();
    let landed = format!("refs/edt/{session}/landed/");
    // Git fails if the commit was pruned. Then no session that landed has it.
    Ok(git.line(&["for-each-ref", "--count=1", "--contains", commit, &landed])?.is_some())
}

fn text(object: &Object) -> String {
    String::from_utf8_lossy(&object.bytes).into_owned()
}
