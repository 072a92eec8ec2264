//! Whether Git would convert a file's bytes on their way in or out (line ends, filters, encodings, `$Id$`).
//!
//! edt writes the bytes it was given. Where Git would record others it refuses the path, before anything is touched.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::filter::plumbing::pipeline::convert::{ToGitOutcome, to_worktree};
use gix::worktree::stack::state::attributes::Source;

use super::causes;
use super::repo::Repo;
use crate::base::{Code, Finding, RepoPath, Result};

impl Repo {
    /// Checks that Git records `bytes` of the file at `path` as they are, and would write them back as they are.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` naming the path if it would not.
    pub fn check_unconverted(&self, path: &RepoPath, bytes: &[u8]) -> Result<()> {
        let fail = |error: gix::Error| converted(path, &causes(&error));
        let index = gix::index::State::new(self.inner.object_hash());
        let stack = self.inner.attributes_only(&index, Source::WorktreeThenIdMapping).map_err(fail)?;
        let mut stack = stack.detach();
        let mut found = stack.attribute_matches();
        let at = stack.at_entry(path.as_bytes().as_bstr(), None, &self.inner.objects);
        at.map_err(|error| converted(path, &error.to_string()))?.matching_attributes(&mut found);
        let filter = found.iter().find(|found| found.assignment.name.as_str() == "filter");
        if let Some(name) = filter.and_then(|found| found.assignment.state.as_bstr().map(ToString::to_string)) {
            return Err(converted(path, &format!("the attribute filter={name} applies to it")).into());
        }
        let mut pipeline = gix::filter::Pipeline::new(&self.inner, stack).map_err(fail)?;
        let rela =
            gix::path::from_bstr(path.as_bytes().as_bstr()).map_err(|error| converted(path, &error.to_string()))?;
        let same = match pipeline.convert_to_git(bytes, &rela, &index).map_err(fail)? {
            ToGitOutcome::Unchanged(_) => true,
            ToGitOutcome::Buffer(clean) => clean == bytes,
            ToGitOutcome::Process(mut clean) => {
                let mut all = Vec::new();
                clean.read_to_end(&mut all).is_ok() && all == bytes
            }
        };
        if !same {
            return Err(converted(path, "Git would record other bytes than stand in the worktree").into());
        }
        let options =
            to_worktree::Options { unknown_encoding: to_worktree::UnknownEncoding::Fail, ..Default::default() };
        let out = pipeline.convert_to_worktree(bytes, path.as_bytes().as_bstr(), options).map_err(fail)?;
        if out.as_bytes() != Some(bytes) {
            return Err(converted(path, "Git would check out other bytes than it records").into());
        }
        Ok(())
    }

    /// Whether any attribute or setting could convert the file: a handful of `stat` calls instead of reading them.
    #[must_use]
    pub fn may_convert(&self, path: &RepoPath) -> bool {
        let config = self.inner.config_snapshot();
        let auto = config.string("core.autocrlf").map(|value| value.to_string().to_ascii_lowercase());
        if auto.is_some_and(|value| !matches!(value.as_str(), "false" | "no" | "off" | "0" | "")) {
            return true;
        }
        let configured = config.trusted_path("core.attributesFile").ok().flatten();
        let personal = configured.or_else(|| config_home().map(|home| home.join("git/attributes")));
        let fixed =
            [Some(self.common_dir().join("info/attributes")), personal, Some(PathBuf::from("/etc/gitattributes"))];
        if fixed.iter().flatten().any(|file| file.exists()) {
            return true;
        }
        let mut folders = std::iter::once(b"".as_slice()).chain(path.parents());
        folders.any(|folder| {
            let name =
                if folder.is_empty() { b".gitattributes".to_vec() } else { [folder, b"/.gitattributes"].concat() };
            !matches!(self.root().stat(&name), Ok(None))
        })
    }
}

fn config_home() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CONFIG_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    given.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))
}

fn converted(path: &RepoPath, why: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("edt does not edit {path}: {why}. Nothing was changed."),
        "Change this file outside edt, or let a person drop the conversion (.gitattributes, core.autocrlf, core.eol) for it.",
    )
    .at(path)
}
