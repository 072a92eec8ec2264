//! Every guard ends with the time limit of a file, whatever the text is.

use std::time::Duration;

use edt_io::clock::CpuLimit;
use edt_types::RepoPath;

use super::{GUARDS, GuardContext, GuardOutput, Reference, Subject};
use crate::policy::Policy;

const LIMIT: Duration = Duration::from_millis(20);
/// What a guard may take in addition: passes over the lines, without optimisation.
const LINEAR: Duration = Duration::from_secs(3);

/// Texts for which a search without a limit takes long, each with the name of its file.
fn texts() -> [(&'static str, String); 14] {
    let many = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect();
    [
        ("a.c", "f(a);\n".repeat(40_000)),
        ("a.js", "a, (b) { c } \"d\" /* e */ ".repeat(10_000)),
        ("a.c", "/* ".repeat(100_000)),
        ("a.json", "]}".repeat(25_000)),
        ("a.go", format!("{}{}", "{ (".repeat(450), ") }".repeat(450)).repeat(100)),
        ("a.c", many(8_000, &|n| format!("int f{n}(int a)\n{{\n}}\n"))),
        ("a.py", many(8_000, &|n| format!("def f():\n    x{n}()\n\n"))),
        ("a.py", many(8_000, &|_| "def f(a):\n    pass\n\n".to_owned())),
        ("a.go", "t.Skip(1)\n".repeat(25_000)),
        ("a.py", "# ...\n# ... existing code ...\nx = 1\n".repeat(10_000)),
        ("a.c", "# define a \\\n".repeat(25_000)),
        ("a.yaml", many(15_000, &|n| format!("k{}: {n}\n", n % 5))),
        ("a.html", "<a><b></c>\n".repeat(25_000)),
        ("a.js", "a\u{a0}= \u{201c}b\u{201d};\n".repeat(15_000)),
    ]
}

/// The guards that took longer than the limit.
fn slow(path: &str, before: &str, after: &str) -> Vec<String> {
    let policy = Policy::of(None, None).unwrap();
    let context = GuardContext { policy: &policy, site: None };
    let name = RepoPath::parse(path.as_bytes()).unwrap();
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let references = vec![Reference { origin: "HEAD", text: before }];
    let subject = Subject::new(&name, None, Some(before), Some(after), references, LIMIT);
    let takes_long = |guard: &&&dyn super::Guard| {
        let limit = CpuLimit::new(LIMIT + LINEAR);
        let _ = guard.check(&subject, &context);
        limit.is_over()
    };
    let start = String::from_utf8_lossy(&after[..after.len().min(20)]).into_owned();
    let slow = GUARDS.iter().filter(takes_long);
    slow.map(|guard| format!("{} {path} {start}", guard.name())).collect()
}

#[test]
fn every_guard_ends_with_the_time_limit() {
    let other = "int g(int a)\n{\n    b(a, 1);\n    c(a, 2);\n    return a;\n}\n".repeat(2_000);
    let all = texts().map(|(path, text)| [slow(path, &other, &text), slow(path, &text, &other)]);
    assert_eq!(all.concat().concat(), [""; 0]);
}

#[test]
fn a_search_that_does_not_end_in_time_refuses_nothing_and_warns() {
    let policy = Policy::of(None, None).unwrap();
    let context = GuardContext { policy: &policy, site: None };
    let path = RepoPath::parse(b"a.py").unwrap();
    let tests: String =
        (0..8).map(|n| format!("def test_{n}():\n    pytest.skip('a')\n")).collect();
    let before = tests.replace("    pytest.skip('a')\n", "    assert f(1)\n    a\n    b\n");
    let before = format!("import pytest\n{before}");
    let after = tests + "# ... existing code ...\nx = \u{201c}a\u{201d}\n";
    let checked = |limit| {
        let (before, after) = (Some(before.as_bytes()), Some(after.as_bytes()));
        let subject = Subject::new(&path, None, before, after, Vec::new(), limit);
        let names = [
            "weakened_tests",
            "elided_code",
            "lookalike_characters",
            "duplicate_code",
            "lost_content",
        ];
        let guards = names.map(|name| GUARDS.iter().find(|guard| guard.name() == name).unwrap());
        guards.map(|guard| match &guard.check(&subject, &context)[..] {
            [GuardOutput::Unchecked { reason, .. }] => {
                assert!(reason.ends_with("the time limit for one file is over."), "{reason}");
                true
            }
            _ => false,
        })
    };
    assert_eq!(checked(Duration::ZERO), [true; 5]);
    assert_eq!(checked(Duration::from_secs(20)), [false; 5]);
}
