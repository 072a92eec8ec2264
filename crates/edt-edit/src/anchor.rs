//! Anchors: lines that must precede a hunk, such as the head of its function. They restrict where
//! the hunk may go.

use std::ops::Range;

use super::indent::indent_of;
use super::place_error::PlaceError;
use super::table::LineTable;

/// The most lines that one anchor may match. An anchor that matches more is not specific enough.
const MAX_LINES: usize = 100;

/// Filters `places`, where a run of `len` lines was found: keeps those in the block that the last
/// anchor of the chain heads, or around that block. If the anchor occurs several times, a place
/// below one whose block has no place is kept, too: that block may be another than assumed.
///
/// # Errors
/// [`PlaceError::Anchor`] if an anchor matches no line, or too many.
pub(super) fn narrow(
    table: &LineTable<'_>,
    anchors: &[Vec<u8>],
    places: Vec<usize>,
    len: usize,
) -> Result<Vec<usize>, PlaceError> {
    if anchors.is_empty() {
        return Ok(places);
    }
    let blocks = blocks(table, anchors)?;
    let within = |at: &usize| blocks.iter().any(|block| at + len > block.start && *at < block.end);
    let mut kept: Vec<usize> = places.iter().copied().filter(within).collect();
    if blocks.len() > 1 && !kept.is_empty() {
        let head = |at: usize| blocks.iter().rev().find(|block| block.start <= at);
        let headed: Vec<_> = kept.iter().map(|&at| head(at)).collect();
        let rival = |at: &&usize| head(**at).is_some() && !headed.contains(&head(**at));
        kept.extend(places.iter().filter(|at| !within(at)).filter(rival));
        kept.sort_unstable();
    }
    Ok(kept)
}

/// Whether line `at` follows the last anchor of the chain.
///
/// # Errors
/// As [`narrow`].
pub(super) fn is_below(
    table: &LineTable<'_>,
    anchors: &[Vec<u8>],
    at: usize,
) -> Result<bool, PlaceError> {
    Ok(blocks(table, anchors)?.iter().any(|block| block.start <= at))
}

/// The only line that the last anchor of the chain matches.
///
/// # Errors
/// [`PlaceError::Anchor`] with the matching lines unless there is exactly one.
pub(super) fn line(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<usize, PlaceError> {
    match blocks(table, anchors)?.as_slice() {
        [block] => Ok(block.start),
        several => Err(PlaceError::Anchor {
            index: anchors.len() - 1,
            lines: several.iter().map(|block| block.start).collect(),
        }),
    }
}

/// The lines that the end of the chain matches, each with the block below it.
fn blocks(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<Vec<Range<usize>>, PlaceError> {
    let mut blocks: Vec<Range<usize>> = std::iter::once(0..table.len()).collect();
    for (index, anchor) in anchors.iter().enumerate() {
        let lines = |fits: &dyn Fn(&[u8]) -> bool| -> Vec<usize> {
            let from = usize::from(index > 0);
            let inside = |at: &usize| {
                blocks.iter().any(|block| block.start + from <= *at && *at < block.end)
            };
            (0..table.len())
                .filter(|&at| fits(table.line(at)))
                .filter(inside)
                .take(MAX_LINES + 1)
                .collect()
        };
        let anchor = anchor.trim_ascii();
        let mut found = lines(&|line| line.trim_ascii() == anchor);
        if found.is_empty() {
            // Patches often shorten the head of a block: `class A` for `class A(B):`. Never within
            // a word.
            found = lines(&|line| {
                let rest = line.trim_ascii().strip_prefix(anchor);
                rest.is_some_and(|rest| {
                    !rest.first().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_')
                })
            });
        }
        if found.is_empty() || found.len() > MAX_LINES {
            return Err(PlaceError::Anchor { index, lines: found });
        }
        blocks = found.into_iter().map(|at| at..end_of_block(table, at)).collect();
    }
    Ok(blocks)
}

/// Where the block that line `at` heads ends. A block that opens with `{` ends with the first line
/// that closes it at the same depth. Any other block ends at the first line that is not indented
/// deeper. A line that heads no block represents the rest of its own block. Blank lines, lines with
/// only brackets, labels, and lines that begin with `#` (comments, preprocessor) do not end a
/// block.
pub(super) fn end_of_block(table: &LineTable<'_>, at: usize) -> usize {
    let depth = |at: usize| indent_of(table.line(at)).len();
    let text = |at: usize| table.line(at).trim_ascii();
    let filled = |from: usize| (from..table.len()).filter(|&at| !text(at).is_empty());
    let (own, next) = (depth(at), filled(at + 1).next());
    if text(at).ends_with(b"{") || next.is_some_and(|next| text(next) == b"{" && depth(next) <= own)
    {
        let closes = |line: &usize| depth(*line) <= own && text(*line).starts_with(b"}");
        return filled(at + 1).find(closes).map_or(table.len(), |line| line + 1);
    }
    let heads = next.is_some_and(|next| depth(next) > own);
    let ends = |line: &usize| {
        let text = text(*line);
        let brackets = text.iter().all(|b| b"{}()[],;".contains(b));
        let label = text
            .strip_suffix(b":")
            .is_some_and(|word| word.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_'));
        let label = label && !table.line(at).trim_ascii().ends_with(b":");
        let out = if heads { depth(*line) <= own } else { depth(*line) < own };
        out && !brackets && !label && !text.starts_with(b"#")
    };
    filled(at + 1).find(ends).unwrap_or(table.len())
}

#[cfg(test)]
mod tests {
    use super::super::table::LineComparison;
    use super::*;

    #[test]
    fn a_repeated_anchor_excludes_no_place_whose_block_may_end_elsewhere() {
        // A line without indentation ends the block of the first anchor too early.
        let text = b"run:\n  a\nlost\n  x\nrun:\n  x\n";
        let table = LineTable::new(text, LineComparison::Exact);
        let narrowed = |anchor: &[u8]| narrow(&table, &[anchor.to_vec()], vec![3, 5], 1).unwrap();
        assert_eq!(narrowed(b"run:"), [3, 5]);
        let text = b"run:\n  a\nlost\n  x\nend:\n  x\n";
        let table = LineTable::new(text, LineComparison::Exact);
        assert_eq!(narrow(&table, &[b"end:".to_vec()], vec![3, 5], 1).unwrap(), [5]);
    }
}
