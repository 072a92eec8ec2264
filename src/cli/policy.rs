//! `edt policy`.

use edt_types::text::Shown as _;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, RepoWithPolicy};
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use edt_command::{CommandPolicy, CommandQuery, Decision, EvaluationStep, Origin, Rule};
use edt_core::session::worktree::worktree_host::WorktreeHost;
use edt_git::Repo;
use edt_guard::policy::Policy;
use edt_types::{Code, Finding, Level, Result, Status};

/// Show what the policy decides about a command, and list its rules.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt policy check -- git push --force\n  edt policy explain git-push-force\n\nExit status of check: 0 allow, 1 deny, 4 ask."
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    Check(CheckArgs),
    Explain(ExplainArgs),
}

/// Show how `edt run` would parse a command, which rule decides, and the decision. Runs nothing.
///
/// Outside of a repository the built-in rules and your own edt.toml decide.
#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// A variable of the command's environment.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// The directory that it would run in, relative to the current directory.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The sandbox that it would run in; the policy's level if omitted.
    #[arg(long, value_name = "LEVEL")]
    sandbox: Option<Level>,
    /// Judge many commands: each line of standard input is a JSON array of a program and its
    /// arguments. The strictest decision gives the exit status.
    #[arg(long, conflicts_with = "argv")]
    lines: bool,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM [ARG]...", required_unless_present = "lines")]
    argv: Vec<OsString>,
}

/// List the rules, or show one, with its origin.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt policy explain\n  edt policy explain git-reset-hard --json"
)]
struct ExplainArgs {
    /// The name of one rule; all rules if omitted.
    rule: Option<String>,
}

/// The answer of `edt policy`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.policy/1`.
    schema: &'static str,
    /// The judgement of each command.
    judgements: Vec<Judgement>,
    /// The rules that were asked for. The order is: the user's, built in, the repository's.
    rules: Vec<Described>,
}

/// The judgement of one command.
#[derive(Debug, Serialize, JsonSchema)]
struct Judgement {
    /// The program and its arguments; invalid UTF-8 is replaced.
    argv: Vec<String>,
    /// `allow`, `ask` or `deny`: the strictest of the steps.
    decision: Decision,
    /// The rule that decided.
    rule: String,
    /// The origin of the rule.
    origin: Origin,
    /// Why.
    reason: String,
    /// What to do next; empty if the command may run.
    hint: &'static str,
    /// The file that would be executed; `null` if there is none.
    program: Option<String>,
    /// The same file with symbolic links resolved.
    real: Option<String>,
    /// The sandbox level that was assumed.
    sandbox: Level,
    /// Each command found inside, with its own decision.
    steps: Vec<EvaluationStep>,
}

/// One rule.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Described {
    /// Its name.
    name: String,
    /// The origin of the rule.
    origin: Origin,
    /// What it decides.
    decision: Decision,
    /// The program and the first words; each is a list of alternatives.
    argv: Vec<Vec<String>>,
    /// The other arguments must contain one of these; `null` if any arguments may follow.
    with: Option<Vec<String>>,
    /// Every other argument must be one of these; `null` if any arguments may follow.
    only: Option<Vec<String>>,
    /// Why.
    reason: String,
    /// Example commands that the rule matches.
    r#match: Vec<Vec<String>>,
    /// Example commands that the rule does not match.
    not_match: Vec<Vec<String>>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (commands, repo) = rules(context)?;
        match &self.command {
            PolicyCommand::Check(args) => args.run(context, &commands, repo.as_ref()),
            PolicyCommand::Explain(args) => args.run(context, &commands),
        }
    }
}

/// The rules that apply here, and the repository, if there is one.
fn rules(context: &Context) -> Result<(CommandPolicy, Option<Repo>)> {
    match context.repo_with_policy() {
        Ok(RepoWithPolicy { repo, policy, .. }) => Ok((policy.commands, Some(repo))),
        Err(error) if error.any(|finding| finding.code == Code::NotARepository) => {
            let user_policy = context.options()?.user_policy;
            Ok((Policy::of(user_policy.as_deref(), None)?.commands, None))
        }
        Err(error) => Err(error),
    }
}

impl CheckArgs {
    fn run(
        &self,
        context: &Context,
        commands: &CommandPolicy,
        repo: Option<&Repo>,
    ) -> Result<Status> {
        let start =
            edt_io::programs::canonical(&context.start).unwrap_or_else(|| context.start.clone());
        let dir = self.cwd.as_ref().map_or_else(|| start.clone(), |cwd| start.join(cwd));
        let root = repo.map(Repo::real_root).transpose()?.unwrap_or(start);
        let host = || WorktreeHost::new(repo);
        let level = self.sandbox.unwrap_or(commands.run.min_level);
        let env = self.env.iter().map(variable).collect::<Result<Vec<_>>>()?;
        let all = self.asked()?;
        let judgements = all.iter().map(|argv| {
            let (program, args) = argv
                .split_first()
                .map_or((OsString::new(), &[][..]), |(one, args)| (one.clone(), args));
            let asked =
                CommandQuery { program: &program, args, dir: &dir, root: &root, env: &env, level };
            judgement_of(commands, &asked, &host())
        });
        let answer =
            Answer { schema: "edt.policy/1", judgements: judgements.collect(), rules: Vec::new() };
        let strictest = answer.judgements.iter().map(|one| one.decision).max();
        context.answer(&answer, |answer| {
            answer.judgements.iter().map(Judgement::render_human).collect()
        });
        Ok(match strictest {
            Some(Decision::Deny) => Status::Refused,
            Some(Decision::Ask) => Status::Held,
            Some(Decision::Allow) | None => Status::Applied,
        })
    }

