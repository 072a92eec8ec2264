//! The difference between two recorded states, as Git reports it, and the guards' findings about
//! it. The guards judge blobs, never the worktree.

use std::collections::{BTreeSet, HashMap};

use super::plumbing::Git;
use edt_guard::guard::{
    GUARDS, GuardContext, Overrides, Reference, Subject, Transaction, TransactionFile, evaluate,
    protected,
};
use edt_guard::policy::Policy;
use edt_io::disk::MAX_FILE;
use edt_types::{Code, Finding, RepoPath, Result, Warning, WarningCode};

/// How many bytes of texts are judged together.
const PART: u64 = 64 << 20;

/// A path that differs between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path.
    pub path: RepoPath,
    /// The path it was renamed from.
    pub from: Option<RepoPath>,
    /// The entry in the old state.
    pub old: Option<TreeEntry>,
    /// The entry in the new state.
    pub new: Option<TreeEntry>,
}

/// A tree's entry at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The mode as Git writes it.
    pub mode: String,
    /// The object's id.
    pub id: String,
}

impl TreeEntry {
    /// Whether it is a regular file: symbolic links and submodules have no code of their own.
    fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }
}

impl PathChange {
    /// The blobs of both states.
    fn ids(&self) -> impl Iterator<Item = &String> {
        let entries = [&self.old, &self.new].into_iter().flatten();
        entries.filter(|entry| entry.is_file()).map(|entry| &entry.id)
    }
}

/// A recorded state, and the changes since it.
#[derive(Debug)]
pub struct ComparedState {
    /// The state's name for messages: `HEAD`, `MERGE_HEAD`.
    pub label: &'static str,
    /// The changes, with renames detected.
    pub changes: Vec<PathChange>,
}

/// The guards' findings.
#[derive(Debug, Default)]
pub struct GuardFindings {
    /// Refusal that refuse the change.
    pub refused: Vec<Finding>,
    /// Refusal that need the user's approval.
    pub held: Vec<Finding>,
    pub warnings: Vec<Warning>,
}

impl GuardFindings {
    /// Adds the findings about another part of the change, except those about the whole of it that
    /// are here already.
    fn add(&mut self, other: GuardFindings) {
        let add = |all: &mut Vec<Finding>, found: Vec<Finding>| {
            for one in found {
                let is_known = |known: &Finding| known.path.is_none() && known.code == one.code;
                if one.path.is_some() || !all.iter().any(is_known) {
                    all.push(one);
                }
            }
        };
        add(&mut self.refused, other.refused);
        add(&mut self.held, other.held);
        self.warnings.extend(other.warnings);
    }
}

/// A further state with which the sizes of files are compared.
#[derive(Debug, Clone, Copy)]
pub struct SizeReference<'a> {
    /// Its name for messages.
    pub label: &'static str,
    /// Its revision.
    pub rev: &'a str,
}

/// Reads the output of `git diff-index` or `git diff-tree` with `--raw -z`; `None` if it is
/// malformed.
#[must_use]
pub fn parse(raw: &[u8]) -> Option<Vec<PathChange>> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = words[..] else { return None };
        let entry = |mode: &str, id: &str| {
            (mode != "000000").then(|| TreeEntry { mode: mode.to_owned(), id: id.to_owned() })
        };
        let first = RepoPath::from_tree(fields.next()?);
        let (path, from) = if status.starts_with('R') || status.starts_with('C') {
            (RepoPath::from_tree(fields.next()?), Some(first))
        } else {
            (first, None)
        };
        changes.push(PathChange {
            path,
            from,
            old: entry(old_mode, old),
            new: entry(new_mode, new),
        });
    }
    Some(changes)
}

/// The output of `git args`, which are a `diff-index` or `diff-tree`.
///
/// # Errors
/// `IO_ERROR` if Git fails.
pub fn diff(git: &Git, args: &[&str]) -> Result<Vec<PathChange>> {
    let output = git.output(&[args, &["--"]].concat(), b"")?;
    parse(&output).ok_or_else(|| {
        Finding::new(
            Code::Internal,
            "Git's list of changes could not be read.",
            "Report this message.",
        )
        .into()
    })
}

