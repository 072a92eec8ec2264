//! The guide: what teaches an agent to use edt, in the forms that agents read. Every example in it is run by a test.

/// The name of the skill, and of its folder.
pub const NAME: &str = "edt";

/// What begins the block in a file of instructions, on a line of its own.
pub const BEGIN: &str = "<!-- BEGIN edt -->";
/// What ends it.
pub const END: &str = "<!-- END edt -->";

const RULES: &str = include_str!("guide/rules.md");
const EXAMPLES: &str = include_str!("guide/examples.md");

/// When an agent should read the skill: what it chooses by.
const DESCRIPTION: &str = "Change, create, move or delete files of a Git repository through edt, which guards each edit and makes it one commit that can be \
                           undone. Use it whenever files are to be edited, patched, refactored or restored, a program or test is to be run, \
                           or an edt call was refused.";

/// The rules and an example of each mode.
#[must_use]
pub fn prompt() -> String {
    format!("# Editing with edt\n\n{RULES}\n{EXAMPLES}")
}

/// The same in short, for the instructions of a server.
#[must_use]
pub fn short() -> &'static str {
    include_str!("guide/short.md").trim_end()
}

/// `SKILL.md` of the skill.
#[must_use]
pub fn skill() -> String {
    format!("---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n{}", prompt())
}

/// What stands between the fences in `AGENTS.md`, without a line end after it. Such a file is read in every conversation, so it has the
/// rules and says where the examples are.
#[must_use]
pub fn agents_md() -> String {
    format!("# Editing with edt\n\n{RULES}\n`edt guide` prints an example of each mode.")
}

/// The block for `AGENTS.md`, fences included, without a line end after it.
#[must_use]
pub fn agents_md_block() -> String {
    format!("{BEGIN}\n{}\n{END}", agents_md())
}

/// Why a text's fences cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfenced {
    /// There is a begin without an end, an end without a begin, or the end comes first.
    Unpaired,
    /// There is more than one block.
    Several,
}

/// `text` with the block: in the place of the one it has, else at its end.
///
/// # Errors
/// Fences that are no pair.
pub fn with_block(text: &str) -> Result<String, Misfenced> {
    FENCES.put(text, &agents_md())
}

/// `text` without the block: what it was before [`with_block`].
///
/// # Errors
/// Fences that are no pair.
pub fn without_block(text: &str) -> Result<String, Misfenced> {
    FENCES.take(text)
}

/// The lines around the block.
pub const FENCES: Fences = Fences { begin: BEGIN, end: END };

/// Two lines that stand around a block.
#[derive(Debug, Clone, Copy)]
pub struct Fences {
    /// The first.
    pub begin: &'static str,
    /// The last.
    pub end: &'static str,
}

impl Fences {
    /// `text` with `lines` between the fences, with the line ends of the text.
    ///
    /// # Errors
    /// Fences that are no pair.
    pub fn put(self, text: &str, lines: &str) -> Result<String, Misfenced> {
        let eol = eol(text);
        let block =
            format!("{}\n{}\n{}", self.begin, lines.trim_end(), self.end).replace('\n', eol);
        Ok(match self.find(text)? {
            Some(Block { start, end, .. }) => format!("{}{block}{}", &text[..start], &text[end..]),
            None if text.is_empty() => block + eol,
            None if text.ends_with('\n') => format!("{text}{eol}{block}{eol}"),
            None => format!("{text}{eol}{block}"),
        })
    }

    /// `text` without the block, as it was before [`Fences::put`].
    ///
    /// # Errors
    /// Fences that are no pair.
    pub fn take(self, text: &str) -> Result<String, Misfenced> {
        let Some(Block { start, end, eol }) = self.find(text)? else { return Ok(text.to_owned()) };
        let (before, after) = (&text[..start], &text[end..]);
        let before = before.strip_suffix(eol).unwrap_or(before);
        Ok(format!("{before}{}", after.strip_prefix(eol).unwrap_or(after)))
    }

    /// What stands before the block, what between its fences, and what after it.
    ///
    /// # Errors
    /// Fences that are no pair.
    pub fn parts(self, text: &str) -> Result<Option<[&str; 3]>, Misfenced> {
        let between = |block: &Block| {
            let inner = &text[block.start..block.end];
            let first = inner.find('\n').map_or(inner.len(), |at| at + 1);
            inner.get(first..inner.len() - self.end.len()).unwrap_or_default()
        };
        Ok(self
            .find(text)?
            .map(|block| [&text[..block.start], between(&block), &text[block.end..]]))
    }

    /// The only block of `text`. A fence is one only on a line of its own: text may speak of them.
    fn find(self, text: &str) -> Result<Option<Block>, Misfenced> {
        let (mut begins, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
        for line in text.split_inclusive('\n') {
            match line.trim_end() {
                fence if fence == self.begin => {
                    begins.push((at, if line.ends_with("\r\n") { "\r\n" } else { "\n" }))
                }
                fence if fence == self.end => ends.push(at + fence.len()),
                _ => {}
            }
            at += line.len();
        }
        match (begins.as_slice(), ends.as_slice()) {
            ([], []) => Ok(None),
            ([(start, eol)], [end]) if start < end => {
                Ok(Some(Block { start: *start, end: *end, eol }))
            }
            ([_] | [], [_] | []) => Err(Misfenced::Unpaired),
            _ => Err(Misfenced::Several),
        }
    }
}

/// Where a block stands.
struct Block {
    start: usize,
    /// Behind its last fence, before the line end.
    end: usize,
    /// The line end that it was written with.
    eol: &'static str,
}

/// The line end that `text` has, if it is the same everywhere.
#[must_use]
pub fn eol(text: &str) -> &'static str {
    let (all, crlf) = (text.matches('\n').count(), text.matches("\r\n").count());
    if all > 0 && all == crlf { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_and_goes_without_a_trace() {
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
            let alike = |text: &str| text.matches("\r\n").count() == text.matches('\n').count();
            assert!(!text.contains('\n') || alike(&with) == alike(text), "{text:?}");
        }
    }

    #[test]
    fn an_old_block_is_replaced_where_it_stands() {
        let old = format!("before\n\n{BEGIN}\nold words\n{END}\nafter\n");
        let new = with_block(&old).unwrap();
        assert_eq!(new, format!("before\n\n{}\nafter\n", agents_md_block()));
        assert_eq!(without_block(&new).unwrap(), "before\nafter\n");
    }

    #[test]
    fn fences_that_are_no_pair_are_refused() {
        let cases = [
            (format!("{BEGIN}\n"), Misfenced::Unpaired),
            (format!("{END}\n"), Misfenced::Unpaired),
            (format!("{END}\n{BEGIN}\n"), Misfenced::Unpaired),
            (format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n"), Misfenced::Several),
            (format!("{BEGIN}\n{BEGIN}\n{END}\n"), Misfenced::Several),
        ];
        for (text, fault) in cases {
            assert_eq!(
                (with_block(&text), without_block(&text)),
                (Err(fault), Err(fault)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_guide_is_as_short_as_it_is_said_to_be() {
        // Counted with cl100k and o200k: 1,265 tokens of 4,309 bytes, and 248 of 973. A token has at least 3.4 bytes.
        let bounds = [(prompt().len(), 5_000), (short().len(), 1_300), (DESCRIPTION.len(), 1_024)];
        for (bytes, most) in bounds {
            assert!(bytes <= most, "{bytes} bytes, more than {most}");
        }
    }
}
