//! Third stage: all guards on all files. Only here is a [`Cleared`] made.

use std::path::PathBuf;

use tracing::Span;

use super::plan::{FilePlan, Planned};
use super::request::Request;
use super::resolve::Scene;
use crate::base::{Code, Finding, Findings, GuardReport, RepoPath, Result, Verdict, Warning};
use crate::edit::diff::{Lines, Shape};
use crate::git::read::ObjectKind;
use crate::git::{Attributes, FileId, Oid, Repo, Tracked};
use crate::guard::{GUARDS, Guard, Judgement, Reference, Said, Side, Site, Subject};
use crate::io::clock;
use crate::policy::{GuardMode, GuardRule, Override, Policy};
use crate::session::World;
use crate::telemetry::names;

/// A plan that every guard has judged.
#[derive(Debug)]
pub struct Cleared<'q> {
    pub(super) request: &'q Request,
    pub(super) scene: Scene,
    pub(super) files: Vec<FilePlan>,
    /// What changes in each, in numbers.
    pub(super) shapes: Vec<Shape>,
    /// What each guard said.
    pub(super) reports: Vec<GuardReport>,
    /// What they found and policy lets pass, and what they could not judge.
    pub(super) warnings: Vec<Warning>,
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

/// A plan that every guard has judged, and that needs a person's word first.
#[derive(Debug)]
pub struct Held<'q> {
    pub(super) cleared: Cleared<'q>,
    /// What only a person may allow.
    pub(super) needs: Vec<Finding>,
}

impl Held<'_> {
    /// What only a person may allow, as a refusal.
    #[must_use]
    pub fn findings(self) -> Findings {
        Findings::check(self.needs).err().unwrap_or_else(no_reason)
    }
}

/// Lets every guard judge every file. What only a person may allow is in the [`Held`].
///
/// # Errors
/// Every refusal found; `OBJECT_MISSING` if a recorded state cannot be read.
pub fn guard<'q>(
    world: &World,
    planned: Planned<'q>,
) -> Result<std::result::Result<Cleared<'q>, Held<'q>>> {
    let Planned { request, scene, files } = planned;
    let texts = files
        .iter()
        .map(|file| Texts::of(&world.repo, &scene, file))
        .collect::<Result<Vec<Texts>>>()?;
    let sides: Vec<Side<'_>> = files.iter().map(|file| side(&scene, file)).collect();
    let subjects: Vec<Subject<'_>> = files
        .iter()
        .zip(&texts)
        .map(|(file, texts)| texts.subject(&scene, file).beside(&sides).keeping(world.trees()))
        .collect();
    let runs = !scene.policy.validators.is_empty();
    let root = if runs { world.repo.real_root()? } else { PathBuf::new() };
    let site = Site { root: &root, state: world.repo.state_path() };
    let leave = Leave { asked: &request.allow, grants: &request.grants };
    let Heard { reports, warnings, refused, held, mut allowed } =
        hear(&subjects, &scene.policy, leave, Some(site));
    if !refused.is_empty() {
        // Everything that was found is told, what waits for a person after what can be sent otherwise.
        return Err(Findings::check(refused.into_iter().chain(held).collect())
            .err()
            .unwrap_or_else(no_reason));
    }
    allowed.sort_unstable();
    allowed.dedup();
    let shapes =
        files.iter().zip(&subjects).map(|(file, subject)| shape(&scene, file, subject)).collect();
    let cleared =
        Cleared { request, scene, files, shapes, reports, warnings, allowed, _judged: Judged };
    Ok(if held.is_empty() { Ok(cleared) } else { Err(Held { cleared, needs: held }) })
}

/// What changes in `file`; as the guards saw it, if they compared the same two texts.
fn shape(scene: &Scene, file: &FilePlan, subject: &Subject<'_>) -> Shape {
    let old = scene.before(file).map_or(&[][..], |disk| &disk.bytes);
    if std::ptr::eq(old, subject.old_text()) {
        return subject.lines().shape();
    }
    let new = file.after.as_ref().map_or(&[][..], |content| &content.bytes);
    Lines::of(old, new, clock::in_ms(100)).shape()
}

fn no_reason() -> Findings {
    Finding::new(Code::Internal, "A plan was refused without a reason.", "Report this message.")
        .into()
}

/// What a person granted by approving a proposal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The override, as `allow` names it; `protected_path` for a path of `[[protect]]`.
    pub word: String,
    /// The path; `None` for what speaks of a transaction as a whole.
    pub path: Option<String>,
}

