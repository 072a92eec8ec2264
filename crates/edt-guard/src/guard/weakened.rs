//! Tests should not be weakened: removed, skipped, or left without what they assert.

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use super::test_lines::{
    Skip, asserts, asserts_nothing, begins_test, number_of_tests, repeats_test, skips, title,
};
use edt_types::text::visible;
use edt_types::{Code, Finding};
use std::collections::HashSet;

/// The guard `weakened_tests`.
#[derive(Debug)]
pub struct WeakenedTests;

/// How an edit weakens tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Weakening {
    /// Half of the tests, or more, are removed.
    Removed {
        /// Tests before and after.
        tests: (usize, usize),
    },
    /// The same, for a reason that the transaction shows.
    Reduced {
        /// Tests before and after.
        tests: (usize, usize),
        /// The reason.
        reason: Reason,
    },
    /// A test is skipped that was not.
    Skipped {
        /// The row that skips it.
        row: usize,
    },
    /// An assertion is always true.
    AlwaysTrue {
        /// Its row.
        row: usize,
    },
    /// Tests stay and lose assertions.
    FewerAssertions {
        /// Assertions before and after.
        assertions: (usize, usize),
    },
}

/// Why tests may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A new test repeats with several values.
    Table,
    /// The module of tests gets a file of its own.
    Module,
    /// What they test goes in the same transaction.
    Subject,
}

/// A file with fewer tests may lose them.
const MIN_TESTS: usize = 4;
/// A shorter word may occur anywhere.
const MIN_NAME: usize = 6;
/// Fewer assertions than this may go.
const MIN_ASSERTIONS: usize = 3;

impl Guard for WeakenedTests {
    fn name(&self) -> &'static str {
        "weakened_tests"
    }

    fn rule(&self) -> &'static str {
        "A file with four tests or more would lose half of them. Warnings: it would lose them to \
         tests that run with several values, to a file of their module, or with what they test; a test would be skipped, an assertion would always be true, or tests would lose a third of their \
         assertions, three or more. Tests that move in the transaction are not lost."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        if file.before.is_none() || file.language().is_none() {
            return Vec::new();
        }
        match file.within_limit(|| detect(file)) {
            Err(why) => vec![GuardOutput::Unchecked {
                word: self.name(),
                reason: format!("The tests of {} were not compared: {why}.", file.path),
            }],
            Ok(None) => vec![GuardOutput::Pass],
            Ok(Some(Weakening::Removed { tests })) => {
                GuardOutput::of(self.name(), Some(explain(file, tests)))
            }
            Ok(Some(found)) => {
                vec![GuardOutput::Noted { word: self.name(), message: warn(file, &found) }]
            }
        }
    }
}

/// How the edit weakens the tests of the file, if it does.
#[must_use]
pub fn detect(subject: &Subject<'_>) -> Option<Weakening> {
    subject.text()?;
    let language = subject.language()?.name;
    let (old, new) = subject.lines().texts();
    let removed = || subject.hunks().iter().flat_map(|hunk| &old[hunk.old.clone()]);
    let is_test = |line: &&&[u8]| begins_test(language, line);
    let count =
        |lines: &[&[u8]], is: &dyn Fn(&[u8]) -> bool| lines.iter().filter(|line| is(line)).count();
    if removed().any(|line| begins_test(language, line)) {
        let (before, after) = (number_of_tests(language, old), number_of_tests(language, new));
        if before >= MIN_TESTS && after * 2 <= before {
            let lost = subject.lost_lines();
            // A test whose title stays is made in another way.
            let kept: HashSet<&[u8]> =
                subject.fresh_lines().filter_map(|(_, line)| title(line)).collect();
            let stays = |line: &&[u8]| title(line).is_some_and(|title| kept.contains(title));
            let gone = lost.iter().filter(|(line, _)| is_test(line) && !stays(line));
            let gone: i64 = gone.map(|(_, times)| times).sum();
            if usize::try_from(gone).unwrap_or_default() * 2 >= before {
                let tests = (before, after);
                return Some(match reason(subject, language) {
                    None => Weakening::Removed { tests },
                    Some(reason) => Weakening::Reduced { tests, reason },
                });
            }
        }
    }
    let skipped = || {
        let (row, _) = subject.fresh_lines().find(|(row, line)| {
            skips(language, line)
                .filter(|_| !subject.is_over())
                .is_some_and(|skip| skips_known_test(subject, language, *row, skip))
        })?;
        Some(Weakening::Skipped { row })
    };
    let always_true = || {
        let asserted = removed().any(|line| asserts(line));
        let (row, _) = subject.fresh_lines().find(|(_, line)| asserted && asserts_nothing(line))?;
        Some(Weakening::AlwaysTrue { row })
    };
    skipped().or_else(always_true).or_else(|| {
        if removed().filter(|line| asserts(line)).count() < MIN_ASSERTIONS {
            return None;
        }
        let tests = |line: &[u8]| begins_test(language, line);
        let (before, after) = (count(old, &asserts), count(new, &asserts));
        let fewer = after + MIN_ASSERTIONS <= before && after * 3 <= before * 2;
        let tests_stay = count(new, &tests) >= count(old, &tests).max(1);
        (fewer && tests_stay).then_some(Weakening::FewerAssertions { assertions: (before, after) })
    })
}

