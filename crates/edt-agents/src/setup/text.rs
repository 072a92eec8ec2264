//! A block between two fences, in a text that the user otherwise owns.

use super::{Original, UnusableFile};
use crate::guide::{FenceError, Fences};

/// A block.
#[derive(Debug, Clone)]
pub struct Fence {
    /// The lines around it.
    pub fences: Fences,
    /// The lines between them.
    pub lines: String,
    /// Settings that the block makes: none may occur outside it, except in a comment.
    pub keys: &'static [&'static str],
}

impl Fence {
    /// The text with the block: in its present position, or at the end.
    ///
    /// # Errors
    /// One of the keys occurs elsewhere, or the fences do not match.
    pub fn with(&self, old: Option<&str>) -> Result<String, UnusableFile> {
        let old = old.unwrap_or_default();
        let [before, _, after] = self.parts(old)?.unwrap_or([old, "", ""]);
        let is_setting = |line: &&str| !line.trim_start().starts_with('#');
        for line in before.lines().chain(after.lines()).filter(is_setting) {
            if let Some(key) = self.keys.iter().find(|key| line.contains(**key)) {
                return Err(UnusableFile(format!(
                    "it sets `{key}` already, and edt cannot decide which setting applies"
                )));
            }
        }
        self.fences.insert(old, &self.lines).map_err(|error| self.unusable(error))
    }

    /// The text without the block, or with the block of `original`; `None` if edt made the file and
    /// nothing else is in it.
    #[must_use]
    pub fn without(&self, old: &str, original: Original<'_>) -> Option<String> {
        let Ok(Some([head, between, tail])) = self.parts(old) else { return Some(old.to_owned()) };
        let original_parts = match original {
            Original::Text(text) => self.parts(text).ok().flatten(),
            Original::Unknown
                if between.replace("\r\n", "\n").trim_end() != self.lines.trim_end() =>
            {
                return Some(old.to_owned());
            }
            _ => None,
        };
        if let Some([_, lines, _]) = original_parts {
            let block = &old[head.len()..old.len() - tail.len()];
            let first = block.find('\n').map_or("", |at| &block[..=at]);
            return Some(format!("{head}{first}{lines}{}{tail}", self.fences.end));
        }
        let rest = self.fences.remove(old).ok()?;
        (original != Original::Missing || !rest.trim().is_empty()).then_some(rest)
    }

    /// Whether the text has such a block, whatever its lines.
    #[must_use]
    pub fn occurs_in(&self, text: &str) -> bool {
        !matches!(self.parts(text), Ok(None))
    }

    fn parts<'a>(&self, text: &'a str) -> Result<Option<[&'a str; 3]>, UnusableFile> {
        self.fences.parts(text).map_err(|error| self.unusable(error))
    }

    fn unusable(&self, error: FenceError) -> UnusableFile {
        let Fences { begin, end } = self.fences;
        UnusableFile(match error {
            FenceError::Unpaired => format!(
                "it has one of the lines `{begin}` and `{end}` without the other, or has them in \
                 the wrong order"
            ),
            FenceError::Several => {
                format!("it has more than one block between `{begin}` and `{end}`")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_updated_and_removed() {
        let fences = Fences { begin: "# BEGIN", end: "# END" };
        let fence = |lines: &str| Fence { fences, lines: lines.into(), keys: &["key"] };
        let one = fence("a").with(Some("text\n")).unwrap();
        assert_eq!(one, "text\n\n# BEGIN\na\n# END\n");
        assert_eq!(fence("a").with(Some(&one)).unwrap(), one);
        assert_eq!(
            fence("b").with(Some(&format!("{one}more\n"))).unwrap(),
            "text\n\n# BEGIN\nb\n# END\nmore\n"
        );
        assert_eq!(fence("a").without(&one, Original::Unknown), Some("text\n".into()));
        assert_eq!(fence("a").without("# BEGIN\na\n# END\n", Original::Missing), None);
        assert_eq!(fence("a").without("no end\n", Original::Unknown), Some("no end\n".into()));
        for line in ["key: 1\n", "\"key\": 1\n", "{key: 1}\n"] {
            assert!(fence("a").with(Some(line)).is_err(), "{line}");
        }
        // A block with other lines is the user's, unless a receipt shows that edt replaced it.
        let theirs = "# BEGIN\nmine\n# END\n";
        assert_eq!(fence("a").without(theirs, Original::Unknown), Some(theirs.into()));
        let ours = fence("a").with(Some(theirs)).unwrap() + "more\n";
        assert_eq!(
            fence("a").without(&ours, Original::Text(theirs)),
            Some(format!("{theirs}more\n"))
        );
        let crlf = fence("a").with(Some("text\r\n")).unwrap();
        assert_eq!(crlf, "text\r\n\r\n# BEGIN\r\na\r\n# END\r\n");
        assert_eq!(fence("a").without(&crlf, Original::Unknown), Some("text\r\n".into()));
        assert!(fence("a").with(Some("# BEGIN\n")).is_err());
    }
}
