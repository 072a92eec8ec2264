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

/// What a command makes that nothing else may. Others would execute it, so it is held afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scaffold {
    Nothing,
    /// A Git directory, and `.gitmodules`.
    Git,
    /// A project, with its Git directory and its settings.
    Project,
}

/// Programs with the words that make them a scaffold (none: any) and what they make then.
const SCAFFOLDS: [(&str, &[&str], Scaffold); 22] = [
    ("bun", &["create", "init"], Scaffold::Project),
    ("cargo", &["generate", "init", "new"], Scaffold::Project),
    ("cookiecutter", &[], Scaffold::Project),
    ("copier", &["copy"], Scaffold::Project),
    ("dart", &["create"], Scaffold::Project),
    ("degit", &[], Scaffold::Project),
    ("flutter", &["create"], Scaffold::Project),
    ("gh", &["repo clone", "repo create"], Scaffold::Project),
    ("git", &["clone"], Scaffold::Project),
    ("git", &["init", "submodule", "worktree"], Scaffold::Git),
    ("hg", &["clone", "init"], Scaffold::Project),
    ("jj", &["git clone", "git init"], Scaffold::Project),
    ("nest", &["new"], Scaffold::Project),
    ("ng", &["new"], Scaffold::Project),
    ("npm", &["create", "init"], Scaffold::Project),
    ("nuxi", &["init"], Scaffold::Project),
    ("pnpm", &["create"], Scaffold::Project),
    ("rails", &["new"], Scaffold::Project),
    ("sv", &["create"], Scaffold::Project),
    ("tiged", &[], Scaffold::Project),
    ("uv", &["init"], Scaffold::Project),
    ("yarn", &["create"], Scaffold::Project),
];

/// Programs that run a package, with the word before its name.
const RUNNERS: [(&str, &[&str]); 7] = [
    ("bun", &["x"]),
    ("bunx", &[]),
    ("npm", &["exec"]),
    ("npx", &[]),
    ("pnpm", &["dlx"]),
    ("uvx", &[]),
    ("yarn", &["dlx"]),
];

/// Options that take the next argument. The value of another one counts as a word.
const WITH_VALUE: [&str; 6] = ["-C", "--cwd", "--dir", "--directory", "--prefix", "--git-dir"];

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
    /// What the command makes.
    scaffold: OnceCell<Scaffold>,
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
            scaffold: OnceCell::new(),
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
        all.iter()
            .all(|(path, kind)| self.may_have(path, *kind) || self.is_made(asking, path, *kind))
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

    /// Whether the command is there to make this name.
    fn is_made(&self, asking: &Asking, path: &[u8], kind: NameKind) -> bool {
        let (directory, name) = split(path);
        match self.scaffold(asking) {
            Scaffold::Nothing => false,
            Scaffold::Git => {
                kind != NameKind::Link
                    && (spells_git(name)
                        || name == b".gitmodules"
                        || self.completes_bare(directory, name, kind))
            }
            Scaffold::Project => true,
        }
    }

    fn scaffold(&self, asking: &Asking) -> Scaffold {
        *self.scaffold.get_or_init(|| {
            let query = CommandQuery {
                program: &asking.program,
                args: &asking.args,
                dir: &asking.dir,
                root: &self.root,
                env: &asking.env,
                level: asking.level,
            };
            let host = WorktreeHost::new(Some(&self.repo));
            scaffold_of(&self.policy.commands.evaluate(&query, &host).steps)
        })
    }
}

/// What the steps of a command make together. Beside other programs, a scaffold makes Git
/// directories alone: nothing says which of them makes a name.
fn scaffold_of(steps: &[EvaluationStep]) -> Scaffold {
    // The commands that one step runs have the same origin.
    let origins: BTreeSet<&str> = steps.iter().map(|step| step.by.as_str()).collect();
    let most = if origins.len() == steps.len() { Scaffold::Project } else { Scaffold::Git };
    let all = steps.iter().map(|step| of_command(&step.argv).min(most));
    all.max().unwrap_or(Scaffold::Nothing)
}

