//! Whether Git would execute something because of a Git directory that a program made.
//!
//! A list of what `git init` and `git clone` write, not of what is dangerous: everything else
//! counts.

use std::path::Path;

use edt_io::fs;
use edt_io::names::{NameKind, NamesBelow};

/// The entries of a new Git directory.
const ENTRIES: [&str; 16] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "branches",
    "config",
    "description",
    "gc.log",
    "hooks",
    "index",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "shallow",
];

/// The keys of a new configuration, without the subsection.
const KEYS: [&str; 16] = [
    "branch.merge",
    "branch.rebase",
    "branch.remote",
    "core.bare",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.repositoryformatversion",
    "core.symlinks",
    "extensions.objectformat",
    "remote.fetch",
    "remote.tagopt",
    "remote.url",
    "user.email",
    "user.name",
];

/// The largest configuration and `.git` file that are read.
const MAX_BYTES: u64 = 1 << 20;

/// Whether the Git directory at `path` has nothing but what `git init`, `git clone` and `git commit`
/// write: no hooks, and only settings that name no program.
#[must_use]
pub fn is_plain_git_dir(path: &Path) -> bool {
    let Ok(below) = NamesBelow::open(path) else { return false };
    let is_usual = |name: &[u8], kind| {
        kind != NameKind::Link && ENTRIES.iter().any(|one| one.as_bytes() == name)
    };
    let is_sample = |name: &[u8], kind| kind == NameKind::Other && name.ends_with(b".sample");
    // A directory whose names cannot be read may have hooks.
    let all = |directory: &[u8], test: &dyn Fn(&[u8], NameKind) -> bool| {
        let mut all = true;
        let read = below.read(directory, |name, kind| all &= test(name, kind));
        read.is_ok() && all
    };
    let is_file = below.stat(b"config").is_some_and(|stat| !stat.is_special());
    let config = || fs::read_small(&path.join("config"), MAX_BYTES);
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
        && all(b"", &is_usual)
        && all(b"hooks", &is_sample)
        && is_file
        && config().is_some_and(|text| is_plain_config(&text))
}

/// Whether the `.git` file at `path` leads to a submodule or worktree of the repository with this
/// common directory, which programs cannot write.
#[must_use]
pub fn leads_to_own(path: &Path, common_dir: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let text = if is_file { fs::read_small(path, MAX_BYTES) } else { None };
    let named = text.as_deref().and_then(|text| text.strip_prefix(b"gitdir: "));
    let Some(named) = named.and_then(|named| std::str::from_utf8(named.trim_ascii_end()).ok())
    else {
        return false;
    };
    let target = fs::real_path(&path.parent().unwrap_or(path).join(named));
    let common_dir = fs::real_path(common_dir);
    ["modules", "worktrees"].iter().any(|own| {
        let own = common_dir.join(own);
        target != own && target.starts_with(own)
    })
}

/// Reads only lines that Git cannot read in another way: no quoted values, no continued lines.
fn is_plain_config(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut section = String::new();
    text.lines().all(|line| {
        let line = line.trim_matches([' ', '\t']);
        if let Some(header) = line.strip_prefix('[') {
            let Some(header) = header.strip_suffix(']') else { return false };
            let (name, subsection) = header.split_once(' ').unwrap_or((header, "\"\""));
            section = name.to_ascii_lowercase();
            let quoted = subsection.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            return quoted.is_some_and(|name| !name.contains(['"', '\\', ']']))
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        }
        let Some((key, value)) = line.split_once('=') else { return line.is_empty() };
        let (key, value) = (key.trim_end().to_ascii_lowercase(), value.trim_start());
        // `ext::` and the like name a program to fetch with.
        let names_program = key == "url" && (value.contains("::") || value.starts_with('-'));
        KEYS.contains(&format!("{section}.{key}").as_str())
            && !value.contains(['"', '\\', '\r'])
            && !names_program
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_names_no_program_is_plain() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = \
                    ../a b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\n[branch \
                    \"main\"]\n\tmerge = refs/heads/main\n";
        assert!(is_plain_config(text.as_bytes()));
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core] fsmonitor = ./x\n",
            "[core]\n\tbare = false \\\n\tfsmonitor = ./x\n",
            "[core]\n\tbare = \"false\n\tfsmonitor = x\"\n",
            "[core]\nworktree = /\n",
            "[CORE]\n\tFSMonitor = ./x\n",
            "[include]\n\tpath = x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[core.x]\n\tbare = true\n",
            "[core]\n\tbare\n",
            "[core]\n\tbare = false\r\n\tfsmonitor = x\n",
            "x = y\n",
        ] {
            assert!(!is_plain_config(text.as_bytes()), "{text}");
        }
        assert!(!is_plain_config(b"[core]\n\tbare = \xff\n"));
    }

    #[test]
    fn a_git_directory_is_plain_until_something_is_added() {
        let scratch = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
        let git = scratch.path().join(".git");
        let text = "[core]\n\trepositoryformatversion = 0\n";
        std::fs::write(git.join("config"), text).unwrap();
        assert!(is_plain_git_dir(&git), "{:?}", fs::names_in(&git));
        let not_with = |name: &str| {
            let path = git.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            let is_plain = is_plain_git_dir(&git);
            std::fs::remove_file(&path).unwrap();
            assert!(!is_plain, "{name}");
        };
        for name in ["hooks/pre-commit", "commondir", "config.worktree", "rebase-x", "gitdir"] {
            not_with(name);
        }
        std::os::unix::fs::symlink(git.join("config"), git.join("info/config")).unwrap();
        assert!(is_plain_git_dir(&git));
        std::fs::rename(git.join("config"), git.join("info/other")).unwrap();
        std::os::unix::fs::symlink("info/other", git.join("config")).unwrap();
        assert!(!is_plain_git_dir(&git));
        assert!(!is_plain_git_dir(&scratch.path().join("none")));
    }

    #[test]
    fn a_git_file_leads_only_to_submodules_and_worktrees() {
        let root = tempfile::tempdir().unwrap();
        let common = root.path().join("common");
        std::fs::create_dir_all(common.join("modules/sub")).unwrap();
        std::fs::create_dir_all(common.join("edt/quarantine/1/0")).unwrap();
        let file = root.path().join(".git");
        let leads = |text: &str| {
            std::fs::write(&file, text).unwrap();
            leads_to_own(&file, &common)
        };
        assert!(leads("gitdir: common/modules/sub\n"));
        assert!(!leads("gitdir: common/modules/../edt/quarantine/1/0\n"));
        assert!(!leads("gitdir: common\n") && !leads("gitdir: common/modules\n"));
        assert!(!leads("gitdir: elsewhere\n") && !leads("x\n"));
    }
}
