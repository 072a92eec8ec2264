//! File names in the headers of a unified diff.

use crate::table::content;

/// What a `---` or `+++` line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderName {
    /// `/dev/null`: no file on that side.
    DevNull,
    File(Vec<u8>),
}

impl HeaderName {
    pub(super) fn file(self) -> Option<Vec<u8>> {
        match self {
            HeaderName::DevNull => None,
            HeaderName::File(name) => Some(name),
        }
    }
}

/// Parses the rest of a `---` or `+++` line: unquoted, without a time stamp. Git puts a tab after a
/// name that contains spaces.
pub(super) fn of_header(rest: &[u8]) -> HeaderName {
    let rest = content(rest);
    let (name, stamp) = match rest.strip_prefix(b"\"") {
        Some(quoted) => (unquoted(quoted).0, &rest[..0]),
        None => match memchr::memchr(b'\t', rest) {
            Some(tab) => (rest[..tab].to_vec(), &rest[tab + 1..]),
            None => (without_stamp(rest).trim_ascii().to_vec(), &rest[..0]),
        },
    };
    // `diff -N` gives an absent file the epoch as its time stamp.
    let is_epoch =
        [&b"1970-01-01 00:00:00"[..], b"1969-12-31 "].iter().any(|epoch| stamp.starts_with(epoch));
    if name == b"/dev/null" || is_epoch { HeaderName::DevNull } else { HeaderName::File(name) }
}

/// The name in an extended header of Git: unquoted, otherwise unchanged.
pub(super) fn of_git(rest: &[u8]) -> Vec<u8> {
    let rest = content(rest);
    rest.strip_prefix(b"\"").map_or_else(|| rest.to_vec(), |quoted| unquoted(quoted).0)
}

/// Cuts a time stamp that follows a space: `x 2026-01-01 10:00:00`.
fn without_stamp(rest: &[u8]) -> &[u8] {
    let is_date = |word: &[u8]| {
        word.len() == 10
            && word
                .iter()
                .enumerate()
                .all(|(i, b)| if matches!(i, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() })
    };
    let mut from = 0;
    for word in rest.split(|&b| b == b' ') {
        if from > 0 && is_date(word) {
            return &rest[..from - 1];
        }
        from += word.len() + 1;
    }
    rest
}

/// The directory prefixes of the old and the new name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Prefixes {
    old: Vec<u8>,
    new: Vec<u8>,
}

/// The prefixes of `git diff`: the default, those of `diff.mnemonicPrefix`, and both with `-R`.
const PREFIXES: &[(&[u8], &[u8])] = &[
    (b"a/", b"b/"),
    (b"i/", b"w/"),
    (b"c/", b"i/"),
    (b"c/", b"w/"),
    (b"o/", b"w/"),
    (b"b/", b"a/"),
    (b"w/", b"i/"),
    (b"i/", b"c/"),
    (b"w/", b"c/"),
    (b"w/", b"o/"),
];

impl Prefixes {
    /// The prefixes of the two names of one `diff --git` line; none if the names are equal.
    pub(super) fn of(old: &[u8], new: &[u8]) -> Prefixes {
        let both = |old: &[u8], new: &[u8]| Prefixes { old: old.to_vec(), new: new.to_vec() };
        if old == new {
            return Prefixes::default();
        }
        if let Some((left, right)) =
            PREFIXES.iter().find(|(left, right)| old.starts_with(left) && new.starts_with(right))
        {
            return both(left, right);
        }
        let directory = |name: &[u8]| memchr::memchr(b'/', name).map(|at| at + 1);
        match (directory(old), directory(new)) {
            (Some(left), Some(right)) if old[left..] == new[right..] => {
                both(&old[..left], &new[..right])
            }
            _ => Prefixes::default(),
        }
    }

    /// The prefixes of the `---` and `+++` names, for a diff without a `diff --git` line.
    fn of_bare(old: Option<&[u8]>, new: Option<&[u8]>) -> Prefixes {
        let fits = |(left, right): &&(&[u8], &[u8])| match (old, new) {
            (Some(old), Some(new)) => old.starts_with(left) && new.starts_with(right),
            (Some(old), None) => *left == b"a/" && old.starts_with(left),
            (None, Some(new)) => *right == b"b/" && new.starts_with(right),
            (None, None) => false,
        };
        let found = PREFIXES.iter().find(fits);
        found.map_or_else(Prefixes::default, |(left, right)| Prefixes {
            old: left.to_vec(),
            new: right.to_vec(),
        })
    }

    /// Removes the prefixes.
    pub(super) fn cut(
        &self,
        old: Option<Vec<u8>>,
        new: Option<Vec<u8>>,
    ) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let cut = |name: Vec<u8>, prefix: &[u8]| {
            name.strip_prefix(prefix).map_or_else(|| name.clone(), <[u8]>::to_vec)
        };
        (old.map(|name| cut(name, &self.old)), new.map(|name| cut(name, &self.new)))
    }
}

