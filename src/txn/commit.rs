//! Fourth and fifth stage: the objects of the commit, drafted; then everything made true.

use super::guard::Cleared;
use super::plan::Content;
use super::report;
use crate::base::{Change as FileChanged, Durability, Outcome, RepoPath, Result, Status};
use crate::git::{Commit, Draft, FileId, Forms, InHead, Oid, Repo, TreeChange};
use crate::journal::index::{Disk, EntryMove};
use crate::journal::{Change, FileChange, IndexView, NewFile, publish};
use crate::session::begin::{self, Begin, Begun, Switching};
use crate::session::checkpoint::Why;
use crate::session::message::{self, Kind, Trailers};
use crate::session::{Checkpoints, Look, OnDisk, Session, World};

/// A transaction whose objects are drafted; no ref names them.
#[must_use = "publish it, or it never happened"]
pub struct Committed<'w, 'q> {
    world: &'w mut World,
    cleared: Cleared<'q>,
    session: Session,
    drafted: Drafted,
}

/// Drafts the commit, after a session has been begun if there was none.
///
/// # Errors
/// What beginning a session may answer; `OBJECT_MISSING`, `INTERNAL`.
pub fn commit<'w, 'q>(world: &'w mut World, mut cleared: Cleared<'q>) -> Result<Committed<'w, 'q>> {
    let mut draft = Draft::new(&world.repo);
    let begun = if cleared.scene.exists {
        None
    } else {
        Some(begin::draft(
            world,
            &mut draft,
            &Begin { name: None, switching: Switching::AsConfigured, base: None },
        )?)
    };
    let session =
        begun.as_ref().map_or_else(|| cleared.scene.session.clone(), |begun| begun.session.clone());
    let file = |file: &'_ super::plan::FilePlan| {
        Some((cleared.scene.looks.get(&file.path)?.clone(), file.after.clone()))
    };
    let recipe = Recipe {
        session: &session,
        begun,
        index: cleared.scene.index.take().filter(|_| session.head == InHead::Yes),
        tree: cleared.scene.tip_tree,
        files: cleared.files.iter().filter_map(file).collect(),
        text: cleared.request.message.clone().unwrap_or_else(|| subject(&cleared)),
        kind: Kind::Edit,
        verb: "edt apply",
        agent: cleared.request.agent.clone(),
        allowed: cleared.allowed.clone(),
        more: cleared.request.proposal.iter().map(|id| ("Edt-Proposal", id.to_string())).collect(),
    };
    let drafted = recipe.draft(&world.repo, draft)?;
    Ok(Committed { world, cleared, session, drafted })
}

/// What one commit of edt's is made of.
pub(super) struct Recipe<'s> {
    pub(super) session: &'s Session,
    /// What the session's beginning brings along, if it begins with this commit.
    pub(super) begun: Option<Begun>,
    pub(super) index: Option<IndexView>,
    /// The tree to build on.
    pub(super) tree: Oid,
    pub(super) files: Vec<(Look, Option<Content>)>,
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) verb: &'static str,
    pub(super) agent: Option<String>,
    pub(super) allowed: Vec<String>,
    /// Further trailers.
    pub(super) more: Vec<(&'static str, String)>,
}

/// A commit whose objects are drafted, with everything that makes it true.
pub(super) struct Drafted {
    pub(super) change: Change,
    pub(super) checkpoints: Checkpoints,
    pub(super) commit: Oid,
    pub(super) edit: u64,
    /// What each path holds in the commit.
    pub(super) ids: Vec<(RepoPath, Oid)>,
}

