//! Selects files by paths, globs, and whether ignored files count.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::ignore_files::IgnoreFiles;
use edt_core::session::files::{near_path, path_findings};
use edt_git::Repo;
use edt_git::files::{ListScope, ListedFile, ListedKind};
use edt_io::disk::Parent;
use edt_types::{Code, Finding, RepoPath, Result};

/// A request for files.
#[derive(Debug)]
pub(crate) struct Selection {
    below: Vec<RepoPath>,
    wanted: Option<GlobSet>,
    unwanted: GlobSet,
    which: ListScope,
}

/// The files of a [`Selection`].
#[derive(Debug)]
pub(crate) struct Selected {
    /// The files, in order of their paths' bytes.
    pub files: Vec<ListedFile>,
    /// The requested paths that exist on disk but have no selected file: they are ignored or empty.
    pub unlisted: Vec<RepoPath>,
}

impl Selection {
    /// The files at or below `below`, or all. A glob without `/` matches file names, with `/` it
    /// matches paths; `!` before it excludes.
    ///
    /// # Errors
    /// `BAD_REQUEST` for a glob.
    pub(crate) fn new(
        below: Vec<RepoPath>,
        globs: &[String],
        which: ListScope,
    ) -> Result<Selection> {
        let (unwanted, wanted): (Vec<&String>, Vec<&String>) =
            globs.iter().partition(|glob| glob.starts_with('!'));
        let wanted = if wanted.is_empty() {
            None
        } else {
            Some(set(wanted.into_iter().map(String::as_str))?)
        };
        let unwanted = set(unwanted.into_iter().map(|glob| &glob[1..]))?;
        Ok(Selection { below, wanted, unwanted, which })
    }

    /// The selected files.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `PATH_THROUGH_SYMLINK`, `PATH_OUTSIDE_REPO` for a path; `IO_ERROR`.
    pub(crate) fn of(&self, repo: &Repo) -> Result<Selected> {
        let mut files = repo.files(&self.below, self.which)?;
        let mut unlisted = Vec::new();
        for path in &self.below {
            let listed = files.iter().any(|file| is_at_or_below(&file.path, path));
            match Place::of(repo, path)? {
                _ if listed => {}
                Place::Nowhere => return Err(near_path::named(repo, not_found(path), path).into()),
                Place::OnDisk => unlisted.push(path.clone()),
            }
        }
        files.retain(|file| self.fits(&file.path));
        Ok(Selected { files, unlisted })
    }

    /// The selected files, without those that `.ignore` files exclude.
    ///
    /// # Errors
    /// As [`Selection::of`].
    pub(crate) fn searched(&self, repo: &Repo) -> Result<Selected> {
        let mut selected = self.of(repo)?;
        if self.which != ListScope::All {
            let mut ignore_files = IgnoreFiles::new(repo.root());
            selected.files.retain(|file| {
                self.below.contains(&file.path) || !ignore_files.excludes(&file.path)
            });
        }
        Ok(selected)
    }

    fn fits(&self, path: &RepoPath) -> bool {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
        self.wanted.as_ref().is_none_or(|wanted| wanted.is_match(path))
            && !self.unwanted.is_match(path)
    }
}

/// Whether a requested path exists.
enum Place {
    Nowhere,
    OnDisk,
}

