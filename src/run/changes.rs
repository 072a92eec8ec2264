//! What the guards say of what a program changed, and whether it may stay.

use crate::base::{Code, Finding, GuardReport, RepoPath, Result, Warning};
use crate::git::diff::{Differs, Item};
use crate::git::{Draft, Oid, Repo, Tracked};
use crate::guard::{Reference, Side, Subject, protected};
use crate::policy::Policy;
use crate::policy::command::OnFindings;
use crate::proposal::landing::{self, Plain};
use crate::session::Session;
use crate::session::record::About;
use crate::txn::guard::{Leave, hear};

/// How many files are judged: a generator may write thousands, and every one of them is recorded.
const MOST_FILES: usize = 500;
/// How many bytes of both sides are judged.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// What was said.
#[derive(Debug, Default)]
pub struct Said {
    /// By each guard.
    pub reports: Vec<GuardReport>,
    /// What the caller should know; what was found is among it unless it is in `refused`.
    pub warnings: Vec<Warning>,
    /// Why the changes may not stay.
    pub refused: Vec<Finding>,
    /// What may not stay, and cannot be put back.
    pub stays: Vec<Finding>,
}

/// One file that differs, with its texts.
struct Changed<'a> {
    path: &'a RepoPath,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    base: Option<Vec<u8>>,
}

/// Lets the guards judge what is about to be recorded. A finding that policy lets only a person override, or nobody, is a reason to put
/// everything back; any other is one if `on` says so.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn judge(about: &About<'_>, policy: &Policy, on: OnFindings) -> Result<Said> {
    let (draft, mut said) = (about.draft, Said::default());
    let base = draft.tree_of(about.session.base)?;
    let (files, special): (Vec<&Differs>, Vec<&Differs>) =
        about.paths.iter().partition(|one| one.is_of_files());
    let guarded = special.iter().filter(|one| policy.protects(&one.path));
    said.refused.extend(guarded.map(|one| protected::protected(&one.path)));
    // What cannot be recorded cannot be put back either.
    let left_out = about.left_out.iter().filter(|(path, _)| stands_over(policy, path));
    said.stays.extend(left_out.map(|(path, why)| stays(path, why)));
    let (mut changed, mut bytes) = (Vec::new(), 0);
    for (at, differs) in files.iter().enumerate() {
        if at < MOST_FILES {
            let one = Changed::read(draft, base, differs)?;
            if bytes + one.bytes() <= MOST_BYTES {
                bytes += one.bytes();
                changed.push(one);
                continue;
            }
        }
        // Where a path is said to be a person's, no number of files hides one.
        said.refused
            .extend(policy.protects(&differs.path).then(|| protected::protected(&differs.path)));
    }
    if changed.len() < files.len() {
        let (judged, all) = (changed.len(), files.len());
        let message = format!(
            "The guards judged {judged} of {all} files that the program changed; all are recorded."
        );
        if on == OnFindings::Refuse {
            let hint = "Change less at once, or leave large files out of the worktree.";
            said.refused.push(Finding::new(Code::FileTooLarge, message.clone(), hint));
        }
        said.warnings.push(Warning { code: "not_all_judged", path: None, message });
    }
    let sides: Vec<Side<'_>> = changed.iter().map(Changed::side).collect();
    let subjects: Vec<Subject<'_>> =
        changed.iter().map(|one| one.subject(policy).beside(&sides)).collect();
    let heard = hear(&subjects, policy, Leave { asked: &[], grants: &[] }, None);
    said.reports = heard.reports;
    said.warnings.extend(heard.warnings);
    // What programs write may be a picture; only text that would cease to be text counts.
    let was_text =
        |bytes: &Vec<u8>| memchr::memchr(0, bytes).is_none() && std::str::from_utf8(bytes).is_ok();
    let is_new = |finding: &Finding| {
        let named = |one: &&Changed<'_>| finding.path == Some(one.path.to_string());
        changed.iter().find(named).is_some_and(|one| !one.before.as_ref().is_some_and(was_text))
    };
    for finding in heard.refused.into_iter().chain(heard.held) {
        if matches!(finding.code, Code::BinaryContent | Code::Encoding) && is_new(&finding) {
            continue;
        }
        // A word that no request could override is a person's to say, or nobody's.
        if finding.allow.is_none() || on == OnFindings::Refuse {
            said.refused.push(finding);
        } else {
            let message =
                finding.message.trim_end_matches("Nothing was changed.").trim_end().to_owned();
            said.warnings.push(Warning {
                code: finding.allow.unwrap_or("found"),
                path: finding.path,
                message,
            });
        }
    }
    Ok(said)
}

/// Protected paths that somebody else recorded while the program ran, and no person approved: nobody can tell whether the program did it.
///
/// # Errors
/// `OBJECT_MISSING`.
pub(super) fn others(
    repo: &Repo,
    policy: &Policy,
    session: &Session,
    before: Oid,
    after: Oid,
) -> Result<Vec<Finding>> {
    let seen = Session { base: before, tip: after, ..session.clone() };
    let found = landing::uncovered(repo, policy, &seen, Plain::Nobody)?;
    Ok(found
        .into_iter()
        .map(|mut finding| {
            finding.message = finding.message.replace(
                "Nothing was landed.",
                "It was recorded while the program ran, and stays; `edt land` waits for a person.",
            );
            finding
        })
        .collect())
}

/// Whether policy protects `path`, or something that stands below it.
fn stands_over(policy: &Policy, path: &RepoPath) -> bool {
    let below = RepoPath::from_tree(&[path.as_bytes(), b"/x"].concat());
    policy.protects(path)
        || policy.protects(&below)
        || path.parents().any(|above| policy.protects(&RepoPath::from_tree(above)))
}

fn stays(path: &RepoPath, why: &Finding) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!("{path} needs a person, and the program changed it in a way that edt cannot put back: {}", why.message.replace(" Nothing was changed.", "")),
        "Nothing of it is recorded. A person sets it back: `git status` shows it, `git restore` gives the recorded file.",
    )
    .at(path)
}

impl<'a> Changed<'a> {
    fn read(draft: &Draft<'_>, base: Oid, differs: &'a Differs) -> Result<Changed<'a>> {
        let text = |item: Option<Item>| {
            item.and_then(Item::file).map(|file| draft.content(file.oid)).transpose()
        };
        let base = match draft.repo().tracked(base, &differs.path)? {
            Tracked::File(file) if differs.old.and_then(Item::file) != Some(file) => {
                Some(draft.content(file.oid)?)
            }
            _ => None,
        };
        Ok(Changed {
            path: &differs.path,
            before: text(differs.old)?,
            after: text(differs.new)?,
            base,
        })
    }

    fn bytes(&self) -> usize {
        [&self.before, &self.after, &self.base].into_iter().flatten().map(Vec::len).sum()
    }

    fn side(&self) -> Side<'_> {
        Side {
            path: self.path,
            before: self.before.as_deref().unwrap_or_default(),
            after: self.after.as_deref().unwrap_or_default(),
        }
    }

    fn subject<'s>(&'s self, policy: &Policy) -> Subject<'s> {
        let texts = [("the session", &self.before), ("the session's base", &self.base)];
        let references = texts
            .into_iter()
            .filter_map(|(whose, text)| Some(Reference { whose, text: text.as_deref()? }));
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        Subject::new(self.path, None, before, after, references.collect(), policy.time_limit)
    }
}
