//! The evaluation of a program: every command in it is a step, and the strictest step decides.

use std::ffi::OsString;
use std::path::Path;

use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::matching::{Invocation, MatchResult};
use super::{
    CommandEvaluation, CommandPolicy, CommandQuery, Decision, Host, Origin, Rule, Trusted,
};
use super::{builtin, files, find, git, interpreter, path_arguments, resolve, script, wrapper};

/// A family of programs whose arguments need more analysis than rules can express. Returns what it
/// found itself; commands inside are evaluated through the [`Evaluator`].
type Family = fn(&mut Evaluator<'_>, &CommandInContext<'_>) -> Vec<RuleMatch>;

const FAMILIES: &[Family] = &[
    wrapper::evaluate,
    script::evaluate,
    interpreter::evaluate,
    files::evaluate,
    find::evaluate,
    git::evaluate,
];

impl CommandPolicy {
    #[must_use]
    pub fn evaluate(&self, query: &CommandQuery<'_>, host: &dyn Host) -> CommandEvaluation {
        evaluate(self, query, host)
    }
}

fn evaluate(
    commands: &CommandPolicy,
    query: &CommandQuery<'_>,
    host: &dyn Host,
) -> CommandEvaluation {
    let mut evaluator = Evaluator::new(commands, query, host, evaluate_layers);
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let argv: Vec<String> = std::iter::once(query.program.to_string_lossy().into_owned())
        .chain(query.args.iter().map(text))
        .collect();
    let context = CommandContext {
        by: "given".to_owned(),
        dirs: vec![query.dir.to_owned()],
        ..CommandContext::default()
    };
    let found = evaluator.program(query.program, &argv, &context);
    let env: Vec<(String, String)> =
        query.env.iter().map(|(name, value)| (text(name), text(value))).collect();
    evaluator.environment("environment", &env);
    evaluate_surroundings(&mut evaluator);
    let strictest = evaluator.steps.iter().map(|step| step.decision).max().unwrap_or(Decision::Ask);
    let first = evaluator.steps.iter().find(|step| step.decision == strictest).cloned();
    let (reason, rule, origin) =
        first.map_or_else(Default::default, |step| (step.reason, step.rule, Some(step.origin)));
    let hint = match strictest {
        Decision::Allow => "",
        Decision::Ask => {
            "Ask the user to run it, or to allow it with a [[command]] rule in their own edt.toml."
        }
        Decision::Deny => {
            "Do what the reason says. edt runs this only if the user's own edt.toml allows it."
        }
    };
    CommandEvaluation {
        decision: strictest,
        program: found.path,
        real: found.real,
        steps: evaluator.steps,
        reason,
        rule,
        origin: origin.unwrap_or(Origin::BuiltIn),
        hint,
    }
}

