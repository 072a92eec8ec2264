//! Code must not break: an edit must not add syntax errors.
//!
//! The new text is parsed first, the old text only if the new one has errors. Errors of the old
//! text never refuse an edit.

use std::collections::HashMap;
use std::ops::Range;

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use super::syntax_branches::in_branches;
use super::syntax_cause;
use super::syntax_report::{explain, row_of};
use edt_lang::brackets::{self, Bracket};
use edt_lang::faults::{SyntaxFault, SyntaxFaultKind};
use edt_lang::outline::touches;
use edt_lang::{Language, Parsed, Unparsed};

/// The guard `syntax`.
#[derive(Debug)]
pub struct Syntax;

/// A syntax error that an edit adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxBreak {
    /// The byte offset of the error in the new text.
    pub at: usize,
    /// The kind of the error.
    pub what: BreakKind,
    /// The bracket that has probably lost its partner.
    pub bracket: Option<Bracket>,
    /// Whether every dialect of the language rejects it. Otherwise it is a warning.
    pub certain: bool,
    /// The byte offset of the change that leads to it, if the error itself is elsewhere.
    pub cause: Option<usize>,
}

/// The kind of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakKind {
    /// Text that the grammar does not allow there.
    Unexpected,
    /// A token of this kind is missing.
    Missing(String),
    /// A statement is indented differently from its neighbours.
    Misaligned,
    /// This bracket has no partner.
    Unmatched(u8),
    /// The text is valid up to this line, and not with it.
    WrongPlace,
    /// These rows do not parse together (0-based, end excluded).
    Region(Range<usize>),
    /// What the language's own reader rejects, as a noun phrase.
    Rule(&'static str),
}

impl SyntaxBreak {
    pub(super) fn unmatched(bracket: Bracket) -> SyntaxBreak {
        SyntaxBreak {
            at: bracket.at,
            what: BreakKind::Unmatched(bracket.byte),
            bracket: Some(bracket),
            certain: true,
            cause: None,
        }
    }
}

impl Guard for Syntax {
    fn name(&self) -> &'static str {
        "syntax"
    }

    fn rule(&self) -> &'static str {
        "The new text has more syntax errors than the old one. C and C++: more brackets without a \
         partner for any choice of #if branches, or more errors for every choice that includes a \
         changed line, one of them on a changed line."
    }

    // A file overwritten with a fragment has lost more than its syntax.
    fn yields_to(&self) -> &'static [&'static str] {
        &["protected_path", "size_reduction"]
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        match detect(file) {
            Ok(Some(found)) if !found.certain => vec![GuardOutput::Noted {
                word: self.name(),
                message: explain(file, &found).summary.trim_end().to_owned(),
            }],
            Ok(found) => GuardOutput::of(self.name(), found.map(|found| explain(file, &found))),
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("The syntax of {} was not checked: {why}.", file.path),
            }],
        }
    }
}

/// The syntax error that the edit adds, if it adds one.
///
/// # Errors
/// The reason why the texts could not be compared.
pub fn detect(subject: &Subject<'_>) -> Result<Option<SyntaxBreak>, Unparsed> {
    let Some(language) = subject.language().filter(|_| subject.text().is_some()) else {
        return Ok(None);
    };
    let found = first(subject, language)?;
    Ok(found.map(|found| syntax_cause::located(subject, language, found)))
}

/// As [`detect`]; the place is where the parser finds the error.
pub(super) fn first(
    subject: &Subject<'_>,
    language: &'static Language,
) -> Result<Option<SyntaxBreak>, Unparsed> {
    let found =
        if language.preprocessor { in_branches(subject, language) } else { in_tree(subject) }?;
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

/// The rule for languages without a preprocessor.
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

/// The faults of the new text without those of the old one, compared by kind and text, not by
/// place.
pub(super) fn fresh<'f>(
    new: &'f [SyntaxFault],
    text: &[u8],
    old: &[SyntaxFault],
    old_text: &[u8],
) -> Vec<&'f SyntaxFault> {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for fault in old {
        let key = (&fault.kind, fault.parent.as_str(), &old_text[fault.bytes.clone()]);
        *counts.entry(key).or_default() += 1;
    }
    let mut fresh = Vec::new();
    for fault in new {
        let key = (&fault.kind, fault.parent.as_str(), &text[fault.bytes.clone()]);
        match counts.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => fresh.push(fault),
        }
    }
    fresh
}

