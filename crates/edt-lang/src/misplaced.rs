//! What a grammar allows anywhere and its language only in some places.

use tree_sitter::Node;

use super::parse::Parsed;

/// A node at a wrong place, and what is wrong, as a noun phrase.
type Misplaced<'t> = (Node<'t>, &'static str);

#[doc(hidden)]
impl Parsed<'_> {
    /// Every such node, in text order; those found so far when the time is over.
    pub(super) fn misplaced(&self, expired: &dyn Fn() -> bool) -> Vec<Misplaced<'_>> {
        match self.language().name {
            "go" => self.without_package().into_iter().collect(),
            "java" => self.late_imports(expired),
            "rust" => {
                let mut found = self.lone_doc_comments(expired);
                found.extend(self.late_inner_comments(expired));
                found
            }
            _ => Vec::new(),
        }
    }

    /// A name in small letters beside the string of C at `at`, and the end of the strings that follow
    /// each other there. A macro in capitals may stand for a string, other names may not. A word of
    /// the language that a string may follow is no name.
    #[must_use]
    pub fn name_beside_string(&self, at: usize) -> Option<(Option<&[u8]>, usize)> {
        const WORDS: [&[u8]; 5] = [b"extern", b"asm", b"return", b"case", b"throw"];
        let root = self.tree.root_node();
        let strings = root.descendant_for_byte_range(at, at + 1)?.parent()?.parent()?;
        let mut cursor = strings.walk();
        let names = strings.children(&mut cursor).filter(|node| node.kind() == "identifier");
        let mut names = names.map(|name| &self.text[name.byte_range()]);
        (strings.kind() == "concatenated_string").then_some(())?;
        let name = names.find(|name| name[0].is_ascii_lowercase() && !WORDS.contains(name));
        Some((name, strings.end_byte()))
    }

    /// What a Go file begins with in place of its package.
    fn without_package(&self) -> Option<Misplaced<'_>> {
        let root = self.tree.root_node();
        let comments = self.language().comments;
        let first =
            root.named_children(&mut root.walk()).find(|one| !comments.contains(&one.kind()));
        let is_wrong = |node: &Node<'_>| node.kind() != "package_clause" && !node.is_error();
        let found = first.map_or_else(|| root.named_child(0), |first| Some(first).filter(is_wrong));
        found.map(|node| (node, "a file without its package clause"))
    }

    /// The imports of Java in a body or behind a type.
    fn late_imports(&self, expired: &dyn Fn() -> bool) -> Vec<Misplaced<'_>> {
        const IMPORT: &str = "import_declaration";
        let root = self.tree.root_node();
        let mut found = Vec::new();
        for at in memchr::memmem::find_iter(self.text, b"import ") {
            let line = memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |end| end + 1);
            if expired() || !self.text[line..at].trim_ascii().is_empty() {
                continue;
            }
            let word = root.descendant_for_byte_range(at, at + 1);
            let import = word.and_then(|word| word.parent()).filter(|node| node.kind() == IMPORT);
            let Some(import) = import else { continue };
            let above = import.prev_named_sibling().map_or("", |node| node.kind());
            // An error above may have ended the type too early.
            let behind = above.ends_with("_declaration")
                && ![IMPORT, "package_declaration"].contains(&above);
            if import.parent().is_some_and(|node| !node.is_error() && node != root) || behind {
                found.push((import, "an import that is not above the types"));
            }
        }
        found
    }

    /// The last doc comments of Rust with nothing below them.
    fn lone_doc_comments(&self, expired: &dyn Fn() -> bool) -> Vec<Misplaced<'_>> {
        let root = self.tree.root_node();
        let mut found = Vec::new();
        for at in memchr::memmem::find_iter(self.text, b"///") {
            if expired() {
                break;
            }
            let line = memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |end| end + 1);
            let end =
                memchr::memchr(b'\n', &self.text[at..]).map_or(self.text.len(), |end| at + end);
            let below = self.text[end..].trim_ascii_start();
            if !self.text[line..at].trim_ascii().is_empty()
                || !(below.is_empty() || below[0] == b'}')
            {
                continue;
            }
            // `////` begins no doc comment.
            let mark = root.named_descendant_for_byte_range(at + 2, at + 3);
            let comment = mark.filter(|mark| mark.kind() == "outer_doc_comment_marker");
            let comment = comment.and_then(|mark| mark.parent());
            let holder = comment.and_then(|comment| comment.parent());
            // A macro may take it.
            if let Some(comment) = comment
                && holder
                    .is_some_and(|node| !node.is_error() && !node.kind().contains("token_tree"))
            {
                found.push((comment, "a doc comment with nothing below it"));
            }
        }
        found
    }

    /// The inner doc comments of Rust below code. Of equal lines in a row, the first.
    fn late_inner_comments(&self, expired: &dyn Fn() -> bool) -> Vec<Misplaced<'_>> {
        let root = self.tree.root_node();
        let is_inner = |line: &[u8]| line.trim_ascii_start().starts_with(b"//!");
        let mut found = Vec::new();
        let (mut start, mut above) = (0, false);
        for line in self.text.split_inclusive(|&byte| byte == b'\n') {
            let at = start + line.len() - line.trim_ascii_start().len();
            start += line.len();
            if !std::mem::replace(&mut above, is_inner(line)) && is_inner(line) {
                if expired() {
                    break;
                }
                let mark = root.named_descendant_for_byte_range(at + 2, at + 3);
                let mark = mark.filter(|mark| mark.kind() == "inner_doc_comment_marker");
                let Some(comment) = mark.and_then(|mark| mark.parent()) else { continue };
                let before = std::iter::successors(comment.prev_named_sibling(), |node| {
                    node.prev_named_sibling()
                });
                let is_plain = |node: &Node<'_>| node.kind().ends_with("_comment");
                let before = before.filter(|node| !is_plain(node) || documents_below(*node));
                let mut before = before.map(|node| node.kind());
                let holder = comment.parent();
                let read = holder.is_some_and(|node| !node.kind().contains("token_tree"));
                if read && before.any(|kind| kind != "inner_attribute_item" && kind != "shebang") {
                    found.push((comment, "an inner doc comment below code"));
                }
            }
        }
        found
    }
}

/// Whether a comment documents what is below it.
fn documents_below(comment: Node<'_>) -> bool {
    comment.named_child(0).is_some_and(|mark| mark.kind() == "outer_doc_comment_marker")
}
