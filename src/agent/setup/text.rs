//! A block between two marks, in a text that is otherwise somebody else's.

use super::{Before, Unfit};

/// A block.
#[derive(Debug, Clone)]
pub struct Fence {
    /// Its first line.
    pub begin: &'static str,
    /// Its last line.
    pub end: &'static str,
    /// What stands between.
    pub lines: String,
    /// What must not stand elsewhere at the beginning of a line: it would say the same thing twice.
    pub keys: &'static [&'static str],
}

impl Fence {
    /// The text with the block: where it stands, or at the end.
    ///
    /// # Errors
    /// One of the keys stands elsewhere; a mark without the other.
    pub fn with(&self, old: Option<&str>) -> Result<String, Unfit> {
        let old = old.unwrap_or_default();
        let block = format!("{}\n{}\n{}\n", self.begin, self.lines.trim_end(), self.end);
        let (before, after) = self.around(old)?.unwrap_or((old, ""));
        for line in before.lines().chain(after.lines()) {
            if let Some(key) = self.keys.iter().find(|key| line.starts_with(**key)) {
                return Err(Unfit(format!("it sets `{key}` already, and edt must not decide between the two")));
            }
        }
        if self.around(old)?.is_some() {
            return Ok(format!("{before}{block}{after}"));
        }
        let gap = match old {
            "" => "",
            old if old.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        Ok(format!("{old}{gap}{block}"))
    }

    /// The text without the block; `None` if edt made the file and nothing else is in it.
    #[must_use]
    pub fn without(&self, old: &str, before: Before<'_>) -> Option<String> {
        let Ok(Some((head, tail))) = self.around(old) else { return Some(old.to_owned()) };
        // The empty line above it came with it.
        let head = head.strip_suffix("\n\n").map_or_else(|| head.to_owned(), |head| format!("{head}\n"));
        let rest = format!("{head}{tail}");
        (before != Before::Nothing || !rest.trim().is_empty()).then_some(rest)
    }

    /// What stands before and after the block, if it is there.
    fn around<'a>(&self, text: &'a str) -> Result<Option<(&'a str, &'a str)>, Unfit> {
        let (mut at, mut begin, mut end) = (0, None, None);
        for line in text.split_inclusive('\n') {
            if line.trim_end() == self.begin && begin.is_none() {
                begin = Some(at);
            }
            at += line.len();
            if line.trim_end() == self.end && begin.is_some() && end.is_none() {
                end = Some(at);
            }
        }
        match (begin, end) {
            (None, _) => Ok(None),
            (Some(begin), Some(end)) => Ok(Some((&text[..begin], &text[end..]))),
            (Some(_), None) => Err(Unfit(format!("the line `{}` stands there without `{}`", self.begin, self.end))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_updated_and_taken_away() {
        let fence = |lines: &str| Fence { begin: "# BEGIN", end: "# END", lines: lines.into(), keys: &["x:"] };
        let one = fence("a").with(Some("text\n")).unwrap();
        assert_eq!(one, "text\n\n# BEGIN\na\n# END\n");
        assert_eq!(fence("a").with(Some(&one)).unwrap(), one);
        assert_eq!(fence("b").with(Some(&format!("{one}more\n"))).unwrap(), "text\n\n# BEGIN\nb\n# END\nmore\n");
        assert_eq!(fence("a").without(&one, Before::Unknown), Some("text\n".into()));
        assert_eq!(fence("a").without("# BEGIN\na\n# END\n", Before::Nothing), None);
        assert_eq!(fence("a").without("no end\n", Before::Unknown), Some("no end\n".into()));
        assert!(fence("a").with(Some("x: 1\n")).is_err());
        assert!(fence("a").with(Some("# BEGIN\n")).is_err());
    }
}
