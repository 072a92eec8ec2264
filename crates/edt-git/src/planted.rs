//! Whether Git would execute something because of a Git directory that a program made.
//!
//! A list of what `git init` and `git clone` write, not of what is dangerous: everything else
//! counts.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use edt_io::fs;
use edt_io::names::{NameKind, NamesBelow};

/// The entries of a new Git directory.
const ENTRIES: &[&str] = &[
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "ORIG_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "branches",
    "config",
    "config.worktree",
    "description",
    "gc.log",
    "gc.pid",
    "hooks",
    "index",
    "info",
    "lfs",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "reftable",
    "rr-cache",
    "shallow",
];

/// The keys of a new configuration, without the subsection: none names a program.
const KEYS: &[&str] = &[
    "blame.blankboundary",
    "blame.coloring",
    "blame.date",
    "blame.markignoredlines",
    "blame.markunblamablelines",
    "blame.showemail",
    "blame.showroot",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.description",
    "branch.merge",
    "branch.pushremote",
    "branch.rebase",
    "branch.remote",
    "branch.sort",
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.untrackedcache",
    "diff.algorithm",
    "diff.autorefreshindex",
    "diff.binary",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.dirstat",
    "diff.dstprefix",
    "diff.ignoresubmodules",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.relative",
    "diff.renamelimit",
    "diff.renames",
    "diff.srcprefix",
    "diff.statgraphwidth",
    "diff.statnamewidth",
    "diff.submodule",
    "diff.suppressblankempty",
    "diff.wordregex",
    "diff.wserrorhighlight",
    "diff.xfuncname",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.refstorage",
    "extensions.relativeworktrees",
    "extensions.worktreeconfig",
    "fetch.all",
    "fetch.fsckobjects",
    "fetch.parallel",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.recursesubmodules",
    "fetch.showforcedupdates",
    "fetch.writecommitgraph",
    "gc.auto",
    "gc.autodetach",
    "http.lowspeedlimit",
    "http.lowspeedtime",
    "http.postbuffer",
    "http.sslverify",
    "http.version",
    "index.sparse",
    "index.threads",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.diffmerges",
    "log.excludedecoration",
    "log.follow",
    "log.graphcolors",
    "log.initialdecorationset",
    "log.mailmap",
    "log.showroot",
    "maintenance.auto",
    "merge.conflictstyle",
    "merge.ff",
    "pack.threads",
    "protocol.version",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "receive.advertiseatomic",
    "receive.advertisepushoptions",
    "receive.autogc",
    "receive.denycurrentbranch",
    "receive.denydeletecurrent",
    "receive.denydeletes",
    "receive.denynonfastforwards",
    "receive.fsckobjects",
    "receive.hiderefs",
    "receive.keepalive",
    "receive.maxinputsize",
    "receive.shallowupdate",
    "receive.unpacklimit",
    "receive.updateserverinfo",
    "remote.fetch",
    "remote.mirror",
    "remote.partialclonefilter",
    "remote.promisor",
    "remote.prune",
    "remote.prunetags",
    "remote.pushurl",
    "remote.tagopt",
    "remote.url",
    "rerere.autoupdate",
    "rerere.enabled",
    "status.aheadbehind",
    "status.branch",
    "status.displaycommentprefix",
    "status.relativepaths",
    "status.renamelimit",
    "status.renames",
    "status.short",
    "status.showstash",
    "status.showuntrackedfiles",
    "submodule.active",
    "submodule.alternateerrorstrategy",
    "submodule.alternatelocation",
    "submodule.branch",
    "submodule.fetchjobs",
    "submodule.ignore",
    "submodule.recurse",
    "submodule.shallow",
    "submodule.url",
    "tag.gpgsign",
    "uploadpack.allowanysha1inwant",
    "uploadpack.allowfilter",
    "uploadpack.allowreachablesha1inwant",
    "uploadpack.allowrefinwant",
    "uploadpack.allowtipsha1inwant",
    "uploadpack.hiderefs",
    "uploadpack.keepalive",
    "user.email",
    "user.name",
    "user.signingkey",
    "user.useconfigonly",
];

/// The commands that an alias may stand for. Others change files, or start programs.
const ALIASED: [&str; 10] =
    ["add", "branch", "checkout", "commit", "diff", "log", "restore", "show", "status", "switch"];

/// The values of `submodule.update`; another one names a program.
const UPDATES: [&str; 4] = ["checkout", "merge", "none", "rebase"];

/// The largest configuration and `.git` file that are read.
const MAX_BYTES: u64 = 1 << 20;

/// How deep Git directories of submodules are looked for.
const MAX_DEPTH: usize = 16;

