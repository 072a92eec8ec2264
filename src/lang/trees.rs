//! Trees of the texts that were parsed last, so that a small change of a long text is parsed in the time of the change.

use std::cell::RefCell;
use std::collections::VecDeque;

use tree_sitter::{InputEdit, Point, Tree};

use super::parse::{self, Parsed, Unparsed};
use super::table::Language;

/// How many trees are kept, and of how many bytes of text: a tree takes 40 times its text, but those of one file's versions share most.
const MOST_TREES: usize = 32;
const MOST_TEXT: usize = 4 << 20;

/// Texts and their trees, the newest first.
#[derive(Debug, Default)]
pub struct Trees {
    kept: RefCell<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    language: &'static Language,
    text: Vec<u8>,
    tree: Tree,
}

impl Trees {
    /// The tree of `text`: one that is kept, or made of a kept one of a text that differs in one stretch, or made anew.
    ///
    /// Where either text has errors the tree is made anew: recovery depends on where a parser comes from, and guards compare errors.
    ///
    /// # Errors
    /// As [`parse::parse`].
    pub fn parse<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
        expired: &dyn Fn() -> bool,
    ) -> Result<Parsed<'t>, Unparsed> {
        let mut kept = self.kept.borrow_mut();
        let same = |one: &Kept| one.language.name == language.name && one.text == text;
        if let Some(at) = kept.iter().position(same)
            && let Some(one) = kept.remove(at)
        {
            let tree = one.tree.clone();
            kept.push_front(one);
            return Ok(Parsed { language, text, tree });
        }
        let near = kept
            .iter()
            .filter(|one| one.language.name == language.name)
            .filter_map(|one| Some((change(&one.text, text)?, one)));
        let near = near.min_by_key(|(change, _)| change.old_end.max(change.new_end) - change.start);
        let again = match near {
            Some((change, one)) if !one.tree.root_node().has_error() => {
                let mut old = one.tree.clone();
                old.edit(&change.edit(&one.text, text));
                let parsed = parse::parse_from(language, text, Some(&old), expired)?;
                (!parsed.has_error()).then_some(parsed)
            }
            _ => None,
        };
        let parsed = match again {
            Some(parsed) => parsed,
            None => parse::parse(language, text, expired)?,
        };
        kept.push_front(Kept { language, text: text.to_vec(), tree: parsed.tree.clone() });
        while kept.len() > MOST_TREES || kept.iter().map(|one| one.text.len()).sum::<usize>() > MOST_TEXT {
            kept.pop_back();
        }
        Ok(parsed)
    }
}

/// The one stretch in which two texts differ, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    start: usize,
    old_end: usize,
    new_end: usize,
}

/// Where two texts differ; `None` if that is more than half of either: then nothing is won.
fn change(old: &[u8], new: &[u8]) -> Option<Change> {
    let least = old.len().min(new.len());
    let most = old.len().max(new.len());
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = least - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (2 * (start + end) >= most).then_some(Change { start, old_end: old.len() - end, new_end: new.len() - end })
}

impl Change {
    fn edit(self, old: &[u8], new: &[u8]) -> InputEdit {
        InputEdit {
            start_byte: self.start,
            old_end_byte: self.old_end,
            new_end_byte: self.new_end,
            start_position: point(old, self.start),
            old_end_position: point(old, self.old_end),
            new_end_position: point(new, self.new_end),
        }
    }
}

/// The row and column of a byte, both from 0, columns in bytes.
fn point(text: &[u8], at: usize) -> Point {
    let before = &text[..at];
    let row = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    Point { row, column: at - start }
}
