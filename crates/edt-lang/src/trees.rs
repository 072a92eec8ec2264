//! Trees of the texts that were parsed last. After a small change of a long text, only the change
//! is parsed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tree_sitter::{InputEdit, Point, Tree};

use super::parse::{self, Parsed};
use super::table::Language;
use super::unparsed::Unparsed;

/// How many trees are kept, and of how many bytes of text. A tree takes 40 times the memory of its
/// text, but the trees of one file's versions share most of it.
const MAX_TREES: usize = 32;
const MAX_TEXT: usize = 4 << 20;

/// Texts and their trees, the newest first.
#[derive(Debug, Default)]
pub struct TreeCache {
    kept: Mutex<VecDeque<CachedTree>>,
}

#[derive(Debug)]
struct CachedTree {
    language: &'static Language,
    text: Vec<u8>,
    /// A checksum of the text, for a fast comparison.
    sum: u32,
    /// The maximum nesting of its brackets.
    depth: usize,
    tree: Tree,
}

impl TreeCache {
    /// The tree of `text`: a cached one, one derived from the cached tree of a similar text, or a
    /// new one.
    ///
    /// If either text has errors, the tree is parsed from scratch: error recovery depends on where
    /// a parser starts, and guards compare errors.
    ///
    /// # Errors
    /// As [`parse::parse`].
    pub fn parse<'t>(
        &self,
        language: &'static Language,
        text: &'t [u8],
        expired: &dyn Fn() -> bool,
    ) -> Result<Parsed<'t>, Unparsed> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = crc32fast::hash(text);
        let same = |one: &CachedTree| {
            one.sum == sum && one.language.name == language.name && one.text == text
        };
        if let Some(at) = kept.iter().position(same)
            && let Some(one) = kept.remove(at)
        {
            let tree = one.tree.clone();
            kept.push_front(one);
            return Ok(Parsed { language, text, tree });
        }
        // The newest similar text, usually the one that the edit changed.
        let mut candidates = kept.iter().filter(|one| one.language.name == language.name);
        let candidates = candidates.find_map(|one| Some((text_change(&one.text, text)?, one)));
        let incremental = candidates
            .map(|(change, one)| one.changed(change, text, expired))
            .transpose()?
            .flatten();
        let (parsed, depth) = match incremental {
            Some(incremental) => incremental,
            None => (parse::parse(language, text, expired)?, parse::bracket_depth(text)),
        };
        kept.push_front(CachedTree {
            language,
            text: text.to_vec(),
            sum,
            depth,
            tree: parsed.tree.clone(),
        });
        while kept.len() > MAX_TREES
            || kept.iter().map(|one| one.text.len()).sum::<usize>() > MAX_TEXT
        {
            kept.pop_back();
        }
        Ok(parsed)
    }
}

impl CachedTree {
    /// The tree of a text that differs in one stretch, and its maximum nesting; `None` if it must
    /// be parsed from scratch.
    fn changed<'t>(
        &self,
        change: TextChange,
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
struct TextChange {
    start: usize,
    old_end: usize,
    new_end: usize,
}

/// The stretch in which two texts differ; `None` if it is more than half of either, because a new
/// parse is then as fast.
fn text_change(old: &[u8], new: &[u8]) -> Option<TextChange> {
    let most = old.len().max(new.len());
    let start = common(old.chunks(CHUNK).zip(new.chunks(CHUNK)), |(a, b)| {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    });
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = common(old_rest.rchunks(CHUNK).zip(new_rest.rchunks(CHUNK)), |(a, b)| {
        a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
    });
    (2 * (start + end) >= most).then_some(TextChange {
        start,
        old_end: old.len() - end,
        new_end: new.len() - end,
    })
}

/// How many bytes are compared at once.
const CHUNK: usize = 256;

/// How many bytes are equal from the first chunk on. `within` counts them in the first chunk that
/// differs.
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

impl TextChange {
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

/// The row and column of a byte, both 0-based, the column in bytes.
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

    /// Random-looking numbers that are the same in each run.
    fn pseudo_random(seed: &mut u64) -> usize {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*seed >> 33).unwrap_or(0)
    }

    /// A language without a directory of its own has no samples.
    fn samples(language: &str) -> Vec<Vec<u8>> {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("grammars")
            .join(language)
            .join("samples/valid");
        std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
            .collect()
    }

    /// The text with a line duplicated, removed, or changed in one character.
    fn edited(text: &[u8], seed: &mut u64) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> =
            text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let at = pseudo_random(seed) % lines.len().max(1);
        match pseudo_random(seed) % 4 {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let from = pseudo_random(seed) % lines.len();
                let line = lines[from].clone();
                lines.insert(at, line);
            }
            _ => {
                let column = pseudo_random(seed) % lines[at].len().max(1);
                lines[at].insert(column, b" x1(){}\"';:#\t"[pseudo_random(seed) % 13]);
            }
        }
        lines.concat()
    }

    #[test]
    fn an_incremental_tree_equals_a_new_one() {
        let mut seed = 7;
        let (mut sound, mut all) = (0, 0);
        for language in LANGUAGES {
            for sample in samples(language.name) {
                let trees = TreeCache::default();
                let mut text = sample.clone();
                for _ in 0..30 {
                    let full = crate::parse(language, &text, &|| false).unwrap();
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
                        shape(&full),
                        shape(&quick),
                        "{name}:\n{}",
                        String::from_utf8_lossy(&text)
                    );
                    all += 1;
                    sound += u32::from(!full.has_error());
                    let next = edited(&text, &mut seed);
                    // Mostly from one text without errors to the next, because then trees are
                    // derived from one another.
                    let broken = crate::parse(language, &next, &|| false).unwrap().has_error();
                    text = if next.is_empty()
                        || broken && !pseudo_random(&mut seed).is_multiple_of(3)
                    {
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
    fn the_cache_is_bounded() {
        let language = LANGUAGES.iter().find(|language| language.name == "c").unwrap();
        let trees = TreeCache::default();
        for n in 0..100 {
            let text = format!("int x{n};\n").repeat(10_000);
            trees.parse(language, text.as_bytes(), &|| false).unwrap();
        }
        let kept = trees.kept.lock().unwrap();
        assert!(
            kept.len() <= MAX_TREES
                && kept.iter().map(|one| one.text.len()).sum::<usize>() <= MAX_TEXT
        );
        assert!(!kept.is_empty());
    }

    #[test]
    fn a_change_is_the_stretch_between_equal_ends() {
        assert_eq!(
            text_change(b"abcdef", b"abXdef"),
            Some(TextChange { start: 2, old_end: 3, new_end: 3 })
        );
        assert_eq!(
            text_change(b"aaaa", b"aaa"),
            Some(TextChange { start: 3, old_end: 4, new_end: 3 })
        );
        assert_eq!(
            text_change(b"aaa", b"aaaa"),
            Some(TextChange { start: 3, old_end: 3, new_end: 4 })
        );
        assert_eq!(text_change(b"abcdef", b"ghijkl"), None);
        let long: Vec<u8> = (0..2000_u32).map(|n| (n % 251) as u8).collect();
        for at in [0, 1, 255, 256, 257, 511, 512, 1999] {
            let mut other = long.clone();
            other[at] ^= 255;
            assert_eq!(
                text_change(&long, &other),
                Some(TextChange { start: at, old_end: at + 1, new_end: at + 1 })
            );
            other.remove(at);
            let found = text_change(&long, &other).unwrap();
            assert_eq!((found.start, found.old_end - found.new_end), (at, 1));
            assert_eq!([&long[..found.start], &long[found.old_end..]].concat(), other);
        }
    }
}
