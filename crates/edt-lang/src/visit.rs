//! Visits the nodes of a tree: all of them, or those near changed rows.

use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::parse::{Parsed, rows};

/// Visits nodes in text order, each with its parent. `enter` returns whether to visit the node's
/// children. Iterative, because a tree may be as deep as its text is long.
pub(super) fn visit<'tree>(
    cursor: &mut TreeCursor<'tree>,
    mut enter: impl FnMut(Node<'tree>, Option<Node<'tree>>) -> bool,
) {
    let mut parents: Vec<Node<'tree>> = Vec::new();
    loop {
        let node = cursor.node();
        if enter(node, parents.last().copied()) && cursor.goto_first_child() {
            parents.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if parents.pop().is_none() || !cursor.goto_parent() {
                return;
            }
        }
        if parents.is_empty() {
            return;
        }
    }
}

#[doc(hidden)]
impl Parsed<'_> {
    /// Whether the text has a statement of an older dialect of its language.
    #[must_use]
    pub fn is_older(&self) -> bool {
        let older = self.language().older;
        let mut found = false;
        visit(&mut self.tree.walk(), |node, _| {
            found |= older.contains(&node.kind());
            !found && !older.is_empty()
        });
        found
    }

    /// As [`visit`], without most nodes that are in none of the rows `changed`: of the children of a
    /// node, it visits those in these rows or between them, and one named node before and after.
    pub(super) fn visit_near<'s>(
        &'s self,
        changed: &[Range<usize>],
        mut enter: impl FnMut(Node<'s>, Option<Node<'s>>) -> bool,
    ) {
        let (Some(first), Some(last)) = (changed.first(), changed.last()) else { return };
        let lines = memchr::memchr_iter(b'\n', self.text);
        let start = first.start.checked_sub(1).and_then(|row| lines.clone().nth(row));
        let start = start.map_or(0, |newline| newline + 1);
        let comments = self.kinds(self.language.comments);
        let counts = |node: Node<'_>| node.is_named() && !comments.has(node);
        let mut cursor = self.tree.walk();
        let mut parents: Vec<Node<'s>> = Vec::new();
        loop {
            let node = cursor.node();
            if enter(node, parents.last().copied()) {
                // A node may end where the changed rows begin and still count as in them.
                if goto_child_at(&mut cursor, start.saturating_sub(1)) {
                    self.step_back(&mut cursor, node, &counts);
                    parents.push(node);
                    continue;
                }
            }
            let is_behind = |node: Node<'_>| rows(node).start > last.end && counts(node);
            while is_behind(cursor.node()) || !cursor.goto_next_sibling() {
                if parents.pop().is_none() || !cursor.goto_parent() {
                    return;
                }
            }
            if parents.is_empty() {
                return;
            }
        }
    }

    /// Moves from a child of `parent` to the nearest sibling before it that `counts`, or to the first
    /// one. (`goto_previous_sibling` looks at every sibling before.)
    fn step_back<'s>(
        &self,
        cursor: &mut TreeCursor<'s>,
        parent: Node<'s>,
        counts: &impl Fn(Node<'s>) -> bool,
    ) {
        let mut at = cursor.node().start_byte();
        while at > parent.start_byte() {
            // The last byte of the sibling before.
            let between = &self.text[parent.start_byte()..at];
            at = parent.start_byte() + between.trim_ascii_end().len().saturating_sub(1);
            cursor.goto_parent();
            goto_child_at(cursor, at);
            if counts(cursor.node()) {
                return;
            }
            at = at.min(cursor.node().start_byte());
        }
    }
}

/// Moves to the first child that ends behind `byte`, or to the first child: tree-sitter may find none
/// although there is one. Returns whether there are children.
fn goto_child_at(cursor: &mut TreeCursor<'_>, byte: usize) -> bool {
    cursor.goto_first_child_for_byte(byte).is_some() || cursor.goto_first_child()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::outline::touches;
    use super::super::table::LANGUAGES;
    use super::*;

    /// The nodes that `visit_near` must visit: those in the changed rows, and the named nodes beside
    /// them.
    fn expected(parsed: &Parsed<'_>, changed: &[Range<usize>]) -> Vec<usize> {
        let comments = parsed.kinds(parsed.language.comments);
        let mut expected = Vec::new();
        let mut todo = vec![parsed.tree.root_node()];
        while let Some(node) = todo.pop() {
            let all: Vec<Node<'_>> = node.children(&mut node.walk()).collect();
            let near = |node: &Node<'_>| touches(changed, &rows(*node));
            let named: Vec<&Node<'_>> =
                all.iter().filter(|node| node.is_named() && !comments.has(**node)).collect();
            for pair in named.windows(2).filter(|pair| near(pair[0]) || near(pair[1])) {
                expected.extend(pair.iter().map(|node| node.id()));
            }
            expected.extend(all.iter().filter(|node| near(node)).map(Node::id));
            todo.extend(all.into_iter().filter(near));
        }
        expected
    }

    #[test]
    fn every_node_in_changed_rows_is_visited_with_its_neighbours() {
        let mut compared = 0;
        for language in LANGUAGES {
            let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("grammars")
                .join(language.name)
                .join("samples/valid");
            for sample in std::fs::read_dir(directory).into_iter().flatten() {
                let text = std::fs::read(sample.unwrap().path()).unwrap();
                let parsed = crate::parse(language, &text, &|| false).unwrap();
                // Nodes of an error may overlap.
                if parsed.has_error() {
                    continue;
                }
                for row in 0..=memchr::memchr_iter(b'\n', &text).count() {
                    for rows_changed in [vec![row..row + 1], vec![row..row + 1, row + 5..row + 7]] {
                        let mut visited = HashSet::new();
                        parsed.visit_near(&rows_changed, |node, _| {
                            visited.insert(node.id());
                            touches(&rows_changed, &rows(node))
                        });
                        let missing: Vec<usize> = expected(&parsed, &rows_changed)
                            .into_iter()
                            .filter(|id| !visited.contains(id))
                            .collect();
                        assert!(missing.is_empty(), "{} {rows_changed:?}", language.name);
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
