//! Makes the commits of a landing: the squashed ones, which Git's hooks check and may change, and
//! the user's commits, recreated on their new parents.

use std::collections::BTreeSet;

use super::options::LandOptions;
use super::plan::{LandPlan, LandTarget, PlannedCommit};
use super::review::LandReview;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind, Trailers};
use edt_git::commit_candidate::CommitCandidate;
use edt_git::commit_hooks;
use edt_git::read::ObjectKind;
use edt_git::{Merged, ObjectWriter, Oid, Repo};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Refusal, RepoPath, Result};

/// Input for the commits on the target.
#[derive(Debug)]
pub struct LandCommits<'a> {
    /// The repository, opened in the session's worktree.
    pub repo: &'a Repo,
    /// The session.
    pub session: &'a Session,
    /// The branch to land on.
    pub target: &'a LandTarget,
    /// The planned commits.
    pub plan: &'a LandPlan,
    /// What judges the landing.
    pub(crate) review: &'a LandReview<'a>,
    /// Whose `Signed-off-by` the messages get: a name and a mail address.
    pub sign_off: Option<String>,
}

impl LandCommits<'_> {
    /// Writes the commits, oldest first. Git's hooks run for each squashed one.
    ///
    /// # Errors
    /// `GIT_OPERATION_BLOCKED` if a hook refuses, or if its changes conflict with a later commit;
    /// `APPROVAL_REQUIRED` if a hook of an agent's landing stages what only the user may change;
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn write(&self, writer: &mut ObjectWriter<'_>) -> Result<Vec<Oid>> {
        let (mut written, mut at): (Vec<Oid>, Option<Oid>) = (Vec::new(), self.target.tip);
        // The last tree as planned and as the hooks left it. Changes by hooks carry over into later
        // trees.
        let mut last: Option<(Oid, Oid)> = None;
        for next in &self.plan.planned {
            let planned_tree = next.tree();
            let tree = match last {
                Some((previous_plan, after_hooks)) => {
                    merge_hook_changes(writer, previous_plan, after_hooks, planned_tree)?
                }
                None => planned_tree,
            };
            let commit = match next {
                PlannedCommit::Squash { commits, .. } => self.squash(writer, tree, commits, at)?,
                PlannedCommit::UserCommit { commit, other_parents, .. } => {
                    let original = self.repo.object(*commit, ObjectKind::Commit)?;
                    let parents: Vec<Oid> =
                        at.into_iter().chain(other_parents.iter().copied()).collect();
                    let read = Commit::read(self.repo, *commit)?;
                    if read.parent == at
                        && read.tree == tree
                        && read.other_parents == *other_parents
                    {
                        *commit
                    } else {
                        writer.rewrite_commit(&original, tree, &parents)?
                    }
                }
            };
            let after_hooks = writer.tree_of(commit)?;
            Refusal::check(self.review.staged_by_hooks(writer, tree, after_hooks)?)?;
            last = Some((planned_tree, after_hooks));
            written.push(commit);
            at = Some(commit);
        }
        Ok(written)
    }

    fn squash(
        &self,
        writer: &mut ObjectWriter<'_>,
        tree: Oid,
        commits: &[Commit],
        parent: Option<Oid>,
    ) -> Result<Oid> {
        let head = match parent {
            Some(parent) if self.target.tip != Some(parent) => parent.to_string(),
            _ => self.target.branch.clone(),
        };
        let allowed = allowed(commits, self.review.options);
        let message = self.message(commits, &allowed);
        let moved = (self.repo.tree_of(self.session.tip)?, self.plan.tree);
        let proposed = commit_hooks::run(
            self.repo,
            writer,
            CommitCandidate { head, tree, parent, message, allowed },
            moved,
        )
        .map_err(|found| {
            if self.is_newest(commits) {
                found
            } else {
                found.map(|finding| self.of_earlier_message(finding))
            }
        })?;
        if let Some(signed) = commit_hooks::sign(self.repo, writer, &proposed)? {
            return Ok(signed);
        }
        writer.write_commit(&edt_git::NewCommit {
            tree: proposed.tree,
            parent,
            message: &proposed.message,
        })
    }

    /// Whether these are the newest squashed commits, which get the caller's message.
    fn is_newest(&self, commits: &[Commit]) -> bool {
        let squashed = self.plan.planned.iter().rev().find_map(|planned| match planned {
            PlannedCommit::Squash { commits, .. } => Some(commits),
            PlannedCommit::UserCommit { .. } => None,
        });
        squashed.is_some_and(|last| last.last() == commits.last())
    }

    /// A finding about the message of an earlier commit, which the caller cannot choose.
    fn of_earlier_message(&self, finding: Finding) -> Finding {
        if finding.evidence.get("hook").is_none_or(|hook| hook != "commit-msg") {
            return finding;
        }
        let remedy = format!(
            "The message is that of an earlier commit of the landing, which `-m` does not set. Ask \
             the user to land it with Git: `git switch {}`, `git merge --squash {}`, then `git \
             commit`.",
            self.target.short(),
            self.session.short_branch()
        );
        Finding { remedy, ..finding }
    }

    /// The message that the caller gave, for the newest squashed commits.
    fn text_for(&self, commits: &[Commit]) -> Option<&str> {
        let text = self.review.options.message.as_deref().map(str::trim);
        text.filter(|text| !text.is_empty() && self.is_newest(commits))
    }

    /// The caller's message, else that of the only edit, else a list of the edits; with trailers.
    fn message(&self, commits: &[Commit], allowed: &[String]) -> String {
        let edits: Vec<&Commit> = commits.iter().filter(|commit| commit.is_edit()).collect();
        let count: u64 = edits.iter().map(|commit| commit.edits()).sum();
        let text = match (self.text_for(commits), edits.as_slice()) {
            (Some(text), _) => text.to_owned(),
            (None, [one]) if is_of_kind_edit(one) && one.edits() == 1 => {
                message::text(&one.message)
            }
            (None, [one]) => one.subject().to_owned(),
            (None, many) => {
                let list: Vec<String> =
                    many.iter().map(|edit| format!("* {}", edit.subject())).collect();
                let (name, list) = (&self.session.name, list.join("\n"));
                format!("land edt/{name}: {count} edits\n\n{list}")
            }
        };
        let agent = names(commits, |edit| edit.agent.as_deref());
        let caller = names(commits, Trailers::maker).filter(|_| agent.is_some());
        let folded: Vec<String> = self.plan.folded.iter().map(included).collect();
        let text = if folded.is_empty() {
            text
        } else {
            message::add_paragraph(&text, &folded.join("\n"))
        };
        let text = match self.assisted_by(&text, commits) {
            lines if lines.is_empty() => text,
            lines => message::add_trailers(&text, &lines),
        };
        let text = match &self.sign_off {
            Some(line) if message::values(&text, "Signed-off-by").last() != Some(line) => {
                message::add_trailers(&text, &format!("Signed-off-by: {line}\n"))
            }
            _ => text,
        };
        message::compose(
            &text,
            &Trailers {
                caller: caller.filter(|caller| Some(caller) != agent.as_ref()),
                agent,
                allowed: allowed.to_vec(),
                ..Trailers::plain(&self.session.name, Kind::Land, count)
            },
        )
    }
}

