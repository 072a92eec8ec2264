//! The rule of `syntax` for languages with a preprocessor: brackets are counted and trees compared
//! in the text that the preprocessor would leave, for up to three choices of branches.

use std::borrow::Cow;
use std::collections::HashSet;

use super::c_lines;
use super::subject::Subject;
use super::syntax_break::{BreakKind, SyntaxBreak, first_word, fresh, pick, unmatched_bracket};
use edt_lang::brackets::{self, Bracket};
use edt_lang::fault::{SyntaxFault, SyntaxFaultKind};
use edt_lang::outline::touches;
use edt_lang::preprocessor::{BranchChoice, Branches, Variant};
use edt_lang::{Language, Unparsed};
use edt_types::text;

/// The rule for languages with a preprocessor.
pub(super) fn in_branches(
    subject: &Subject<'_>,
    language: &'static Language,
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let new = subject.after.unwrap_or_default();
    let old = completed(subject.old_code().unwrap_or_default(), new);
    let old = &*old;
    let (old_branches, new_branches) = (Branches::of(old), Branches::of(new));
    let broken =
        |at: usize, what| SyntaxBreak { at, what, bracket: None, certain: true, cause: None };
    let missing = |at: usize, what: &str| broken(at, BreakKind::Missing(what.to_owned()));
    if let Some(row) = new_branches.unclosed().last()
        && new_branches.unclosed().count() > old_branches.unclosed().count()
    {
        return Ok(Some(missing(subject.start_of(row), "#endif")));
    }
    let (strays, known) = (new_branches.strays(), old_branches.strays().len());
    if strays.len() > known {
        let touched = subject.touched();
        let row = strays.iter().find(|row| touches(&touched, &(**row..**row + 1)));
        let at = subject.start_of(*row.unwrap_or(&strays[known]));
        return Ok(Some(broken(at, BreakKind::Unexpected)));
    }
    if let Some(at) = brackets::unclosed_comment(new)
        && brackets::unclosed_comment(old).is_none()
    {
        return Ok(Some(missing(at, "*/")));
    }
    let plain = old_branches.is_plain() && new_branches.is_plain();
    let takes = if plain { &BranchChoice::ALL[..1] } else { &BranchChoice::ALL[..] };
    for take in takes {
        let after = new_branches.variant(*take);
        let found = brackets::c_brackets(&after.text);
        let alone = brackets::unmatched(&found);
        if alone.is_empty() {
            continue;
        }
        let before = brackets::unmatched(&brackets::c_brackets(&old_branches.variant(*take).text));
        if alone.len() > before.len() {
            let bracket = unmatched_bracket(&after.text, &found, &subject.touched());
            return Ok(bracket.map(SyntaxBreak::unmatched));
        }
    }
    if let Some(bracket) = in_macros(old, new) {
        return Ok(Some(SyntaxBreak::unmatched(bracket)));
    }
    let Some(tree) = subject.new_tree() else { return Ok(None) };
    let tree = tree.as_ref().map_err(|why| *why)?;
    let is_new = subject.old_code().is_none();
    if let Some(found) = subject.within_limit(|| c_lines::first(subject))? {
        return Ok(Some(SyntaxBreak { certain: !is_new, ..found }));
    }
    let touched = subject.touched();
    if !tree.has_error()
        || !subject.faults(tree)?.iter().any(|fault| touches(&touched, &fault.rows))
    {
        return Ok(None);
    }
    let mut found = None;
    // A header may be of either language, and macros may stand for what a grammar does not expect.
    for language in language.dialects(subject.path) {
        for reading in [Reading::AsWritten, Reading::WithoutIdioms] {
            let texts = Texts { old: &old_branches, new: &new_branches, takes, reading };
            let Some(first) = in_each_branch(subject, language, texts)? else { return Ok(None) };
            found.get_or_insert(first);
        }
    }
    Ok(found.map(|found| SyntaxBreak { certain: !is_new, ..found }))
}

/// The old text without the `#if` lines that lack their `#endif`, if the new text lacks none: what they
/// hid or broke excuses nothing in a text that is complete.
fn completed<'t>(old: &'t [u8], new: &[u8]) -> Cow<'t, [u8]> {
    let unclosed: Vec<usize> = Branches::of(old).unclosed().collect();
    if unclosed.is_empty() || Branches::of(new).unclosed().next().is_some() {
        return Cow::Borrowed(old);
    }
    let mut lines: Vec<Vec<u8>> = text::lines(old).map(<[u8]>::to_vec).collect();
    for row in unclosed {
        let line = &mut lines[row];
        line.iter_mut().filter(|byte| !b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
    }
    Cow::Owned(lines.concat())
}

/// Whether idioms that the grammar does not know are rewritten before a parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    AsWritten,
    WithoutIdioms,
}

