//! Code must not be pasted twice: no statement equal to its neighbour, no run of lines twice in a
//! row, no second definition of a name.
//!
//! Only what the edit adds counts: a duplicate in the old text may stay.

use std::ops::Range;

use super::check::{Guard, GuardContext, GuardOutput};
use super::runs;
use super::subject::Subject;
use edt_lang::distant::DistantRepeat;
use edt_lang::outline::{BlockKind, Redefinition, RepeatedBlock, touches};
use edt_lang::{Parsed, Stop};
use edt_types::{Code, Finding};

/// The guard `duplicate_code`.
#[derive(Debug)]
pub struct DuplicateCode;

/// What the file has twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duplicate {
    /// Equal neighbours.
    RepeatedBlock(RepeatedBlock),
    /// The same lines twice in a row.
    Run {
        /// The rows of the first copy, 0-based, end excluded.
        first: Range<usize>,
        /// The rows of the second.
        second: Range<usize>,
    },
    /// A name defined twice in one scope.
    Redefinition(Redefinition),
    /// A compound statement that occurs again a few lines on.
    Distant(DistantRepeat),
}

impl Duplicate {
    /// Whether a new file repeats so much that it was probably sent twice.
    fn is_long(&self) -> bool {
        let second = match self {
            Duplicate::RepeatedBlock(block) => &block.second,
            Duplicate::Run { second, .. } => second,
            Duplicate::Redefinition(found) => &found.second,
            Duplicate::Distant(found) => &found.second,
        };
        second.len() >= LONG_RUN
    }

    /// Whether the second copy has no effect.
    fn is_certain(&self) -> bool {
        !matches!(self, Duplicate::Distant(DistantRepeat { leaves: false, .. }))
    }
}

/// The lines of a copy that a new file may not have. Shorter repetition is a warning there: tests
/// and tables have it on purpose.
const LONG_RUN: usize = 12;

/// Simple statements count from this many tokens.
const MIN_TOKENS: usize = 2;

impl Guard for DuplicateCode {
    fn name(&self) -> &'static str {
        "duplicate_code"
    }

    fn rule(&self) -> &'static str {
        "More often than before: a compound statement, a definition or a declaration equal to its \
         neighbour, token for token; the same lines twice in a row (16 characters in statements \
         and members, 40 elsewhere, 80 and three lines without a grammar); the whole text of code \
         without a grammar; a name defined twice in one scope where the language wants it once; an \
         `if` that leaves the block, again within ten lines, if it tests only what its function \
         has and nothing between changes that. Other compound statements that occur again so are a warning."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let found = match file.new_tree() {
            Some(Err(why)) => Err(*why),
            _ => file.within_limit(|| detect(file)),
        };
        match found {
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("{} was not searched for duplicates: {why}.", file.path),
            }],
            // A program that makes a file may repeat itself.
            Ok(Some(found))
                if file.before.is_none() && !found.is_long()
                    || file.is_generated()
                    || !found.is_certain() =>
            {
                let message = explain(file, &found).summary;
                vec![GuardOutput::Noted { word: self.name(), message }]
            }
            Ok(found) => GuardOutput::of(self.name(), found.map(|found| explain(file, &found))),
        }
    }
}

/// The first duplicate that the edit adds.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Duplicate> {
    subject.text()?;
    let added = subject.added();
    if added.is_empty() {
        return None;
    }
    let tree = match subject.new_tree() {
        Some(Ok(tree)) => Some(tree),
        _ => None,
    };
    if let Some(tree) = tree {
        let expired = || subject.is_over();
        let stop = &Stop::when(&expired);
        let old = || subject.old_tree().and_then(|old| old.as_ref().ok());
        if let Some(repeated_block) = repeated_block(tree, &added, old, stop) {
            return Some(Duplicate::RepeatedBlock(repeated_block));
        }
        if let Some(redefinition) = redefinition(subject, tree, &added, old, stop) {
            return Some(Duplicate::Redefinition(redefinition));
        }
    }
    let run = runs::first(subject, &added, tree).or_else(|| runs::whole(subject));
    run.map(|(first, second)| Duplicate::Run { first, second })
        .or_else(|| distant(subject, tree?, &added).map(Duplicate::Distant))
}

