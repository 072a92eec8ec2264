//! What differs between two recorded states, as Git tells it, and what the guards say of it. Blobs are judged, never the worktree.

use std::collections::{BTreeSet, HashMap};

use super::plumbing::Git;
use crate::base::{Code, Finding, RepoPath, Result, Warning};
use crate::guard::{Reference, Side, Subject, protected};
use crate::io::disk::MAX_FILE;
use crate::policy::Policy;
use crate::txn::guard::{Leave, hear};

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// The path it was renamed from.
    pub from: Option<RepoPath>,
    /// What was recorded.
    pub old: Option<Entry>,
    /// What would be.
    pub new: Option<Entry>,
}

/// What a tree holds at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The mode as Git writes it.
    pub mode: String,
    /// The object's id.
    pub id: String,
}

impl Entry {
    /// Whether it is a regular file: links and submodules hold no code of their own.
    fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }
}

/// One recorded state that a change is measured against.
#[derive(Debug)]
pub struct Parent {
    /// Whose: `HEAD`, `MERGE_HEAD`.
    pub whose: &'static str,
    /// What differs from it, renames found.
    pub changes: Vec<Change>,
}

/// What the guards found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What stops it.
    pub refused: Vec<Finding>,
    /// What stops it unless a person says otherwise.
    pub held: Vec<Finding>,
    /// What is told.
    pub warnings: Vec<Warning>,
}

/// A further state that the size of a file is measured against: whose, and what names it in Git's syntax.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// Whose it is, for messages.
    pub whose: &'static str,
    /// A revision.
    pub rev: &'a str,
}

/// Reads the output of `git diff-index` or `git diff-tree` with `--raw -z`; `None` if it is torn.
#[must_use]
pub fn parse(raw: &[u8]) -> Option<Vec<Change>> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = words[..] else { return None };
        let entry = |mode: &str, id: &str| {
            (mode != "000000").then(|| Entry { mode: mode.to_owned(), id: id.to_owned() })
        };
        let first = RepoPath::from_tree(fields.next()?);
        let (path, from) = if status.starts_with('R') || status.starts_with('C') {
            (RepoPath::from_tree(fields.next()?), Some(first))
        } else {
            (first, None)
        };
        changes.push(Change { path, from, old: entry(old_mode, old), new: entry(new_mode, new) });
    }
    Some(changes)
}

/// What differs, as `args` (a `diff-index` or `diff-tree`) tell it.
///
/// # Errors
/// `IO_ERROR` if Git cannot tell.
pub fn between(git: &Git, args: &[&str]) -> Result<Vec<Change>> {
    let told = git.output(&[args, &["--"]].concat(), b"")?;
    parse(&told).ok_or_else(|| {
        Finding::new(
            Code::Internal,
            "Git's list of changes could not be read.",
            "Report this message.",
        )
        .into()
    })
}

/// Lets the guards judge what differs from all of `parents`: what a merge takes from one of them unchanged is nobody's edit, and
/// what is found against one only is what the other brought.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn judge(
    git: &Git,
    parents: &[Parent],
    measures: &[Measure<'_>],
    policy: &Policy,
    allow: &[String],
) -> Result<Verdict> {
    let Some((first, others)) = parents.split_first() else { return Ok(Verdict::default()) };
    let paths = |parent: &'_ Parent| {
        parent.changes.iter().map(|one| one.path.clone()).collect::<BTreeSet<RepoPath>>()
    };
    let others: Vec<BTreeSet<RepoPath>> = others.iter().map(paths).collect();
    let everywhere = |path: &RepoPath| others.iter().all(|other| other.contains(path));
    let mine: BTreeSet<&RepoPath> =
        first.changes.iter().map(|one| &one.path).filter(|path| everywhere(path)).collect();
    let mut verdict: Option<Verdict> = None;
    for parent in parents {
        let changes: Vec<&Change> =
            parent.changes.iter().filter(|one| mine.contains(&one.path)).collect();
        let said = against(git, parent.whose, &changes, measures, policy, allow)?;
        verdict = Some(match verdict {
            None => said,
            Some(mut before) => {
                let same = |a: &Finding, b: &Finding| (a.code, &a.path) == (b.code, &b.path);
                before.refused.retain(|one| said.refused.iter().any(|other| same(one, other)));
                before.held.retain(|one| said.held.iter().any(|other| same(one, other)));
                before
            }
        });
    }
    Ok(verdict.unwrap_or_default())
}

