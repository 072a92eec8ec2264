//! `pre-commit`: judges the staged changes against HEAD, as `edt apply` would.

use super::call::{Hook, HookCall, Site, for_git, override_words};
use super::changes::{self, ComparedState, GuardFindings, SizeReference};
use super::plumbing::Object;
use super::policies::Committed;
use super::who::Who;
use super::{granted, policies, renames};
use edt_core::session::refs::names::{BRANCHES, base_ref};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Refusal, Result, Warning, WarningCode};

const EFFECT: Effect = Effect::NothingCommitted;

/// The hook `pre-commit`.
#[derive(Debug)]
pub struct PreCommit;

impl Hook for PreCommit {
    fn name(&self) -> &'static str {
        "pre-commit"
    }

    fn site(&self) -> Site {
        Site::Worktree
    }

    fn stops(&self) -> &'static str {
        "a commit of staged changes that the guards refuse"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/pre-commit")
    }

    fn reads_stdin(&self) -> bool {
        false
    }

    fn judge(&self, call: &HookCall<'_>) -> Result<Vec<Warning>> {
        let git = &call.git;
        let branch = git.line(&["symbolic-ref", "--quiet", "HEAD"])?;
        let session = branch.as_deref().and_then(|branch| branch.strip_prefix(BRANCHES));
        // Without a session there is no object of this name.
        let mut base = session.map_or_else(|| "refs/edt/base".to_owned(), base_ref);
        // Of a commit only the tree is read: its message may be large.
        let specs = [
            "HEAD^{tree}",
            "HEAD:edt.toml",
            &format!("{base}^{{tree}}"),
            &format!("{base}:edt.toml"),
            "MERGE_HEAD^{tree}",
            ":edt.toml",
        ]
        .map(str::to_owned);
        let [head, head_policy, mut base_object, mut base_policy, merged, staged_policy] =
            <[Option<Object>; 6]>::try_from(git.objects(&specs)?).unwrap_or_default();
        if let (Some(branch), Some(_), None) = (&branch, session, &base_object)
            && let Some(name) = renames::session_of(git, branch)?
        {
            base = base_ref(&name);
            let specs = [format!("{base}^{{tree}}"), format!("{base}:edt.toml")];
            [base_object, base_policy] =
                <[Option<Object>; 2]>::try_from(git.objects(&specs)?).unwrap_or_default();
        }
        let mut states =
            vec![ComparedState { label: "HEAD", changes: staged(call, head.as_ref())? }];
        if states[0].changes.is_empty() {
            return Ok(Vec::new());
        }
        let (label, file) = if base_object.is_some() {
            ("the session's base", &base_policy)
        } else {
            ("HEAD", &head_policy)
        };
        let old = Committed::of(label, file.as_ref());
        let new = Committed::of("the index", staged_policy.as_ref());
        let mut policy = policies::policy_for(call, old, new, EFFECT)?;
        // A graphical client of the user has no terminal.
        let is_users = match call.who {
            Who::User => true,
            Who::Agent(_) | Who::StartedBy(_) => false,
            Who::Unattended => base_object.is_none(),
        };
        if is_users {
            policy = policy.for_users();
        }
        if merged.is_some() {
            states.push(ComparedState {
                label: "MERGE_HEAD",
                changes: staged(call, merged.as_ref())?,
            });
        }
        let reference = SizeReference { label: "the session's base", rev: &base };
        let references = if base_object.is_some() { std::slice::from_ref(&reference) } else { &[] };
        let mut findings = changes::judge(git, &states, references, &policy, call.allow)?;
        findings.held = granted::without_approval(call, &states[0].changes, findings.held)?;
        let mut warnings = outcome(findings, &call.who)?;
        if let (Some(branch), true) = (&branch, base_object.is_some())
            && policy.warn_on_user_commit
            && call.who == Who::User
        {
            warnings.push(on_session_branch(branch));
        }
        Ok(warnings)
    }
}

/// The user may commit there, but may believe that HEAD is at another branch.
fn on_session_branch(branch: &str) -> Warning {
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch).shown();
    Warning {
        code: WarningCode::SessionBranch,
        message: format!(
            "HEAD is at {branch}, the branch of a session: this commit is yours, and lands with the \
             session. To move it to another branch, switch there and `git cherry-pick` it."
        ),
        path: None,
    }
}

/// How the index to commit differs from `commit`, or from the empty tree.
fn staged(call: &HookCall<'_>, commit: Option<&Object>) -> Result<Vec<changes::PathChange>> {
    let tree = match commit {
        Some(commit) => commit.id.clone(),
        None => call.git.empty_tree()?,
    };
    // Git's own limit on rename detection applies.
    changes::diff(&call.git, &["diff-index", "--cached", "--raw", "-z", "-M", "--no-abbrev", &tree])
}

/// The user may change what needs the user's approval, with a warning. Every other finding refuses.
fn outcome(findings: GuardFindings, who: &Who) -> Result<Vec<Warning>> {
    let GuardFindings { refused, held, mut warnings } = findings;
    let user_may_override = |one: &Finding| {
        *who == Who::User && matches!(one.code, Code::ProtectedPath | Code::ApprovalRequired)
    };
    let (overridden, refused): (Vec<Finding>, Vec<Finding>) =
        refused.into_iter().chain(held).partition(user_may_override);
    warnings.extend(overridden.into_iter().map(|one| Warning {
        code: if one.code == Code::ProtectedPath {
            WarningCode::Guard("protected_path")
        } else {
            WarningCode::NeedsUser
        },
        message: match one.code {
            Code::ProtectedPath => format!(
                "{} is protected by edt.toml; you may change it, as the user.",
                one.path.clone().unwrap_or_default()
            ),
            _ => format!("{} You may do this, as the user.", one.summary),
        },
        path: one.path,
    }));
    let flags = override_words(&refused, "--allow");
    let override_remedy = |allow: Option<&str>| match (who, allow) {
        (Who::User, _) => {
            "If this change is intended, `git commit --no-verify` skips this hook once.".to_owned()
        }
        (_, Some(_)) => {
            format!(
                "If this change is intended, make it with `edt apply … {flags}`, which records the \
                 decision; the user may run `git commit --no-verify`."
            )
        }
        (_, None) => "Unstage it with `git restore --staged`; only the user may run `git commit \
             --no-verify`."
            .to_owned(),
    };
    Refusal::check(refused.into_iter().map(|one| for_git(one, EFFECT, override_remedy)).collect())?;
    Ok(warnings)
}
