//! Renames, as `git diff -M` finds them: a deleted and an added file with the same content, or with
//! contents that are at least 50 % similar. The rules and limits are Git's (`diffcore-rename.c`).

use std::collections::HashMap;

use super::Oid;
use super::diff::TreeDifference;
use super::file_id::TreeItem;
use super::repo::Repo;
use edt_types::{RepoPath, Result};

/// The similarity of equal contents.
const MAX_SCORE: u64 = 60_000;
/// The least similarity of a rename.
const MIN_SCORE: u64 = MAX_SCORE / 2;
/// The least similarity of a rename between files whose name no other candidate has.
const MIN_SAME_NAME: u64 = MAX_SCORE / 4 * 3;
/// `diff.renameLimit` if it is not set.
const DEFAULT_LIMIT: u64 = 1000;
/// `diff.renameLimit` if it is 0 or negative.
const HIGHEST_LIMIT: u64 = 32_767;
/// The longest chunk that is compared, in bytes. A line end also ends a chunk.
const CHUNK: usize = 64;

/// A path that differs between two trees, with renames recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    pub path: RepoPath,
    /// The file that this one was renamed from; `old` is that file.
    pub from: Option<RenamedFrom>,
    pub old: Option<TreeItem>,
    pub new: Option<TreeItem>,
}

/// The source of a rename.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedFrom {
    pub path: RepoPath,
    /// How similar the contents are, in percent.
    pub similarity: u8,
}

/// A file that was deleted or added.
#[derive(Debug, Clone, Copy)]
pub struct RenameCandidate<'p> {
    pub path: &'p RepoPath,
    pub oid: Oid,
    /// Whether it is a regular file. Links are renamed only with the same content.
    pub regular: bool,
}

/// A rename: positions in the lists of deleted and added files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rename {
    pub deleted: usize,
    pub added: usize,
    /// How similar the contents are, in percent.
    pub similarity: u8,
}

impl Repo {
    /// Joins the two paths of each rename in `differs`. `read` returns the content of a blob.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn with_renames(
        &self,
        differs: Vec<TreeDifference>,
        read: impl Fn(Oid) -> Result<Vec<u8>>,
    ) -> Result<Vec<ChangedPath>> {
        let candidate = |path, item: TreeItem| match item {
            TreeItem::File(file) => Some(RenameCandidate { path, oid: file.oid, regular: true }),
            TreeItem::Other(0o120_000, oid) => Some(RenameCandidate { path, oid, regular: false }),
            TreeItem::Other(..) => None,
        };
        let (mut deleted, mut added) = (Vec::new(), Vec::new());
        for one in &differs {
            match (one.old, one.new) {
                (Some(old), None) => deleted.extend(candidate(&one.path, old)),
                (None, Some(new)) => added.extend(candidate(&one.path, new)),
                _ => {}
            }
        }
        let found = detect(&deleted, &added, self.rename_limit(), |one| read(one.oid))?;
        let pair = |rename: &Rename| {
            let from = deleted[rename.deleted].path.clone();
            let from = RenamedFrom { path: from, similarity: rename.similarity };
            (added[rename.added].path.clone(), from)
        };
        let mut sources: HashMap<RepoPath, RenamedFrom> = found.iter().map(pair).collect();
        let mut old: HashMap<RepoPath, Option<TreeItem>> =
            sources.values().map(|from| (from.path.clone(), None)).collect();
        for one in &differs {
            if let Some(item) = old.get_mut(&one.path) {
                *item = one.old;
            }
        }
        let changed = differs.into_iter().filter(|one| !old.contains_key(&one.path));
        Ok(changed
            .map(|one| {
                let from = sources.remove(&one.path);
                let source = from.as_ref().and_then(|from| old.get(&from.path).copied());
                let TreeDifference { path, old, new } = one;
                ChangedPath { path, from, old: source.unwrap_or(old), new }
            })
            .collect())
    }

    /// Git's `diff.renameLimit`: contents are compared only if there are at most as many pairs as
    /// its square.
    #[must_use]
    pub fn rename_limit(&self) -> u64 {
        match self.inner.config_snapshot().integer("diff.renameLimit") {
            None => DEFAULT_LIMIT,
            Some(limit) => {
                u64::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(HIGHEST_LIMIT)
            }
        }
    }
}