fn against(
    git: &Git,
    whose: &'static str,
    changes: &[&Change],
    measures: &[Measure<'_>],
    policy: &Policy,
    allow: &[String],
) -> Result<Verdict> {
    let mut warnings = Vec::new();
    // Links and submodules are looked at for their place alone; a file that becomes one is a file that goes.
    let (files, special): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|one| {
        [&one.old, &one.new].iter().any(|side| side.as_ref().is_some_and(Entry::is_file))
    });
    let guarded = special.iter().filter(|one| policy.protects(&one.path));
    let mut refused: Vec<Finding> = guarded.map(|one| protected::protected(&one.path)).collect();
    let blobs = read(git, &files, &mut warnings)?;
    let text = |side: &Option<Entry>| {
        let entry = side.as_ref().filter(|entry| entry.is_file())?;
        blobs.get(&entry.id).map(Vec::as_slice)
    };
    let known = |one: &&&Change| {
        let is_read = |side: &Option<Entry>| {
            side.as_ref().is_none_or(|e| !e.is_file() || blobs.contains_key(&e.id))
        };
        is_read(&one.old) && is_read(&one.new)
    };
    let files: Vec<&Change> = files.iter().filter(known).copied().collect();
    let sides: Vec<Side<'_>> = files
        .iter()
        .map(|one| Side {
            path: &one.path,
            before: text(&one.old).unwrap_or_default(),
            after: text(&one.new).unwrap_or_default(),
        })
        .collect();
    let further = further_texts(git, &files, measures)?;
    let subject = |(at, one): (usize, &&Change)| {
        let (before, after) = (text(&one.old), text(&one.new));
        let mut references: Vec<Reference<'_>> =
            before.map(|text| Reference { whose, text }).into_iter().collect();
        references.extend(
            further
                .iter()
                .filter(|one| one.at == at)
                .map(|one| Reference { whose: one.whose, text: &one.bytes }),
        );
        Subject::new(
            &files[at].path,
            files[at].from.as_ref(),
            before,
            after,
            references,
            policy.time_limit,
        )
        .beside(&sides)
    };
    let subjects: Vec<Subject<'_>> = files.iter().enumerate().map(subject).collect();
    let heard = hear(&subjects, policy, Leave { asked: allow, grants: &[] }, None);
    // What an agent sends is text; what a commit brings may be a picture. Only text that would cease to be text counts.
    let was_text =
        |bytes: &[u8]| memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok();
    let free: BTreeSet<String> = files
        .iter()
        .filter(|one| !text(&one.old).is_some_and(was_text))
        .map(|one| one.path.to_string())
        .collect();
    let is_free = |path: &Option<String>| path.as_ref().is_some_and(|path| free.contains(path));
    let about_text = [Code::BinaryContent, Code::Encoding];
    refused.extend(
        heard
            .refused
            .into_iter()
            .filter(|one| !(about_text.contains(&one.code) && is_free(&one.path))),
    );
    let words = about_text.map(Code::allow);
    warnings.extend(
        heard
            .warnings
            .into_iter()
            .filter(|one| !(words.contains(&Some(one.code)) && is_free(&one.path))),
    );
    Ok(Verdict { refused, held: heard.held, warnings })
}

/// The blobs of both sides, by id. What is larger than edt edits is told and left out.
fn read(
    git: &Git,
    files: &[&Change],
    warnings: &mut Vec<Warning>,
) -> Result<HashMap<String, Vec<u8>>> {
    let entries =
        files.iter().flat_map(|one| [&one.old, &one.new]).flatten().filter(|entry| entry.is_file());
    let ids: BTreeSet<&String> = entries.map(|entry| &entry.id).collect();
    let ids: Vec<String> = ids.into_iter().cloned().collect();
    let sizes = git.sizes(&ids)?;
    let large: HashMap<&String, u64> =
        ids.iter().zip(sizes).filter(|(_, size)| *size > MAX_FILE).collect();
    for one in files {
        let size =
            [&one.old, &one.new].into_iter().flatten().find_map(|entry| large.get(&entry.id));
        if let Some(size) = size {
            let message = format!(
                "{} has {size} bytes, more than guards read ({MAX_FILE}); it was not judged.",
                one.path
            );
            warnings.push(Warning { code: "too_large", path: Some(one.path.to_string()), message });
        }
    }
    let wanted: Vec<String> = ids.iter().filter(|id| !large.contains_key(id)).cloned().collect();
    let objects = git.objects(&wanted)?;
    let pairs = wanted.into_iter().zip(objects).map(|(id, object)| match object {
        Some(object) => Ok((id, object.bytes)),
        None => Err(missing(&id)),
    });
    Ok(pairs.collect::<std::result::Result<_, Finding>>()?)
}

/// A further text that a file is measured against.
struct Measured {
    at: usize,
    whose: &'static str,
    bytes: Vec<u8>,
}

fn further_texts(git: &Git, files: &[&Change], measures: &[Measure<'_>]) -> Result<Vec<Measured>> {
    let mut found = Vec::new();
    for measure in measures {
        // A batch is read by lines: a name with a line break is measured against HEAD alone.
        let named: Vec<(usize, String)> = files
            .iter()
            .enumerate()
            .filter_map(|(at, one)| {
                Some((
                    at,
                    std::str::from_utf8(one.from.as_ref().unwrap_or(&one.path).as_bytes()).ok()?,
                ))
            })
            .filter(|(_, path)| !path.contains('\n'))
            .map(|(at, path)| (at, format!("{}:{path}", measure.rev)))
            .collect();
        let specs: Vec<String> = named.iter().map(|(_, spec)| spec.clone()).collect();
        for ((at, _), object) in named.iter().zip(git.objects(&specs)?) {
            let text = object.filter(|object| object.bytes.len() as u64 <= MAX_FILE);
            found.extend(text.map(|object| Measured {
                at: *at,
                whose: measure.whose,
                bytes: object.bytes,
            }));
        }
    }
    Ok(found)
}

fn missing(id: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("The object {id} that is to be judged could not be read. Nothing was changed."),
        "`git fsck` tells what is missing; `git fetch` may bring it back.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_with_odd_names_and_renames() {
        let entry = |mode: &str, id: &str| Some(Entry { mode: mode.to_owned(), id: id.to_owned() });
        let raw = b":100644 100755 aa bb M\0a b\n\0:000000 120000 00 cc A\0l\0:100644 100644 dd ee R086\0x\0y\0";
        let path = |name: &[u8]| RepoPath::from_tree(name);
        let expected = vec![
            Change {
                path: path(b"a b\n"),
                from: None,
                old: entry("100644", "aa"),
                new: entry("100755", "bb"),
            },
            Change { path: path(b"l"), from: None, old: None, new: entry("120000", "cc") },
            Change {
                path: path(b"y"),
                from: Some(path(b"x")),
                old: entry("100644", "dd"),
                new: entry("100644", "ee"),
            },
        ];
        assert_eq!(parse(raw), Some(expected));
        assert_eq!((parse(b""), parse(b":1 2 3\0x\0")), (Some(Vec::new()), None));
    }
}
