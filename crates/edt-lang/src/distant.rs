//! Compound statements of one list that occur again a few lines on, with other statements between.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use tree_sitter::Node;

use super::outline::touches;
use super::parse::{Parsed, Stop, rows};

/// A compound statement that occurs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistantRepeat {
    /// The rows of the first, 0-based, end excluded.
    pub first: Range<usize>,
    /// The rows of the second.
    pub second: Range<usize>,
    /// Whether both are an `if` that leaves the block, and test only what their function has: then
    /// the second has no effect.
    pub leaves: bool,
}

/// How many lines further down the second may begin.
const MAX_DISTANCE: usize = 10;
/// A shorter statement counts only if it leaves the block.
const MIN_ROWS: usize = 3;
/// How many earlier statements of a list are compared with one.
const MAX_EARLIER: usize = 10;

/// What a statement begins with that leaves its block.
const LEAVING: [&str; 10] =
    ["return", "raise", "throw", "break", "continue", "exit", "goto", "die", "panic", "sys.exit"];

/// Words that name nothing.
const KEYWORDS: [&str; 24] = [
    "if",
    "for",
    "while",
    "not",
    "in",
    "is",
    "and",
    "or",
    "null",
    "None",
    "nil",
    "true",
    "false",
    "let",
    "const",
    "var",
    "then",
    "unless",
    "switch",
    "match",
    "with",
    "typeof",
    "undefined",
    "len",
];

#[doc(hidden)]
impl Parsed<'_> {
    /// Compound statements that occur again in the same list within ten lines, where one of both is
    /// in the rows `changed` and nothing between them changes what they test.
    #[must_use]
    pub fn distant_repeats(&self, changed: &[Range<usize>], stop: &Stop<'_>) -> Vec<DistantRepeat> {
        let around = widened(changed);
        let comments = self.kinds(self.language.comments);
        let mut pairs: Vec<(Node<'_>, Node<'_>, usize)> = Vec::new();
        let mut lists: HashMap<usize, Vec<Node<'_>>> = HashMap::new();
        self.visit_near(&around, |node, parent| {
            let near = touches(&around, &rows(node));
            let Some(parent) = parent else { return near };
            if stop.is_over() || !near || !node.is_named() || comments.has(node) {
                return false;
            }
            let earlier = lists.entry(parent.id()).or_default();
            // The one next to it is the last.
            let apart = earlier.iter().rev().skip(1).take(MAX_EARLIER);
            let mut apart = apart.filter(|first| {
                rows(node).start < rows(**first).start + MAX_DISTANCE
                    && first.kind_id() == node.kind_id()
                    && first.child_count() == node.child_count()
                    && rows(**first).len() == rows(node).len()
                    && self.first_line(**first) == self.first_line(node)
                    && !(first.has_error() || node.has_error())
                    && (touches(changed, &rows(node)) || touches(changed, &rows(**first)))
            });
            let found = apart.find_map(|first| {
                let tokens = self.tokens(node);
                (self.tokens(*first) == tokens).then_some((*first, node, tokens.len()))
            });
            pairs.extend(found);
            earlier.push(node);
            node.child_count() > 0
        });
        let is_compound: BTreeSet<usize> =
            self.compound(&pairs, stop).into_iter().map(|second| second.start).collect();
        pairs.retain(|(_, second, _)| is_compound.contains(&rows(*second).start));
        pairs.iter().filter_map(|(first, second, _)| self.distant_repeat(*first, *second)).collect()
    }

    /// The first line of a node: comparing it is cheaper than comparing tokens.
    fn first_line(&self, node: Node<'_>) -> &[u8] {
        let text = self.text_of(node);
        text[..memchr::memchr(b'\n', text).unwrap_or(text.len())].trim_ascii_end()
    }

    fn distant_repeat(&self, first: Node<'_>, second: Node<'_>) -> Option<DistantRepeat> {
        let head = self.head(second)?;
        let leaves = self.leaves(second) && self.is_of_function(first, head);
        let between =
            std::str::from_utf8(&self.text[first.end_byte()..second.start_byte()]).ok()?;
        let waits = words(between).any(|(_, word)| ["await", "yield"].contains(&word));
        let changes = words(head)
            .filter(|(_, word)| !KEYWORDS.contains(word))
            .any(|(_, word)| changes_in(between, word));
        let names_any = words(head).any(|(_, word)| !KEYWORDS.contains(&word));
        let is_step = |line: &str| {
            let word = line.trim().strip_suffix(';');
            word.is_some_and(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_'))
        };
        if waits || changes || !names_any || between.lines().any(is_step) {
            return None;
        }
        (leaves || rows(second).len() >= MIN_ROWS).then(|| DistantRepeat {
            first: rows(first),
            second: rows(second),
            leaves,
        })
    }

    /// The text before the body of a statement.
    fn head(&self, statement: Node<'_>) -> Option<&str> {
        let mut node = statement;
        while node.named_child_count() == 1 {
            node = node.named_child(0)?;
        }
        let body = node.named_child(node.named_child_count().checked_sub(1)?.try_into().ok()?)?;
        std::str::from_utf8(&self.text[statement.start_byte()..body.start_byte()]).ok()
    }

    /// Whether a condition calls nothing and has only names that the function around it has above:
    /// another function may change what else it tests.
    fn is_of_function(&self, first: Node<'_>, head: &str) -> bool {
        let mut bytes = head.bytes();
        let mut last = 0;
        let calls = bytes.any(|byte| {
            let call = byte == b'(' && (last == b'_' || u8::is_ascii_alphanumeric(&last));
            last = byte;
            call
        });
        let defining = self.kinds(self.language.defining);
        let mut around = std::iter::successors(first.parent(), Node::parent);
        let Some(function) = around.find(|node| defining.has(*node)).filter(|_| !calls) else {
            return false;
        };
        let above = String::from_utf8_lossy(&self.text[function.start_byte()..first.start_byte()]);
        let above: BTreeSet<&str> = words(&above).map(|(_, word)| word).collect();
        let mut names = words(head).map(|(_, word)| word).filter(|word| !KEYWORDS.contains(word));
        names.all(|name| above.contains(name) || name.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Whether a statement is an `if` without `else` that ends with leaving the block.
    fn leaves(&self, statement: Node<'_>) -> bool {
        let has_else = |token: &&[u8]| [&b"else"[..], b"elif", b"elsif"].contains(token);
        let tokens = self.tokens(statement);
        if tokens.first().is_none_or(|first| *first != b"if") || tokens.iter().any(has_else) {
            return false;
        }
        let comments = self.kinds(self.language.comments);
        let mut node = statement;
        loop {
            let count = node.named_child_count();
            let children = (0..count).rev().filter_map(|at| node.named_child(at.try_into().ok()?));
            let Some(last) = { children }.find(|child| !comments.has(*child)) else { return false };
            let text = String::from_utf8_lossy(self.text_of(last));
            let begins = |word: &&str| {
                text.strip_prefix(*word).is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            };
            if LEAVING.iter().any(begins) {
                return true;
            }
            node = last;
        }
    }
}

/// The ranges with the lines around them in which a repetition may be.
fn widened(changed: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut around: Vec<Range<usize>> = Vec::new();
    for range in changed {
        let wide = range.start.saturating_sub(MAX_DISTANCE)..range.end.saturating_add(MAX_DISTANCE);
        match around.last_mut() {
            Some(last) if wide.start <= last.end => last.end = wide.end,
            _ => around.push(wide),
        }
    }
    around
}

/// The words of a text that could be names, each with its offset.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    text.split_inclusive(move |c| !is_word(c)).filter_map(move |piece| {
        let start = at;
        at += piece.len();
        let word = piece.trim_end_matches(|c| !is_word(c));
        word.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some((start, word))
    })
}

