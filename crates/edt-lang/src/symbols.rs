//! The definitions of a file that an edit can name: functions, types, methods, constants.

use std::ops::Range;

use tree_sitter::Node;

use super::parse::{Parsed, parse};
use super::table::Language;
use super::unparsed::Unparsed;
use super::visit::visit;

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The names of the definitions around it and its own, joined by dots: `Parser.parse`.
    pub name: String,
    /// What the language calls it: `function`, `class`.
    pub kind: &'static str,
    /// The comments and attributes directly above it, in order.
    pub above: Vec<Above>,
    /// Its bytes, without those and without white space around it.
    pub definition: Range<usize>,
    /// The bytes of its own name.
    pub own_name: Range<usize>,
    /// Whether it is a member of a type, not of a file, module or namespace.
    pub is_member: bool,
    /// Whether the parser found an error in it.
    pub is_broken: bool,
}

/// A comment or an attribute above a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// Its bytes, without white space around it.
    pub at: Range<usize>,
    /// Whether it is a comment.
    pub is_comment: bool,
}

impl Symbol {
    /// Where it starts, with the comments and attributes above it.
    #[must_use]
    pub fn start(&self) -> usize {
        self.above.first().map_or(self.definition.start, |above| above.at.start)
    }

    /// The name without those of the definitions around it.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Whether `name` is its name, or the end of it after a dot. `A::b` and `A#b` mean `A.b`.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let name = name.replace("::", ".").replace(['#', '/'], ".");
        let rest = self.name.strip_suffix(name.as_str());
        !name.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

/// The definitions of `text` in order.
///
/// # Errors
/// Why the text is not parsed.
pub fn symbols(
    language: &'static Language,
    text: &[u8],
    expired: &dyn Fn() -> bool,
) -> Result<Vec<Symbol>, Unparsed> {
    let parsed = parse(language, text, expired)?;
    let all = parsed.symbols(text);
    let broken = |all: &[Symbol]| all.iter().filter(|one| one.is_broken).count();
    if !parsed.has_error() {
        return Ok(all);
    }
    let Some(rewritten) = language.without_idioms(text, expired)? else { return Ok(all) };
    let again = parse(language, &rewritten, expired)?;
    let other = again.symbols(text);
    Ok(if !again.has_error() || broken(&other) < broken(&all) { other } else { all })
}

/// The nodes that contain definitions and have no name: a branch of `if`, `extern "C"`.
fn is_transparent(kind: &str) -> bool {
    kind.ends_with("_statement") || kind.ends_with("_clause") || kind.ends_with("_specification")
}

#[doc(hidden)]
impl Parsed<'_> {
    /// The symbols in order. `text` is the file's own, of the same length as the parsed one.
    fn symbols(&self, text: &[u8]) -> Vec<Symbol> {
        let language = self.language;
        let mut all = Vec::new();
        let mut around: Vec<(usize, String, bool)> = Vec::new();
        visit(&mut self.tree.walk(), |node, parent| {
            around.retain(|(end, ..)| *end > node.start_byte());
            let Some(parent) = parent else { return true };
            let kind = node.kind();
            let Some((_, what)) = language.symbols.iter().find(|(symbol, _)| *symbol == kind)
            else {
                return language.containers.contains(&kind)
                    || language.wrappers.contains(&kind)
                    || is_transparent(kind);
            };
            // A class in an expression, or a type that is only mentioned, is no definition.
            let is_mention = kind.ends_with("_specifier") && field(node, "body").is_none();
            // `var a, b` is one statement.
            let is_one_of_several = kind == "variable_declarator"
                && [node.prev_named_sibling(), node.next_named_sibling()]
                    .iter()
                    .flatten()
                    .any(|beside| beside.kind() == kind);
            let is_part = is_mention || is_one_of_several;
            let Some(name) = named(node).filter(|_| !is_part) else {
                return field(node, "body").is_some() && !is_code(node);
            };
            let mut names: Vec<String> = around.iter().map(|(_, name, _)| name.clone()).collect();
            let outside = names.len();
            names.extend(qualifiers(node).map(|node| plain(text, node)));
            let is_member =
                names.len() > outside || around.last().is_some_and(|(.., is_type)| *is_type);
            names.push(plain(text, name));
            let names = names.join(".").replace("::", ".");
            if !what.is_empty() {
                let symbol = self.symbol(text, names, what, (node, parent), name);
                all.push(Symbol { is_member, ..symbol });
            }
            let goes_on =
                field(node, "body").is_some_and(|body| body.start_byte() > name.start_byte());
            if goes_on && !is_code(node) {
                let is_type = !["module", "namespace"].contains(what);
                around.push((node.end_byte(), plain(text, name), is_type));
            }
            goes_on && !is_code(node)
        });
        all
    }

