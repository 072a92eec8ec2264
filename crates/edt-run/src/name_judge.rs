//! Which names a program may make: none that other programs of this computer would execute.
//!
//! The look afterwards ([`super::planted`]) finds them, too. But Git, a prompt or an editor of the
//! user may execute them before the program ends. A command that makes a project may.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edt_command::{CommandQuery, EvaluationStep};
use edt_core::session::worktree::worktree_host::WorktreeHost;
use edt_git::Repo;
use edt_guard::policy::Policy;
use edt_io::Environment;
use edt_io::names::{NameKind, NamesBelow};
use edt_types::path::spells_git;
use edt_types::{Level, RepoPath};

use super::inventory::{ItemKind, executed_at};
use super::permit::Permitted;
use super::sandbox::asked_names::{self, AskedKind, AskedName, NameQuestions, PARTS};

/// The most names that are looked at in a moved directory. The look afterwards sees the others.
const MAX_MOVED: usize = 20_000;

/// Programs that make a project, with its Git directory and its settings, and the words that make
/// them do it; none: always. What others would execute is held afterwards.
const SCAFFOLDS: [(&str, &[&str]); 21] = [
    ("bun", &["create", "init", "x"]),
    ("bunx", &[]),
    ("cargo", &["generate", "init", "new"]),
    ("cookiecutter", &[]),
    ("copier", &["copy"]),
    ("dart", &["create"]),
    ("degit", &[]),
    ("flutter", &["create"]),
    ("gh", &["clone", "create"]),
    ("git", &["clone", "init", "submodule", "worktree"]),
    ("hg", &["clone", "init"]),
    ("jj", &["clone", "init"]),
    ("nest", &["new"]),
    ("ng", &["new"]),
    ("npm", &["create", "init"]),
    ("npx", &[]),
    ("pnpm", &["create", "dlx"]),
    ("rails", &["new"]),
    ("uv", &["init"]),
    ("uvx", &[]),
    ("yarn", &["create", "dlx"]),
];

/// Starts to answer for a program, until it has ended. `None`: it may make every name, because the
/// user approved it, or its level confines nothing.
///
/// # Errors
/// The system has no more descriptors or threads.
pub(super) fn start(
    repo: &Repo,
    policy: &Policy,
    permitted: &Permitted<'_>,
    bare: BTreeSet<Vec<u8>>,
) -> io::Result<Option<NameQuestions>> {
    if permitted.approval.is_some() || permitted.level == Level::Permissive {
        return Ok(None);
    }
    let (theirs, ours) = asked_names::pair()?;
    let root = repo.real_root().map_err(|error| io::Error::other(error.to_string()))?;
    let asking = Asking {
        program: permitted.request.program.clone(),
        args: permitted.request.args.clone(),
        env: permitted.request.env.clone(),
        dir: permitted.dir.clone(),
        level: permitted.level,
    };
    let (policy, named_paths) = (policy.clone(), policy.named_paths().to_vec());
    let answer = move || {
        let mut judge = None;
        asked_names::answer(&ours, |asked| {
            // Most programs ask nothing.
            judge = judge.take().or_else(|| NameJudge::open(&root, &policy, &bare));
            judge.as_mut().is_some_and(|judge| judge.may_make(&asking, asked))
        });
    };
    std::thread::Builder::new().name("edt-names".to_owned()).spawn(answer)?;
    Ok(Some(NameQuestions { socket: Arc::new(theirs), named: named_paths }))
}

/// What was asked for.
struct Asking {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
    level: Level,
}

struct NameJudge {
    names: NamesBelow,
    repo: Repo,
    root: PathBuf,
    policy: Policy,
    /// The Git directories without `.git` that were there before.
    bare: BTreeSet<Vec<u8>>,
    /// Whether Git ignores a directory.
    ignored: HashMap<Vec<u8>, bool>,
    /// Whether the command makes a project.
    is_scaffold: OnceCell<bool>,
}

impl NameJudge {
    fn open(root: &Path, policy: &Policy, bare: &BTreeSet<Vec<u8>>) -> Option<NameJudge> {
        Some(NameJudge {
            names: NamesBelow::open(root).ok()?,
            repo: Repo::open_worktree(Environment::Process, root).ok()?,
            root: root.to_owned(),
            policy: policy.clone(),
            bare: bare.clone(),
            ignored: HashMap::new(),
            is_scaffold: OnceCell::new(),
        })
    }

    fn may_make(&mut self, asking: &Asking, asked: &AskedName) -> bool {
        let mut all = vec![(asked.path.clone(), asked.kind.into())];
        if let (AskedKind::Directory, Some(from)) = (asked.kind, &asked.moved_from) {
            let leaves_ignored = self.is_in_ignored(from) && !self.is_in_ignored(&asked.path);
            let matters = || asked_names::matters(&self.policy, &asked.path, NameKind::Directory);
            if leaves_ignored || matters() {
                all.extend(self.moved(from, &asked.path));
            }
        }
        all.iter().all(|(path, kind)| self.may_have(path, *kind) || self.is_scaffold(asking))
    }

