//! Memories going from one repository to another: as lines of JSON, or as the history of a fetched ref.

use std::collections::{BTreeMap, BTreeSet};

use super::Memory;
use super::change::Change;
use super::episode::{Episode, MOST_BYTES};
use crate::base::{Code, Finding, Result};
use crate::git::Oid;

/// The largest file that is taken in, in bytes.
pub const MOST_FILE: u64 = 256 << 20;

/// `episodes` as lines of JSON, one each. Secrets are taken out once more: they may stand where a person wrote them.
#[must_use]
pub fn lines(episodes: &[Episode]) -> String {
    let line = |episode: &Episode| {
        let mut episode = episode.clone();
        episode.clean();
        serde_json::to_string(&episode).unwrap_or_default() + "\n"
    };
    episodes.iter().map(line).collect()
}

/// What the lines of `bytes` bring.
///
/// # Errors
/// `BAD_REQUEST` naming the first line that is no episode, or an id that stands twice. Nothing is taken in then.
pub fn from_lines(bytes: &[u8]) -> Result<Vec<Change>> {
    let (mut changes, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in
        bytes.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty())
    {
        let at = |finding: Finding| Finding {
            message: format!("Line {}: {} Nothing was changed.", number + 1, finding.message),
            ..finding
        };
        let episode = Episode::from_json(&line[..line.len().min(MOST_BYTES + 1)])
            .map_err(|found| found.each(at))?;
        if !seen.insert(episode.id.clone()) {
            let message = format!(
                "Line {}: episode {} stands twice. Nothing was changed.",
                number + 1,
                episode.id
            );
            return Err(Finding::new(Code::BadRequest, message, "Send every episode once.").into());
        }
        changes.push(Change::Merged(Box::new(episode), None));
    }
    Ok(changes)
}

/// What the memory at the commit `theirs` brings: its episodes, each with the version that both sides came from. One that was deleted
/// there since is deleted here, unless it was seen or used here meanwhile. Beside it, what stands there and cannot be read.
///
/// # Errors
/// `OBJECT_MISSING`; `BAD_REQUEST` if it holds no episode.
pub fn from_commit(memory: &Memory<'_>, theirs: Oid) -> Result<(Vec<Change>, Vec<String>)> {
    let by_id = |at: Oid| -> Result<(BTreeMap<String, Episode>, Vec<String>)> {
        let (all, unreadable) = memory.all(at)?;
        Ok((all.into_iter().map(|episode| (episode.id.clone(), episode)).collect(), unreadable))
    };
    let (their_own, unreadable) = by_id(theirs)?;
    if their_own.is_empty() {
        let message = format!("{theirs} is no memory: it holds no episodes. Nothing was changed.");
        let hint =
            "Fetch the memory itself, `git fetch REMOTE refs/edt/memory`, and import FETCH_HEAD.";
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    }
    let Some(ours) = memory.tip()? else {
        return Ok((
            their_own
                .into_values()
                .map(|episode| Change::Merged(Box::new(episode), None))
                .collect(),
            unreadable,
        ));
    };
    // Of several bases the one that had counted more: what both sides had taken from each other counts once.
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
            changes.push(Change::Deleted(id.clone()));
        }
    }
    for (id, episode) in their_own {
        let before = base.get(&id);
        // What we deleted and they left as it was stays deleted.
        if before != Some(&episode) {
            changes.push(Change::Merged(Box::new(episode), before.cloned().map(Box::new)));
        }
    }
    Ok((changes, unreadable))
}
