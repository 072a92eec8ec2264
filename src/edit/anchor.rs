//! Anchors: lines said to stand before a hunk, such as the head of its function. They narrow down where it may go.

use std::ops::Range;

use super::indent::indent_of;
use super::place::Misfit;
use super::table::LineTable;

/// Most lines that one anchor may stand at: beyond, it says nothing.
const MAX_LINES: usize = 100;

/// Of `places`, where a run of `len` lines stands, those in the block below the last of the chain of `anchors`, or around it.
///
/// # Errors
/// [`Misfit::Anchor`] if an anchor stands nowhere, or nearly everywhere.
pub(super) fn narrow(
    table: &LineTable<'_>,
    anchors: &[Vec<u8>],
    places: Vec<usize>,
    len: usize,
) -> Result<Vec<usize>, Misfit> {
    if anchors.is_empty() {
        return Ok(places);
    }
    let blocks = blocks(table, anchors)?;
    let within = |at: &usize| blocks.iter().any(|block| at + len > block.start && *at < block.end);
    Ok(places.into_iter().filter(within).collect())
}

/// Whether line `at` comes after the last of the chain.
///
/// # Errors
/// As [`narrow`].
pub(super) fn is_below(
    table: &LineTable<'_>,
    anchors: &[Vec<u8>],
    at: usize,
) -> Result<bool, Misfit> {
    Ok(blocks(table, anchors)?.iter().any(|block| block.start <= at))
}

/// The one line where the last of the chain stands.
///
/// # Errors
/// [`Misfit::Anchor`] with its places if it is not one.
pub(super) fn line(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<usize, Misfit> {
    match blocks(table, anchors)?.as_slice() {
        [block] => Ok(block.start),
        several => Err(Misfit::Anchor {
            index: anchors.len() - 1,
            lines: several.iter().map(|block| block.start).collect(),
        }),
    }
}

/// The lines where the chain ends, each with the block below it.
fn blocks(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<Vec<Range<usize>>, Misfit> {
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
            // The head of a block is often cut short: `class A` for `class A(B):`. Never within a word.
            found = lines(&|line| {
                let rest = line.trim_ascii().strip_prefix(anchor);
                rest.is_some_and(|rest| {
                    !rest.first().is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_')
                })
            });
        }
        if found.is_empty() || found.len() > MAX_LINES {
            return Err(Misfit::Anchor { index, lines: found });
        }
        blocks = found.into_iter().map(|at| at..end_of_block(table, at)).collect();
    }
    Ok(blocks)
}

/// Where the block that line `at` heads ends. One that opens with `{` ends with the first line that closes it at the same depth; any other
/// at the first line that is not indented deeper; a line that heads nothing stands for what follows it in its own block. Blank lines,
/// lines that only open or close brackets, labels, and lines that begin with `#` (a comment, the preprocessor) end nothing.
fn end_of_block(table: &LineTable<'_>, at: usize) -> usize {
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