    fn symbol(
        &self,
        text: &[u8],
        name: String,
        kind: &'static str,
        (node, parent): (Node<'_>, Node<'_>),
        own_name: Node<'_>,
    ) -> Symbol {
        let language = self.language;
        let is_symbol =
            |node: &Node<'_>| language.symbols.iter().any(|(kind, _)| *kind == node.kind());
        let (mut outer, mut above) = (node, Some(parent));
        while let Some(wrapper) = above.filter(|one| language.wrappers.contains(&one.kind())) {
            let mut cursor = wrapper.walk();
            if wrapper.named_children(&mut cursor).filter(is_symbol).count() > 1 {
                break;
            }
            (outer, above) = (wrapper, wrapper.parent());
        }
        let mut all: Vec<Above> = self.directly_above(text, outer);
        let mut inside = Vec::new();
        let start = self.after_attributes(outer, &mut inside).unwrap_or(outer.start_byte());
        all.extend(inside.into_iter().filter(|above| above.at.end <= start));
        let mut end = outer.end_byte();
        if let Some(next) = outer.next_sibling()
            && next.kind() == ";"
            && text[end..next.start_byte()].trim_ascii().is_empty()
        {
            end = next.end_byte();
        }
        Symbol {
            name,
            kind,
            above: all,
            definition: start..trimmed_end(text, start, end),
            own_name: own_name.byte_range(),
            is_member: false,
            is_broken: outer.has_error(),
        }
    }

    /// The comments and attributes that end in the line above `node`, or in that above one of them.
    fn directly_above(&self, text: &[u8], node: Node<'_>) -> Vec<Above> {
        let (mut all, mut below) = (Vec::new(), node);
        // Each step takes as long as there are nodes before it.
        while all.len() < MAX_ABOVE
            && let Some(one) = below.prev_sibling()
        {
            let is_comment = self.language.comments.contains(&one.kind());
            if !is_comment && !self.language.attributes.contains(&one.kind()) {
                break;
            }
            let at = one.start_byte()..trimmed_end(text, one.start_byte(), one.end_byte());
            let between = &text[at.end..below.start_byte().max(at.end)];
            let line = memchr::memrchr(b'\n', &text[..at.start]).map_or(0, |newline| newline + 1);
            let begins_line = text[line..at.start].trim_ascii().is_empty();
            let is_inner =
                [&b"//!"[..], b"/*!", b"#!"].iter().any(|mark| text[at.clone()].starts_with(mark));
            let is_apart = memchr::memchr_iter(b'\n', between).count() > 1;
            if is_apart || is_comment && (is_inner || !begins_line) {
                break;
            }
            all.push(Above { at, is_comment });
            below = one;
        }
        all.reverse();
        all
    }

