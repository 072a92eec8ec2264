//! Runs guards on a planned change and applies the policy to their findings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use edt_types::trace::names;
use edt_types::{Code, Finding, GuardReport, RepoPath, Verdict, Warning, WarningCode};
use tracing::Span;

use super::check::{Guard, GuardContext, GuardOutput};
use super::subject::Subject;
use crate::policy::{GuardMode, GuardRule, Override};

/// An override that the user granted by approving a proposal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The word, as in `allow`; `protected_path` for a path of `[[protect]]`.
    pub word: String,
    /// The path; `None` for a finding about the whole transaction.
    pub path: Option<String>,
}

/// The words of overrides, by the paths that they are for.
pub type PathOverrides = BTreeMap<RepoPath, BTreeSet<String>>;

/// The overrides of the commits of a landing.
#[derive(Debug, Default)]
pub struct LandingOverrides {
    /// Those that the commits recorded. Any program can write them into a commit.
    pub recorded: PathOverrides,
    /// Those that the user granted by approving proposals.
    pub approved: PathOverrides,
    /// Whether the user lands. Then the words of the request are the user's own.
    pub by_user: bool,
}

/// The findings that may be overridden.
#[derive(Debug, Clone, Copy)]
pub struct Overrides<'a> {
    /// The words that the request allows.
    pub requested: &'a [String],
    /// What the user granted.
    pub grants: &'a [Grant],
    /// The overrides of the commits of a landing; `None` for other changes.
    pub landing: Option<&'a LandingOverrides>,
}

impl Overrides<'_> {
    /// No override at all.
    pub const NONE: Overrides<'static> = Overrides { requested: &[], grants: &[], landing: None };

    /// Whether a commit of the landing has the override for the path, from one who may override.
    #[must_use]
    pub fn is_recorded(&self, who: Override, word: &str, path: &RepoPath) -> bool {
        let paths = self.landing.and_then(|landing| match who {
            Override::Allow => Some(&landing.recorded),
            Override::Approval => Some(&landing.approved),
            Override::Never => None,
        });
        let words = paths.and_then(|paths| paths.get(path));
        words.is_some_and(|words| words.contains(word))
    }

    fn is_granted(&self, word: &str, path: Option<&str>) -> bool {
        self.grants.iter().any(|grant| grant.word == word && grant.path.as_deref() == path)
    }

    fn is_by_user(&self) -> bool {
        self.landing.is_some_and(|landing| landing.by_user)
    }
}

/// The result of all guards under a policy.
#[derive(Debug, Default)]
pub struct GuardRun {
    /// The verdict of each guard on each file.
    pub reports: Vec<GuardReport>,
    /// Refusal that policy lets pass, and checks that could not run.
    pub warnings: Vec<Warning>,
    /// Refusal that refuse the change.
    pub refused: Vec<Finding>,
    /// Refusal that refuse the change until the user approves it.
    pub held: Vec<Finding>,
    /// The words of the overrides that were needed.
    pub allowed: Vec<String>,
}

/// Runs `guards` in order on all `files` of one transaction.
///
/// A guard whose mode is `off` for a file, and for the path it was renamed from, is skipped.
#[must_use]
pub fn evaluate<'g>(
    guards: impl IntoIterator<Item = &'g dyn Guard>,
    files: &[Subject<'_>],
    context: &GuardContext<'_>,
    overrides: Overrides<'_>,
) -> GuardRun {
    let refused = HashMap::new();
    let mut evaluation = Evaluation { context, overrides, run: GuardRun::default(), refused };
    for guard in guards {
        for file in files {
            evaluation.check(guard, file);
        }
        evaluation.check_all(guard, files);
    }
    evaluation.run
}

struct Evaluation<'c> {
    context: &'c GuardContext<'c>,
    overrides: Overrides<'c>,
    run: GuardRun,
    /// The guards that refused each path, also where the refusal was overridden.
    refused: HashMap<String, Vec<&'static str>>,
}

/// The guard and the path that a report names.
#[derive(Clone, Copy)]
struct Origin<'o> {
    guard: &'static str,
    path: Option<&'o RepoPath>,
}

