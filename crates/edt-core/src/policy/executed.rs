//! Files that other programs execute by themselves, or that name what those programs execute:
//! settings of editors and agents, hooks, start-up files of shells, pipelines.
//!
//! A change of such a file runs later with the user's rights, without a question. They are
//! protected in every repository; only the user's own `edt.toml` excepts some (`[[unprotect]]`).

use std::cell::LazyCell;
use std::path::Path;

use super::file::Policy;
use edt_types::RepoPath;

/// Directories whose files count, at any depth, and the program that uses them.
const DIRECTORIES: [(&str, &str); 29] = [
    (".amazonq", "Amazon Q"),
    (".circleci", "CircleCI"),
    (".claude", "Claude Code"),
    (".cline", "Cline"),
    (".clinerules/hooks", "Cline"),
    (".codex", "Codex"),
    (".continue", "Continue"),
    (".cursor", "Cursor"),
    (".devcontainer", "the editor that opens the development container"),
    (".forgejo/workflows", "Forgejo"),
    (".gemini", "Gemini CLI"),
    (".gitea/workflows", "Gitea"),
    (".githooks", "Git"),
    (".github/actions", "GitHub Actions"),
    (".github/hooks", "Copilot"),
    (".github/workflows", "GitHub Actions"),
    (".husky", "Git through husky"),
    (".idea", "the IDE of JetBrains"),
    (".kiro", "Kiro"),
    (".lefthook", "Git through lefthook"),
    (".nvim", "Neovim"),
    (".opencode", "opencode"),
    (".qwen", "Qwen Code"),
    (".config/fish", "the shell"),
    (".config/git", "Git"),
    (".config/nvim", "Neovim"),
    (".roo", "Roo Code"),
    (".windsurf", "Windsurf"),
    (".zed", "Zed"),
];

/// Files in any directory, and the program that uses them.
const FILES: [(&str, &str); 53] = [
    (".aider.conf.yml", "aider"),
    (".bash_aliases", "the shell"),
    (".bash_login", "the shell"),
    (".bash_logout", "the shell"),
    (".bash_profile", "the shell"),
    (".bashrc", "the shell"),
    (".cshrc", "the shell"),
    (".devcontainer.json", "the editor that opens the development container"),
    (".envrc", "direnv"),
    (".exrc", "Vim"),
    (".gdbinit", "GDB"),
    (".gitconfig", "Git"),
    (".gitlab-ci.yml", "GitLab"),
    (".gitmodules", "Git"),
    (".kshrc", "the shell"),
    (".lefthook.json", "Git through lefthook"),
    (".lefthook.toml", "Git through lefthook"),
    (".lefthook.yaml", "Git through lefthook"),
    (".lefthook.yml", "Git through lefthook"),
    (".lldbinit", "LLDB"),
    (".login", "the shell"),
    (".mcp.json", "every client of the Model Context Protocol"),
    (".nvim.lua", "Neovim"),
    (".nvimrc", "Neovim"),
    (".pre-commit-config.yaml", "Git through pre-commit"),
    (".pre-commit-config.yml", "Git through pre-commit"),
    (".profile", "the shell"),
    (".tcshrc", "the shell"),
    (".vimrc", "Vim"),
    (".vscode/launch.json", "Visual Studio Code"),
    (".vscode/mcp.json", "Visual Studio Code"),
    (".vscode/settings.json", "Visual Studio Code"),
    (".vscode/tasks.json", "Visual Studio Code"),
    (".xprofile", "the shell"),
    (".xsessionrc", "the shell"),
    (".yarnrc.yml", "Yarn"),
    (".zlogin", "the shell"),
    (".zlogout", "the shell"),
    (".zprofile", "the shell"),
    (".zshenv", "the shell"),
    (".zshrc", "the shell"),
    ("Jenkinsfile", "Jenkins"),
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

/// The files and directories of the lists as paths at the root of a worktree.
pub fn at_root() -> impl Iterator<Item = &'static str> {
    let listed = FILES.iter().chain(&DIRECTORIES).map(|(name, _)| *name);
    listed.chain(std::iter::once("edt.toml"))
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

    /// The same policy where Git runs hooks of the worktree's directory `hooks`, relative to its
    /// root.
    #[must_use]
    pub fn with_hooks(mut self, hooks: Option<String>) -> Policy {
        self.hooks = hooks;
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
        let is_hook = || {
            let below = path.as_bytes().strip_prefix(self.hooks.as_ref()?.as_bytes())?;
            below.starts_with(b"/").then_some("Git")
        };
        program_of(path).or_else(is_hook).filter(|_| !self.is_excepted(path))
    }

    /// Whether `path` may change although other programs execute it.
    #[must_use]
    pub fn is_excepted(&self, path: &RepoPath) -> bool {
        self.is_for_users
            || self
                .unprotected
                .iter()
                .any(|(repository, globs)| repository.is_none() && globs.is_match(path))
    }

    /// The files and directories at the root of a worktree that other programs execute, without
    /// those in which the user excepted anything.
    pub fn executed_at_root(&self) -> Vec<&str> {
        let excepted = |path: &str| {
            self.is_for_users
                || self
                    .unprotected
                    .iter()
                    .any(|(repository, globs)| repository.is_none() && globs.may_match_below(path))
        };
        let mut all: Vec<&str> = at_root().collect();
        all.extend(self.hooks.as_deref());
        all.retain(|path| !excepted(path));
        all
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
