//! The memory of a unit: the memory that `edt apply` uses, in a scratch repository of the unit.

use std::collections::BTreeMap;
use std::path::Path;

use super::lessons::{
    LandedFix, LessonOutcome, LessonStore, RefusedEdit, ShownLesson, TaskContext, TaskOrigin,
};
use super::scratch_repo::{NOW, ScratchRepo};
use edt_core::session::LockedWorkspace;
use edt_core::txn::Request;
use edt_memory::change::MemoryChange;
use edt_memory::keywords::keywords;
use edt_memory::observe::{self, Attempt};
use edt_memory::{
    Episode, FailedAttempt, LessonQuery, Memory, UseOutcome, exchange, lesson, retrieve, scrub,
};
use edt_types::{Landing, Result};

#[derive(Debug)]
pub struct EpisodeStore {
    workspace: LockedWorkspace,
    /// The tasks of this run on which an episode was seen. Imported episodes have no entry.
    origins: BTreeMap<String, Vec<TaskOrigin>>,
}

impl EpisodeStore {
    /// A memory in `place` that begins with the episodes of `lines`, in the format of `edt memory
    /// export`.
    pub fn create(place: &Path, lines: Option<&str>) -> Result<EpisodeStore> {
        let scratch = ScratchRepo::create(place, &edt_io::directory::FileTree::new(), None)?;
        let mut store =
            EpisodeStore { workspace: scratch.workspace("bench")?, origins: BTreeMap::new() };
        if let Some(lines) = lines {
            // Without merging: the imported use counts must stay.
            let overwrite = |change| {
                if let MemoryChange::Merged(episode, _) = change {
                    MemoryChange::Replaced(episode)
                } else {
                    change
                }
            };
            let changes: Vec<MemoryChange> =
                exchange::from_lines(lines.as_bytes())?.into_iter().map(overwrite).collect();
            store.record("begin", &changes)?;
        }
        Ok(store)
    }

    /// The episodes in the format of `edt memory export`.
    pub fn lines(&self) -> Result<String> {
        Ok(exchange::lines(&self.episodes()?))
    }

    fn episodes(&self) -> Result<Vec<Episode>> {
        let memory = Memory::new(&self.workspace.repo, None);
        memory.tip()?.map_or_else(|| Ok(Vec::new()), |tip| Ok(memory.all(tip)?.0))
    }

    fn record(&mut self, subject: &str, changes: &[MemoryChange]) -> Result<()> {
        let LockedWorkspace { repo, journal, .. } = &mut self.workspace;
        Memory::new(repo, None).lock()?.record(journal, subject, changes, None).map(drop)
    }

    fn is_allowed(&self, id: &str, allowed: &dyn Fn(&TaskOrigin) -> bool) -> bool {
        self.origins.get(id).is_none_or(|origins| origins.iter().all(allowed))
    }

    fn lessons_for(
        &self,
        query: &LessonQuery,
        similarity: retrieve::MatchBy,
        allowed: &dyn Fn(&TaskOrigin) -> bool,
    ) -> Result<Vec<ShownLesson>> {
        let memory = Memory::new(&self.workspace.repo, None);
        let is_allowed_episode = |episode: &Episode| self.is_allowed(&episode.id, allowed);
        let episodes =
            retrieve::matching_episodes(&memory, query, NOW, &[], similarity, &is_allowed_episode)?;
        Ok(episodes.into_iter().map(|(episode, lesson)| lesson_of(&episode, lesson.text)).collect())
    }
}

fn lesson_of(episode: &Episode, text: String) -> ShownLesson {
    let language = episode.language.clone().unwrap_or_default();
    ShownLesson { id: episode.id.clone(), text, code: episode.code.clone(), language }
}

fn attempt(request: &Request) -> Attempt<'_> {
    Attempt {
        edits: &request.edits,
        is_patch: request.patch.is_some(),
        agent: request.agent.as_deref(),
    }
}

