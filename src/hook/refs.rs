//! Which refs are guarded, and what may not happen to them. Pure: values in, a verdict out.

use crate::base::Result;
use crate::policy::Policy;
use crate::session::current::{BRANCHES, REFS};

/// What a ref is to edt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: everything may happen to it.
    Free,
    /// A protected branch: it may grow.
    Protected,
    /// A session's branch, or a history of edt's: it may grow.
    Shadow,
    /// What a session is measured against: it stays.
    Record,
}

/// One update as Git tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The value Git names as the old one. All zeros may mean that Git was told none.
    pub old: String,
    /// The new value: an object id, all zeros for a deletion, or `ref:` with a name.
    pub new: String,
    /// The ref's full name.
    pub name: String,
}

/// What becomes of a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It comes to be, stays, or grows.
    Kept,
    /// It goes.
    Deleted,
    /// It leaves commits behind.
    Rewound,
    /// It would name another ref.
    Pointed,
}

/// The branches that several policies protect together.
#[derive(Debug)]
pub struct Protection(Vec<Policy>);

impl Protection {
    /// What a person's file and each of the `committed` files protect.
    ///
    /// # Errors
    /// `BAD_REQUEST` if one cannot be read.
    pub fn of<'t>(
        person: Option<&str>,
        committed: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<Protection> {
        let mut all = vec![Policy::of(person, None)?];
        for bytes in committed {
            all.push(Policy::of(person, Some(&String::from_utf8_lossy(bytes)))?);
        }
        Ok(Protection(all))
    }

    /// The same, where a committed file that cannot be read protects nothing more: a push is not the place to mend it.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the person's own cannot be read.
    pub fn readable<'t>(
        person: Option<&str>,
        committed: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<Protection> {
        let read = |bytes: &[u8]| Policy::of(person, Some(&String::from_utf8_lossy(bytes))).ok();
        let mut all = vec![Policy::of(person, None)?];
        all.extend(committed.into_iter().filter_map(read));
        Ok(Protection(all))
    }

    /// What the ref `name` is.
    #[must_use]
    pub fn kind(&self, name: &str) -> Kind {
        let shadow = shadow(name);
        let branch = name.strip_prefix("refs/heads/");
        let protected = |branch| self.0.iter().any(|policy| policy.protects_branch(branch));
        if shadow == Kind::Free && branch.is_some_and(protected) { Kind::Protected } else { shadow }
    }
}

/// What the ref `name` is, whatever is configured.
#[must_use]
pub fn shadow(name: &str) -> Kind {
    match name.strip_prefix(REFS) {
        Some(rest) if rest.ends_with("/base") || rest.ends_with("/origin") => Kind::Record,
        Some(_) => Kind::Shadow,
        None if name.starts_with(BRANCHES) => Kind::Shadow,
        None => Kind::Free,
    }
}

/// Whether `id` is the id that no object has.
#[must_use]
pub fn is_null(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

/// What becomes of a ref that is at `stands` (`None` if there is none) and gets `new`; `grows` tells whether the one is before the
/// other.
///
/// # Errors
/// Those of `grows`.
pub fn fate(
    kind: Kind,
    stands: Option<&str>,
    new: &str,
    grows: impl FnOnce() -> Result<bool>,
) -> Result<Fate> {
    let Some(stands) = stands else { return Ok(Fate::Kept) };
    if kind == Kind::Free || stands == new {
        return Ok(Fate::Kept);
    }
    if is_null(new) {
        return Ok(Fate::Deleted);
    }
    if new.starts_with("ref:") {
        return Ok(Fate::Pointed);
    }
    if kind != Kind::Record && grows()? {
        return Ok(Fate::Kept);
    }
    Ok(Fate::Rewound)
}

/// The lines `OLD NEW NAME` that Git writes to a hook; `None` if one is no such line.
#[must_use]
pub fn updates(input: &[u8]) -> Option<Vec<Update>> {
    let text = String::from_utf8_lossy(input);
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [old, new, name] = words[..] else { return None };
        let is_value = |word: &str| word.starts_with("ref:") || is_id(word);
        let made = || Update { old: old.to_owned(), new: new.to_owned(), name: name.to_owned() };
        (is_value(old) && is_value(new)).then(made)
    };
    text.lines().map(one).collect()
}

/// Whether `word` has the form of an object id.
#[must_use]
pub fn is_id(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NULL: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn refs_are_told_apart_by_their_names() {
        let team = b"[refs]\nprotected = [\"live\", \"v*\"]\n".as_slice();
        let all = Protection::of(Some("[refs]\nprotected = [\"mine\"]\n"), [team, b""]).unwrap();
        for (name, kind) in [
            ("refs/heads/main", Kind::Protected),
            ("refs/heads/release/2", Kind::Protected),
            ("refs/heads/release/2/x", Kind::Free),
            ("refs/heads/live", Kind::Protected),
            ("refs/heads/v2", Kind::Protected),
            ("refs/heads/mine", Kind::Protected),
            ("refs/heads/feature", Kind::Free),
            ("refs/heads/edt/a", Kind::Shadow),
            ("refs/edt/a/undone/1", Kind::Shadow),
            ("refs/edt/a/base", Kind::Record),
            ("refs/remotes/origin/main", Kind::Free),
            ("refs/tags/main", Kind::Free),
            ("HEAD", Kind::Free),
        ] {
            assert_eq!(all.kind(name), kind, "{name}");
        }
        assert!(Protection::of(None, [b"[refs\n".as_slice()]).is_err());
    }

    #[test]
    fn a_guarded_ref_may_come_stay_and_grow_only() {
        let told = |kind, stands, new, grows| fate(kind, stands, new, || Ok(grows)).unwrap();
        assert_eq!(told(Kind::Protected, None, "b", false), Fate::Kept);
        assert_eq!(told(Kind::Protected, Some("a"), "a", false), Fate::Kept);
        assert_eq!(told(Kind::Protected, Some("a"), "b", true), Fate::Kept);
        assert_eq!(told(Kind::Protected, Some("a"), "b", false), Fate::Rewound);
        assert_eq!(told(Kind::Shadow, Some("a"), NULL, true), Fate::Deleted);
        assert_eq!(told(Kind::Shadow, Some("a"), "ref:refs/heads/x", true), Fate::Pointed);
        assert_eq!(told(Kind::Record, Some("a"), "b", true), Fate::Rewound);
        assert_eq!(told(Kind::Free, Some("a"), NULL, false), Fate::Kept);
    }

    #[test]
    fn lines_that_are_none_are_not_guessed_at() {
        let one = Update {
            old: NULL.to_owned(),
            new: "ref:refs/heads/x".to_owned(),
            name: "HEAD".to_owned(),
        };
        assert_eq!(updates(format!("{NULL} ref:refs/heads/x HEAD\n").as_bytes()), Some(vec![one]));
        assert_eq!(
            (updates(b""), updates(b"a b\n"), updates(b"a b refs/x\n")),
            (Some(Vec::new()), None, None)
        );
    }
}