    /// What is in the directory `from`, at the paths that it has below `to`.
    fn moved(&self, from: &[u8], to: &[u8]) -> Vec<(Vec<u8>, NameKind)> {
        let (mut all, mut waiting) = (Vec::new(), vec![Vec::new()]);
        while let Some(below) = waiting.pop() {
            let read = self.names.read(&[from, &below[..]].concat(), |name, kind| {
                let path = [&below[..], b"/", name].concat();
                if kind == NameKind::Directory && !spells_git(name) {
                    waiting.push(path.clone());
                }
                all.push(([to, &path[..]].concat(), kind));
            });
            if read.is_err() || all.len() > MAX_MOVED {
                break;
            }
        }
        all
    }

    fn may_have(&mut self, path: &[u8], kind: NameKind) -> bool {
        if !asked_names::matters(&self.policy, path, kind) {
            return true;
        }
        let (directory, name) = split(path);
        let ignored_from = if spells_git(name) || self.completes_bare(directory, name, kind) {
            if self.policy.is_excepted(&RepoPath::from_tree(path)) {
                return true;
            }
            path.len()
        } else {
            match executed_at(&self.policy, path, kind) {
                None => return true,
                // What only a server executes can be held afterwards.
                Some(_) if self.policy.is_executed_later(&RepoPath::from_tree(path)) => {
                    return true;
                }
                Some((from, ItemKind::File | ItemKind::Directory | ItemKind::Link)) => from,
                Some(_) => path.len(),
            }
        };
        let above = &path[..ignored_from];
        let ends = memchr::memchr_iter(b'/', above);
        ends.into_iter().any(|end| self.ignores(&path[..end]))
    }

    /// Whether the directory becomes a Git directory with this name.
    fn completes_bare(&self, directory: &[u8], name: &[u8], kind: NameKind) -> bool {
        let is_part = |part: &str| part.as_bytes().eq_ignore_ascii_case(name);
        if directory.is_empty()
            || self.bare.contains(directory)
            || !PARTS.iter().any(|one| is_part(one))
        {
            return false;
        }
        let mut has = PARTS.map(is_part);
        has[0] &= kind != NameKind::Directory;
        let _ = self.names.read(directory, |name, kind| {
            for (at, part) in PARTS.iter().enumerate() {
                has[at] |= part.as_bytes().eq_ignore_ascii_case(name)
                    && (at != 0 || kind != NameKind::Directory);
            }
        });
        let [head, refs, objects, commondir] = has;
        head && (commondir || refs && objects)
    }

    fn is_in_ignored(&mut self, path: &[u8]) -> bool {
        let ends: Vec<usize> = memchr::memchr_iter(b'/', path).chain([path.len()]).collect();
        ends.into_iter().any(|end| self.ignores(&path[..end]))
    }

    fn ignores(&mut self, directory: &[u8]) -> bool {
        let known = self.ignored.entry(directory.to_vec());
        *known.or_insert_with(|| self.repo.ignores_directory(directory))
    }

    fn is_scaffold(&self, asking: &Asking) -> bool {
        *self.is_scaffold.get_or_init(|| {
            let query = CommandQuery {
                program: &asking.program,
                args: &asking.args,
                dir: &asking.dir,
                root: &self.root,
                env: &asking.env,
                level: asking.level,
            };
            let host = WorktreeHost::new(Some(&self.repo));
            self.policy.commands.evaluate(&query, &host).steps.iter().any(makes_project)
        })
    }
}

fn makes_project(step: &EvaluationStep) -> bool {
    let Some((program, args)) = step.argv.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let found = SCAFFOLDS.iter().find(|(name, _)| *name == program);
    found.is_some_and(|(_, words)| {
        words.is_empty() || args.iter().any(|arg| words.contains(&arg.as_str()))
    })
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memrchr(b'/', path);
    at.map_or((b"", path), |at| (&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_make_repositories_are_known_by_their_words() {
        let step = |line: &str| EvaluationStep {
            by: "given".into(),
            argv: line.split(' ').map(str::to_owned).collect(),
            decision: edt_command::Decision::Allow,
            rule: String::new(),
            origin: edt_command::Origin::BuiltIn,
            reason: String::new(),
        };
        for line in ["git init", "/usr/bin/git -C x clone y", "cargo new a", "npx create-vite"] {
            assert!(makes_project(&step(line)), "{line}");
        }
        for line in ["git status", "make init", "cargo build", "./clone"] {
            assert!(!makes_project(&step(line)), "{line}");
        }
    }
}
