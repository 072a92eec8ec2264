//! The memory of a unit: the same that `edt apply` keeps, in a repository of the unit's own.

use std::collections::BTreeMap;
use std::path::Path;

use super::ground::{Ground, NOW};
use super::memory::{About, Effect, Failure, Fix, Lesson, Lessons, Origin};
use crate::base::Result;
use crate::memory::change::Change;
use crate::memory::words::keywords;
use crate::memory::{Episode, Memory, Outcome, Query, Tried, exchange, lesson, retrieve, scrub};
use crate::session::World;
use crate::txn::Request;
use crate::txn::remember::Landing;
use crate::txn::tried;

/// Episodes in a scratch repository.
#[derive(Debug)]
pub struct Kept {
    world: World,
    /// On which tasks of this run an episode was seen. One that was brought along was seen on none.
    origins: BTreeMap<String, Vec<Origin>>,
}

impl Kept {
    /// A memory below `place` that begins with the episodes of `lines`, as `edt memory export` writes them.
    ///
    /// # Errors
    /// `IO_ERROR`; `BAD_REQUEST` if a line is no episode.
    pub fn begin(place: &Path, lines: Option<&str>) -> Result<Kept> {
        let ground = Ground::plant(place, &crate::io::folder::Files::new(), None)?;
        let mut kept = Kept { world: ground.world("bench")?, origins: BTreeMap::new() };
        if let Some(lines) = lines {
            // As they are: how they served is what is to go on.
            let exactly = |change| {
                if let Change::Merged(episode, _) = change { Change::Put(episode) } else { change }
            };
            let changes: Vec<Change> =
                exchange::from_lines(lines.as_bytes())?.into_iter().map(exactly).collect();
            kept.record("begin", &changes)?;
        }
        Ok(kept)
    }

    /// The episodes, as `edt memory export` writes them.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn lines(&self) -> Result<String> {
        Ok(exchange::lines(&self.everything()?))
    }

    fn everything(&self) -> Result<Vec<Episode>> {
        let memory = Memory::of(&self.world.repo, None);
        memory.tip()?.map_or_else(|| Ok(Vec::new()), |tip| Ok(memory.all(tip)?.0))
    }

    fn record(&mut self, subject: &str, changes: &[Change]) -> Result<()> {
        let World { repo, journal, .. } = &mut self.world;
        Memory::of(repo, None).lock()?.record(journal, subject, changes, None).map(drop)
    }

    fn may(&self, id: &str, may: &dyn Fn(&Origin) -> bool) -> bool {
        self.origins.get(id).is_none_or(|origins| origins.iter().all(may))
    }

    /// The lessons for `query`; `alone` for those of a refusal, which must be alike.
    fn found(
        &self,
        query: &Query,
        alike: retrieve::Alike,
        may: &dyn Fn(&Origin) -> bool,
    ) -> Result<Vec<Lesson>> {
        let memory = Memory::of(&self.world.repo, None);
        let wanted = |episode: &Episode| self.may(&episode.id, may);
        let told = retrieve::chosen(&memory, query, NOW, &[], alike, &wanted)?;
        Ok(told.into_iter().map(|(episode, told)| of(&episode, told.text)).collect())
    }
}

fn of(episode: &Episode, text: String) -> Lesson {
    let language = episode.language.clone().unwrap_or_default();
    Lesson { id: episode.id.clone(), text, code: episode.code.clone(), language }
}

/// What was refused, as an episode.
fn episode(failure: &Failure) -> Episode {
    let request = Request::from_json(failure.request.to_string().as_bytes());
    let understood = request.as_ref().ok().and_then(|request| request.understood().ok());
    if let Some(request) = understood {
        return tried::episode_of(&request, &failure.finding, None, NOW);
    }
    // Not a request that could be tried: what was sent is all there is to say of it.
    let tried = Tried {
        mode: Some(failure.mode.clone()).filter(|mode| mode != "patch"),
        format: Some(if failure.mode == "patch" { "patch" } else { "edit" }.to_owned()),
        path: Some(failure.path.clone()),
        fragment: failure.request.to_string(),
        ..Tried::default()
    };
    let language = Some(failure.language.as_str()).filter(|language| !language.is_empty());
    Episode::new(failure.finding.code.name(), language, tried, NOW)
}

impl Lessons for Kept {
    fn priors(&self, about: &About, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>> {
        let kind = about.languages.iter().map(String::as_str);
        let words = keywords(kind, &scrub::scrub(&about.instruction, 1000));
        let mut out: Vec<Lesson> = Vec::new();
        for language in &about.languages {
            let query = Query {
                code: String::new(),
                language: Some(language.clone()),
                keywords: words.clone(),
            };
            out.extend(self.found(&query, retrieve::Alike::InLanguage, may)?);
        }
        out.truncate(retrieve::MOST);
        Ok(out)
    }

    fn in_refusal(&self, failure: &Failure, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>> {
        self.found(&Query::from(&episode(failure)), retrieve::Alike::InWords, may)
    }

    fn all(&self, may: &dyn Fn(&Origin) -> bool) -> Result<Vec<Lesson>> {
        let taught = self.everything()?.into_iter().filter(|episode| self.may(&episode.id, may));
        Ok(taught
            .filter_map(|episode| lesson::text(&episode).map(|text| of(&episode, text)))
            .collect())
    }

    fn learned(&mut self, on: &Origin, failure: &Failure, fix: &Fix) -> Result<()> {
        let request = Request::from_json(fix.request.to_string().as_bytes());
        let request = request.as_ref().ok().and_then(|request| request.understood().ok());
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
        let fix = tried::fix_of(request.as_deref(), &landing, &failure.path, NOW);
        let episode = episode(failure);
        let id = episode.id.clone();
        let origins = self.origins.entry(id.clone()).or_default();
        if !origins.contains(on) {
            origins.push(on.clone());
        }
        let fixed = fix.map(|fix| Change::Fixed(id, Box::new(fix)));
        let changes: Vec<Change> =
            std::iter::once(Change::Failed(Box::new(episode))).chain(fixed).collect();
        self.record("learned", &changes)
    }

    fn became(&mut self, ids: &[String], effect: Effect) -> Result<()> {
        let outcome = match effect {
            Effect::Helped => Outcome::Helped,
            Effect::NotHelped => Outcome::NotHelped,
            Effect::Worse => Outcome::Worse,
        };
        let changes: Vec<Change> =
            ids.iter().map(|id| Change::Used(id.clone(), outcome, NOW)).collect();
        self.record("used", &changes)
    }

    fn count(&self) -> Result<usize> {
        Ok(self.everything()?.len())
    }

    fn export(&self) -> Result<String> {
        self.lines()
    }
}
