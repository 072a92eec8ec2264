//! `pre-commit`: what is staged is judged against HEAD as `edt apply` would judge it.

use super::changes::{self, Measure, Parent, Verdict};
use super::plumbing::Object;
use super::policies::Committed;
use super::who::Who;
use super::{Call, Hook, Site, for_git, granted, policies, words};
use crate::base::{Code, Finding, Findings, Result, Warning};
use crate::session::current::{BRANCHES, base_ref};

const NOT_DONE: &str = "Nothing was committed.";

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

    fn is_fed(&self) -> bool {
        false
    }

    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>> {
        let git = &call.git;
        let branch = git.line(&["symbolic-ref", "--quiet", "HEAD"])?;
        let session = branch.as_deref().and_then(|branch| branch.strip_prefix(BRANCHES));
        // Without a session the names of its base name nothing.
        let base = session.map_or_else(|| "refs/edt/base".to_owned(), base_ref);
        let specs = [
            "HEAD",
            "HEAD:edt.toml",
            &base,
            &format!("{base}:edt.toml"),
            "MERGE_HEAD",
            ":edt.toml",
        ]
        .map(str::to_owned);
        let [head, head_policy, base_object, base_policy, merged, staged_policy] =
            <[Option<Object>; 6]>::try_from(git.objects(&specs)?).unwrap_or_default();
        let mut parents = vec![Parent { whose: "HEAD", changes: staged(call, head.as_ref())? }];
        if parents[0].changes.is_empty() {
            return Ok(Vec::new());
        }
        let (whose, file) = if base_object.is_some() {
            ("the session's base", &base_policy)
        } else {
            ("HEAD", &head_policy)
        };
        let old = Committed::of(whose, file.as_ref());
        let new = Committed::of("the index", staged_policy.as_ref());
        let policy = policies::ruling(call, old, new, NOT_DONE)?;
        if merged.is_some() {
            parents.push(Parent { whose: "MERGE_HEAD", changes: staged(call, merged.as_ref())? });
        }
        let measure = Measure { whose: "the session's base", rev: &base };
        let measures = if base_object.is_some() { std::slice::from_ref(&measure) } else { &[] };
        let mut verdict = changes::judge(git, &parents, measures, &policy, call.allow)?;
        verdict.held = granted::not_granted(git, &parents[0].changes, verdict.held)?;
        told(verdict, &call.who)
    }
}

/// What the index that is being committed holds otherwise than `commit` (the empty tree, if there is none).
fn staged(call: &Call<'_>, commit: Option<&Object>) -> Result<Vec<changes::Change>> {
    let tree = match commit {
        Some(commit) => commit.id.clone(),
        None => call.git.empty_tree()?,
    };
    // Renames are looked for among as many files as Git's own commits would.
    changes::between(
        &call.git,
        &["diff-index", "--cached", "--raw", "-z", "-M", "--no-abbrev", &tree],
    )
}

/// A person may change what needs a person; what else is found they may pass with Git's own way out.
fn told(verdict: Verdict, who: &Who) -> Result<Vec<Warning>> {
    let Verdict { refused, held, mut warnings } = verdict;
    let persons = |one: &Finding| {
        *who == Who::Person && matches!(one.code, Code::ProtectedPath | Code::ApprovalRequired)
    };
    let (by_person, refused): (Vec<Finding>, Vec<Finding>) =
        refused.into_iter().chain(held).partition(persons);
    warnings.extend(by_person.into_iter().map(|one| Warning {
        code: if one.code == Code::ProtectedPath { "protected_path" } else { "needs_a_person" },
        message: match one.code {
            Code::ProtectedPath => format!(
                "{} is protected by edt.toml; as a person you may change it.",
                one.path.clone().unwrap_or_default()
            ),
            _ => format!(
                "{} As a person you may.",
                one.message.trim_end_matches("Nothing was changed.").trim_end()
            ),
        },
        path: one.path,
    }));
    let flags = words(&refused, "--allow");
    let way_out = |allow: Option<&str>| {
        match (who, allow) {
        (Who::Person, _) => "If it is meant so, `git commit --no-verify` passes once.".to_owned(),
        (_, Some(_)) => {
            format!(
                "If it is meant so, make the change with `edt apply … {flags}`, which records the decision; a person may use `git commit --no-verify`."
            )
        }
        (_, None) => {
            "Unstage it with `git restore --staged`; only a person may pass with `git commit --no-verify`.".to_owned()
        }
    }
    };
    Findings::check(refused.into_iter().map(|one| for_git(one, NOT_DONE, way_out)).collect())?;
    Ok(warnings)
}
