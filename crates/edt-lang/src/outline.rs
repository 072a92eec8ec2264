//! Statements, members and definitions of a tree that occur twice.
//!
//! Candidates need only kinds and tokens, which is fast. The language's queries (`blocks.scm`,
//! `definitions.scm`) are compiled only to confirm a candidate, because compiling one takes as long
//! as parsing a thousand lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;

use tree_sitter::{Node, QueryCursor, StreamingIterator as _};

use super::parse::{Parsed, Stop, rows};
use super::visit::visit;
use edt_types::text;

/// Two equal neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedBlock {
    pub what: BlockKind,
    /// The rows of the first, 0-based, end excluded.
    pub first: Range<usize>,
    /// The rows of the second.
    pub second: Range<usize>,
    /// How many tokens each has, without comments.
    pub tokens: usize,
}

/// What occurs twice in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A compound statement or a definition (`@compound`).
    Compound,
    /// A statement or member whose immediate repetition has no effect (`@simple`).
    Simple,
}

/// Two definitions of one name in one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redefinition {
    pub name: String,
    /// The rows of the first, 0-based, end excluded.
    pub first: Range<usize>,
    /// The rows of the second.
    pub second: Range<usize>,
    /// How many definitions of the name the scope has.
    pub count: usize,
}

/// The names that occur once in a text: they cannot be defined twice. Scanning the text for a name
/// takes a thousandth of the time of visiting its tree.
struct UniqueNames<'t> {
    text: &'t [u8],
    known: HashMap<&'t [u8], bool>,
}

impl<'t> UniqueNames<'t> {
    fn is_unique(&mut self, name: &'t [u8]) -> bool {
        // For many names a visit is faster.
        if self.known.len() >= MAX_NAMES {
            return false;
        }
        *self.known.entry(name).or_insert_with(|| words(self.text, name).nth(1).is_none())
    }
}

/// How many names are searched for in a text.
const MAX_NAMES: usize = 32;

/// Where `name` occurs in `text` and is not a part of a longer word.
pub(super) fn words<'t>(text: &'t [u8], name: &'t [u8]) -> impl Iterator<Item = usize> + 't {
    let is_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memchr::memmem::find_iter(text, name).filter(move |&at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let goes_on = |edge, beside| is_word(edge) && is_word(beside);
        !goes_on(name.first(), before) && !goes_on(name.last(), text.get(at + name.len()))
    })
}

#[derive(Debug, Clone, Copy)]
struct Definition<'tree> {
    node: Node<'tree>,
    name: Node<'tree>,
}

