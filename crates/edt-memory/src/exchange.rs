//! Export and import of episodes: as lines of JSON, or from a fetched ref.

use std::collections::{BTreeMap, BTreeSet};

use super::Memory;
use super::change::MemoryChange;
use super::episode::{Episode, MAX_EPISODE_BYTES};
use edt_git::Oid;
use edt_types::{Code, Finding, Result};

/// The largest file that is imported.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// One line of JSON for each episode. Secrets are redacted again, because the user may have edited
/// the files.
#[must_use]
pub fn lines(episodes: &[Episode]) -> String {
    let line = |episode: &Episode| {
        let mut episode = episode.clone();
        episode.scrub_texts();
        serde_json::to_string(&episode).unwrap_or_default() + "\n"
    };
    episodes.iter().map(line).collect()
}

/// The changes that import the episodes in `bytes`, one on each line.
///
/// # Errors
/// `BAD_REQUEST` naming the first line that is not an episode or repeats an id.
pub fn from_lines(bytes: &[u8]) -> Result<Vec<MemoryChange>> {
    let (mut changes, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in
        bytes.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty())
    {
        let at = |finding: Finding| {
            let summary = format!("Line {}: {}", number + 1, finding.summary);
            Finding { summary, ..finding }.nothing_changed()
        };
        let episode = Episode::from_json(&line[..line.len().min(MAX_EPISODE_BYTES + 1)])
            .map_err(|found| found.map(at))?;
        if !seen.insert(episode.id.clone()) {
            let summary =
                format!("Line {}: episode {} occurs a second time.", number + 1, episode.id);
            return Err(Finding::new(Code::BadRequest, summary, "Send every episode once.")
                .nothing_changed()
                .into());
        }
        changes.push(MemoryChange::Merged(Box::new(episode), None));
    }
    Ok(changes)
}

/// The changes that merge the memory at the commit `theirs`: its episodes, each with the merge
/// base. Episodes that were deleted there are deleted here, unless they changed here. Also returns
/// the paths of unreadable files there.
///
/// # Errors
/// `OBJECT_MISSING`; `BAD_REQUEST` if it has no episode.
pub fn from_commit(memory: &Memory<'_>, theirs: Oid) -> Result<(Vec<MemoryChange>, Vec<String>)> {
    let by_id = |at: Oid| -> Result<(BTreeMap<String, Episode>, Vec<String>)> {
        let (all, unreadable) = memory.all(at)?;
        Ok((all.into_iter().map(|episode| (episode.id.clone(), episode)).collect(), unreadable))
    };
    let (their_own, unreadable) = by_id(theirs)?;
    if their_own.is_empty() {
        let summary = format!("{theirs} is not a memory: it has no episodes.");
        let remedy =
            "Fetch the memory itself, `git fetch REMOTE refs/edt/memory`, and import FETCH_HEAD.";
        return Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into());
    }
    let Some(ours) = memory.tip()? else {
        return Ok((
            their_own
                .into_values()
                .map(|episode| MemoryChange::Merged(Box::new(episode), None))
                .collect(),
            unreadable,
        ));
    };
    // Of several merge bases the one with higher counts, so that nothing is counted twice.
    let mut base: BTreeMap<String, Episode> = BTreeMap::new();
    for common in memory.repo().merge_bases(ours, theirs)? {
        for (id, episode) in by_id(common)?.0 {
            let counted = |episode: &Episode| episode.seen.saturating_add(episode.uses);
            if base.get(&id).is_none_or(|known| counted(known) < counted(&episode)) {
                base.insert(id, episode);
            }
        }
    }
    let (own, _) = by_id(ours)?;
    let mut changes = Vec::new();
    for (id, before) in &base {
        if !their_own.contains_key(id) && own.get(id) == Some(before) {
            changes.push(MemoryChange::Deleted(id.clone()));
        }
    }
    for (id, episode) in their_own {
        let before = base.get(&id);
        // An episode that was deleted here and is unchanged there stays deleted.
        if before != Some(&episode) {
            changes.push(MemoryChange::Merged(Box::new(episode), before.cloned().map(Box::new)));
        }
    }
    Ok((changes, unreadable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailedAttempt;

    fn episode(text: &str) -> Episode {
        let attempt = FailedAttempt { fragment: text.to_owned(), ..FailedAttempt::default() };
        Episode::new("SYNTAX_ERROR", Some("c"), attempt, 100)
    }

    #[test]
    fn exported_episodes_are_imported_as_they_were() {
        let (one, two) = (episode("alpha"), episode("beta gamma"));
        let text = lines(&[one.clone(), two.clone()]);
        assert_eq!(text.lines().count(), 2);
        let merged = |episode: Episode| MemoryChange::Merged(Box::new(episode), None);
        assert_eq!(from_lines(text.as_bytes()).unwrap(), [merged(one), merged(two)]);
    }

    #[test]
    fn empty_lines_are_skipped() {
        let text = format!("\n{}\n\n", lines(&[episode("alpha")]));
        assert_eq!(from_lines(text.as_bytes()).unwrap().len(), 1);
    }

    #[test]
    fn a_line_that_is_no_episode_is_named_by_its_number() {
        let text = format!("{}{{}}\n", lines(&[episode("alpha")]));
        let finding = from_lines(text.as_bytes()).unwrap_err().into_vec().remove(0);
        assert!(finding.summary.starts_with("Line 2: This is not an episode: "), "{finding:?}");
    }

    #[test]
    fn an_episode_occurs_once_in_a_file() {
        let one = episode("alpha");
        let text = lines(&[one.clone(), one.clone()]);
        let finding = Finding::new(
            Code::BadRequest,
            format!("Line 2: episode {} occurs a second time.", one.id),
            "Send every episode once.",
        );
        let found = from_lines(text.as_bytes()).unwrap_err().into_vec();
        assert_eq!(found, [finding.nothing_changed()]);
    }

    #[test]
    fn secrets_of_a_lesson_are_not_exported() {
        let lesson = Some("Set password = \"hunter2!\" first.".to_owned());
        let text = lines(&[Episode { lesson, ..episode("alpha") }]);
        assert!(!text.contains("hunter2"), "{text}");
    }
}
