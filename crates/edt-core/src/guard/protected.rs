//! Paths that only the user may change, as `[[protect]]` in the base commit's `edt.toml` lists
//! them.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::{Code, Finding, RepoPath};

/// The guard `protected_path`.
#[derive(Debug)]
pub struct ProtectedPath;

impl Guard for ProtectedPath {
    fn name(&self) -> &'static str {
        "protected_path"
    }

    fn rule(&self) -> &'static str {
        "The path, or the one it came from, is listed under [[protect]] in edt.toml."
    }

    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let mut paths = std::iter::once(file.path).chain(file.from);
        let found = paths.find(|path| context.policy.protects(path));
        GuardOutput::of(self.name(), found.map(finding))
    }
}

/// `PROTECTED_PATH` for `path`.
#[must_use]
pub fn finding(path: &RepoPath) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!("{path} is protected by edt.toml in the session's base commit."),
        "The user must make this change. Leave this path out of the request; the other edits can \
         be sent without it.",
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn codes(path: &str, from: Option<&str>) -> Vec<Code> {
        let policy = Policy::of(None, Some("[[protect]]\npaths = [\"ci/**\"]\n")).unwrap();
        let parse = |name: &str| RepoPath::parse(name.as_bytes()).unwrap();
        let (path, from) = (parse(path), from.map(parse));
        let limit = policy.time_limit;
        let file = Subject::new(&path, from.as_ref(), None, Some(b"x\n"), Vec::new(), limit);
        let outputs = ProtectedPath.check(&file, &GuardContext { policy: &policy, site: None });
        let found = outputs.into_iter().flat_map(GuardOutput::into_findings);
        found.map(|finding| finding.code).collect()
    }

    #[test]
    fn a_protected_path_may_not_be_written() {
        assert_eq!(codes("ci/a.yml", None), [Code::ProtectedPath]);
        assert_eq!(codes("src/a.c", None), []);
    }

    #[test]
    fn a_file_may_not_move_away_from_a_protected_path() {
        assert_eq!(codes("src/a.yml", Some("ci/a.yml")), [Code::ProtectedPath]);
    }
}