fn of_command(argv: &[String]) -> Scaffold {
    let Some((program, args)) = argv.split_first() else { return Scaffold::Nothing };
    // A file of the project may have any name.
    if program.contains('/') && !program.starts_with('/') {
        return Scaffold::Nothing;
    }
    let program = program.rsplit('/').next().unwrap_or(program);
    let (mut words, mut args) = (Vec::new(), args.iter());
    while let Some(arg) = args.next() {
        if WITH_VALUE.contains(&arg.as_str()) || program == "git" && arg == "-c" {
            args.next();
        } else if !arg.starts_with(['-', '+']) {
            words.push(arg.as_str());
        }
    }
    of_words(program, &words)
}

/// What a program makes with these arguments, without options.
fn of_words(program: &str, words: &[&str]) -> Scaffold {
    let mut runners = RUNNERS.iter().filter(|(name, _)| *name == program);
    if let Some(rest) = runners.find_map(|(_, before)| words.strip_prefix(*before)) {
        return rest.split_first().map_or(Scaffold::Nothing, |(name, rest)| of_package(name, rest));
    }
    let begins = |phrase: &&str| {
        let mut words = words.iter().copied();
        phrase.split(' ').all(|word| words.next() == Some(word))
    };
    let known = SCAFFOLDS.iter().filter(|(name, phrases, _)| {
        *name == program && (phrases.is_empty() || phrases.iter().any(begins))
    });
    known.map(|(.., scaffold)| *scaffold).max().unwrap_or(Scaffold::Nothing)
}

/// What a package of a registry makes: one named `create` or `create-…`, or a program of the list.
fn of_package(package: &str, words: &[&str]) -> Scaffold {
    let version = package.rfind('@').filter(|at| *at > 0);
    let name = version.map_or(package, |at| &package[..at]);
    let own = match name.strip_prefix('@').and_then(|scoped| scoped.split_once('/')) {
        Some((_, own)) => own,
        None => name,
    };
    if own.contains(['/', ':']) || name.starts_with('.') {
        return Scaffold::Nothing;
    }
    if own == "create" || own.starts_with("create-") {
        return Scaffold::Project;
    }
    of_words(name, words)
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memrchr(b'/', path);
    at.map_or((b"", path), |at| (&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(by: &str, line: &str) -> EvaluationStep {
        EvaluationStep {
            by: by.into(),
            argv: line.split(' ').map(str::to_owned).collect(),
            decision: edt_command::Decision::Allow,
            rule: String::new(),
            origin: edt_command::Origin::BuiltIn,
            reason: String::new(),
        }
    }

    #[test]
    fn scaffolds_are_known_by_their_first_words() {
        let alone = |line: &str| scaffold_of(&[step("given", line)]);
        for line in [
            "/usr/bin/git -C x -c a=b clone y",
            "cargo +nightly new a",
            "npx --yes create-vite@latest app",
            "npx @sveltejs/create",
            "npx sv create app",
            "pnpm dlx degit a b",
            "uvx cookiecutter x",
            "npm create vite@latest",
            "gh repo clone x",
        ] {
            assert_eq!(alone(line), Scaffold::Project, "{line}");
        }
        for line in ["git init", "git submodule add x", "git --no-pager worktree add x"] {
            assert_eq!(alone(line), Scaffold::Git, "{line}");
        }
        for line in [
            "git status",
            "git log init",
            "make init",
            "npm run build init",
            "npm exec eslint create",
            "npx eslint .",
            "npx ./create-x",
            "npx file:./create-x",
            "./npm create x",
            "cargo build new",
            "gh pr create",
        ] {
            assert_eq!(alone(line), Scaffold::Nothing, "{line}");
        }
    }

    #[test]
    fn beside_other_programs_a_scaffold_makes_git_directories_alone() {
        let of = |lines: &[(&str, &str)]| {
            let steps: Vec<_> = lines.iter().map(|(by, line)| step(by, line)).collect();
            scaffold_of(&steps)
        };
        let shell = ("given", "sh -c x");
        assert_eq!(of(&[shell, ("sh -c", "npm create x")]), Scaffold::Project);
        for other in ["./p.sh", "cd a"] {
            let lines = [shell, ("sh -c", "npm create x"), ("sh -c", other)];
            assert_eq!(of(&lines), Scaffold::Git, "{other}");
        }
        let lines = [shell, ("sh -c", "git submodule status"), ("sh -c", "./p.sh")];
        assert_eq!(of(&lines), Scaffold::Git);
    }
}
