//! The guide teaches an agent to use edt, in the forms that agents read. A test runs every example.

/// The name of the skill, and of its directory.
pub const NAME: &str = "edt";

/// The line before the block in a file of instructions.
pub const BEGIN: &str = "<!-- BEGIN edt -->";
/// The line after the block.
pub const END: &str = "<!-- END edt -->";

/// How every text begins that an agent reads: many agents prefer their own tools, or list edt's only
/// when they search for them.
pub const OPENING: &str = include_str!("guide/opening.md");
const RULES: &str = include_str!("guide/rules.md");
const EXAMPLES: &str = include_str!("guide/examples.md");

/// When to read the skill. An agent chooses skills by this text.
const DESCRIPTION: &str = "Change, create, move or delete files of a Git repository through edt, \
                           which checks each edit and makes it one commit that can be undone. Use \
                           it whenever files are to be edited, patched, refactored or restored, a \
                           program or test is to be run, or an edt call was refused.";

/// The rules and an example of each mode.
#[must_use]
pub fn prompt() -> String {
    format!("# Editing with edt\n\n{OPENING}\n{RULES}\n{EXAMPLES}")
}

/// `SKILL.md` of the skill.
#[must_use]
pub fn skill() -> String {
    format!("---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n{}", prompt())
}

/// The lines between the fences in `AGENTS.md`, without a final line break. An agent reads that
/// file in every conversation, so it has the rules and says where the examples are.
#[must_use]
pub fn agents_md() -> String {
    format!("# Editing with edt\n\n{OPENING}\n{RULES}\n`edt guide` prints an example of each mode.")
}

/// The block for `AGENTS.md`, fences included, without a final line break.
#[must_use]
pub fn agents_md_block() -> String {
    format!("{BEGIN}\n{}\n{END}", agents_md())
}

/// Why the fences of a text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceError {
    /// One fence occurs without the other, or the end comes first.
    Unpaired,
    /// There is more than one block.
    Several,
}

/// `text` with the block, which replaces a present one or is added at the end.
///
/// # Errors
/// The fences do not match.
pub fn with_block(text: &str) -> Result<String, FenceError> {
    FENCES.insert(text, &agents_md())
}

/// `text` as it was before [`with_block`].
///
/// # Errors
/// The fences do not match.
pub fn without_block(text: &str) -> Result<String, FenceError> {
    FENCES.remove(text)
}

/// The lines around edt's block.
pub const FENCES: Fences = Fences { begin: BEGIN, end: END };

/// The two lines around a block.
#[derive(Debug, Clone, Copy)]
pub struct Fences {
    pub begin: &'static str,
    pub end: &'static str,
}

impl Fences {
    /// `text` with `lines` between the fences. The block gets the line ends of the text.
    ///
    /// # Errors
    /// The fences do not match.
    pub fn insert(self, text: &str, lines: &str) -> Result<String, FenceError> {
        let line_end = line_end(text);
        let block =
            format!("{}\n{}\n{}", self.begin, lines.trim_end(), self.end).replace('\n', line_end);
        Ok(match self.find(text)? {
            Some(Block { start, end, .. }) => format!("{}{block}{}", &text[..start], &text[end..]),
            None if text.is_empty() => block + line_end,
            None if text.ends_with('\n') => format!("{text}{line_end}{block}{line_end}"),
            None => format!("{text}{line_end}{block}"),
        })
    }

    /// `text` as it was before [`Fences::insert`].
    ///
    /// # Errors
    /// The fences do not match.
    pub fn remove(self, text: &str) -> Result<String, FenceError> {
        let Some(Block { start, end, line_end }) = self.find(text)? else {
            return Ok(text.to_owned());
        };
        let (before, after) = (&text[..start], &text[end..]);
        let before = before.strip_suffix(line_end).unwrap_or(before);
        Ok(format!("{before}{}", after.strip_prefix(line_end).unwrap_or(after)))
    }

