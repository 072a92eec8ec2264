//! Compares the syntax errors of the new text with those of the old one.

use std::collections::HashMap;

use super::subject::Subject;
use super::syntax_branches::in_branches;
use super::syntax_break::{
    BreakKind, SyntaxBreak, first_word, fresh, pick, suspicious_bracket, unmatched_bracket,
};
use edt_lang::brackets::{self, Bracket};
use edt_lang::fault::SyntaxFault;
use edt_lang::judgement::Judgement;
use edt_lang::outline::touches;
use edt_lang::{Language, Parsed, Unparsed};

/// As [`detect`]; the place is where the parser finds the error.
pub(super) fn first(
    subject: &Subject<'_>,
    language: &'static Language,
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let found = if language.preprocessor {
        in_branches(subject, language)
    } else {
        as_judged(subject, language)
    }?;
    Ok(found.or_else(|| if language.name == "rust" { unpaired(subject) } else { None }))
}

/// A bracket of Rust without a partner, if the old text has fewer of them. Macros and old editions may
/// have tokens that the grammar does not know, but brackets are in pairs.
fn unpaired(subject: &Subject<'_>) -> Option<SyntaxBreak> {
    let after = subject.after.unwrap_or_default();
    let found = brackets::rust_brackets(after);
    let alone = |found: &[Bracket]| brackets::unmatched(found).len();
    let more = alone(&found);
    if more == 0 || more <= alone(&brackets::rust_brackets(subject.old_code().unwrap_or_default()))
    {
        return None;
    }
    unmatched_bracket(after, &found, &subject.touched()).map(SyntaxBreak::unmatched)
}

/// The rule for languages with parsers that follow their specification: what these accept has no
/// error. They do not know every old dialect. So the trees are compared if they rejected the old text,
/// and a new file in which both find an error has the certainty of its tree.
fn as_judged(
    subject: &Subject<'_>,
    language: &'static Language,
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let Some(Ok(tree)) = subject.new_tree() else { return in_tree(subject) };
    let after = subject.after.unwrap_or_default();
    let judge = |text| subject.judge(language, text);
    let Some(judged) = judge(after)? else { return in_tree(subject) };
    if judged.is_plain() {
        return Ok(None);
    }
    if tree.is_older() {
        return in_tree(subject);
    }
    let before = subject.old_code().map(judge).transpose()?.flatten();
    let before = before.filter(Judgement::is_accepted);
    if subject.old_code().is_some() && before.is_none() {
        return in_tree(subject);
    }
    let Some(rejection) = judged.added_to(before.as_ref()) else { return Ok(None) };
    let found = if before.is_none() { in_tree(subject)? } else { None };
    // A language with an older dialect may be in it where the tree finds nothing.
    let older = before.is_none() && !language.older.is_empty();
    let certain = found.map_or(!older, |found| found.certain);
    let bracket = suspicious_bracket(subject, after, &tree.brackets());
    let what = BreakKind::Said(rejection.message.clone());
    Ok(Some(SyntaxBreak { at: rejection.at, what, bracket, certain, cause: None }))
}

