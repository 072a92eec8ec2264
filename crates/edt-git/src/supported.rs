//! Which repositories edt can work in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use edt_io::disk::Dir;
use edt_io::enclosure::{self, Enclosure};
use edt_io::fs::real_path as real;
use edt_io::names::NameKind;
use edt_io::{Environment, failed, planted};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// Extensions of `core.repositoryFormatVersion` 1 that do not affect edt, or that it honours.
const EXTENSIONS: &[&str] = &[
    "objectformat",
    "worktreeconfig",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "noop",
    "noop-v1",
];

pub(super) fn check_supported(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    if !(0..=1).contains(&version) {
        return Err(unsupported(&format!("its format version {version} is unknown")).into());
    }
    for section in config.plumbing().sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.clone().to_ascii_lowercase();
            let value = config
                .string(format!("extensions.{name}").as_str())
                .unwrap_or_default()
                .to_string();
            let is_known = ["files", super::reftable::NAME]
                .iter()
                .any(|known| name == "refstorage" && value.eq_ignore_ascii_case(known));
            if !is_known && !EXTENSIONS.contains(&name.as_str()) {
                return Err(unsupported(&format!("it uses the extension {name} = {value}")).into());
            }
        }
    }
    Ok(())
}

/// Refuses a worktree that `core.worktree` or the environment puts into the Git directory itself:
/// its files would be hooks and configuration. A linked worktree may be in the Git directory, but
/// not where Git keeps its own files.
pub(super) fn check_outside_git_dir(repo: &gix::Repository, root: &Path) -> Result<()> {
    // The usual case: `.git` at the root.
    if repo.git_dir() == root.join(".git") && repo.common_dir() == repo.git_dir() {
        return Ok(());
    }
    let root = real(root);
    let inside = |dir: &Path| root.strip_prefix(real(dir)).ok().map(Path::to_owned);
    let linked = repo.common_dir() != repo.git_dir();
    let git_names = ["hooks", "info", "logs", "modules", "objects", "refs", "worktrees", "edt"];
    let is_git_file = |below: &PathBuf| match below.components().next() {
        None => true,
        Some(first) => !linked || git_names.iter().any(|name| first.as_os_str() == *name),
    };
    if inside(repo.git_dir()).is_some()
        || inside(repo.common_dir()).is_some_and(|below| is_git_file(&below))
    {
        return Err(unsupported(&format!(
            "its worktree {} is inside its own Git directory",
            root.shown()
        ))
        .into());
    }
    Ok(())
}

