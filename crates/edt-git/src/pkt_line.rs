//! The protocol of long-running filters (`gitprotocol-common`, `gitattributes`) for a single file.
//! All requests are known beforehand, so they are sent as one text, and the answer is read as one
//! text.

/// The longest content of one packet.
const MAX_PACKET: usize = 65_516;

/// The answer of the filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The converted content.
    Content(Vec<u8>),
    /// The filter does not support the command.
    NotOffered,
    /// The filter reported a failure.
    Failed(String),
}

/// Everything Git sends to a filter for the `command` (`clean`, `smudge`) on one file.
pub(super) fn request(command: &str, path: &[u8], content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + path.len() + 256);
    for part in [
        [b"git-filter-client\n".as_slice(), b"version=2\n", b""],
        [b"capability=clean\n", b"capability=smudge\n", b""],
        [format!("command={command}\n").as_bytes(), &[b"pathname=", path, b"\n"].concat(), b""],
    ] {
        for text in part {
            packet(&mut out, text);
        }
    }
    content.chunks(MAX_PACKET).for_each(|part| packet(&mut out, part));
    packet(&mut out, b"");
    out
}

/// Parses the complete output of the filter.
pub(super) fn answer(command: &str, output: &[u8]) -> Answer {
    let mut rest = output;
    let malformed =
        || Answer::Failed("its answer is incomplete or does not follow the protocol".to_owned());
    let Some(welcome) = list(&mut rest) else { return malformed() };
    let Some(offered) = list(&mut rest) else { return malformed() };
    if welcome.first().is_none_or(|line| trimmed(line) != b"git-filter-server") {
        return malformed();
    }
    if !offered.iter().any(|line| trimmed(line) == format!("capability={command}").as_bytes()) {
        return Answer::NotOffered;
    }
    let Some(status) = list(&mut rest) else { return malformed() };
    if let Some(status) = status_of(&status).filter(|status| status != b"success") {
        return Answer::Failed(format!("it answered status={}", String::from_utf8_lossy(&status)));
    }
    let Some(content) = list(&mut rest) else { return malformed() };
    let Some(last) = list(&mut rest) else { return malformed() };
    match status_of(&last).filter(|status| status != b"success") {
        Some(status) => {
            Answer::Failed(format!("it answered status={}", String::from_utf8_lossy(&status)))
        }
        None => Answer::Content(content.concat()),
    }
}

/// Writes one packet; an empty one ends a list.
fn packet(out: &mut Vec<u8>, content: &[u8]) {
    let len = if content.is_empty() { 0 } else { content.len() + 4 };
    out.extend_from_slice(format!("{len:04x}").as_bytes());
    out.extend_from_slice(content);
}

/// The packets up to the end of the list; `None` if the end is missing.
fn list<'a>(rest: &mut &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    loop {
        let (len, _) = rest.split_at_checked(4)?;
        let len = usize::from_str_radix(std::str::from_utf8(len).ok()?, 16).ok()?;
        if len == 0 {
            *rest = &rest[4..];
            return Some(found);
        }
        let (packet, after) = rest.split_at_checked(len)?;
        found.push(packet.get(4..)?);
        *rest = after;
    }
}

fn status_of(list: &[&[u8]]) -> Option<Vec<u8>> {
    list.iter().find_map(|line| trimmed(line).strip_prefix(b"status=")).map(<[u8]>::to_vec)
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(lists: &[&[&[u8]]]) -> Vec<u8> {
        let mut out = Vec::new();
        for list in lists {
            list.iter().for_each(|line| packet(&mut out, line));
            packet(&mut out, b"");
        }
        out
    }

    #[test]
    fn an_answer_is_complete_or_an_error() {
        let hello: [&[&[u8]]; 2] =
            [&[b"git-filter-server\n", b"version=2\n"], &[b"capability=clean\n"]];
        let good = encoded(&[hello[0], hello[1], &[b"status=success\n"], &[b"ab", b"c"], &[]]);
        assert_eq!(answer("clean", &good), Answer::Content(b"abc".to_vec()));
        assert_eq!(answer("smudge", &good), Answer::NotOffered);
        for end in 0..good.len() {
            assert!(matches!(answer("clean", &good[..end]), Answer::Failed(_)), "{end}");
        }
        let late =
            encoded(&[hello[0], hello[1], &[b"status=success\n"], &[b"ab"], &[b"status=error\n"]]);
        assert_eq!(answer("clean", &late), Answer::Failed("it answered status=error".to_owned()));
    }
}