    /// The text before the block, between its fences, and after it; `None` without a block.
    ///
    /// # Errors
    /// The fences do not match.
    pub fn parts(self, text: &str) -> Result<Option<[&str; 3]>, FenceError> {
        let between = |block: &Block| {
            let inner = &text[block.start..block.end];
            let first = inner.find('\n').map_or(inner.len(), |at| at + 1);
            inner.get(first..inner.len() - self.end.len()).unwrap_or_default()
        };
        Ok(self
            .find(text)?
            .map(|block| [&text[..block.start], between(&block), &text[block.end..]]))
    }

    /// The only block of `text`. A fence counts only on a line of its own: prose may mention it.
    fn find(self, text: &str) -> Result<Option<Block>, FenceError> {
        let (mut begins, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            match line.trim_end() {
                fence if fence == self.begin => {
                    begins.push((at, if line.ends_with("\r\n") { "\r\n" } else { "\n" }));
                }
                fence if fence == self.end => ends.push(at + fence.len()),
                _ => {}
            }
            at += line.len();
        }
        match (begins.as_slice(), ends.as_slice()) {
            ([], []) => Ok(None),
            ([(start, line_end)], [end]) if start < end => {
                Ok(Some(Block { start: *start, end: *end, line_end }))
            }
            ([_] | [], [_] | []) => Err(FenceError::Unpaired),
            _ => Err(FenceError::Several),
        }
    }
}

/// The position of a block, in bytes.
struct Block {
    start: usize,
    /// After its last fence, before the line break.
    end: usize,
    /// The line end of its first line.
    line_end: &'static str,
}

/// CRLF if every line of `text` ends with it, else LF.
#[must_use]
pub fn line_end(text: &str) -> &'static str {
    let (all, crlf) = (text.matches('\n').count(), text.matches("\r\n").count());
    if all > 0 && all == crlf { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_block_restores_the_text() {
        for text in [
            "",
            "a",
            "a\n",
            "a\n\n\n",
            "\n",
            "a\r\nb\r\n",
            "a\r\nb",
            "a\nb\r\n",
            "a\r",
            "x\r\n\r",
            "<!-- BEGIN edt --> is a fence",
        ] {
            let with = with_block(text).unwrap();
            assert_eq!(without_block(&with).unwrap(), text, "{text:?}");
            assert_eq!(with_block(&with).unwrap(), with, "{text:?}: a second time changes nothing");
            assert_eq!(with.matches(RULES.lines().next().unwrap()).count(), 1, "{text:?}");
            let ends = |text: &str| text.matches("\r\n").count() == text.matches('\n').count();
            assert!(!text.contains('\n') || ends(&with) == ends(text), "{text:?}");
        }
    }

    #[test]
    fn an_old_block_is_replaced_in_its_position() {
        let old = format!("before\n\n{BEGIN}\nold words\n{END}\nafter\n");
        let new = with_block(&old).unwrap();
        assert_eq!(new, format!("before\n\n{}\nafter\n", agents_md_block()));
        assert_eq!(without_block(&new).unwrap(), "before\nafter\n");
    }

    #[test]
    fn fences_that_do_not_match_are_refused() {
        let cases = [
            (format!("{BEGIN}\n"), FenceError::Unpaired),
            (format!("{END}\n"), FenceError::Unpaired),
            (format!("{END}\n{BEGIN}\n"), FenceError::Unpaired),
            (format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"), FenceError::Several),
            (format!("{BEGIN}\n{BEGIN}\n{END}\n"), FenceError::Several),
        ];
        for (text, error) in cases {
            assert_eq!(
                (with_block(&text), without_block(&text)),
                (Err(error), Err(error)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_guide_is_as_short_as_documented() {
        // A token of cl100k or o200k has at least 3.4 bytes of this text.
        let bounds = [(prompt().len(), 5_000), (DESCRIPTION.len(), 1_024)];
        for (bytes, most) in bounds {
            assert!(bytes <= most, "{bytes} bytes, more than {most}");
        }
    }
}
