//! Files that other programs execute by themselves, or that name what those programs execute:
//! settings of editors and agents, hooks, start-up files of shells, pipelines.
//!
//! A change of such a file runs later with the user's rights, without a question. They are
//! protected in every repository; only the user's own `edt.toml` excepts some (`[[unprotect]]`).

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use super::file::Policy;
use super::globs::Globs;
use edt_types::RepoPath;

/// Directories whose files count, at any depth, and the program that uses them.
const DIRECTORIES: [(&str, &str); 43] = [
    (".amazonq", "Amazon Q"),
    (".buildkite", "Buildkite"),
    (".circleci", "CircleCI"),
    (".claude", "Claude Code"),
    (".cline", "Cline"),
    (".clinerules/hooks", "Cline"),
    (".codex", "Codex"),
    (".continue", "Continue"),
    (".cursor", "Cursor"),
    (".devcontainer", "the editor that opens the development container"),
    (".factory", "Factory"),
    (".forgejo/workflows", "Forgejo"),
    (".gemini", "Gemini CLI"),
    (".gitea/workflows", "Gitea"),
    (".githooks", "Git"),
    (".github/actions", "GitHub Actions"),
    (".github/hooks", "Copilot"),
    (".github/workflows", "GitHub Actions"),
    (".helix", "Helix"),
    (".hg", "Mercurial"),
    (".husky", "Git through husky"),
    (".idea", "the IDE of JetBrains"),
    (".junie", "Junie"),
    (".kilo", "Kilo Code"),
    (".kilocode", "Kilo Code"),
    (".kiro", "Kiro"),
    (".lefthook", "Git through lefthook"),
    (".nvim", "Neovim"),
    (".opencode", "opencode"),
    (".qwen", "Qwen Code"),
    (".config/autostart", "the desktop"),
    (".config/edt", "edt"),
    (".config/fish", "the shell"),
    (".config/git", "Git"),
    (".config/nvim", "Neovim"),
    (".config/systemd", "systemd"),
    (".local/share/edt", "edt"),
    (".roo", "Roo Code"),
    (".ssh", "SSH"),
    (".vim", "Vim"),
    (".windsurf", "Windsurf"),
    (".woodpecker", "Woodpecker"),
    (".zed", "Zed"),
];

