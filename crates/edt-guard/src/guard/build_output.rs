//! A landing must not publish what a build or a program left behind: a new binary file is landed
//! only if somebody says so. An edit of one file is not checked: `binary_content` does that.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use edt_types::text::{counted, is_binary};
use edt_types::{Code, Finding, RepoPath};

/// The guard `build_output`.
#[derive(Debug)]
pub struct BuildOutput;

impl Guard for BuildOutput {
    fn name(&self) -> &'static str {
        "build_output"
    }

    fn rule(&self) -> &'static str {
        "A landing would add a new binary file. A binary file that only moves is not new."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        if !file.is_landing() {
            return Vec::new();
        }
        let new = file.after.filter(|after| file.before.is_none() && is_binary(after));
        let found = new.filter(|after| !file.has_had(after));
        GuardOutput::of(self.name(), found.map(|after| explain(file.path, after.len())))
    }
}

fn explain(path: &RepoPath, bytes: usize) -> Finding {
    Finding::new(
        Code::BuildOutput,
        format!("The landing would add the new binary file {path} ({}).", counted(bytes, "byte")),
        "If a build or a program left it behind, remove it in the session and let `.gitignore` \
         list it.",
    )
    .nothing_changed()
    .or_override("If the file belongs to the project, repeat with allow: [\"build_output\"].")
    .at(path)
    .with("bytes", bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Transaction, TransactionFile};
    use crate::policy::Policy;

    const BINARY: &[u8] = b"\x7fELF\0\0";

    fn outputs(
        before: Option<&[u8]>,
        after: &[u8],
        elsewhere: &[u8],
        landing: bool,
    ) -> Vec<GuardOutput> {
        let policy = Policy::of(None, None).unwrap();
        let (path, other) = (RepoPath::from_tree(b"out.bin"), RepoPath::from_tree(b"old.bin"));
        let other = TransactionFile { path: &other, before: elsewhere, after: b"" };
        let transaction = Transaction::new(vec![other]);
        let file = Subject::new(&path, None, before, Some(after), Vec::new(), policy.time_limit)
            .in_transaction(&transaction);
        let file = if landing { file.in_landing() } else { file };
        BuildOutput.check(&file, &GuardContext { policy: &policy, site: None })
    }

    #[test]
    fn a_landing_that_adds_a_binary_file_is_held() {
        let finding = explain(&RepoPath::from_tree(b"out.bin"), BINARY.len());
        assert_eq!(
            outputs(None, BINARY, b"", true),
            GuardOutput::of("build_output", Some(finding))
        );
    }

    #[test]
    fn text_and_known_binary_files_land() {
        assert_eq!(outputs(None, b"text\n", b"", true), [GuardOutput::Pass]);
        assert_eq!(outputs(Some(b"\0old"), BINARY, b"", true), [GuardOutput::Pass]);
        assert_eq!(outputs(None, BINARY, BINARY, true), [GuardOutput::Pass]);
    }

    #[test]
    fn an_edit_is_not_checked() {
        assert_eq!(outputs(None, BINARY, b"", false), []);
    }
}
