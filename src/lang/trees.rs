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
    /// Tells most texts from it without a look at either.
    sum: u32,
    /// How deep its brackets nest, at most.
    depth: usize,
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
        let sum = crc32fast::hash(text);
        let same =
            |one: &Kept| one.sum == sum && one.language.name == language.name && one.text == text;
        if let Some(at) = kept.iter().position(same)
            && let Some(one) = kept.remove(at)
        {
            let tree = one.tree.clone();
            kept.push_front(one);
            return Ok(Parsed { language, text, tree });
        }
        // The newest that is like it: usually the text that the edit was made on.
        let mut near = kept.iter().filter(|one| one.language.name == language.name);
        let near = near.find_map(|one| Some((change(&one.text, text)?, one)));
        let again =
            near.map(|(change, one)| one.changed(change, text, expired)).transpose()?.flatten();
        let (parsed, depth) = match again {
            Some(again) => again,
            None => (parse::parse(language, text, expired)?, parse::bracket_depth(text)),
        };
        kept.push_front(Kept {
            language,
            text: text.to_vec(),
            sum,
            depth,
            tree: parsed.tree.clone(),
        });
        while kept.len() > MOST_TREES
            || kept.iter().map(|one| one.text.len()).sum::<usize>() > MOST_TEXT
        {
            kept.pop_back();
        }
        Ok(parsed)
    }
}

impl Kept {
    /// The tree of a text that differs in one stretch, and how deep that nests at most; `None` if it has to be made anew.
    fn changed<'t>(
        &self,
        change: Change,
        text: &'t [u8],
        expired: &dyn Fn() -> bool,
    ) -> Result<Option<(Parsed<'t>, usize)>, Unparsed> {
        let opens = |byte: &&u8| matches!(byte, b'(' | b'[' | b'{');
        let depth = self.depth + text[change.start..change.new_end].iter().filter(opens).count();
        if self.tree.root_node().has_error() || !parse::is_harmless(self.language, text, depth) {
            return Ok(None);
        }
        let mut old = self.tree.clone();
        old.edit(&change.edit(&self.text, text));
        let parsed = parse::parse_from(self.language, text, Some(&old), expired)?;
        Ok((!parsed.has_error()).then_some((parsed, depth)))
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
    let most = old.len().max(new.len());
    let start = common(old.chunks(CHUNK).zip(new.chunks(CHUNK)), |(a, b)| {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    });
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = common(old_rest.rchunks(CHUNK).zip(new_rest.rchunks(CHUNK)), |(a, b)| {
        a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
    });
    (2 * (start + end) >= most).then_some(Change {
        start,
        old_end: old.len() - end,
        new_end: new.len() - end,
    })
}

/// How many bytes are compared at once.
const CHUNK: usize = 256;

