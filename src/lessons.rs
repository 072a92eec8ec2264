//! Lessons: the memory as an observer of calls.

use edt_core::observe::Observer;
use edt_core::txn::Request;
use edt_git::{Oid, Repo};
use edt_guard::policy::Policy;
use edt_journal::refusals::{RefusedCall, TriedEdit};
use edt_memory::{Class, learn};
use edt_types::{Landing, Refusal};

/// Attaches the memory to a workspace.
#[derive(Debug)]
pub(crate) struct Lessons;

/// Whether the policy has the memory on; not if it cannot be read.
fn is_on(policy: Option<&Policy>) -> bool {
    policy.is_some_and(|policy| policy.memory)
}

impl Observer for Lessons {
    fn refused(
        &self,
        repo: &Repo,
        policy: Option<&Policy>,
        _: Option<&Request>,
        call: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        if !is_on(policy) {
            return findings;
        }
        match learn::refused(repo, call, findings.as_slice()) {
            Some(lesson) => findings.with_lessons(vec![lesson.text]),
            None => findings,
        }
    }

    fn followed(
        &self,
        repo: &Repo,
        policy: Option<&Policy>,
        refused: &RefusedCall,
        edits: &[TriedEdit],
        landing: &Landing<'_>,
    ) -> Option<String> {
        let class = is_on(policy).then(|| learn::followed(repo, refused, edits, landing));
        class.flatten().map(Class::name).map(str::to_owned)
    }

    fn undone(&self, repo: &Repo, from: Oid, to: Oid) {
        learn::undone(repo, from, to);
    }
}