/// The fault to report: on a touched row if there is one, else the first.
pub(super) fn pick(
    subject: &Subject<'_>,
    fresh: &[&SyntaxFault],
    text: &[u8],
    found: &[Bracket],
) -> Option<SyntaxBreak> {
    let touched = subject.touched();
    let on_touched = |fault: &&&SyntaxFault| touches(&touched, &fault.rows);
    let small = |fault: &&&SyntaxFault| fault.rows.len() <= 3 && on_touched(fault);
    let fault =
        fresh.iter().find(small).or_else(|| fresh.iter().find(on_touched)).or(fresh.first())?;
    // In a shell, a pattern of `case` ends with a parenthesis.
    let shell = subject.language().is_some_and(|language| language.name == "bash");
    let exceeds =
        |bracket: &Bracket| exceeds(text, bracket.byte) && !(shell && bracket.byte == b')');
    let bracket = unmatched_bracket(text, found, &touched).filter(exceeds);
    let what = match &fault.kind {
        SyntaxFaultKind::Missing(kind) => BreakKind::Missing(kind.clone()),
        SyntaxFaultKind::Unexpected => BreakKind::Unexpected,
        SyntaxFaultKind::Misaligned => BreakKind::Misaligned,
        SyntaxFaultKind::Rule(problem) => {
            let at = fault.bytes.start;
            return Some(SyntaxBreak {
                at,
                what: BreakKind::Rule(problem),
                bracket: None,
                certain: true,
                cause: None,
            });
        }
    };
    match bracket {
        Some(bracket) if fault.rows.len() > 3 => Some(SyntaxBreak::unmatched(bracket)),
        _ => {
            let at = first_word(text, &fault.bytes);
            let large = fault.rows.len() > 3 && what == BreakKind::Unexpected;
            let what = if large { BreakKind::Region(fault.rows.clone()) } else { what };
            Some(SyntaxBreak { at, what, bracket, certain: true, cause: None })
        }
    }
}

/// Whether a text has more brackets of a kind than of its partner. In a tree with errors, a bracket
/// may look alone that is not.
fn exceeds(text: &[u8], byte: u8) -> bool {
    let count = |byte| memchr::memchr_iter(byte, text).count();
    count(byte) > count(brackets::partner(byte))
}

/// The start of an error node, without the white space that it may begin with.
pub(super) fn first_word(text: &[u8], bytes: &Range<usize>) -> usize {
    let blank = text[bytes.clone()].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    bytes.start + if blank < bytes.len() { blank } else { 0 }
}

