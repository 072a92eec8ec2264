//! Judges a landing as a whole: the guards' findings, and what it would leave out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::consent;
use super::left_by_user;
use super::options::LandOptions;
use super::plan::{LandPlan, LandTarget, PlannedCommit};
use crate::session::recording::review::{ChangesReview, LEFT_BY_USER, LandingTrees};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::user::edit_places::EditPlaces;
use crate::session::user::left_over;
use crate::session::user::removed_lines;
use crate::session::user::user_commits::UserCommits;
use edt_git::diff::TreeDifference;
use edt_git::{InHead, ObjectWriter, Oid, TreeItem};
use edt_guard::guard::evaluate::{LandingOverrides, PathOverrides};
use edt_guard::guard::{Grant, Guard, Overrides};
use edt_guard::policy::Policy;
use edt_guard::policy::file::not_a_file;
use edt_types::text::{Shown as _, edits};
use edt_types::{Code, Effect, Finding, Refusal, RepoPath, Result, Warning};

/// The commits that applied approved proposals, with what the user granted.
pub(crate) type ApprovedCommits = BTreeMap<Oid, Vec<Grant>>;

/// The word with which the user lands without what is on disk alone.
const LEAVES_OUT: &str = "leaves_out";

/// The word with which the user lands what they threw away by hand.
const LANDS_REMOVED_LINES: &str = "lands_removed_lines";

/// What judges a landing.
#[derive(Debug)]
pub(crate) struct LandReview<'a> {
    /// Those of the session's base and of the target.
    pub(crate) policies: &'a [Policy],
    pub(crate) guards: &'a [Arc<dyn Guard>],
    pub(crate) options: &'a LandOptions,
    /// The session with all of its commits.
    pub(crate) session: &'a Session,
    pub(crate) approved: &'a ApprovedCommits,
}

impl LandReview<'_> {
    /// Judges the landing of `session`, which may be a part of the whole one.
    ///
    /// Lets the guards judge each commit that edt made, against the commit before it and against
    /// the target. If others than the user land, all commits together are judged for a mass
    /// deletion, and where only the user may override, losses count since the user left the target.
    /// Commits of the user's own do not count where the user lands.
    ///
    /// # Errors
    /// The findings; `LEAVES_OUT`; `LANDS_REMOVED_LINES`; `APPROVAL_REQUIRED`; `OBJECT_MISSING`.
    pub(crate) fn judge(
        &self,
        writer: &ObjectWriter<'_>,
        session: &Session,
        target: &LandTarget,
        plan: &LandPlan,
    ) -> Result<Vec<Warning>> {
        let left = if self.options.by_user {
            None
        } else {
            Some(left_by_user::tree(writer.repo(), target)?)
        };
        let unrecorded = if self.options.by_user {
            None
        } else {
            consent::unrecorded(writer.repo(), session, target, &plan.commits, self.options)?
        };
        let target = target.tree(writer.repo())?;
        let (mut before, mut warnings) = (target, Vec::new());
        let mut found = match plan.planned.last() {
            Some(last) => unreadable_policy(writer, target, last.tree())?,
            None => Vec::new(),
        };
        let exempt = if self.options.by_user {
            UserCommits::of(writer, session)
        } else {
            UserCommits::none(writer, session)
        };
        let mut landing = LandingOverrides {
            recorded: recorded_overrides(writer, &plan.commits)?,
            approved: PathOverrides::new(),
            by_user: self.options.by_user,
        };
        self.add_approved(writer, &plan.commits, &exempt, &mut landing)?;
        let (requested, folded) = (self.options.allow.as_slice(), !plan.folded.is_empty());
        let overrides = Overrides { requested, grants: &[], landing: Some(&landing) };
        for planned in &plan.planned {
            let trees = LandingTrees { before, after: planned.tree(), target, left };
            before = planned.tree();
            let is_users = matches!(planned, PlannedCommit::UserCommit { .. });
            if is_users && self.options.by_user {
                continue;
            }
            for policy in self.policies {
                let guards = self.guards;
                let review = ChangesReview::of_landing(
                    &exempt, writer, trees, folded, policy, guards, overrides,
                )?;
                for warning in review.warnings {
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
                for finding in review.refused {
                    let is_it =
                        |one: &Finding| one.code == finding.code && one.path == finding.path;
                    // A later commit of the landing has what an earlier one has.
                    if found.iter().any(is_it) || is_known_binary(writer, &finding, &plan.commits)?
                    {
                        continue;
                    }
                    found.push(not_landed(finding, self.options));
                }
            }
        }
        for policy in self.policies.iter().filter(|_| left.is_some()) {
            let trees = LandingTrees { before: target, after: before, target, left };
            let from = ChangesReview::counts_since(writer, trees, policy)?;
            if from == target && plan.planned.len() == 1 {
                continue;
            }
            let trees = (from, before);
            let review = ChangesReview::of_deletions(&exempt, writer, trees, policy, overrides)?;
            for finding in review.refused {
                if found.iter().all(|other| other.code != finding.code) {
                    let against = if from == target { "the target" } else { LEFT_BY_USER };
                    found.push(not_landed(finding.with("against", against), self.options));
                }
            }
        }
        found.extend(self.left_out(writer, plan)?);
        found.extend(self.removed_by_hand(writer, plan)?);
        found.extend(unrecorded);
        Refusal::check(found)?;
        Ok(warnings)
    }
}

