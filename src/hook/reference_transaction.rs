//! `reference-transaction`: protected branches and sessions' refs are neither deleted nor rewound, unless by a person or by edt.
//!
//! edt writes refs itself, which runs no hook. Git asks for every ref it writes, so names decide first.

use std::collections::HashSet;
use std::path::PathBuf;

use super::plumbing::Git;
use super::pre_push::unread;
use super::refs::{Fate, Kind, Protection, Update, fate, is_null, shadow, updates};
use super::who::Who;
use super::{Call, Hook, Site};
use crate::base::{Code, Finding, Findings, Result, Warning};
use crate::io::whole::{self, There};

/// The hook `reference-transaction`.
#[derive(Debug)]
pub struct ReferenceTransaction;

impl Hook for ReferenceTransaction {
    fn name(&self) -> &'static str {
        "reference-transaction"
    }

    fn site(&self) -> Site {
        Site::Worktree
    }

    fn stops(&self) -> &'static str {
        "deletion and rewinding of protected and shadow refs by anyone but a person or edt"
    }

    fn script(&self) -> &'static str {
        include_str!("../../hooks/git/reference-transaction")
    }

    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>> {
        // Only here are the locks held, and only here may it be refused.
        if call.args.first().is_none_or(|state| state != "prepared") {
            return Ok(Vec::new());
        }
        let mut concerned = updates(call.input).ok_or_else(|| unread("reference-transaction"))?;
        concerned.retain(|one| one.name.starts_with("refs/heads/") || shadow(&one.name) != Kind::Free);
        if concerned.is_empty() || call.who == Who::Person {
            return Ok(Vec::new());
        }
        Findings::check(judged(call, &concerned)?)?;
        Ok(Vec::new())
    }
}

fn judged(call: &Call<'_>, updates: &[Update]) -> Result<Vec<Finding>> {
    let git = &call.git;
    // One question for all: what stands (Git may have been told no old value), and what the branches say of themselves.
    let named = updates.iter().flat_map(|one| [one.name.clone(), format!("{}:edt.toml", one.name)]);
    let specs: Vec<String> = named.chain(["HEAD:edt.toml".to_owned()]).collect();
    let mut objects = git.objects(&specs)?;
    let head = objects.pop().flatten();
    let mut found = Vec::new();
    for (update, pair) in updates.iter().zip(objects.chunks(2)) {
        let given = Some(update.old.as_str()).filter(|old| !is_null(old) && !old.starts_with("ref:"));
        let stands = pair.first().and_then(Option::as_ref).map(|object| object.id.as_str()).or(given);
        let files = pair.get(1).and_then(Option::as_ref).into_iter().chain(&head).map(|file| file.bytes.as_slice());
        let kind = Protection::of(call.person_policy, files).map(|protection| protection.kind(&update.name));
        // Whatever a file says that cannot be read: a ref that only grows is let through.
        let assumed = kind.as_ref().map_or(Kind::Protected, |kind| *kind);
        let grows = || stands.map_or(Ok(true), |stands| git.is_ancestor(stands, &update.new));
        let fate = fate(assumed, stands, &update.new, grows)?;
        if fate == Fate::Kept {
            continue;
        }
        let kind = kind?;
        let Some(stands) = stands else { continue };
        if fate == Fate::Deleted
            && (is_packed(git, &update.name, stands)? || kind == Kind::Shadow && is_renamed(git, &update.name, stands)?)
        {
            continue;
        }
        found.push(refusal(git, update, stands, fate, &call.who)?);
    }
    Ok(found)
}

/// Whether only the loose file of the ref goes because the packed one has its value: `git pack-refs`, `git gc`. A deletion
/// holds the lock of the packed refs.
fn is_packed(git: &Git, name: &str, stands: &str) -> Result<bool> {
    let packed = common(git, "packed-refs")?;
    let lock = packed.with_extension("lock");
    let read = |path| whole::at(path).map_err(|error| crate::io::failed("read", path, &error));
    let There::File { bytes, .. } = read(&packed)? else { return Ok(false) };
    let line = format!("{stands} {name}");
    Ok(read(&lock)? == There::Nothing && bytes.split(|&byte| byte == b'\n').any(|one| one == line.as_bytes()))
}

/// Whether the ref is being renamed: Git puts its log aside first, and the log ends at the ref's value.
fn is_renamed(git: &Git, name: &str, stands: &str) -> Result<bool> {
    let read = |path: PathBuf| whole::at(&path).map_err(|error| crate::io::failed("read", &path, &error));
    let There::File { bytes, .. } = read(common(git, "logs/refs/.tmp-renamed-log")?)? else { return Ok(false) };
    let own = read(common(git, &format!("logs/{name}"))?)?;
    let last = bytes.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(own == There::Nothing && last.split(|&byte| byte == b' ').nth(1) == Some(stands.as_bytes()))
}

