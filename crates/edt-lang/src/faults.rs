//! The parts of a text that a parser could not understand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tree_sitter::Node;

use super::fault::{SyntaxFault, SyntaxFaultKind};
use super::parse::{Parsed, rows};
use super::unparsed::Unparsed;
use super::visit::visit;

const RESERVED: SyntaxFaultKind =
    SyntaxFaultKind::Rule("a reserved word where a command should be");

#[doc(hidden)]
impl Parsed<'_> {
    /// Every fault, in text order. Only branches with an error are visited, unless the language
    /// defines faults that its grammar does not report. A language with a checker has the faults
    /// that it finds, whatever the tree is.
    ///
    /// # Errors
    /// The time limit is over.
    pub fn faults(&self, expired: &dyn Fn() -> bool) -> Result<Vec<SyntaxFault>, Unparsed> {
        let language = self.language();
        if let Some(checker) = language.checker {
            return checker(self.text, expired).ok_or(Unparsed::OutOfTime);
        }
        let all = !(language.aligned.is_empty()
            && language.never_empty.is_empty()
            && language.reserved.is_empty()
            && language.errors.is_empty());
        let mut faults = Vec::new();
        let mut columns: HashMap<usize, usize> = HashMap::new();
        visit(&mut self.tree.walk(), |node, parent| {
            if node.is_error() || node.is_missing() {
                faults.push(fault(node, parent, None));
            } else if node.child_count() == 0 && node.has_error() {
                // The missing token is hidden in the grammar.
                let kind = SyntaxFaultKind::Missing(node.kind().to_owned());
                faults.push(fault(node, parent, Some(kind)));
            } else if all {
                let kind = node.kind();
                if language.reserved_in.contains(&kind) && self.is_reserved(node) {
                    faults.push(fault(node, parent, Some(RESERVED)));
                } else if language.errors.contains(&kind) {
                    faults.push(fault(node, parent, Some(SyntaxFaultKind::Unexpected)));
                } else if node.byte_range().is_empty() && language.never_empty.contains(&kind) {
                    faults.push(fault(
                        node,
                        parent,
                        Some(SyntaxFaultKind::Missing(kind.to_owned())),
                    ));
                } else if parent
                    .is_some_and(|parent| self.is_misaligned(node, parent, &mut columns))
                {
                    faults.push(fault(node, parent, Some(SyntaxFaultKind::Misaligned)));
                }
            }
            all || node.has_error()
        });
        let misplaced = self.misplaced(expired).into_iter();
        faults.extend(misplaced.map(|(node, problem)| {
            fault(node, node.parent(), Some(SyntaxFaultKind::Rule(problem)))
        }));
        Ok(faults)
    }

    fn is_reserved(&self, node: Node<'_>) -> bool {
        let text = self.text_of(node);
        self.language().reserved.iter().any(|word| word.as_bytes() == text)
    }

    /// Whether `node` begins a line at another column than its earlier siblings, or, for a clause,
    /// than its statement.
    fn is_misaligned(
        &self,
        node: Node<'_>,
        parent: Node<'_>,
        columns: &mut HashMap<usize, usize>,
    ) -> bool {
        let aligned = self.language().aligned;
        let Some(column) = self.indent(node) else { return false };
        if !node.is_named() || self.language().comments.contains(&node.kind()) {
            return false;
        }
        if aligned.contains(&parent.kind()) {
            return *columns.entry(parent.id()).or_insert(column) != column;
        }
        // Clauses of a comprehension may begin anywhere.
        let clause = !aligned.is_empty()
            && node.kind().ends_with("_clause")
            && parent.kind().ends_with("_statement");
        clause && self.indent(parent).is_some_and(|statement| statement != column)
    }

    /// The column of a node that begins its line, with tabs every eight columns; `None` if other
    /// text precedes the node.
    fn indent(&self, node: Node<'_>) -> Option<usize> {
        let at = node.start_byte();
        let line = &self.text[at - node.start_position().column..at];
        line.iter().try_fold(0, |column, byte| match byte {
            b' ' => Some(column + 1),
            b'\t' => Some(column / 8 * 8 + 8),
            b'\x0c' => Some(0),
            // A byte-order mark.
            0xef | 0xbb | 0xbf if at < 4 => Some(column),
            _ => None,
        })
    }
}

fn fault(node: Node<'_>, parent: Option<Node<'_>>, kind: Option<SyntaxFaultKind>) -> SyntaxFault {
    let parent = parent.map_or_else(String::new, |parent| parent.kind().to_owned());
    let missing = node.is_missing().then(|| SyntaxFaultKind::Missing(node.kind().to_owned()));
    let kind = kind.or(missing).unwrap_or(SyntaxFaultKind::Unexpected);
    let leaves = first_leaves(node, 6);
    let mut hasher = DefaultHasher::new();
    (&kind, &parent, &leaves).hash(&mut hasher);
    SyntaxFault {
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
