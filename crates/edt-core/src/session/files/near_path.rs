//! The file that a caller probably means by a path where nothing is.

use edt_git::Repo;
use edt_git::files::ListScope;
use edt_types::{Finding, RepoPath};

/// The most files that are named.
const MOST: usize = 5;

/// `finding`, which says that there is nothing at `path`, with the tracked files that may be meant.
#[must_use]
pub fn named(repo: &Repo, finding: Finding, path: &RepoPath) -> Finding {
    let all = repo.files(&[], ListScope::Tracked).unwrap_or_default();
    // Windows separates names by backslashes.
    let plain: Vec<u8> =
        path.as_bytes().iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
    let near = near(&plain, all.iter().map(|file| file.path.as_bytes()));
    let names: Vec<String> =
        near.iter().map(|path| RepoPath::from_tree(path).text()).take(MOST).collect();
    let remedy = match names.as_slice() {
        [] => return finding,
        [one] => format!("{one} is tracked. If you mean it, send that path. {}", finding.remedy),
        several => format!(
            "These are tracked: {}. If you mean one, send its path. {}",
            several.join(", "),
            finding.remedy
        ),
    };
    Finding { remedy, ..finding }.with("near", names)
}

/// The paths that end as `path` does, or as which `path` ends; else those with its file name.
/// Upper and lower case are equal.
fn near<'p>(path: &[u8], all: impl Iterator<Item = &'p [u8]> + Clone) -> Vec<&'p [u8]> {
    let is_end = |long: &[u8], short: &[u8]| {
        let at = long.len().checked_sub(short.len());
        at.is_some_and(|at| {
            long[at..].eq_ignore_ascii_case(short) && (at == 0 || long[at - 1] == b'/')
        })
    };
    let name = |path: &'p [u8]| path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let own = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let ends: Vec<&[u8]> =
        all.clone().filter(|other| is_end(other, path) || is_end(path, other)).collect();
    if !ends.is_empty() {
        return ends;
    }
    all.filter(|other| name(other).eq_ignore_ascii_case(own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_other_directories_or_another_case_is_near() {
        let all = ["demo/calculate.c", "src/lib.rs", "src/x/lib.rs", "README.md"];
        let near = |path: &str| -> Vec<String> {
            let all = all.iter().map(|path| path.as_bytes());
            let found = near(path.as_bytes(), all).into_iter();
            found.map(|path| String::from_utf8(path.to_vec()).unwrap()).collect()
        };
        assert_eq!(near("calculate.c"), ["demo/calculate.c"]);
        assert_eq!(near("project/src/lib.rs"), ["src/lib.rs"]);
        assert_eq!(near("x/lib.rs"), ["src/x/lib.rs"]);
        assert_eq!(near("other/lib.rs"), ["src/lib.rs", "src/x/lib.rs"]);
        assert_eq!(near("readme.MD"), ["README.md"]);
        assert_eq!(near("ate.c"), Vec::<String>::new());
    }
}
