//! Rules as in `.gitignore`, from a file that Git does not read.

use std::path::Path;

use gix::bstr::ByteSlice as _;
use gix::glob::pattern::Case;
use gix::ignore::Search;
use gix::ignore::search::Ignore;

/// The rules of one file, for the paths below its directory.
#[derive(Debug)]
pub struct IgnoreRules(Search);

impl IgnoreRules {
    /// Reads rules; lines that are malformed have no effect.
    #[must_use]
    pub fn parse(text: &[u8]) -> IgnoreRules {
        let mut rules = Search::default();
        // Only a root that the source is not below is an error.
        let _ = rules.add_patterns_buffer(text, Path::new(""), None, Ignore::default());
        IgnoreRules(rules)
    }

    /// Whether the rules exclude the file at `path`, which is relative to their directory; `None`
    /// if none speaks of it or of a directory above it. The innermost one decides.
    #[must_use]
    pub fn excludes(&self, path: &[u8]) -> Option<bool> {
        let judged = |path: &[u8], is_dir| {
            let found = self.0.pattern_matching_relative_path(
                path.as_bstr(),
                Some(is_dir),
                Case::Sensitive,
            )?;
            Some(!found.pattern.is_negative())
        };
        let above = path.rfind_iter(b"/").map(|at| &path[..at]);
        judged(path, false).or_else(|| above.into_iter().find_map(|path| judged(path, true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[u8] = b"\xef\xbb\xbf# comment\r\n*.c\r\n!/keep.c\n/out/\n  \n[\n\\!x\n\xff\n";

    fn excludes(path: &[u8]) -> Option<bool> {
        IgnoreRules::parse(RULES).excludes(path)
    }

    #[test]
    fn a_pattern_without_a_slash_matches_at_any_depth() {
        assert_eq!((excludes(b"a.c"), excludes(b"d/e/a.c")), (Some(true), Some(true)));
    }

    #[test]
    fn a_later_rule_includes_again() {
        assert_eq!((excludes(b"keep.c"), excludes(b"d/keep.c")), (Some(false), Some(true)));
    }

    #[test]
    fn a_directory_excludes_what_is_below_it() {
        assert_eq!(excludes(b"out/d/a.txt"), Some(true));
        assert_eq!((excludes(b"out"), excludes(b"d/out/a.txt")), (None, None));
    }

    #[test]
    fn a_rule_may_begin_with_an_escaped_mark_and_need_not_be_utf8() {
        assert_eq!((excludes(b"!x"), excludes(b"d/\xff")), (Some(true), Some(true)));
        assert_eq!(excludes(b"x"), None);
    }

    #[test]
    fn no_rules_speak_of_nothing() {
        assert_eq!(IgnoreRules::parse(b"").excludes(b"a/b"), None);
    }
}
