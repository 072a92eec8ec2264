//! The globs of an `edt.toml`, and the finding for a file that cannot be read.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use edt_types::text::cut;
use edt_types::{Code, Finding, Result};

/// Globs of so many bytes together are far from the size limit of compiled ones, 10 MB. Longer ones
/// are compiled at once, so that an error names their file.
const SURELY_COMPILES: usize = 16 * 1024;

/// Globs that were read, and are compiled when the first path is compared: most calls need none of
/// a policy's globs, and compiling costs more than all guards of a small edit.
#[derive(Debug, Clone, Default)]
pub(super) struct Globs {
    globs: Vec<Glob>,
    set: OnceLock<Option<GlobSet>>,
}

impl Globs {
    /// # Errors
    /// `BAD_REQUEST` if a pattern is invalid.
    pub(super) fn new<'a>(
        patterns: impl Iterator<Item = &'a String>,
        origin: &str,
    ) -> Result<Globs> {
        let globs = patterns
            .map(|pattern| GlobBuilder::new(pattern).literal_separator(true).build())
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| unreadable(origin, &error.to_string()))?;
        let new = Globs { globs, set: OnceLock::new() };
        if new.globs.iter().map(|glob| glob.glob().len()).sum::<usize>() > SURELY_COMPILES {
            let set = new.compile().map_err(|error| unreadable(origin, &error.to_string()))?;
            let _ = new.set.set(Some(set));
        }
        Ok(new)
    }

    fn compile(&self) -> std::result::Result<GlobSet, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for glob in &self.globs {
            set.add(glob.clone());
        }
        set.build()
    }

    /// Whether any glob may match `directory` or something below it. True if that is uncertain.
    pub(super) fn may_match_below(&self, directory: &str) -> bool {
        let overlaps =
            |literal: &str, path: &str| literal.starts_with(path) || path.starts_with(literal);
        self.globs.iter().any(|glob| {
            let (rest, anywhere) = match glob.glob().strip_prefix("**/") {
                Some(rest) => (rest, true),
                None => (glob.glob(), false),
            };
            let literal = rest.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            let mut starts = directory.match_indices('/').map(|(at, _)| &directory[at + 1..]);
            overlaps(literal, directory) || (anywhere && starts.any(|rest| overlaps(literal, rest)))
        })
    }

    /// Whether any glob matches `name`. If the globs cannot be compiled, every name matches: a policy
    /// is never ignored.
    pub(super) fn is_match(&self, name: &str) -> bool {
        if self.globs.is_empty() {
            return false;
        }
        let set = self.set.get_or_init(|| self.compile().ok());
        set.as_ref().is_none_or(|set| set.is_match(name))
    }
}

pub(super) fn unreadable(origin: &str, why: &str) -> Finding {
    // The message quotes the file, and a hostile file may have one very long line.
    let why = why.lines().map(|line| cut(line, 200)).collect::<Vec<_>>().join("\n");
    Finding::new(
        Code::BadRequest,
        format!("Could not read {origin}: {}", why.trim_end()),
        "The user must correct that file; for the repository's, commit the correction and begin a \
         new session.",
    )
    .with("reason", why.trim_end())
}
