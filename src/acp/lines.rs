//! Lines of bounded length.

use std::io::{BufRead, Read as _, Result};

/// The longest message, in bytes, as for `edt mcp`. A longer one is dropped.
const MAX_LINE: u64 = 256 * 1024 * 1024;

/// The next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// With its line end, which the last one may not have.
    Whole(Vec<u8>),
    /// It was longer than the limit, and is gone.
    TooLong,
    /// The input ended.
    End,
}

/// Reads the next line.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn next(input: &mut impl BufRead) -> Result<Line> {
    next_within(input, MAX_LINE)
}

fn next_within(input: &mut impl BufRead, limit: u64) -> Result<Line> {
    let mut line = Vec::new();
    input.take(limit).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if line.ends_with(b"\n") || (line.len() as u64) < limit {
        return Ok(Line::Whole(line));
    }
    drop(line);
    loop {
        let read = input.fill_buf()?;
        let end = memchr::memchr(b'\n', read);
        let len = end.map_or(read.len(), |end| end + 1);
        input.consume(len);
        if end.is_some() || len == 0 {
            return Ok(Line::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, limit: u64) -> Vec<Line> {
        let mut input = text.as_bytes();
        std::iter::from_fn(|| match next_within(&mut input, limit).unwrap() {
            Line::End => None,
            line => Some(line),
        })
        .collect()
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_not() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(
            all("abc\n1234567\n\nlast", 5),
            [whole("abc\n"), Line::TooLong, whole("\n"), whole("last")]
        );
        assert_eq!(all("12345", 5), [Line::TooLong]);
    }
}
