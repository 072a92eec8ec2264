//! What is hidden in a home directory: everything whose name begins with a dot, except what
//! programs need.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::kept::{CHECKED, KEPT};
use super::places::CREDENTIALS;
use super::variables;

/// A longer file of settings is hidden without being read.
const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// What must stay visible, as real paths.
#[derive(Debug, Default)]
pub(super) struct Visible {
    /// The worktree. Below it, only places of credentials are hidden.
    pub(super) root: PathBuf,
    /// What the user's configuration names. It may be a place of credentials.
    pub(super) named: Vec<PathBuf>,
    /// The worktree, its Git directories and the program.
    pub(super) needed: Vec<PathBuf>,
    /// The directories of `PATH`. The directory around one, such as `~/.tool` around
    /// `~/.tool/bin`, is taken for that of a tool.
    pub(super) programs: Vec<PathBuf>,
}

impl Visible {
    /// Places of credentials in `base`, which is the place `part` of a home directory (empty for
    /// the home directory itself), and files of settings with credentials in them.
    pub(super) fn credentials_in(&self, base: &Path, part: &str) -> Vec<PathBuf> {
        let Ok(base) = base.canonicalize() else { return Vec::new() };
        let mut found = Found::new(self);
        let at = |name: &&str| {
            let Some(rest) = below(name, part) else { return Vec::new() };
            let path = if rest.is_empty() { base.clone() } else { base.join(rest) };
            match rest.rsplit('/').next().and_then(|name| name.split_once('*')) {
                Some((begin, end)) => files_like(&path, begin, end),
                None => path.symlink_metadata().is_ok().then_some(path).into_iter().collect(),
            }
        };
        CREDENTIALS.iter().flat_map(at).for_each(|path| found.credential(&path));
        let checked = CHECKED.iter().flat_map(at).filter(|path| has_credentials(path));
        checked.for_each(|path| found.credential(&path));
        found.paths
    }

    /// Everything else in `base` that no list keeps; nothing if `base` is in the worktree.
    pub(super) fn others_in(&self, base: &Path, part: &str) -> Vec<PathBuf> {
        let Ok(base) = base.canonicalize() else { return Vec::new() };
        let mut found = Found::new(self);
        let is_kept = KEPT.iter().any(|kept| below(part, kept).is_some());
        if !is_kept && !base.starts_with(&self.root) {
            found.descend(&base, part);
        }
        found.paths
    }
}

/// `name` relative to `part`; empty if they are the same.
fn below<'n>(name: &'n str, part: &str) -> Option<&'n str> {
    if part.is_empty() {
        return Some(name);
    }
    let rest = name.strip_prefix(part)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

struct Found<'v> {
    visible: &'v Visible,
    paths: Vec<PathBuf>,
}

impl<'v> Found<'v> {
    fn new(visible: &'v Visible) -> Found<'v> {
        Found { visible, paths: Vec::new() }
    }

    /// A place of credentials: only what the user named, or what is needed below it, stays.
    fn credential(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        if self.visible.named.contains(&real) {
            return;
        }
        let Visible { named, needed, programs, .. } = self.visible;
        let is_below = |kept: &&PathBuf| kept.starts_with(&real) && **kept != real;
        let mut kept = named.iter().chain(needed).chain(programs).filter(is_below);
        if kept.next().is_none() {
            self.paths.push(path.to_owned());
        } else {
            self.all_but_kept(&real);
        }
    }

    /// Everything in `directory` but what must stay visible.
    fn all_but_kept(&mut self, directory: &Path) {
        let Visible { named, needed, programs, .. } = self.visible;
        for entry in entries(directory) {
            let path = directory.join(entry);
            let mut kept = named.iter().chain(needed).chain(programs);
            if kept.clone().any(|one| *one == path) {
                continue;
            }
            if kept.any(|one| one.starts_with(&path)) {
                self.all_but_kept(&path);
            } else {
                self.hide(path);
            }
        }
    }

    /// The entries of `directory`, which is the place `part` of a home directory.
    fn descend(&mut self, directory: &Path, part: &str) {
        for entry in entries(directory) {
            // A name that is not UTF-8 is on no list.
            let name = entry.to_string_lossy();
            if part.is_empty() && !name.starts_with('.') {
                continue;
            }
            let place = if part.is_empty() { name.into_owned() } else { format!("{part}/{name}") };
            self.entry(directory.join(&entry), &place);
        }
    }

    fn entry(&mut self, path: PathBuf, place: &str) {
        let Visible { named, needed, programs, .. } = self.visible;
        let is_needed = named.iter().chain(needed).any(|one| *one == path);
        // Places of credentials and checked files are found by their names.
        if is_needed || [KEPT, CHECKED, CREDENTIALS].iter().any(|list| list.contains(&place)) {
            return;
        }
        if KEPT.iter().chain(CHECKED).any(|kept| below(kept, place).is_some()) {
            self.descend(&path, place);
        } else if programs.iter().any(|one| one.starts_with(&path)) {
            // The directory of a tool.
        } else if named.iter().chain(needed).any(|one| one.starts_with(&path)) {
            self.all_but_kept(&path);
        } else {
            self.hide(path);
        }
    }

    /// What a link of an unlisted name leads to is visible or hidden by its own path.
    fn hide(&mut self, path: PathBuf) {
        let is_link = path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        let in_worktree =
            || path.canonicalize().is_ok_and(|real| real.starts_with(&self.visible.root));
        if !is_link && !in_worktree() {
            self.paths.push(path);
        }
    }
}

/// The names in a directory; none if it cannot be read: the program cannot read it either.
fn entries(directory: &Path) -> Vec<std::ffi::OsString> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name()).collect()
}

