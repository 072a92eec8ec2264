//! The rule of `syntax` for languages with a preprocessor: brackets are counted and trees compared
//! in the text that the preprocessor would leave, for up to three choices of branches.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

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
    let found = in_dialects(subject, language, &old_branches, &new_branches, takes)?;
    Ok(found.map(|found| SyntaxBreak { certain: !is_new, ..found }))
}

/// The first error that the edit adds in each dialect. A header may be of either language: one in
/// which the old text has no error decides.
fn in_dialects(
    subject: &Subject<'_>,
    language: &'static Language,
    old: &Branches<'_>,
    new: &Branches<'_>,
    takes: &[BranchChoice],
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let (mut known, mut guessed) = (None, Vec::new());
    for language in language.dialects(subject.path) {
        let texts = Texts { old, new, takes, reading: Reading::WithoutIdioms };
        let judged = in_each_branch(subject, language, texts)?;
        match judged {
            Judged { was_clean: true, found: None } => return Ok(None),
            Judged { was_clean: true, found } => known = known.or(found),
            Judged { was_clean: false, found } => guessed.push((language, found)),
        }
    }
    if known.is_some() {
        return Ok(known);
    }
    let mut first = None;
    for (language, found) in guessed {
        // A rewritten text may have errors that the text itself has not.
        let texts = Texts { old, new, takes, reading: Reading::AsWritten };
        let (Some(found), Judged { found: Some(_), .. }) =
            (found, in_each_branch(subject, language, texts)?)
        else {
            return Ok(None);
        };
        first.get_or_insert(found);
    }
    Ok(first)
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

/// What one reading of the texts shows.
struct Judged {
    /// Whether the old text has no error in any choice of branches with a changed line, or the new
    /// text has none in the changed lines.
    was_clean: bool,
    /// The first error that the edit adds to every such choice.
    found: Option<SyntaxBreak>,
}

fn in_each_branch(
    subject: &Subject<'_>,
    language: &'static Language,
    texts: Texts<'_, '_>,
) -> Result<Judged, Unparsed> {
    let touched = subject.touched();
    let macros = Macros::of(subject.after.unwrap_or_default());
    let counted = |text: Option<&[u8]>, mut faults: Vec<SyntaxFault>| {
        faults.retain(|fault| !macros.explain(text.unwrap_or_default(), fault));
        faults
    };
    let mut found = Vec::new();
    for take in texts.takes {
        let after = texts.reading.variant(subject, language, texts.new, *take)?;
        if touched.iter().any(|rows| after.is_live(rows.clone())) {
            let faults = subject.faults(&subject.parse(language, &after.text)?)?;
            found.push((*take, after, counted(subject.after, faults)));
        }
    }
    let mut faults = found.iter().flat_map(|(.., faults)| faults);
    if !faults.any(|fault| touches(&touched, &fault.rows)) {
        return Ok(Judged { was_clean: true, found: None });
    }
    let mut was_clean = subject.old_code().is_some();
    let mut choices: Vec<(Variant<'_>, Vec<SyntaxFault>)> = Vec::new();
    for (take, after, faults) in found {
        let before = texts.reading.variant(subject, language, texts.old, take)?;
        let old_faults = match subject.old_code() {
            Some(_) => subject.faults(&subject.parse(language, &before.text)?)?,
            None => Vec::new(),
        };
        was_clean &= old_faults.is_empty();
        let old_faults = counted(subject.old_code(), old_faults);
        let shapes: HashSet<u64> = old_faults.iter().map(|fault| fault.shape).collect();
        let mut fresh = fresh(&faults, &after.text, &old_faults, &before.text);
        fresh.retain(|fault| {
            faults.len() > old_faults.len()
                && !shapes.contains(&fault.shape)
                && touches(&touched, &fault.rows)
        });
        let fresh = fresh.into_iter().cloned().collect();
        choices.push((after, fresh));
    }
    // Each choice that has changed lines of an error has an error there.
    let in_each = |fault: &SyntaxFault| {
        let shared =
            |rows: &Range<usize>| rows.start.max(fault.rows.start)..rows.end.min(fault.rows.end);
        let changed: Vec<_> = touched.iter().map(shared).filter(|rows| !rows.is_empty()).collect();
        choices.iter().all(|(after, fresh)| {
            !changed.iter().any(|rows| after.is_live(rows.clone()))
                || fresh.iter().any(|other| touches(&changed, &other.rows))
        })
    };
    let found = choices.iter().find_map(|(after, fresh)| {
        let fresh: Vec<&SyntaxFault> = fresh.iter().filter(|fault| in_each(fault)).collect();
        pick(subject, &fresh, &after.text, &brackets::c_brackets(&after.text))
    });
    Ok(Judged { was_clean, found })
}

/// The macros that a text defines.
struct Macros<'t>(HashSet<&'t [u8]>);

impl<'t> Macros<'t> {
    fn of(text: &'t [u8]) -> Macros<'t> {
        let names = memchr::memmem::find_iter(text, b"define").filter_map(|at| {
            let line = text[..at].trim_ascii_end();
            let name = text[at + b"define".len()..].trim_ascii_start();
            let name = &name[..name.iter().take_while(|byte| is_word(**byte)).count()];
            line.ends_with(b"#").then_some(name)
        });
        Macros(names.collect())
    }

    /// Whether a macro may be the reason of a fault: one in it or next to it, or a loop by a macro.
    fn explain(&self, text: &[u8], fault: &SyntaxFault) -> bool {
        let (before, rest) = (text[..fault.bytes.start].trim_ascii_end(), &text[fault.bytes.end..]);
        if fault.kind != SyntaxFaultKind::Unexpected {
            return is_macro_line(text, fault.bytes.start)
                || before.ends_with(b")")
                || before.ends_with(b"}");
        }
        // At the top of a file, a word of a declaration may be a macro of another file:
        // `static av_cold int f(void)`.
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let is_words = |byte: &u8| byte.is_ascii_alphabetic() || b"_ @".contains(byte);
        if text[start..fault.bytes.end].iter().all(is_words) && is_word_or_at(text, start) {
            return true;
        }
        let is_sign = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'"');
        let has_word = text[fault.bytes.clone()].iter().any(is_sign);
        let start = before.len() - last_word(before).len();
        let next = fault.bytes.end + rest.len() - rest.trim_ascii_start().len();
        let end = next + text[next..].iter().take_while(|byte| is_word(**byte)).count();
        let mut words = text[start..end].split(|byte| !is_word(*byte));
        is_macro_line(text, first_word(text, &fault.bytes))
            || has_word && words.any(|word| self.is_macro(word))
    }

    fn is_macro(&self, word: &[u8]) -> bool {
        let capitals = word.len() > 1
            && word.iter().any(u8::is_ascii_uppercase)
            && !word.iter().any(u8::is_ascii_lowercase);
        capitals || self.0.contains(word)
    }
}

/// Whether a line begins with a word or an `@` of Objective-C, without a blank.
fn is_word_or_at(text: &[u8], start: usize) -> bool {
    text.get(start).is_some_and(|byte| byte.is_ascii_alphabetic() || b"_@".contains(byte))
}

/// The word at the end of a text.
fn last_word(text: &[u8]) -> &[u8] {
    &text[text.iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1)..]
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
    fn one_token_too_many_or_too_few_is_an_error() {
        let body = "  int c = a + b;\n  g(a, b);\n  return c;\n";
        let before = format!("enum e {{ A, B }};\nint f(int a, int b) {{\n{body}}}\n");
        let damages = [
            ("return c", "return return c"),
            ("c = a", "c = = a"),
            ("(a, b)", "(a b)"),
            ("a + b", "a b"),
            ("a + b", "a +"),
            ("a + b", "3 4"),
            ("return c", "return a b"),
            ("A, B", "A B"),
            ("g(a, b)", "g(a, b];"),
            ("g(a, b)", "g(a, b, %)"),
        ];
        for dirty in ["", "int h(void) { list(a, struct b *c { d(); }) }\n"] {
            let before = format!("{dirty}{before}");
            for (from, to) in damages {
                let after = before.replace(from, to);
                assert!(is_refused(Some(&before), &after), "{dirty}{from}: {to}");
            }
        }
    }

    #[test]
    fn a_branch_is_judged_by_the_choices_that_have_it() {
        let before = "#ifdef A\nint a(void) {\n  return b(1);\n}\n#endif\nint c;\n";
        let after = before.replace("b(1)", "b(1 2)").replace("int c", "int d");
        assert!(is_refused(Some(before), &after));
    }

    #[test]
    fn what_a_macro_may_stand_for_is_no_error() {
        let before = "#define inl static inline\nint a;\n";
        for line in [
            "inl long_t f(void);",
            "EXPORT int f(void) ATTR;",
            "const EXTERN_OF(b)",
            "void f() {\n  vec_foreach(&a, i, b) {\n    g(b);\n  }\n}",
            "typedef enum E_TYPED {\n  B = 0,\n} c;",
        ] {
            assert!(!is_refused(Some(before), &format!("{before}{line}\n")), "{line}");
        }
    }

    #[test]
    fn a_word_has_no_neighbouring_letters() {
        assert_eq!((is_word(b'_'), is_word(b'9'), is_word(b'-')), (true, true, false));
    }
}