    fn asked(&self) -> Result<Vec<Vec<OsString>>> {
        if !self.lines {
            return Ok(vec![self.argv.clone()]);
        }
        let wrong = |line: usize, why: &dyn std::fmt::Display| {
            let message =
                format!("Line {line} of standard input is not a JSON array of strings: {why}.");
            Finding::new(
                Code::BadRequest,
                message,
                "Write each command as [\"PROGRAM\", \"ARG\"] on a line of its own.",
            )
        };
        let input = edt_io::streams::read_stdin(u64::MAX).map_err(|error| wrong(1, &error))?;
        let text =
            String::from_utf8(input.unwrap_or_default()).map_err(|error| wrong(1, &error))?;
        let line = |(at, line): (usize, &str)| {
            let argv: Vec<String> =
                serde_json::from_str(line).map_err(|error| wrong(at + 1, &error))?;
            Ok(argv.into_iter().map(OsString::from).collect())
        };
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
    }
}

fn variable(text: &OsString) -> Result<(OsString, OsString)> {
    let lossy = text.to_string_lossy();
    let (name, value) =
        lossy.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Finding::new(
                Code::BadRequest,
                format!("--env {lossy} is not NAME=VALUE."),
                "Write --env NAME=VALUE.",
            )
        })?;
    Ok((name.into(), value.into()))
}

fn judgement_of(
    commands: &CommandPolicy,
    asked: &CommandQuery<'_>,
    host: &WorktreeHost<'_>,
) -> Judgement {
    let judgement = commands.evaluate(asked, host);
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Judgement {
        argv: std::iter::once(asked.program)
            .chain(asked.args.iter().map(OsString::as_os_str))
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect(),
        decision: judgement.decision,
        rule: judgement.rule,
        origin: judgement.origin,
        reason: judgement.reason,
        hint: judgement.hint,
        program: judgement.program.map(text),
        real: judgement.real.map(text),
        sandbox: asked.level,
        steps: judgement.steps,
    }
}

impl ExplainArgs {
    fn run(&self, context: &Context, commands: &CommandPolicy) -> Result<Status> {
        let wanted = |rule: &Rule| self.rule.as_ref().is_none_or(|name| *name == rule.name);
        let all = commands.rules();
        let rules: Vec<Described> = all
            .iter()
            .filter(|(_, rule)| wanted(rule))
            .map(|(origin, rule)| Described::of(*origin, rule))
            .collect();
        if let Some(name) = self.rule.as_ref().filter(|_| rules.is_empty()) {
            let names: Vec<&str> = all.iter().map(|(_, rule)| rule.name.as_str()).collect();
            let near = similar::get_close_matches(name.as_str(), &names, 1, 0.5);
            let nearest =
                near.first().map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            let message = format!("No file has a rule {name}.{nearest}");
            let hint = "`edt policy explain` lists the rules; docs/reference/command-policy.md describes the rules that are code, such as inline-code.";
            return Err(Finding::new(Code::BadRequest, message, hint).into());
        }
        let one = self.rule.is_some();
        let answer = Answer { schema: "edt.policy/1", judgements: Vec::new(), rules };
        Ok(context.answer(&answer, |answer| {
            answer.rules.iter().map(|rule| rule.render_human(one)).collect()
        }))
    }
}

impl Described {
    pub(super) fn of(origin: Origin, rule: &Rule) -> Described {
        let Rule { name, argv, with, only, decision, reason, matching, not_matching, .. } =
            rule.clone();
        Described {
            name,
            origin,
            decision,
            argv,
            with,
            only,
            reason,
            r#match: matching,
            not_match: not_matching,
        }
    }