/// Lets the guards judge the paths that differ from all of `parents`, and keeps the findings
/// against all of them. What a merge takes unchanged from one parent is not an edit.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn judge(
    git: &Git,
    parents: &[ComparedState],
    references: &[SizeReference<'_>],
    policy: &Policy,
    allow: &[String],
) -> Result<GuardFindings> {
    let Some((first, others)) = parents.split_first() else { return Ok(GuardFindings::default()) };
    let paths = |parent: &'_ ComparedState| {
        parent.changes.iter().map(|one| one.path.clone()).collect::<BTreeSet<RepoPath>>()
    };
    let others: Vec<BTreeSet<RepoPath>> = others.iter().map(paths).collect();
    let differs_from_others = |path: &RepoPath| others.iter().all(|other| other.contains(path));
    let changed_paths: BTreeSet<&RepoPath> = first
        .changes
        .iter()
        .map(|one| &one.path)
        .filter(|path| differs_from_others(path))
        .collect();
    let mut common: Option<GuardFindings> = None;
    for parent in parents {
        let changes: Vec<&PathChange> =
            parent.changes.iter().filter(|one| changed_paths.contains(&one.path)).collect();
        let found = judge_against(git, parent.label, &changes, references, policy, allow)?;
        common = Some(match common {
            None => found,
            Some(mut before) => {
                let same = |a: &Finding, b: &Finding| (a.code, &a.path) == (b.code, &b.path);
                before.refused.retain(|one| found.refused.iter().any(|other| same(one, other)));
                before.held.retain(|one| found.held.iter().any(|other| same(one, other)));
                before
            }
        });
    }
    Ok(common.unwrap_or_default())
}