    /// Where the definition starts after the attributes in it, which are added to `attributes`.
    fn after_attributes(&self, node: Node<'_>, attributes: &mut Vec<Above>) -> Option<usize> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let is_comment = self.language.comments.contains(&child.kind());
            if is_comment || self.language.attributes.contains(&child.kind()) {
                // A comment behind an attribute belongs to it.
                let is_behind = |last: &&mut Above| {
                    !last.is_comment && !self.text[last.at.end..child.start_byte()].contains(&b'\n')
                };
                if is_comment && let Some(last) = attributes.last_mut().filter(is_behind) {
                    last.at.end = child.end_byte();
                } else {
                    attributes.push(Above { at: child.byte_range(), is_comment });
                }
            } else if child.kind() == "modifiers" {
                if let Some(start) = self.after_attributes(child, attributes) {
                    return Some(start);
                }
            } else {
                // A decorated class may be exported.
                let is_inside = attributes.is_empty() && child.child_count() > 0;
                let inner = is_inside.then(|| self.after_attributes(child, attributes)).flatten();
                return inner.filter(|_| !attributes.is_empty()).or(Some(child.start_byte()));
            }
        }
        None
    }

    /// Whether a line that starts at `at` must keep its indentation: it is inside a string that is
    /// a value.
    #[must_use]
    pub fn keeps_indentation(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        let mut above = cursor.node();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() >= at {
                return false;
            }
            if self.language.strings.contains(&node.kind()) {
                return above.kind() != "expression_statement";
            }
            above = node;
        }
        false
    }

    /// Whether the last line has a comment behind code.
    #[must_use]
    pub fn ends_in_comment(&self) -> bool {
        let mut cursor = self.tree.walk();
        while cursor.goto_last_child() {}
        let node = cursor.node();
        let line = memchr::memrchr(b'\n', &self.text[..node.start_byte()]).map_or(0, |at| at + 1);
        let is_behind = !self.text[line..node.start_byte()].trim_ascii().is_empty();
        let mut at = Some(node);
        while let Some(one) = at {
            if self.language.comments.contains(&one.kind()) {
                return is_behind;
            }
            at = one.parent();
        }
        false
    }
}

/// How many comments and attributes above a definition are read.
const MAX_ABOVE: usize = 300;

