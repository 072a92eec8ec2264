//! The uses of a name in a file, and what each may mean.

use std::ops::Range;

use tree_sitter::Node;

use super::outline::words;
use super::parse::{Parsed, parse};
use super::symbols::{field, plain};
use super::table::Language;
use super::unparsed::Unparsed;
use super::visit::visit;

/// An identifier of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUse {
    /// Its bytes.
    pub at: Range<usize>,
    /// How it is used.
    pub how: Use,
}

/// How a file uses a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// The name alone.
    Plain,
    /// A member of this: `x` of `x.name` and `x::name`; empty for a key.
    Member(String),
    /// A definition of the name: a parameter, a variable.
    Definition,
    /// A key and a value at once: `{ name }`.
    Shorthand,
}

/// Where `text` has `name` as an identifier, and how.
///
/// # Errors
/// Why the text is not parsed.
pub fn uses_of(
    language: &'static Language,
    text: &[u8],
    name: &str,
    expired: &dyn Fn() -> bool,
) -> Result<Vec<NameUse>, Unparsed> {
    let parsed = parse(language, text, expired)?;
    if parsed.has_error()
        && let Some(rewritten) = language.without_idioms(text, expired)?
    {
        let again = parse(language, &rewritten, expired)?;
        if !again.has_error() {
            return Ok(again.uses_of(text, name));
        }
    }
    Ok(parsed.uses_of(text, name))
}

#[doc(hidden)]
impl Parsed<'_> {
    fn uses_of(&self, text: &[u8], name: &str) -> Vec<NameUse> {
        let mut all = Vec::new();
        visit(&mut self.tree.walk(), |node, parent| {
            let Some(parent) = parent else { return true };
            // The replacement of a macro is text without a tree.
            if node.kind() == "preproc_arg"
                && words(&text[node.byte_range()], name.as_bytes()).next().is_some()
            {
                all.push(NameUse { at: node.byte_range(), how: Use::Shorthand });
            }
            if node.child_count() == 0
                && node.kind() != "package_identifier"
                && node.kind().contains("identifier")
                && &text[node.byte_range()] == name.as_bytes()
            {
                all.push(NameUse { at: node.byte_range(), how: use_of(text, node, parent) });
            }
            true
        });
        all
    }
}

fn use_of(text: &[u8], node: Node<'_>, parent: Node<'_>) -> Use {
    let (mut node, mut parent, kind) = (node, parent, node.kind());
    let is_import = |node: Node<'_>| node.kind().contains("import");
    if parent.kind() == "dotted_name" && parent.parent().is_some_and(is_import) {
        return Use::Definition;
    }
    // The name may be one of a list of targets.
    while ["expression_list", "pattern_list", "literal_element"].contains(&parent.kind())
        && let Some(above) = parent.parent()
    {
        (node, parent) = (parent, above);
    }
    let is_field = |name| field(parent, name).is_some_and(|one| one.id() == node.id());
    let around = parent.kind();
    if kind.starts_with("shorthand") || around.starts_with("shorthand") {
        return Use::Shorthand;
    }
    // A macro may do anything with its tokens: a field or a key looks like a name.
    if around == "token_tree" {
        let beside = |one: Option<Node<'_>>| one.map(|one| &text[one.byte_range()]);
        let is_part = [&b"."[..], b"::"].contains(&beside(node.prev_sibling()).unwrap_or_default())
            || beside(node.next_sibling()) == Some(b":");
        return if is_part { Use::Shorthand } else { Use::Plain };
    }
    if around == "method_reference" {
        return Use::Shorthand;
    }
    let is_global = around == "qualified_identifier" && field(parent, "scope").is_none();
    if is_global {
        return Use::Shorthand;
    }
    // An embedded type is a field of the same name.
    let is_embedded = around == "field_declaration"
        && is_field("type")
        && field(parent, "name").is_none()
        && field(parent, "declarator").is_none();
    if is_embedded {
        return Use::Shorthand;
    }
    if around == "typed_parameter" && parent.named_child(0).is_some_and(|one| one.id() == node.id())
    {
        return Use::Definition;
    }
    let is_key = around == "keyword_argument" && is_field("name");
    // The key of a struct or of a map.
    let is_first = parent.named_child(0).is_some_and(|one| one.id() == node.id());
    if around == "keyed_element" && is_first {
        return Use::Shorthand;
    }
    let is_called =
        around == "method_invocation" && is_field("name") && field(parent, "object").is_some();
    let is_member = ["field_identifier", "property_identifier", "private_property_identifier"];
    let is_scoped = ["scoped_identifier", "scoped_type_identifier", "qualified_identifier"];
    let is_last = is_scoped.contains(&around) && is_field("name");
    if is_member.contains(&kind)
        || is_key
        || is_called
        || is_last
        || is_field("attribute")
        || around == "field_access" && is_field("field")
    {
        let object = OBJECTS
            .iter()
            .find_map(|name| field(parent, name))
            .filter(|_| !is_key && around != "pair");
        return Use::Member(object.map_or_else(String::new, |object| plain(text, object)));
    }
    let lists_names = ["parameters", "_pattern", "pattern_list", "pattern_target"];
    let is_target = TARGETS.iter().any(|name| is_field(name));
    let defines = is_target && DEFINING.iter().any(|word| around.contains(word));
    if defines || lists_names.iter().any(|end| around.ends_with(end)) {
        Use::Definition
    } else {
        Use::Plain
    }
}