/// How many bytes are the same from the first chunk on; `within` counts in the first chunk that differs.
fn common<'t>(
    mut chunks: impl Iterator<Item = (&'t [u8], &'t [u8])>,
    within: impl Fn((&'t [u8], &'t [u8])) -> usize,
) -> usize {
    let mut same = 0;
    let differs = chunks.find(|(a, b)| {
        let equal = a == b;
        same += if equal { a.len() } else { 0 };
        !equal
    });
    same + differs.map_or(0, within)
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

#[cfg(test)]
mod tests {
    use super::super::table::LANGUAGES;
    use super::*;
    use crate::lang;

    /// Numbers that look random and are the same each time.
    fn dice(seed: &mut u64) -> usize {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 33).unwrap_or(0)
    }

    /// A language without a folder of its own has none.
    fn samples(language: &str) -> Vec<Vec<u8>> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("grammars")
            .join(language)
            .join("samples/valid");
        std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
            .collect()
    }

    /// The text with a line doubled, taken out, or changed in one character.
    fn edited(text: &[u8], seed: &mut u64) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> =
            text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let at = dice(seed) % lines.len().max(1);
        match dice(seed) % 4 {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let from = dice(seed) % lines.len();
                let line = lines[from].clone();
                lines.insert(at, line);
            }
            _ => {
                let column = dice(seed) % lines[at].len().max(1);
                lines[at].insert(column, b" x1(){}\"';:#\t"[dice(seed) % 13]);
            }
        }
        lines.concat()
    }

    #[test]
    fn a_tree_made_of_another_is_the_one_made_anew() {
        let mut seed = 7;
        let (mut sound, mut all) = (0, 0);
        for language in LANGUAGES {
            for sample in samples(language.name) {
                let trees = Trees::default();
                let mut text = sample.clone();
                for _ in 0..30 {
                    let whole = lang::parse(language, &text, &|| false).unwrap();
                    let quick = trees.parse(language, &text, &|| false).unwrap();
                    let shape = |parsed: &Parsed<'_>| {
                        let mut nodes = Vec::new();
                        let mut cursor = parsed.tree.walk();
                        loop {
                            let node = cursor.node();
                            nodes.push((
                                node.kind_id(),
                                node.byte_range(),
                                node.start_position(),
                                node.is_missing(),
                            ));
                            if cursor.goto_first_child() || cursor.goto_next_sibling() {
                                continue;
                            }
                            while cursor.goto_parent() {
                                if cursor.goto_next_sibling() {
                                    break;
                                }
                            }
                            if cursor.node().parent().is_none() {
                                return nodes;
                            }
                        }
                    };
                    let name = language.name;
                    assert_eq!(
                        shape(&whole),
                        shape(&quick),
                        "{name}:\n{}",
                        String::from_utf8_lossy(&text)
                    );
                    all += 1;
                    sound += u32::from(!whole.has_error());
                    let next = edited(&text, &mut seed);
                    // Mostly from one sound text to the next: there trees are made of one another.
                    let broken = lang::parse(language, &next, &|| false).unwrap().has_error();
                    text = if next.is_empty() || broken && !dice(&mut seed).is_multiple_of(3) {
                        sample.clone()
                    } else {
                        next
                    };
                }
            }
        }
        assert!(sound > 300 && all > sound, "{sound} of {all}");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let language = LANGUAGES.iter().find(|language| language.name == "c").unwrap();
        let trees = Trees::default();
        for n in 0..100 {
            let text = format!("int x{n};\n").repeat(10_000);
            trees.parse(language, text.as_bytes(), &|| false).unwrap();
        }
        let kept = trees.kept.borrow();
        assert!(
            kept.len() <= MOST_TREES
                && kept.iter().map(|one| one.text.len()).sum::<usize>() <= MOST_TEXT
        );
        assert!(!kept.is_empty());
    }

    #[test]
    fn a_change_is_the_stretch_between_what_is_the_same() {
        assert_eq!(change(b"abcdef", b"abXdef"), Some(Change { start: 2, old_end: 3, new_end: 3 }));
        assert_eq!(change(b"aaaa", b"aaa"), Some(Change { start: 3, old_end: 4, new_end: 3 }));
        assert_eq!(change(b"aaa", b"aaaa"), Some(Change { start: 3, old_end: 3, new_end: 4 }));
        assert_eq!(change(b"abcdef", b"ghijkl"), None);
        let long: Vec<u8> = (0..2000_u32).map(|n| (n % 251) as u8).collect();
        for at in [0, 1, 255, 256, 257, 511, 512, 1999] {
            let mut other = long.clone();
            other[at] ^= 255;
            assert_eq!(
                change(&long, &other),
                Some(Change { start: at, old_end: at + 1, new_end: at + 1 })
            );
            other.remove(at);
            let found = change(&long, &other).unwrap();
            assert_eq!((found.start, found.old_end - found.new_end), (at, 1));
            assert_eq!([&long[..found.start], &long[found.old_end..]].concat(), other);
        }
    }
}