#[doc(hidden)]
impl Parsed<'_> {
    /// Equal neighbours by the language's queries, at least one of them in the rows `changed`.
    #[must_use]
    pub fn repeated_blocks(&self, changed: &[Range<usize>], stop: &Stop<'_>) -> Vec<RepeatedBlock> {
        let mut pairs: Vec<(Node<'_>, Node<'_>, usize)> = Vec::new();
        let mut last: HashMap<usize, Node<'_>> = HashMap::new();
        let comments = self.kinds(self.language.comments);
        self.visit_near(changed, |node, parent| {
            if stop.is_over() {
                return false;
            }
            let near = touches(changed, &rows(node));
            let Some(parent) = parent else { return near };
            if !node.is_named() || comments.has(node) {
                return false;
            }
            let before = last.insert(parent.id(), node);
            if let Some(before) = before.filter(|before| same_shape(*before, node))
                && !stop.is_over_now()
                && (near || touches(changed, &rows(before)))
                && let Some(tokens) = self.same_tokens(before, node)
            {
                pairs.push((before, node, tokens));
            }
            near && node.child_count() > 0
        });
        self.confirmed(&pairs, stop)
    }

    /// The second ones of the `pairs` that are compound statements.
    pub(super) fn compound(
        &self,
        pairs: &[(Node<'_>, Node<'_>, usize)],
        stop: &Stop<'_>,
    ) -> Vec<Range<usize>> {
        let blocks = self.confirmed(pairs, stop).into_iter();
        { blocks }
            .filter(|block| block.what == BlockKind::Compound)
            .map(|block| block.second)
            .collect()
    }

    /// The `pairs` that the language's `blocks.scm` matches.
    fn confirmed(
        &self,
        pairs: &[(Node<'_>, Node<'_>, usize)],
        stop: &Stop<'_>,
    ) -> Vec<RepeatedBlock> {
        let starts = pairs.iter().map(|(first, ..)| first.start_byte()).min();
        let ends = pairs.iter().map(|(_, second, _)| second.end_byte()).max();
        let (Some(start), Some(end)) = (starts, ends) else { return Vec::new() };
        let Some(query) = self.language.blocks() else { return Vec::new() };
        let mut known: HashMap<usize, BlockKind> = HashMap::new();
        let mut cursor = QueryCursor::new();
        cursor.set_byte_range(start..end);
        let mut matches = cursor.matches(query, self.tree.root_node(), self.text);
        while let Some(found) = matches.next() {
            if stop.is_over() {
                break;
            }
            for capture in found.captures() {
                match query.capture_names()[capture.index as usize] {
                    "compound" => {
                        known.insert(capture.node.id(), BlockKind::Compound);
                    }
                    "simple" => {
                        known.entry(capture.node.id()).or_insert(BlockKind::Simple);
                    }
                    _ => {}
                }
            }
        }
        let block = |(first, second, tokens): &(Node<'_>, Node<'_>, usize)| {
            let what = *known.get(&second.id())?;
            Some(RepeatedBlock {
                what,
                first: rows(*first),
                second: rows(*second),
                tokens: *tokens,
            })
        };
        pairs.iter().filter_map(block).collect()
    }

    /// The number of tokens if both nodes have the same tokens.
    fn same_tokens(&self, a: Node<'_>, b: Node<'_>) -> Option<usize> {
        let (a, b) = (self.tokens(a), self.tokens(b));
        (a == b).then_some(a.len())
    }

    /// The tokens below `node`, without comments: the text of each leaf, and text without a node of
    /// its own (a string between its escapes, the number of `10px`).
    pub(super) fn tokens(&self, node: Node<'_>) -> Vec<&[u8]> {
        let mut tokens = Vec::new();
        let mut at = node.start_byte();
        let mut push = |from: usize, to: usize| {
            let token = self.text[from.min(to)..to].trim_ascii();
            if !token.is_empty() {
                tokens.push(token);
            }
        };
        visit(&mut node.walk(), |inner, _| {
            let comment = self.language.comments.contains(&inner.kind());
            if comment || inner.child_count() == 0 {
                push(at, inner.start_byte());
                if !comment {
                    push(inner.start_byte(), inner.end_byte());
                }
                at = inner.end_byte();
            }
            !comment
        });
        push(at, node.end_byte());
        tokens
    }

    /// Names with several definitions in one scope, where the name of at least one definition is in
    /// the rows `changed`.
    #[must_use]
    pub fn redefinitions(&self, changed: &[Range<usize>], stop: &Stop<'_>) -> Vec<Redefinition> {
        let definitions = self.kinds(self.language.defining);
        let scopes = self.kinds(self.language.scopes);
        // The scopes with a definition in the changed rows.
        let mut wanted: Vec<Node<'_>> = Vec::new();
        let mut unique = UniqueNames { text: self.text, known: HashMap::new() };
        let mut path: Vec<Node<'_>> = Vec::new();
        self.visit_near(changed, |node, parent| {
            let near = touches(changed, &rows(node));
            if !near || node.is_error() || stop.is_over() {
                return false;
            }
            while path.last().is_some_and(|scope| scope.end_byte() <= node.start_byte()) {
                path.pop();
            }
            if definitions.has(node)
                && let Some(name) = name_of(node, &definitions, &scopes)
                && touches(changed, &rows(name))
                && !unique.is_unique(self.text_of(name))
                && let Some(scope) = path.last()
                && !wanted.iter().any(|other| other.id() == scope.id())
            {
                wanted.push(*scope);
            }
            if parent.is_none() || scopes.has(node) {
                path.push(node);
            }
            true
        });
        wanted
            .iter()
            .flat_map(|scope| {
                self.redefinitions_in(*scope, &definitions, &scopes, Some(changed), stop)
            })
            .collect()
    }

    /// The maximum number of definitions of `name` in one scope, without repetitions that the
    /// language allows.
    #[must_use]
    pub fn max_definitions(&self, name: &str, stop: &Stop<'_>) -> usize {
        let definitions = self.kinds(self.language.defining);
        let scopes = self.kinds(self.language.scopes);
        let mut all: Vec<Node<'_>> = vec![self.tree.root_node()];
        visit(&mut self.tree.walk(), |node, _| {
            if scopes.has(node) {
                all.push(node);
            }
            !stop.is_over()
        });
        let redefinitions = all
            .iter()
            .flat_map(|scope| self.redefinitions_in(*scope, &definitions, &scopes, None, stop));
        redefinitions
            .filter(|redefinition| redefinition.name == name)
            .map(|redefinition| redefinition.count)
            .max()
            .unwrap_or(1)
    }

    fn redefinitions_in(
        &self,
        scope: Node<'_>,
        definitions: &Kinds,
        scopes: &Kinds,
        changed: Option<&[Range<usize>]>,
        stop: &Stop<'_>,
    ) -> Vec<Redefinition> {
        if stop.is_over() {
            return Vec::new();
        }
        let mut groups: BTreeMap<&[u8], Vec<Definition<'_>>> = BTreeMap::new();
        visit(&mut scope.walk(), |node, parent| {
            // Finding the sibling of a node takes as long as there are siblings before it.
            if node.is_error() || definitions.has(node) && stop.is_over_now() || stop.is_over() {
                return false;
            }
            // What is next to an error may be a part of something else.
            let sound = |beside: Option<Node<'_>>| beside.is_none_or(|beside| !beside.is_error());
            if definitions.has(node)
                && !(node.has_error() && rows(node).len() == 1)
                && sound(node.prev_sibling())
                && sound(node.next_sibling())
                && !self.is_mention(node, parent)
                && let Some(name) = name_of(node, definitions, scopes)
            {
                let group = groups.entry(self.text_of(name)).or_default();
                // A wrapper and the definition that it wraps (a decorated function) are one
                // definition.
                if group.last().is_none_or(|last| last.name.id() != name.id()) {
                    group.push(Definition { node, name });
                }
            }
            node.id() == scope.id() || !scopes.has(node)
        });
        let is_new =
            |one: &Definition<'_>| changed.is_none_or(|changed| touches(changed, &rows(one.name)));
        groups.retain(|_, group| group.len() > 1 && group.iter().any(is_new));
        if groups.is_empty() {
            return Vec::new();
        }
        let known = self.identities(scope, stop);
        let local = std::iter::successors(Some(scope), Node::parent)
            .any(|outer| outer.kind().contains("function"));
        let redefinitions =
            groups.values().filter_map(|group| self.redefinition(&known, group, changed));
        redefinitions
            .filter(|redefinition| !(local && self.is_used_between(redefinition)))
            .collect()
    }

    /// Whether the node only refers to a definition elsewhere, as `struct item` does in a
    /// parameter.
    fn is_mention(&self, node: Node<'_>, parent: Option<Node<'_>>) -> bool {
        let listed = |parent: Node<'_>| self.language.containers.contains(&parent.kind());
        node.named_child_count() == 1 && !parent.is_some_and(listed)
    }

    /// The first two of `group` that the language does not allow together.
    fn redefinition(
        &self,
        identities: &HashMap<usize, u64>,
        group: &[Definition<'_>],
        changed: Option<&[Range<usize>]>,
    ) -> Option<Redefinition> {
        let is_new =
            |one: &&Definition<'_>| changed.is_none_or(|changed| touches(changed, &rows(one.name)));
        let mut same: BTreeMap<u64, Vec<&Definition<'_>>> = BTreeMap::new();
        for definition in group {
            if let Some(identity) = identities.get(&definition.node.id()) {
                same.entry(*identity).or_default().push(definition);
            }
        }
        let twice = same.into_values().filter(|same| same.len() > 1 && same.iter().any(is_new));
        let same = twice.min_by_key(|same| same[0].node.start_byte())?;
        let second = same.iter().skip(1).find(|one| is_new(one)).unwrap_or(&same[1]);
        Some(Redefinition {
            name: String::from_utf8_lossy(self.text_of(same[0].name)).into_owned(),
            first: rows(same[0].node),
            second: rows(second.node),
            count: same.len(),
        })
    }

    /// Whether the name occurs between its two definitions. A local name may be used and then
    /// defined again.
    fn is_used_between(&self, redefinition: &Redefinition) -> bool {
        let between =
            text::lines(self.text).take(redefinition.second.start).skip(redefinition.first.end);
        let name = redefinition.name.as_bytes();
        between.into_iter().any(|line| words(line, name).next().is_some())
    }

    /// A hash for each definition of a scope, by node id; definitions with equal hashes are
    /// redefinitions. Definitions that the language allows beside others of the same name are left
    /// out.
    fn identities(&self, scope: Node<'_>, stop: &Stop<'_>) -> HashMap<usize, u64> {
        let Some(query) = self.language.definitions() else { return HashMap::new() };
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(query, scope, self.text);
        let mut exempt: HashSet<usize> = HashSet::new();
        let mut found: HashMap<usize, (usize, u64)> = HashMap::new();
        while let Some(one) = matches.next() {
            if stop.is_over() {
                break;
            }
            let of = |word: &'static str| {
                let named = move |capture: &&tree_sitter::QueryCapture<'_>| {
                    query.capture_names()[capture.index as usize] == word
                };
                one.captures().iter().filter(named).map(|capture| capture.node)
            };
            exempt.extend(of("exempt").map(|node| node.id()));
            let (Some(node), Some(name)) = (of("definition").next(), of("name").next()) else {
                continue;
            };
            let mut hasher = DefaultHasher::new();
            one.pattern_index.hash(&mut hasher);
            self.tokens(name).hash(&mut hasher);
            of("distinct").for_each(|node| self.tokens(node).hash(&mut hasher));
            let entry = (one.pattern_index, hasher.finish());
            found.entry(node.id()).and_modify(|old| *old = entry.min(*old)).or_insert(entry);
        }
        let counted = found.into_iter().filter(|(node, _)| !exempt.contains(node));
        counted.map(|(node, (_, identity))| (node, identity)).collect()
    }

    /// Whether a statement, a member or an entry starts at byte `at`.
    #[must_use]
    pub fn starts_in_container(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        let mut inside = self.language.containers.contains(&cursor.node().kind());
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() > at {
                return false;
            }
            if node.start_byte() == at && inside {
                return true;
            }
            inside = self.language.containers.contains(&node.kind());
        }
        false
    }

    /// Whether the statement that starts at byte `at` is the only one in its block, except for
    /// comments and a documentation string.
    #[must_use]
    pub fn is_only_statement(&self, at: usize) -> bool {
        let mut cursor = self.tree.walk();
        let mut block = cursor.node();
        while cursor.goto_first_child_for_byte(at).is_some() {
            let node = cursor.node();
            if node.start_byte() == at && self.language.containers.contains(&block.kind()) {
                let mut children = block.walk();
                let others =
                    block.named_children(&mut children).filter(|child| child.start_byte() != at);
                let is_comment_or_string = |kind: &str| {
                    self.language.comments.contains(&kind) || self.language.strings.contains(&kind)
                };
                return others.into_iter().all(|other| {
                    is_comment_or_string(other.kind())
                        || other
                            .named_child(0)
                            .is_some_and(|only| is_comment_or_string(only.kind()))
                });
            }
            block = node;
        }
        false
    }

    pub(super) fn kinds(&self, names: &[&str]) -> Kinds {
        let grammar = self.language.grammar();
        let mut set = vec![false; grammar.node_kind_count()];
        for name in names {
            if let Some(place) = set.get_mut(usize::from(grammar.id_for_node_kind(name, true))) {
                *place = true;
            }
        }
        Kinds(set)
    }
}