/// The reason why tests go, if the transaction has one.
fn reason(subject: &Subject<'_>, language: &str) -> Option<Reason> {
    if subject.fresh_lines().any(|(_, line)| repeats_test(language, line)) {
        return Some(Reason::Table);
    }
    let others = || subject.transaction.iter().filter(|other| other.path != subject.path);
    let declared = |line: &[u8]| language == "rust" && line.trim_ascii() == b"mod tests;";
    let tests =
        |text| edt_types::text::lines(text).filter(|line| begins_test(language, line)).count();
    if subject.fresh_lines().any(|(_, line)| declared(line))
        && others().any(|other| tests(other.after) > tests(other.before))
    {
        return Some(Reason::Module);
    }
    let mut kept: HashSet<&[u8]> = words(subject.after.unwrap_or_default()).collect();
    others().for_each(|other| kept.extend(words(other.after)));
    let lost = subject.lost_lines();
    let lost: HashSet<&[u8]> =
        lost.keys().flat_map(|line| words(line)).filter(|word| !kept.contains(word)).collect();
    let goes = |text| words(text).any(|word| lost.contains(word));
    others().any(|other| goes(other.before)).then_some(Reason::Subject)
}

/// The words of a text that are long enough to be names of something.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.split(move |byte| !is_word(byte)).filter(|word| word.len() >= MIN_NAME)
}

/// Whether the row skips a test that the old text had and did not skip.
fn skips_known_test(subject: &Subject<'_>, language: &str, row: usize, skip: Skip) -> bool {
    let (old, new) = subject.lines().texts();
    let added = |row: usize| subject.added().iter().any(|rows| rows.contains(&row));
    let is_test = |row: &usize| begins_test(language, new[*row]);
    match skip {
        Skip::Above => {
            let attribute = |row: &usize| {
                new[*row].trim_ascii_start().starts_with(b"#[")
                    || new[*row].trim_ascii_start().starts_with(b"@")
            };
            let below =
                (row + 1..new.len().min(row + 8)).find(|row| is_test(row) || !attribute(row));
            let above = || (row.saturating_sub(4)..row).rev().find(is_test);
            below.filter(|row| is_test(row)).or_else(above).is_some_and(|test| !added(test))
        }
        Skip::Below => (0..row).rev().find(is_test).is_some_and(|test| !added(test)),
        Skip::Within => {
            let line = String::from_utf8_lossy(new[row].trim_ascii()).into_owned();
            let open = line.replacen(".skip(", "(", 1).replacen(".todo(", "(", 1).replacen(
                "DISABLED_",
                "",
                1,
            );
            let open = if open == line { line[1..].to_owned() } else { open };
            old.iter().any(|old| old.trim_ascii() == open.as_bytes())
        }
    }
}

fn warn(subject: &Subject<'_>, found: &Weakening) -> String {
    let path = subject.path;
    let text = |row: &usize| {
        visible(subject.lines().texts().1.get(*row).copied().unwrap_or_default().trim_ascii())
    };
    match found {
        Weakening::Removed { tests } => explain(subject, *tests).summary,
        Weakening::Reduced { tests, reason } => {
            let summary = explain(subject, *tests).summary;
            match reason {
                Reason::Table => format!("{summary} Others would run with several values."),
                Reason::Module => format!("{summary} Another file would have their module."),
                Reason::Subject => format!("{summary} What they test would go, too."),
            }
        }
        Weakening::Skipped { row } => {
            format!("A test of {path} would be skipped (line {}): \"{}\".", row + 1, text(row))
        }
        Weakening::AlwaysTrue { row } => format!(
            "An assertion of {path} would always be true (line {}): \"{}\".",
            row + 1,
            text(row)
        ),
        Weakening::FewerAssertions { assertions: (before, after) } => {
            format!("The tests of {path} would have {after} assertions in place of {before}.")
        }
    }
}

