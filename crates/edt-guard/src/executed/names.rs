//! Names of files, and the look-up of those of a path.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// The endings with which a stem counts.
pub const ENDINGS: [&str; 5] = ["json", "jsonc", "toml", "yaml", "yml"];

/// A program and the names that make it execute something.
#[derive(Debug, PartialEq, Eq)]
pub struct Executor {
    /// How messages name it.
    pub program: &'static str,
    /// Where it documents that: an address, or a page of this documentation.
    pub source: &'static str,
    pub when: When,
    /// The names, with spaces between them. They count in any directory; one that begins with `/`
    /// counts at the root alone. `x/`: the files in a directory; `x/*.md`: the Markdown files
    /// directly in it; `x.*`: a stem with each of [`ENDINGS`]; `*x`: the end of a name. All are
    /// folded.
    pub names: &'static str,
}

/// When a program executes what a name makes it execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// On this computer, at any time: also while the program that wrote it still runs.
    Here,
    /// Elsewhere, after a push.
    Later,
}

/// The names of a list, each with its entry. A process that judges a few paths only splits the list;
/// what programs look up at each call is built on first use.
#[derive(Debug)]
pub(super) struct NameTable<T: 'static> {
    names: Vec<Name<T>>,
    /// The most components of a name.
    depth: usize,
    parts: OnceLock<Parts<T>>,
}

/// A name without the signs of its kind.
#[derive(Debug)]
struct Name<T: 'static> {
    kind: NameKind,
    text: &'static str,
    entry: &'static T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    File,
    Stem,
    Directory,
    Documents,
    End,
}

/// The components of the names of a list.
#[derive(Debug)]
struct Parts<T: 'static> {
    /// The names, and what is above each: `.config` of `.config/git`.
    above: HashMap<Vec<u8>, &'static T>,
    components: HashSet<Vec<u8>>,
}

impl<T> Name<T> {
    fn of(written: &'static str, entry: &'static T) -> Name<T> {
        let (kind, name) = if let Some(end) = written.strip_prefix('*') {
            (NameKind::End, end)
        } else if let Some(directory) = written.strip_suffix("/*.md") {
            (NameKind::Documents, directory)
        } else if let Some(directory) = written.strip_suffix('/') {
            (NameKind::Directory, directory)
        } else if let Some(stem) = written.strip_suffix(".*") {
            (NameKind::Stem, stem)
        } else {
            (NameKind::File, written)
        };
        Name { kind, text: name, entry }
    }

    fn is_file(&self, file: &[u8]) -> bool {
        match self.kind {
            NameKind::File => file == self.text.as_bytes(),
            NameKind::Stem => {
                let rest = file.strip_prefix(self.text.as_bytes());
                let ending = rest.and_then(|rest| rest.strip_prefix(b"."));
                ending.is_some_and(|one| ENDINGS.iter().any(|ending| ending.as_bytes() == one))
            }
            NameKind::Directory | NameKind::Documents | NameKind::End => false,
        }
    }

    fn is(&self, kind: NameKind, name: &[u8]) -> bool {
        self.kind == kind && self.text.as_bytes() == name
    }
}

impl<T> Parts<T> {
    fn of(names: &[Name<T>]) -> Parts<T> {
        let mut parts = Parts { above: HashMap::new(), components: HashSet::new() };
        for one in names {
            let (kind, name, entry) = (one.kind, one.text, one.entry);
            match kind {
                NameKind::End => {}
                NameKind::Stem => {
                    for ending in ENDINGS {
                        parts.add(&format!("{name}.{ending}"), entry);
                    }
                }
                NameKind::File | NameKind::Directory | NameKind::Documents => {
                    parts.add(name, entry);
                }
            }
        }
        parts
    }

    fn add(&mut self, name: &str, entry: &'static T) {
        let parts = name.trim_start_matches('/').split('/');
        self.components.extend(parts.map(|part| part.as_bytes().to_vec()));
        let ends = name.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let above = ends.chain([name.len()]).map(|end| (name.as_bytes()[..end].to_vec(), entry));
        self.above.extend(above);
    }
}

impl<T> NameTable<T> {
    pub(super) fn of(list: &'static [T], names: impl Fn(&'static T) -> &'static str) -> Self {
        let all = list.iter().flat_map(|entry| {
            let written = names(entry).split(' ').filter(|name| !name.is_empty());
            written.map(move |name| Name::of(name, entry))
        });
        let names: Vec<Name<T>> = all.collect();
        let slashes = |one: &Name<T>| memchr::memchr_iter(b'/', one.text.as_bytes()).count();
        let depth = names.iter().map(|one| slashes(one) + 1).max().unwrap_or(0);
        NameTable { names, depth, parts: OnceLock::new() }
    }

    fn find(&self, is: impl Fn(&Name<T>) -> bool) -> Option<&'static T> {
        self.names.iter().find(|one| is(one)).map(|one| one.entry)
    }

    fn parts(&self) -> &Parts<T> {
        self.parts.get_or_init(|| Parts::of(&self.names))
    }

    /// The entry of a name that begins where `rest` begins; `rest` is a folded path from one of its
    /// components on, with a `/` before it if it is the whole path.
    pub(super) fn at(&self, rest: &[u8]) -> Option<&'static T> {
        let (from, name) = anchored(rest);
        let whole = || self.find(|one| one.is_file(rest) || one.is_file(name));
        let slashes = memchr::memchr_iter(b'/', name).take(self.depth).map(|at| at + from);
        let mut slashes = slashes.map(|end| (&rest[..end], &rest[from..end]));
        let below = |(root, any): (&[u8], &[u8])| {
            let file = &rest[from + any.len() + 1..];
            let is_document = file.ends_with(b".md") && !file.contains(&b'/');
            let found = |kind| self.find(|one| one.is(kind, root) || one.is(kind, any));
            let document = || found(NameKind::Documents).filter(|_| is_document);
            found(NameKind::Directory).or_else(document)
        };
        let ends = || {
            let is_last = !name.contains(&b'/');
            is_last.then(|| self.ending(name)).flatten()
        };
        whole().or_else(|| slashes.find_map(below)).or_else(ends)
    }

    fn ending(&self, name: &[u8]) -> Option<&'static T> {
        self.find(|one| one.kind == NameKind::End && name.ends_with(one.text.as_bytes()))
    }

    /// The entry of the directory at `rest`, all of whose files count.
    pub(super) fn directory(&self, rest: &[u8]) -> Option<&'static T> {
        self.find(|one| one.is(NameKind::Directory, anchored(rest).1))
    }

    /// An entry with a name that is `rest`, or is below it.
    pub(super) fn above(&self, rest: &[u8]) -> Option<&'static T> {
        let above = &self.parts().above;
        above.get(rest).or_else(|| above.get(anchored(rest).1)).copied()
    }

    /// Whether some name has this component, or ends as it does. No other name needs a closer look.
    pub(super) fn has_component(&self, name: &[u8]) -> bool {
        self.parts().components.contains(name) || self.ending(name).is_some()
    }
}

/// Where the name begins in `rest`, and the name.
fn anchored(rest: &[u8]) -> (usize, &[u8]) {
    rest.strip_prefix(b"/").map_or((0, rest), |name| (1, name))
}
