//! What a parser could not make sense of.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use tree_sitter::{Node, TreeCursor};

use super::parse::{Parsed, rows};

/// One ERROR or MISSING node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which of the two.
    pub kind: FaultKind,
    /// Its bytes; empty for what is missing.
    pub bytes: Range<usize>,
    /// Its rows, 0-based, end excluded.
    pub rows: Range<usize>,
    /// What it looks like, wherever it stands: its kind, its parent's, the kinds of its first leaves. Faults that a grammar makes of
    /// one idiom have one shape.
    pub shape: u64,
    /// The kind of the node it stands in.
    pub parent: String,
    /// The kind of its first leaf.
    pub first: String,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Text that fits nowhere.
    Unexpected,
    /// A token of this kind that should stand here.
    Missing(String),
}

impl Parsed<'_> {
    /// Every fault, in the order of the text. Only branches that hold one are visited.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut cursor = self.tree.walk();
        visit(&mut cursor, |node, parent| {
            if node.is_error() || node.is_missing() {
                faults.push(fault(node, parent));
            }
            node.has_error()
        });
        faults
    }
}

fn fault(node: Node<'_>, parent: Option<Node<'_>>) -> Fault {
    let parent = parent.map_or_else(String::new, |parent| parent.kind().to_owned());
    let kind = if node.is_missing() { FaultKind::Missing(node.kind().to_owned()) } else { FaultKind::Unexpected };
    let leaves = first_leaves(node, 6);
    let mut hasher = DefaultHasher::new();
    (&kind, &parent, &leaves).hash(&mut hasher);
    Fault {
        kind,
        bytes: node.byte_range(),
        rows: rows(node),
        shape: hasher.finish(),
        parent,
        first: leaves.first().map_or_else(String::new, |kind| (*kind).to_owned()),
    }
}

fn first_leaves(node: Node<'_>, most: usize) -> Vec<&str> {
    let mut leaves = Vec::new();
    visit(&mut node.walk(), |node, _| {
        if node.child_count() == 0 && leaves.len() < most {
            leaves.push(node.kind());
        }
        leaves.len() < most
    });
    leaves
}

/// Visits nodes in the order of the text, each with its parent; `enter` says whether to visit a node's children. Iterative: a tree may be
/// as deep as its text is long.
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