impl Evaluation<'_> {
    fn check(&mut self, guard: &dyn Guard, file: &Subject<'_>) {
        let policy = self.context.policy;
        let mut rule = policy.rule_or(guard.name(), guard.default_mode(), Some(file.path));
        if let Some(from) = file.from {
            // A renamed file obeys the rules of both paths.
            let old = policy.rule_or(guard.name(), guard.default_mode(), Some(from));
            rule = GuardRule {
                mode: rule.mode.max(old.mode),
                overriding: rule.overriding.max(old.overriding),
            };
        }
        if rule.mode == GuardMode::Off {
            return;
        }
        let span = span(guard, Some(file.path)).entered();
        let outputs = guard.check(file, self.context);
        // A finding that only the user may override, or nobody, never yields.
        if rule.overriding == Override::Allow && self.any_refused(guard.yields_to(), file.path) {
            rule.mode = GuardMode::Warn;
        }
        self.apply(Origin { guard: guard.name(), path: Some(file.path) }, rule, outputs, &span);
    }

    fn check_all(&mut self, guard: &dyn Guard, files: &[Subject<'_>]) {
        let rule = self.context.policy.rule_or(guard.name(), guard.default_mode(), None);
        if rule.mode == GuardMode::Off {
            return;
        }
        let outputs = guard.check_all(files, self.context);
        if !outputs.is_empty() {
            let span = span(guard, None).entered();
            self.apply(Origin { guard: guard.name(), path: None }, rule, outputs, &span);
        }
    }

    fn apply(
        &mut self,
        origin: Origin<'_>,
        rule: GuardRule,
        outputs: Vec<GuardOutput>,
        span: &Span,
    ) {
        let before = self.run.reports.len();
        for output in outputs {
            match output {
                GuardOutput::Pass => self.report(origin, Verdict::Pass, None),
                GuardOutput::Limited { reason } => {
                    self.report(origin, Verdict::Pass, Some(reason));
                }
                GuardOutput::Noted { word, message: reason }
                | GuardOutput::Unchecked { word, reason } => self.warn(origin, word, reason),
                GuardOutput::Found { word, findings } => {
                    for finding in findings {
                        self.decide(origin, rule, word, finding);
                    }
                }
            }
        }
        if !span.is_disabled() {
            let verdicts = self.run.reports[before..].iter().map(|report| report.verdict);
            let strictest = verdicts.max_by_key(|verdict| verdict.weight());
            span.record(names::GUARD_VERDICT, strictest.unwrap_or(Verdict::Pass).name());
        }
    }

    /// Applies the policy to one finding: warn, allow, refuse, or hold until the user approves.
    fn decide(
        &mut self,
        origin: Origin<'_>,
        rule: GuardRule,
        warning: &'static str,
        finding: Finding,
    ) {
        let summary = finding.summary.trim_end().to_owned();
        if rule.mode != GuardMode::Refuse {
            return self.warn(origin, warning, summary);
        }
        // No request names an override for a protected path: changing it asks for approval.
        let protected = finding.code == Code::ProtectedPath;
        let Some(word) = finding.allow.or(protected.then_some("protected_path")) else {
            return self.refuse(origin, summary, finding);
        };
        let requested = protected || self.overrides.requested.iter().any(|allow| allow == word);
        let recorded =
            origin.path.is_some_and(|path| self.overrides.is_recorded(rule.overriding, word, path));
        let granted = recorded || self.overrides.is_granted(word, finding.path.as_deref());
        let by_user = self.overrides.is_by_user();
        match rule.overriding {
            Override::Allow if requested || recorded => self.allow(origin, summary, word),
            Override::Allow => self.refuse(origin, summary, finding),
            Override::Approval if granted || by_user && requested => {
                self.allow(origin, summary, word);
            }
            Override::Approval if by_user => self.refuse(origin, summary, finding),
            Override::Approval if requested => {
                self.report(origin, Verdict::Refuse, Some(summary));
                self.run.held.push(approval_required(finding, word));
            }
            Override::Approval => {
                let remedy = format!(
                    "Only the user may override this here; with allow: [\"{word}\"] the same \
                     request becomes a proposal that the user can approve."
                );
                self.refuse(origin, summary, without_allow(finding.with("word", word), remedy));
            }
            Override::Never if protected => self.refuse(origin, summary, finding),
            Override::Never => {
                let remedy = "Policy lets nobody override this.".to_owned();
                self.refuse(origin, summary, without_allow(finding, remedy));
            }
        }
    }

    /// Whether one of `guards` has refused the file, or its refusal was overridden.
    fn any_refused(&self, guards: &[&str], path: &RepoPath) -> bool {
        if guards.is_empty() {
            return false;
        }
        let refused = self.refused.get(&path.text());
        refused.is_some_and(|refused| refused.iter().any(|guard| guards.contains(guard)))
    }

    fn refuse(&mut self, origin: Origin<'_>, summary: String, finding: Finding) {
        self.report(origin, Verdict::Refuse, Some(summary));
        self.run.refused.push(finding);
    }

    fn allow(&mut self, origin: Origin<'_>, summary: String, word: &str) {
        self.report(origin, Verdict::Allowed, Some(summary));
        self.run.allowed.push(word.to_owned());
    }

    fn warn(&mut self, origin: Origin<'_>, word: &'static str, message: String) {
        let code = WarningCode::of_guard(word);
        let path = origin.path.map(RepoPath::text);
        self.run.warnings.push(Warning { code, path, message: message.clone() });
        self.report(origin, Verdict::Warn, Some(message));
    }

    fn report(&mut self, origin: Origin<'_>, verdict: Verdict, detail: Option<String>) {
        let path = origin.path.map(RepoPath::text).unwrap_or_default();
        if matches!(verdict, Verdict::Refuse | Verdict::Allowed) {
            self.refused.entry(path.clone()).or_default().push(origin.guard);
        }
        self.run.reports.push(GuardReport { guard: origin.guard, verdict, path, detail });
    }
}