/// Which findings may be overridden.
#[derive(Debug, Clone, Copy)]
pub struct Leave<'a> {
    /// The overrides that the request asks for.
    pub asked: &'a [String],
    /// What a person granted.
    pub grants: &'a [Grant],
}

impl Leave<'_> {
    fn grants(&self, word: &str, path: Option<&str>) -> bool {
        self.grants.iter().any(|grant| grant.word == word && grant.path.as_deref() == path)
    }
}

/// What all guards said of all files, and what policy makes of it.
#[derive(Debug, Default)]
pub struct Heard {
    /// What each guard said.
    pub reports: Vec<GuardReport>,
    /// What policy lets pass, and what could not be judged.
    pub warnings: Vec<Warning>,
    /// What stops the change.
    pub refused: Vec<Finding>,
    /// What stops it until a person says otherwise.
    pub held: Vec<Finding>,
    /// Overrides that were needed.
    pub allowed: Vec<String>,
}

/// Lets every guard judge all `subjects` together; `leave` says what may be overridden. Without a `site` there is no worktree, and
/// no program of `edt.toml` runs.
#[must_use]
pub fn hear(
    subjects: &[Subject<'_>],
    policy: &Policy,
    leave: Leave<'_>,
    site: Option<Site<'_>>,
) -> Heard {
    let mut court = Court { leave, policy, heard: Heard::default() };
    // Programs judge files in their worktree, and only there.
    let applies = |guard: &&&dyn Guard| site.is_some() || guard.name() != "validator";
    for guard in GUARDS.iter().filter(applies) {
        for subject in subjects {
            let off = |path| policy.rule(guard.name(), Some(path)).mode == GuardMode::Off;
            if !off(subject.path) || subject.from.is_some_and(|from| !off(from)) {
                let judging = judging(*guard, Some(subject.path)).entered();
                let said = site.map_or_else(
                    || vec![Said { word: guard.name(), judgement: guard.judge(subject, policy) }],
                    |site| guard.say(subject, policy, site),
                );
                court.hear(*guard, Some(subject.path), subject.from, said, &judging);
            }
        }
        if guard.judges_all() && policy.rule(guard.name(), None).mode != GuardMode::Off {
            let judging = judging(*guard, None).entered();
            court.hear(*guard, None, None, guard.say_all(subjects, policy), &judging);
        }
    }
    court.heard
}

/// The span of one guard on one file, or on all together.
fn judging(guard: &dyn Guard, path: Option<&RepoPath>) -> Span {
    tracing::info_span!(
        names::ONE_GUARD,
        { names::OTEL_NAME } = format_args!("guard {}", guard.name()),
        { names::GUARD_NAME } = guard.name(),
        { names::PATH } = path.map(tracing::field::display),
        { names::GUARD_VERDICT } = tracing::field::Empty
    )
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
    leave: Leave<'c>,
    policy: &'c Policy,
    heard: Heard,
}

impl Court<'_> {
    fn hear(
        &mut self,
        guard: &dyn Guard,
        path: Option<&RepoPath>,
        from: Option<&RepoPath>,
        said: Vec<Said>,
        judging: &Span,
    ) {
        let before = self.heard.reports.len();
        let mut rule = self.policy.rule(guard.name(), path);
        if let Some(from) = from {
            // A file does not get past the rules of its place by leaving it.
            let left = self.policy.rule(guard.name(), Some(from));
            rule = GuardRule {
                mode: rule.mode.max(left.mode),
                overriding: rule.overriding.max(left.overriding),
            };
        }
        // What nobody may override, or only a person, yields to nothing.
        let yields = rule.overriding == Override::Allow;
        if yields && path.is_some_and(|path| self.found_more(guard.yields_to(), path)) {
            rule.mode = GuardMode::Warn;
        }
        let guard = guard.name();
        for Said { word, judgement } in said {
            let findings = match judgement {
                Judgement::Pass => {
                    self.report(guard, path, Verdict::Pass, None);
                    continue;
                }
                Judgement::Unchecked(why) => {
                    self.warn(guard, path, word, why);
                    continue;
                }
                Judgement::Found(findings) => findings,
            };
            for finding in findings {
                let found =
                    finding.message.trim_end_matches("Nothing was changed.").trim_end().to_owned();
                match ruling(finding, rule, self.leave) {
                    Ruling::Warn => self.warn(guard, path, word, found),
                    Ruling::Allow(allowed) => {
                        self.report(guard, path, Verdict::Allowed, Some(found));
                        self.heard.allowed.push(allowed.to_owned());
                    }
                    Ruling::Refuse(finding) => {
                        self.report(guard, path, Verdict::Refuse, Some(found));
                        self.heard.refused.push(*finding);
                    }
                    Ruling::Hold(finding) => {
                        self.report(guard, path, Verdict::Refuse, Some(found));
                        self.heard.held.push(*finding);
                    }
                }
            }
        }
        if !judging.is_disabled() {
            let verdicts = self.heard.reports[before..].iter().map(|report| report.verdict);
            let said = verdicts.max_by_key(|verdict| verdict.weight()).unwrap_or(Verdict::Pass);
            judging.record(names::GUARD_VERDICT, said.name());
        }
    }

    /// Whether one of `guards` has refused the file, or has been overridden.
    fn found_more(&self, guards: &[&str], path: &RepoPath) -> bool {
        let found =
            |report: &&GuardReport| matches!(report.verdict, Verdict::Refuse | Verdict::Allowed);
        let named = |report: &GuardReport| {
            guards.contains(&report.guard) && report.path == path.to_string()
        };
        !guards.is_empty() && self.heard.reports.iter().filter(found).any(named)
    }

    fn report(
        &mut self,
        guard: &'static str,
        path: Option<&RepoPath>,
        verdict: Verdict,
        detail: Option<String>,
    ) {
        let path = path.map(ToString::to_string).unwrap_or_default();
        self.heard.reports.push(GuardReport { guard, verdict, path, detail });
    }

    fn warn(
        &mut self,
        guard: &'static str,
        path: Option<&RepoPath>,
        word: &'static str,
        why: String,
    ) {
        self.heard.warnings.push(Warning {
            code: word,
            path: path.map(ToString::to_string),
            message: why.clone(),
        });
        self.report(guard, path, Verdict::Warn, Some(why));
    }
}

