//! The files that an approval covers, and whether they are as they were when it was looked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use edt_git::sha256;
use edt_io::fs;
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, RepoPath, Warning, WarningCode};

/// The largest file whose content is part of an approval.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The hash of a file in the worktree that the command names. An approval is for this content.
pub(super) fn content(root: &Path, path: &Path) -> Option<Vec<u8>> {
    let real = fs::real_path(path);
    let bytes = real.starts_with(root).then(|| fs::read_small(&real, MAX_BYTES)).flatten()?;
    sha256(&bytes).ok().map(String::into_bytes)
}

/// Files of the worktree, with the hashes of their contents.
#[derive(Debug, Default)]
pub(super) struct CoveredFiles {
    root: PathBuf,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl CoveredFiles {
    /// Those of `files` that are in the worktree, as they are now.
    pub(super) fn of<'f>(root: &Path, files: impl Iterator<Item = &'f PathBuf>) -> CoveredFiles {
        let known = |file: &PathBuf| Some((fs::real_path(file), content(root, file)?));
        CoveredFiles { root: root.to_owned(), files: files.filter_map(known).collect() }
    }

    pub(super) fn paths(&self) -> Vec<RepoPath> {
        let path = |file: &PathBuf| {
            let below = file.strip_prefix(&self.root).ok()?;
            RepoPath::parse(below.as_os_str().as_encoded_bytes()).ok()
        };
        self.files.keys().filter_map(path).collect()
    }

    fn changed(&self) -> Vec<String> {
        let differs =
            |(file, hash): &(&PathBuf, &Vec<u8>)| content(&self.root, file).as_ref() != Some(hash);
        let name = |file: &PathBuf| file.strip_prefix(&self.root).unwrap_or(file).shown();
        self.files.iter().filter(differs).map(|(file, _)| name(file)).collect()
    }

    /// # Errors
    /// `APPROVAL_REQUIRED` if one changed.
    pub(super) fn check(&self) -> Result<(), Finding> {
        let changed = self.changed();
        if changed.is_empty() {
            return Ok(());
        }
        let summary = format!(
            "{} changed right before the program started, and the approval was for other content.",
            changed.join(", ")
        );
        let remedy = "Repeat the call: it asks for an approval with the files as they are now.";
        Err(Finding::new(Code::ApprovalRequired, summary, remedy)
            .with_effect(Effect::NothingRun)
            .with("paths", changed))
    }

    /// The warning about those that changed while the program ran.
    pub(super) fn warning(&self) -> Option<Warning> {
        let changed = self.changed();
        let message = format!(
            "While the approved program ran, {} changed, which the approval covers. The program may \
             have executed what the user did not see.",
            changed.join(", ")
        );
        (!changed.is_empty()).then_some(Warning {
            code: WarningCode::ApprovedChanged,
            path: None,
            message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_covered_file_is_compared_by_its_content() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        let file = root.join("deploy.sh");
        std::fs::write(&file, "one\n").unwrap();
        let all = [file.clone(), root.join("none"), "/etc/passwd".into()];
        let covered = CoveredFiles::of(&root, all.iter());
        assert_eq!(covered.paths(), [RepoPath::parse(b"deploy.sh").unwrap()]);
        assert!(covered.check().is_ok() && covered.warning().is_none());
        std::fs::write(&file, "two\n").unwrap();
        let found = covered.check().unwrap_err();
        assert_eq!(found.evidence["paths"][0], "deploy.sh");
        assert!(covered.warning().unwrap().message.contains("deploy.sh"));
    }
}
