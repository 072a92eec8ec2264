//! Finds the session of a branch that was renamed with `git branch -m`. The session keeps its name
//! and its refs below `refs/edt/<name>/`.

use std::collections::BTreeMap;

use super::commit::Commit;
use super::message::Kind;
use super::names::{self, BRANCHES, base_ref};
use edt_git::{Oid, Repo};
use edt_types::Result;

/// How many commits are searched for a trailer if the reflog does not have the rename.
const MAX_COMMITS: usize = 1000;

/// The earlier names of `branch`, a full ref name, newest first. `messages` are those of its
/// reflog, newest first.
pub fn earlier_names<'m>(branch: &str, messages: impl Iterator<Item = &'m str>) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), branch.to_owned());
    for message in messages {
        let Some(renamed) = message.strip_prefix("Branch: renamed ") else { continue };
        if let Some((from, to)) = renamed.split_once(" to ")
            && to == name
        {
            from.clone_into(&mut name);
            names.push(name.clone());
        }
    }
    names
}

/// The session whose branch was renamed to `branch`, a full ref name at `tip`.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn session_of(repo: &Repo, branch: &str, tip: Oid) -> Result<Option<String>> {
    let messages = repo.log_messages(branch);
    for earlier in earlier_names(branch, messages.iter().map(String::as_str)) {
        if let Some(name) = earlier.strip_prefix(BRANCHES)
            && has_lost_its_branch(repo, name)?
        {
            return Ok(Some(name.to_owned()));
        }
    }
    // There may be no reflog. The commits of a session name it, unless they landed.
    let mut next = Some(tip);
    for _ in 0..MAX_COMMITS {
        let Some(oid) = next else { break };
        let commit = Commit::read(repo, oid)?;
        if let Some(trailers) = &commit.trailers {
            let name = &trailers.session;
            let found = trailers.kind != Kind::Land
                && repo.is_ref_name(&base_ref(name))
                && has_lost_its_branch(repo, name)?
                && !has_landed(repo, name, oid)?;
            return Ok(found.then(|| name.clone()));
        }
        next = commit.parent;
    }
    Ok(None)
}

/// The branch to which that of the session `name` was renamed, with its commit.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn branch_of(repo: &Repo, name: &str) -> Result<Option<(String, Oid)>> {
    for (branch, tip) in without_session(repo)? {
        if session_of(repo, &branch, tip)?.as_deref() == Some(name) {
            return Ok(Some((branch, tip)));
        }
    }
    Ok(None)
}

/// The branches `edt/…` without a base of their own, with their commits.
///
/// # Errors
/// `IO_ERROR`.
pub fn without_session(repo: &Repo) -> Result<Vec<(String, Oid)>> {
    let mut found = Vec::new();
    for (branch, tip) in repo.refs_below(BRANCHES)? {
        if repo.ref_value(&base_ref(branch.trim_start_matches(BRANCHES)))?.is_none() {
            found.push((branch, tip));
        }
    }
    Ok(found)
}

/// The branches outside of `edt/` to which those of the sessions `names` were renamed, with their
/// commits. Only their reflogs say so.
///
/// # Errors
/// `IO_ERROR`.
pub fn outside(repo: &Repo, names: &[&str]) -> Result<BTreeMap<String, (String, Oid)>> {
    let mut found = BTreeMap::new();
    if names.is_empty() {
        return Ok(found);
    }
    for (branch, tip) in repo.refs_below("refs/heads/")? {
        if branch.starts_with(BRANCHES) {
            continue;
        }
        let messages = repo.log_messages(&branch);
        for earlier in earlier_names(&branch, messages.iter().map(String::as_str)) {
            if let Some(name) = earlier.strip_prefix(BRANCHES)
                && names.contains(&name)
            {
                found.entry(name.to_owned()).or_insert_with(|| (branch.clone(), tip));
            }
        }
    }
    Ok(found)
}

fn has_lost_its_branch(repo: &Repo, name: &str) -> Result<bool> {
    Ok(repo.ref_value(&base_ref(name))?.is_some()
        && repo.ref_value(&format!("{BRANCHES}{name}"))?.is_none())
}

/// Whether the branch that the session began on contains `commit`.
fn has_landed(repo: &Repo, name: &str, commit: Oid) -> Result<bool> {
    let origin = names::origin(repo, name)?.filter(|origin| origin.starts_with("refs/heads/"));
    match origin.map(|origin| repo.ref_value(&origin)).transpose()?.flatten() {
        Some(tip) => repo.is_ancestor(commit, tip),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::Scratch;

    const LOG: [&str; 5] = [
        "edt apply: x",
        "Branch: renamed refs/heads/edt/b to refs/heads/edt/c",
        "Branch: renamed refs/heads/edt/x to refs/heads/edt/y",
        "Branch: renamed refs/heads/edt/a to refs/heads/edt/b",
        "branch: Created from HEAD",
    ];

    fn earlier(branch: &str) -> Vec<String> {
        earlier_names(branch, LOG.into_iter())
    }

    #[test]
    fn a_chain_of_renames_is_followed() {
        assert_eq!(earlier("refs/heads/edt/c"), ["refs/heads/edt/b", "refs/heads/edt/a"]);
        assert_eq!(earlier("refs/heads/edt/a"), Vec::<String>::new());
    }

    /// Renames the branch `edt/fix` to `edt/new`, as Git does, but without a reflog.
    fn renamed(switching: HeadSwitch) -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin_with("fix", switching);
        scratch.edit("first", "a.txt", "one", "two");
        let tip = scratch.session().tip;
        scratch.remove(".git/refs/heads/edt/fix");
        scratch.set_ref("refs/heads/edt/new", tip);
        if switching == HeadSwitch::AsConfigured {
            scratch.write(".git/HEAD", "ref: refs/heads/edt/new\n");
        }
        scratch
    }

    fn name_and_branch(session: &Session) -> (&str, &str) {
        (&session.name, session.short_branch())
    }

    #[test]
    fn a_renamed_session_is_found_by_the_trailers_of_its_commits() {
        let scratch = renamed(HeadSwitch::AsConfigured);
        assert_eq!(name_and_branch(&scratch.session()), ("fix", "edt/new"));
    }

    #[test]
    fn a_renamed_session_is_found_by_its_pointer() {
        let scratch = renamed(HeadSwitch::Never);
        assert_eq!(name_and_branch(&scratch.session()), ("fix", "edt/new"));
    }

    #[test]
    fn a_branch_of_the_user_is_no_session() {
        let scratch = renamed(HeadSwitch::AsConfigured);
        let main = scratch.ref_value("refs/heads/main").unwrap();
        let found = session_of(&scratch.repo(), "refs/heads/edt/other", main).unwrap();
        assert_eq!(found, None);
    }

    #[test]
    fn a_session_with_its_branch_was_not_renamed() {
        let scratch = renamed(HeadSwitch::AsConfigured);
        let tip = scratch.head();
        scratch.set_ref("refs/heads/edt/fix", tip);
        assert_eq!(session_of(&scratch.repo(), "refs/heads/edt/new", tip).unwrap(), None);
    }
}