fn episode(failure: &RefusedEdit) -> Episode {
    let request = Request::from_json(failure.request.to_string().as_bytes());
    let parsed = request.as_ref().ok().and_then(|request| request.with_parsed_patch().ok());
    if let Some(request) = parsed {
        return observe::episode_of(&attempt(&request), &failure.finding, None, NOW);
    }
    // The request is not valid: the episode quotes it as it was sent.
    let tried = FailedAttempt {
        mode: Some(failure.mode.clone()).filter(|mode| mode != "patch"),
        format: Some(if failure.mode == "patch" { "patch" } else { "edit" }.to_owned()),
        path: Some(failure.path.clone()),
        fragment: failure.request.to_string(),
        ..FailedAttempt::default()
    };
    let language = Some(failure.language.as_str()).filter(|language| !language.is_empty());
    Episode::new(failure.finding.code.name(), language, tried, NOW)
}

impl LessonStore for EpisodeStore {
    fn priors(
        &self,
        context: &TaskContext,
        allowed: &dyn Fn(&TaskOrigin) -> bool,
    ) -> Result<Vec<ShownLesson>> {
        let languages = context.languages.iter().map(String::as_str);
        let words = keywords(languages, &scrub::scrub(&context.instruction, 1000));
        let mut out: Vec<ShownLesson> = Vec::new();
        for language in &context.languages {
            let query = LessonQuery {
                code: String::new(),
                language: Some(language.clone()),
                keywords: words.clone(),
            };
            out.extend(self.lessons_for(&query, retrieve::MatchBy::Language, allowed)?);
        }
        out.truncate(retrieve::MAX_LESSONS);
        Ok(out)
    }

    fn for_refusal(
        &self,
        failure: &RefusedEdit,
        allowed: &dyn Fn(&TaskOrigin) -> bool,
    ) -> Result<Vec<ShownLesson>> {
        self.lessons_for(
            &LessonQuery::from(&episode(failure)),
            retrieve::MatchBy::Keywords,
            allowed,
        )
    }

    fn all(&self, allowed: &dyn Fn(&TaskOrigin) -> bool) -> Result<Vec<ShownLesson>> {
        let allowed_episodes =
            self.episodes()?.into_iter().filter(|episode| self.is_allowed(&episode.id, allowed));
        Ok(allowed_episodes
            .filter_map(|episode| lesson::text(&episode).map(|text| lesson_of(&episode, text)))
            .collect())
    }

    fn record_fix(
        &mut self,
        origin: &TaskOrigin,
        failure: &RefusedEdit,
        fix: &LandedFix,
    ) -> Result<()> {
        let request = Request::from_json(fix.request.to_string().as_bytes());
        let request = request.as_ref().ok().and_then(|request| request.with_parsed_patch().ok());
        let landing = Landing {
            session: "bench",
            commit: &fix.commit,
            paths: vec![(&failure.path, None)],
            overrode: fix
                .overrode
                .iter()
                .map(|guard| (guard.as_str(), failure.path.as_str()))
                .collect(),
        };
        let attempt = request.as_deref().map(attempt);
        let fix = observe::fix_of(attempt.as_ref(), &landing, &failure.path, NOW);
        let episode = episode(failure);
        let id = episode.id.clone();
        let origins = self.origins.entry(id.clone()).or_default();
        if !origins.contains(origin) {
            origins.push(origin.clone());
        }
        let fixed = fix.map(|fix| MemoryChange::Fixed(id, Box::new(fix)));
        let changes: Vec<MemoryChange> =
            std::iter::once(MemoryChange::Failed(Box::new(episode))).chain(fixed).collect();
        self.record("learned", &changes)
    }

    fn record_outcome(&mut self, ids: &[String], effect: LessonOutcome) -> Result<()> {
        let outcome = match effect {
            LessonOutcome::Helped => UseOutcome::Helped,
            LessonOutcome::NotHelped => UseOutcome::NotHelped,
            LessonOutcome::Worse => UseOutcome::Worse,
        };
        let changes: Vec<MemoryChange> =
            ids.iter().map(|id| MemoryChange::Used(id.clone(), outcome, NOW)).collect();
        self.record("used", &changes)
    }

    fn count(&self) -> Result<usize> {
        Ok(self.episodes()?.len())
    }

    fn export(&self) -> Result<String> {
        self.lines()
    }
}
