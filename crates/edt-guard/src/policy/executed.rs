//! Which paths wait for the user because of what other programs execute: by their names
//! ([`crate::executed`]), by settings of Git, and through links.
//!
//! Such a change runs later with the user's rights, without a question. The paths are protected in
//! every repository; only the user's own `edt.toml` excepts some (`[[unprotect]]`).

use std::cell::LazyCell;
use std::path::Path;

use super::file::Policy;
use super::globs::Globs;
use super::named::NamedPath;
use crate::executed::{self, Executor, NameJudgement, When};
use edt_git::WorktreeLink;
use edt_types::RepoPath;

/// Why only the user may change a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtectedBy {
    /// `[[protect]]` lists it.
    Policy,
    /// A program executes the file, or what it names.
    Program(String),
    /// A hidden name that is not known to be harmless.
    HiddenName,
    /// A link with such a name leads here.
    Link(RepoPath),
}

impl Policy {
    /// The same policy in the repository with this common directory, in all of its worktrees.
    #[must_use]
    pub fn in_repository(mut self, common_dir: &Path) -> Policy {
        let own = LazyCell::new(|| edt_io::fs::real_path(common_dir));
        self.unprotected.retain_mut(|(repository, _)| {
            repository.take().is_none_or(|one| edt_git::common_dir_at(&one).as_ref() == Some(&own))
        });
        self
    }

    /// Whether the user excepted any files that other programs execute.
    #[must_use]
    pub fn has_exceptions(&self) -> bool {
        !self.unprotected.is_empty()
    }

    /// The same policy where Git executes something from these paths of the worktree, relative to
    /// its root: a directory of hooks, included configuration, programs.
    #[must_use]
    pub fn with_configured(mut self, paths: Vec<String>) -> Policy {
        let named = paths.into_iter().map(|path| NamedPath { path, program: "Git".to_owned() });
        self.paths.named.extend(named);
        self
    }

    /// The same policy where programs execute these paths.
    #[must_use]
    pub fn with_named(mut self, paths: Vec<NamedPath>) -> Policy {
        self.paths.named.extend(paths);
        self
    }

    /// The same policy in a worktree with these links: what the name of a link says of its file
    /// applies to its target. What Git ignores does not count, as for files: a hidden name of which
    /// only that is known, and a name of the table below an ignored directory.
    #[must_use]
    pub fn with_links(mut self, links: Vec<WorktreeLink>) -> Policy {
        for one in links {
            match executed::executor_through(&one.link) {
                Some((from, executor)) if one.ignored.is_none_or(|length| from <= length) => self
                    .paths
                    .named
                    .push(NamedPath { path: one.target, program: executor.program.to_owned() }),
                None if one.ignored.is_none()
                    && executed::judge(&one.link) != NameJudgement::Free =>
                {
                    self.paths.links.push(one);
                }
                Some(_) | None => {}
            }
        }
        self
    }

    /// The paths that programs execute because of settings and links.
    #[must_use]
    pub fn named_paths(&self) -> &[NamedPath] {
        &self.paths.named
    }

    /// The same policy for what the user does: files that other programs execute are the user's to
    /// change.
    #[must_use]
    pub fn for_users(mut self) -> Policy {
        self.is_for_users = true;
        self
    }

    /// Why only the user may change `path`; `None` if others may.
    #[must_use]
    pub fn protected_by(&self, path: &RepoPath) -> Option<ProtectedBy> {
        if self.is_listed(path) {
            return Some(ProtectedBy::Policy);
        }
        self.asks(path).filter(|_| !self.is_excepted(path))
    }

    /// Why the name of `path`, a setting or a link makes it ask.
    fn asks(&self, path: &RepoPath) -> Option<ProtectedBy> {
        if let NameJudgement::Asks(reason) = executed::judge(path) {
            let program = |one: &Executor| ProtectedBy::Program(one.program.to_owned());
            return Some(reason.executor.map_or(ProtectedBy::HiddenName, program));
        }
        let named = self.paths.named.iter().find(|one| is_at_or_below(path, &one.path));
        let link = || self.paths.links.iter().find(|one| is_at_or_below(path, &one.target));
        named
            .map(|one| ProtectedBy::Program(one.program.clone()))
            .or_else(|| link().map(|one| ProtectedBy::Link(one.link.clone())))
    }

    /// Whether a program of the table executes `path`, or what a setting or a link names, and the
    /// user did not except it.
    fn is_executed(&self, path: &RepoPath) -> bool {
        executed::judge(path).reason().is_some_and(|reason| reason.executor.is_some())
            || self.paths.named.iter().any(|one| is_at_or_below(path, &one.path))
    }

    /// Whether `path` may change although other programs execute it.
    #[must_use]
    pub fn is_excepted(&self, path: &RepoPath) -> bool {
        self.excepts(|globs| globs.is_match(&path.text()))
    }

    /// Where in `path` the name of the table begins that makes other programs execute the file;
    /// `None` if none does, or the user excepted the path.
    #[must_use]
    pub fn executed_from(&self, path: &RepoPath) -> Option<usize> {
        if !self.is_executed(path) || self.is_excepted(path) {
            return None;
        }
        let reason = executed::judge(path).reason().filter(|reason| reason.executor.is_some());
        Some(reason.map_or(0, |reason| reason.from))
    }

    /// Whether what is at `path` is executed only later, elsewhere.
    #[must_use]
    pub fn is_executed_later(&self, path: &RepoPath) -> bool {
        let reason = executed::judge(path).reason();
        let executor = reason.and_then(|reason| reason.executor);
        let executor = executor.or_else(|| executed::program_of_directory(path));
        executor.is_some_and(|one| one.when == When::Later)
            && !self.paths.named.iter().any(|one| is_at_or_below(path, &one.path))
    }

