//! `$Id$` as Git expands and collapses it (`ident_to_git`, `ident_to_worktree` of `convert.c`).
//! Pure functions.

/// Replaces every `$Id: … $` within one line with `$Id$`.
pub(super) fn collapse(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'$', rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = &rest[at + 1..];
        let Some(end) = rest.strip_prefix(b"Id:").and_then(|value| memchr::memchr(b'$', value))
        else {
            continue;
        };
        if memchr::memchr(b'\n', &rest[3..3 + end]).is_none() {
            out.extend_from_slice(b"Id$");
            rest = &rest[3 + end + 1..];
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Replaces every `$Id$` with `$Id: <id> $`, where `id` is the blob's own id.
pub(super) fn expand(text: &[u8], id: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'$', rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(b"Id$") {
            rest = after;
        } else if let Some(value) = rest.strip_prefix(b"Id:") {
            let Some(end) = memchr::memchr(b'$', value) else { break };
            // A space inside marks the id of another version control system.
            let space =
                value.get(1..end).and_then(|inner| memchr::memchr(b' ', inner)).map(|at| at + 1);
            if memchr::memchr(b'\n', &value[..end]).is_some()
                || space.is_some_and(|space| space + 1 < end)
            {
                continue;
            }
            rest = &value[end + 1..];
        } else {
            continue;
        }
        out.extend_from_slice(format!("Id: {id} $").as_bytes());
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_expanded_and_collapsed_on_its_own_line_only() {
        assert_eq!(
            expand(b"a $Id$ b $Id: old $\n$Id: a b $ $Id:\n$", "f00"),
            b"a $Id: f00 $ b $Id: f00 $\n$Id: a b $ $Id:\n$"
        );
        assert_eq!(collapse(b"a $Id: f00 $ b $Id$ $Id:\n$ $Idx$"), b"a $Id$ b $Id$ $Id:\n$ $Idx$");
        for text in [b"$".as_slice(), b"$Id", b"$Id:", b"$Id:$", b"$Id: $", b"$$Id$$"] {
            assert_eq!(
                collapse(&expand(text, "f00")),
                collapse(text),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
