//! Lessons: the memory as an observer of calls.

use edt_core::observe::{MemoryUse, Observer};
use edt_core::txn::Request;
use edt_git::{Oid, RepositoryView};
use edt_journal::refusals::{RefusedCall, TriedEdit};
use edt_memory::{Class, learn};
use edt_types::{Landing, Refusal};

/// Attaches the memory to a workspace.
#[derive(Debug)]
pub(crate) struct Lessons;

impl Observer for Lessons {
    fn refused(
        &self,
        repository: RepositoryView<'_>,
        memory: MemoryUse,
        _: Option<&Request>,
        call: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        if memory == MemoryUse::Off {
            return findings;
        }
        match learn::refused(repository.repo(), call, findings.as_slice()) {
            Some(lesson) => findings.with_lessons(vec![lesson.text]),
            None => findings,
        }
    }

    fn followed(
        &self,
        repository: RepositoryView<'_>,
        memory: MemoryUse,
        refused: &RefusedCall,
        edits: &[TriedEdit],
        landing: &Landing<'_>,
    ) -> Option<String> {
        if memory == MemoryUse::Off {
            return None;
        }
        let class = learn::followed(repository.repo(), refused, edits, landing);
        class.map(Class::name).map(str::to_owned)
    }

    fn undone(&self, repository: RepositoryView<'_>, from: Oid, to: Oid) {
        learn::undone(repository.repo(), from, to);
    }
}