/// The first compound statement that the edit lets occur again a few lines on. Tests repeat checks on
/// purpose.
fn distant(
    subject: &Subject<'_>,
    tree: &Parsed<'_>,
    added: &[Range<usize>],
) -> Option<DistantRepeat> {
    if runs::is_test(&subject.path.text()) {
        return None;
    }
    let expired = || subject.is_over();
    let stop = &Stop::when(&expired);
    let found = tree.distant_repeats(added, stop);
    found.first()?;
    let all = |tree: &Parsed<'_>| {
        tree.distant_repeats(std::slice::from_ref(&(0..usize::MAX)), stop).len()
    };
    let old = subject.old_tree().and_then(|old| old.as_ref().ok());
    let is_more = all(tree) > old.map_or(0, all);
    let leaving = found.iter().find(|found| found.leaves);
    leaving.or(found.first()).filter(|_| is_more).cloned()
}

fn repeated_block<'p, 't: 'p>(
    tree: &Parsed<'_>,
    added: &[Range<usize>],
    old: impl Fn() -> Option<&'p Parsed<'t>>,
    stop: &Stop<'_>,
) -> Option<RepeatedBlock> {
    let counts =
        |block: &RepeatedBlock| block.what == BlockKind::Compound || block.tokens >= MIN_TOKENS;
    let mut found = tree.repeated_blocks(added, stop).into_iter().filter(counts).peekable();
    found.peek()?;
    let everywhere = std::slice::from_ref(&(0..usize::MAX));
    let all = |tree: &Parsed<'_>| {
        tree.repeated_blocks(everywhere, stop).into_iter().filter(counts).count()
    };
    let before = old().map_or(0, &all);
    if all(tree) > before { found.next() } else { None }
}

fn redefinition<'p, 't: 'p>(
    subject: &Subject<'_>,
    tree: &Parsed<'_>,
    added: &[Range<usize>],
    old: impl Fn() -> Option<&'p Parsed<'t>>,
    stop: &Stop<'_>,
) -> Option<Redefinition> {
    // Where the old text defines the name more often than once, the file does so on purpose.
    let once_before =
        |found: &Redefinition| old().map_or(1, |old| old.max_definitions(&found.name, stop)) == 1;
    let mut all = tree.redefinitions(added, stop).into_iter();
    all.find(|found| {
        once_before(found) && !is_in_groups(subject, found) && !is_replaced(subject, found)
    })
}

/// Whether a function in a function of a shell's test is replaced below its use: both are indented, and
/// a command is between them.
fn is_replaced(subject: &Subject<'_>, found: &Redefinition) -> bool {
    let lines = subject.lines().texts().1;
    let indented = |row: usize| {
        lines.get(row).and_then(|line| line.first()).is_some_and(|b| b" \t".contains(b))
    };
    let rows = found.first.end..found.second.start;
    let mut between = lines.get(rows).unwrap_or_default().iter().map(|line| line.trim_ascii());
    subject.language().is_some_and(|language| language.name == "bash")
        && runs::is_test(&subject.path.text())
        && indented(found.first.start)
        && indented(found.second.start)
        && between.any(|line| !line.is_empty() && !line.starts_with(b"#") && line != b"}")
}

/// Whether both functions of a shell are indented, and a line between them is indented less: commands
/// such as `Describe` and `End` group tests, and each group may have its own function.
fn is_in_groups(subject: &Subject<'_>, found: &Redefinition) -> bool {
    let lines = subject.lines().texts().1;
    let indent = |row: usize| {
        let line = lines.get(row).map_or(&b""[..], |line| line);
        (!line.trim_ascii().is_empty()).then(|| line.len() - line.trim_ascii_start().len())
    };
    let own = indent(found.second.start);
    let mut between = (found.first.end..found.second.start).filter_map(indent);
    subject.language().is_some_and(|language| language.name == "bash")
        && between.any(|indent| Some(indent) < own)
}