/// The decision of all layers on one command.
fn evaluate_layers(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Option<RuleMatch> {
    let mut built_in: Vec<RuleMatch> =
        FAMILIES.iter().flat_map(|family| family(evaluator, command)).collect();
    let (commands, invocation) = (evaluator.commands, command.invocation);
    let user = strictest(&commands.user_rules, Origin::User, invocation);
    let rule_match = user.or_else(|| {
        built_in.extend(strictest(builtin::rules(), Origin::BuiltIn, invocation));
        let arguments = if built_in.iter().all(|rule_match| rule_match.decision < Decision::Deny) {
            let mut known = built_in.clone();
            known.extend(builtin_allows(invocation));
            path_arguments::evaluate(evaluator, command, &known)
        } else {
            Vec::new()
        };
        built_in.extend(arguments);
        first_strictest(built_in)
    });
    let repository = strictest(&commands.repository_rules, Origin::Repository, invocation);
    match (rule_match, repository) {
        (None, Some(repo)) if repo.decision == Decision::Allow => match commands.trusted {
            Trusted::Yes => Some(repo),
            Trusted::No => Some(RuleMatch {
                decision: commands.run.unknown.max(Decision::Ask),
                reason: format!(
                    "Only rule {} of the repository allows it, and the user has not trusted \
                     that file with `edt trust`.",
                    repo.rule
                ),
                ..repo
            }),
        },
        (None, Some(repo)) => Some(repo),
        (Some(rule_match), Some(repo)) if repo.decision > rule_match.decision => Some(repo),
        (rule_match, _) => rule_match,
    }
}

/// Evaluates the working directory and the sandbox level of the run.
fn evaluate_surroundings(evaluator: &mut Evaluator<'_>) {
    let context = CommandContext { by: "call".to_owned(), ..CommandContext::default() };
    let (level, min_level) = (evaluator.query.level, evaluator.commands.run.min_level);
    if level < min_level {
        let reason = format!(
            "It requests the sandbox level {level}; policy requires at least {min_level}. Leave \
             --sandbox out."
        );
        evaluator.record_step(
            &context,
            &["--sandbox".to_owned(), level.to_string()],
            RuleMatch::ask("sandbox", reason),
        );
    }
    let dir = evaluator
        .host
        .real_path(evaluator.query.dir)
        .unwrap_or_else(|| resolve::normalized(evaluator.query.dir));
    if !inside(&dir, evaluator.query.root) {
        let argv = ["--cwd".to_owned(), dir.to_string_lossy().into_owned()];
        evaluator.record_step(
            &context,
            &argv,
            RuleMatch::ask(
                "outside",
                "It would run outside the worktree. Choose a directory inside it.",
            ),
        );
    }
}

/// Whether `path` is the worktree or in it, and not in a Git directory.
fn inside(path: &Path, root: &Path) -> bool {
    path.strip_prefix(root).is_ok_and(|below| {
        !below.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
    })
}

/// The strictest match among one layer's rules.
fn strictest(rules: &[Rule], origin: Origin, invocation: &Invocation) -> Option<RuleMatch> {
    let rule_matches = rules.iter().filter_map(|rule| {
        let rule_match =
            |decision, reason| RuleMatch { decision, rule: rule.name.clone(), reason, origin };
        match rule.matches(invocation, builtin::option_table()) {
            MatchResult::No => None,
            MatchResult::Yes => Some(rule_match(rule.decision, rule.reason.clone())),
            MatchResult::Maybe => Some(rule_match(
                Decision::Ask,
                format!(
                    "It gets arguments that are unknown before it runs; with some of them: {}",
                    rule.reason
                ),
            )),
        }
    });
    first_strictest(rule_matches.collect())
}

/// The built-in rules that allow it, whether or not a stricter rule matches, too.
fn builtin_allows(invocation: &Invocation) -> impl Iterator<Item = RuleMatch> {
    let allows = |rule: &&Rule| {
        rule.decision == Decision::Allow
            && rule.matches(invocation, builtin::option_table()) == MatchResult::Yes
    };
    let rule_match = |rule: &Rule| RuleMatch::new(Decision::Allow, &rule.name, rule.reason.clone());
    builtin::rules().iter().filter(allows).map(rule_match)
}

fn first_strictest(rule_matches: Vec<RuleMatch>) -> Option<RuleMatch> {
    rule_matches
        .into_iter()
        .reduce(|best, next| if next.decision > best.decision { next } else { best })
}

#[cfg(test)]
mod tests {
    use edt_types::Level;

    use super::*;
    use crate::tests::{Machine, argv, rule, verdict};

    #[test]
    fn a_program_without_a_name_is_asked_about() {
        assert_eq!(verdict(&[""]), "ask by no-program: A program name is missing.");
    }

    #[test]
    fn the_first_of_the_strictest_steps_gives_the_reason() {
        let found =
            Machine::with(&[]).evaluate(&["sh", "-c", "curl x; git push -f; git clean"], &[]);
        assert_eq!((found.decision, found.rule.as_str()), (Decision::Deny, "git-push-force"));
    }

    #[test]
    fn what_the_caller_can_do_next_depends_on_the_decision() {
        let hint = |text: &str| Machine::with(&[]).evaluate(&argv(text), &[]).hint;
        assert_eq!(hint("ls"), "");
        assert_eq!(
            hint("curl x"),
            "Ask the user to run it, or to allow it with a [[command]] rule in their own edt.toml."
        );
        assert_eq!(
            hint("git clean"),
            "Do what the reason says. edt runs this only if the user's own edt.toml allows it."
        );
    }

    #[test]
    fn a_rule_of_the_user_takes_the_place_of_the_built_in_ones() {
        let mut machine = Machine::with(&[]);
        machine.policy.user_rules = vec![rule("pushes", &["git", "push"], Decision::Allow)];
        assert_eq!(machine.verdict(&argv("git push -f")), "allow by pushes: because of pushes");
    }

    #[test]
    fn a_rule_of_the_repository_can_only_be_stricter() {
        let mut machine = Machine::with(&[]);
        machine.policy.repository_rules = vec![
            rule("pushes", &["git", "push"], Decision::Allow),
            rule("no-status", &["git", "status"], Decision::Deny),
        ];
        assert_eq!(machine.steps(&argv("git push")), ["given: git push = ask by git-push"]);
        assert_eq!(machine.steps(&argv("git status")), ["given: git status = deny by no-status"]);
    }

    #[test]
    fn an_allowing_rule_of_the_repository_needs_trust() {
        let mut machine = Machine::with(&[]);
        machine.policy.repository_rules = vec![rule("frob", &["frobnicate"], Decision::Allow)];
        assert_eq!(
            machine.verdict(&argv("frobnicate")),
            "ask by frob: Only rule frob of the repository allows it, and the user has not trusted that \
         file with `edt trust`."
        );
        machine.policy.trusted = Trusted::Yes;
        assert_eq!(machine.verdict(&argv("frobnicate")), "allow by frob: because of frob");
    }

    #[test]
    fn the_origin_of_the_deciding_rule_is_reported() {
        let mut machine = Machine::with(&[]);
        machine.policy.user_rules = vec![rule("mine", &["ls"], Decision::Deny)];
        let found = machine.evaluate(&argv("ls"), &[]);
        assert_eq!((found.origin, found.steps[0].origin), (Origin::User, Origin::User));
        assert_eq!(machine.evaluate(&argv("cat x"), &[]).origin, Origin::BuiltIn);
    }

    #[test]
    fn a_call_below_the_minimum_sandbox_level_is_asked_about() {
        let machine = Machine { level: Level::Permissive, ..Machine::with(&[]) };
        assert_eq!(
            machine.verdict(&argv("ls")),
            "ask by sandbox: It requests the sandbox level permissive; policy requires at least \
         standard. Leave --sandbox out."
        );
    }

    #[test]
    fn code_of_the_worktree_without_a_sandbox_is_asked_about() {
        let machine = Machine { level: Level::Permissive, ..Machine::with(&[]) };
        assert_eq!(
            machine.verdict(&argv("./build.sh")),
            "ask by worktree-program: ./build.sh is code of the worktree, and below the sandbox level \
         standard nothing confines it. Leave --sandbox out."
        );
    }

    #[test]
    fn the_users_lower_minimum_lets_code_of_the_worktree_run() {
        let mut machine = Machine { level: Level::Permissive, ..Machine::with(&[]) };
        machine.policy.run.min_level = Level::Permissive;
        assert_eq!(
            machine.verdict(&argv("./build.sh")),
            "allow by worktree-program: ./build.sh is code of the worktree; `sandbox` below [run] lets \
         it run."
        );
    }

    #[test]
    fn a_directory_outside_the_worktree_is_a_step() {
        let machine = Machine { dir: "/srv".into(), ..Machine::with(&[]) };
        assert_eq!(
            machine.steps(&argv("ls")),
            ["given: ls = allow by read-files", "call: --cwd /srv = ask by outside"]
        );
    }

    #[test]
    fn a_directory_in_the_git_directory_is_outside() {
        let machine = Machine { dir: "/home/user/tree/.git".into(), ..Machine::with(&[]) };
        assert_eq!(
            machine.steps(&argv("ls"))[1],
            "call: --cwd /home/user/tree/.git = ask by outside"
        );
    }

    #[test]
    fn the_decision_on_unknown_programs_is_a_setting() {
        let mut machine = Machine::with(&[]);
        machine.policy.run.unknown = Decision::Deny;
        assert_eq!(
            machine.verdict(&argv("frobnicate a b c")),
            "deny by unknown: No rule matches `frobnicate a b`."
        );
    }
}
