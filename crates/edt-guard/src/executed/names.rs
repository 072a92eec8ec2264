//! Names of files, and the look-up of those of a path.

use std::collections::{HashMap, HashSet};

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

/// The names of a list, each with its entry.
#[derive(Debug)]
pub(super) struct NameTable<T: 'static> {
    files: HashMap<Vec<u8>, &'static T>,
    directories: HashMap<Vec<u8>, &'static T>,
    documents: HashMap<Vec<u8>, &'static T>,
    ends: Vec<(&'static [u8], &'static T)>,
    /// The names, and what is above each: `.config` of `.config/git`.
    above: HashMap<Vec<u8>, &'static T>,
    /// The components of the names.
    components: HashSet<Vec<u8>>,
    /// The most components of a name.
    depth: usize,
}

impl<T> NameTable<T> {
    pub(super) fn of(list: &'static [T], names: impl Fn(&'static T) -> &'static str) -> Self {
        let mut table = NameTable {
            files: HashMap::new(),
            directories: HashMap::new(),
            documents: HashMap::new(),
            ends: Vec::new(),
            above: HashMap::new(),
            components: HashSet::new(),
            depth: 0,
        };
        for entry in list {
            names(entry).split_whitespace().for_each(|name| table.add(name, entry));
        }
        table
    }

    fn add(&mut self, name: &'static str, entry: &'static T) {
        if let Some(end) = name.strip_prefix('*') {
            self.ends.push((end.as_bytes(), entry));
        } else if let Some(directory) = name.strip_suffix("/*.md") {
            self.add_parts(directory, entry);
            self.documents.insert(directory.as_bytes().to_vec(), entry);
        } else if let Some(directory) = name.strip_suffix('/') {
            self.add_parts(directory, entry);
            self.directories.insert(directory.as_bytes().to_vec(), entry);
        } else {
            let stem = name.strip_suffix(".*");
            let files = stem.map(|stem| ENDINGS.map(|ending| format!("{stem}.{ending}")));
            for file in files.map_or_else(|| vec![name.to_owned()], Vec::from) {
                self.add_parts(&file, entry);
                self.files.insert(file.into_bytes(), entry);
            }
        }
    }

    fn add_parts(&mut self, name: &str, entry: &'static T) {
        let parts: Vec<&str> = name.trim_start_matches('/').split('/').collect();
        self.depth = self.depth.max(parts.len());
        let ends = name.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let above = ends.chain([name.len()]).map(|end| (name.as_bytes()[..end].to_vec(), entry));
        self.above.extend(above);
        self.components.extend(parts.iter().map(|part| part.as_bytes().to_vec()));
    }

    /// The entry of a name that begins where `rest` begins; `rest` is a folded path from one of its
    /// components on, with a `/` before it if it is the whole path.
    pub(super) fn at(&self, rest: &[u8]) -> Option<&'static T> {
        let (from, name) = anchored(rest);
        let whole = || self.files.get(rest).or_else(|| self.files.get(name)).copied();
        let slashes = memchr::memchr_iter(b'/', name).take(self.depth).map(|at| at + from);
        let mut slashes = slashes.map(|end| (&rest[..end], &rest[from..end]));
        let below = |(root, any): (&[u8], &[u8])| {
            let found = |table: &HashMap<Vec<u8>, &'static T>| {
                table.get(root).or_else(|| table.get(any)).copied()
            };
            let file = &rest[from + any.len() + 1..];
            let is_document = file.ends_with(b".md") && !file.contains(&b'/');
            found(&self.directories).or_else(|| found(&self.documents).filter(|_| is_document))
        };
        let ends = || {
            let is_last = !name.contains(&b'/');
            let end = self.ends.iter().find(|(end, _)| is_last && name.ends_with(end));
            end.map(|(_, entry)| *entry)
        };
        whole().or_else(|| slashes.find_map(below)).or_else(ends)
    }

    /// The entry of the directory at `rest`, all of whose files count.
    pub(super) fn directory(&self, rest: &[u8]) -> Option<&'static T> {
        self.directories.get(anchored(rest).1).copied()
    }

    /// An entry with a name that is `rest`, or is below it.
    pub(super) fn above(&self, rest: &[u8]) -> Option<&'static T> {
        self.above.get(rest).or_else(|| self.above.get(anchored(rest).1)).copied()
    }

    /// Whether some name has this component, or ends as it does. No other name needs a closer look.
    pub(super) fn has_component(&self, name: &[u8]) -> bool {
        self.components.contains(name) || self.ends.iter().any(|(end, _)| name.ends_with(end))
    }
}

/// Where the name begins in `rest`, and the name.
fn anchored(rest: &[u8]) -> (usize, &[u8]) {
    rest.strip_prefix(b"/").map_or((0, rest), |name| (1, name))
}