fn judge_against(
    git: &Git,
    label: &'static str,
    changes: &[&PathChange],
    references: &[SizeReference<'_>],
    policy: &Policy,
    allow: &[String],
) -> Result<GuardFindings> {
    let mut warnings = Vec::new();
    // Of links and submodules only the path is judged. A file that becomes one counts as deleted.
    let (files, non_files): (Vec<&PathChange>, Vec<&PathChange>) =
        changes.iter().partition(|one| {
            [&one.old, &one.new].iter().any(|side| side.as_ref().is_some_and(TreeEntry::is_file))
        });
    let guarded = non_files.iter().filter(|one| policy.protects(&one.path));
    let refused: Vec<Finding> = guarded.map(|one| protected::finding(policy, &one.path)).collect();
    let mut found = GuardFindings { refused, held: Vec::new(), warnings: Vec::new() };
    for part in parts(git, files, &mut warnings)? {
        found.add(judge_part(git, label, &part, references, policy, allow)?);
    }
    found.warnings.append(&mut warnings);
    Ok(found)
}

/// The findings about files whose texts are in memory together.
fn judge_part(
    git: &Git,
    label: &'static str,
    files: &[&PathChange],
    references: &[SizeReference<'_>],
    policy: &Policy,
    allow: &[String],
) -> Result<GuardFindings> {
    let (mut refused, mut warnings) = (Vec::new(), Vec::new());
    let blobs = read(git, files)?;
    let text = |side: &Option<TreeEntry>| {
        let entry = side.as_ref().filter(|entry| entry.is_file())?;
        blobs.get(&entry.id).map(Vec::as_slice)
    };
    let transaction = files
        .iter()
        .map(|one| TransactionFile {
            path: &one.path,
            before: text(&one.old).unwrap_or_default(),
            after: text(&one.new).unwrap_or_default(),
        })
        .collect();
    let transaction = Transaction::new(transaction);
    let reference_texts = read_references(git, files, references)?;
    let subject = |(at, one): (usize, &&PathChange)| {
        let (before, after) = (text(&one.old), text(&one.new));
        let mut references: Vec<Reference<'_>> =
            before.map(|text| Reference { origin: label, text }).into_iter().collect();
        references.extend(
            reference_texts
                .iter()
                .filter(|one| one.at == at)
                .map(|one| Reference { origin: one.label, text: &one.bytes }),
        );
        Subject::new(
            &files[at].path,
            files[at].from.as_ref(),
            before,
            after,
            references,
            policy.time_limit,
        )
        .in_transaction(&transaction)
    };
    let subjects: Vec<Subject<'_>> = files.iter().enumerate().map(subject).collect();
    let context = GuardContext { policy, site: None };
    let overrides = Overrides { requested: allow, ..Overrides::NONE };
    let run = evaluate(GUARDS.iter().copied(), &subjects, &context, overrides);
    // Agents send only text, but a commit may have images. These findings count only for a file
    // that was text.
    let was_text =
        |bytes: &[u8]| memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok();
    let was_not_text: BTreeSet<String> = files
        .iter()
        .filter(|one| !text(&one.old).is_some_and(was_text))
        .map(|one| one.path.text())
        .collect();
    let may_be_binary =
        |path: &Option<String>| path.as_ref().is_some_and(|path| was_not_text.contains(path));
    let about_text = [Code::BinaryContent, Code::Encoding];
    refused.extend(
        run.refused
            .into_iter()
            .filter(|one| !(about_text.contains(&one.code) && may_be_binary(&one.path))),
    );
    let words = about_text.map(Code::allow);
    warnings.extend(
        run.warnings
            .into_iter()
            .filter(|one| !(words.contains(&Some(one.code.name())) && may_be_binary(&one.path))),
    );
    Ok(GuardFindings { refused, held: run.held, warnings })
}

/// The files in parts whose texts take at most [`PART`] bytes, or one file each. A file larger than
/// `MAX_FILE` is left out, with a warning. If there are several parts, the files that lose most are
/// together, so that their losses are counted together.
fn parts<'c>(
    git: &Git,
    files: Vec<&'c PathChange>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Vec<&'c PathChange>>> {
    let ids: BTreeSet<&String> = files.iter().flat_map(|one| one.ids()).collect();
    let ids: Vec<String> = ids.into_iter().cloned().collect();
    let sizes: HashMap<&String, u64> = ids.iter().zip(git.sizes(&ids)?).collect();
    let size = |entry: &Option<TreeEntry>| {
        let entry = entry.as_ref().filter(|entry| entry.is_file());
        entry.and_then(|entry| sizes.get(&entry.id)).copied().unwrap_or(0)
    };
    let mut sized = Vec::new();
    for one in files {
        let (old, new) = (size(&one.old), size(&one.new));
        let Some(large) = [old, new].into_iter().find(|size| *size > MAX_FILE) else {
            sized.push((one, old, new));
            continue;
        };
        let message = format!(
            "{} has {large} bytes, more than the guards read ({MAX_FILE}); it was not judged.",
            one.path
        );
        warnings.push(Warning {
            code: WarningCode::NotExamined,
            path: Some(one.path.text()),
            message,
        });
    }
    if sized.iter().map(|(_, old, new)| old + new).sum::<u64>() > PART {
        sized.sort_by_key(|(_, old, new)| i128::from(*new) - i128::from(*old));
    }
    let (mut parts, mut left) = (Vec::new(), 0);
    for (one, old, new) in sized {
        if parts.is_empty() || old + new > left {
            parts.push(Vec::new());
            left = PART;
        }
        left = left.saturating_sub(old + new);
        parts.last_mut().into_iter().for_each(|part: &mut Vec<_>| part.push(one));
    }
    Ok(parts)
}

/// The blobs of both states, by id.
fn read(git: &Git, files: &[&PathChange]) -> Result<HashMap<String, Vec<u8>>> {
    let ids: BTreeSet<&String> = files.iter().flat_map(|one| one.ids()).collect();
    let ids: Vec<String> = ids.into_iter().cloned().collect();
    let mut blobs = HashMap::new();
    // One by one where they may be large: Git's answer is in memory, too.
    for ids in ids.chunks(if files.len() == 1 { 1 } else { ids.len().max(1) }) {
        for (id, object) in ids.iter().zip(git.objects(ids)?) {
            let object = object.ok_or_else(|| missing_object(id))?;
            blobs.insert(id.clone(), object.bytes);
        }
    }
    Ok(blobs)
}

/// A file's text in a reference state.
struct ReferenceText {
    at: usize,
    label: &'static str,
    bytes: Vec<u8>,
}

fn read_references(
    git: &Git,
    files: &[&PathChange],
    references: &[SizeReference<'_>],
) -> Result<Vec<ReferenceText>> {
    let mut found = Vec::new();
    for reference in references {
        // A batch is read by lines: a name with a line break is compared only with HEAD.
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
            .map(|(at, path)| (at, format!("{}:{path}", reference.rev)))
            .collect();
        let specs: Vec<String> = named.iter().map(|(_, spec)| spec.clone()).collect();
        for ((at, _), object) in named.iter().zip(git.objects(&specs)?) {
            let text = object.filter(|object| object.bytes.len() as u64 <= MAX_FILE);
            found.extend(text.map(|object| ReferenceText {
                at: *at,
                label: reference.label,
                bytes: object.bytes,
            }));
        }
    }
    Ok(found)
}

fn missing_object(id: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("The object {id}, which edt must judge, could not be read."),
        "`git fsck` lists missing objects; `git fetch` may restore them.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_and_names_with_line_breaks_are_parsed() {
        let entry =
            |mode: &str, id: &str| Some(TreeEntry { mode: mode.to_owned(), id: id.to_owned() });
        let raw = b":100644 100755 aa bb M\0a b\n\0:000000 120000 00 cc A\0l\0:100644 100644 dd ee R086\0x\0y\0";
        let path = |name: &[u8]| RepoPath::from_tree(name);
        let expected = vec![
            PathChange {
                path: path(b"a b\n"),
                from: None,
                old: entry("100644", "aa"),
                new: entry("100755", "bb"),
            },
            PathChange { path: path(b"l"), from: None, old: None, new: entry("120000", "cc") },
            PathChange {
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