/// Whether the Git directory at `path` has nothing but what `git init`, `git clone` and `git commit`
/// write: no hooks, and only settings that name no program. Those of its submodules count.
#[must_use]
pub fn is_plain_git_dir(path: &Path) -> bool {
    let is_dot_git = path.file_name().is_some_and(|name| name == ".git");
    let worktree = path.parent().filter(|_| is_dot_git).map(fs::real_path);
    is_plain(path, worktree.as_deref(), false, MAX_DEPTH)
}

/// `worktree` is that of the outermost Git directory. That of a submodule names its own below it.
fn is_plain(path: &Path, worktree: Option<&Path>, is_module: bool, depth: usize) -> bool {
    let Ok(below) = NamesBelow::open(path) else { return false };
    let is_usual = |name: &[u8], kind| {
        // Git reads no lock file.
        kind != NameKind::Link && ENTRIES.iter().any(|one| one.as_bytes() == name)
            || kind == NameKind::Other && name.ends_with(b".lock")
    };
    let is_sample = |name: &[u8], kind| kind == NameKind::Other && name.ends_with(b".sample");
    let leads_here = |value: &str| {
        let target = fs::real_path(&path.join(value));
        let rest = worktree.filter(|_| is_module).and_then(|root| target.strip_prefix(root).ok());
        rest.is_some_and(|rest| {
            let is_name =
                |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
            rest != Path::new("") && rest.components().all(is_name)
        })
    };
    let is_plain_file = |name: &str| {
        below.stat(name.as_bytes()).is_some_and(|stat| !stat.is_special())
            && fs::read_small(&path.join(name), MAX_BYTES)
                .is_some_and(|text| is_plain_config(&text, leads_here))
    };
    // Earlier versions of Git let a shell evaluate this list of paths.
    let is_blank = |name: &str| {
        let text = || fs::read_small(&path.join(name), MAX_BYTES);
        below.stat(name.as_bytes()).is_none_or(|stat| {
            !stat.is_special() && text().is_some_and(|text| text.trim_ascii().is_empty())
        })
    };
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
        && all(&below, b"", is_usual)
        && all(&below, b"hooks", is_sample)
        && is_blank("BISECT_NAMES")
        && is_plain_file("config")
        && (below.stat(b"config.worktree").is_none() || is_plain_file("config.worktree"))
        && (below.stat(b"modules").is_none()
            || are_plain_modules(&path.join("modules"), worktree, depth))
}

/// Whether `directory` has only plain Git directories; the name of a submodule may have slashes.
fn are_plain_modules(directory: &Path, worktree: Option<&Path>, depth: usize) -> bool {
    let (Ok(below), Some(depth)) = (NamesBelow::open(directory), depth.checked_sub(1)) else {
        return false;
    };
    let mut names = Vec::new();
    let is_directory = |name: &[u8], kind| {
        names.push(std::ffi::OsStr::from_bytes(name).to_owned());
        kind == NameKind::Directory
    };
    all(&below, b"", is_directory)
        && names.iter().all(|name| {
            let path = directory.join(name);
            // Git takes nothing without this file for a Git directory.
            if path.join("HEAD").symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                is_plain(&path, worktree, true, depth)
            } else {
                are_plain_modules(&path, worktree, depth)
            }
        })
}

/// Whether `test` holds for every name in `directory`. One whose names cannot be read may have
/// hooks.
fn all(
    below: &NamesBelow,
    directory: &[u8],
    mut test: impl FnMut(&[u8], NameKind) -> bool,
) -> bool {
    let mut all = true;
    let read = below.read(directory, |name, kind| all &= test(name, kind));
    read.is_ok() && all
}

/// Whether the `.git` file at `path` leads to the plain Git directory of a submodule, in that of a
/// repository above it, in the worktree `root` and not at its top.
#[must_use]
pub fn leads_to_plain(path: &Path, root: &Path) -> bool {
    let (Some(target), root) = (named_in(path), fs::real_path(root)) else { return false };
    let Some(directory) = path.parent().map(fs::real_path) else { return false };
    let above = directory.ancestors().skip(1).take_while(|above| **above != root);
    above.filter(|above| above.starts_with(&root)).any(|above| {
        is_module(&target, &above.join(".git/modules"))
            && is_plain(&target, Some(above), true, MAX_DEPTH)
    })
}

/// Whether `target` is a Git directory below `modules` that [`are_plain_modules`] finds there: not
/// one among the objects of another.
fn is_module(target: &Path, modules: &Path) -> bool {
    let Ok(below) = target.strip_prefix(modules) else { return false };
    let (mut at, mut is_in_git_dir) = (modules.to_owned(), false);
    below.components().all(|part| {
        let is_found = !is_in_git_dir || part.as_os_str() == "modules";
        at.push(part);
        is_in_git_dir = at.join("HEAD").symlink_metadata().is_ok_and(|meta| !meta.is_dir());
        is_found
    })
}

