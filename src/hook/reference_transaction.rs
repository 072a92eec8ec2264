//! `reference-transaction`: protected branches and sessions' refs are neither deleted nor rewound, unless by a person or by edt.
//!
//! edt writes refs itself, which runs no hook. Git asks for every ref it writes, so names decide first.

use std::io::ErrorKind;
use std::path::Path;

use super::plumbing::{Git, Object};
use super::pre_push::unread;
use super::refs::{Fate, Kind, Protection, Update, fate, is_null, shadow, updates};
use super::renames::Renames;
use super::repair::{Rewritten, rewritten};
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
        if call.args.first().is_none_or(|state| state != "prepared") || call.who == Who::Person {
            return Ok(Vec::new());
        }
        let mut concerned = updates(call.input).ok_or_else(|| unread("reference-transaction"))?;
        concerned
            .retain(|one| one.name.starts_with("refs/heads/") || shadow(&one.name) != Kind::Free);
        if concerned.is_empty() {
            return Ok(Vec::new());
        }
        Findings::check(judged(call, concerned)?)?;
        Ok(Vec::new())
    }
}

fn judged(call: &Call<'_>, mut updates: Vec<Update>) -> Result<Vec<Finding>> {
    let git = &call.git;
    let common = git.common()?;
    let packed = Packed::of(&common)?;
    let is_new = |one: &Update| is_null(&one.old) && packed.is_new(&common, &one.name);
    updates.retain(|one| !(packed.keeps(one, &one.old) || is_new(one)));
    if updates.is_empty() {
        return Ok(Vec::new());
    }
    // One question for all: what stands (Git may have been told no old value), and what the branches say of themselves.
    let named = updates.iter().flat_map(|one| [one.name.clone(), format!("{}:edt.toml", one.name)]);
    let specs: Vec<String> = named.chain(["HEAD:edt.toml".to_owned()]).collect();
    let mut objects = git.objects(&specs)?;
    let head = objects.pop().flatten();
    let ours = call
        .person()
        .and_then(|own| Protection::of(own, head.iter().map(|file| file.bytes.as_slice())));
    let renames = Renames::of(git, &common);
    let (mut doomed, mut found) = (Vec::new(), Vec::new());
    for (update, pair) in updates.iter().zip(objects.chunks(2)) {
        let given =
            Some(update.old.as_str()).filter(|old| !is_null(old) && !old.starts_with("ref:"));
        let stands =
            pair.first().and_then(Option::as_ref).map(|object| object.id.as_str()).or(given);
        let Some(stands) = stands else { continue };
        if stands == update.new || packed.keeps(update, stands) {
            continue;
        }
        let own = pair
            .get(1)
            .and_then(Option::as_ref)
            .filter(|own| head.as_ref().is_none_or(|head| head.id != own.id));
        let kind = kind(&ours, own, &renames, &update.name);
        // Whatever a file says that cannot be read: a ref that only grows is let through.
        let assumed = kind.as_ref().map_or(Kind::Protected, |kind| *kind);
        if is_null(&update.new)
            && assumed != Kind::Protected
            && renames.is_under_way(&update.name, stands)?
        {
            renames.remember(&update.name, stands)?;
            continue;
        }
        let fate =
            fate(assumed, Some(stands), &update.new, || git.is_ancestor(stands, &update.new))?;
        if fate == Fate::Kept {
            continue;
        }
        if fate == Fate::Deleted {
            renames.keep(&update.name, stands)?;
        }
        match kind {
            Ok(_) => doomed.push((update, stands.to_owned(), fate)),
            Err(findings) => found.extend(findings.into_vec()),
        }
    }
    let back = if doomed.is_empty() && found.is_empty() { None } else { renames.take_back()? };
    for (update, stands, fate) in doomed {
        let mut one = refusal(git, update, &stands, fate, &call.who)?;
        if let Some((name, id)) = &back {
            one.message.push_str(&format!(
                " Git had already taken {name} away to rename it; it is at {} again.",
                short(id)
            ));
        }
        found.push(one);
    }
    Ok(found)
}

