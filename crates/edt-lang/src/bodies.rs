//! Functions with a body, and whether a body does nothing.

use std::ops::Range;

use tree_sitter::Node;

use super::parse::{Parsed, Stop, rows};
use super::visit::visit;

/// The body of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The name of the function.
    pub name: String,
    /// The row in which the function begins, 0-based.
    pub begins: usize,
    /// The rows of the body, 0-based, end excluded.
    pub rows: Range<usize>,
    /// What the body does.
    pub does: Does,
}

/// What a body does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Nothing, or only what says that it is not implemented.
    Nothing,
    /// It returns a constant.
    Constant,
    /// Something, in so many tokens.
    Something(usize),
}

#[doc(hidden)]
impl Parsed<'_> {
    /// The functions with a body: those in the rows `changed`, or all if there are no rows.
    #[must_use]
    pub fn bodies(&self, changed: Option<&[Range<usize>]>, stop: &Stop<'_>) -> Vec<Body> {
        let mut found = Vec::new();
        let mut add = |node: Node<'_>, parent: Option<Node<'_>>| {
            if stop.is_over() {
                return false;
            }
            if let Some(body) = self.body(node, parent, stop) {
                found.push(body);
            }
            true
        };
        match changed {
            Some(changed) => self.visit_near(changed, add),
            None => visit(&mut self.tree.walk(), &mut add),
        }
        found
    }

    fn body(&self, node: Node<'_>, parent: Option<Node<'_>>, stop: &Stop<'_>) -> Option<Body> {
        let kind = node.kind();
        // A constructor may do nothing, and is often required.
        let is_function = ["function", "method"].iter().any(|word| kind.contains(word));
        if !is_function || !node.is_named() || node.has_error() || stop.is_over_now() {
            return None;
        }
        let body = node.child_by_field_name("body")?;
        // A constructor may do its work before its body.
        if node
            .named_children(&mut node.walk())
            .any(|child| child.kind() == "field_initializer_list")
        {
            return None;
        }
        // The expression of `x => x` is not a list of statements.
        if body.kind().contains("expression") {
            return None;
        }
        let name = node.child_by_field_name("name").or_else(|| declared(node)).or_else(|| {
            let parent = parent?;
            ["name", "key", "left"].iter().find_map(|field| parent.child_by_field_name(field))
        })?;
        let name = String::from_utf8_lossy(self.text_of(name)).into_owned();
        // Members may do the work of a destructor.
        if name.contains('~') {
            return None;
        }
        Some(Body { name, begins: rows(node).start, rows: rows(body), does: self.does(body) })
    }

    fn does(&self, body: Node<'_>) -> Does {
        let language = self.language();
        let mut statements: Vec<Node<'_>> = self.statements(body);
        if let [list] = statements[..]
            && list.kind().ends_with("_list")
        {
            statements = self.statements(list);
        }
        // The first string of a body may describe the function.
        let is_string = |node: &Node<'_>| {
            let inner = node.named_child(0).filter(|_| node.named_child_count() == 1);
            inner.is_some_and(|inner| language.strings.contains(&inner.kind()))
                && node.kind() == "expression_statement"
        };
        if statements.first().is_some_and(is_string) {
            statements.remove(0);
        }
        match statements[..] {
            [] => Does::Nothing,
            [only] => {
                let mut text = self.tokens(only).concat().to_ascii_lowercase();
                text.retain(|byte| !byte.is_ascii_whitespace());
                let text = text.strip_suffix(b";").unwrap_or(&text);
                if says_not_implemented(text) {
                    Does::Nothing
                } else if is_constant(text) {
                    Does::Constant
                } else {
                    Does::Something(self.tokens(body).len())
                }
            }
            _ => Does::Something(self.tokens(body).len()),
        }
    }

    fn statements<'s>(&'s self, body: Node<'s>) -> Vec<Node<'s>> {
        let mut cursor = body.walk();
        let comments = self.language().comments;
        let named = body.named_children(&mut cursor);
        named.filter(|node| !comments.contains(&node.kind())).collect()
    }
}