/// The paths beside `path` whose names begin and end so.
fn files_like(path: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let Some(directory) = path.parent() else { return Vec::new() };
    let is_like = |name: &std::ffi::OsString| {
        let name = name.to_string_lossy();
        name.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end))
    };
    entries(directory).into_iter().filter(is_like).map(|name| directory.join(name)).collect()
}

/// Whether a file of settings has credentials in it. A file that is too long or not UTF-8 counts as
/// one.
fn has_credentials(path: &Path) -> bool {
    let Ok(meta) = path.metadata() else { return false };
    if !meta.is_file() || meta.len() > MAX_SETTINGS_BYTES {
        return true;
    }
    let Ok(bytes) = std::fs::read(path) else { return false };
    std::str::from_utf8(&bytes).map_or(true, |text| text.lines().any(is_credential_line))
}

/// A line that sets a credential: a name and a value that both look like settings of variables.
fn is_credential_line(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with(['#', ';']) && !line.contains("://") {
        return false;
    }
    let (name, value) = line.split_once(['=', ':']).unwrap_or((line, ""));
    let name = name.trim().trim_start_matches("export ").trim_matches(['"', '\'']);
    let value = value.trim().trim_matches(['"', '\'']);
    let name = name.to_ascii_lowercase().replace('-', "_");
    // Names of keys, programs and methods, and a helper that keeps credentials.
    let names = ["askpass", "proxyauthmethod", "proxysslkey", "signingkey", "smtpauth", "sslkey"];
    let is_public = names.contains(&name.as_str()) || name.contains("credential");
    let named = !value.is_empty() && !is_public && variables::is_secret_name(OsStr::new(&name));
    let is_header = name == "extraheader" && is_credential_header(value);
    // A Git section's name may be an address.
    named || is_header || variables::is_secret_value(line) || variables::is_secret_value(value)
}