fn span(guard: &dyn Guard, path: Option<&RepoPath>) -> Span {
    tracing::info_span!(
        names::ONE_GUARD,
        { names::OTEL_NAME } = format_args!("guard {}", guard.name()),
        { names::GUARD_NAME } = guard.name(),
        { names::PATH } = path.map(tracing::field::display),
        { names::GUARD_VERDICT } = tracing::field::Empty
    )
}

/// The finding without its promise that `allow` helps: `remedy` says who may override it.
fn without_allow(finding: Finding, remedy: String) -> Finding {
    Finding { allow: None, override_remedy: Some(remedy), ..finding }
}

/// `APPROVAL_REQUIRED` in place of a finding that only the user may override.
fn approval_required(finding: Finding, word: &'static str) -> Finding {
    let required = Finding::new(
        Code::ApprovalRequired,
        format!("Only the user may allow {word} here. {}", finding.summary),
        "Send it with `edt propose` for the user to approve, or send an edit that needs no \
         approval.",
    );
    let required = required.with("code", finding.code.name()).with("word", word);
    let mut evidence = finding.evidence;
    evidence.extend(required.evidence);
    Finding { path: finding.path, effect: finding.effect, evidence, ..required }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    /// A guard of an embedding program, with an override word that edt does not know.
    #[derive(Debug)]
    struct NoTodo;

    impl Guard for NoTodo {
        fn name(&self) -> &'static str {
            "no_todo"
        }

        fn rule(&self) -> &'static str {
            "A file has TODO."
        }

        fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
            let found = memchr::memmem::find(file.after.unwrap_or_default(), b"TODO").map(|at| {
                Finding::new(Code::CustomGuard, format!("TODO at byte {at}."), "Do it.")
                    .overridable_by("todo")
                    .at(file.path)
            });
            GuardOutput::of(self.name(), found)
        }
    }

    fn run(requested: &[String]) -> GuardRun {
        let policy = Policy::of(None, None).unwrap();
        let path = RepoPath::parse(b"a.txt").unwrap();
        let file = Subject::new(&path, None, None, Some(b"TODO\n"), Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let guards: [&dyn Guard; 1] = [&NoTodo];
        evaluate(guards, &[file], &context, Overrides { requested, ..Overrides::NONE })
    }

    #[test]
    fn a_guard_of_an_embedding_program_refuses_with_its_own_override_word() {
        let refused = run(&[]);
        assert_eq!(refused.reports[0].verdict, Verdict::Refuse);
        let [finding] = refused.refused.as_slice() else { panic!("{refused:?}") };
        assert_eq!((finding.code, finding.allow), (Code::CustomGuard, Some("todo")));
        let allowed = run(&["todo".to_owned()]);
        assert_eq!(allowed.reports[0].verdict, Verdict::Allowed);
        assert_eq!((allowed.refused.len(), allowed.allowed), (0, vec!["todo".to_owned()]));
    }

    /// A guard that finds one problem, whatever the file is.
    #[derive(Debug)]
    struct Always {
        name: &'static str,
        code: Code,
        yields: &'static [&'static str],
    }

    impl Guard for Always {
        fn name(&self) -> &'static str {
            self.name
        }

        fn rule(&self) -> &'static str {
            "Every file."
        }

        fn yields_to(&self) -> &'static [&'static str] {
            self.yields
        }

        fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
            let finding = Finding::new(self.code, "Found.", "Do it.")
                .nothing_changed()
                .or_override("If so, allow it.")
                .at(file.path)
                .with("line", 1);
            GuardOutput::of(self.name, Some(finding))
        }
    }

    const ENCODING: Always = Always { name: "encoding", code: Code::Encoding, yields: &[] };

    /// The result of `guards` for a.txt under a repository's policy.
    fn under(policy: &str, guards: &[&dyn Guard], allow: &[&str], grants: &[Grant]) -> GuardRun {
        let policy = Policy::of(None, Some(policy)).unwrap();
        let path = RepoPath::parse(b"a.txt").unwrap();
        let file = Subject::new(&path, None, None, Some(b"x\n"), Vec::new(), policy.time_limit);
        let context = GuardContext { policy: &policy, site: None };
        let requested: Vec<String> = allow.iter().map(|word| (*word).to_owned()).collect();
        let overrides = Overrides { requested: &requested, grants, landing: None };
        evaluate(guards.iter().copied(), &[file], &context, overrides)
    }

    fn encoding(policy: &str, allow: &[&str], grants: &[Grant]) -> GuardRun {
        under(policy, &[&ENCODING], allow, grants)
    }

    fn verdicts(run: &GuardRun) -> Vec<(&'static str, Verdict)> {
        run.reports.iter().map(|report| (report.guard, report.verdict)).collect()
    }

    const WARN: &str = "[guards.encoding]\nmode = \"warn\"\n";
    const APPROVAL: &str = "[guards.encoding]\noverride = \"approval\"\n";
    const NEVER: &str = "[guards.encoding]\noverride = \"never\"\n";

    #[test]
    fn a_guard_that_only_warns_refuses_nothing() {
        let run = encoding(WARN, &[], &[]);
        let warning = Warning {
            code: WarningCode::Guard("encoding"),
            path: Some("a.txt".into()),
            message: "Found.".into(),
        };
        assert_eq!(
            (verdicts(&run), run.warnings),
            (vec![("encoding", Verdict::Warn)], vec![warning])
        );
        assert_eq!((run.refused.len(), run.held.len()), (0, 0));
    }

    #[test]
    fn a_guard_that_is_off_is_not_reported() {
        let run = encoding("[guards.encoding]\nmode = \"off\"\n", &[], &[]);
        assert_eq!((verdicts(&run), run.warnings.len(), run.refused.len()), (vec![], 0, 0));
    }

    #[test]
    fn a_refusal_says_how_to_override_it() {
        let run = encoding("", &[], &[]);
        assert_eq!(run.refused[0].override_remedy.as_deref(), Some("If so, allow it."));
        assert_eq!(run.refused[0].allow, Some("encoding"));
    }

    #[test]
    fn a_word_that_was_not_needed_is_not_recorded() {
        let run = under("", &[], &["encoding"], &[]);
        assert!(run.allowed.is_empty());
        assert_eq!(encoding("", &["encoding"], &[]).allowed, ["encoding"]);
    }

    #[test]
    fn an_override_by_approval_says_that_the_request_becomes_a_proposal() {
        let run = encoding(APPROVAL, &[], &[]);
        assert_eq!(
            run.refused[0].override_remedy.as_deref(),
            Some(
                "Only the user may override this here; with allow: [\"encoding\"] the same \
                 request becomes a proposal that the user can approve."
            )
        );
        assert_eq!(run.refused[0].allow, None);
    }

    #[test]
    fn a_requested_override_by_approval_waits_for_the_user() {
        let run = encoding(APPROVAL, &["encoding"], &[]);
        let finding = Finding::new(
            Code::ApprovalRequired,
            "Only the user may allow encoding here. Found.",
            "Send it with `edt propose` for the user to approve, or send an edit that needs no \
             approval.",
        );
        let path = RepoPath::parse(b"a.txt").unwrap();
        let finding = finding
            .nothing_changed()
            .at(&path)
            .with("line", 1)
            .with("code", "ENCODING")
            .with("word", "encoding");
        assert_eq!((run.held, run.refused.len()), (vec![finding], 0));
    }

    fn grant(path: Option<&str>) -> Grant {
        Grant { word: "encoding".into(), path: path.map(str::to_owned) }
    }

    #[test]
    fn a_grant_for_the_path_allows_it() {
        let run = encoding(APPROVAL, &["encoding"], &[grant(Some("a.txt"))]);
        assert_eq!((run.held.len(), run.allowed), (0, vec!["encoding".to_owned()]));
    }

    #[test]
    fn a_grant_for_another_path_does_not_count() {
        for other in [grant(Some("b.txt")), grant(None)] {
            let run = encoding(APPROVAL, &["encoding"], std::slice::from_ref(&other));
            assert_eq!(run.held.len(), 1, "{other:?}");
        }
    }

    #[test]
    fn what_nobody_may_override_says_so() {
        let run = encoding(NEVER, &["encoding"], &[grant(Some("a.txt"))]);
        assert_eq!(run.refused[0].hint(), "Do it. Policy lets nobody override this.");
        assert_eq!(run.refused[0].allow, None);
    }

    #[test]
    fn a_finding_yields_to_a_guard_that_refused_the_file_before() {
        let later = Always { name: "syntax", code: Code::SyntaxError, yields: &["encoding"] };
        let run = under("", &[&ENCODING, &later], &[], &[]);
        assert_eq!(verdicts(&run), [("encoding", Verdict::Refuse), ("syntax", Verdict::Warn)]);
    }

    #[test]
    fn a_finding_yields_to_an_overridden_refusal_too() {
        let later = Always { name: "syntax", code: Code::SyntaxError, yields: &["encoding"] };
        let run = under("", &[&ENCODING, &later], &["encoding"], &[]);
        assert_eq!(verdicts(&run), [("encoding", Verdict::Allowed), ("syntax", Verdict::Warn)]);
    }

    #[test]
    fn a_finding_that_only_the_user_may_override_never_yields() {
        let later = Always { name: "syntax", code: Code::SyntaxError, yields: &["encoding"] };
        let policy = "[guards.syntax]\noverride = \"never\"\n";
        let run = under(policy, &[&ENCODING, &later], &[], &[]);
        assert_eq!(verdicts(&run), [("encoding", Verdict::Refuse), ("syntax", Verdict::Refuse)]);
    }

    #[test]
    fn a_renamed_file_obeys_the_stricter_rule_of_both_paths() {
        let policy = "[[paths]]\nmatch = [\"new.txt\"]\nguards.encoding.mode = \"off\"\n";
        let policy = Policy::of(None, Some(policy)).unwrap();
        let [old, new] = [b"old.txt", b"new.txt"].map(|path| RepoPath::parse(path).unwrap());
        let run = |from| {
            let limit = policy.time_limit;
            let file = Subject::new(&new, from, None, Some(b"x\n"), Vec::new(), limit);
            let context = GuardContext { policy: &policy, site: None };
            let guards: [&dyn Guard; 1] = [&ENCODING];
            evaluate(guards, &[file], &context, Overrides::NONE).refused.len()
        };
        assert_eq!((run(None), run(Some(&old))), (0, 1));
    }

    #[test]
    fn a_protected_path_waits_for_the_user_without_being_asked() {
        let guard = Always { name: "protected_path", code: Code::ProtectedPath, yields: &[] };
        let policy = "[[protect]]\npaths = [\"a.txt\"]\noverride = \"approval\"\n";
        let run = under(policy, &[&guard], &[], &[]);
        assert_eq!((run.held.len(), run.refused.len()), (1, 0));
        assert_eq!(run.held[0].evidence["word"], "protected_path");
    }

    #[test]
    fn a_protected_path_that_nobody_may_change_keeps_its_own_remedy() {
        let guard = Always { name: "protected_path", code: Code::ProtectedPath, yields: &[] };
        let policy = "[[protect]]\npaths = [\"a.txt\"]\n";
        let run = under(policy, &[&guard], &[], &[]);
        assert_eq!((run.refused[0].remedy.as_str(), run.held.len()), ("Do it.", 0));
    }

    /// A guard that cannot check, and that looks at the whole transaction, too.
    #[derive(Debug)]
    struct Unable;

    impl Guard for Unable {
        fn name(&self) -> &'static str {
            "unable"
        }

        fn rule(&self) -> &'static str {
            "Nothing."
        }

        fn check(&self, _: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
            vec![GuardOutput::Unchecked { word: "unable", reason: "No time.".into() }]
        }

        fn check_all(&self, files: &[Subject<'_>], _: &GuardContext<'_>) -> Vec<GuardOutput> {
            vec![GuardOutput::Unchecked {
                word: "unable",
                reason: format!("Files: {}.", files.len()),
            }]
        }
    }

    #[test]
    fn a_check_that_could_not_run_is_a_warning() {
        let run = under("", &[&Unable], &[], &[]);
        let shown: Vec<(Option<&str>, &str)> = run
            .warnings
            .iter()
            .map(|warning| (warning.path.as_deref(), warning.message.as_str()))
            .collect();
        assert_eq!(shown, [(Some("a.txt"), "No time."), (None, "Files: 1.")]);
        assert_eq!(run.refused.len(), 0);
    }
}
