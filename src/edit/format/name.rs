//! The names of files in the headers of a unified diff.

/// What a `---` or `+++` line names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// `/dev/null`: there is no file on that side.
    Nothing,
    /// A file.
    File(Vec<u8>),
}

impl Named {
    /// The file.
    pub(super) fn file(self) -> Option<Vec<u8>> {
        match self {
            Named::Nothing => None,
            Named::File(name) => Some(name),
        }
    }
}

/// The name in the rest of a `---` or `+++` line: unquoted, its time stamp cut.
pub(super) fn of_header(rest: &[u8]) -> Named {
    let rest = rest.trim_ascii_end();
    let name = match rest.strip_prefix(b"\"") {
        Some(quoted) => unquoted(quoted).0,
        None => rest.split(|&b| b == b'\t').next().unwrap_or(rest).trim_ascii().to_vec(),
    };
    if name == b"/dev/null" { Named::Nothing } else { Named::File(name) }
}

/// The names of both sides, without the folders that Git puts before them. A side that is absent has none.
pub(super) fn without_prefix(old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    /// What `git diff` puts before the two sides: by default, with `diff.mnemonicPrefix`, and with `-R`.
    const PREFIXES: &[(&[u8], &[u8])] = &[
        (b"a/", b"b/"),
        (b"i/", b"w/"),
        (b"c/", b"i/"),
        (b"c/", b"w/"),
        (b"o/", b"w/"),
        (b"b/", b"a/"),
        (b"w/", b"i/"),
    ];
    let cut =
        |name: &Option<Vec<u8>>, prefix: &[u8]| name.as_ref().map(|name| name.strip_prefix(prefix).map(<[u8]>::to_vec));
    for (left, right) in PREFIXES {
        match (cut(&old, left), cut(&new, right)) {
            (Some(Some(old)), Some(Some(new))) => return (Some(old), Some(new)),
            (Some(Some(old)), None) if *left == b"a/" => return (Some(old), None),
            (None, Some(Some(new))) if *right == b"b/" => return (None, Some(new)),
            _ => {}
        }
    }
    (old, new)
}

/// The two names of `diff --git a/x b/x`, prefixes kept; `None` unless they can be told apart.
pub(super) fn of_git_line(rest: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let rest = rest.trim_ascii();
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        let (old, used) = unquoted(quoted);
        return Some((old, of_header(quoted.get(used..)?.trim_ascii_start()).file()?));
    }
    if let Some(at) = memchr::memmem::find(rest, b" \"") {
        return Some((rest[..at].to_vec(), of_header(&rest[at + 1..]).file()?));
    }
    // Names may hold spaces: the one split where both sides name the same file.
    let same = |at: &usize| {
        let (old, new) = without_prefix(Some(rest[..*at].to_vec()), Some(rest[at + 1..].to_vec()));
        old == new
    };
    let spaces: Vec<usize> = memchr::memchr_iter(b' ', rest).collect();
    let at = spaces.iter().find(|at| same(at)).or(if let [only] = spaces.as_slice() { Some(only) } else { None })?;
    Some((rest[..*at].to_vec(), rest[at + 1..].to_vec()))
}

/// A name in the quotes of C, and how many bytes it took, the closing quote included.
fn unquoted(quoted: &[u8]) -> (Vec<u8>, usize) {
    let (mut name, mut at) = (Vec::new(), 0);
    while at < quoted.len() && quoted[at] != b'"' {
        if quoted[at] != b'\\' || at + 1 == quoted.len() {
            name.push(quoted[at]);
            at += 1;
            continue;
        }
        let octal: Vec<u8> =
            quoted[at + 1..].iter().take(3).copied().take_while(|b| (b'0'..=b'7').contains(b)).collect();
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
    fn names_are_unquoted_and_lose_their_time() {
        assert_eq!(of_header(b"a/x y.c\t2026-01-01 00:00:00\n"), Named::File(b"a/x y.c".to_vec()));
        assert_eq!(of_header(b"\"a/\\303\\244\\t\\\"b\"\r\n"), Named::File("a/ä\t\"b".as_bytes().to_vec()));
        assert_eq!(of_header(b"/dev/null\n"), Named::Nothing);
    }

    #[test]
    fn only_the_folders_that_git_adds_are_cut() {
        let cut = |old: &str, new: &str| without_prefix(Some(old.into()), Some(new.into()));
        assert_eq!(cut("a/x", "b/x"), (Some(b"x".to_vec()), Some(b"x".to_vec())));
        assert_eq!(cut("a/x", "a/x"), (Some(b"a/x".to_vec()), Some(b"a/x".to_vec())));
        assert_eq!(cut("i/x", "w/x"), (Some(b"x".to_vec()), Some(b"x".to_vec())));
        assert_eq!(without_prefix(None, Some(b"b/x".to_vec())), (None, Some(b"x".to_vec())));
    }

    #[test]
    fn the_git_line_may_hold_spaces() {
        assert_eq!(of_git_line(b"a/x y b/x y\n"), Some((b"a/x y".to_vec(), b"b/x y".to_vec())));
        assert_eq!(of_git_line(b"a/x b/y\n"), Some((b"a/x".to_vec(), b"b/y".to_vec())));
    }
}
