//! The state of an evaluation, and what every family of programs needs from it: evaluate a command
//! inside, record a step.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::matching::Invocation;
use super::resolve::{self, ProgramLocation, ResolvedProgram};
use super::shell_ast::{is_open, is_unknown, unmarked};
use super::{CommandPolicy, CommandQuery, Decision, EvaluationStep, Host, Origin};
use edt_types::Level;

/// How deeply commands may be nested.
const MAX_DEPTH: usize = 12;

pub(super) struct Evaluator<'a> {
    pub(super) commands: &'a CommandPolicy,
    pub(super) query: &'a CommandQuery<'a>,
    pub(super) host: &'a dyn Host,
    pub(super) steps: Vec<EvaluationStep>,
    evaluate_layers: EvaluateLayers,
    /// Symbolic links that the command line makes.
    pub(super) made_links: Vec<PathBuf>,
    depth: usize,
    /// Only denied commands are of interest.
    denials_only: bool,
}

/// The decision of all layers of rules on one command; `None` if no rule matches.
type EvaluateLayers = fn(&mut Evaluator<'_>, &CommandInContext<'_>) -> Option<RuleMatch>;

/// One command with the context in which it runs.
pub(super) struct CommandInContext<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) context: &'a CommandContext,
}

/// How a command is run.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandContext {
    /// What runs it: `given`, `env`, `sh -c`, ….
    pub(super) by: String,
    /// The directories that it may run in.
    pub(super) dirs: Vec<PathBuf>,
    /// It gets further arguments that are unknown before it runs.
    pub(super) open_ended: bool,
    /// The text of a here-document or here-string.
    pub(super) input: Option<String>,
}

/// The decision of a rule or a family on a command.
#[derive(Debug, Clone)]
pub(super) struct RuleMatch {
    pub(super) decision: Decision,
    pub(super) rule: String,
    pub(super) reason: String,
    pub(super) origin: Origin,
}

impl RuleMatch {
    pub(super) fn new(decision: Decision, rule: &str, reason: impl Into<String>) -> RuleMatch {
        RuleMatch {
            decision,
            rule: rule.to_owned(),
            reason: reason.into(),
            origin: Origin::BuiltIn,
        }
    }

    pub(super) fn ask(rule: &str, reason: impl Into<String>) -> RuleMatch {
        RuleMatch::new(Decision::Ask, rule, reason)
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        commands: &'a CommandPolicy,
        query: &'a CommandQuery<'a>,
        host: &'a dyn Host,
        evaluate_layers: EvaluateLayers,
    ) -> Evaluator<'a> {
        Evaluator {
            commands,
            query,
            host,
            steps: Vec::new(),
            evaluate_layers,
            made_links: Vec::new(),
            depth: 0,
            denials_only: false,
        }
    }
}