/// What policy makes of a finding.
enum Ruling {
    /// It is told.
    Warn,
    /// The request asked for the override of this name, and may.
    Allow(&'static str),
    /// It stops the transaction, in these words.
    Refuse(Box<Finding>),
    /// It stops the transaction until a person allows it.
    Hold(Box<Finding>),
}

fn ruling(finding: Finding, rule: GuardRule, leave: Leave<'_>) -> Ruling {
    if rule.mode != GuardMode::Refuse {
        return Ruling::Warn;
    }
    // A protected path has no word that a request could say; that it is changed at all asks for a person.
    let protected = finding.code == Code::ProtectedPath;
    let Some(word) = finding.allow.or(protected.then_some("protected_path")) else {
        return Ruling::Refuse(Box::new(finding));
    };
    let asked = protected || leave.asked.iter().any(|allow| allow == word);
    Ruling::Refuse(Box::new(match rule.overriding {
        Override::Allow if asked => return Ruling::Allow(word),
        Override::Allow => finding,
        Override::Approval if leave.grants(word, finding.path.as_deref()) => {
            return Ruling::Allow(word);
        }
        Override::Approval if asked => return Ruling::Hold(Box::new(held(finding, word))),
        Override::Approval => not_by_request(
            finding,
            &format!(
                "Only a person may override this here; with allow: [\"{word}\"] the same request becomes a proposal that a person can approve."
            ),
        ),
        Override::Never if protected => finding,
        Override::Never => not_by_request(finding, "Policy lets nobody override this."),
    }))
}

/// A refusal that the request cannot override must not promise that `allow` helps.
fn not_by_request(mut finding: Finding, hint: &str) -> Finding {
    finding.allow = None;
    let own = finding.hint.split(" If ").next().unwrap_or_default();
    finding.hint = format!("{own} {hint}");
    finding
}

/// The request asks for what only a person may grant.
fn held(finding: Finding, word: &'static str) -> Finding {
    let mut held = Finding::new(
        Code::ApprovalRequired,
        format!("Only a person may allow {word} here. {}", finding.message),
        "Send it with `edt propose` for a person to approve, or send an edit that needs no approval.",
    );
    held.path = finding.path;
    held.evidence = finding.evidence;
    held.with("code", finding.code.name()).with("word", word)
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

/// The blob's text as it would be checked out: like is compared with like. From disk if that is what stands there.
fn recorded(repo: &Repo, scene: &Scene, path: &RepoPath, oid: Oid) -> Result<Vec<u8>> {
    let Some(look) = scene.looks.get(path) else { return repo.object(oid, ObjectKind::Blob) };
    match &look.disk {
        Some(disk) if disk.file.oid == oid => Ok(disk.bytes.clone()),
        _ => Ok(look
            .checked_out(
                repo,
                Attributes::Worktree(scene.tip_tree),
                repo.object(oid, ObjectKind::Blob)?,
            )?
            .text),
    }
}
