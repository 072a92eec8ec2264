//! Lessons in refusals: edt's own memory in the scratch repository of a task.

use std::sync::Arc;

use edt_core::observe::{MemoryUse, Observer};
use edt_core::txn::Request;
use edt_git::{Oid, RepositoryView};
use edt_journal::refusals::{RefusedCall, TriedEdit};
use edt_memory::episodes::{Episodes, Memory};
use edt_memory::learn;
use edt_types::{Landing, Refusal, Result};

use super::lessons::{ShownLesson, placebo};
use super::rng::SeededRng;
use super::scratch_repo::ScratchRepo;
use super::strategy::LessonKind;

/// The memory as an observer of the calls of a task.
#[derive(Debug)]
struct RefusalLessons {
    kind: LessonKind,
    seed: u64,
}

impl Observer for RefusalLessons {
    fn refused(
        &self,
        repository: RepositoryView<'_>,
        _: MemoryUse,
        _: Option<&Request>,
        call: &RefusedCall,
        findings: Refusal,
    ) -> Refusal {
        let Some(lesson) = learn::refused(repository.repo(), call, findings.as_slice()) else {
            return findings;
        };
        let text = match self.kind {
            LessonKind::Placebo => {
                let mut rng = SeededRng::new(self.seed, &lesson.text);
                let about = findings.codes().concat();
                let lesson = ShownLesson { id: lesson.id, text: lesson.text, about };
                placebo(vec![lesson], &[], &mut rng).remove(0).text
            }
            LessonKind::Matching | LessonKind::None => lesson.text,
        };
        findings.with_lessons(vec![text])
    }

    fn followed(
        &self,
        repository: RepositoryView<'_>,
        _: MemoryUse,
        refused: &RefusedCall,
        edits: &[TriedEdit],
        landing: &Landing<'_>,
    ) -> Option<String> {
        learn::followed(repository.repo(), refused, edits, landing)
            .map(|class| class.name().to_owned())
    }

    fn undone(&self, repository: RepositoryView<'_>, from: Oid, to: Oid) {
        learn::undone(repository.repo(), from, to);
    }
}

/// Gives the repository these episodes, and lets it learn.
pub(super) fn begin(
    repo: &mut ScratchRepo,
    (kind, seed): (LessonKind, u64),
    episodes: &Episodes,
) -> Result<()> {
    if !episodes.is_empty() {
        let workspace = repo.workspace("bench")?;
        Memory::new(&workspace.repo).change(|memory| {
            *memory = episodes.clone();
            Ok(())
        })?;
    }
    repo.observe(Arc::new(RefusalLessons { kind, seed }));
    Ok(())
}

/// The episodes that the repository has now.
pub(super) fn end(repo: &ScratchRepo) -> Result<Episodes> {
    Memory::new(&repo.workspace("bench")?.repo).read()
}