impl Place {
    /// Refuses a path through a symbolic link or into another repository, because its target is not
    /// in this worktree.
    fn of(repo: &Repo, path: &RepoPath) -> Result<Place> {
        let other = |above: &[u8]| {
            let above = RepoPath::from_tree(above);
            let found =
                repo.files(std::slice::from_ref(&above), ListScope::Tracked).unwrap_or_default();
            let submodule =
                found.iter().any(|file| file.kind == ListedKind::Repository && file.path == above);
            let dir = repo.root().beneath(above.as_bytes());
            let has_git =
                matches!(dir, Ok(Parent::Open(dir)) if matches!(dir.stat(b".git"), Ok(Some(_))));
            submodule || (has_git && !found.iter().any(|file| file.path == *path))
        };
        if let Some(above) = path.parents().find(|above| other(above)) {
            let above = String::from_utf8_lossy(above).into_owned();
            let message = format!("{path} is in {above}, which is another repository.");
            let hint = format!(
                "Run edt in that repository: `edt -C {} …`.",
                edt_types::text::shell_word(above.as_bytes())
            );
            return Err(Finding::new(Code::PathOutsideRepo, message, hint).at(path).into());
        }
        let (directory, name) = path.split();
        let wrap = |error| edt_io::failed("look at", &repo.root_path().join(path.text()), &error);
        Ok(match repo.root().beneath(directory).map_err(wrap)? {
            Parent::Symlink => return Err(path_findings::symlink(repo, path).into()),
            Parent::Open(dir) if dir.stat(name).map_err(wrap)?.is_some() => Place::OnDisk,
            Parent::Open(_) | Parent::Missing | Parent::NotADirectory => Place::Nowhere,
        })
    }
}

fn not_found(path: &RepoPath) -> Finding {
    let message = format!("The file or directory {path} does not exist.");
    Finding::new(
        Code::FileNotFound,
        message,
        "Check the path; `edt ls --dirs` lists the directories.",
    )
    .at(path)
}