/// The renames among `deleted` and `added`: equal contents first, then files of the same name, then
/// the most similar pairs. `read` returns the content of a candidate, and is called only where it
/// may decide.
///
/// # Errors
/// Those of `read`.
pub fn detect(
    deleted: &[RenameCandidate<'_>],
    added: &[RenameCandidate<'_>],
    limit: u64,
    read: impl FnMut(&RenameCandidate<'_>) -> Result<Vec<u8>>,
) -> Result<Vec<Rename>> {
    if deleted.is_empty() || added.is_empty() {
        return Ok(Vec::new());
    }
    let mut search = Search {
        deleted,
        added,
        used: (vec![false; deleted.len()], vec![false; added.len()]),
        found: Vec::new(),
        contents: HashMap::new(),
        read,
    };
    search.equal();
    search.same_name()?;
    search.similar(limit)?;
    search.found.sort_by_key(|rename| rename.added);
    Ok(search.found)
}

struct Search<'a, R> {
    deleted: &'a [RenameCandidate<'a>],
    added: &'a [RenameCandidate<'a>],
    /// The candidates that have a partner.
    used: (Vec<bool>, Vec<bool>),
    found: Vec<Rename>,
    contents: HashMap<(Side, usize), Chunks>,
    read: R,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Deleted,
    Added,
}