/// Whether a header may be a credential: servers have names of their own for it.
fn is_credential_header(header: &str) -> bool {
    const PUBLIC: [&str; 4] = ["accept", "accept-language", "cache-control", "user-agent"];
    let name = header.split_once(':').map(|(name, _)| name.trim().to_ascii_lowercase());
    name.is_some_and(|name| !PUBLIC.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_settings_with_a_credential_is_found() {
        for line in [
            "token = \"0123\"",
            "\tsmtpPass = hunter2",
            "[url \"https://me:pass@example.com/\"]",
            "extraheader = AUTHORIZATION: basic dXNlcjpwYXNzd29yZDE=",
            "index-url = https://me:pass@example.com/simple",
            "//registry.example.com/:_authToken=0123",
            "GOPROXY=https://me:pass@example.com",
            "access-tokens = github.com=ghp_0123456789abcdef",
            "\textraHeader = PRIVATE-TOKEN: 0123456789",
            "\textraHeader = \"X-JFrog-Art-Api: AKC0123456789\"",
            "remote_storage = http://cache.example.com|bearer-token=abcdef",
            "secondary_storage = redis://:pass@cache.example.com",
        ] {
            assert!(is_credential_line(line), "{line}");
        }
    }

    #[test]
    fn ordinary_settings_have_none() {
        for line in [
            "[user]",
            "\tname = A User",
            "\tsigningkey = ~/.ssh/id_ed25519.pub",
            "\taskPass = /usr/bin/ksshaskpass",
            "\tsmtpAuth = PLAIN",
            "\tsslKey = ~/.ssl/key.pem",
            "[credential]",
            "\thelper = store",
            "[url \"git@github.com:\"]",
            "\tinsteadOf = https://github.com/",
            "# token = x",
            "\textraHeader = Accept-Language: en",
            "remote_storage = http://cache.example.com|layout=subdirs",
            "credential-provider = [\"cargo:token\"]",
            "GOFLAGS=-mod=mod",
            "",
        ] {
            assert!(!is_credential_line(line), "{line}");
        }
    }

    #[test]
    fn no_list_names_a_place_twice() {
        let mut all: Vec<&str> = [KEPT, CHECKED, CREDENTIALS].concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// What is hidden in a home directory with these files.
    fn hidden(files: &[&str], change: impl FnOnce(&Path, &mut Visible)) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for file in files {
            let path = home.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let mut visible = Visible { root: "/w".into(), ..Visible::default() };
        change(&home, &mut visible);
        let mut found = visible.credentials_in(&home, "");
        found.extend(visible.others_in(&home, ""));
        let name = |path: &PathBuf| path.strip_prefix(&home).unwrap().display().to_string();
        let mut names: Vec<String> = found.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn unknown_names_are_hidden_and_known_tools_are_not() {
        let files = [".odd/x", ".cargo/bin/x", ".local/bin/x", ".local/share/odd/x", "plain/x"];
        assert_eq!(hidden(&files, |_, _| {}), [".local/share/odd", ".odd"]);
    }

    #[test]
    fn credentials_below_a_kept_directory_are_hidden() {
        let files = [".cargo/credentials.toml", ".cargo/registry/x", ".m2/settings.xml"];
        assert_eq!(hidden(&files, |_, _| {}), [".cargo/credentials.toml", ".m2/settings.xml"]);
    }

    #[test]
    fn a_place_may_name_a_group_of_files() {
        let files = [".m2/settings-a.xml", ".m2/settings.xml", ".m2/settings.txt", ".m2/x.xml"];
        assert_eq!(hidden(&files, |_, _| {}), [".m2/settings-a.xml", ".m2/settings.xml"]);
    }

    #[test]
    fn what_the_user_names_is_visible_with_no_more() {
        let files = [".odd/a", ".odd/b", ".aws/config", ".aws/credentials", ".npmrc"];
        let named = |home: &Path, visible: &mut Visible| {
            visible.named = [".odd/a", ".aws/config", ".npmrc"].map(|name| home.join(name)).into();
        };
        assert_eq!(hidden(&files, named), [".aws/credentials", ".odd/b"]);
    }

    #[test]
    fn a_directory_around_one_of_path_is_a_tool_unless_it_is_a_place_of_credentials() {
        let files = [".tool/bin/x", ".tool/lib/y", ".claude/local/x", ".claude/history"];
        let on_path = |home: &Path, visible: &mut Visible| {
            visible.programs = [".tool/bin", ".claude/local"].map(|name| home.join(name)).into();
        };
        assert_eq!(hidden(&files, on_path), [".claude/history"]);
    }

    #[test]
    fn beside_a_worktree_in_a_hidden_directory_everything_is_hidden() {
        let files = [".config/odd/x", ".dotfiles/tree/x", ".dotfiles/other"];
        let around = |home: &Path, visible: &mut Visible| {
            visible.root = home.join(".dotfiles/tree");
            visible.needed = vec![visible.root.clone()];
        };
        assert_eq!(hidden(&files, around), [".config/odd", ".dotfiles/other"]);
    }

    #[test]
    fn in_the_worktree_only_places_of_credentials_are_hidden() {
        let around = |home: &Path, visible: &mut Visible| visible.root = home.to_owned();
        assert_eq!(hidden(&[".odd", ".bashrc", ".ssh/id_rsa"], around), [".ssh"]);
    }

    #[test]
    fn a_link_of_an_unlisted_name_is_followed_by_nobody() {
        let linked = |home: &Path, _: &mut Visible| {
            std::os::unix::fs::symlink("plain", home.join(".odd")).unwrap();
            std::os::unix::fs::symlink("plain", home.join(".ssh")).unwrap();
        };
        assert_eq!(hidden(&["plain/x"], linked), [".ssh"]);
    }
}