/// The rule for trees.
fn in_tree(subject: &Subject<'_>) -> Result<Option<SyntaxBreak>, Unparsed> {
    let Some(new) = subject.new_tree() else { return Ok(None) };
    let new = new.as_ref().map_err(|why| *why)?;
    let after = subject.after.unwrap_or_default();
    let language = new.language();
    let faults = without_idioms(subject, language, after, subject.faults(new)?)?;
    // A `>` or `&` in running text is what it is.
    let free = language.markup && !language.exact;
    let is_free = |fault: &SyntaxFault| free && !after[fault.bytes.clone()].contains(&b'<');
    if faults.iter().all(is_free) {
        return Ok(None);
    }
    let old = match subject.old_tree() {
        Some(old) => Some(old.as_ref().map_err(|why| *why)?),
        None => None,
    };
    let before = match old {
        Some(old) => without_idioms(subject, language, subject.old_text(), subject.faults(old)?)?,
        None => Vec::new(),
    };
    let alone = |tree: &Parsed<'_>| brackets::unmatched(&tree.brackets()).len();
    let data = matches!(language.name, "yaml" | "json");
    if faults.len() <= before.len() {
        // The parser finds one error where there are two. Brackets that were in pairs show the second.
        return Ok(match old {
            Some(old) if language.exact && !data && alone(old) == 0 => {
                unmatched_bracket(after, &new.brackets(), &subject.touched())
                    .map(SyntaxBreak::unmatched)
            }
            _ => None,
        });
    }
    // A fault of which the old text has several of the same shape is an idiom that the grammar does
    // not know.
    let mut shapes: HashMap<u64, usize> = HashMap::new();
    before.iter().for_each(|fault| *shapes.entry(fault.shape).or_default() += 1);
    let is_idiom = |fault: &&SyntaxFault| shapes.get(&fault.shape).is_some_and(|count| *count > 1);
    let fresh = fresh(&faults, after, &before, subject.old_text());
    if fresh.iter().all(is_idiom) {
        return Ok(None);
    }
    let counts = |fault: &&SyntaxFault| !is_idiom(fault) && !is_free(fault);
    let fresh: Vec<&SyntaxFault> = fresh.into_iter().filter(counts).collect();
    if fresh.is_empty() {
        return Ok(None);
    }
    // An error that was there before may be found at another place, far from the change.
    let touched = subject.touched();
    if language.name == "json"
        && !before.is_empty()
        && !fresh.iter().any(|fault| touches(&touched, &fault.rows))
        && old.is_some_and(|old| alone(new) <= alone(old))
    {
        return Ok(None);
    }
    // A file without errors is checked. A template was never valid YAML or JSON by itself, and is
    // not.
    if (!data || old.is_none() || !before.is_empty()) && is_template(subject, after) {
        return Err(Unparsed::Template);
    }
    for dialect in language.dialects(subject.path).skip(1) {
        let count = |text: &[u8]| {
            let found = subject.faults(&subject.parse(dialect, text)?)?;
            Ok(without_idioms(subject, dialect, text, found)?.len())
        };
        if count(after)? <= old.map_or(Ok(0), |_| count(subject.old_text()))? {
            return Ok(None);
        }
    }
    let mut found = pick(subject, &fresh, after, &new.brackets());
    if let Some(found) = &mut found {
        found.certain = match old {
            // What a fragment or a template of markup leaves open, another file may close.
            Some(_) if free => before.is_empty() && !fresh.iter().all(|one| is_skipped(one, after)),
            Some(_) => language.exact || !language.markup || before.is_empty(),
            None => language.exact || is_cut_off(&fresh, after, free),
        };
        // No grammar here knows the types of Flow. Brackets and quotes are in pairs.
        let known = old.is_some() && before.is_empty();
        let flow = language.name == "javascript" && !known && is_flow(after);
        let paired =
            || alone(new) == 0 && fresh.iter().all(|fault| has_pairs(&after[fault.bytes.clone()]));
        // Of a Korn shell, the grammar knows what it shares with Bash.
        if flow && paired() || !known && edt_lang::table::is_korn(after) {
            found.certain = false;
        }
    }
    Ok(found)
}

/// Whether each quote of a text has a partner.
fn has_pairs(text: &[u8]) -> bool {
    b"\"'`".iter().all(|quote| memchr::memchr_iter(*quote, text).count().is_multiple_of(2))
}

/// Whether a text begins with a comment that names Flow.
fn is_flow(text: &[u8]) -> bool {
    let head = &text[..text.len().min(1000)];
    head.starts_with(b"/") && memchr::memmem::find(head, b"@flow").is_some()
}

/// The faults of a text, or those that it has without its idioms, if they are fewer. Both texts have
/// the same offsets.
fn without_idioms(
    subject: &Subject<'_>,
    language: &'static Language,
    text: &[u8],
    faults: Vec<SyntaxFault>,
) -> Result<Vec<SyntaxFault>, Unparsed> {
    if faults.is_empty() {
        return Ok(faults);
    }
    let rewritten = subject.without_idioms(language, text)?.filter(|other| other != text);
    let Some(rewritten) = rewritten else { return Ok(faults) };
    let others = subject.faults(&subject.parse(language, &rewritten)?)?;
    Ok(if others.len() < faults.len() { others } else { faults })
}