/// The name in the declarator of a C function.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut declarator = node.child_by_field_name("declarator")?;
    while let Some(inner) = declarator.child_by_field_name("declarator") {
        declarator = inner;
    }
    Some(declarator)
}

/// Whether a statement, in lower case and without white space, only says that something is missing.
fn says_not_implemented(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    if matches!(&*text, "pass" | "..." | ":") {
        return true;
    }
    let says =
        ["notimplemented", "todo", "unimplemented", "notyetimplemented", "unsupportedoperation"];
    let throws = ["raise", "todo!", "unimplemented!", "throw", "panic(", "panic!("];
    throws.iter().any(|word| text.starts_with(word)) && says.iter().any(|word| text.contains(word))
}

fn is_constant(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"return").unwrap_or(text);
    let constants: [&[u8]; 18] = [
        b"",
        b"none",
        b"null",
        b"nil",
        b"nullptr",
        b"undefined",
        b"0",
        b"-1",
        b"1",
        b"true",
        b"false",
        b"\"\"",
        b"''",
        b"{}",
        b"[]",
        b"ok(())",
        b"()",
        b"vec![]",
    ];
    constants.contains(&text)
}

#[cfg(test)]
#[cfg(feature = "languages")]
mod tests {
    use super::super::table::LANGUAGES;
    use super::*;

    fn bodies(language: &str, text: &str) -> Vec<(String, Does)> {
        let language = LANGUAGES.iter().find(|one| one.name == language).unwrap();
        let parsed = crate::parse(language, text.as_bytes(), &|| false).unwrap();
        parsed
            .bodies(None, &Stop::when(&|| false))
            .into_iter()
            .map(|body| (body.name, body.does))
            .collect()
    }

    #[test]
    fn a_stub_is_recognised_in_each_language() {
        for (language, text) in [
            ("python", "def f(a):\n    \"\"\"About.\"\"\"\n    pass\n"),
            ("python", "def f(a):\n    ...\n"),
            ("python", "def f(a):\n    # TODO\n    raise NotImplementedError(\"f\")\n"),
            ("c", "int *f(void)\n{\n\t/* nothing */\n}\n"),
            ("cpp", "void f() {}\n"),
            ("go", "func f() {\n\tpanic(\"not implemented\")\n}\n"),
            ("go", "func (a A) f() {\n\t// TODO\n}\n"),
            ("rust", "fn f() { todo!() }\n"),
            ("rust", "fn f() {\n    unimplemented!(\"later\");\n}\n"),
            ("javascript", "function f() {\n  throw new Error('Not implemented');\n}\n"),
            ("javascript", "const f = () => {};\n"),
            ("typescript", "class A { f(): void { /* TODO */ } }\n"),
            ("java", "class A { void f() { throw new UnsupportedOperationException(); } }\n"),
            ("bash", "f() {\n  :\n}\n"),
        ] {
            assert_eq!(bodies(language, text), [("f".to_owned(), Does::Nothing)], "{text}");
        }
    }

    #[test]
    fn a_constant_is_told_from_work() {
        for (language, text) in [
            ("python", "def f(a):\n    return None\n"),
            ("c", "int f(void) { return 0; }\n"),
            ("go", "func f() error {\n\treturn nil\n}\n"),
            ("rust", "fn f() -> bool { false }\n"),
            ("java", "class A { A f() { return null; } }\n"),
        ] {
            assert_eq!(bodies(language, text), [("f".to_owned(), Does::Constant)], "{text}");
        }
        let work = bodies("c", "int f(int a) { g(a); return 0; }\n");
        assert!(matches!(work[..], [(_, Does::Something(_))]), "{work:?}");
        assert_eq!(bodies("cpp", "struct A { A() : b(1), c(2) {} };\n"), []);
        let work = bodies("python", "def f(a):\n    raise ValueError(a)\n");
        assert!(matches!(work[..], [(_, Does::Something(_))]), "{work:?}");
    }
}
