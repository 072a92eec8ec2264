//! First stage: what stands at every path the request names, and whether it is what the caller believes.

use std::collections::BTreeMap;

use super::plan::FilePlan;
use super::request::Request;
use super::words;
use crate::base::{Change, Code, Finding, Findings, RepoPath, Result};
use crate::edit::{Edit, Expect, Op};
use crate::git::{Head, InHead, Oid};
use crate::journal::IndexView;
use crate::policy::Policy;
use crate::session::look::only_in_case;
use crate::session::{Look, OnDisk, Session, World, begin};

/// A request whose paths have been looked at.
#[derive(Debug)]
pub struct Resolved<'q> {
    pub(super) request: &'q Request,
    pub(super) scene: Scene,
}

/// Where the transaction takes place.
#[derive(Debug)]
pub struct Scene {
    /// Where HEAD is.
    pub head: Head,
    /// The session: real, or the one that would be begun.
    pub session: Session,
    /// Whether it is there already.
    pub exists: bool,
    /// The tip's tree.
    pub tip_tree: Oid,
    /// HEAD's tree.
    pub head_tree: Oid,
    /// The base's tree.
    pub base_tree: Oid,
    /// What team and person allow.
    pub policy: Policy,
    /// The index, if it follows.
    pub index: Option<IndexView>,
    /// Every path, as it was found.
    pub looks: BTreeMap<RepoPath, Look>,
}

impl Scene {
    /// What the file was before it changed, at the path that it comes from.
    pub(super) fn before(&self, file: &FilePlan) -> Option<&OnDisk> {
        let source =
            file.from.as_ref().filter(|_| file.change == Change::Renamed).unwrap_or(&file.path);
        self.looks.get(source)?.disk.as_ref()
    }
}

/// Looks at everything `request` names.
///
/// # Errors
/// `REPOSITORY_BUSY`, `HASH_MISMATCH`, every path finding, `PROTECTED_PATH` for a read-only file.
pub fn resolve<'q>(world: &World, request: &'q Request) -> Result<Resolved<'q>> {
    let repo = &world.repo;
    repo.check_idle()?;
    let head = repo.head()?;
    let (session, exists) = match Session::current(repo, &head)? {
        Some(session) => {
            session.check_alone(repo)?;
            (session, true)
        }
        None => (begin::imagined(repo, &head)?, false),
    };
    let (tip_tree, base_tree) = (repo.tree_of(session.tip)?, repo.tree_of(session.base)?);
    let head_tree = head.commit.map_or(Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    let policy = world.policy(base_tree)?;
    repo.limit_files(policy.max_file_bytes);
    let follows = if exists { session.head == InHead::Yes } else { policy.switch };
    let index = if follows { Some(IndexView::read(repo)?) } else { None };
    let (mut looks, mut found) = (BTreeMap::new(), Vec::new());
    // Where the file at a path comes from, if an earlier edit of this request moves it there.
    let mut moved: BTreeMap<RepoPath, RepoPath> = BTreeMap::new();
    for edit in &request.edits {
        for path in named(edit) {
            if looks.contains_key(path) {
                continue;
            }
            match Look::at(repo, tip_tree, index.as_ref(), path) {
                Ok(look) => {
                    looks.insert(path.clone(), look);
                }
                Err(error) => found.extend(error.into_vec()),
            }
        }
        let source = moved.get(&edit.path).unwrap_or(&edit.path).clone();
        if let Some(look) = looks.get(&source) {
            found.extend(check_belief(edit, look));
        }
        if let Op::Rename { to } = &edit.op {
            moved.insert(to.clone(), source);
        }
    }
    found.extend(looks.values().filter_map(read_only));
    if repo.ignores_case() {
        let twin = |path: &RepoPath| {
            looks.keys().find(|other| *other < path && same_but_case(other, path)).cloned()
        };
        found.extend(looks.keys().filter_map(|path| Some(only_in_case(path, &twin(path)?))));
    }
    Findings::check(found)?;
    Ok(Resolved {
        request,
        scene: Scene {
            head,
            session,
            exists,
            tip_tree,
            head_tree,
            base_tree,
            policy,
            index,
            looks,
        },
    })
}

/// The paths an edit speaks of.
pub(super) fn named(edit: &Edit) -> impl Iterator<Item = &RepoPath> {
    let to = match &edit.op {
        Op::Rename { to } => Some(to),
        _ => None,
    };
    std::iter::once(&edit.path).chain(to)
}

fn same_but_case(one: &RepoPath, other: &RepoPath) -> bool {
    one.as_bytes().eq_ignore_ascii_case(other.as_bytes())
}

fn check_belief(edit: &Edit, look: &Look) -> Option<Finding> {
    let Expect::Hash(expected) = &edit.expect else { return None };
    let stands = look.disk.as_ref().map(|disk| disk.file.oid.to_string());
    if stands.as_ref().is_some_and(|stands| stands.starts_with(expected)) {
        return None;
    }
    Some(words::hash_mismatch(&edit.path, expected, stands))
}

pub(super) fn read_only(look: &Look) -> Option<Finding> {
    let mode = look.disk.as_ref()?.stat.mode & 0o7777;
    if mode & 0o222 != 0 {
        return None;
    }
    let path = &look.path;
    let message = format!(
        "{path} is read-only (mode {mode:04o}): someone does not want it changed. Nothing was changed."
    );
    let hint =
        format!("Leave it, or let a person make it writable: `chmod u+w {}`.", path.for_shell());
    Some(
        Finding::new(Code::ProtectedPath, message, hint)
            .at(path)
            .with("mode", format!("{mode:04o}")),
    )
}