/// Files in any directory, and the program that uses them.
const FILES: [(&str, &str); 70] = [
    (".aider.conf.yml", "aider"),
    (".bash_aliases", "the shell"),
    (".bash_login", "the shell"),
    (".bash_logout", "the shell"),
    (".bash_profile", "the shell"),
    (".bashrc", "the shell"),
    (".cargo/config", "Cargo"),
    (".cargo/config.toml", "Cargo"),
    (".cirrus.yml", "Cirrus CI"),
    (".crush.json", "Crush"),
    (".cshrc", "the shell"),
    (".devcontainer.json", "the editor that opens the development container"),
    (".drone.yml", "Drone"),
    (".envrc", "direnv"),
    (".exrc", "Vim"),
    (".gdbinit", "GDB"),
    (".gitconfig", "Git"),
    (".gitlab-ci.yml", "GitLab"),
    (".gitmodules", "Git"),
    (".gitpod.yml", "Gitpod"),
    (".kshrc", "the shell"),
    (".lazy.lua", "Neovim"),
    (".lefthook.json", "Git through lefthook"),
    (".lefthook.toml", "Git through lefthook"),
    (".lefthook.yaml", "Git through lefthook"),
    (".lefthook.yml", "Git through lefthook"),
    (".lldbinit", "LLDB"),
    (".login", "the shell"),
    (".mcp.json", "every client of the Model Context Protocol"),
    (".npmrc", "npm"),
    (".nvim.lua", "Neovim"),
    (".nvimrc", "Neovim"),
    (".overcommit.yml", "Git through Overcommit"),
    (".pre-commit-config.yaml", "Git through pre-commit"),
    (".pre-commit-config.yml", "Git through pre-commit"),
    (".profile", "the shell"),
    (".tcshrc", "the shell"),
    (".tmux.conf", "tmux"),
    (".travis.yml", "Travis CI"),
    (".vimrc", "Vim"),
    (".vscode/launch.json", "Visual Studio Code"),
    (".vscode/mcp.json", "Visual Studio Code"),
    (".vscode/settings.json", "Visual Studio Code"),
    (".vscode/tasks.json", "Visual Studio Code"),
    (".woodpecker.yml", "Woodpecker"),
    (".xprofile", "the shell"),
    (".xsessionrc", "the shell"),
    (".yarnrc.yml", "Yarn"),
    (".zlogin", "the shell"),
    (".zlogout", "the shell"),
    (".zprofile", "the shell"),
    (".zshenv", "the shell"),
    (".zshrc", "the shell"),
    ("Jenkinsfile", "Jenkins"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
    ("crush.json", "Crush"),
    ("kilo.json", "Kilo Code"),
    ("kilo.jsonc", "Kilo Code"),
    ("lefthook-local.json", "Git through lefthook"),
    ("lefthook-local.toml", "Git through lefthook"),
    ("lefthook-local.yaml", "Git through lefthook"),
    ("lefthook-local.yml", "Git through lefthook"),
    ("lefthook.json", "Git through lefthook"),
    ("lefthook.toml", "Git through lefthook"),
    ("lefthook.yaml", "Git through lefthook"),
    ("lefthook.yml", "Git through lefthook"),
    ("opencode.json", "opencode"),
    ("opencode.jsonc", "opencode"),
    ("prek.toml", "Git through prek"),
];

/// Instructions for agents. They execute nothing, but the next agent follows them.
const INSTRUCTIONS: [&str; 11] = [
    ".clinerules",
    ".cursorrules",
    ".github/copilot-instructions.md",
    ".goosehints",
    ".windsurfrules",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.local.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
];

/// The program that executes `path` or what it names; `None` if none does so by itself. Case does
/// not count, because it does not on the disks of other systems.
#[must_use]
pub fn program_of(path: &RepoPath) -> Option<&'static str> {
    if path.as_bytes().eq_ignore_ascii_case(b"edt.toml") {
        return Some("edt");
    }
    let below = |directory: &[u8]| {
        let mut starts = starts(path.as_bytes());
        starts.any(|rest| {
            rest.len() > directory.len()
                && rest[directory.len()] == b'/'
                && rest[..directory.len()].eq_ignore_ascii_case(directory)
        })
    };
    let file = FILES.iter().find(|(name, _)| is_named(path, name));
    let found = file.or_else(|| DIRECTORIES.iter().find(|(name, _)| below(name.as_bytes())));
    found.map(|(_, program)| *program)
}

/// All names of the lists, which may have several components.
fn listed() -> impl Iterator<Item = &'static str> {
    FILES.iter().chain(&DIRECTORIES).map(|(name, _)| *name)
}

/// Whether `name` is a component of a listed name. No other name needs a closer look.
fn is_component(name: &[u8]) -> bool {
    // One look-up for each name of a worktree: a comparison with all of the lists takes too long.
    static ALL: LazyLock<HashSet<Vec<u8>>> = LazyLock::new(|| {
        let parts = listed().chain(["edt.toml"]).flat_map(|name| name.split('/'));
        parts.map(|part| part.to_ascii_lowercase().into_bytes()).collect()
    });
    let mut lower = [0; 32];
    let Some(lower) = lower.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    ALL.contains(&*lower)
}

/// Whether agents read `path` as instructions.
#[must_use]
pub fn is_instructions(path: &RepoPath) -> bool {
    INSTRUCTIONS.iter().any(|name| is_named(path, name))
}

/// Whether the path is `name` in any directory.
fn is_named(path: &RepoPath, name: &str) -> bool {
    let (path, name) = (path.as_bytes(), name.as_bytes());
    let Some(at) = path.len().checked_sub(name.len()) else { return false };
    path[at..].eq_ignore_ascii_case(name) && (at == 0 || path[at - 1] == b'/')
}

/// The path from each of its components on.
fn starts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = memchr::memchr_iter(b'/', path).map(|at| at + 1);
    std::iter::once(0).chain(slashes).map(|at| &path[at..])
}

