//! A block between two marks, in a text that is otherwise somebody else's.

use super::{Before, Unfit};
use crate::agent::guide::{Fences, Misfenced};

/// A block.
#[derive(Debug, Clone)]
pub struct Fence {
    /// The lines around it.
    pub fences: Fences,
    /// What stands between.
    pub lines: String,
    /// What must not stand elsewhere, but in a comment: it would say the same thing twice.
    pub keys: &'static [&'static str],
}

impl Fence {
    /// The text with the block: where it stands, or at the end.
    ///
    /// # Errors
    /// One of the keys stands elsewhere; a mark without the other.
    pub fn with(&self, old: Option<&str>) -> Result<String, Unfit> {
        let old = old.unwrap_or_default();
        let [before, _, after] = self.parts(old)?.unwrap_or([old, "", ""]);
        let said = |line: &&str| !line.trim_start().starts_with('#');
        for line in before.lines().chain(after.lines()).filter(said) {
            if let Some(key) = self.keys.iter().find(|key| line.contains(**key)) {
                return Err(Unfit(format!(
                    "it sets `{key}` already, and edt must not decide between the two"
                )));
            }
        }
        self.fences.put(old, &self.lines).map_err(|why| self.unfit(why))
    }

    /// The text without the block, or with the one that stood there before; `None` if edt made the file and nothing else is in it.
    #[must_use]
    pub fn without(&self, old: &str, before: Before<'_>) -> Option<String> {
        let Ok(Some([head, between, tail])) = self.parts(old) else { return Some(old.to_owned()) };
        let stood = match before {
            Before::Text(text) => self.parts(text).ok().flatten(),
            Before::Unknown
                if between.replace("\r\n", "\n").trim_end() != self.lines.trim_end() =>
            {
                return Some(old.to_owned());
            }
            _ => None,
        };
        if let Some([_, lines, _]) = stood {
            let end = &old[head.len()..old.len() - tail.len()];
            let first = end.find('\n').map_or("", |at| &end[..=at]);
            return Some(format!("{head}{first}{lines}{}{tail}", self.fences.end));
        }
        let rest = self.fences.take(old).ok()?;
        (before != Before::Nothing || !rest.trim().is_empty()).then_some(rest)
    }

    /// Whether there is such a block, whatever stands in it.
    #[must_use]
    pub fn traces(&self, text: &str) -> bool {
        !matches!(self.parts(text), Ok(None))
    }

    fn parts<'a>(&self, text: &'a str) -> Result<Option<[&'a str; 3]>, Unfit> {
        self.fences.parts(text).map_err(|why| self.unfit(why))
    }

    fn unfit(&self, why: Misfenced) -> Unfit {
        let Fences { begin, end } = self.fences;
        Unfit(match why {
            Misfenced::Unpaired => format!(
                "the lines `{begin}` and `{end}` are no pair in it: one is there without the other, or comes first"
            ),
            Misfenced::Several => {
                format!("more than one block between `{begin}` and `{end}` stands in it")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_updated_and_taken_away() {
        let fences = Fences { begin: "# BEGIN", end: "# END" };
        let fence = |lines: &str| Fence { fences, lines: lines.into(), keys: &["key"] };
        let one = fence("a").with(Some("text\n")).unwrap();
        assert_eq!(one, "text\n\n# BEGIN\na\n# END\n");
        assert_eq!(fence("a").with(Some(&one)).unwrap(), one);
        assert_eq!(
            fence("b").with(Some(&format!("{one}more\n"))).unwrap(),
            "text\n\n# BEGIN\nb\n# END\nmore\n"
        );
        assert_eq!(fence("a").without(&one, Before::Unknown), Some("text\n".into()));
        assert_eq!(fence("a").without("# BEGIN\na\n# END\n", Before::Nothing), None);
        assert_eq!(fence("a").without("no end\n", Before::Unknown), Some("no end\n".into()));
        for line in ["key: 1\n", "\"key\": 1\n", "{key: 1}\n"] {
            assert!(fence("a").with(Some(line)).is_err(), "{line}");
        }
        // A block with other lines is somebody's, unless it is known that edt came after it was written.
        let theirs = "# BEGIN\nmine\n# END\n";
        assert_eq!(fence("a").without(theirs, Before::Unknown), Some(theirs.into()));
        let ours = fence("a").with(Some(theirs)).unwrap() + "more\n";
        assert_eq!(
            fence("a").without(&ours, Before::Text(theirs)),
            Some(format!("{theirs}more\n"))
        );
        let crlf = fence("a").with(Some("text\r\n")).unwrap();
        assert_eq!(crlf, "text\r\n\r\n# BEGIN\r\na\r\n# END\r\n");
        assert_eq!(fence("a").without(&crlf, Before::Unknown), Some("text\r\n".into()));
        assert!(fence("a").with(Some("# BEGIN\n")).is_err());
    }
}
