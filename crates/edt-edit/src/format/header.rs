//! The header line of a hunk: `@@ -1,2 +1,3 @@`, or what models write instead.

/// What the header of a hunk states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct HunkHeader {
    /// The first line (1-based) and the line count of the old side, then of the new side.
    pub(super) ranges: Option<((usize, usize), (usize, usize))>,
    /// A line that must precede the hunk.
    pub(super) anchor: Option<Vec<u8>>,
}

/// Parses a line that begins with `@@`; `None` for any other.
pub(super) fn read(line: &[u8]) -> Option<HunkHeader> {
    let rest = line.strip_prefix(b"@@")?;
    if rest.starts_with(b"@") {
        return None;
    }
    let rest = rest.trim_ascii_end();
    let closes = |at: &usize| {
        let space = |b: Option<&u8>| b.is_none_or(u8::is_ascii_whitespace);
        (*at == 0 || space(rest.get(at - 1))) && space(rest.get(at + 2))
    };
    let (inner, closed) = match memchr::memmem::find_iter(rest, b"@@").find(closes) {
        Some(at) => (&rest[..at], true),
        None => (rest, false),
    };
    let ranges = ranges(inner.trim_ascii());
    let numeric = |b: &u8| b.is_ascii_digit() || b" \t-+,.?".contains(b);
    let empty =
        inner.iter().all(numeric) || inner.trim_ascii() == "…".as_bytes() || is_placeholder(inner);
    // The text after the numbers is Git's guess at the function: it does not restrict the place.
    let anchor = (ranges.is_none() && !empty)
        .then(|| if closed { inner.trim_ascii() } else { rest.trim_ascii() });
    Some(HunkHeader { ranges, anchor: anchor.map(<[u8]>::to_vec) })
}

/// A literal placeholder such as `-line,count +line,count`.
fn is_placeholder(inner: &[u8]) -> bool {
    let words: Vec<&[u8]> =
        inner.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    matches!(words.as_slice(), [old, new] if old.starts_with(b"-") && new.starts_with(b"+"))
}

fn ranges(inner: &[u8]) -> Option<((usize, usize), (usize, usize))> {
    let text = std::str::from_utf8(inner).ok()?;
    let mut parts = text.split_ascii_whitespace();
    let side = |part: Option<&str>, mark: char| {
        let part = part?.strip_prefix(mark)?;
        let (start, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ranges = (side(parts.next(), '-')?, side(parts.next(), '+')?);
    parts.next().is_none().then_some(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(line: &str) -> Option<String> {
        read(line.as_bytes()).unwrap().anchor.map(|anchor| String::from_utf8(anchor).unwrap())
    }

    #[test]
    fn numbers_are_parsed_and_junk_is_ignored() {
        assert_eq!(read(b"@@ -1,2 +3 @@ int f()\n").unwrap().ranges, Some(((1, 2), (3, 1))));
        for junk in [
            "@@",
            "@@ ... @@",
            "@@ -x,y +x,y @@",
            "@@ -,+ @@",
            "@@ … @@\r\n",
            "@@ -1,2 @@",
            "@@ -line,count +line,count @@",
        ] {
            assert_eq!(read(junk.as_bytes()), Some(HunkHeader::default()), "{junk}");
        }
        assert_eq!(read(b"@@@ -1 -1 +1 @@@"), None);
    }

    #[test]
    fn text_in_place_of_numbers_is_an_anchor() {
        assert_eq!(anchor("@@ def f():\n").as_deref(), Some("def f():"));
        assert_eq!(anchor("@@ class A @@\n").as_deref(), Some("class A"));
        assert_eq!(anchor("@@ -1,2 +1,2 @@ def f():\n"), None);
        assert_eq!(anchor("@@ @@count = 0\n").as_deref(), Some("@@count = 0"));
        assert_eq!(anchor("@@ x\n").as_deref(), Some("x"));
    }
}