fn is_at_or_below(path: &RepoPath, root: &RepoPath) -> bool {
    let rest = path.as_bytes().strip_prefix(root.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn set<'a>(globs: impl Iterator<Item = &'a str>) -> Result<GlobSet> {
    let wrong = |error: &globset::Error| {
        let message = format!("A glob cannot be read: {error}.");
        let hint = "Write globs such as '*.rs', 'src/**/*.c' or '!tests/**'.";
        Finding::new(Code::BadRequest, message, hint)
    };
    let mut all = GlobSetBuilder::new();
    for glob in globs {
        let pattern = if glob.contains('/') {
            glob.trim_start_matches('/').to_owned()
        } else {
            format!("**/{glob}")
        };
        all.add(
            GlobBuilder::new(&pattern)
                .literal_separator(true)
                .build()
                .map_err(|error| wrong(&error))?,
        );
    }
    all.build().map_err(|error| wrong(&error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_matches_file_names() {
        let fits = |globs: &[&str], path: &str| {
            let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
            Selection::new(Vec::new(), &globs, ListScope::Tracked)
                .unwrap()
                .fits(&RepoPath::from_tree(path.as_bytes()))
        };
        assert!(
            fits(&[], "a")
                && fits(&["*.rs"], "a.rs")
                && fits(&["*.rs"], "x/y/a.rs")
                && fits(&["/x/*.rs"], "x/a.rs")
        );
        assert!(
            !fits(&["x/*.rs"], "x/y/a.rs")
                && fits(&["x/**/*.rs"], "x/y/a.rs")
                && fits(&["x/**/*.rs"], "x/a.rs")
        );
        assert!(
            !fits(&["!*.rs"], "a.rs")
                && fits(&["!*.rs"], "a.c")
                && !fits(&["x/**", "!*.rs"], "x/a.rs")
        );
        assert!(fits(&["*.{c,h}"], "x/a.h"));
    }

    use edt_testkit::ScratchRepo;

    fn parsed(paths: &[&str]) -> Vec<RepoPath> {
        paths.iter().map(|path| RepoPath::parse(path.as_bytes()).unwrap()).collect()
    }

    fn selected(repo: &ScratchRepo, paths: &[&str], globs: &[&str]) -> Result<Selected> {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let selection = Selection::new(parsed(paths), &owned(globs), ListScope::NotIgnored)?;
        selection.of(&Repo::open(repo.path()).unwrap())
    }

    fn names(files: &[ListedFile]) -> Vec<String> {
        files.iter().map(|file| file.path.text()).collect()
    }

    fn repo() -> ScratchRepo {
        ScratchRepo::with(&[("a.txt", "a\n"), ("src/b.c", "b\n"), ("src2/c.c", "c\n")])
    }

    #[test]
    fn a_directory_selects_the_files_below_it() {
        let found = selected(&repo(), &["src"], &[]).unwrap();
        assert_eq!(names(&found.files), ["src/b.c"]);
    }

    #[test]
    fn paths_and_globs_must_both_match() {
        let found = selected(&repo(), &["src", "a.txt"], &["*.c"]).unwrap();
        assert_eq!(names(&found.files), ["src/b.c"]);
    }

    #[test]
    fn a_path_that_does_not_exist_is_refused() {
        let path = RepoPath::parse(b"sr").unwrap();
        assert_eq!(
            selected(&repo(), &["sr"], &[]).map(|_| ()),
            Err(Finding::new(
                Code::FileNotFound,
                "The file or directory sr does not exist.",
                "Check the path; `edt ls --dirs` lists the directories."
            )
            .at(&path)
            .into())
        );
    }

    #[test]
    fn an_ignored_path_is_not_missing() {
        let repo = repo();
        std::fs::write(repo.path().join(".gitignore"), "build\n").unwrap();
        std::fs::create_dir(repo.path().join("build")).unwrap();
        std::fs::write(repo.path().join("build/x"), "x\n").unwrap();
        let found = selected(&repo, &["build"], &[]).unwrap();
        assert_eq!(
            (names(&found.files), found.unlisted),
            (vec![], vec![RepoPath::parse(b"build").unwrap()])
        );
    }

    #[test]
    fn a_path_behind_a_symbolic_link_is_refused() {
        let repo = repo();
        std::os::unix::fs::symlink("src", repo.path().join("link")).unwrap();
        let found = selected(&repo, &["link/b.c"], &[]).unwrap_err();
        assert_eq!(found.as_slice()[0].remedy, "Send its own path: src/b.c.");
    }

    #[test]
    fn a_path_in_another_repository_names_that_repository() {
        let repo = repo();
        std::fs::create_dir_all(repo.path().join("my lib/.git")).unwrap();
        std::fs::write(repo.path().join("my lib/x"), "x\n").unwrap();
        let found = selected(&repo, &["my lib/x"], &[]).unwrap_err();
        assert_eq!(
            (found.as_slice()[0].summary.as_str(), found.as_slice()[0].remedy.as_str()),
            (
                "my lib/x is in my lib, which is another repository.",
                "Run edt in that repository: `edt -C 'my lib' …`."
            )
        );
    }

    #[test]
    fn a_broken_glob_is_refused() {
        let found = selected(&repo(), &[], &["[a"]).unwrap_err();
        assert_eq!(found.as_slice()[0].code, Code::BadRequest);
    }

    #[test]
    fn an_ignore_file_applies_to_a_search_unless_the_file_is_named() {
        let repo = repo();
        std::fs::write(repo.path().join(".ignore"), "*.c\n!c.c\n").unwrap();
        let searched = |paths: &[&str]| {
            let selection = Selection::new(parsed(paths), &[], ListScope::Tracked).unwrap();
            names(&selection.searched(&Repo::open(repo.path()).unwrap()).unwrap().files)
        };
        assert_eq!(searched(&[]), ["a.txt", "src2/c.c"]);
        assert_eq!(searched(&["src"]), Vec::<String>::new());
        assert_eq!(searched(&["src/b.c"]), ["src/b.c"]);
    }

    #[test]
    fn the_innermost_ignore_file_decides() {
        let repo = repo();
        std::fs::write(repo.path().join(".ignore"), "*.c\n").unwrap();
        std::fs::write(repo.path().join("src/.ignore"), "!b.c\n").unwrap();
        let selection = Selection::new(Vec::new(), &[], ListScope::Tracked).unwrap();
        let found = selection.searched(&Repo::open(repo.path()).unwrap()).unwrap();
        assert_eq!(names(&found.files), ["a.txt", "src/b.c"]);
    }
}