/// The node that names a definition.
fn named(definition: Node<'_>) -> Option<Node<'_>> {
    let is_value = matches!(definition.kind(), "declaration" | "field_declaration");
    let mut cursor = definition.walk();
    let mut count = |name| definition.children_by_field_name(name, &mut cursor).count();
    // `a, b = 1, 2` and `a = b = 1` are one statement.
    let chained = [definition.parent(), field(definition, "right")];
    let is_chained = definition.kind() == "assignment"
        && chained.iter().flatten().any(|one| one.kind() == "assignment");
    if count("declarator") > 1 || count("name") > 1 || is_chained {
        return None;
    }
    let mut node = definition;
    loop {
        let next = field(node, "name").or_else(|| field(node, "declarator")).or_else(|| match node
            .kind()
        {
            "assignment" => field(node, "left"),
            "impl_item" | "generic_type" => field(node, "type"),
            "parenthesized_declarator" | "reference_declarator" => node.named_child(0),
            _ => None,
        });
        let Some(next) = next else { break };
        // A prototype may repeat a definition.
        if is_value
            && node.kind() == "function_declarator"
            && next.kind() != "parenthesized_declarator"
        {
            return None;
        }
        node = next;
    }
    let is_kind = |kind: &str| kind.contains("identifier") || kind.ends_with("_name");
    let is_name = is_kind(node.kind()) || node.kind() == "nested_namespace_specifier";
    (is_name && node.id() != definition.id()).then_some(node)
}

pub(super) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// What a definition outside of its type belongs to: the type of `T::f` or of Go's receiver.
fn qualifiers(definition: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut all = Vec::new();
    if let Some(receiver) = definition.child_by_field_name("receiver") {
        visit(&mut receiver.walk(), |node, _| {
            if all.is_empty() && node.kind() == "type_identifier" {
                all.push(node);
            }
            all.is_empty()
        });
    }
    let mut at = Some(definition);
    while let Some(node) = at {
        if node.kind() == "qualified_identifier" {
            all.extend(node.child_by_field_name("scope"));
        }
        at = node
            .child_by_field_name("declarator")
            .or_else(|| {
                (node.kind() == "qualified_identifier")
                    .then(|| node.child_by_field_name("name"))
                    .flatten()
            })
            .or_else(|| {
                (node.kind() == "reference_declarator").then(|| node.named_child(0)).flatten()
            });
    }
    all.into_iter()
}

/// The text of a name without type arguments.
pub(super) fn plain(text: &[u8], name: Node<'_>) -> String {
    let text = String::from_utf8_lossy(&text[name.byte_range()]).into_owned();
    text.split('<').next().unwrap_or_default().trim().to_owned()
}

/// Whether the body of the definition is code, in which no symbols are looked for.
fn is_code(definition: Node<'_>) -> bool {
    let kind = definition.kind();
    ["function", "method", "constructor", "macro", "assignment", "declarator", "preproc"]
        .iter()
        .any(|word| kind.contains(word))
}

fn trimmed_end(text: &[u8], start: usize, end: usize) -> usize {
    start + text[start..end].trim_ascii_end().len()
}

#[cfg(test)]
#[cfg(feature = "languages")]
mod tests {
    use super::*;
    use crate::language_of;
    use edt_types::RepoPath;

    fn all(path: &str, text: &str) -> Vec<Symbol> {
        let path = RepoPath::parse(path.as_bytes()).unwrap();
        let language = language_of(&path, text.as_bytes()).unwrap();
        symbols(language, text.as_bytes(), &|| false).unwrap()
    }

    /// Each symbol: its kind, its name, what is above it, and its first and last word.
    fn listed(path: &str, text: &str) -> Vec<String> {
        let show = |symbol: Symbol| {
            let above: Vec<&str> =
                symbol.above.iter().map(|above| &text[above.at.clone()]).collect();
            let own = &text[symbol.definition.clone()];
            let first = own.split_whitespace().next().unwrap();
            let last = own.split_whitespace().last().unwrap();
            let above = if above.is_empty() { String::new() } else { format!(" {above:?}") };
            format!("{} {}{above} {first}..{last}", symbol.kind, symbol.name)
        };
        all(path, text).into_iter().map(show).collect()
    }

    #[test]
    fn python() {
        let text = "# License\n\nLIMIT = 3\n# Says it.\n@cached\n@other(1)\ndef f(a):\n    def \
                    inner():\n        pass\n    return a\n\n\nclass A(B):\n    x = 1\n\n    # One.\n\
                    \x20   async def m(self):\n        pass\n\nif True:\n    def g(): pass\n";
        assert_eq!(
            listed("a.py", text),
            [
                "variable LIMIT LIMIT..3",
                "function f [\"# Says it.\", \"@cached\", \"@other(1)\"] def..a",
                "class A class..pass",
                "variable A.x x..1",
                "function A.m [\"# One.\"] async..pass",
                "function g def..pass",
            ]
        );
    }

    #[test]
    fn rust() {
        let text = "//! Module.\n/// A.\n#[derive(Debug)]\npub struct A<T> {\n    x: T,\n}\n\n\
                    impl<T> Show for A<T> {\n    /// Shows.\n    fn show(&self) {}\n}\n\nmod m \
                    {\n    pub(crate) const N: u8 = 1; // one\n}\n\n#[test]\nfn works() {\n    \
                    fn no() {}\n}\nmacro_rules! mac { () => {} }\n";
        assert_eq!(
            listed("a.rs", text),
            [
                "struct A [\"/// A.\", \"#[derive(Debug)]\"] pub..}",
                "function A.show [\"/// Shows.\"] fn..{}",
                "module m mod..}",
                "constant m.N pub(crate)..1;",
                "function works [\"#[test]\"] fn..}",
                "macro mac macro_rules!..}",
            ]
        );
    }

    #[test]
    fn go() {
        let text = "package p\n\n// F is.\nfunc F() {}\n\nfunc (t *T[K]) M() {}\n\ntype T[K any] \
                    struct {\n\tX int\n}\n\nconst (\n\t// One.\n\tOne = 1\n\tTwo = 2\n)\n\nvar V = 3\n";
        assert_eq!(
            listed("a.go", text),
            [
                "function F [\"// F is.\"] func..{}",
                "method T.M func..{}",
                "type T type..}",
                "constant One [\"// One.\"] One..1",
                "constant Two Two..2",
                "variable V var..3",
            ]
        );
    }

    #[test]
    fn typescript() {
        let text = "/** Doc. */\n@Injectable()\nexport class A {\n  private x = 1;\n  @Get()\n  m(): \
                    void {}\n}\nexport const f = (a: number) => a;\nexport interface I {\n  k: \
                    string;\n}\ndescribe('x', () => {\n  const inner = 1;\n});\nenum E { A }\ntype \
                    T = string;\nconst { p, q } = f;\nlet u = 1, v = 2;\n";
        assert_eq!(
            listed("a.ts", text),
            [
                "class A [\"/** Doc. */\", \"@Injectable()\"] export..}",
                "field A.x private..1;",
                "method A.m [\"@Get()\"] m():..{}",
                "variable f export..a;",
                "interface I export..}",
                "field I.k k:..string;",
                "enum E enum..}",
                "type T type..string;",
            ]
        );
    }

    #[test]
    fn java() {
        let text = "package p;\n\n/** Doc. */\n@A(1)\npublic class C {\n    @Inject private int x = \
                    1;\n\n    @Override\n    public int f() { return x; }\n\n    C() {}\n}\n";
        assert_eq!(
            listed("C.java", text),
            [
                "class C [\"/** Doc. */\", \"@A(1)\"] public..}",
                "field C.x [\"@Inject\"] private..1;",
                "method C.f [\"@Override\"] public..}",
                "constructor C.C C()..{}",
            ]
        );
    }

    #[test]
    fn c_and_cpp() {
        let text = "#define N 3\nint f(int a);\n/* Doc. */\nstatic char *f(int a)\n{\n\treturn \
                    0;\n}\nstruct s {\n\tint x;\n};\nstruct s one(struct s *p) { return *p; }\n\
                    static int g = 1;\ntypedef struct { int y; } t;\nenum e { A };\n";
        assert_eq!(
            listed("a.c", text),
            [
                "macro N #define..3",
                "function f [\"/* Doc. */\"] static..}",
                "struct s struct..};",
                "function one struct..}",
                "variable g static..1;",
                "type t typedef..t;",
                "enum e enum..};",
            ]
        );
        let text = "namespace a::b {\n// Doc.\ntemplate <typename T>\nclass C {\n public:\n  C();\n  \
                    ~C() {}\n  int x_;\n  bool operator==(const C& o) const { return true; }\n};\n\
                    namespace {\nvoid hidden() {}\n}\n}  // namespace\nint& C::get() { return x_; \
                    }\nextern \"C\" {\nvoid plain() {}\n}\n";
        assert_eq!(
            listed("a.cc", text),
            [
                "namespace a.b namespace..}",
                "class a.b.C [\"// Doc.\"] template..};",
                "function a.b.C.~C ~C()..{}",
                "field a.b.C.x_ int..x_;",
                "function a.b.C.operator== bool..}",
                "function a.b.hidden void..{}",
                "function C.get int&..}",
                "function plain void..{}",
            ]
        );
    }

    #[test]
    fn a_symbol_is_found_by_the_end_of_its_name() {
        let method = &all("a.py", "class A:\n    def f(self): pass\n")[1];
        for name in ["A.f", "f", "A::f", "A#f"] {
            assert!(method.is_named(name), "{name}");
        }
        for name in ["", "A", ".f", "B.f", "ff"] {
            assert!(!method.is_named(name), "{name}");
        }
    }
}
