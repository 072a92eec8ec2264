//! The syntax of components: their scripts and styles, each in its own language, and the braces of
//! what is around them.

use super::subject::Subject;
use super::syntax_break::{BreakKind, SyntaxBreak, unmatched_bracket};
use super::{syntax_cause, syntax_faults, syntax_pairs};
use edt_lang::brackets::{Bracket, unmatched};
use edt_lang::families::family_of;
use edt_lang::parts::{Part, alone, parts};
use edt_lang::unparsed::MAX_BYTES;
use edt_lang::{Unparsed, language_of};
use edt_types::RepoPath;

/// The languages of the parts, by the extensions of their files.
const EXTENSIONS: [&str; 6] = ["js", "ts", "tsx", "css", "scss", "less"];

/// The error that the edit adds to a component.
pub(super) fn first(subject: &Subject<'_>) -> Result<Option<SyntaxBreak>, Unparsed> {
    let Some(after) = subject.text() else { return Ok(None) };
    let before = subject.before;
    if after.len().max(subject.old_text().len()) > MAX_BYTES {
        return Err(Unparsed::TooLarge(after.len().max(subject.old_text().len())));
    }
    let (old, new) = (parts(subject.old_text()), parts(after));
    if let Some(open) = new.iter().find(|part| !part.ends)
        && old.iter().all(|part| part.ends)
    {
        let tag = Bracket { at: open.bytes.start.saturating_sub(1), byte: b'<' };
        let what = BreakKind::Rule("a script or a style without its end tag");
        let certain = before.is_some();
        return Ok(Some(SyntaxBreak {
            what,
            bracket: None,
            certain,
            ..SyntaxBreak::unmatched(tag)
        }));
    }
    for extension in EXTENSIONS {
        let own = |parts: &[Part], text: &[u8]| {
            let own = parts.iter().filter(|part| part.extension == extension);
            alone(text, own.map(|part| &part.bytes))
        };
        if !new.iter().any(|part| part.extension == extension) {
            continue;
        }
        let name = format!("a.{extension}");
        let Ok(path) = RepoPath::parse(name.as_bytes()) else { continue };
        let (before, after) = (before.map(|text| own(&old, text)), own(&new, after));
        let part = subject.with_part(&path, before.as_deref(), &after);
        let found = match language_of(&path, b"") {
            Some(language) => syntax_faults::first(&part, language)?
                .map(|found| syntax_cause::located(&part, language, found)),
            None => family_of(&path).and_then(|family| syntax_pairs::unpaired(&part, family)),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    let braces = braces(after, &new);
    let alone = unmatched(&braces);
    if alone.is_empty() || !unmatched(&self::braces(subject.old_text(), &old)).is_empty() {
        return Ok(None);
    }
    let found = unmatched_bracket(after, &braces, &subject.touched());
    // Strings and patterns in the markup are not read.
    let certain = false;
    Ok(found.map(|bracket| SyntaxBreak { certain, ..SyntaxBreak::unmatched(bracket) }))
}

/// The braces around the parts, outside comments, and the brackets in them. Elsewhere, a bracket is
/// running text.
fn braces(text: &[u8], parts: &[Part]) -> Vec<Bracket> {
    let mut found = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    let mut parts = parts.iter().peekable();
    while let Some(&byte) = text.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'(' | b')' | b'[' | b']' if depth > 0 => {}
            b'<' if text[begin..].starts_with(b"<!--") => {
                let end = memchr::memmem::find(&text[begin..], b"-->");
                at = end.map_or(text.len(), |end| begin + end);
                continue;
            }
            b'>' | b'\n' => {
                while parts.next_if(|part| part.bytes.start < at).is_some() {}
                if let Some(part) = parts.next_if(|part| part.bytes.start == at) {
                    at = part.bytes.end;
                }
                continue;
            }
            _ => continue,
        }
        found.push(Bracket { at: begin, byte });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::syntax::detect;
    use super::*;

    const VUE: &str = "<script setup lang=\"ts\">\nconst a = ref<number>(0)\nfunction b(c: number) {\n  if (c > 1) {\n    d()\n  }\n}\n</script>\n\n<template>\n  <p :class=\"{ e: a }\">it's {{ a }} :)</p>\n</template>\n\n<style scoped>\np {\n  color: red;\n}\n</style>\n";

    /// The line of the error, and whether it is refused.
    fn found(before: Option<&str>, after: &str) -> Option<(u64, bool)> {
        let path = RepoPath::parse(b"a.vue").unwrap();
        let limit = std::time::Duration::from_secs(5);
        let (before, after) = (before.map(str::as_bytes), after.as_bytes());
        let subject = Subject::new(&path, None, before, Some(after), Vec::new(), limit);
        let found = detect(&subject).unwrap()?;
        let at = found.cause.unwrap_or(found.at);
        Some((edt_types::text::line_of(after, at), found.certain))
    }

    #[test]
    fn each_part_of_a_component_is_judged_in_its_own_language() {
        let of = |from: &str, to: &str| found(Some(VUE), &VUE.replace(from, to));
        assert_eq!(of("d()", "d(1)"), None);
        assert_eq!(of("    d()\n  }\n", "    d()\n").map(|(_, certain)| certain), Some(true));
        // Where the parser notices it.
        assert_eq!(of("d()", "d("), Some((6, true)));
        assert_eq!(of("red;\n", "red;\n  }\n").map(|(_, certain)| certain), Some(true));
        assert_eq!(of("{{ a }}", "{{ a }"), Some((11, false)));
        assert_eq!(of("{{ a }}", "{{ f(a }}"), Some((11, false)));
        assert_eq!(of("</script>\n", ""), Some((1, true)));
        assert_eq!(of("it's", "it's (not"), None);
    }

    #[test]
    fn an_error_that_a_part_had_may_stay() {
        let before = VUE.replace("d()", "d(");
        assert_eq!(found(Some(&before), &before.replace("red", "blue")), None);
    }
}