    /// The text for a terminal, with control characters escaped.
    pub(super) fn render_human(&self, complete: bool) -> String {
        let origin = paint(DIM, &format!("({})", self.origin.name()));
        let mut out = format!("{} {} {origin}\n", painted(self.decision), paint(NAME, &self.name));
        let _ = writeln!(out, "  {}", harmless(&self.reason));
        if complete {
            let mut list = |key: &str, value: String| {
                let _ = writeln!(out, "  {key} = {value}");
            };
            list("argv", format!("{:?}", self.argv));
            self.with.iter().for_each(|with| list("with", format!("{with:?}")));
            self.only.iter().for_each(|only| list("only", format!("{only:?}")));
            let joined = |all: &[Vec<String>]| {
                format!("{:?}", all.iter().map(|one| one.join(" ")).collect::<Vec<_>>())
            };
            list("match", joined(&self.r#match));
            list("not_match", joined(&self.not_match));
        }
        out
    }
}

impl Judgement {
    fn render_human(&self) -> String {
        let mut out = format!("{} {}\n", painted(self.decision), shown(&self.argv));
        let _ = writeln!(
            out,
            "  {} {}",
            harmless(&self.reason),
            paint(DIM, &format!("(rule {}, {})", self.rule, self.origin.name()))
        );
        let _ = match (&self.program, &self.real) {
            (Some(program), Some(real)) if program != real => {
                writeln!(out, "  runs {}, which is {}", program.shown(), real.shown())
            }
            (Some(program), _) => writeln!(out, "  runs {}", program.shown()),
            _ => writeln!(out, "  this program does not exist here"),
        };
        if self.steps.len() > 1 {
            for step in &self.steps {
                let by = paint(DIM, &format!("({}, rule {})", step.by, step.rule));
                let _ = writeln!(out, "    {} {} {by}", painted(step.decision), shown(&step.argv));
            }
        }
        if !self.hint.is_empty() {
            let _ = writeln!(out, "  {}", self.hint);
        }
        out
    }
}

/// `text` with control characters escaped; quotes stay as they are.
fn harmless(text: &str) -> String {
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// A command as one line. Arguments with special characters are quoted.
fn shown(argv: &[String]) -> String {
    let plain = |arg: &&String| {
        !arg.is_empty() && arg.chars().all(|c| c.is_ascii_graphic() && !"'\"\\`$".contains(c))
    };
    argv.iter()
        .map(|arg| if plain(&arg) { arg.clone() } else { format!("{arg:?}") })
        .collect::<Vec<_>>()
        .join(" ")
}

fn painted(decision: Decision) -> String {
    let style = match decision {
        Decision::Allow => GOOD,
        Decision::Ask => NOTE,
        Decision::Deny => BAD,
    };
    paint(style, decision.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::plain;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arguments_with_special_characters_are_quoted() {
        assert_eq!(shown(&words(&["sh", "-c", "a b", "", "$x"])), "sh -c \"a b\" \"\" \"$x\"");
    }

    #[test]
    fn a_reason_keeps_its_quotes_and_loses_its_controls() {
        assert_eq!(harmless("it's \"x\"\u{1b}"), "it's \"x\"\\u{1b}");
    }

    #[test]
    fn a_variable_needs_a_name() {
        assert_eq!(variable(&"A=b=c".into()), Ok(("A".into(), "b=c".into())));
        assert_eq!(
            variable(&"=b".into()),
            Err(Finding::new(
                Code::BadRequest,
                "--env =b is not NAME=VALUE.",
                "Write --env NAME=VALUE."
            )
            .into())
        );
    }

    fn judgement(steps: usize) -> Judgement {
        let step = || EvaluationStep {
            by: "given".to_owned(),
            argv: words(&["ls"]),
            decision: Decision::Allow,
            rule: "read-files".to_owned(),
            origin: Origin::BuiltIn,
            reason: String::new(),
        };
        Judgement {
            argv: words(&["nice", "ls"]),
            decision: Decision::Deny,
            rule: "no".to_owned(),
            origin: Origin::Repository,
            reason: "Not here.".to_owned(),
            hint: "Ask.",
            program: Some("/bin/nice".to_owned()),
            real: Some("/usr/bin/nice".to_owned()),
            sandbox: Level::Standard,
            steps: (0..steps).map(|_| step()).collect(),
        }
    }

    #[test]
    fn a_judgement_names_rule_program_and_next_step() {
        assert_eq!(
            plain(&judgement(1).render_human()),
            "deny nice ls\n  Not here. (rule no, the repository's edt.toml)\n  runs /bin/nice, which is \
         /usr/bin/nice\n  Ask.\n"
        );
    }

    #[test]
    fn several_steps_are_listed() {
        let judgement = Judgement { program: None, real: None, hint: "", ..judgement(2) };
        assert_eq!(
            plain(&judgement.render_human()),
            "deny nice ls\n  Not here. (rule no, the repository's edt.toml)\n  this program does not exist \
         here\n    allow ls (given, rule read-files)\n    allow ls (given, rule read-files)\n"
        );
    }

    #[test]
    fn a_rule_in_full_has_its_patterns_and_examples() {
        let rule = Rule {
            name: "db".to_owned(),
            argv: vec![words(&["make"]), words(&["reset", "drop"])],
            with: Some(words(&["-f"])),
            only: None,
            without: vec![],
            values: vec![],
            decision: Decision::Deny,
            reason: "no".to_owned(),
            matching: vec![words(&["make", "reset", "-f"])],
            not_matching: vec![],
        };
        let found = Described::of(Origin::User, &rule);
        assert_eq!(plain(&found.render_human(false)), "deny db (your own edt.toml)\n  no\n");
        assert_eq!(
            plain(&found.render_human(true)),
            "deny db (your own edt.toml)\n  no\n  argv = [[\"make\"], [\"reset\", \"drop\"]]\n  with = \
         [\"-f\"]\n  match = [\"make reset -f\"]\n  not_match = []\n"
        );
    }
}
