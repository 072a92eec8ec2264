//! Third stage: all guards on all files. Only here is a [`Cleared`] made.

use super::plan::{FilePlan, Planned};
use super::request::Request;
use super::resolve::Scene;
use crate::base::{Finding, Findings, GuardReport, RepoPath, Result, Verdict};
use crate::git::read::ObjectKind;
use crate::git::{FileId, Oid, Repo, Tracked};
use crate::guard::{GUARDS, Judgement, Reference, Side, Subject};
use crate::policy::{GuardMode, GuardRule, Override, Policy};
use crate::session::World;

/// A plan that every guard has judged.
#[derive(Debug)]
pub struct Cleared<'q> {
    pub(super) request: &'q Request,
    pub(super) scene: Scene,
    pub(super) files: Vec<FilePlan>,
    /// What each guard said.
    pub(super) reports: Vec<GuardReport>,
    /// Overrides that were needed.
    pub(super) allowed: Vec<String>,
    /// Made in this file alone: no other stage can say that the guards ran.
    _judged: Judged,
}

#[derive(Debug)]
struct Judged;

impl Cleared<'_> {
    /// Whether the edits change nothing.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.files.is_empty()
    }
}

/// Lets every guard judge every file.
///
/// # Errors
/// Every refusal found; `UNSUPPORTED_REPOSITORY` if Git would convert a new text; `OBJECT_MISSING` if a recorded state cannot
/// be read.
pub fn guard<'q>(world: &World, planned: Planned<'q>) -> Result<Cleared<'q>> {
    let Planned { request, scene, files } = planned;
    let mut refused = Vec::new();
    for file in &files {
        let convertible = scene.looks.get(&file.path).is_some_and(|look| look.convertible);
        if let Some(content) = file.after.as_ref().filter(|_| convertible)
            && let Err(error) = world.repo.check_unconverted(&file.path, &content.bytes)
        {
            refused.extend(error.into_vec());
        }
    }
    let texts = files.iter().map(|file| Texts::of(&world.repo, &scene, file)).collect::<Result<Vec<Texts>>>()?;
    let sides: Vec<Side<'_>> = files.iter().map(|file| side(&scene, file)).collect();
    let subjects: Vec<Subject<'_>> =
        files.iter().zip(&texts).map(|(file, texts)| texts.subject(&scene, file).beside(&sides)).collect();
    let mut court = Court { request, policy: &scene.policy, reports: Vec::new(), refused, allowed: Vec::new() };
    for guard in GUARDS {
        for subject in &subjects {
            if scene.policy.rule(guard.name(), Some(subject.path)).mode != GuardMode::Off {
                court.hear(guard.name(), Some(subject.path), guard.judge(subject, &scene.policy));
            }
        }
        if scene.policy.rule(guard.name(), None).mode != GuardMode::Off {
            let together = guard.judge_all(&subjects, &scene.policy);
            if together != Judgement::Pass {
                court.hear(guard.name(), None, together);
            }
        }
    }
    let Court { reports, refused, mut allowed, .. } = court;
    Findings::check(refused)?;
    allowed.sort_unstable();
    allowed.dedup();
    Ok(Cleared { request, scene, files, reports, allowed, _judged: Judged })
}

fn side<'a>(scene: &'a Scene, file: &'a FilePlan) -> Side<'a> {
    let before = scene.looks.get(&file.path).and_then(|look| look.disk.as_ref());
    let after = file.after.as_ref().map(|content| content.bytes.as_slice());
    Side {
        path: &file.path,
        before: before.map(|disk| disk.bytes.as_slice()).unwrap_or_default(),
        after: after.unwrap_or_default(),
    }
}

/// Collects what the guards say and what policy makes of it.
struct Court<'c> {
    request: &'c Request,
    policy: &'c Policy,
    reports: Vec<GuardReport>,
    refused: Vec<Finding>,
    allowed: Vec<String>,
}

