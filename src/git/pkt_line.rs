//! The protocol of long-running filters (`gitprotocol-common`, `gitattributes`), spoken for one file: everything edt has to say
//! is known beforehand, so it is one text, and so is the answer.

/// Longest content of one packet.
const MOST: usize = 65_516;

/// What the filter answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The converted content.
    Content(Vec<u8>),
    /// It does not do this.
    NotOffered,
    /// It could not.
    Failed(String),
}

/// Everything Git says to a filter that is to `command` (`clean`, `smudge`) one file.
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
    content.chunks(MOST).for_each(|part| packet(&mut out, part));
    packet(&mut out, b"");
    out
}

/// What the filter's whole output says.
pub(super) fn answer(command: &str, output: &[u8]) -> Answer {
    let mut rest = output;
    let torn = || Answer::Failed("its answer breaks off or is none of this protocol".to_owned());
    let Some(welcome) = list(&mut rest) else { return torn() };
    let Some(offered) = list(&mut rest) else { return torn() };
    if welcome.first().is_none_or(|line| trimmed(line) != b"git-filter-server") {
        return torn();
    }
    if !offered.iter().any(|line| trimmed(line) == format!("capability={command}").as_bytes()) {
        return Answer::NotOffered;
    }
    let Some(status) = list(&mut rest) else { return torn() };
    if let Some(status) = status_of(&status).filter(|status| status != b"success") {
        return Answer::Failed(format!("it answered status={}", String::from_utf8_lossy(&status)));
    }
    let Some(content) = list(&mut rest) else { return torn() };
    let Some(last) = list(&mut rest) else { return torn() };
    match status_of(&last).filter(|status| status != b"success") {
        Some(status) => {
            Answer::Failed(format!("it answered status={}", String::from_utf8_lossy(&status)))
        }
        None => Answer::Content(content.concat()),
    }
}

/// One packet; an empty one ends a list.
fn packet(out: &mut Vec<u8>, content: &[u8]) {
    let len = if content.is_empty() { 0 } else { content.len() + 4 };
    out.extend_from_slice(format!("{len:04x}").as_bytes());
    out.extend_from_slice(content);
}

/// The packets up to the next that ends a list; `None` if there is no such end.
fn list<'a>(rest: &mut &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    loop {
        let (len, _) = rest.split_at_checked(4)?;
        let len = usize::from_str_radix(std::str::from_utf8(len).ok()?, 16).ok()?;
        if len == 0 {
            *rest = &rest[4..];
            return Some(found);
        }
        let (whole, after) = rest.split_at_checked(len)?;
        found.push(whole.get(4..)?);
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

    fn said(lists: &[&[&[u8]]]) -> Vec<u8> {
        let mut out = Vec::new();
        for list in lists {
            list.iter().for_each(|line| packet(&mut out, line));
            packet(&mut out, b"");
        }
        out
    }

    #[test]
    fn an_answer_is_whole_or_none() {
        let hello: [&[&[u8]]; 2] =
            [&[b"git-filter-server\n", b"version=2\n"], &[b"capability=clean\n"]];
        let good = said(&[hello[0], hello[1], &[b"status=success\n"], &[b"ab", b"c"], &[]]);
        assert_eq!(answer("clean", &good), Answer::Content(b"abc".to_vec()));
        assert_eq!(answer("smudge", &good), Answer::NotOffered);
        for end in 0..good.len() {
            assert!(matches!(answer("clean", &good[..end]), Answer::Failed(_)), "{end}");
        }
        let late =
            said(&[hello[0], hello[1], &[b"status=success\n"], &[b"ab"], &[b"status=error\n"]]);
        assert_eq!(answer("clean", &late), Answer::Failed("it answered status=error".to_owned()));
    }
}