/// Whether the `.git` file at `path` names this Git directory.
#[must_use]
pub fn leads_to(path: &Path, git_dir: &Path) -> bool {
    named_in(path).is_some_and(|named| named == fs::real_path(git_dir))
}

/// Whether the `.git` file at `path` leads to a submodule or worktree of the repository with this
/// common directory, which programs cannot write.
#[must_use]
pub fn leads_to_own(path: &Path, common_dir: &Path) -> bool {
    let Some(target) = named_in(path) else { return false };
    let common_dir = fs::real_path(common_dir);
    ["modules", "worktrees"].iter().any(|own| {
        let own = common_dir.join(own);
        target != own && target.starts_with(own)
    })
}

/// The real path that the `.git` file at `path` names.
fn named_in(path: &Path) -> Option<PathBuf> {
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let text = if is_file { fs::read_small(path, MAX_BYTES) } else { None }?;
    let named = std::str::from_utf8(text.strip_prefix(b"gitdir: ")?.trim_ascii_end()).ok()?;
    Some(fs::real_path(&path.parent().unwrap_or(path).join(named)))
}

/// Reads only lines that Git cannot read in another way: no quoted values, no continued lines.
/// `is_worktree`: whether this worktree may be named.
#[doc(hidden)]
pub fn is_plain_config(text: &[u8], is_worktree: impl Fn(&str) -> bool) -> bool {
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
        // Git reads a comment after `#` and `;`.
        if value.contains(['"', '\\', '\r', '#', ';']) {
            return false;
        }
        match format!("{section}.{key}").as_str() {
            "core.worktree" => is_worktree(value),
            "submodule.update" => UPDATES.contains(&value),
            // `ext::` and the like name a program to fetch with.
            _ if (key.ends_with("url") || key.ends_with("remote"))
                && (value.contains("::") || value.starts_with('-')) =>
            {
                false
            }
            _ if matches!(section.as_str(), "advice" | "color" | "column") => {
                !key.ends_with("pager")
            }
            _ if section == "alias" => is_plain_alias(value),
            name => KEYS.contains(&name),
        }
    })
}