impl LandReview<'_> {
    /// Adds the overrides of approved proposals, for the paths that their commits change. An
    /// approval is for what the user saw. So it ends with a later change of the path, and does not
    /// cover what a guard finds in the commits before it.
    fn add_approved(
        &self,
        writer: &ObjectWriter<'_>,
        commits: &[Commit],
        exempt: &UserCommits<'_>,
        landing: &mut LandingOverrides,
    ) -> Result<()> {
        let Some(base) = commits.first() else { return Ok(()) };
        let base = base.parent_tree(writer.repo())?;
        for commit in commits {
            let own = self.approved.get(&commit.oid).map(Vec::as_slice).unwrap_or_default();
            if own.is_empty() && landing.approved.is_empty() {
                continue;
            }
            let mut before = Vec::new();
            if !own.is_empty() {
                let after = commit.parent_tree(writer.repo())?;
                let trees = LandingTrees { before: base, after, target: base, left: Some(base) };
                let overrides = Overrides { requested: &[], grants: &[], landing: Some(&*landing) };
                for policy in self.policies {
                    let guards = self.guards;
                    let review = ChangesReview::of_landing(
                        exempt, writer, trees, false, policy, guards, overrides,
                    )?;
                    before.extend(review.refused);
                }
            }
            for one in changed(writer, commit)? {
                let path = one.path.text();
                let has = |grant: &&Grant| {
                    let is_found = |found: &Finding| {
                        found.path.as_ref() == Some(&path)
                            && found.code.allow() == Some(grant.word.as_str())
                    };
                    grant.path.as_ref().is_none_or(|only| *only == path)
                        && !before.iter().any(is_found)
                };
                landing.approved.remove(&one.path);
                let words: BTreeSet<String> =
                    own.iter().filter(has).map(|grant| grant.word.clone()).collect();
                if !words.is_empty() {
                    landing.approved.insert(one.path, words);
                }
            }
        }
        Ok(())
    }

    /// The refusals of what commit hooks staged in one commit of a landing by an agent: hooks run programs that
    /// the agent may have written, so what needs approval needs it from them, too.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(crate) fn staged_by_hooks(
        &self,
        writer: &ObjectWriter<'_>,
        planned: Oid,
        staged: Oid,
    ) -> Result<Vec<Finding>> {
        if self.options.by_user {
            return Ok(Vec::new());
        }
        let held = |changed: &TreeDifference| {
            let is_file = matches!(changed.new, None | Some(TreeItem::File(_)));
            let is_attributes = changed.path.as_bytes().rsplit(|byte| *byte == b'/').next()
                == Some(b".gitattributes");
            self.policies.iter().any(|policy| {
                let is_above = || policy.executed_through(&changed.path).is_some();
                policy.protects(&changed.path) || is_attributes || !is_file && is_above()
            })
        };
        let differs = writer.tree_diff(planned, staged)?;
        Ok(differs.into_iter().filter(held).map(|changed| staged_by_hook(&changed.path)).collect())
    }
}