    /// Whether a name needs a closer look: some path that is executed has a component with this
    /// name.
    #[must_use]
    pub fn knows_name(&self, name: &[u8]) -> bool {
        let has = |one: &NamedPath| one.path.split('/').any(|part| part.as_bytes() == name);
        executed::is_component(name) || self.paths.named.iter().any(has)
    }

    /// Whether other programs execute every file in the directory `path`, and the user excepted
    /// none.
    #[must_use]
    pub fn executes_directory(&self, path: &RepoPath) -> bool {
        let is_named = || self.paths.named.iter().any(|one| one.path.as_bytes() == path.as_bytes());
        (executed::program_of_directory(path).is_some() || is_named()) && !self.excepts_below(path)
    }

    /// Where in `path` a name begins that a link there can lead to, or whose target asks.
    #[must_use]
    pub fn executed_through(&self, path: &RepoPath) -> Option<usize> {
        let whole = path.as_bytes();
        let leads = |one: &NamedPath| {
            let rest = one.path.as_bytes().strip_prefix(whole);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let named = || self.paths.named.iter().any(leads).then_some(0);
        let Some(from) = executed::leads_to(path).or_else(named) else {
            return self.executed_from(path);
        };
        (!self.is_excepted(path) && !self.excepts_below(path)).then_some(from)
    }

    /// Whether the user excepted anything in the directory `path`.
    fn excepts_below(&self, path: &RepoPath) -> bool {
        self.excepts(|globs| globs.may_match_below(&path.text()))
    }

    fn excepts(&self, matches: impl Fn(&Globs) -> bool) -> bool {
        let here = self.unprotected.iter().filter(|(repository, _)| repository.is_none());
        self.is_for_users || here.map(|(_, globs)| globs).any(matches)
    }
}

/// Whether `path` is `directory`, or in it.
fn is_at_or_below(path: &RepoPath, directory: &str) -> bool {
    let rest = path.as_bytes().strip_prefix(directory.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> RepoPath {
        RepoPath::parse(path.as_bytes()).unwrap()
    }

    fn policy() -> Policy {
        Policy::of(None, None).unwrap()
    }

    #[test]
    fn a_name_begins_where_the_table_begins() {
        let policy = policy().with_configured(vec!["tools/hooks".to_owned()]);
        let from = |name: &str| policy.executed_from(&path(name));
        assert_eq!(from(".vscode/tasks.json"), Some(0));
        assert_eq!(from("a/b/.vscode/tasks.json"), Some(4));
        assert_eq!((from("a/.idea/b/.envrc"), from("tools/hooks/x")), (Some(2), Some(0)));
        assert_eq!((from("a/tasks.json"), from("sub/edt.toml")), (None, None));
        // Of a hidden name only that is known.
        assert_eq!(from("a/.unknown"), None);
        let through = |name: &str| policy.executed_through(&path(name));
        assert_eq!(
            (through("a/.vscode"), through(".config"), through("x/.idea")),
            (Some(2), Some(0), Some(2))
        );
        assert_eq!(
            (through("tools"), through("vscode"), through("a/tools")),
            (Some(0), None, None)
        );
        assert_eq!((through("a/.unknown"), through(".gitignore")), (Some(2), None));
        assert!(
            policy.executes_directory(&path("a/.idea"))
                && policy.executes_directory(&path("tools/hooks"))
        );
        assert!(!policy.executes_directory(&path(".vscode")));
        for (name, later) in [
            (".github/workflows", true),
            ("a/.gitlab-ci.yml", true),
            (".husky", false),
            (".vscode/tasks.json", false),
            (".unknown", false),
        ] {
            assert_eq!(policy.is_executed_later(&path(name)), later, "{name}");
        }
        for name in [".VSCode", "TASKS.json", "jenkinsfile", ".github", "edt.toml", "hooks"] {
            assert!(policy.knows_name(name.as_bytes()), "{name}");
        }
        assert!(!policy.knows_name(b"main.rs") && !policy.knows_name(&[b'a'; 40]));
    }

    #[test]
    fn the_target_of_a_link_asks_as_its_name_does() {
        let link = |link: &str, target: &str| WorktreeLink {
            link: path(link),
            target: target.to_owned(),
            ignored: None,
        };
        let links = vec![
            link(".vscode", "tools/editor"),
            link("app/.eslintrc.json", "config/eslint.json"),
            link(".gitignore", "config/ignored"),
            link("current", "releases/1"),
            // What Git ignores.
            WorktreeLink { ignored: Some(6), ..link(".cache/src", "src") },
            WorktreeLink { ignored: Some(6), ..link(".cache/x/.idea", "idea") },
            WorktreeLink { ignored: Some(4), ..link(".own", "own") },
            WorktreeLink { ignored: Some(5), ..link(".idea/x", "lib") },
        ];
        let policy = policy().with_links(links);
        let by = |name: &str| policy.protected_by(&path(name));
        assert_eq!(
            by("tools/editor/tasks.json"),
            Some(ProtectedBy::Program("Visual Studio Code".to_owned()))
        );
        assert_eq!(by("config/eslint.json"), Some(ProtectedBy::Link(path("app/.eslintrc.json"))));
        assert_eq!((by("config/ignored"), by("releases/1/x"), by("config/x")), (None, None, None));
        assert_eq!((by("src/a"), by("idea/a"), by("own/a")), (None, None, None));
        assert!(matches!(by("lib/a"), Some(ProtectedBy::Program(_))));
        // Only what a program of the table executes is read-only while programs run.
        assert_eq!(policy.executed_from(&path("tools/editor/tasks.json")), Some(0));
        assert_eq!(policy.executed_from(&path("config/eslint.json")), None);
    }
}
