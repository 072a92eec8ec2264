//! The globs of an `edt.toml`, and the finding for a file that cannot be read.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use edt_types::{Code, Finding, Result};

pub(super) fn globs<'a>(
    patterns: impl Iterator<Item = &'a String>,
    origin: &str,
) -> Result<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| unreadable(origin, &error.to_string()))?);
    }
    set.build().map_err(|error| unreadable(origin, &error.to_string()).into())
}

pub(super) fn unreadable(origin: &str, why: &str) -> Finding {
    // The message quotes the file, and a hostile file may have one very long line.
    let short = |line: &str| match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    };
    let why = why.lines().map(short).collect::<Vec<_>>().join("\n");
    Finding::new(
        Code::BadRequest,
        format!("Could not read {origin}: {}", why.trim_end()),
        "The user must correct that file; for the repository's, commit the correction and begin a \
         new session.",
    )
    .with("reason", why.trim_end())
}