/// The fields of grammars that hold what has a member.
const OBJECTS: [&str; 6] = ["object", "operand", "value", "argument", "path", "scope"];
/// The fields of grammars that hold a new name.
const TARGETS: [&str; 6] = ["name", "pattern", "left", "declarator", "parameter", "alias"];
/// Parts of the kinds of nodes that define the name in one of these fields.
const DEFINING: [&str; 16] = [
    "parameter",
    "pattern",
    "declarator",
    "assignment",
    "definition",
    "declaration",
    "range",
    "_item",
    "_spec",
    "for_",
    "let_",
    "lambda",
    "as_",
    "alias",
    "import",
    "catch",
];

#[cfg(test)]
#[cfg(feature = "languages")]
mod tests {
    use super::*;
    use crate::language_of;
    use edt_types::RepoPath;

    #[test]
    fn uses_of_a_name_are_told_apart() {
        use Use::{Definition, Plain, Shorthand};
        let uses = |path: &str, text: &str, name: &str| {
            let path = RepoPath::parse(path.as_bytes()).unwrap();
            let language = language_of(&path, text.as_bytes()).unwrap();
            let all = uses_of(language, text.as_bytes(), name, &|| false).unwrap();
            all.into_iter().map(|one| one.how).collect::<Vec<_>>()
        };
        let member = |of: &str| Use::Member(of.to_owned());
        let python = "def f(f=1):\n    f = f(2)\n    x.f(f=f)\n    \"f\"  # f\n";
        assert_eq!(
            uses("a.py", python, "f"),
            [Definition, Definition, Definition, Plain, member("x"), member(""), Plain]
        );
        let rust = "fn f(f: F) { let f = f(x.f); f!(f); a::f(); S { f } }\n";
        assert_eq!(
            uses("a.rs", rust, "f"),
            [
                Definition,
                Definition,
                Definition,
                Plain,
                member("x"),
                Plain,
                Plain,
                member("a"),
                Shorthand
            ]
        );
        let script = "const f = 1; x.f = { f, f: f }; (f) => f; function g({ f }) {}\n";
        assert_eq!(
            uses("a.js", script, "f"),
            [Definition, member("x"), Shorthand, member(""), Plain, Definition, Plain, Shorthand]
        );
        let go = "package p\nfunc f(f int) { f := g.f(f); T{f: f} }\n";
        assert_eq!(
            uses("a.go", go, "f"),
            [Definition, Definition, Definition, member("g"), Plain, Shorthand, Plain]
        );
        let typed = "class F: pass\ndef g(F: int, *F, a: F = F): return F\n";
        assert_eq!(
            uses("a.py", typed, "F"),
            [Definition, Definition, Definition, Plain, Plain, Plain]
        );
        let embedded = "package p\ntype T struct { F; *F }\ntype U struct { a F }\n";
        assert_eq!(uses("a.go", embedded, "F"), [Shorthand, Shorthand, Plain]);
    }
}