/// What the ref is, by what the person and HEAD say, by its own file, and by the name that it had before.
fn kind(
    ours: &Result<Protection>,
    own: Option<&Object>,
    renames: &Renames<'_>,
    name: &str,
) -> Result<Kind> {
    let by_name = shadow(name);
    if by_name != Kind::Free {
        return Ok(by_name);
    }
    let all = [
        ours.as_ref().map_err(Clone::clone)?,
        &Protection::of(None, own.map(|own| own.bytes.as_slice()))?,
    ];
    if let Some(kind) = all.iter().map(|one| one.kind(name)).find(|kind| *kind != Kind::Free) {
        return Ok(kind);
    }
    Ok(if renames.was_session(name)? { Kind::Shadow } else { Kind::Free })
}

/// The packed refs, which tell without a process what neither goes nor stood before.
struct Packed {
    bytes: Vec<u8>,
    /// Someone is changing them: `git pack-refs`, or a deletion.
    locked: bool,
}

impl Packed {
    fn of(common: &Path) -> Result<Packed> {
        let path = common.join("packed-refs");
        let locked = whole::minutes_old(&path.with_extension("lock")).is_some();
        let there = whole::at(&path).map_err(|error| crate::io::failed("read", &path, &error))?;
        Ok(Packed {
            bytes: if let There::File { bytes, .. } = there { bytes } else { Vec::new() },
            locked,
        })
    }

    /// Whether only the loose file goes and the packed value stays: so `git pack-refs` and `git gc` end. A deletion holds the lock.
    fn keeps(&self, update: &Update, stands: &str) -> bool {
        let line = format!("\n{stands} {}\n", update.name);
        !self.locked && is_null(&update.new) && !is_null(stands) && self.holds(&line)
    }

    /// Whether no such ref stands yet, where refs are files.
    fn is_new(&self, common: &Path, name: &str) -> bool {
        let is_absent = |path: &str| {
            common.join(path).symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound)
        };
        is_absent("reftable") && is_absent(name) && !self.holds(&format!(" {name}\n"))
    }

    fn holds(&self, text: &str) -> bool {
        memchr::memmem::find(&self.bytes, text.as_bytes()).is_some()
    }
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn refusal(git: &Git, update: &Update, stands: &str, fate: Fate, who: &Who) -> Result<Finding> {
    let what = match fate {
        Fate::Deleted => "be deleted".to_owned(),
        Fate::Pointed => format!("become a name for {}", update.new.trim_start_matches("ref:")),
        Fate::Rewound | Fate::Kept => match git.commits_lost(stands, &update.new) {
            Some(1) => format!("leave one commit behind by moving to {}", short(&update.new)),
            Some(lost @ 2..) => {
                format!("leave {lost} commits behind by moving to {}", short(&update.new))
            }
            _ => format!("move to {}", short(&update.new)),
        },
    };
    let mut message = format!(
        "{} is at {} and would {what}; this is {}. The ref was not changed.",
        update.name,
        short(stands),
        who.reason()
    );
    let rewritten =
        if fate == Fate::Rewound { rewritten(git, stands, &update.new)? } else { Rewritten::Not };
    message.extend(rewritten.told().map(|told| format!(" {told}")));
    let mut repair = rewritten.repair(short(&update.new));
    if rewritten == Rewritten::Not && is_rebasing(git)? {
        repair = Some("`git rebase --abort` goes back to where the branch is.".to_owned());
    }
    let instead = match shadow(&update.name) {
        Kind::Free => {
            "To take changes back use `git revert` or `edt restore`; a person may repeat the command in a terminal of their own."
        }
        _ => {
            "Use `edt undo`, `edt restore` or `edt abandon`; a person may repeat the command in a terminal of their own."
        }
    };
    let hint = repair.map_or_else(|| instead.to_owned(), |repair| format!("{repair} {instead}"));
    let finding =
        Finding::new(Code::GitOperationBlocked, message, hint).with("ref", update.name.as_str());
    Ok(finding.with("stands", stands).with("new", update.new.as_str()))
}

fn is_rebasing(git: &Git) -> Result<bool> {
    let dir = git.git_dir()?;
    Ok(["rebase-merge", "rebase-apply"]
        .iter()
        .any(|mark| whole::minutes_old(&dir.join(mark)).is_some()))
}
