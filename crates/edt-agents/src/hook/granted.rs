//! The user's approvals of proposals, as far as a commit contains exactly the approved change.

use super::changes::{PathChange, TreeEntry};
use super::plumbing::{Git, Object};
use edt_core::proposal::store::{DECISION, GRANT, PREFIX, parse_grant};
use edt_core::session::message::values;
use edt_types::{Finding, Result};

/// How many decisions a proposal may have.
const MAX_DECISIONS: usize = 32;

/// Those of `held` that the user did not approve. An approval counts for a path whose new blob is
/// exactly the approved one; both may be absent.
///
/// # Errors
/// `IO_ERROR` if Git fails.
pub(super) fn without_approval(
    git: &Git,
    changes: &[PathChange],
    held: Vec<Finding>,
) -> Result<Vec<Finding>> {
    if held.is_empty() {
        return Ok(held);
    }
    let approvals = approvals(git, changes)?;
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
fn approvals(git: &Git, changes: &[PathChange]) -> Result<Vec<(String, String)>> {
    let refs = git.output(&["for-each-ref", "--format=%(objectname)", PREFIX], b"")?;
    let tips: Vec<String> = String::from_utf8_lossy(&refs).lines().map(str::to_owned).collect();
    let mut all = Vec::new();
    for (tip, newest) in tips.iter().zip(git.objects(&tips)?) {
        let Some(newest) = newest.as_ref().map(text) else { continue };
        let decision = values(&newest, DECISION).pop().unwrap_or_default();
        let Some(commit) = decision.strip_prefix("done ") else { continue };
        let above: Vec<String> =
            (1..=MAX_DECISIONS).map(|number| format!("{tip}~{number}")).collect();
        let above = git.objects(&above)?;
        let creation =
            above.iter().flatten().map(text).find(|text| values(text, "Edt-Kind") == ["proposal"]);
        let grants = creation.iter().flat_map(|text| values(text, GRANT));
        for grant in grants.map(|line| parse_grant(&line)) {
            let Some(path) = grant.path else { continue };
            let Some(staged) = changes.iter().find(|one| one.path.to_string() == path) else {
                continue;
            };
            let parent = format!("{commit}^");
            if let (Some(before), Some(after)) =
                (mode_and_blob(git, &parent, &path)?, mode_and_blob(git, commit, &path)?)
                && !has_landed(git, commit, creation.as_deref())?
            {
                let entry = |entry: &Option<TreeEntry>| {
                    entry
                        .as_ref()
                        .map_or_else(String::new, |entry| format!("{} {}", entry.mode, entry.id))
                };
                let (from, to) = (entry(&staged.old), entry(&staged.new));
                all.push(Approval { word: grant.word, path, before, after, from, to });
            }
        }
    }
    let approved = |approval: &Approval| {
        is_reached(&all, approval).then(|| (approval.word.clone(), approval.path.clone()))
    };
    Ok(all.iter().filter_map(approved).collect())
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
fn has_landed(git: &Git, commit: &str, creation: Option<&str>) -> Result<bool> {
    let session = creation.and_then(|text| values(text, "Edt-Session").pop()).unwrap_or_default();
    let landed = format!("refs/edt/{session}/landed/");
    let refs = git.output(&["for-each-ref", "--count=1", "--contains", commit, &landed], b"")?;
    Ok(!refs.is_empty())
}

fn text(object: &Object) -> String {
    String::from_utf8_lossy(&object.bytes).into_owned()
}