impl Reading {
    fn variant<'t>(
        self,
        subject: &Subject<'_>,
        language: &Language,
        branches: &Branches<'t>,
        take: BranchChoice,
    ) -> Result<Variant<'t>, Unparsed> {
        let mut variant = branches.variant(take);
        if self == Reading::WithoutIdioms
            && let Some(text) = subject.without_idioms(language, &variant.text)?
        {
            variant.text = text.into();
        }
        Ok(variant)
    }
}

/// What is compared.
#[derive(Clone, Copy)]
struct Texts<'b, 't> {
    old: &'b Branches<'t>,
    new: &'b Branches<'t>,
    takes: &'b [BranchChoice],
    reading: Reading,
}

/// The first error that the edit adds to every choice of branches with a changed line.
fn in_each_branch(
    subject: &Subject<'_>,
    language: &'static Language,
    texts: Texts<'_, '_>,
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let touched = subject.touched();
    let mut first = None;
    for take in texts.takes {
        let after = texts.reading.variant(subject, language, texts.new, *take)?;
        if !touched.iter().any(|rows| after.is_live(rows.clone())) {
            continue;
        }
        let parsed = subject.parse(language, &after.text)?;
        let hard: Vec<SyntaxFault> = subject
            .faults(&parsed)?
            .into_iter()
            .filter(|fault| is_hard(&after.text, fault))
            .collect();
        if !hard.iter().any(|fault| touches(&touched, &fault.rows)) {
            return Ok(None);
        }
        let before = texts.reading.variant(subject, language, texts.old, *take)?;
        let old_faults: Vec<SyntaxFault> = match subject.old_code() {
            Some(_) => subject.faults(&subject.parse(language, &before.text)?)?,
            None => Vec::new(),
        };
        let old_faults: Vec<SyntaxFault> =
            old_faults.into_iter().filter(|fault| is_hard(&before.text, fault)).collect();
        let mut fresh = fresh(&hard, &after.text, &old_faults, &before.text);
        let shapes: HashSet<u64> = old_faults.iter().map(|fault| fault.shape).collect();
        fresh.retain(|fault| !shapes.contains(&fault.shape));
        if hard.len() <= old_faults.len()
            || !fresh.iter().any(|fault| touches(&touched, &fault.rows))
        {
            return Ok(None);
        }
        first = first
            .or_else(|| pick(subject, &fresh, &after.text, &brackets::c_brackets(&after.text)));
    }
    Ok(first)
}

/// A bracket without a partner in the body of a macro, if there are more of them than before.
fn in_macros(old: &[u8], new: &[u8]) -> Option<Bracket> {
    // A macro may only open or only close a block: `#define BEGIN namespace x {`.
    let whole = |text: &[u8], bracket: &Bracket, opens: bool| {
        let after = text[bracket.at + 1..].split(|&byte| byte == b'\n').next();
        let before = text[..bracket.at].trim_ascii_end();
        let ends = |end: &[u8]| after.is_some_and(|rest| rest.trim_ascii() == end);
        // The first line of a body may end a block that another macro opens: `#define END(x) \` and
        // `} \`.
        let head =
            before.strip_suffix(b"\\").and_then(|before| before.rsplit(|&b| b == b'\n').next());
        let first = head.is_some_and(|head| head.trim_ascii_start().starts_with(b"#"));
        match bracket.byte {
            b'{' => ends(b""),
            b'}' if opens && first => ends(b"") || ends(b"\\"),
            _ => {
                bracket.byte == b'}'
                    && ends(b"")
                    && before.last().is_some_and(|byte| is_word(*byte))
            }
        }
    };
    let alone = |text| {
        let bodies = brackets::c_macro_brackets(text);
        let left: Vec<Vec<Bracket>> = bodies.iter().map(|body| brackets::unmatched(body)).collect();
        let halves: HashSet<usize> =
            left.iter().filter(|body| body.len() == 1).map(|body| body[0].at).collect();
        let opens = left.iter().any(|body| body.len() == 1 && body[0].byte == b'{');
        let is_half =
            |bracket: &Bracket| whole(text, bracket, opens) && halves.contains(&bracket.at);
        // One macro may close what another opens: `#define END } while (0)`.
        let mut found = brackets::unmatched(&left.concat());
        found.retain(|bracket| !is_half(bracket));
        found
    };
    let found = alone(new);
    let first = *found.first()?;
    (found.len() > alone(old).len()).then_some(first)
}

/// Whether a fault is real: macros also cause faults in correct code.
fn is_hard(text: &[u8], fault: &SyntaxFault) -> bool {
    let bytes = text[fault.bytes.clone()].trim_ascii();
    if is_macro_line(text, first_word(text, &fault.bytes)) {
        return false;
    }
    match &fault.kind {
        SyntaxFaultKind::Missing(_) => {
            let before = text[..fault.bytes.start].trim_ascii_end();
            !before.ends_with(b")") && !before.ends_with(b"}")
        }
        SyntaxFaultKind::Misaligned | SyntaxFaultKind::Rule(_) => true,
        // Unmatched brackets are counted separately.
        SyntaxFaultKind::Unexpected => bytes.len() > 1 && !bytes.iter().all(|byte| is_word(*byte)),
    }
}

