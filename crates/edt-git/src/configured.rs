//! Files and directories of the worktree from which Git executes something, because its
//! configuration names them: the directory of hooks, included configuration, and programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::driver::possible_paths;
use super::repo::Repo;

/// Sections with commands or with files that name some, and their keys.
const COMMANDS: [(&str, &[&str]); 12] = [
    ("filter", &["clean", "smudge", "process"]),
    ("diff", &["command", "textconv", "external"]),
    ("merge", &["driver"]),
    ("gpg", &["program", "defaultKeyCommand"]),
    (
        "core",
        &["askPass", "attributesFile", "editor", "fsmonitor", "gitProxy", "pager", "sshCommand"],
    ),
    ("credential", &["helper"]),
    ("hook", &["command"]),
    ("sequence", &["editor"]),
    ("interactive", &["diffFilter"]),
    ("trailer", &["cmd", "command"]),
    ("mergetool", &["cmd", "path"]),
    ("difftool", &["cmd", "path"]),
];

/// Sections in which every key is a command.
const ALL_COMMANDS: [&str; 2] = ["pager", "alias"];

impl Repo {
    /// The paths, relative to the worktree's root. They may be missing on disk.
    #[must_use]
    pub fn configured_in_worktree(&self) -> Vec<String> {
        let config = self.inner.config_snapshot();
        let hooks = config.trusted_path("core.hooksPath").ok().flatten();
        let mut found: Vec<PathBuf> = hooks.into_iter().collect();
        let sections =
            |name: &'static str| config.plumbing().sections_by_name(name).into_iter().flatten();
        for section in sections("include").chain(sections("includeIf")) {
            let file = section.meta().path.as_deref();
            let base = file.and_then(Path::parent).map(edt_io::fs::real_path);
            for value in section.values("path") {
                let path = Path::new(OsStr::from_bytes(&value));
                found.extend(base.as_ref().map(|base| base.join(path)));
            }
        }
        let all = ALL_COMMANDS.map(|name| (name, &[][..]));
        for (name, keys) in COMMANDS.into_iter().chain(all) {
            for section in sections(name) {
                let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
                if keys.is_empty() {
                    keys.extend(section.value_names());
                }
                let commands = keys.iter().flat_map(|key| section.values(key));
                // Other aliases are Git's own commands.
                let commands =
                    commands.filter(|command| name != "alias" || command.starts_with(b"!"));
                let words = commands.flat_map(|command| {
                    possible_paths(command.strip_prefix(b"!").unwrap_or(&command))
                });
                // A word alone is looked up on `PATH`, or is a verb.
                let is_path = |word: &Vec<u8>| word.contains(&b'/') || word.contains(&b'.');
                let paths = words.filter(is_path).map(|word| OsStr::from_bytes(&word).into());
                found.extend(paths.filter(|path: &PathBuf| self.root_path().join(path).is_file()));
            }
        }
        found.extend(self.linked_hooks());
        let mut found: Vec<String> =
            found.iter().filter_map(|path| self.below_root(path)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Where links in the directory of hooks lead, and the directory itself if it is a link.
    fn linked_hooks(&self) -> Vec<PathBuf> {
        let directory = self.common_dir().join("hooks");
        let links = edt_io::fs::links_in(&directory).into_iter();
        let directory = edt_io::fs::is_link(&directory).then_some(directory);
        links.chain(directory).map(|link| edt_io::fs::real_path(&link)).collect()
    }

    /// The normal form of a path from the root, or of an absolute one below it.
    pub(super) fn below_root(&self, path: &Path) -> Option<String> {
        let below =
            if path.is_absolute() { path.strip_prefix(self.real_root().ok()?).ok()? } else { path };
        let mut names: Vec<&str> = Vec::new();
        for part in below.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => names.push(name.to_str()?),
                Component::ParentDir => drop(names.pop()?),
                _ => return None,
            }
        }
        let in_git_dir = names.first().is_some_and(|name| *name == ".git");
        (!names.is_empty() && !in_git_dir).then(|| names.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    #[test]
    fn what_the_configuration_names_in_the_worktree_is_found() {
        let scratch = ScratchRepo::with(&[("tools/clean.sh", "x\n"), ("sign.sh", "x\n")]);
        let found = |more: &str| {
            let config = scratch.path().join(".git/config");
            let text = std::fs::read_to_string(&config).unwrap();
            std::fs::write(&config, text.clone() + more).unwrap();
            let found = Repo::open(scratch.path()).unwrap().configured_in_worktree();
            std::fs::write(&config, text).unwrap();
            found
        };
        assert_eq!(found(""), [""; 0]);
        assert_eq!(found("[core]\n\thooksPath = ./tools//hooks\n"), ["tools/hooks"]);
        assert_eq!(found("[include]\n\tpath = ../shared.config\n"), ["shared.config"]);
        assert_eq!(found("[filter \"x\"]\n\tclean = sh tools/clean.sh %f\n"), ["tools/clean.sh"]);
        assert_eq!(found("[gpg]\n\tprogram = ./sign.sh\n"), ["sign.sh"]);
        let elsewhere = "[include]\n\tpath = ../../x\n\tpath = ~/x\n[core]\n\thooksPath = /etc/x\n";
        assert_eq!(found(elsewhere), [""; 0]);
        assert_eq!(found("[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n"), [""; 0]);
    }
}