fn staged_by_hook(path: &RepoPath) -> Finding {
    Finding::new(
        Code::ApprovalRequired,
        format!("A commit hook staged {path}, which only the user may change."),
        "Find out what in the hook changes it, and undo that. Or ask the user to type `edt land` \
         in their own terminal.",
    )
    .with_effect(Effect::NothingLanded)
    .at(path)
}

/// The refusal of an `edt.toml` that would land and cannot be read: it would refuse every edit
/// after it.
fn unreadable_policy(writer: &ObjectWriter<'_>, target: Oid, landed: Oid) -> Result<Vec<Finding>> {
    let differs = writer.tree_diff(target, landed)?;
    let Some(changed) = differs.iter().find(|one| one.path.as_bytes() == b"edt.toml") else {
        return Ok(Vec::new());
    };
    let read = match changed.new {
        None => Ok(()),
        Some(TreeItem::File(file)) => {
            Policy::of_recorded(None, Some(&writer.blob_content(file.oid)?)).map(drop)
        }
        Some(_) => Err(not_a_file().into()),
    };
    let found = read.err().map(Refusal::into_vec).unwrap_or_default().into_iter();
    Ok(found
        .map(|finding| Finding {
            summary: format!("An edt.toml would land that edt cannot read. {}", finding.summary),
            remedy: "Correct edt.toml on the session's branch, or take its change back.".to_owned(),
            ..finding
        })
        .map(|finding| finding.with_effect(Effect::NothingLanded))
        .collect())
}

/// What `commit` changed.
fn changed(writer: &ObjectWriter<'_>, commit: &Commit) -> Result<Vec<TreeDifference>> {
    let repo = writer.repo();
    let parent = commit.parent_tree(repo)?;
    writer.tree_diff(parent, commit.tree)
}

/// The overrides that `commits` say they have, oldest first, for the paths that they change. They
/// hold under the new name of a file that a later commit renames.
fn recorded_overrides(writer: &ObjectWriter<'_>, commits: &[Commit]) -> Result<PathOverrides> {
    let mut all = PathOverrides::new();
    for commit in commits {
        let words: Vec<String> =
            commit.trailers.iter().flat_map(|trailers| &trailers.allowed).cloned().collect();
        if words.is_empty() && all.is_empty() {
            continue;
        }
        let differs = changed(writer, commit)?;
        for one in differs.iter().filter(|_| !words.is_empty()) {
            all.entry(one.path.clone()).or_default().extend(words.iter().cloned());
        }
        for one in writer.repo().with_renames(differs, |oid| writer.blob_content(oid))? {
            if let Some(words) = one.from.as_ref().and_then(|from| all.get(&from.path).cloned()) {
                all.entry(one.path).or_default().extend(words);
            }
        }
    }
    Ok(all)
}