fn explain(subject: &Subject<'_>, found: &Duplicate) -> Finding {
    let lines = |rows: &Range<usize>| match rows.len() {
        0 | 1 => format!("line {}", rows.start + 1),
        _ => format!("lines {}-{}", rows.start + 1, rows.end),
    };
    let (what, first, second) = match found {
        Duplicate::RepeatedBlock(block) => {
            ("The same statement".to_owned(), &block.first, &block.second)
        }
        Duplicate::Distant(found) => ("The same statement".to_owned(), &found.first, &found.second),
        Duplicate::Run { first, second } => ("The same run of lines".to_owned(), first, second),
        Duplicate::Redefinition(found) => {
            (format!("A definition of `{}`", found.name), &found.first, &found.second)
        }
    };
    let path = subject.path;
    let original = original(subject, first, second);
    let both = original.map_or_else(String::new, |rows| {
        format!(
            "If {} should go, send the edit that removes it and this one in one request. Else: ",
            lines(rows)
        )
    });
    let finding = Finding::new(
        Code::DuplicateCode,
        format!("{what} would occur twice in {path}: {} and {}.", lines(first), lines(second)),
        format!("{both}Leave out what the file has already: read it and send only what is new."),
    )
    .nothing_changed()
    .or_override("If it really should occur twice, repeat with allow: [\"duplicate_code\"].")
    .at(path)
    .with("first", serde_json::json!([first.start + 1, first.end]))
    .with("second", serde_json::json!([second.start + 1, second.end]));
    match original {
        Some(rows) => finding.with("original", serde_json::json!([rows.start + 1, rows.end])),
        None => finding,
    }
}