/// Drivers of `diff` and `merge` that Git has built in (gitattributes(5)): they run no program.
const BUILT_IN_DRIVERS: [&str; 29] = [
    "ada", "bash", "bibtex", "binary", "cpp", "csharp", "css", "dts", "elixir", "fortran",
    "fountain", "golang", "html", "ini", "java", "kotlin", "markdown", "matlab", "objc", "pascal",
    "perl", "php", "python", "ruby", "rust", "scheme", "tex", "text", "union",
];

/// The lines of a `.gitattributes` file that make Git run a program of its configuration.
#[must_use]
pub fn drivers(text: &[u8]) -> Vec<&[u8]> {
    let is_driver = |attribute: &[u8]| {
        let value = |key: &[u8]| attribute.strip_prefix(key);
        value(b"filter=").is_some()
            || value(b"diff=")
                .or_else(|| value(b"merge="))
                .is_some_and(|name| BUILT_IN_DRIVERS.iter().all(|one| one.as_bytes() != name))
    };
    let names_driver = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.starts_with(b"#") && line.split(u8::is_ascii_whitespace).any(is_driver)
    };
    text.split(|byte| *byte == b'\n').filter(names_driver).collect()
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
        self.configured = paths;
        self
    }

    /// The same policy for what the user does: files that other programs execute are the user's to
    /// change.
    #[must_use]
    pub fn for_users(mut self) -> Policy {
        self.is_for_users = true;
        self
    }

    /// The program that executes `path` by itself, unless the user excepted the path.
    #[must_use]
    pub fn executed_by(&self, path: &RepoPath) -> Option<&'static str> {
        let is_configured = || {
            let below = |one: &String| {
                let rest = path.as_bytes().strip_prefix(one.as_bytes());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            };
            self.configured.iter().any(below).then_some("Git")
        };
        program_of(path).or_else(is_configured).filter(|_| !self.is_excepted(path))
    }

    /// Whether `path` may change although other programs execute it.
    #[must_use]
    pub fn is_excepted(&self, path: &RepoPath) -> bool {
        self.excepts(|globs| globs.is_match(&path.text()))
    }

    /// Where in `path` the name of the lists begins that makes other programs execute the file;
    /// `None` if none does, or the user excepted the path.
    #[must_use]
    pub fn executed_from(&self, path: &RepoPath) -> Option<usize> {
        self.executed_by(path)?;
        let whole = path.as_bytes();
        let is_at = |rest: &[u8], name: &str| {
            let name = name.as_bytes();
            rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name)
        };
        let begins = |rest: &&[u8]| {
            FILES.iter().any(|(name, _)| rest.len() == name.len() && is_at(rest, name))
                || DIRECTORIES
                    .iter()
                    .any(|(name, _)| rest.get(name.len()) == Some(&b'/') && is_at(rest, name))
        };
        Some(starts(whole).find(begins).map_or(0, |rest| whole.len() - rest.len()))
    }

    /// Whether some path that is executed has a component with this name.
    #[must_use]
    pub fn knows_name(&self, name: &[u8]) -> bool {
        let has = |one: &String| one.split('/').any(|part| part.as_bytes() == name);
        is_component(name) || self.configured.iter().any(has)
    }

    /// Whether other programs execute every file in the directory `path`, and the user excepted
    /// none.
    #[must_use]
    pub fn executes_directory(&self, path: &RepoPath) -> bool {
        let is_listed = || DIRECTORIES.iter().any(|(name, _)| is_named(path, name));
        let is_configured = || self.configured.iter().any(|one| one.as_bytes() == path.as_bytes());
        (is_listed() || is_configured()) && !self.excepts_below(path)
    }

    /// Where in `path` a name of the lists begins that a link there can lead to.
    #[must_use]
    pub fn executed_through(&self, path: &RepoPath) -> Option<usize> {
        let whole = path.as_bytes();
        let leads_to = |rest: &[u8], name: &str| {
            let name = name.as_bytes();
            let is_above = name.len() == rest.len() || name.get(rest.len()) == Some(&b'/');
            is_above && name[..rest.len()].eq_ignore_ascii_case(rest)
        };
        let mut all = starts(whole);
        let found = all.find(|rest| listed().any(|name| leads_to(rest, name)));
        let configured = || self.configured.iter().any(|one| leads_to(whole, one));
        let from = match found {
            Some(rest) => whole.len() - rest.len(),
            None if configured() || whole.eq_ignore_ascii_case(b"edt.toml") => 0,
            None => return self.executed_from(path),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str) -> Option<&'static str> {
        program_of(&RepoPath::parse(path.as_bytes()).unwrap())
    }

    #[test]
    fn settings_and_hooks_are_found_in_any_directory() {
        for path in [
            ".claude/settings.json",
            "sub/.claude/hooks/stop.sh",
            ".codex/config.toml",
            ".mcp.json",
            ".vscode/tasks.json",
            "app/.vscode/settings.json",
            ".idea/workspace.xml",
            ".husky/pre-commit",
            ".envrc",
            "deploy/.envrc",
            ".devcontainer/devcontainer.json",
            ".gitmodules",
            ".github/workflows/ci.yml",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            "home/.bashrc",
            "edt.toml",
            ".VSCode/Tasks.json",
            // What `edt setup` writes for agents.
            ".clinerules/hooks/PreToolUse",
            ".github/hooks/edt.json",
            ".qwen/settings.json",
            "kilo.json",
            ".continue/mcpServers/edt.yaml",
            ".zed/settings.json",
            ".junie/mcp/mcp.json",
        ] {
            assert!(program(path).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not() {
        for path in [
            "src/main.rs",
            ".vscode/extensions.json",
            ".github/dependabot.yml",
            ".gitattributes",
            "claude/settings.json",
            "x.claude/settings.json",
            ".claude",
            "sub/edt.toml",
            "bashrc",
            "docs/.github-workflows/a",
        ] {
            assert_eq!(program(path), None, "{path}");
        }
    }

    #[test]
    fn a_name_begins_where_the_lists_begin() {
        let policy =
            Policy::of(None, None).unwrap().with_configured(vec!["tools/hooks".to_owned()]);
        let path = |path: &str| RepoPath::parse(path.as_bytes()).unwrap();
        let from = |name: &str| policy.executed_from(&path(name));
        assert_eq!(from(".vscode/tasks.json"), Some(0));
        assert_eq!(from("a/b/.vscode/tasks.json"), Some(4));
        assert_eq!((from("a/.idea/b/.envrc"), from("tools/hooks/x")), (Some(2), Some(0)));
        assert_eq!((from("a/tasks.json"), from("sub/edt.toml")), (None, None));
        let through = |name: &str| policy.executed_through(&path(name));
        assert_eq!(
            (through("a/.vscode"), through(".config"), through("x/.idea")),
            (Some(2), Some(0), Some(2))
        );
        assert_eq!(
            (through("tools"), through("vscode"), through("a/tools")),
            (Some(0), None, None)
        );
        assert!(
            policy.executes_directory(&path("a/.idea"))
                && policy.executes_directory(&path("tools/hooks"))
        );
        assert!(!policy.executes_directory(&path(".vscode")));
        for name in [".VSCode", "TASKS.json", "jenkinsfile", ".github", "edt.toml"] {
            assert!(is_component(name.as_bytes()), "{name}");
        }
        assert!(!is_component(b"main.rs") && !is_component(&[b'a'; 40]));
    }

    #[test]
    fn instructions_are_known_by_name() {
        let is = |path: &str| is_instructions(&RepoPath::parse(path.as_bytes()).unwrap());
        assert!(is("AGENTS.md") && is("sub/CLAUDE.md") && is(".github/copilot-instructions.md"));
        assert!(!is("docs/agents.mdx") && !is("MYAGENTS.md"));
    }

    #[test]
    fn only_lines_with_a_driver_count() {
        let text = b"*.txt eol=lf\n*.bin filter=lfs diff=lfs -text\n# x filter=y\n*.po merge=po\n*.rs diff=rust merge=union\n";
        let lines = drivers(text);
        assert_eq!(lines, [&b"*.bin filter=lfs diff=lfs -text"[..], b"*.po merge=po"]);
    }
}
