//! Code must not break: an edit must not add syntax errors.
//!
//! The new text is parsed first, the old text only if the new one has errors. Errors of the old
//! text never refuse an edit.

use super::syntax_break::SyntaxBreak;
use super::syntax_faults::first;

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use super::syntax_cause;
use super::syntax_pairs;
use super::syntax_parts;
use super::syntax_report::explain;
use edt_lang::Unparsed;
use edt_lang::families::Reads;

/// The guard `syntax`.
#[derive(Debug)]
pub struct Syntax;

impl Guard for Syntax {
    fn name(&self) -> &'static str {
        "syntax"
    }

    fn rule(&self) -> &'static str {
        "The new text has more syntax errors than the old one. C and C++: more brackets without a \
         partner for any choice of #if branches, or an error on a changed line in every choice that \
         includes the line. Code without a grammar: a bracket or a comment without its partner, \
         where the old text has none; a quote is a warning."
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
            Ok(None) if file.text().is_some() && file.family().is_some() => {
                vec![GuardOutput::Limited { reason: without_grammar(file) }]
            }
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
        return match subject.family() {
            Some(family) if family.reads == Reads::Parts => syntax_parts::first(subject),
            Some(family) => Ok(syntax_pairs::unpaired(subject, family)),
            None => Ok(None),
        };
    };
    let found = first(subject, language)?;
    Ok(found.map(|found| syntax_cause::located(subject, language, found)))
}

/// What is not checked of code without a grammar.
fn without_grammar(subject: &Subject<'_>) -> String {
    let path = subject.path.text();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let kind = name.rfind('.').map_or(name, |dot| &name[dot..]);
    let part = match subject.family().map(|family| family.reads) {
        Some(Reads::Parts) => "only scripts, styles and braces",
        Some(Reads::Pairs) => "only brackets and quotes",
        Some(Reads::Nothing) | None => "not checked",
    };
    format!("{part} (no grammar for {kind})")
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
            ("a.py", "a = 1\n", "a = 1\nprint 'b'\n"),
            ("a.js", "a()\n", ".pragma library\na()\n"),
            ("a.tsx", "a()\n", "a(<B extends={c} d={1} />)\n"),
        ] {
            assert!(!refused(path, before, after).0, "{after}");
        }
        assert!(refused("a.sh", "a\n", "coproc B { cat; }\nif b; then\n").0);
    }

    #[test]
    fn what_the_own_parser_rejects_is_refused_with_its_message() {
        let path = edt_types::RepoPath::parse(b"a.py").unwrap();
        let (before, after) = ("a = 1\n", "a = 1\nif a:\n    continue\n");
        let limit = std::time::Duration::from_secs(5);
        let (old, new) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let subject = Subject::new(&path, None, old, new, Vec::new(), limit);
        let found = detect(&subject).unwrap().unwrap();
        let summary = explain(&subject, &found).summary;
        assert!(
            summary.starts_with("a.py:3:5: SYNTAX_ERROR `continue` outside loop."),
            "{summary}"
        );
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
}