/// Whether an edit added the new binary file deliberately: its request allowed binary content.
fn is_known_binary(
    writer: &ObjectWriter<'_>,
    finding: &Finding,
    commits: &[Commit],
) -> Result<bool> {
    if finding.code != Code::BuildOutput {
        return Ok(false);
    }
    let words = [Code::BinaryContent, Code::Encoding].map(Code::allow);
    for commit in commits {
        let allowed = commit.trailers.iter().flat_map(|trailers| &trailers.allowed);
        if !allowed.into_iter().any(|word| words.contains(&Some(word))) {
            continue;
        }
        let changed = changed(writer, commit)?;
        let named = |one: &TreeDifference| finding.path == Some(one.path.text());
        if changed.iter().any(|one| one.new.is_some() && named(one)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The finding about a landing as a whole.
fn not_landed(finding: Finding, options: &LandOptions) -> Finding {
    let land = options.command();
    let flag = finding.allow.map(|word| {
        format!("If the whole landing is intended, repeat `{land}` with `--allow {word}`.")
    });
    // Only the user may override a finding that names the word.
    let users_word = finding.evidence.get("word").and_then(|word| word.as_str());
    let remedy = match finding.code {
        Code::BuildOutput => finding.remedy,
        _ if finding.evidence.get("against").is_some_and(|against| against == LEFT_BY_USER) => {
            format!("Ask the user: they may land it with `{land}` in a terminal.")
        }
        _ if let Some(word) = users_word => format!(
            "Undo it in the session (`edt log`, `edt revert`). Or ask the user to type `{land} \
             --allow {word}` in their own terminal."
        ),
        _ => "Change it in the session, or undo the edit (`edt log`, `edt revert`).".to_owned(),
    };
    let effect = Effect::NothingLanded;
    Finding { effect, remedy, override_remedy: flag, ..finding }
}

impl LandReview<'_> {
    fn user_allows(&self, word: &str) -> bool {
        self.options.by_user && self.options.allow.iter().any(|allowed| allowed == word)
    }

    /// The refusal of a landing with what the user threw away on disk.
    fn removed_by_hand(
        &self,
        writer: &ObjectWriter<'_>,
        plan: &LandPlan,
    ) -> Result<Option<Finding>> {
        if self.session.head == InHead::No || self.user_allows(LANDS_REMOVED_LINES) {
            return Ok(None);
        }
        let files = removed_lines::of_session(writer, self.session, &plan.commits)?;
        if files.is_empty() {
            return Ok(None);
        }
        let list: Vec<String> = files.iter().map(EditPlaces::shown).collect();
        let edits: BTreeSet<u64> = files.iter().flat_map(|file| file.edits.clone()).collect();
        let numbers: Vec<String> = edits.iter().rev().map(u64::to_string).collect();
        let revert = format!("`edt revert {}`", numbers.join(" "));
        let again = self.options.command();
        let land = format!("`{again} --allow {LANDS_REMOVED_LINES}`");
        let taken = format!("{revert} takes them out of the session; then repeat `{again}`.");
        let remedy = if self.options.by_user {
            format!("{taken} {land} lands them.")
        } else {
            format!(
                "{taken} If they should land, ask the user, who restores the files or types {land}."
            )
        };
        let paths: Vec<String> = files.iter().map(|file| file.path.text()).collect();
        let summary = format!(
            "The user threw away on disk what edits of the session made: {}. The landing would have \
             it.",
            list.join("; ").shown()
        );
        let finding = Finding::new(Code::LandsRemovedLines, summary, remedy);
        let finding = finding.with_effect(Effect::NothingLanded).with("files", paths);
        Ok(Some(finding.with("edits", edits.into_iter().collect::<Vec<u64>>())))
    }

    /// The refusal of a landing that lacks a part of what the session's edits changed.
    fn left_out(&self, writer: &ObjectWriter<'_>, plan: &LandPlan) -> Result<Option<Finding>> {
        if self.user_allows(LEAVES_OUT) {
            return Ok(None);
        }
        let files = left_over::of_session(writer, self.session, &plan.commits)?;
        let unknown = left_over::unknown(writer.repo(), &plan.commits)?;
        if files.is_empty() && unknown.is_empty() {
            return Ok(None);
        }
        let list: Vec<String> = files.iter().map(EditPlaces::shown).collect();
        let mut summary = Vec::new();
        if !files.is_empty() {
            summary.push(format!(
                "A part of the session's edits is on disk alone, in the user's uncommitted changes: \
                 {}. The landing would lack it.",
                list.join("; ").shown()
            ));
        }
        if !unknown.is_empty() {
            summary.push(format!(
                "The private record of {} is missing: uncommitted changes on disk may include changes \
                 of it, which the landing would lack.",
                edits(&unknown)
            ));
        }
        // A checkpoint comes after the edits, and is in no part.
        let then = if self.options.is_part() {
            "`edt land` then lands the whole session"
        } else {
            "then repeat `edt land`"
        };
        let without = format!("`{} --allow {LEAVES_OUT}`", self.options.command());
        let remedy = if self.options.by_user {
            format!(
                "`edt checkpoint` commits what is uncommitted, as your changes; {then}. {without} \
                 lands without it."
            )
        } else {
            format!(
                "Let the user know what would be missing: they type `edt checkpoint` and `edt land`, \
                 or {without} to land without it."
            )
        };
        let paths: Vec<String> = files.iter().map(|file| file.path.text()).collect();
        Ok(Some(
            Finding::new(Code::LeavesOut, summary.join(" "), remedy)
                .with_effect(Effect::NothingLanded)
                .with("files", paths)
                .with("unknown", unknown),
        ))
    }
}