/// Whether the line of a place is a directive, begins with a name in capitals (`UNITTEST_STOP`,
/// `CINIT(URL, …),`), or has one after a closing parenthesis (`int f(void) PRINTF_LIKE(1);`).
fn is_macro_line(text: &[u8], at: usize) -> bool {
    let start = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
    let line = text[start..end].trim_ascii();
    let capitals = |rest: &[u8]| {
        let word: Vec<u8> = rest.iter().copied().take_while(|byte| is_word(*byte)).collect();
        word.len() > 2
            && word.iter().any(u8::is_ascii_uppercase)
            && !word.iter().any(u8::is_ascii_lowercase)
    };
    let attribute = |at: usize| capitals(line[at + 1..].trim_ascii_start());
    line.starts_with(b"#") || capitals(line) || memchr::memchr_iter(b')', line).any(attribute)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(before: Option<&str>, after: &str) -> bool {
        let path = edt_types::RepoPath::parse(b"a.h").unwrap();
        let limit = std::time::Duration::from_secs(5);
        let before = before.map(str::as_bytes);
        let subject = Subject::new(&path, None, before, Some(after.as_bytes()), Vec::new(), limit);
        in_branches(&subject, subject.language().unwrap()).unwrap().is_some_and(|one| one.certain)
    }

    #[test]
    fn an_old_text_without_its_endif_excuses_nothing() {
        let before = "#if A\nint f(void) {\n  return 1;\n}\n#else\nint f(void) {\n  return 2;\n}\n";
        assert!(!is_refused(Some(before), &format!("{before}#endif\nint g;\n")));
        let broken = before.replace("void) {\n  return 1", "void)) {\n  return 1");
        assert!(is_refused(Some(before), &format!("{broken}#endif\nint g;\n")));
        let broken = before.replace("{\n  return 1", "{{\n  return 1");
        assert!(is_refused(Some(before), &format!("{broken}#endif\nint g;\n")));
    }

    #[test]
    fn a_macro_may_end_a_block_in_its_first_line() {
        let end = |name: &str| {
            format!("#define {name}_END \\\n    }} \\\n    f(); \\\n    if (a) {{ \\\n    }}\n")
        };
        let begin = "#define BEGIN \\\n    if (b) \\\n    {\n";
        let text = format!("{begin}{}{}", end("A"), end("B"));
        assert!(!is_refused(Some("int a;\n"), &text));
        assert!(is_refused(Some("int a;\n"), &text.replace("(a) {", "(a)")));
        assert!(is_refused(Some("int a;\n"), &text.replace("f();", "f(")));
        let lost = "#define A(b) \\\n  if (b) { \\\n    c(); \\\n  d();\n";
        assert!(is_refused(Some("int a;\n"), &format!("{begin}{lost}")));
    }

    #[test]
    fn directives_and_macros_are_whole() {
        let text = "#if A\nint a;\n#else\nint b;\n#endif\n";
        assert!(!is_refused(Some(text), &format!("{text}int c;\n")));
        assert!(is_refused(Some(text), &format!("{text}#endif\n")));
        assert!(is_refused(Some(text), &text.replace("int a;", "#else")));
        let body = "#define A(b) \\\n  (b == 1)\n";
        assert!(is_refused(Some(body), &body.replace("(b == 1)", "}")));
        assert!(is_refused(Some(body), &body.replace("\\\n", "\\\nI've added it.\n")));
    }

    #[test]
    fn directives_may_be_between_the_entries_of_a_table() {
        let entry = |n: &str| format!(", {{ .a = \"{n}\"\n  , .b = {{}}\n  }}\n\n");
        let text = format!("const struct t all[] =\n#define FIRST 0\n{{ {}}};\n", &entry("x")[1..]);
        let more = format!("#define SECOND 1\n/* Two. */\n{}}};\n", entry("y"));
        let after = text.replace("};\n", &more);
        assert!(!is_refused(Some(&text), &after));
        assert!(!is_refused(Some("int a;\n"), &after));
        assert!(is_refused(Some(&text), &after.replace(".b = {}", ".b = {")));
        let comment =
            "/* separators = \"(\" | \")\"\n *   | \",\" | \"\\\" | <\">\n */\nstatic int a;\n";
        assert!(!is_refused(Some("int b;\n"), &format!("int b;\n{comment}")));
    }

    #[test]
    fn a_word_has_no_neighbouring_letters() {
        assert_eq!((is_word(b'_'), is_word(b'9'), is_word(b'-')), (true, true, false));
    }
}