fn explain(subject: &Subject<'_>, (before, after): (usize, usize)) -> Finding {
    let path = subject.path;
    Finding::new(
        Code::WeakenedTests,
        format!("{path} has {before} tests and would have {after}."),
        "Keep the tests and correct the code that they test.",
    )
    .nothing_changed()
    .or_override("If they really should go, repeat with allow: [\"weakened_tests\"].")
    .at(path)
    .with("tests_before", before)
    .with("tests_after", after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Transaction, TransactionFile};
    use edt_types::RepoPath;
    use std::time::Duration;

    fn found(path: &str, before: &str, after: &str) -> Option<Weakening> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        detect(&Subject::new(&path, None, before, after, Vec::new(), Duration::from_secs(5)))
    }

    fn tests(range: std::ops::Range<usize>) -> String {
        range.map(|n| format!("def test_{n}():\n    assert f({n})\n\n")).collect()
    }

    #[test]
    fn half_of_four_tests_may_not_go() {
        let removed = |tests| Some(Weakening::Removed { tests });
        assert_eq!(found("a.py", &tests(0..4), &tests(0..2)), removed((4, 2)));
        assert_eq!(found("a.py", &tests(0..8), "import a\n"), removed((8, 0)));
        assert_eq!(found("a.py", &tests(0..3), &tests(0..1)), None);
        assert_eq!(found("a.py", &tests(0..5), &tests(0..3)), None);
        assert_eq!(found("a.py", &tests(0..4), &tests(4..8)), None, "others take their place");
        let rust: String = (0..4).map(|n| format!("#[test]\nfn t{n}() {{}}\n")).collect();
        assert_eq!(found("a.rs", &rust, "fn f() {}\n"), removed((4, 0)));
    }

    #[test]
    fn tests_may_become_a_table() {
        let table = "@pytest.mark.parametrize('n', range(4))\ndef test_all(n):\n    assert f(n)\n";
        assert_eq!(
            found("a.py", &tests(0..4), table),
            Some(Weakening::Reduced { tests: (4, 1), reason: Reason::Table })
        );
    }

    #[test]
    fn tests_may_go_with_what_they_test() {
        let paths = ["test_a.py", "a.py"].map(|path| RepoPath::parse(path.as_bytes()).unwrap());
        let before = tests(0..4).replace("f(", "compute(");
        let detected = |code: [&str; 2]| {
            let texts = [[&before, "import a\n"], code];
            let transaction: Vec<TransactionFile<'_>> = paths
                .iter()
                .zip(&texts)
                .map(|(path, [before, after])| TransactionFile {
                    path,
                    before: before.as_bytes(),
                    after: after.as_bytes(),
                })
                .collect();
            let [before, after] = texts[0].map(|text| Some(text.as_bytes()));
            let limit = Duration::from_secs(5);
            let subject = Subject::new(&paths[0], None, before, after, Vec::new(), limit);
            detect(&subject.in_transaction(&Transaction::new(transaction)))
        };
        let tests = (4, 0);
        let code = "def compute(n):\n    return n\n";
        assert_eq!(
            detected([code, "x = 1\n"]),
            Some(Weakening::Reduced { tests, reason: Reason::Subject })
        );
        assert_eq!(
            detected([code, "def compute(n):\n    return 1\n"]),
            Some(Weakening::Removed { tests })
        );
    }

    #[test]
    fn tests_may_go_to_a_file_of_their_module() {
        let paths = ["a.rs", "tests.rs"].map(|path| RepoPath::parse(path.as_bytes()).unwrap());
        let before = "#[test]\nfn t() { f() }\n".repeat(4);
        let detected = |after: &str, other: &str| {
            let transaction = [(&before[..], after), ("", other)];
            let files = [0, 1].map(|n| TransactionFile {
                path: &paths[n],
                before: transaction[n].0.as_bytes(),
                after: transaction[n].1.as_bytes(),
            });
            let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
            let limit = Duration::from_secs(5);
            let subject = Subject::new(&paths[0], None, before, after, Vec::new(), limit);
            detect(&subject.in_transaction(&Transaction::new(files.to_vec())))
        };
        let (tests, table) = ((4, 0), "#[test]\nfn all() { g() }\n");
        let module = "#[cfg(test)]\nmod tests;\n";
        assert_eq!(
            detected(module, table),
            Some(Weakening::Reduced { tests, reason: Reason::Module })
        );
        assert_eq!(detected(module, "fn all() {}\n"), Some(Weakening::Removed { tests }));
        assert_eq!(detected("mod other;\n", table), Some(Weakening::Removed { tests }));
    }

    #[test]
    fn a_test_may_be_run_in_another_way() {
        let rust = |name: &str| format!("#[{name}]\nfn a() {{}}\n").repeat(5);
        for name in ["sqlx::test", "gpui::test(iterations = 3)", "wasm_bindgen_test"] {
            assert_eq!(found("a.rs", &rust("test"), &rust(name)), None, "{name}");
        }
        let script = |name: &str| format!("{name}('a', () => {{}});\n").repeat(5);
        for name in ["it.concurrent", "it.skip", "Deno.test"] {
            let found = found("a.test.ts", &script("it"), &script(name));
            assert_eq!(found.is_some(), name == "it.skip", "{name}");
            assert!(!matches!(found, Some(Weakening::Removed { .. })), "{name}");
        }
    }

    #[test]
    fn a_test_may_be_made_in_another_way() {
        let one = |made: &str, n| format!("{made}\"does {n}\", () => {{\n  f({n});\n}});\n");
        let all = |made: &str| (0..5).map(|n| one(made, n)).collect::<String>();
        let found = |after: &str| found("a.test.js", &all("it("), after);
        for made in ["QUnit.test(", "check(f, "] {
            assert_eq!(found(&all(made)), None, "{made}");
        }
        for made in ["// it(", "#("] {
            assert!(matches!(found(&all(made)), Some(Weakening::Removed { .. })), "{made}");
        }
        for made in ["it('does ' + n, ", "test(`does ${n}`, ", "it(n, "] {
            let looped = format!("for (const n of all) {{\n  {made}() => f(n));\n}}\n");
            let reduced = Weakening::Reduced { tests: (5, 1), reason: Reason::Table };
            assert_eq!(found(&looped), Some(reduced), "{made}");
        }
    }

    #[test]
    fn an_annotated_test_counts_once() {
        let java = |modifier: &str| -> String {
            (0..4).map(|n| format!("@Test\n{modifier} testA{n}() {{}}\n")).collect()
        };
        assert_eq!(found("A.java", &java("public void"), &java("void")), None);
    }

    #[test]
    fn a_test_that_is_skipped_is_noticed() {
        for (path, before, after) in [
            ("a.py", "def test_a():\n    x\n", "@pytest.mark.skip\ndef test_a():\n    x\n"),
            ("a.py", "def test_a():\n    x\n", "def test_a():\n    pytest.skip('x')\n    x\n"),
            ("a.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n"),
            ("a.js", "it('a', () => {});\n", "it.skip('a', () => {});\n"),
            ("a.js", "it('a', () => {});\n", "xit('a', () => {});\n"),
            (
                "a_test.go",
                "func TestA(t *testing.T) {\n\tf()\n}\n",
                "func TestA(t *testing.T) {\n\tt.Skip()\n\tf()\n}\n",
            ),
            (
                "A.java",
                "class A {\n@Test\nvoid a() {}\n}\n",
                "class A {\n@Disabled\n@Test\nvoid a() {}\n}\n",
            ),
            ("a.cc", "TEST(A, B) {\n}\n", "TEST(A, DISABLED_B) {\n}\n"),
        ] {
            let found = found(path, before, after);
            assert!(matches!(found, Some(Weakening::Skipped { .. })), "{path}: {found:?}");
        }
    }

    #[test]
    fn a_new_test_may_be_skipped() {
        for (path, before, after) in [
            ("a.py", "x = 1\n", "x = 1\n@pytest.mark.skip\ndef test_a():\n    x\n"),
            ("a.js", "f();\n", "f();\nit.skip('a', () => {});\n"),
            ("a_test.go", "package a\n", "package a\nfunc TestA(t *testing.T) {\n\tt.Skip()\n}\n"),
        ] {
            assert_eq!(found(path, before, after), None, "{path}");
        }
    }

    #[test]
    fn weaker_assertions_are_noticed() {
        let before = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n    assert f(3)\n";
        let after = "def test_a():\n    assert True\n    assert f(2) == 3\n    assert f(3)\n";
        assert_eq!(found("a.py", before, after), Some(Weakening::AlwaysTrue { row: 1 }));
        let assertions = (3, 0);
        assert_eq!(
            found("a.py", before, "def test_a():\n    f(1)\n"),
            Some(Weakening::FewerAssertions { assertions })
        );
        assert_eq!(found("a.py", before, "def test_a():\n    assert f(1) == 2\n"), None);
    }
}