/// The bracket to report: one without a partner on a touched row, else the one whose partner was
/// probably lost.
pub(super) fn unmatched_bracket(
    text: &[u8],
    found: &[Bracket],
    touched: &[Range<usize>],
) -> Option<Bracket> {
    let alone = brackets::unmatched(found);
    let row = |bracket: &Bracket| row_of(text, bracket.at);
    let on_touched =
        alone.iter().find(|bracket| touches(touched, &(row(bracket)..row(bracket) + 1)));
    let opening = |bracket: &&Bracket| bracket.byte == b'{';
    on_touched
        .filter(|bracket| !opening(bracket))
        .copied()
        .or_else(|| alone.iter().find(opening).and_then(|_| brackets::likely_unclosed(text, found)))
        .or_else(|| alone.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the edit is refused, and how many texts that takes.
    fn refused(path: &str, before: &str, after: &str) -> (bool, usize) {
        let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(5);
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        let found = detect(&subject).unwrap();
        (found.is_some_and(|found| found.certain), subject.parses())
    }

    #[test]
    fn an_edit_without_errors_takes_one_parse() {
        for (path, before, after) in [
            ("a.c", "int a;\n", "int b;\n"),
            ("a.go", "package a\n", "package b\n"),
            ("a.py", "if\n", "a = 1\n"),
            ("a.json", "[1]\n", "[2]\n"),
            ("a.html", "<p>a</p>\n", "<p>a &</p>\n"),
            ("a.sh", "a\n", "b\n"),
        ] {
            assert_eq!(refused(path, before, after), (false, 1), "{path}");
        }
    }

    #[test]
    fn idioms_that_a_grammar_does_not_know_are_no_errors() {
        for (path, before, after) in [
            ("a.sh", "a\n", "a\ncoproc B { cat; }\ncoproc cat c\n"),
            ("a.html", "<p>a</p>\n", "<pre>\na 0 < b\n</pre>\n"),
            ("a.sh", "a\n", "a\nunsetenv() {\n  unset a\n}\nunsetenv b\n"),
            ("a.html", "<p>a</p>\n", "<?xml version=\"1.0\"?>\n<p>a</p>\n"),
            ("a.html", "<p>a</p>\n", "<p><![CDATA[ a < b && <c ]]></p>\n"),
            ("a.js", "a()\n", "import defer * as a from 'b';\n"),
            ("a.ts", "let a;\n", "let a;\ninterface A {\n  /** B */\n  in(a: B): C\n}\n"),
            ("a.cpp", "int a;\n", "int a;\nint b = c ?\n  WIDE(d) :\n  WIDE(e);\n"),
            ("a.cpp", "int a;\n", "int a;\nF(x) A::~A() NOEXCEPT = default;\n"),
            ("typedoc.json", "{}\n", "{\"a\": true, }\n"),
        ] {
            assert!(!refused(path, before, after).0, "{after}");
        }
        assert!(refused("a.sh", "a\n", "coproc B { cat; }\nif b; then\n").0);
    }

    #[test]
    fn a_second_error_shows_in_the_brackets() {
        let before = "a(\n b(\n  c('d').e(f);\n );\n);\ng();\n";
        let refused = |from: &str, to: &str| refused("a.js", before, &before.replace(from, to)).0;
        assert!(!refused("c('d')", "c('h')"));
        assert!(refused("c('d')", "c('h'"));
        assert!(refused("e(f)", "e(f))"));
    }

    #[test]
    fn a_korn_shell_is_judged_by_what_it_shares_with_bash() {
        let text = |body: &str| format!("#!/bin/ksh\n{body}");
        let before = text("f() {\n\ta $b\n}\n");
        let own = text("enum A=(b c)\n");
        for path in ["a.sh", "a"] {
            for damage in ["f( {\n\ta $b\n}\n", "f() {\n\ta \"$b\n}\n", "f() {\n\ta $b &lt;c\n"] {
                assert!(refused(path, &before, &text(damage)).0, "{damage}");
            }
            assert!(!refused(path, &own, &format!("{own}enum D=(e f)\n")).0);
        }
        assert!(!refused("a.sh", "#!/bin/zsh\na\n", "#!/bin/zsh\n(\n").0);
    }

    #[test]
    fn an_error_of_json_may_be_found_at_another_place() {
        let before = "{\n\"a\": \"b\",\n\"c: {\n\"d\": 1\n},\n\"e\": {\n\"f\": 2,\n},\n\"g\": [ 3 ],\n\"h\": \".\"\n}\n";
        let after = before.replace("2,", "2");
        assert!(!refused("package.json", before, &after).0);
        assert!(refused("package.json", before, &after.replace("[ 3 ]", "[ 3")).0);
    }

    #[test]
    fn brackets_of_rust_are_in_pairs_in_any_edition() {
        let before = "macro_rules! a(\n    ($b:expr) => (c!($b))\n)\nfn d() {\n    box e\n}\n";
        assert!(!refused("a.rs", before, &before.replace("box e", "box f { g: 1 }")).0);
        for (from, to) in [
            ("rules! a(\n", "rules! a (((\n"),
            ("(c!($b))", "(c!($b)"),
            ("(c!($b))", "(c!($b)) Here's the code"),
            ("    box e", "    Box::new(e { f: 1 )"),
            ("    box e\n}\n", "    box e\n"),
        ] {
            assert!(refused("a.rs", before, &before.replace(from, to)).0, "{to}");
        }
    }

    #[test]
    fn macros_comments_and_flow_are_looked_at_apart_from_the_tree() {
        // A macro of C has no empty parameters, and may have none, or a body in brackets.
        for (after, broken) in [
            ("#define a(b,, c) d\n", true),
            ("#define a(b, ,c) \\\n  d\n", true),
            ("#define a() d\n", false),
            ("#define a(b, ...) \\\n  d(e,,b)\n", false),
            ("#define a (b,, c)\n", false),
        ] {
            assert_eq!(
                refused("a.h", "int b;\n", &format!("int b;\n{after}")).0,
                broken,
                "{after}"
            );
        }
        // The end of a comment may not be lost, and Flow has its own types.
        assert!(refused("a.h", "/* a */\nint b;\n", "int b;\n/* c *\n").0);
        let typed = "// @flow\n;(a: b<*, {| c: d |}>)\n";
        let more = |line: &str| refused("a.js", typed, &format!("{typed}{line}\n")).0;
        assert!(!more("(e: f<*, {| g: h |}>)"));
        assert!(more("(e: f<*, {| g: h |}>"));
        assert!(more("(e: f<*, {| g: h |}>, ')"));
        let flow = "// @flow\nconst a = 1;\n";
        assert!(refused("a.js", flow, &format!("{flow}Here it is, as asked.\n")).0);
    }

    #[test]
    fn a_template_of_json_is_told_from_brackets() {
        assert!(is_json_template(b"{\"a\": {{ .Values.a }}}"));
        assert!(is_json_template(b"{\"a\": {{- toJson .a -}}}"));
        assert!(!is_json_template(b"{{ \"a\": {\"b\": 1}}"));
        assert!(!is_json_template(b"[{{a\n}}]"));
        assert!(!is_json_template(b"{\"legend\": \"{{ instance }}\"}"));
    }
}