impl<R: FnMut(&RenameCandidate<'_>) -> Result<Vec<u8>>> Search<'_, R> {
    fn pair(&mut self, deleted: usize, added: usize, score: u64) {
        (self.used.0[deleted], self.used.1[added]) = (true, true);
        let similarity = u8::try_from(score * 100 / MAX_SCORE).unwrap_or(100);
        self.found.push(Rename { deleted, added, similarity });
    }

    /// Pairs files with the same blob; of several sources, one with the same name.
    fn equal(&mut self) {
        let mut by_id: HashMap<(Oid, bool), Vec<usize>> = HashMap::new();
        for (at, one) in self.deleted.iter().enumerate() {
            by_id.entry((one.oid, one.regular)).or_default().push(at);
        }
        for at in 0..self.added.len() {
            let one = &self.added[at];
            let Some(sources) = by_id.get_mut(&(one.oid, one.regular)) else { continue };
            let name = one.path.split().1;
            let same = |source: &usize| self.deleted[*source].path.split().1 == name;
            let best = sources.iter().position(same).or((!sources.is_empty()).then_some(0));
            if let Some(best) = best {
                let source = sources.remove(best);
                self.pair(source, at, MAX_SCORE);
            }
        }
    }

    /// Pairs files whose name is unique on both sides.
    fn same_name(&mut self) -> Result<()> {
        fn unique<'n>(
            all: &'n [RenameCandidate<'n>],
            used: &[bool],
        ) -> HashMap<&'n [u8], Option<usize>> {
            let mut names = HashMap::new();
            for (at, one) in all.iter().enumerate().filter(|(at, _)| !used[*at]) {
                let twice = |known: &mut Option<usize>| *known = None;
                names.entry(one.path.split().1).and_modify(twice).or_insert(Some(at));
            }
            names
        }
        let sources = unique(self.deleted, &self.used.0);
        let destinations = unique(self.added, &self.used.1);
        let mut pairs: Vec<(usize, usize)> = sources
            .into_iter()
            .filter_map(|(name, source)| Some((source?, (*destinations.get(name)?)?)))
            .collect();
        pairs.sort_unstable();
        for (source, destination) in pairs {
            let score = self.score(source, destination, MIN_SAME_NAME)?;
            if score >= MIN_SAME_NAME {
                self.pair(source, destination, score);
            }
        }
        Ok(())
    }

    /// Pairs the most similar files, unless there are too many.
    fn similar(&mut self, limit: u64) -> Result<()> {
        let free = |used: &[bool]| {
            used.iter().enumerate().filter(|(_, used)| !**used).map(|(at, _)| at).collect()
        };
        let (sources, destinations): (Vec<usize>, Vec<usize>) =
            (free(&self.used.0), free(&self.used.1));
        let pairs = (sources.len() as u64).saturating_mul(destinations.len() as u64);
        if pairs > limit.saturating_mul(limit) {
            return Ok(());
        }
        let mut candidates = Vec::new();
        for destination in destinations {
            for &source in &sources {
                let score = self.score(source, destination, MIN_SCORE)?;
                if score >= MIN_SCORE {
                    let name = |one: &RenameCandidate<'_>| one.path.split().1.to_vec();
                    let same = name(&self.deleted[source]) == name(&self.added[destination]);
                    candidates.push((score, same, source, destination));
                }
            }
        }
        candidates.sort_by_key(|(score, same, ..)| std::cmp::Reverse((*score, *same)));
        for (score, _, source, destination) in candidates {
            if !self.used.0[source] && !self.used.1[destination] {
                self.pair(source, destination, score);
            }
        }
        Ok(())
    }

    /// How similar two files are; 0 if it is certainly less than `least`.
    fn score(&mut self, deleted: usize, added: usize, least: u64) -> Result<u64> {
        if !self.deleted[deleted].regular || !self.added[added].regular {
            return Ok(0);
        }
        self.load(Side::Deleted, deleted)?;
        self.load(Side::Added, added)?;
        let old = &self.contents[&(Side::Deleted, deleted)];
        let new = &self.contents[&(Side::Added, added)];
        let (most, fewest) = (old.size.max(new.size), old.size.min(new.size));
        if fewest == 0 || most * (MAX_SCORE - least) < (most - fewest) * MAX_SCORE {
            return Ok(0);
        }
        Ok(old.common(new) * MAX_SCORE / most)
    }

    fn load(&mut self, side: Side, at: usize) -> Result<()> {
        if !self.contents.contains_key(&(side, at)) {
            let one = match side {
                Side::Deleted => &self.deleted[at],
                Side::Added => &self.added[at],
            };
            let chunks = Chunks::of(&(self.read)(one)?);
            self.contents.insert((side, at), chunks);
        }
        Ok(())
    }
}

/// The chunks of a file: hash and total size of each distinct one, ordered by hash.
#[derive(Debug)]
struct Chunks {
    size: u64,
    chunks: Vec<(u64, u64)>,
}

impl Chunks {
    fn of(bytes: &[u8]) -> Chunks {
        // As Git, which looks for NUL in the first 8000 bytes.
        let text = !bytes.iter().take(8000).any(|byte| *byte == 0);
        let mut all: Vec<(u64, u64)> = Vec::new();
        let (mut hash, mut size) = (FNV, 0);
        for (at, byte) in bytes.iter().enumerate() {
            if text && *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            size += 1;
            if *byte == b'\n' || size == CHUNK {
                all.push((hash, size as u64));
                (hash, size) = (FNV, 0);
            }
        }
        if size > 0 {
            all.push((hash, size as u64));
        }
        all.sort_unstable();
        let mut chunks: Vec<(u64, u64)> = Vec::new();
        for (hash, size) in all {
            match chunks.last_mut() {
                Some(last) if last.0 == hash => last.1 += size,
                _ => chunks.push((hash, size)),
            }
        }
        Chunks { size: bytes.len() as u64, chunks }
    }

    /// How many bytes both files have, in any order.
    fn common(&self, other: &Chunks) -> u64 {
        let (mut common, mut theirs) = (0, other.chunks.iter().peekable());
        for (hash, size) in &self.chunks {
            while theirs.next_if(|(other, _)| other < hash).is_some() {}
            if let Some((_, other)) = theirs.next_if(|(other, _)| other == hash) {
                common += size.min(other);
            }
        }
        common
    }
}