impl Evaluator<'_> {
    /// Evaluates a command inside another.
    pub(super) fn command(&mut self, argv: &[String], context: &CommandContext) {
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return self.record_step(
                context,
                argv,
                RuleMatch::ask("no-program", "A program name is missing."),
            );
        };
        if is_unknown(program) {
            let reason = "Which program runs is unknown before it runs. Name the program.";
            return self.record_step(context, argv, RuleMatch::ask("script", reason));
        }
        if self.depth >= MAX_DEPTH {
            return self.record_step(
                context,
                argv,
                RuleMatch::ask(
                    "too-deep",
                    format!("Commands are nested more than {MAX_DEPTH} deep."),
                ),
            );
        }
        self.depth += 1;
        self.program(OsStr::new(program), argv, context);
        self.depth -= 1;
    }

    /// Calls `evaluate` and keeps only the denied steps of those that it records. Does nothing if
    /// it is already under way.
    pub(super) fn keep_denials(&mut self, evaluate: impl FnOnce(&mut Self)) {
        if std::mem::replace(&mut self.denials_only, true) {
            return;
        }
        self.drop_others(evaluate);
        self.denials_only = false;
    }

    /// Calls `evaluate` and keeps only the denied steps, also below [`Self::keep_denials`]: for one
    /// command, not for each of many.
    pub(super) fn drop_others(&mut self, evaluate: impl FnOnce(&mut Self)) {
        let before = self.steps.len();
        evaluate(self);
        let found = self.steps.split_off(before);
        self.steps.extend(found.into_iter().filter(|step| step.decision == Decision::Deny));
    }

    /// Records a decision on something that is not a command of its own.
    pub(super) fn record_step(
        &mut self,
        context: &CommandContext,
        argv: &[String],
        rule_match: RuleMatch,
    ) {
        self.steps.push(step(context, argv, rule_match));
    }

    /// Whether code of the worktree may run at the requested sandbox level.
    pub(super) fn worktree_code(&self, rule: &str, what: &str) -> RuleMatch {
        if self.query.level >= Level::Standard {
            return RuleMatch::new(
                Decision::Allow,
                rule,
                format!("{what} is code of the worktree; the sandbox confines it."),
            );
        }
        // Only the user's own file can set the minimum below standard.
        if self.commands.run.min_level < Level::Standard {
            return RuleMatch::new(
                Decision::Allow,
                rule,
                format!("{what} is code of the worktree; `sandbox` below [run] lets it run."),
            );
        }
        RuleMatch::ask(
            rule,
            format!(
                "{what} is code of the worktree, and below the sandbox level standard nothing \
                 confines it. Leave --sandbox out."
            ),
        )
    }

    /// Evaluates a command and records its step before those of the commands inside.
    pub(super) fn program(
        &mut self,
        program: &OsStr,
        argv: &[String],
        context: &CommandContext,
    ) -> ResolvedProgram {
        let dir = context.dirs.last().map_or(self.query.root, PathBuf::as_path).to_owned();
        let found = resolve::resolve(program, &dir, self.query.root, self.host);
        let at = self.steps.len();
        let mut strictest: Option<RuleMatch> = None;
        for names in &found.names {
            let invocation = invocation(names, argv, context.open_ended);
            let command = CommandInContext { invocation: &invocation, context };
            if let Some(rule_match) = (self.evaluate_layers)(self, &command)
                && strictest.as_ref().is_none_or(|before| before.decision < rule_match.decision)
            {
                strictest = Some(rule_match);
            }
        }
        let rule_match = self.with_location(strictest, &found, argv);
        self.steps.insert(at, step(context, argv, rule_match));
        found
    }

    /// The decision of the rules, restricted by the location of the program.
    fn with_location(
        &self,
        rule_match: Option<RuleMatch>,
        found: &ResolvedProgram,
        argv: &[String],
    ) -> RuleMatch {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let unknown = || {
            let head = argv.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" ");
            let reason = format!("No rule matches `{head}`.");
            RuleMatch::new(self.commands.run.unknown, "unknown", reason)
        };
        let is_users = |rule_match: &RuleMatch| rule_match.origin == Origin::User;
        let allows = |rule_match: &RuleMatch| rule_match.decision == Decision::Allow;
        if program.is_empty() {
            return RuleMatch::ask("no-program", "A program name is missing.");
        }
        match (rule_match, found.location) {
            (Some(rule_match), _) if is_users(&rule_match) || !allows(&rule_match) => rule_match,
            (_, ProgramLocation::Worktree) => self.worktree_code("worktree-program", program),
            (rule_match, ProgramLocation::Path) => rule_match.unwrap_or_else(unknown),
            (rule_match, ProgramLocation::Missing) if !program.contains('/') => {
                rule_match.unwrap_or_else(unknown)
            }
            (_, ProgramLocation::Missing) => {
                RuleMatch::ask("no-such-program", format!("There is no program at {program}."))
            }
            (_, ProgramLocation::Elsewhere) => RuleMatch::ask(
                "strange-place",
                format!(
                    "{program} is neither in a directory of PATH nor in the worktree, so its name \
                     cannot be trusted."
                ),
            ),
        }
    }
}

fn step(context: &CommandContext, argv: &[String], rule_match: RuleMatch) -> EvaluationStep {
    let RuleMatch { decision, rule, reason, origin } = rule_match;
    EvaluationStep {
        by: context.by.clone(),
        argv: argv.iter().map(|arg| unmarked(arg)).collect(),
        decision,
        rule,
        origin,
        reason: unmarked(&reason),
    }
}

/// Normalizes spellings that mean the same: `git-push` is `git push`, `tar xf` is `tar -xf`.
fn invocation(names: &[String], argv: &[String], open_ended: bool) -> Invocation {
    let args = argv.get(1..).unwrap_or_default();
    let open_ended = open_ended || args.iter().any(|arg| is_open(arg));
    if let Some(part) = names.iter().find_map(|name| name.strip_prefix("git-")) {
        let args = std::iter::once(part.to_owned()).chain(args.iter().cloned()).collect();
        return Invocation { names: vec!["git".to_owned()], args, open_ended };
    }
    let mut args = args.to_vec();
    // The first argument of `tar` contains options, with or without a dash.
    if let Some(first) = args.first_mut().filter(|first| !first.starts_with('-'))
        && names.iter().any(|name| name == "tar")
    {
        first.insert(0, '-');
    }
    Invocation { names: names.to_vec(), args, open_ended }
}