/// A set of node kinds.
pub(super) struct Kinds(Vec<bool>);

impl Kinds {
    pub(super) fn has(&self, node: Node<'_>) -> bool {
        self.0.get(usize::from(node.kind_id())).copied().unwrap_or(false)
    }
}

/// Whether the two nodes can have the same tokens, by a cheap comparison.
fn same_shape(a: Node<'_>, b: Node<'_>) -> bool {
    a.kind_id() == b.kind_id()
        && a.child_count() == b.child_count()
        && !a.has_error()
        && !b.has_error()
}

/// The node that probably names a definition: the one in the usual fields of grammars, otherwise
/// the name of the definition that it wraps, otherwise its first child.
fn name_of<'t>(definition: Node<'t>, defining: &Kinds, scopes: &Kinds) -> Option<Node<'t>> {
    const FIELDS: [&str; 5] = ["name", "declarator", "definition", "key", "property"];
    let mut node = definition;
    loop {
        let inner = FIELDS.iter().find_map(|field| node.child_by_field_name(field)).or_else(|| {
            let mut cursor = node.walk();
            let mut children = node.named_children(&mut cursor);
            // Definitions in a scope have names of their own: the keys of a table.
            (defining.has(node) && !scopes.has(node))
                .then(|| children.find(|child| defining.has(*child)))?
        });
        match inner {
            Some(inner) => node = inner,
            None if node.id() != definition.id() => return Some(node),
            None => break,
        }
    }
    node = node.named_child(0)?;
    while node.named_child_count() == 1 {
        node = node.named_child(0)?;
    }
    Some(node)
}

/// Whether `rows` overlaps one of `changed`, which must be in order.
#[must_use]
pub fn touches(changed: &[Range<usize>], rows: &Range<usize>) -> bool {
    let next = changed.partition_point(|range| range.end <= rows.start);
    changed.get(next).is_some_and(|range| range.start < rows.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_inside_a_longer_word_does_not_count() {
        let mut names = UniqueNames { text: b"f9 f90 xf9 g g", known: HashMap::new() };
        assert!(names.is_unique(b"f9") && names.is_unique(b"f90"));
        assert!(!names.is_unique(b"g"));
    }

    #[cfg(feature = "languages")]
    #[test]
    fn an_enumeration_named_in_capitals_may_have_its_name_behind_it() {
        for (name, count) in [("A_TYPED", 1), ("a_typed", 2)] {
            let text = format!("typedef enum {name} {{ B }} c;\ntypedef enum {name} {{ D }} e;\n");
            for language in ["c", "cpp"] {
                let language = crate::table::LANGUAGES.iter().find(|one| one.name == language);
                let tree = crate::parse(language.unwrap(), text.as_bytes(), &|| false).unwrap();
                let stop = Stop::when(&|| false);
                assert_eq!(tree.max_definitions(name, &stop), count);
            }
        }
    }
}