/// Refuses a Git directory that belongs to another worktree, and a worktree without a `.git` that
/// leads to its Git directory or in which `start` is not. Whoever may write below a worktree can
/// plant a repository there, and its `core.worktree`, `gitdir`, `commondir` and links name any
/// directory. `GIT_DIR` and `GIT_WORK_TREE` are the user's words: with them nothing is compared.
pub(super) fn check_in_place(repo: &gix::Repository, start: &Path) -> Result<()> {
    // `Repo::of` refuses a bare repository.
    let Some(root) = repo.workdir() else { return Ok(()) };
    let dot_git = root.join(".git");
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let has_links = ["HEAD", "objects", "refs"].iter().any(|name| is_link(&dot_git.join(name)));
    // The usual case: a directory `.git` at the root.
    let is_usual = repo.git_dir() == dot_git && repo.common_dir() == repo.git_dir();
    if is_usual && !has_links && !is_link(&dot_git) {
        return Ok(());
    }
    let (root, git_dir, common) = (real(root), real(repo.git_dir()), real(repo.common_dir()));
    let elsewhere = |why: &str| {
        let why = format!("{why} (Git directory {}, worktree {})", git_dir.shown(), root.shown());
        Finding {
            remedy:
                "Work in the directory whose `.git` leads to the repository. If the user wants \
                     it so, they start edt with GIT_DIR and GIT_WORK_TREE set."
                    .to_owned(),
            ..unsupported(&why)
        }
    };
    let leads = target(&root.join(".git")).is_some_and(|target| real(&target) == git_dir);
    if !leads || !real(start).starts_with(&root) {
        return Err(elsewhere("its worktree has no `.git` that leads to it").into());
    }
    let others = "its Git directory belongs to another worktree";
    let mut is_registered = false;
    if git_dir == common {
        let is_named = git_dir.file_name().is_some_and(|name| name == ".git");
        if is_named && git_dir.parent() != Some(&root) {
            return Err(elsewhere(others).into());
        }
    } else {
        if git_dir.parent() != Some(&common.join("worktrees")) {
            let why = "its `commondir` names a repository to which the worktree was not added";
            return Err(elsewhere(why).into());
        }
        // A worktree that was moved leaves its old path; one that is mounted twice has two.
        let named = first_line(&git_dir.join("gitdir")).map(|line| git_dir.join(line));
        let named = named.as_deref().filter(|named| named.exists()).and_then(Path::parent);
        is_registered = named.is_some_and(|named| is_same(named, &root));
        if named.is_some() && !is_registered {
            return Err(elsewhere(others).into());
        }
    }
    // Inside another repository's worktree, only that repository and the directory itself may have
    // the Git directory, unless its own repository registered the worktree.
    let outer = root
        .ancestors()
        .skip(1)
        .find(|outer| outer.join(".git").symlink_metadata().is_ok() || is_git_directory(outer));
    let Some(outer) = outer.filter(|_| !is_registered) else { return Ok(()) };
    let own = [Some(root.clone()), common_dir_at(outer)];
    let is_own = |path: &Path| own.iter().flatten().any(|own| real(path).starts_with(own));
    if ["", "HEAD", "objects", "refs"].iter().all(|name| is_own(&git_dir.join(name))) {
        return Ok(());
    }
    let why = format!("it is inside the worktree {} and outside its repository", outer.shown());
    Err(elsewhere(&why).into())
}

/// Refuses the repository of the home directory for a directory below it: whoever keeps settings in
/// one did not mean every project to be in it.
pub(super) fn check_not_home(
    environment: Environment,
    repo: &gix::Repository,
    start: &Path,
) -> Result<()> {
    let home = environment.var("HOME").filter(|home| !home.is_empty());
    let (Some(home), Some(root)) = (home, repo.workdir()) else { return Ok(()) };
    let (root, home) = (real(root), Path::new(&home));
    if root != real(home) || real(start) == root {
        return Ok(());
    }
    Err(Finding::new(
        Code::NotARepository,
        format!(
            "{} is in no repository but that of the home directory {}.",
            start.shown(),
            root.shown()
        ),
        "Create a repository here with `git init`. If the one of the home directory is meant, call \
         edt there, or with -C.",
    )
    .nothing_changed()
    .into())
}

/// The common directory of the repository whose worktree has this root, without symbolic links.
#[must_use]
pub fn common_dir_at(root: &Path) -> Option<PathBuf> {
    let git_dir = real(&target(&root.join(".git"))?);
    let common = first_line(&git_dir.join("commondir"));
    Some(common.map_or_else(|| git_dir.clone(), |line| real(&git_dir.join(line))))
}

/// Whether the Git directory `common` is in the worktree of another repository, and is not that
/// repository's own (a submodule): whoever may write there may have made it.
pub(super) fn is_in_other_worktree(common: &Path) -> bool {
    let common = real(common);
    common.ancestors().skip(1).any(|above| {
        let other = common_dir_at(above).filter(|other| other.join("HEAD").exists());
        other.is_some_and(|other| !common.starts_with(other))
    })
}

/// What is written in a Git directory under a fixed name, those above first. HEAD may be a link to a
/// branch, as in old repositories: it is replaced, not written.
const WRITTEN: &[&str] = &[
    "config",
    "config.worktree",
    "edt",
    "index",
    "info",
    "logs",
    "logs/HEAD",
    "logs/refs",
    "logs/refs/heads",
    "objects",
    "objects/info",
    "objects/info/commit-graphs",
    "objects/pack",
    "packed-refs",
    "refs",
    "refs/heads",
    "refs/worktree",
    "reftable",
    "worktrees",
];