impl LandCommits<'_> {
    /// A trailer for each agent with its model, as the edits of `commits` name them.
    fn assisted_by(&self, text: &str, commits: &[Commit]) -> String {
        if !self.review.policies.iter().all(|policy| policy.assisted_by) {
            return String::new();
        }
        let units: Vec<Commit> = commits.iter().flat_map(Commit::units).collect();
        let of = |trailers: &Trailers| {
            let agent = trailers.agent.as_ref()?;
            Some(match &trailers.model {
                Some(model) => format!("Assisted-by: {agent}:{model}\n"),
                None => format!("Assisted-by: {agent}\n"),
            })
        };
        let written = message::values(text, "Assisted-by");
        let is_new = |line: &String| {
            !written.iter().any(|value| line.trim_end() == format!("Assisted-by: {value}"))
        };
        let lines = units.iter().filter_map(|unit| of(unit.trailers.as_ref()?)).filter(is_new);
        lines.collect::<BTreeSet<String>>().into_iter().collect()
    }
}

/// Those that the edits of `commits` name, each once.
fn names(commits: &[Commit], of: impl Fn(&Trailers) -> Option<&str>) -> Option<String> {
    let units: Vec<Commit> = commits.iter().flat_map(Commit::units).collect();
    let names: BTreeSet<&str> =
        units.iter().filter_map(|unit| of(unit.trailers.as_ref()?)).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// The line that names a user's commit that could not stay separate.
fn included(commit: &Commit) -> String {
    format!("Includes {} ({}, by {})", commit.oid, commit.subject(), commit.author)
}

/// Whether an agent or the user wrote the complete message. edt writes the body for a program.
fn is_of_kind_edit(commit: &Commit) -> bool {
    commit.trailers.as_ref().is_some_and(|trailers| trailers.kind == Kind::Edit)
}

/// The overrides that the edits recorded, and those given for the landing.
#[must_use]
pub fn allowed(commits: &[Commit], options: &LandOptions) -> Vec<String> {
    let recorded = commits
        .iter()
        .filter_map(|commit| commit.trailers.as_ref())
        .flat_map(|trailers| trailers.allowed.clone());
    let mut allowed: Vec<String> = recorded.chain(options.allow.iter().cloned()).collect();
    allowed.sort();
    allowed.dedup();
    allowed
}

/// Merges the hooks' changes to one tree into the next planned tree.
fn merge_hook_changes(
    writer: &mut ObjectWriter<'_>,
    before: Oid,
    after_hooks: Oid,
    planned: Oid,
) -> Result<Oid> {
    match writer.merge_trees(before, after_hooks, planned)? {
        Merged::Clean(tree) => Ok(tree),
        Merged::Conflicts(paths) => {
            let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
            let message = format!(
                "Git's hooks changed an earlier commit of this landing, and the changes conflict \
                 with a later commit in {}.",
                names.join(", ").shown()
            );
            let remedy = "Apply the hooks' changes in the session first (run the formatter with \
                `edt run`), then repeat `edt land`.";
            Err(Finding::new(Code::GitOperationBlocked, message, remedy)
                .with_effect(Effect::NothingLanded)
                .with("paths", names)
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::turns::CallingAgent;
    use crate::session::worktree::options::Options;
    use crate::tests::{Scratch, refusal};
    use crate::txn::{self, Request};
    use edt_git::{FileId, FileMode, TreeChange};
    use edt_types::DryRun;

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch
    }

    /// The message of the commit that the session lands as.
    fn message(scratch: &Scratch, options: &LandOptions) -> String {
        let session = scratch.session();
        let commit = land(&mut scratch.open(), &session, options).unwrap().commit;
        scratch.message(commit)
    }

    #[test]
    fn one_edit_lands_with_its_own_subject() {
        let scratch = scratch();
        scratch.edit("calc: add", "a.txt", "one", "two");
        assert_eq!(
            message(&scratch, &LandOptions::default()),
            "calc: add\n\nEdt-Session: fix\nEdt-Kind: land\nEdt-Edit: 1\n"
        );
    }

    #[test]
    fn one_edit_lands_with_the_body_of_its_message() {
        let scratch = scratch();
        scratch.edit("why\n\nin detail", "a.txt", "one", "two");
        assert!(message(&scratch, &LandOptions::default()).starts_with("why\n\nin detail\n\nEdt-"));
    }

    #[test]
    fn several_edits_land_with_a_list() {
        let scratch = scratch();
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "b.txt", "b", "c");
        assert_eq!(
            message(&scratch, &LandOptions::default()),
            "land edt/fix: 2 edits\n\n* first\n* second\n\nEdt-Session: fix\nEdt-Kind: land\n\
             Edt-Edit: 2\n"
        );
    }

    #[test]
    fn the_callers_message_replaces_the_list() {
        let scratch = scratch();
        scratch.edit("first", "a.txt", "one", "two");
        let options =
            LandOptions { message: Some(" why\n\nbody\n".into()), ..LandOptions::default() };
        assert_eq!(
            message(&scratch, &options),
            "why\n\nbody\n\nEdt-Session: fix\nEdt-Kind: land\nEdt-Edit: 1\n"
        );
    }

    #[test]
    fn an_empty_message_is_none() {
        let scratch = scratch();
        scratch.edit("first", "a.txt", "one", "two");
        let options = LandOptions { message: Some("  \n".into()), ..LandOptions::default() };
        assert!(message(&scratch, &options).starts_with("first\n\n"));
    }

    #[test]
    fn who_called_is_named_where_an_edit_has_another_name() {
        let scratch = scratch();
        let caller = CallingAgent { agent: Some("codex".into()), ..CallingAgent::default() };
        let options = Options { caller, ..Options::default() };
        for (agent, text) in [("reviewer", "1"), ("codex", "2")] {
            let request = Request::new("x").append("a.txt", text).agent(agent);
            txn::transact(&mut scratch.open_with(options.clone()), &request, DryRun::No).unwrap();
        }
        let landed = message(&scratch, &LandOptions::default());
        assert_eq!(message::values(&landed, "Edt-Agent"), ["codex, reviewer"]);
        assert_eq!(message::values(&landed, "Edt-Caller"), ["codex"]);
    }

    #[test]
    fn the_agents_of_all_edits_are_named_once_each() {
        let scratch = scratch();
        for (agent, text) in [("zoe", "1"), ("adam", "2"), ("zoe", "3")] {
            let request = Request::new("x").append("a.txt", text).agent(agent);
            scratch.apply(&request).unwrap();
        }
        let landed = message(&scratch, &LandOptions::default());
        assert_eq!(message::values(&landed, "Edt-Agent"), ["adam, zoe"]);
    }

    #[test]
    fn the_overrides_of_the_edits_and_of_the_landing_are_recorded_once_each() {
        let scratch = scratch();
        let request = Request::new("x").append("a.txt", b"\xff".to_vec()).allow("encoding");
        scratch.apply(&request).unwrap();
        let allow = vec!["mass_deletion".to_owned(), "encoding".to_owned()];
        let landed = message(&scratch, &LandOptions { allow, ..LandOptions::default() });
        assert_eq!(message::values(&landed, "Edt-Allowed"), ["encoding", "mass_deletion"]);
    }

    #[test]
    fn only_the_newest_squashed_commit_gets_the_callers_message() {
        let scratch = scratch();
        scratch.edit("first", "a.txt", "one", "two");
        scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        scratch.write("c.txt", "c\n");
        scratch.edit("second", "a.txt", "two", "three");
        let session = scratch.session();
        let options =
            LandOptions { message: Some("mine".into()), by_user: true, ..LandOptions::default() };
        let landed = land(&mut scratch.open(), &session, &options).unwrap();
        let subjects: Vec<String> = landed
            .commits
            .iter()
            .map(|commit| scratch.message(*commit).lines().next().unwrap().to_owned())
            .collect();
        assert_eq!(subjects, ["first", "by hand", "mine"]);
    }

    #[test]
    fn a_users_commit_that_fits_the_branch_keeps_its_id() {
        let scratch = scratch();
        let by_hand = scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        scratch.write("c.txt", "c\n");
        scratch.edit("first", "a.txt", "one", "two");
        let session = scratch.session();
        let landed = land(
            &mut scratch.open(),
            &session,
            &LandOptions { by_user: true, ..LandOptions::default() },
        )
        .unwrap();
        assert_eq!(landed.commits[0], by_hand);
    }

    #[test]
    fn a_users_commit_is_recreated_on_a_branch_that_moved() {
        let scratch = scratch();
        let by_hand = scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        scratch.write("c.txt", "c\n");
        let main = scratch.user_commit("main", &[("b.txt", Some("moved\n"))], "moved\n");
        let session = scratch.session();
        let landed = land(
            &mut scratch.open(),
            &session,
            &LandOptions { by_user: true, ..LandOptions::default() },
        )
        .unwrap();
        let commit = Commit::read(&scratch.repo(), landed.commit).unwrap();
        assert_ne!(commit.oid, by_hand);
        assert_eq!((commit.parent, commit.message.as_str()), (Some(main), "by hand\n"));
    }

    #[test]
    fn a_hooks_change_that_conflicts_with_a_later_commit_is_refused() {
        let scratch = scratch();
        let repo = scratch.repo();
        let mut writer = ObjectWriter::new(&repo);
        let mut tree = |text: &str| {
            let oid = writer.write_blob(text.as_bytes()).unwrap();
            let file = Some(FileId { oid, mode: FileMode::Plain });
            let change = TreeChange { path: crate::tests::path("a.txt"), file };
            writer.write_tree(repo.empty_tree(), &[change]).unwrap().0
        };
        let (before, formatted, later) = (tree("one\n"), tree("ONE\n"), tree("two\n"));
        let finding = Finding::new(
            Code::GitOperationBlocked,
            "Git's hooks changed an earlier commit of this landing, and the changes conflict with \
             a later commit in a.txt.",
            "Apply the hooks' changes in the session first (run the formatter with `edt \
             run`), then repeat `edt land`.",
        );
        let finding = finding.with_effect(Effect::NothingLanded).with("paths", vec!["a.txt"]);
        let merged = merge_hook_changes(&mut writer, before, formatted, later);
        assert_eq!(refusal(merged), finding);
    }
}
