//! Paths that only the user may change: those of `[[protect]]` in the base commit's `edt.toml`, and
//! files that other programs execute by themselves.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use crate::executed;
use crate::policy::{Policy, ProtectedBy};
use edt_types::{Code, Finding, RepoPath};

/// The guard `protected_path`.
#[derive(Debug)]
pub struct ProtectedPath;

impl Guard for ProtectedPath {
    fn name(&self) -> &'static str {
        "protected_path"
    }

    fn rule(&self) -> &'static str {
        "The path, or the one it came from, is listed under [[protect]] in edt.toml; or another \
         program executes the file by itself (settings of editors and agents, hooks, start-up files \
         of shells, pipelines, edt.toml); or a name in the path is hidden and not known to be \
         harmless; or a new line of .gitattributes names a driver."
    }

    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let mut paths = std::iter::once(file.path).chain(file.from);
        let policy = context.policy;
        let found = paths.find_map(|path| {
            if policy.protects(path) {
                return Some(finding(policy, path));
            }
            (adds_program(path, file) && !policy.is_excepted(path)).then(|| {
                let what = "makes Git execute a program of its configuration (a driver)";
                refusal(path, format!("A new line of {path} {what}."))
            })
        });
        let instructions = executed::is_instructions(file.path) && !policy.is_excepted(file.path);
        if found.is_none() && instructions {
            let message = format!("Agents read {} as instructions: review the change.", file.path);
            return vec![GuardOutput::Noted { word: "agent_instructions", message }];
        }
        GuardOutput::of(self.name(), found)
    }
}

/// Whether the new text has a line with which a program executes something, and the old one does
/// not have it.
fn adds_program(path: &RepoPath, file: &Subject<'_>) -> bool {
    // The lines of a file under another name did nothing.
    let before = file.before.filter(|_| file.from.is_none()).unwrap_or_default();
    let before = executed::lines_that_ask(path, before);
    let after = executed::lines_that_ask(path, file.after.unwrap_or_default());
    after.iter().any(|line| !before.contains(line))
}

/// `PROTECTED_PATH` for a path that `policy` protects.
#[must_use]
pub fn finding(policy: &Policy, path: &RepoPath) -> Finding {
    let summary = match policy.protected_by(path) {
        Some(ProtectedBy::Program(program)) => {
            format!("{path} is protected: {program} executes it, or what it names.")
        }
        Some(ProtectedBy::HiddenName) => format!(
            "{path} is protected: its name is hidden, and edt does not know that no program \
             executes it."
        ),
        Some(ProtectedBy::Link(link)) => {
            format!("{path} is protected: {link} leads to it, and such a name is protected.")
        }
        Some(ProtectedBy::Policy) | None => {
            format!("{path} is protected by edt.toml in the session's base commit.")
        }
    };
    refusal(path, summary)
}

fn refusal(path: &RepoPath, summary: String) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        summary,
        "The user must make this change. Leave this path out of the request; the other edits can \
         be sent without it.",
    )
    .nothing_changed()
    .at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(policy: &Policy, names: (&str, Option<&str>), texts: [&str; 2]) -> Vec<GuardOutput> {
        let parse = |name: &str| RepoPath::parse(name.as_bytes()).unwrap();
        let (path, from) = (parse(names.0), names.1.map(parse));
        let [before, after] = texts.map(|text| Some(text.as_bytes()));
        let limit = policy.time_limit;
        let file = Subject::new(&path, from.as_ref(), before, after, Vec::new(), limit);
        ProtectedPath.check(&file, &GuardContext { policy, site: None })
    }

    fn codes(path: &str, from: Option<&str>) -> Vec<Code> {
        let policy = Policy::of(None, Some("[[protect]]\npaths = [\"ci/**\"]\n")).unwrap();
        let found = outputs(&policy, (path, from), ["", "x\n"]);
        let found = found.into_iter().flat_map(GuardOutput::into_findings);
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

    #[test]
    fn a_file_that_another_program_executes_is_protected_in_every_repository() {
        assert_eq!(codes(".claude/settings.json", None), [Code::ProtectedPath]);
        assert_eq!(codes("x.json", Some(".vscode/tasks.json")), [Code::ProtectedPath]);
    }

    #[test]
    fn a_hidden_name_is_protected_unless_it_is_known_to_be_harmless() {
        assert_eq!(codes(".unknown", None), [Code::ProtectedPath]);
        assert_eq!(codes("a/.unknown/b.txt", None), [Code::ProtectedPath]);
        assert_eq!(codes("x.json", Some(".unknown")), [Code::ProtectedPath]);
        assert_eq!((codes("a/.gitignore", None), codes(".editorconfig", None)), (vec![], vec![]));
        let policy = Policy::of(None, None).unwrap();
        let path = RepoPath::parse(b".unknown").unwrap();
        assert_eq!(
            finding(&policy, &path).summary,
            ".unknown is protected: its name is hidden, and edt does not know that no program \
             executes it."
        );
    }

    #[test]
    fn only_new_lines_with_a_driver_are_protected_in_gitattributes() {
        let policy = Policy::of(None, None).unwrap();
        let passes = |before: &str, after: &str| {
            outputs(&policy, ("sub/.gitattributes", None), [before, after]) == [GuardOutput::Pass]
        };
        assert!(passes("", "*.txt eol=lf\n"));
        assert!(passes("*.bin filter=lfs\n", "*.txt eol=lf\n*.bin filter=lfs\n"));
        assert!(!passes("*.bin filter=lfs\n", "* filter=lfs\n"));
        let (text, names) = ("* filter=lfs\n", (".gitattributes", Some("sub/.gitattributes")));
        assert_ne!(outputs(&policy, names, [text, text]), [GuardOutput::Pass]);
    }

    #[test]
    fn instructions_of_agents_are_noted() {
        let policy = Policy::of(None, None).unwrap();
        let found = outputs(&policy, ("sub/AGENTS.md", None), ["", "x\n"]);
        let message = "Agents read sub/AGENTS.md as instructions: review the change.".to_owned();
        assert_eq!(found, [GuardOutput::Noted { word: "agent_instructions", message }]);
    }
}