/// Whether a fault is at the end of the text, as if the rest were missing. A fragment of markup may
/// close what another file opens.
fn is_cut_off(faults: &[&SyntaxFault], text: &[u8], markup: bool) -> bool {
    let end = text.trim_ascii_end().len();
    let closes = |fault: &SyntaxFault| markup && end_tag(fault, text).is_some();
    let mut ends = faults.iter().filter(|fault| fault.bytes.end >= end && fault.rows.len() <= 3);
    ends.any(|fault| !closes(fault))
}

/// The name of the end tag with which a fault begins.
fn end_tag<'t>(fault: &SyntaxFault, text: &'t [u8]) -> Option<&'t [u8]> {
    let tag = text[first_word(text, &fault.bytes)..].strip_prefix(b"</")?;
    let name = tag.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    tag[name..].trim_ascii_start().starts_with(b">").then_some(&tag[..name])
}

/// Whether the fault is an end tag that browsers skip without an effect on the structure of the page,
/// or that ends a paragraph which has ended.
fn is_skipped(fault: &SyntaxFault, text: &[u8]) -> bool {
    const NO_STRUCTURE: [&[u8]; 31] = [
        b"a", b"abbr", b"b", b"bdi", b"bdo", b"big", b"body", b"br", b"cite", b"code", b"em",
        b"font", b"head", b"html", b"i", b"img", b"input", b"kbd", b"label", b"link", b"mark",
        b"meta", b"p", b"q", b"s", b"small", b"span", b"strong", b"sub", b"sup", b"u",
    ];
    // In HTML, `<button />` is a start tag.
    let at = first_word(text, &fault.bytes);
    let line = text[..at].rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let opened = memchr::memmem::find(line, b"/>").is_some();
    end_tag(fault, text)
        .is_some_and(|tag| opened || NO_STRUCTURE.iter().any(|name| name.eq_ignore_ascii_case(tag)))
}

/// Whether a text is a template (`{{ .Values.x }}`, `{% if %}`, `<?php`), which is neither valid YAML
/// nor HTML until it is rendered.
fn is_template(subject: &Subject<'_>, text: &[u8]) -> bool {
    let name = subject.language().map(|language| language.name);
    if name == Some("json") {
        return is_json_template(text);
    }
    let signs: &[&[u8]] = match name {
        Some("yaml") => &[b"{{", b"{%"],
        Some("html") => &[b"{{", b"{%", b"<%", b"<?php", b"<?="],
        _ => &[],
    };
    let opens =
        |sign: &&[u8]| memchr::memmem::find_iter(text, sign).any(|at| !text[..at].ends_with(b"$"));
    signs.iter().any(opens)
}

/// Whether a text of JSON has a value such as `{{ .Values.x }}`, outside strings. A lost line end makes
/// `{{ "x"` of valid JSON, so a name or a path must follow.
fn is_json_template(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b"{{").any(|at| {
        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
        if memchr::memchr_iter(b'"', &text[start..at]).count() % 2 == 1 {
            return false;
        }
        let inner = text[at + 2..].trim_ascii_start();
        let inner = inner.strip_prefix(b"-").unwrap_or(inner).trim_ascii_start();
        let end = memchr::memchr(b'\n', inner).unwrap_or(inner.len());
        let named = |byte: &u8| byte.is_ascii_alphabetic() || b".$_".contains(byte);
        inner.first().is_some_and(named) && memchr::memmem::find(&inner[..end], b"}}").is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_json_is_told_from_brackets() {
        assert!(is_json_template(b"{\"a\": {{ .Values.a }}}"));
        assert!(is_json_template(b"{\"a\": {{- toJson .a -}}}"));
        assert!(!is_json_template(b"{{ \"a\": {\"b\": 1}}"));
        assert!(!is_json_template(b"[{{a\n}}]"));
        assert!(!is_json_template(b"{\"legend\": \"{{ instance }}\"}"));
    }
}