/// Whether a text may change what `name` stands for: it assigns to it or to a part of it, counts it,
/// takes its address, calls a method of it, passes it on, or declares it.
fn changes_in(text: &str, name: &str) -> bool {
    const DECLARING: [&str; 12] = [
        "for", "del", "as", "import", "let", "const", "var", "read", "local", "export", "global",
        "unset",
    ];
    let mut last = "";
    words(text).any(|(at, word)| {
        let above = std::mem::replace(&mut last, word);
        word == name && {
            let before = text[..at].trim_end();
            let (is_member, rest) = behind_members(text[at + word.len()..].trim_start());
            let sign = rest
                .trim_start_matches(['+', '-', '*', '/', '%', '|', '^', '&', '<', '>', ':', '?']);
            let assigned = sign.starts_with('=') && !sign.starts_with("==");
            DECLARING.contains(&above)
                || before.ends_with(['&', '*'])
                || before.ends_with("++")
                || before.ends_with("--")
                || rest.starts_with("++")
                || rest.starts_with("--")
                || rest.starts_with([',', ')'])
                || rest.starts_with('(') && is_member
                || assigned && !["<=", ">=", "!="].iter().any(|sign| rest.starts_with(sign))
        }
    })
}

/// What follows the members and elements that a text begins with, and whether it has any.
fn behind_members(text: &str) -> (bool, &str) {
    let mut rest = text;
    loop {
        let member = ["?.", "->", ".", "::"].iter().find_map(|sign| rest.strip_prefix(sign));
        let member =
            member.map(|rest| rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
        let element = || rest.strip_prefix('[')?.split_once(']').map(|(_, rest)| rest);
        match member.or_else(element) {
            Some(behind) if behind.len() < rest.len() => rest = behind,
            _ => return (rest.len() < text.len(), rest.trim_start()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::LANGUAGES;

    /// The rows of what occurs again, and whether it leaves its block.
    fn found(language: &str, text: &str) -> Vec<(usize, usize, bool)> {
        let language = LANGUAGES.iter().find(|one| one.name == language).unwrap();
        let parsed = crate::parse(language, text.as_bytes(), &|| false).unwrap();
        let stop = Stop::when(&|| false);
        let all = parsed.distant_repeats(&[0..text.lines().count()], &stop);
        all.iter().map(|one| (one.first.start, one.second.start, one.leaves)).collect()
    }

    #[test]
    fn a_guard_clause_that_occurs_again_is_found() {
        let c = "int f(int argc) {\n  if (argc < 2) {\n    usage();\n    return 1;\n  }\n  int a = 3;\n  puts(\"b\");\n  if (argc < 2) {\n    usage();\n    return 1;\n  }\n  return a;\n}\n";
        assert_eq!(found("c", c), [(1, 7, true)]);
        let python = "def f(path):\n    if not path:\n        raise ValueError(path)\n    a = 1\n    b = path[a]\n    if not path:\n        raise ValueError(path)\n    return b\n";
        assert_eq!(found("python", python), [(1, 5, true)]);
        let js = "function f(a) {\n  if (!a) return null;\n  const b = 1;\n  g(b);\n  if (!a) return null;\n}\n";
        assert_eq!(found("javascript", js), [(1, 4, true)]);
        let bash = "f() {\n  if [ -z \"$a\" ]; then\n    exit 1\n  fi\n  b=1\n  echo \"$b\"\n  if [ -z \"$a\" ]; then\n    exit 1\n  fi\n}\n";
        assert_eq!(found("bash", bash), [(1, 6, false)], "a variable of any function");
        let go = "package a\n\nfunc f(b int) int {\n\tif b < 1 {\n\t\treturn 0\n\t}\n\tc := 1\n\tg()\n\tif b < 1 {\n\t\treturn 0\n\t}\n\treturn c\n}\n";
        assert_eq!(found("go", go), [(3, 8, true)]);
        let rust = "fn f(b: u8) -> u8 {\n    if b < 1 {\n        return 0;\n    }\n    let c = 1;\n    g();\n    if b < 1 {\n        return 0;\n    }\n    c\n}\n";
        assert_eq!(found("rust", rust), [(1, 6, true)]);
    }

    #[test]
    fn what_another_function_may_change_is_no_guard_clause() {
        for test in ["stop()", "errno != 0", "a.done()", "global"] {
            let text = format!(
                "int f(int a) {{\n  if ({test}) return 1;\n  g();\n  h(1);\n  if ({test}) return 1;\n}}\n"
            );
            assert!(found("c", &text).iter().all(|(.., leaves)| !leaves), "{test}");
        }
    }

    #[test]
    fn what_may_have_changed_may_be_tested_again() {
        for between in [
            "a = g();",
            "a += 1;",
            "a++;",
            "--a;",
            "g(&a);",
            "g(b, a);",
            "a.pop();",
            "a[0] = 1;",
            "await g();",
            "for (a of b) h();",
            "a.b.c = 1;",
            "NEXT_A;",
        ] {
            let text = format!(
                "async function f(a) {{\n  if (!a) return null;\n  {between}\n  if (!a) return null;\n}}\n"
            );
            assert_eq!(found("javascript", &text), [], "{between}");
        }
        for between in ["g(b);", "if (a == 1) g();", "b = a + 1;", "b = a.c;", "a.b <= 1;"] {
            let text = format!(
                "function f(a) {{\n  if (!a) return null;\n  {between}\n  if (!a) return null;\n}}\n"
            );
            assert_eq!(found("javascript", &text), [(1, 3, true)], "{between}");
        }
    }

    #[test]
    fn only_near_compound_statements_of_one_list_count() {
        let js = |between: &str, last: &str| {
            format!("function f(a, b) {{\n  if (!a) return 1;\n{between}  if (!a) {last}\n}}\n")
        };
        assert_eq!(found("javascript", &js("  g();\n", "return 2;")), []);
        assert_eq!(found("javascript", &js(&"  g();\n".repeat(10), "return 1;")), []);
        assert_eq!(found("javascript", &js("  if (b) { }\n  else {\n", "return 1;\n}")), []);
        let loops = "for (const b of a) {\n  g(b);\n}\nh();\nfor (const b of a) {\n  g(b);\n}\n";
        assert_eq!(found("javascript", loops), [(0, 4, false)]);
        let errors = "package a\n\nfunc f() error {\n\tb, err := g()\n\tif err != nil {\n\t\treturn err\n\t}\n\tc, err := h(b)\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn i(c)\n}\n";
        assert_eq!(found("go", errors), []);
    }
}