impl Recipe<'_> {
    pub(super) fn draft(self, repo: &Repo, mut draft: Draft<'_>) -> Result<Drafted> {
        let session = self.session;
        let edit = if self.begun.is_some() { 1 } else { session.edits(repo)? + 1 };
        let looks: Vec<&Look> = self.files.iter().map(|(look, _)| look).collect();
        let checkpoints =
            Checkpoints::draft(&mut draft, session, self.tree, edit - 1, &looks, Why::Foreign)?;
        let (mut changes, mut files, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        for (look, after) in self.files {
            let new = match after {
                Some(content) => {
                    let file = FileId { oid: draft.blob(content.blob())?, mode: content.mode };
                    let forms = Forms { text: content.bytes, stored: content.stored };
                    Some((file, NewFile::of(&mut draft, file, forms)?))
                }
                None => None,
            };
            let (file, new) = new.unzip();
            changes.push(TreeChange { path: look.path.clone(), file });
            moves.push(EntryMove {
                path: look.path.clone(),
                file,
                seen: look.staged,
                disk: Disk::Written,
            });
            files.push(FileChange {
                path: look.path,
                old: look.disk.as_ref().map(OnDisk::old),
                new,
            });
        }
        let (tree, folders) = draft.tree(checkpoints.tree, &changes)?;
        let (name, kind) = (session.name.clone(), self.kind);
        let trailers = Trailers {
            session: name,
            kind,
            edit,
            agent: self.agent,
            allowed: self.allowed,
            foreign: false,
        };
        let more = self.more.iter().map(|(key, value)| format!("{key}: {value}\n"));
        let message = message::compose(&self.text, &trailers) + &more.collect::<String>();
        let commit =
            draft.commit(&Commit { tree, parent: Some(checkpoints.tip), message: &message })?;
        let log = format!("{}: {}", self.verb, self.text.lines().next().unwrap_or_default());
        let (branch, create) = begin::branch(session, self.begun, commit, log);
        let index = self.index.map(|index| (index, moves));
        let change =
            Change { objects: draft.loose(), create, files, index, folders, ..Change::of(branch) };
        let ids = changes
            .into_iter()
            .filter_map(|change| Some((change.path, change.file?.oid)))
            .collect();
        Ok(Drafted { change, checkpoints, commit, edit, ids })
    }
}

impl Committed<'_, '_> {
    /// Makes it true.
    ///
    /// # Errors
    /// What [`publish`] answers; everything is then as it was.
    pub fn publish(self) -> Result<Outcome> {
        let Committed { world, cleared, session, drafted } = self;
        let Drafted { change, checkpoints, commit, edit, ids } = drafted;
        world.journal.heed(cleared.scene.policy.durability.unwrap_or(Durability::Off));
        let warnings = publish(&world.repo, &mut world.journal, change)?;
        let mut outcome = report::of(world, &cleared, Status::Applied, &ids);
        outcome.session = Some(session.report(!cleared.scene.exists));
        outcome.commit = Some(commit.to_string());
        outcome.parent = Some(session.tip.to_string());
        outcome.edit = Some(edit);
        outcome.checkpoints = checkpoints.made.iter().map(ToString::to_string).collect();
        outcome.warnings.extend(warnings);
        Ok(outcome)
    }
}

/// A subject made from the change: `edit src/calc.c (+1 -1)`.
pub(super) fn subject(cleared: &Cleared<'_>) -> String {
    let moved_away = |file: &super::plan::FilePlan| {
        file.after.is_none()
            && cleared.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let shown: Vec<_> =
        cleared.files.iter().zip(&cleared.shapes).filter(|(file, _)| !moved_away(file)).collect();
    let added: u64 = shown.iter().map(|(_, shape)| shape.added).sum();
    let removed: u64 = shown.iter().map(|(_, shape)| shape.removed).sum();
    match shown.as_slice() {
        [(one, _)] if one.change == FileChanged::Renamed => {
            let from = one.from.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("rename {from} to {} (+{added} -{removed})", one.path)
        }
        [(one, _)] => format!("{} {} (+{added} -{removed})", one.change.verb(), one.path),
        many => format!("edit {} files (+{added} -{removed})", many.len()),
    }
}