/// Encloses the Git directories of a repository: while the answer is held, nothing is written
/// through a link below them.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` if a link is there already.
pub(super) fn enclosed(git_dir: &Path, common_dir: &Path) -> Result<Vec<Arc<Enclosure>>> {
    let mut all = Vec::new();
    for directory in [common_dir, git_dir] {
        if all.is_empty() || git_dir != common_dir {
            let held = Enclosure::hold(directory)
                .map_err(|error| failed("open the Git directory", directory, &error))?;
            check_no_links(held.directory(), directory)?;
            all.push(held);
        }
    }
    Ok(all)
}

/// Refuses a Git directory in which a link leads away from what is written: by edt, which follows
/// none, and by the Git that it starts, which would.
fn check_no_links(directory: &Dir, path: &Path) -> Result<()> {
    if let Some((name, what)) = enclosure::planted(directory, WRITTEN) {
        return Err(planted(&path.join(name), what).nothing_changed().into());
    }
    let mut link = None;
    let below = directory.each_name(b"objects", |name, kind| {
        if kind == NameKind::Link {
            link.get_or_insert_with(|| OsStr::from_bytes(name).to_owned());
        }
    });
    below.map_err(|error| failed("read", &path.join("objects"), &error))?;
    match link {
        Some(name) => {
            let name = path.join("objects").join(name);
            Err(planted(&name, "a link").nothing_changed().into())
        }
        None => Ok(()),
    }
}

fn is_git_directory(directory: &Path) -> bool {
    ["HEAD", "objects", "refs"].iter().all(|name| directory.join(name).exists())
}

/// Whether both are the same directory, which may be mounted at several places.
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let inode = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    inode(one).is_some() && inode(one) == inode(other)
}

/// What a `.git` leads to: itself, or the directory that the file names.
fn target(dot_git: &Path) -> Option<PathBuf> {
    if dot_git.is_dir() {
        return Some(dot_git.to_owned());
    }
    let line = first_line(dot_git)?;
    Some(dot_git.parent()?.join(line.strip_prefix("gitdir:")?.trim()))
}

/// The nearest `.git` file at or above `start`, with the directory that it names, if that is missing.
pub(super) fn missing_git_dir(start: &Path) -> Option<(PathBuf, PathBuf)> {
    let start = real(start);
    let dot_gits = start.ancestors().map(|directory| directory.join(".git"));
    let dot_git = dot_gits.into_iter().find(|path| path.symlink_metadata().is_ok())?;
    let target = target(&dot_git)?;
    (!target.exists()).then_some((dot_git, target))
}

fn first_line(file: &Path) -> Option<String> {
    let text = edt_io::fs::read_one_block(file).ok()?;
    Some(text.lines().next()?.trim_end().to_owned())
}

