//! What the edits of one turn changed together.

use std::collections::BTreeSet;

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use edt_git::{Oid, Repo};
use edt_types::{Code, Finding, RepoPath, Result};

/// The change of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnChange {
    /// The commit before its first edit, or the empty tree.
    pub from: Oid,
    /// The commit of its last edit.
    pub to: Oid,
    /// The paths that its edits changed; no other commit between changed one of them.
    pub paths: Vec<RepoPath>,
}

/// The numbers of the turns whose edits the commit has.
#[must_use]
pub fn turns_of(commit: &Commit) -> BTreeSet<Option<u64>> {
    let edits = commit.units().into_iter().filter(Commit::is_edit);
    edits.filter_map(|edit| Some(edit.trailers?.turn)).collect()
}

impl Session {
    /// What the turn `number` changed.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the session has no such turn, or if other commits between its edits changed
    /// the same files; `OBJECT_MISSING`.
    pub fn turn_change(&self, repo: &Repo, number: u64) -> Result<TurnChange> {
        let (mut found, mut between, mut since): (Option<TurnChange>, Vec<Commit>, Vec<Commit>) =
            (None, Vec::new(), Vec::new());
        let mut paths = BTreeSet::new();
        for commit in self.commits(repo) {
            let commit = commit?;
            let turns = turns_of(&commit);
            if !turns.contains(&Some(number)) {
                since.extend(found.is_some().then_some(commit));
                continue;
            }
            if turns.len() > 1 || commit.has_more_than_edits() {
                return Err(mixed(number, &[commit.oid]).into());
            }
            between.append(&mut since);
            paths.extend(changed(repo, &commit)?);
            let from = commit.parent.unwrap_or_else(|| repo.empty_tree());
            let to = found.map_or(commit.oid, |found| found.to);
            found = Some(TurnChange { from, to, paths: Vec::new() });
        }
        let found = found.ok_or_else(|| unknown(self, number))?;
        let mut others = Vec::new();
        for commit in &between {
            if changed(repo, commit)?.iter().any(|path| paths.contains(path)) {
                others.push(commit.oid);
            }
        }
        if !others.is_empty() {
            return Err(mixed(number, &others).into());
        }
        Ok(TurnChange { paths: paths.into_iter().collect(), ..found })
    }
}

fn changed(repo: &Repo, commit: &Commit) -> Result<Vec<RepoPath>> {
    let paths = repo.tree_diff(commit.parent_tree(repo)?, commit.tree)?;
    Ok(paths.into_iter().map(|changed| changed.path).collect())
}

fn unknown(session: &Session, number: u64) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!("The session {} has no turn {number}.", session.name),
        "`edt log --by-turn` lists the turns and their edits.",
    )
}

fn mixed(number: u64, others: &[Oid]) -> Finding {
    let names: Vec<String> = others.iter().map(|oid| oid.to_hex_with_len(12).to_string()).collect();
    Finding::new(
        Code::BadRequest,
        format!(
            "Other commits between the edits of turn {number} changed the same files: {}.",
            names.join(", ")
        ),
        "`edt log --by-turn` lists the edits of the turn; `edt show N` shows each.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::turns::CallingAgent;
    use crate::session::worktree::options::Options;
    use crate::tests::{Scratch, refusal};
    use crate::txn::{self, Request};
    use edt_types::DryRun;

    /// Edits of files in turns.
    fn edits(all: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch::with(&[("a", "0\n"), ("b", "0\n")]);
        scratch.begin("fix");
        for (turn, file) in all {
            let caller = CallingAgent {
                agent: Some("codex".into()),
                conversation: Some("c1".into()),
                turn: Some((*turn).to_owned()),
                ..CallingAgent::default()
            };
            let options = Options { caller, ..Options::default() };
            let request = Request::new("x").append(file, "more\n");
            txn::transact(&mut scratch.open_with(options), &request, DryRun::No).unwrap();
        }
        scratch
    }

    fn paths(scratch: &Scratch, turn: u64) -> Result<Vec<String>> {
        let change = scratch.session().turn_change(&scratch.repo(), turn)?;
        Ok(change.paths.iter().map(RepoPath::text).collect())
    }

    #[test]
    fn the_change_of_a_turn_has_the_files_of_its_edits() {
        let scratch = edits(&[("t1", "a"), ("t2", "b"), ("t1", "a")]);
        assert_eq!(paths(&scratch, 1).unwrap(), ["a"]);
        assert_eq!(paths(&scratch, 2).unwrap(), ["b"]);
        let change = scratch.session().turn_change(&scratch.repo(), 1).unwrap();
        assert_eq!((change.from, change.to), (scratch.session().base, scratch.head()));
    }

    #[test]
    fn a_turn_whose_files_others_changed_between_is_not_one_change() {
        let scratch = edits(&[("t1", "a"), ("t2", "a"), ("t1", "a")]);
        let finding = refusal(paths(&scratch, 1));
        assert!(finding.summary.contains("changed the same files"), "{finding:#?}");
        paths(&scratch, 2).unwrap();
    }

    #[test]
    fn an_unknown_turn_is_refused() {
        let finding = refusal(paths(&edits(&[("t1", "a")]), 2));
        assert_eq!(finding.summary, "The session fix has no turn 2.");
    }
}
