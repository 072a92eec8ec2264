//! Which refs are guarded, and which changes of them are refused. Pure functions of their
//! arguments.

use edt_core::session::refs::names::{BRANCHES, REFS};
use edt_guard::policy::Policy;
use edt_types::Result;

/// How edt guards a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefKind {
    /// Not guarded.
    Free,
    /// A protected branch: only fast-forwards are allowed.
    Protected,
    /// A session's branch, or a history that edt keeps: only fast-forwards are allowed.
    Shadow,
    /// A session's base, origin, record or comments: no change is allowed.
    Record,
}

/// The ends of the refs that only edt changes.
const RECORDS: [&str; 4] = ["/base", "/origin", "/record", "/comments"];

/// One update, as Git reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// The old value. All zeros may also mean that Git's caller gave none.
    pub old: String,
    /// The new value: an object id, all zeros for a deletion, or `ref:` with a name.
    pub new: String,
    /// The ref's full name.
    pub name: String,
}

/// What an update does to a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefAction {
    /// Creates it, leaves it as it is, or fast-forwards it.
    Allowed,
    /// Deletes it.
    Deleted,
    /// Moves it so that it no longer reaches some commits.
    Rewound,
    /// Makes it a symbolic ref.
    MadeSymbolic,
}

/// The branches that at least one of several policies protects.
#[derive(Debug)]
pub struct Protection(Vec<Policy>);

impl Protection {
    /// The protection by the user's file and by each of the `committed` files.
    ///
    /// # Errors
    /// `BAD_REQUEST` if one cannot be read.
    pub fn of<'t>(
        user: Option<&str>,
        committed: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<Protection> {
        let mut all = vec![Policy::of(user, None)?];
        for bytes in committed {
            all.push(Policy::of(user, Some(&String::from_utf8_lossy(bytes)))?);
        }
        Ok(Protection(all))
    }

    /// The same, but ignores a committed file that cannot be read: a push cannot correct it.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the user's file cannot be read.
    pub fn readable<'t>(
        user: Option<&str>,
        committed: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<Protection> {
        let read = |bytes: &[u8]| Policy::of(user, Some(&String::from_utf8_lossy(bytes))).ok();
        let mut all = vec![Policy::of(user, None)?];
        all.extend(committed.into_iter().filter_map(read));
        Ok(Protection(all))
    }

    #[must_use]
    pub fn kind(&self, name: &str) -> RefKind {
        let kind = kind_of_name(name);
        let branch = name.strip_prefix("refs/heads/");
        let protected = |branch| self.0.iter().any(|policy| policy.protects_branch(branch));
        if kind == RefKind::Free && branch.is_some_and(protected) {
            RefKind::Protected
        } else {
            kind
        }
    }
}

/// How edt guards the ref `name` under every policy.
#[must_use]
pub fn kind_of_name(name: &str) -> RefKind {
    match name.strip_prefix(REFS) {
        Some(rest) if RECORDS.iter().any(|name| rest.ends_with(name)) => RefKind::Record,
        Some(_) => RefKind::Shadow,
        None if name.starts_with(BRANCHES) => RefKind::Shadow,
        None => RefKind::Free,
    }
}

/// Whether `id` is all zeros.
#[must_use]
pub fn is_null(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|digit| digit == b'0')
}

/// What an update from `current` (`None` for a new ref) to `new` does to a ref. `is_fast_forward`
/// is called only if its result decides.
///
/// # Errors
/// The errors of `is_fast_forward`.
pub fn ref_action(
    kind: RefKind,
    current: Option<&str>,
    new: &str,
    is_fast_forward: impl FnOnce() -> Result<bool>,
) -> Result<RefAction> {
    let Some(current) = current else { return Ok(RefAction::Allowed) };
    if kind == RefKind::Free || current == new {
        return Ok(RefAction::Allowed);
    }
    if is_null(new) {
        return Ok(RefAction::Deleted);
    }
    if new.starts_with("ref:") {
        return Ok(RefAction::MadeSymbolic);
    }
    if kind != RefKind::Record && is_fast_forward()? {
        return Ok(RefAction::Allowed);
    }
    Ok(RefAction::Rewound)
}