pub(super) fn unsupported(why: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("edt cannot work in this repository: {why}."),
        "Use an ordinary worktree (`git init`, `git clone`, `git worktree add`).",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::Repo;
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "Git makes what is judged")]
    fn git(at: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(at).args(["-c", "user.name=U", "-c", "user.email=u@x"]).args(args);
        assert!(command.output().unwrap().status.success(), "{args:?}");
    }

    /// A directory with a worktree `tree` that has a commit, its linked worktree `linked`, and a
    /// directory `home`.
    fn scratch() -> tempfile::TempDir {
        let scratch = edt_testkit::tempdir().unwrap();
        for name in ["tree/sub", "home"] {
            std::fs::create_dir_all(scratch.path().join(name)).unwrap();
        }
        git(&scratch.path().join("tree"), &["init", "--quiet", "-b", "main"]);
        git(&scratch.path().join("tree"), &["commit", "--quiet", "--allow-empty", "-m", "x"]);
        git(&scratch.path().join("tree"), &["worktree", "add", "--quiet", "../linked"]);
        scratch
    }

    fn refused(at: &Path) -> bool {
        let by_search = Repo::open(at).is_err();
        assert_eq!(Repo::open_worktree(Environment::Isolated, at).is_err(), by_search, "{at:?}");
        by_search
    }

    #[test]
    fn a_planted_repository_leads_nowhere_else() {
        let scratch = scratch();
        let (root, sub) = (scratch.path(), scratch.path().join("tree/sub"));
        let home = root.join("home");
        let clear = || {
            let _ = std::fs::remove_dir_all(sub.join(".git"));
            let _ = std::fs::remove_file(sub.join(".git"));
        };
        let file = |text: String| {
            clear();
            std::fs::write(sub.join(".git"), text).unwrap();
        };
        git(&sub, &["init", "--quiet"]);
        assert!(!refused(&sub));
        git(&sub, &["config", "core.worktree", home.to_str().unwrap()]);
        assert!(refused(&sub));
        clear();
        git(&sub, &["init", "--quiet"]);
        let common = root.join("tree/.git");
        std::fs::write(sub.join(".git/commondir"), common.to_str().unwrap()).unwrap();
        assert!(refused(&sub));
        file(format!("gitdir: {}\n", common.display()));
        assert!(refused(&sub));
        file(format!("gitdir: {}\n", common.join("worktrees/linked").display()));
        assert!(refused(&sub));
        git(root, &["init", "--quiet", "--separate-git-dir", "tree/sub/store", "other"]);
        git(root, &["-C", "other", "config", "core.worktree", home.to_str().unwrap()]);
        file("gitdir: store\n".to_owned());
        assert!(refused(&sub));
        // The Git directory of another repository's submodule, which leads back to that.
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        git(root, &["init", "--quiet", "super"]);
        let url = root.join("tree");
        git(&root.join("super"), &[&add[..], &[url.to_str().unwrap(), "module"]].concat());
        file(format!("gitdir: {}\n", root.join("super/.git/modules/module").display()));
        assert!(refused(&sub));
        // Stores of other repositories, whatever they are called; whole, or in parts.
        git(root, &["init", "--quiet", "--separate-git-dir", "store", "apart"]);
        let store = root.join("store");
        file(format!("gitdir: {}\n", store.display()));
        assert!(refused(&sub));
        for victim in [store, root.join("super/.git")] {
            clear();
            std::os::unix::fs::symlink(&victim, sub.join(".git")).unwrap();
            assert!(refused(&sub), "{victim:?}");
            std::fs::remove_file(sub.join(".git")).unwrap();
            git(&sub, &["init", "--quiet"]);
            std::fs::remove_dir_all(sub.join(".git/refs")).unwrap();
            std::os::unix::fs::symlink(victim.join("refs"), sub.join(".git/refs")).unwrap();
            assert!(refused(&sub), "{victim:?}");
        }
    }

    #[test]
    fn every_arrangement_that_git_makes_is_in_place() {
        let scratch = scratch();
        let root = scratch.path();
        assert!(!refused(&root.join("tree")) && !refused(&root.join("linked")));
        git(root, &["init", "--quiet", "--separate-git-dir", "store", "apart"]);
        assert!(!refused(&root.join("apart")));
        std::fs::rename(root.join("linked"), root.join("moved")).unwrap();
        assert!(!refused(&root.join("moved")));
        let url = root.join("tree");
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        git(&root.join("apart"), &[&add[..], &[url.to_str().unwrap(), "module"]].concat());
        assert!(!refused(&root.join("apart/module")));
        git(&root.join("moved"), &[&add[..], &[url.to_str().unwrap(), "module"]].concat());
        assert!(!refused(&root.join("moved/module")));
        std::os::unix::fs::symlink("../store", root.join("home/.git")).unwrap();
        assert!(!refused(&root.join("home")));
    }
}
