//! Anchors: lines said to stand before a hunk, such as the head of its function. They narrow down where it may go.

use std::ops::Range;

use super::indent::indent_of;
use super::place::Misfit;
use super::table::LineTable;

/// Of `places`, where a run of `len` lines stands, those that the chain of `anchors` allows: in the block below the last anchor,
/// or, if there is none, anywhere after it.
///
/// # Errors
/// [`Misfit::Anchor`] if an anchor stands nowhere.
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
    let within = |at: &usize, end: fn(&Range<usize>, usize) -> usize| {
        blocks.iter().any(|block| at + len > block.start && *at < end(block, table.len()))
    };
    let inside: Vec<usize> = places.iter().copied().filter(|at| within(at, |block, _| block.end)).collect();
    if !inside.is_empty() {
        return Ok(inside);
    }
    Ok(places.into_iter().filter(|at| within(at, |_, all| all)).collect())
}

/// The one line where the last of the chain stands.
///
/// # Errors
/// [`Misfit::Anchor`] with its places if it is not one.
pub(super) fn line(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<usize, Misfit> {
    match blocks(table, anchors)?.as_slice() {
        [block] => Ok(block.start),
        several => {
            Err(Misfit::Anchor { index: anchors.len() - 1, lines: several.iter().map(|block| block.start).collect() })
        }
    }
}

/// The lines where the chain ends, each with the block below it.
fn blocks(table: &LineTable<'_>, anchors: &[Vec<u8>]) -> Result<Vec<Range<usize>>, Misfit> {
    let mut blocks: Vec<Range<usize>> = std::iter::once(0..table.len()).collect();
    for (index, anchor) in anchors.iter().enumerate() {
        let lines = |fits: &dyn Fn(&[u8]) -> bool| -> Vec<usize> {
            let from = usize::from(index > 0);
            let mut lines: Vec<usize> = blocks
                .iter()
                .flat_map(|block| block.start + from..block.end)
                .filter(|&at| fits(table.line(at)))
                .collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        };
        let anchor = anchor.trim_ascii();
        let mut found = lines(&|line| line.trim_ascii() == anchor);
        if found.is_empty() {
            // The head of a block is often cut short: `class A` for `class A(B):`.
            found = lines(&|line| line.trim_ascii().starts_with(anchor));
        }
        if found.is_empty() {
            return Err(Misfit::Anchor { index, lines: Vec::new() });
        }
        blocks = found.into_iter().map(|at| at..end_of_block(table, at)).collect();
    }
    Ok(blocks)
}

/// Where the block below line `at` ends: at the first line that is not indented deeper. Blank lines, lines that only open or close
/// brackets, and lines that begin with `#` (a comment, the preprocessor) end nothing.
fn end_of_block(table: &LineTable<'_>, at: usize) -> usize {
    let depth = indent_of(table.line(at)).len();
    let ends = |&at: &usize| {
        let line = table.line(at);
        let first = line.trim_ascii().first();
        first.is_some_and(|b| !b"{}()[]#".contains(b)) && indent_of(line).len() <= depth
    };
    (at + 1..table.len()).find(ends).unwrap_or(table.len())
}