/// Parses lines `OLD NEW NAME`, which Git writes to a hook; `None` if one has another form.
#[must_use]
pub fn updates(input: &[u8]) -> Option<Vec<RefUpdate>> {
    let text = String::from_utf8_lossy(input);
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [old, new, name] = words[..] else { return None };
        let is_value = |word: &str| word.starts_with("ref:") || is_id(word);
        let made = || RefUpdate { old: old.to_owned(), new: new.to_owned(), name: name.to_owned() };
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
    fn a_refs_kind_follows_from_its_name_and_the_policies() {
        let team = b"[refs]\nprotected = [\"live\", \"v*\"]\n".as_slice();
        let all = Protection::of(Some("[refs]\nprotected = [\"mine\"]\n"), [team, b""]).unwrap();
        for (name, kind) in [
            ("refs/heads/main", RefKind::Protected),
            ("refs/heads/release/2", RefKind::Protected),
            ("refs/heads/release/2/x", RefKind::Free),
            ("refs/heads/live", RefKind::Protected),
            ("refs/heads/v2", RefKind::Protected),
            ("refs/heads/mine", RefKind::Protected),
            ("refs/heads/feature", RefKind::Free),
            ("refs/heads/edt/a", RefKind::Shadow),
            ("refs/edt/a/undone/1", RefKind::Shadow),
            ("refs/edt/a/record", RefKind::Record),
            ("refs/edt/a/base", RefKind::Record),
            ("refs/edt/a/comments", RefKind::Record),
            ("refs/remotes/origin/main", RefKind::Free),
            ("refs/tags/main", RefKind::Free),
            ("HEAD", RefKind::Free),
        ] {
            assert_eq!(all.kind(name), kind, "{name}");
        }
        assert!(Protection::of(None, [b"[refs\n".as_slice()]).is_err());
    }

    #[test]
    fn a_guarded_ref_may_only_be_created_or_fast_forwarded() {
        let action = |kind, current, new, is_fast_forward| {
            ref_action(kind, current, new, || Ok(is_fast_forward)).unwrap()
        };
        assert_eq!(action(RefKind::Protected, None, "b", false), RefAction::Allowed);
        assert_eq!(action(RefKind::Protected, Some("a"), "a", false), RefAction::Allowed);
        assert_eq!(action(RefKind::Protected, Some("a"), "b", true), RefAction::Allowed);
        assert_eq!(action(RefKind::Protected, Some("a"), "b", false), RefAction::Rewound);
        assert_eq!(action(RefKind::Shadow, Some("a"), NULL, true), RefAction::Deleted);
        assert_eq!(
            action(RefKind::Shadow, Some("a"), "ref:refs/heads/x", true),
            RefAction::MadeSymbolic
        );
        assert_eq!(action(RefKind::Record, Some("a"), "b", true), RefAction::Rewound);
        assert_eq!(action(RefKind::Free, Some("a"), NULL, false), RefAction::Allowed);
    }

    #[test]
    fn malformed_lines_are_not_guessed() {
        let one = RefUpdate {
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

    #[test]
    fn a_committed_file_that_cannot_be_read_may_be_ignored() {
        let broken = b"[refs\n".as_slice();
        let good = b"[refs]\nprotected = [\"live\"]\n".as_slice();
        let all = Protection::readable(None, [broken, good]).unwrap();
        assert_eq!(all.kind("refs/heads/live"), RefKind::Protected);
        assert!(Protection::readable(Some("[refs\n"), []).is_err());
    }

    #[test]
    fn an_object_id_has_the_length_of_one_of_gits_hashes() {
        assert!(is_id(NULL) && is_id(&"a".repeat(64)));
        assert!(!is_id(&"a".repeat(41)) && !is_id(&"g".repeat(40)));
    }

    #[test]
    fn only_zeros_are_a_null_id() {
        assert!(is_null("000"));
        assert!(!is_null("001") && !is_null(""));
    }
}