/// Removes the prefixes of both names, for a diff without a `diff --git` line.
pub(super) fn without_prefix(
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    Prefixes::of_bare(old.as_deref(), new.as_deref()).cut(old, new)
}

/// The two names of `diff --git a/x b/x`, with their prefixes; `None` if the split is ambiguous.
pub(super) fn of_git_line(rest: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let rest = content(rest);
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        let (old, used) = unquoted(quoted);
        return Some((old, of_header(quoted.get(used..)?.strip_prefix(b" ")?).file()?));
    }
    if let Some(at) = memchr::memmem::find(rest, b" \"") {
        return Some((rest[..at].to_vec(), of_header(&rest[at + 1..]).file()?));
    }
    // Names may contain spaces: use the split where both sides name the same file.
    let same = |at: &usize| {
        let (old, new) = (&rest[..*at], &rest[at + 1..]);
        let (old, new) = Prefixes::of(old, new).cut(Some(old.to_vec()), Some(new.to_vec()));
        old == new
    };
    let spaces: Vec<usize> = memchr::memchr_iter(b' ', rest).collect();
    let at = spaces.iter().find(|at| same(at)).or(if let [only] = spaces.as_slice() {
        Some(only)
    } else {
        None
    })?;
    Some((rest[..*at].to_vec(), rest[at + 1..].to_vec()))
}

/// Decodes a name quoted as in C. Also returns how many bytes it took, including the closing quote.
fn unquoted(quoted: &[u8]) -> (Vec<u8>, usize) {
    let (mut name, mut at) = (Vec::new(), 0);
    while at < quoted.len() && quoted[at] != b'"' {
        if quoted[at] != b'\\' || at + 1 == quoted.len() {
            name.push(quoted[at]);
            at += 1;
            continue;
        }
        let octal: Vec<u8> = quoted[at + 1..]
            .iter()
            .take(3)
            .copied()
            .take_while(|b| (b'0'..=b'7').contains(b))
            .collect();
        if octal.is_empty() {
            name.push(match quoted[at + 1] {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                other => other,
            });
            at += 2;
        } else {
            let value = octal.iter().fold(0_u32, |value, b| value * 8 + u32::from(b - b'0'));
            name.push(u8::try_from(value & 0xff).unwrap_or_default());
            at += 1 + octal.len();
        }
    }
    (name, (at + 1).min(quoted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unquoted_and_lose_their_time_stamp() {
        assert_eq!(
            of_header(b"a/x y.c\t2026-01-01 00:00:00\n"),
            HeaderName::File(b"a/x y.c".to_vec())
        );
        assert_eq!(
            of_header(b"\"a/\\303\\244\\t\\\"b\"\r\n"),
            HeaderName::File("a/ä\t\"b".as_bytes().to_vec())
        );
        assert_eq!(of_header(b"/dev/null\n"), HeaderName::DevNull);
    }

    #[test]
    fn only_the_prefixes_that_git_adds_are_removed() {
        let cut = |old: &str, new: &str| without_prefix(Some(old.into()), Some(new.into()));
        assert_eq!(cut("a/x", "b/x"), (Some(b"x".to_vec()), Some(b"x".to_vec())));
        assert_eq!(cut("a/x", "a/x"), (Some(b"a/x".to_vec()), Some(b"a/x".to_vec())));
        assert_eq!(cut("i/x", "w/x"), (Some(b"x".to_vec()), Some(b"x".to_vec())));
        assert_eq!(without_prefix(None, Some(b"b/x".to_vec())), (None, Some(b"x".to_vec())));
    }

    #[test]
    fn the_git_line_determines_the_prefixes() {
        let cut = |old: &str, new: &str| {
            Prefixes::of(old.as_bytes(), new.as_bytes())
                .cut(Some(old.into()), Some(new.into()))
                .0
                .unwrap()
        };
        assert_eq!(cut("a/x", "b/x"), b"x");
        assert_eq!(cut("a/x", "a/x"), b"a/x");
        assert_eq!(cut("c/x", "i/x"), b"x");
        assert_eq!(cut("b/x", "a/x"), b"x");
        assert_eq!(cut("old/x", "new/x"), b"x");
    }

    #[test]
    fn the_git_line_may_contain_spaces() {
        assert_eq!(of_git_line(b"a/x y b/x y\n"), Some((b"a/x y".to_vec(), b"b/x y".to_vec())));
        assert_eq!(of_git_line(b"a/x b/y\n"), Some((b"a/x".to_vec(), b"b/y".to_vec())));
    }
}