fn common(git: &Git, file: &str) -> Result<PathBuf> {
    let dir = git.line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    Ok(PathBuf::from(dir.unwrap_or_default()).join(file))
}

fn refusal(git: &Git, update: &Update, stands: &str, fate: Fate, who: &Who) -> Result<Finding> {
    let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
    let what = match fate {
        Fate::Deleted => "be deleted".to_owned(),
        Fate::Pointed => format!("become a name for {}", update.new.trim_start_matches("ref:")),
        Fate::Rewound | Fate::Kept => match git.commits_lost(stands, &update.new) {
            Some(1) => format!("leave one commit behind by moving to {}", short(&update.new)),
            Some(lost @ 2..) => format!("leave {lost} commits behind by moving to {}", short(&update.new)),
            _ => format!("move to {}", short(&update.new)),
        },
    };
    let mut message = format!(
        "{} is at {} and would {what}; this is {}. The ref was not changed.",
        update.name,
        short(stands),
        who.reason()
    );
    let rewritten = if fate == Fate::Rewound { rewritten(git, &update.new)? } else { Rewritten::Not };
    let repair = match rewritten {
        Rewritten::Not if is_rebasing(git)? => Some("`git rebase --abort` goes back to where the branch is."),
        Rewritten::Not => None,
        Rewritten::Index => {
            message.push_str(" Git had already set the index to that commit; files were not touched.");
            Some("`git reset --quiet` sets the index back to HEAD.")
        }
        Rewritten::Files { clean, paths } => {
            message.push_str(&format!(
                " Git had already rewritten the index and files to that commit ({paths} differ); what was uncommitted in them is gone, \
                 unless edt recorded it (`edt log`)."
            ));
            Some(if clean {
                "`git restore --source=HEAD --staged --worktree -- :/` brings the files back."
            } else {
                "`git diff --name-only -z --no-renames ORIG_HEAD HEAD | git restore --source=HEAD --staged --worktree --pathspec-from-file=- --pathspec-file-nul` brings those files back and leaves the others."
            })
        }
    };
    let instead = match shadow(&update.name) {
        Kind::Free => {
            "To take changes back use `git revert` or `edt restore`; a person may repeat the command in a terminal of their own."
        }
        _ => {
            "Use `edt undo`, `edt restore` or `edt abandon`; a person may repeat the command in a terminal of their own."
        }
    };
    let hint = repair.map_or_else(|| instead.to_owned(), |repair| format!("{repair} {instead}"));
    let hint = hint.replace("ORIG_HEAD HEAD", &format!("{} HEAD", short(&update.new)));
    let finding = Finding::new(Code::GitOperationBlocked, message, hint).with("ref", update.name.as_str());
    Ok(finding.with("stands", stands).with("new", update.new.as_str()))
}

fn is_rebasing(git: &Git) -> Result<bool> {
    let dir = git.line(&["rev-parse", "--path-format=absolute", "--git-dir"])?.map(PathBuf::from).unwrap_or_default();
    Ok(["rebase-merge", "rebase-apply"].iter().any(|mark| whole::minutes_old(&dir.join(mark)).is_some()))
}

/// What Git did before it asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rewritten {
    /// Nothing that can be seen.
    Not,
    /// The index alone (`git reset`).
    Index,
    /// The index and the files (`git reset --hard`, `--keep`, `git checkout -B`).
    Files {
        /// No tracked file differs from the commit: nothing else can be harmed.
        clean: bool,
        /// How many files differ between HEAD and the commit.
        paths: usize,
    },
}

/// Compares the index and the files with the commit `new`, which HEAD is not at.
fn rewritten(git: &Git, new: &str) -> Result<Rewritten> {
    let Some(top) = git.top()? else { return Ok(Rewritten::Not) };
    let git = Git::at(&top);
    let names = |args: &[&str]| -> Result<HashSet<Vec<u8>>> {
        let listed = git.output(
            &[&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules"], args].concat(),
            b"",
        )?;
        Ok(listed.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
    };
    let touched = names(&[new, "HEAD", "--"])?;
    if touched.is_empty() || !names(&["--cached", new, "--"])?.is_disjoint(&touched) {
        return Ok(Rewritten::Not);
    }
    let dirty = names(&["--"])?;
    if !dirty.is_disjoint(&touched) {
        return Ok(Rewritten::Index);
    }
    Ok(Rewritten::Files {
        clean: dirty.is_empty() && names(&["--cached", new, "--"])?.is_empty(),
        paths: touched.len(),
    })
}
