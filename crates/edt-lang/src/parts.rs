//! The scripts and styles of components: `.vue`, `.svelte` and `.astro`.

use std::ops::Range;

/// A part of a component in a language of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The extension of files in that language, such as `ts`.
    pub extension: &'static str,
    /// Its text, without its tags.
    pub bytes: Range<usize>,
    /// Whether it has its end tag.
    pub ends: bool,
}

/// The parts of a component whose tags begin a line, in order, and the front matter of Astro.
#[must_use]
pub fn parts(text: &[u8]) -> Vec<Part> {
    let mut found = Vec::new();
    let mut at = 0;
    let front = [&b"---\n"[..], b"---\r\n"].into_iter().find(|mark| text.starts_with(mark));
    if let Some(mark) = front {
        let (start, rest) = (mark.len(), &text[mark.len()..]);
        let end = memchr::memmem::find(rest, b"\n---");
        at = start + end.map_or(rest.len(), |end| end + 1);
        found.push(Part { extension: "ts", bytes: start..at, ends: end.is_some() });
    }
    while let Some(tag) = next_tag(text, at) {
        let Some(end) = tag_end(&text[tag..]).map(|end| tag + end + 1) else { break };
        let script = text[tag..].starts_with(b"<script");
        let close: &[u8] = if script { b"</script" } else { b"</style" };
        let closes = memchr::memmem::find(&text[end..], close);
        let bytes = end..closes.map_or(text.len(), |close| end + close);
        at = bytes.end;
        // `<script src="a" />` has no text.
        if text[tag..end].ends_with(b"/>") {
            at = end;
        } else if let Some(extension) = extension(&text[tag..end], script, front.is_some()) {
            found.push(Part { extension, bytes, ends: closes.is_some() });
        }
    }
    found
}

/// Where a tag ends: a `>` outside the values of its attributes.
fn tag_end(tag: &[u8]) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0_usize);
    tag.iter().position(|&byte| {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{') => depth += 1,
            (None, b'}') => depth = depth.saturating_sub(1),
            (None, b'>') => return depth == 0,
            _ => {}
        }
        false
    })
}

/// The text in which everything else than some stretches is blank, at the same offsets.
#[must_use]
pub fn alone<'r>(text: &[u8], stretches: impl Iterator<Item = &'r Range<usize>>) -> Vec<u8> {
    let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { *byte } else { b' ' };
    let mut other: Vec<u8> = text.iter().map(blank).collect();
    for stretch in stretches {
        other[stretch.clone()].copy_from_slice(&text[stretch.clone()]);
    }
    other
}

/// The next tag of a script or a style at the start of a line, from `at` on.
fn next_tag(text: &[u8], at: usize) -> Option<usize> {
    let begins = |tag: &usize| {
        let rest = &text[*tag..];
        let name = [&b"<script"[..], b"<style"].iter().find_map(|name| rest.strip_prefix(*name));
        let line = *tag == 0 || text[*tag - 1] == b'\n';
        line && name.is_some_and(|rest| rest.first().is_some_and(|b| b" \t\r\n>/".contains(b)))
    };
    memchr::memchr_iter(b'<', &text[at..]).map(|tag| at + tag).find(begins)
}

/// The language of a part by its tag; `None` if nothing here reads it.
fn extension(tag: &[u8], script: bool, astro: bool) -> Option<&'static str> {
    let value =
        |name: &[u8]| memchr::memmem::find(tag, name).map(|at| tag[at + name.len()..].trim_ascii());
    let quoted = |value: &'_ [u8]| {
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'"))?;
        value.split(|byte| b"\"'".contains(byte)).next().map(<[u8]>::to_vec)
    };
    // `type="application/json"` is no script.
    let kind = value(b"type=").map(|kind| quoted(kind).unwrap_or_default());
    if kind.is_some_and(|kind| ![&b"module"[..], b"text/javascript", b"ts"].contains(&&*kind)) {
        return None;
    }
    let value = value(b"lang=");
    let name = value.and_then(quoted);
    match (script, value.is_some(), name.as_deref()) {
        (true, false, _) if astro => Some("ts"),
        // Some bundlers compile types away without `lang`.
        (true, false, _) | (true, _, Some(b"tsx")) => Some("tsx"),
        (true, _, Some(b"ts" | b"typescript")) => Some("ts"),
        (true, _, Some(b"js" | b"jsx")) => Some("js"),
        (false, false, _) | (false, _, Some(b"css" | b"postcss")) => Some("css"),
        (false, _, Some(b"scss")) => Some("scss"),
        (false, _, Some(b"less")) => Some("less"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(&'static str, String, bool)> {
        let shown = |part: Part| {
            let inner = text[part.bytes].trim().to_owned();
            (part.extension, inner, part.ends)
        };
        parts(text.as_bytes()).into_iter().map(shown).collect()
    }

    #[test]
    fn a_component_has_parts_in_their_own_languages() {
        let part = |extension, text: &str| (extension, text.to_owned(), true);
        assert_eq!(
            of(
                "<script setup lang=\"ts\">\na\n</script>\n<p>\n  <style>\n</p>\n<style lang='scss'>\nb\n</style>\n"
            ),
            [part("ts", "a"), part("scss", "b")]
        );
        assert_eq!(
            of("---\na\n---\n<p/>\n<script>\nb\n</script>\n"),
            [part("ts", "a"), part("ts", "b")]
        );
        assert_eq!(
            of("<script setup lang=\"ts\" generic=\"T extends A<B>\">\na\n</script>\n"),
            [part("ts", "a")]
        );
        assert_eq!(of("<script type=\"application/ld+json\">\n{}\n</script>\n"), []);
        assert_eq!(of("<script src=\"a\" />\n<style lang=\"stylus\">\na\n</style>\n"), []);
        assert_eq!(of("<script>\na\n"), [("tsx", "a".to_owned(), false)]);
        assert_eq!(of("<scripts>\n</scripts>\n"), []);
    }

    #[test]
    fn what_is_not_in_a_stretch_is_blank() {
        assert_eq!(alone(b"ab\ncd\nef", [4..6].iter()), b"  \n d\n  ");
    }
}
