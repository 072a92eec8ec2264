//! What a person granted by approving a proposal, as far as a commit now holds just that.

use super::changes::{Change, Entry};
use super::plumbing::{Git, Object};
use crate::base::{Finding, Result};
use crate::proposal::store::{DECISION, GRANT, PREFIX, grant};
use crate::session::message::values;

/// How many decisions a proposal may have.
const MOST_DECISIONS: usize = 32;

/// Those of `held` that no person granted. A grant counts where the path now holds the very blob (or nothing) that the approved change left
/// there.
///
/// # Errors
/// `IO_ERROR` if Git cannot tell.
pub(super) fn not_granted(
    git: &Git,
    changes: &[Change],
    held: Vec<Finding>,
) -> Result<Vec<Finding>> {
    if held.is_empty() {
        return Ok(held);
    }
    let granted = granted(git, changes)?;
    let word = |finding: &Finding| {
        finding.evidence.get("word").and_then(|word| word.as_str()).map(str::to_owned)
    };
    let is_free = |finding: &Finding| {
        let (word, path) = (word(finding), finding.path.as_ref());
        granted.iter().any(|(granted, at)| Some(granted) == word.as_ref() && Some(at) == path)
    };
    Ok(held.into_iter().filter(|finding| !is_free(finding)).collect())
}

/// The words and paths that were granted, and still hold what was approved.
fn granted(git: &Git, changes: &[Change]) -> Result<Vec<(String, String)>> {
    let refs = git.output(&["for-each-ref", "--format=%(objectname)", PREFIX], b"")?;
    let tips: Vec<String> = String::from_utf8_lossy(&refs).lines().map(str::to_owned).collect();
    let mut steps = Vec::new();
    for (tip, newest) in tips.iter().zip(git.objects(&tips)?) {
        let Some(newest) = newest.as_ref().map(text) else { continue };
        let decision = values(&newest, DECISION).pop().unwrap_or_default();
        let Some(commit) = decision.strip_prefix("done ") else { continue };
        let above: Vec<String> =
            (1..=MOST_DECISIONS).map(|number| format!("{tip}~{number}")).collect();
        let above = git.objects(&above)?;
        let made =
            above.iter().flatten().map(text).find(|text| values(text, "Edt-Kind") == ["proposal"]);
        for grant in made.iter().flat_map(|text| values(text, GRANT)).map(|line| grant(&line)) {
            let Some(path) = grant.path else { continue };
            let Some(staged) = changes.iter().find(|one| one.path.to_string() == path) else {
                continue;
            };
            if let (Some(before), Some(after)) =
                (held_by(git, &format!("{commit}^"), &path)?, held_by(git, commit, &path)?)
                && !has_landed(git, commit, made.as_deref())?
            {
                let entry = |entry: &Option<Entry>| {
                    entry
                        .as_ref()
                        .map_or_else(String::new, |entry| format!("{} {}", entry.mode, entry.id))
                };
                let (from, to) = (entry(&staged.old), entry(&staged.new));
                steps.push(Granted { word: grant.word, path, before, after, from, to });
            }
        }
    }
    let led = |step: &Granted| leads(&steps, step).then(|| (step.word.clone(), step.path.clone()));
    Ok(steps.iter().filter_map(led).collect())
}

/// One approved change of one path.
struct Granted {
    word: String,
    path: String,
    /// What the path held before it, as mode and blob.
    before: String,
    /// What it held after it.
    after: String,
    /// What HEAD holds.
    from: String,
    /// What the commit now holds.
    to: String,
}

/// Whether approved changes of the step's path, one after another, lead from what HEAD holds to what the commit now holds: an approval
/// says nothing of what stood there before it.
fn leads(steps: &[Granted], step: &Granted) -> bool {
    let mut at = step.from.as_str();
    for _ in 0..=steps.len() {
        if at == step.to {
            return at != step.from;
        }
        let next = steps
            .iter()
            .find(|one| (&one.word, &one.path) == (&step.word, &step.path) && one.before == at);
        match next {
            Some(next) => at = &next.after,
            None => return false,
        }
    }
    false
}

/// The mode and blob that `commit` holds at `path`, empty if nothing; `None` if there is no such commit.
fn held_by(git: &Git, commit: &str, path: &str) -> Result<Option<String>> {
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

/// Whether the session has landed with that commit: then what was approved is done, and is no leave to bring it back.
fn has_landed(git: &Git, commit: &str, made: Option<&str>) -> Result<bool> {
    let session = made.and_then(|text| values(text, "Edt-Session").pop()).unwrap_or_default();
    let landed = format!("refs/edt/{session}/landed/");
    let refs = git.output(&["for-each-ref", "--count=1", "--contains", commit, &landed], b"")?;
    Ok(!refs.is_empty())
}

fn text(object: &Object) -> String {
    String::from_utf8_lossy(&object.bytes).into_owned()
}