impl Court<'_> {
    fn hear(&mut self, guard: &'static str, path: Option<&RepoPath>, judgement: Judgement) {
        let rule = self.policy.rule(guard, path);
        let named = path.map(ToString::to_string).unwrap_or_default();
        let mut report = |verdict, detail| {
            self.reports.push(GuardReport { guard, verdict, path: named.clone(), detail });
        };
        let findings = match judgement {
            Judgement::Pass => return report(Verdict::Pass, None),
            Judgement::Unchecked(why) => return report(Verdict::Warn, Some(why)),
            Judgement::Found(findings) => findings,
        };
        for finding in findings {
            let verdict = verdict(&finding, rule, self.request);
            report(verdict, Some(finding.message.trim_end_matches("Nothing was changed.").trim_end().to_owned()));
            match verdict {
                Verdict::Refuse => self.refused.push(worded(finding, rule)),
                Verdict::Allowed => self.allowed.extend(finding.allow.map(str::to_owned)),
                Verdict::Pass | Verdict::Warn => {}
            }
        }
    }
}

fn verdict(finding: &Finding, rule: GuardRule, request: &Request) -> Verdict {
    let asked = finding.allow.is_some_and(|word| request.allow.iter().any(|allow| allow == word));
    match rule {
        GuardRule { mode: GuardMode::Refuse, overriding: Override::Allow } if asked => Verdict::Allowed,
        GuardRule { mode: GuardMode::Refuse, .. } => Verdict::Refuse,
        GuardRule { .. } => Verdict::Warn,
    }
}

/// A refusal that policy lets nobody override must not promise that `allow` helps.
fn worded(mut finding: Finding, rule: GuardRule) -> Finding {
    if finding.allow.is_some() && rule.overriding != Override::Allow {
        finding.allow = None;
        let hint = match rule.overriding {
            Override::Approval => {
                "Policy lets only a person override this: send a smaller edit, or ask one to make the change."
            }
            _ => "Policy lets nobody override this: send a smaller edit (mode \"edit\" or \"append\").",
        };
        hint.clone_into(&mut finding.hint);
    }
    finding
}

/// The texts a subject speaks of.
struct Texts {
    references: Vec<(&'static str, Vec<u8>)>,
}

impl Texts {
    /// Reads what HEAD and the base hold for the file (or for the one it was renamed from); for a file that is in neither, what
    /// stands on disk.
    fn of(repo: &Repo, scene: &Scene, file: &FilePlan) -> Result<Texts> {
        let mut references = Vec::new();
        let mut seen: Vec<Oid> = Vec::new();
        let paths = || std::iter::once(&file.path).chain(&file.from);
        for (whose, tree) in [("HEAD", scene.head_tree), ("the session's base", scene.base_tree)] {
            for path in paths() {
                let Tracked::File(FileId { oid, .. }) = repo.tracked(tree, path)? else { continue };
                if !seen.contains(&oid) {
                    seen.push(oid);
                    references.push((whose, recorded(repo, scene, path, oid)?));
                }
            }
        }
        if references.is_empty() {
            let disk = paths().find_map(|path| scene.looks.get(path)?.disk.as_ref());
            references.extend(disk.map(|disk| ("the worktree", disk.bytes.clone())));
        }
        Ok(Texts { references })
    }

    fn subject<'a>(&'a self, scene: &'a Scene, file: &'a FilePlan) -> Subject<'a> {
        let source = file.from.as_ref().unwrap_or(&file.path);
        let before = scene.looks.get(&file.path).and_then(|look| look.disk.as_ref());
        let before = before.or_else(|| scene.looks.get(source)?.disk.as_ref());
        Subject::new(
            &file.path,
            file.from.as_ref(),
            before.map(|disk| disk.bytes.as_slice()),
            file.after.as_ref().map(|content| content.bytes.as_slice()),
            self.references.iter().map(|(whose, text)| Reference { whose, text }).collect(),
            scene.policy.time_limit,
        )
    }
}

/// The blob's text, from disk if that is what stands there.
fn recorded(repo: &Repo, scene: &Scene, path: &RepoPath, oid: Oid) -> Result<Vec<u8>> {
    match scene.looks.get(path).and_then(|look| look.disk.as_ref()) {
        Some(disk) if disk.file.oid == oid => Ok(disk.bytes.clone()),
        _ => repo.object(oid, ObjectKind::Blob),
    }
}