/// Whether an alias is one of [`ALIASED`] without options, which may discard files (`checkout -f .`)
/// or start a program (`log --show-signature`). `--oneline` and the like of `log` do neither.
fn is_plain_alias(value: &str) -> bool {
    let mut words = value.split_ascii_whitespace();
    words.next().is_some_and(|command| ALIASED.contains(&command))
        && words
            .all(|word| ["--oneline", "--graph", "--all", "--stat", "-s", "-sb"].contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_plain(text: &[u8]) -> bool {
        is_plain_config(text, |_| false)
    }

    #[test]
    fn a_configuration_that_names_no_program_is_plain() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = \
                    ../a b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\n[branch \
                    \"main\"]\n\tmerge = refs/heads/main\n[submodule \"a b\"]\n\tupdate = none\n";
        assert!(is_plain(text.as_bytes()));
    }

    #[test]
    fn settings_that_are_data_are_plain() {
        for line in [
            "[diff]\n\trenames = copies\n\talgorithm = histogram\n\tcolorMoved = zebra",
            "[diff \"x\"]\n\txfuncname = ^fn\n\tbinary = true",
            "[color]\n\tui = auto\n[color \"diff\"]\n\tmeta = yellow bold\n[column]\n\tui = auto",
            "[rerere]\n\tenabled = true\n[http]\n\tsslVerify = false",
            "[user]\n\tsigningkey = ABCDEF\n[receive]\n\tdenyCurrentBranch = updateInstead",
            "[uploadpack]\n\tallowFilter = true\n[log]\n\tdate = iso\n[status]\n\tshort = true",
            "[branch]\n\tautoSetupRebase = always\n[blame]\n\tdate = short",
            "[alias]\n\tst = status -sb\n\tlg = log --oneline --graph --all\n\tci = commit",
        ] {
            assert!(is_plain(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn settings_like_these_that_name_a_program_or_a_file_are_not_plain() {
        for line in [
            "[diff]\n\texternal = x",
            "[diff]\n\ttool = x",
            "[diff]\n\torderFile = x",
            "[diff \"x\"]\n\tcommand = x",
            "[diff \"x\"]\n\ttextconv = x",
            "[color]\n\tpager = true",
            "[http]\n\tsslCert = x",
            "[http]\n\tcookieFile = x",
            "[uploadpack]\n\tpackObjectsHook = x",
            "[receive]\n\tprocReceiveRefs = refs",
            "[log]\n\tshowSignature = true",
            "[branch \"main\"]\n\tmergeOptions = --strategy=x",
            "[blame]\n\tignoreRevsFile = x",
            "[status]\n\tsubmoduleSummary = true",
            "[alias]\n\tst = !x",
            "[alias]\n\tst = -c core.fsmonitor=x status",
            "[alias]\n\tst = rebase --exec x",
            "[alias]\n\tst = grep -Ox",
            "[alias]\n\tst = log --output=x",
            "[alias]\n\tst = diff --ou x",
            "[alias]\n\tst = diff '--ou' x",
        ] {
            assert!(!is_plain(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core] fsmonitor = ./x\n",
            "[core]\n\tbare = false \\\n\tfsmonitor = ./x\n",
            "[core]\n\tbare = \"false\n\tfsmonitor = x\"\n",
            "[core]\nworktree = /\n",
            "[submodule \"s\"]\n\tupdate = !x\n",
            "[submodule \"s\"]\n\turl = ext::x\n",
            "[remote \"o\"]\n\tpushurl = ext::x\n",
            "[filter \"x\"]\n\tclean = x\n",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = x\n",
            "[advice]\n\tx = a \\\n[core]\n\tfsmonitor = x\n",
            "[CORE]\n\tFSMonitor = ./x\n",
            "[include]\n\tpath = x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[core.x]\n\tbare = true\n",
            "[core]\n\tbare\n",
            "[core]\n\tbare = false\r\n\tfsmonitor = x\n",
            "x = y\n",
        ] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
        assert!(!is_plain(b"[core]\n\tbare = \xff\n"));
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
        for name in [
            "hooks/pre-commit",
            "commondir",
            "config.worktree",
            "modules/x",
            "modules/x/y",
            "rebase-x",
            "BISECT_NAMES",
            "rebase-merge/git-rebase-todo",
            "sequencer/opts",
        ] {
            not_with(name);
        }
        std::fs::remove_dir(git.join("rebase-merge")).unwrap();
        std::fs::remove_dir(git.join("sequencer")).unwrap();
        for name in ["BISECT_LOG", "BISECT_START", "rr-cache/x/preimage"] {
            let path = git.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
        }
        std::fs::write(git.join("BISECT_NAMES"), "\n").unwrap();
        assert!(is_plain_git_dir(&git), "{:?}", fs::names_in(&git));
        std::os::unix::fs::symlink(git.join("config"), git.join("info/config")).unwrap();
        assert!(is_plain_git_dir(&git));
        std::fs::rename(git.join("config"), git.join("info/other")).unwrap();
        std::os::unix::fs::symlink("info/other", git.join("config")).unwrap();
        assert!(!is_plain_git_dir(&git));
        assert!(!is_plain_git_dir(&scratch.path().join("none")));
    }

    #[test]
    fn a_git_file_leads_to_a_plain_submodule_of_a_repository_above_it() {
        let root = edt_testkit::tempdir().unwrap();
        let (modules, file) = (root.path().join("x/.git/modules"), root.path().join("x/sub/.git"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let leads = |text: &str| {
            std::fs::write(&file, format!("gitdir: ../.git/modules/{text}\n")).unwrap();
            leads_to_plain(&file, root.path())
        };
        // Nothing judges what is among the objects of a plain one.
        for (name, config) in [("sub", "worktree = ../../../sub"), ("sub/objects/y", "editor = x")]
        {
            std::fs::create_dir_all(modules.join(name)).unwrap();
            std::fs::write(modules.join(name).join("config"), format!("[core]\n{config}\n"))
                .unwrap();
        }
        assert!(leads("sub") && !leads("sub/objects/y") && !leads("none") && !leads("../../.."));
        let moved = |to: &str| {
            std::fs::write(modules.join("sub/config"), format!("[core]\nworktree = {to}\n"))
        };
        for to in ["../../..", "../../../..", "../../../.git/x", "../../../none/../../..", "/"] {
            moved(to).unwrap();
            assert!(!leads("sub"), "{to}");
        }
    }

    #[test]
    fn a_git_file_leads_only_to_submodules_and_worktrees() {
        let root = edt_testkit::tempdir().unwrap();
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

    #[test]
    fn a_git_directory_among_objects_is_no_submodule() {
        let scratch = edt_testkit::tempdir().unwrap();
        let modules = scratch.path().join("x/.git/modules");
        for place in ["sub", "sub/objects/y", "group/name", "sub/modules/inner"] {
            std::fs::create_dir_all(modules.join(place)).unwrap();
            std::fs::write(modules.join(place).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        for place in ["sub", "group/name", "sub/modules/inner"] {
            assert!(is_module(&modules.join(place), &modules), "{place}");
        }
        assert!(!is_module(&modules.join("sub/objects/y"), &modules));
        assert!(!is_module(&scratch.path().join("x"), &modules));
    }
}