/// The copy that the old text has, if the edit adds the other one and the change would differ
/// without it. Of two equal neighbours, it does not matter which one goes.
fn original<'r>(
    subject: &Subject<'_>,
    first: &'r Range<usize>,
    second: &'r Range<usize>,
) -> Option<&'r Range<usize>> {
    let added = subject.added();
    let is_old = |rows: &Range<usize>| !touches(&added, rows);
    let original = match (is_old(first), is_old(second)) {
        (true, false) => first,
        (false, true) => second,
        _ => return None,
    };
    let lines = subject.lines().texts().1;
    let neighbours =
        lines.get(first.end..second.start)?.iter().all(|line| line.trim_ascii().is_empty());
    (!neighbours || lines[first.clone()] != lines[second.clone()]).then_some(original)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, before: &str, after: &str) -> Option<String> {
        let path = edt_types::RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(5);
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        detect(&subject).map(|found| explain(&subject, &found).summary)
    }

    #[test]
    fn a_definition_that_exists_is_named_with_both_places() {
        let after = "fn f() {}\n\nfn g() {}\n\nfn f() { g() }\n";
        assert_eq!(
            found("a.rs", "fn f() {}\n\nfn g() {}\n", after).as_deref(),
            Some("A definition of `f` would occur twice in a.rs: line 1 and line 5.")
        );
    }

    #[test]
    fn a_guard_clause_again_a_few_lines_on_is_found() {
        let clause = "  if (argc < 2) {\n    usage();\n    return 1;\n  }\n";
        let file = |more: &str| {
            format!(
                "int f(int argc) {{\n{clause}  int a = 3;\n  puts(\"b\");\n{more}  return a;\n}}\n"
            )
        };
        assert_eq!(
            found("a.c", &file(""), &file(clause)).as_deref(),
            Some("The same statement would occur twice in a.c: lines 2-5 and lines 8-11.")
        );
        assert_eq!(found("tests/a.c", &file(""), &file(clause)), None);
        assert_eq!(found("a.c", &file(clause), &file(clause).replace("\"b\"", "\"c\"")), None);
        let policy = crate::policy::Policy::of(None, None).unwrap();
        let refuses = |clause: &str| {
            let path = edt_types::RepoPath::parse(b"a.c").unwrap();
            let after = file(clause).replace("  int a", &format!("{clause}  int a"));
            let (before, after) = (file(""), after.into_bytes());
            let before = Some(before.as_bytes());
            let limit = std::time::Duration::from_secs(5);
            let file = Subject::new(&path, None, before, Some(&after), Vec::new(), limit);
            let context = GuardContext { policy: &policy, site: None };
            match DuplicateCode.check(&file, &context).remove(0) {
                GuardOutput::Found { .. } => Some(true),
                GuardOutput::Noted { .. } => Some(false),
                _ => None,
            }
        };
        assert_eq!(refuses("  if (argc > 9) return 2;\n"), Some(true));
        assert_eq!(refuses("  if (argc > 9) {\n    a();\n    b();\n  }\n"), Some(false));
    }

    #[test]
    fn rounds_of_a_computation_may_repeat() {
        let text = |above: &str, round: &str| {
            format!("void e(A *a) {{\n{above}}}\nvoid f(A *a) {{\n  b();\n{}}}\n", round.repeat(2))
        };
        let round = "  mix_in(a + c, key, length);\n  permute_all(a, d);\n";
        let above = "  mix_in(a, e, 1);\n  permute_all(a, f);\n".repeat(2).replacen('1', "2", 1);
        let before = text(&above, "");
        assert_eq!(found("a.c", &before, &text(&above, round)), None);
        for other in [round.replace("(a, d)", "(e, d)"), round.replace("permute_all", "mix_in")] {
            assert!(found("a.c", &before, &text(&above, &other)).is_some(), "{other}");
        }
        assert!(found("a.c", &text("", ""), &text("", round)).is_some());
    }

    #[test]
    fn a_step_by_a_macro_may_repeat() {
        let step = |name: &str| format!("    {name};\n    if (a[0] > 0x7f) return 0;\n");
        let text = |name: &str| {
            let one = format!("  if (b) {{\n{}  }}\n", step(name));
            let times = |n: usize| one.replace(&step(name), &step(name).repeat(n));
            format!("{one}{}{}", times(2), times(3))
        };
        let file = |body: &str| format!("int f(char *a) {{\n{body}  return 1;\n}}\n");
        assert_eq!(found("a.c", &file(""), &file(&text("NEXT"))), None);
        assert!(found("a.c", &file(""), &file(&step("NEXT").repeat(2))).is_some());
        assert!(found("a.c", &file(""), &file(&text("next = a"))).is_some());
    }

    #[test]
    fn an_element_with_a_name_of_its_own_occurs_once() {
        for line in [
            "<div id=\"log\"></div>",
            "<script src=\"b.js\"></script>",
            "<li><a href=\"b/c.html\">The page of c</a></li>",
            "<!-- TODO: look at this again -->",
            "<option value=\"b\" selected>C</option>",
        ] {
            let page = format!("<body>\n  {line}\n</body>\n");
            let twice = page.replace(line, &format!("{line}\n  {line}"));
            assert!(found("a.html", &page, &twice).is_some(), "{line}");
        }
        for line in [
            "<td>1</td>",
            "<b id=\"{{ c }}\"></b>",
            "<li><a href=\"#\">B</a></li>",
            "<option value=\"\">-</option>",
            "<!-- ==== -->",
        ] {
            let page = format!("<body>\n  {line}\n</body>\n");
            let twice = page.replace(line, &format!("{line}\n  {line}"));
            assert_eq!(found("a.html", &page, &twice), None, "{line}");
        }
    }

    #[test]
    fn groups_of_a_shell_may_have_a_function_each() {
        let before = "Describe a\n  b() { c; }\n  It d\nEnd\n";
        let group = "Describe e\n  b() { f; }\n  It g\nEnd\n";
        assert_eq!(found("a.sh", before, &format!("{before}{group}")), None);
        let twice = before.replace("  It d\n", "  It d\n  b() { f; }\n");
        assert!(found("a.sh", before, &twice).is_some());
    }

    #[test]
    fn a_test_of_a_shell_may_replace_a_function_and_check_twice() {
        let test = |body: &str| format!("test_a() {{\n{body}}}\n");
        let own = "  b() {\n    return 1\n  }\n";
        let other = own.replace('1', "0");
        let replaced = test(&format!("{own}  c\n  assertTrue d\n{other}"));
        assert_eq!(found("tests/a.sh", "", &replaced), None);
        assert!(found("lib/a.sh", "", &replaced).is_some());
        assert!(found("tests/a.sh", "", &test(&format!("{own}{other}"))).is_some());
        let check = "  scale_the_number '.0000001' 1000000\n  assertEquals \"scaling by 100\" '1' \"$ret\"\n";
        let twice = test(&format!("{check}\n{check}"));
        assert_eq!(found("tests/a.sh", &test(check), &twice), None);
        assert!(found("lib/a.sh", &test(check), &twice).is_some());
        let called = check.replace("assertEquals", "printf");
        assert!(found("tests/a.sh", "", &test(&called.repeat(2))).is_some());
        let assigned = check.replace("scale_the", "total=\"$(scale)\" scale_the");
        assert!(found("tests/a.sh", "", &test(&assigned.repeat(2))).is_some());
    }

    #[test]
    fn a_module_of_tests_may_check_twice() {
        let check = "        a.get_or_init(|| b += 1);\n        assert_eq!(b, 1);\n";
        let module = |name: &str| {
            let attribute = if name == "tests" { "#[cfg(test)]\n" } else { "" };
            format!("{attribute}mod {name} {{\n    fn c() {{\n{}    }}\n}}\n", check.repeat(2))
        };
        assert_eq!(found("a.rs", "", &module("tests")), None);
        assert!(found("a.rs", "", &module("d")).is_some());
    }

    #[test]
    fn a_generated_file_may_repeat_itself_with_a_warning() {
        let policy = crate::policy::Policy::of(None, None).unwrap();
        let path = edt_types::RepoPath::parse(b"a.sh").unwrap();
        let refuses = |head: &str| {
            let after = format!("#!/bin/sh\n{head}\na() {{ b; }}\nc\na() {{ d; }}\n");
            let before = Some(&b"e\n"[..]);
            let limit = std::time::Duration::from_secs(5);
            let file = Subject::new(&path, None, before, Some(after.as_bytes()), Vec::new(), limit);
            let context = GuardContext { policy: &policy, site: None };
            matches!(DuplicateCode.check(&file, &context)[0], GuardOutput::Found { .. })
        };
        assert!(!refuses("## DO NOT EDIT - This file generated from ./a.in"));
        assert!(!refuses("# Automatically generated by f"));
        assert!(refuses("# Prints what was generated"));
        assert!(refuses("echo DO NOT EDIT generated"));
    }

    #[test]
    fn a_page_has_a_rule_of_its_style_once() {
        let page = |text: &str| format!("<html>\n<body>\n{text}</body>\n</html>\n");
        let rule = "h3 {\n  padding-top: 27px;\n  margin-bottom: 13.5px;\n}\n";
        let style = |text: &str| page(&format!("<style>\n{text}</style>\n"));
        assert!(found("a.html", &style(rule), &style(&rule.repeat(2))).is_some());
        let row = "  <li>One of them</li>\n";
        assert_eq!(found("a.html", &page(row), &page(&row.repeat(2))), None);
    }

    fn finding(before: &str, after: &str) -> Finding {
        let path = edt_types::RepoPath::parse(b"a.rs").unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let limit = std::time::Duration::from_secs(5);
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        explain(&subject, &detect(&subject).unwrap())
    }

    #[test]
    fn the_copy_that_the_file_had_is_the_original() {
        let before = "fn g() {}\n\nfn f() {}\n";
        let found = finding(before, "fn f() { 1; }\n\nfn g() {}\n\nfn f() {}\n");
        assert_eq!(found.evidence["original"], serde_json::json!([5, 5]));
        assert_eq!(
            found.remedy,
            "If line 5 should go, send the edit that removes it and this one in one request. \
             Else: Leave out what the file has already: read it and send only what is new."
        );
    }

    #[test]
    fn equal_neighbours_have_no_original() {
        let found = finding("fn f() {}\n", "fn f() {}\n\nfn f() {}\n");
        assert_eq!(found.evidence.get("original"), None);
        assert!(found.remedy.starts_with("Leave out "), "{}", found.remedy);
    }

    #[test]
    fn a_statement_that_is_repeated_is_named_with_its_lines() {
        let body = "    if a {\n        b();\n    }\n";
        let file = |body: &str| format!("fn f() {{\n{body}}}\n");
        assert_eq!(
            found("a.rs", &file(body), &file(&body.repeat(2))).as_deref(),
            Some("The same statement would occur twice in a.rs: lines 2-4 and lines 5-7.")
        );
    }

    #[test]
    fn a_long_run_of_lines_counts_without_a_grammar() {
        let run = "a line of this text that is long enough\n\
                   another line of this text that is long enough\n\
                   the third line of this text\n";
        assert_eq!(
            found("a.unknown", run, &run.repeat(2)).as_deref(),
            Some("The same run of lines would occur twice in a.unknown: lines 1-3 and lines 4-6.")
        );
    }

    #[test]
    fn what_only_looks_like_a_repetition_may_stay() {
        for (path, before, after) in [
            ("a.yml", "- go: 1.20.x\n  a: b\n", "- go: 1.20.x\n- go: 1.20.x\n  a: b\n"),
            (
                "b.yml",
                "include:\n",
                "include:\n- go: master\n  env: GO111MODULE=on\n- go: master\n  env: \
                 GO111MODULE=on\n  os: linux\n",
            ),
            ("test/a.js", "f();\n", "f();\na.b = { c: NaN };\na.b = { c: NaN };\n"),
            ("test/b.js", "f();\n", "f();\nnew Clazz();\nnew Clazz();\n"),
            ("a.rs", "fn f() {}\n", "fn f() {}\n////////////\n\n////////////\n"),
            (
                "a.go",
                "package a\nfunc f() {\n}\n",
                "package a\nfunc f() {\n\tgo send(a, b)\n\tgo send(a, b)\n}\n",
            ),
            ("a.js", "let a = 1;\nlet a = 2;\n", "let a = 1;\nlet a = 2;\nlet a = 3;\n"),
            (
                "test/c.js",
                "it('a', () => {\n});\n",
                "it('a', () => {\n  server.onJoin(123, 'the name of a room');\n  \
                 expect(rooms.length).to.equal(1);\n  server.onJoin(123, 'the name of a room');\n  \
                 expect(rooms.length).to.equal(1);\n});\n",
            ),
        ] {
            assert_eq!(found(path, before, after), None, "{path}");
        }
    }

    #[test]
    fn a_command_of_a_shell_may_be_repeated() {
        for line in ["cd ..", "json_select ..", "read -r line", "printf '\\n\\n'", "sleep 0.25"] {
            let once = format!("f() {{\n  {line}\n}}\n");
            assert_eq!(
                found("a.sh", &once, &once.replace(line, &format!("{line}\n  {line}"))),
                None
            );
        }
        let reports = ["ok_skip \"no --b\"", "skip_test c", "echo \"ok - d\"", "clear_line 1"];
        for (line, path, times, repeats) in [
            (reports[0], "tests/a.sh", 2, true),
            (reports[0], "lib/a.sh", 2, false),
            (reports[1], "tests/a.sh", 2, true),
            (reports[2], "tests/a.sh", 2, true),
            ("look --up \"no --b\"", "tests/a.sh", 2, false),
            (reports[3], "a.sh", 3, true),
            (reports[3], "a.sh", 2, false),
            ("readonly a=1", "a.sh", 3, false),
        ] {
            let text =
                |times: usize| format!("f() {{\n{}}}\n", format!("  {line}\n").repeat(times));
            assert_eq!(found(path, &text(1), &text(times)).is_none(), repeats, "{line} {path}");
        }
        let once = "f() {\n  readonly a=1\n}\n";
        let twice = once.replace("1\n", "1\n  readonly a=1\n");
        assert!(found("a.sh", once, &twice).is_some());
    }

    #[test]
    fn a_call_may_occur_twice_where_a_comment_says_so_or_calls_do() {
        let body = |text: &str| ["void f(void) {\n  a();\n", text, "}\n"].concat();
        let call = "  add_ignored_event(event->sequence);\n";
        let twice = |comment: &str| [comment, call, call].concat();
        let found = |before: &str, after: &str| found("a.c", &body(before), &body(after));
        assert!(found(call, &twice("  /* We ignore the event. */\n")).is_some());
        assert_eq!(found(call, &twice("  /* We ignore it twice. */\n")), None);
        let others = |name: &str| {
            [1, 2].map(|n| format!("  {name}(the_name_of_an_event, {n});\n").repeat(2)).concat()
        };
        let usual = |name: &str| found(&others(name), &(others(name) + &twice("  b();\n")));
        assert_eq!(usual("add_ignored_event"), None);
        assert!(usual("remove_ignored_event").is_some());
    }

    #[test]
    fn a_comment_and_an_option_of_a_command_occur_once() {
        for line in ["# shellcheck disable=SC2154", "a=`git log -1 --pretty=short`"] {
            let text = |lines: &str| format!("b() {{\n{lines}  c\n}}\n");
            let line = format!("  {line}\n");
            assert!(found("a.sh", &text(&line), &text(&line.repeat(2))).is_some(), "{line}");
        }
        let head = "#!/bin/bash\n";
        assert!(found("a.sh", head, &format!("{head}{head}# About.\na\n")).is_some());
        let session = "# $ ./write now.out\n# $ cat now.out\n#\n";
        assert_eq!(found("a.sh", "a\n", &format!("# Try:\n{}a\n", session.repeat(2))), None);
        let text = session.replace("$ ", "");
        assert!(found("a.sh", "a\n", &format!("# Try:\n{}a\n", text.repeat(2))).is_some());
    }

    #[test]
    fn a_paragraph_occurs_once() {
        let page = |text: &str| format!("<dd>\n{text}</dd>\n");
        let text = "  The same object MUST be returned until the <a>user agent</a> needs to\n  \
                    return different values, or the same values in a different order.\n";
        assert!(found("a.html", &page(text), &page(&text.repeat(2))).is_some());
        let rows = text.replace("  The", "  <td>The").replace("  return", "  <td>return");
        assert_eq!(found("a.html", &page(&rows), &page(&rows.repeat(2))), None);
    }

    #[test]
    fn equal_elements_of_markup_may_occur_three_times() {
        let cells = ["first", "second", "third", "fourth"]
            .map(|n| format!("<td>The {n} cell of this long row</td>\n"));
        let row = format!("<tr>\n{}</tr>\n", cells.concat());
        let table = |rows: usize| format!("<table>\n{}</table>\n", row.repeat(rows));
        let added = |text: &str| found("a.html", "<p>a</p>\n", text);
        assert!(added(&table(2)).is_some());
        for rows in 3..6 {
            assert_eq!(added(&table(rows)), None, "{rows}");
        }
        assert_eq!(added(&(table(1) + &table(2))), None, "one is apart");
        let lines = "| the first cell of all | the second cell of all |\n| the third cell | x |\n| the fourth cell of all | the fifth cell |\n";
        assert!(found("a.md", "a\n", &lines.repeat(2)).is_some());
        assert_eq!(found("a.md", "a\n", &lines.repeat(3)), None);
    }

    #[test]
    fn a_test_may_repeat_a_check_with_an_order_to_the_compiler() {
        let check = "// @ts-expect-error It fails.\ncheck.error(() => server.decorate('a', 'b', theFunction));\n";
        assert_eq!(found("test/a.ts", "a();\n", &format!("a();\n{check}{check}")), None);
        let check = check.replace("@ts-expect-error It", "It");
        assert!(found("test/a.ts", "a();\n", &format!("a();\n{check}{check}")).is_some());
    }

    #[test]
    fn a_value_of_a_list_and_an_import_occur_once() {
        let list = |values: &str| format!("a = [\n{values}]\n");
        let value = "  \"Programming Language :: Python\",\n";
        assert!(found("a.toml", &list(value), &list(&value.repeat(2))).is_some());
        let require = "var assert = require('assert')\n";
        assert!(found("a.js", require, &require.repeat(2)).is_some());
        let import = |names: &str| format!("import {{ {names} }} from './a.js'\n");
        assert!(found("a.ts", &import("load, save"), &import("load, save, load")).is_some());
    }

    #[test]
    fn a_short_run_of_lines_may_be_repeated_without_a_grammar() {
        assert_eq!(found("a.unknown", "x\n", "x\nx\n"), None);
    }
}