/// The start value of the hash FNV-1a.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    /// The renames between files, each as `old -> new similarity`.
    fn renames(deleted: &[(&str, &str)], added: &[(&str, &str)], limit: u64) -> Vec<String> {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        let id = |text: &str| repo.blob_id(text.as_bytes()).unwrap();
        let paths: Vec<RepoPath> = deleted
            .iter()
            .chain(added)
            .map(|(path, _)| RepoPath::from_tree(path.as_bytes()))
            .collect();
        let candidate = |(path, (_, text)): (_, &(&str, &str))| RenameCandidate {
            path,
            oid: id(text),
            regular: true,
        };
        let (from, to) = paths.split_at(deleted.len());
        let old: Vec<_> = from.iter().zip(deleted).map(candidate).collect();
        let new: Vec<_> = to.iter().zip(added).map(candidate).collect();
        let read = |one: &RenameCandidate<'_>| {
            let all = deleted.iter().chain(added);
            let text = all.map(|(_, text)| text).find(|text| id(text) == one.oid);
            Ok(text.unwrap().as_bytes().to_vec())
        };
        let shown = |rename: Rename| {
            let (from, to) = (&deleted[rename.deleted].0, &added[rename.added].0);
            format!("{from} -> {to} {}", rename.similarity)
        };
        detect(&old, &new, limit, read).unwrap().into_iter().map(shown).collect()
    }

    fn lines(range: std::ops::Range<u32>) -> String {
        range.map(|n| format!("line {n} of it\n")).collect()
    }

    #[test]
    fn equal_contents_are_a_rename() {
        assert_eq!(renames(&[("a", "1\n")], &[("b", "1\n")], 0), ["a -> b 100"]);
        assert_eq!(renames(&[("a", "1\n")], &[], 0), [""; 0]);
    }

    #[test]
    fn of_equal_sources_the_one_with_the_same_name_is_taken() {
        let found = renames(&[("x/a", "1\n"), ("x/b", "1\n")], &[("y/b", "1\n")], 0);
        assert_eq!(found, ["x/b -> y/b 100"]);
    }

    #[test]
    fn similar_contents_are_a_rename_from_half_on() {
        let old = lines(10..20);
        let most = lines(10..15) + &lines(30..35);
        let few = lines(10..14) + &lines(30..36);
        assert_eq!(renames(&[("a", &old)], &[("b", &most)], 1000), ["a -> b 50"]);
        assert_eq!(renames(&[("a", &old)], &[("b", &few)], 1000), [""; 0]);
    }

    #[test]
    fn the_most_similar_pair_wins() {
        let old = lines(10..20);
        let near = lines(10..19);
        let far = lines(10..17);
        let found = renames(&[("a", &old)], &[("b", &far), ("c", &near)], 1000);
        assert_eq!(found, ["a -> c 90"]);
    }

    #[test]
    fn too_many_pairs_are_compared_by_content_and_name_alone() {
        let (old, new) = (lines(10..20), lines(10..19));
        assert_eq!(renames(&[("a", &old)], &[("b", &new)], 0), [""; 0]);
        assert_eq!(renames(&[("a", &old)], &[("x/a", &new)], 0), ["a -> x/a 90"]);
    }

    #[test]
    fn line_ends_do_not_count() {
        let old = lines(10..20);
        let new = old.replace('\n', "\r\n");
        let found = renames(&[("a", &old)], &[("b", &new)], 1000);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn an_empty_file_is_renamed_only_to_an_empty_file() {
        assert_eq!(renames(&[("a", "")], &[("b", "x\n")], 1000), [""; 0]);
        assert_eq!(renames(&[("a", "")], &[("b", "")], 1000), ["a -> b 100"]);
    }
}
