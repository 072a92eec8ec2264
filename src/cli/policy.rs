//! `edt policy`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, Ruled};
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::base::{Code, Finding, Level, Result, Status};
use crate::policy::Policy;
use crate::policy::command::{Asked, Commands, Decision, OnDisk, Origin, Rule, Step};

/// Tell what the policy says of a command, and which rules there are.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt policy check -- git push --force\n  edt policy explain git-push-force\n\nExit status of check: 0 allow, 1 deny, 4 ask."
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Check(CheckArgs),
    Explain(ExplainArgs),
}

/// Tell what would become of a command under `edt run`, how it is read, and which rule decides. Runs nothing.
///
/// Works without a repository, too: then by the built-in rules and your own edt.toml.
#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// A variable that the command would be given.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// Where it would run, relative to the current folder.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The sandbox that it would run in; that of the policy if none is named.
    #[arg(long, value_name = "LEVEL")]
    sandbox: Option<Level>,
    /// Judge many commands: each line of standard input is a JSON array of a program and its arguments; the exit status is that of the
    /// strictest.
    #[arg(long, conflicts_with = "argv")]
    lines: bool,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM [ARG]...", required_unless_present = "lines")]
    argv: Vec<OsString>,
}

/// List the rules, or tell one, with where it comes from.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt policy explain\n  edt policy explain git-reset-hard --json"
)]
struct ExplainArgs {
    /// The rule.
    rule: Option<String>,
}

/// The answer of `edt policy`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.policy/1`.
    schema: &'static str,
    /// What becomes of each command that was asked about.
    judgements: Vec<Judged>,
    /// The rules that were asked for, in the order of the layers: yours, built in, the repository's.
    rules: Vec<Described>,
}

/// What becomes of one command.
#[derive(Debug, Serialize, JsonSchema)]
struct Judged {
    /// The program and its arguments; invalid UTF-8 is replaced.
    argv: Vec<String>,
    /// `allow`, `ask` or `deny`: the strictest of the steps.
    decision: Decision,
    /// The rule that decided.
    rule: String,
    /// Where it comes from.
    origin: Origin,
    /// Why.
    reason: String,
    /// What to do next; empty if it may run.
    hint: &'static str,
    /// The file that would be executed; `null` if there is none.
    program: Option<String>,
    /// The same without links.
    real: Option<String>,
    /// The sandbox that was assumed.
    sandbox: Level,
    /// How it was read: each command found inside, with its own decision.
    steps: Vec<Step>,
}

/// One rule.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Described {
    /// Its name.
    name: String,
    /// Where it comes from.
    origin: Origin,
    /// What it decides.
    decision: Decision,
    /// The program and the words that come first, each as alternatives.
    argv: Vec<Vec<String>>,
    /// One of these must stand among the other arguments; `null`: whatever follows.
    with: Option<Vec<String>>,
    /// Every other argument must be one of these; `null`: whatever follows.
    only: Option<Vec<String>>,
    /// Why.
    reason: String,
    /// Commands that it is about.
    r#match: Vec<Vec<String>>,
    /// Commands that it is not about.
    not_match: Vec<Vec<String>>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (commands, root) = rules(context)?;
        match &self.what {
            What::Check(args) => args.run(context, &commands, root),
            What::Explain(args) => args.run(context, &commands),
        }
    }
}

/// The rules that hold here, and the worktree's root.
fn rules(context: &Context) -> Result<(Commands, Option<PathBuf>)> {
    match context.ruled() {
        Ok(Ruled { repo, policy, .. }) => Ok((policy.commands, Some(repo.real_root()?))),
        Err(error) if error.any(|finding| finding.code == Code::NotARepository) => {
            let person = context.caller()?.person_policy;
            Ok((Policy::of(person.as_deref(), None)?.commands, None))
        }
        Err(error) => Err(error),
    }
}

impl CheckArgs {
    fn run(&self, context: &Context, commands: &Commands, root: Option<PathBuf>) -> Result<Status> {
        let start =
            crate::io::programs::real(&context.start).unwrap_or_else(|| context.start.clone());
        let dir = self.cwd.as_ref().map_or_else(|| start.clone(), |cwd| start.join(cwd));
        let root = root.unwrap_or(start);
        let level = self.sandbox.unwrap_or(commands.run.least);
        let env = self.env.iter().map(variable).collect::<Result<Vec<_>>>()?;
        let all = self.asked()?;
        let judgements = all.iter().map(|argv| {
            let (program, args) = argv
                .split_first()
                .map_or((OsString::new(), &[][..]), |(one, args)| (one.clone(), args));
            let asked = Asked { program: &program, args, dir: &dir, root: &root, env: &env, level };
            judged(commands, &asked)
        });
        let answer =
            Answer { schema: "edt.policy/1", judgements: judgements.collect(), rules: Vec::new() };
        let strictest = answer.judgements.iter().map(|one| one.decision).max();
        context.answer(&answer, |answer| answer.judgements.iter().map(Judged::people).collect());
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
        let mut text = String::new();
        let wrong = |line: usize, why: &dyn std::fmt::Display| {
            let message =
                format!("Line {line} of standard input is no JSON array of texts: {why}.");
            Finding::new(
                Code::BadRequest,
                message,
                "Write each command as [\"PROGRAM\", \"ARG\"] on a line of its own.",
            )
        };
        std::io::stdin().lock().read_to_string(&mut text).map_err(|error| wrong(1, &error))?;
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

fn judged(commands: &Commands, asked: &Asked<'_>) -> Judged {
    let judgement = commands.judge(asked, &OnDisk);
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Judged {
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
    fn run(&self, context: &Context, commands: &Commands) -> Result<Status> {
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
            let message = format!("There is no rule {name} in a file.{nearest}");
            let hint = "`edt policy explain` lists the rules; docs/commands.md tells of those that are no text, such as inline-code.";
            return Err(Finding::new(Code::BadRequest, message, hint).into());
        }
        let one = self.rule.is_some();
        let answer = Answer { schema: "edt.policy/1", judgements: Vec::new(), rules };
        Ok(context
            .answer(&answer, |answer| answer.rules.iter().map(|rule| rule.people(one)).collect()))
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

    /// For people: what a file says is quoted, so that nothing in it can move the cursor.
    pub(super) fn people(&self, whole: bool) -> String {
        let origin = paint(DIM, &format!("({})", self.origin.name()));
        let mut out = format!("{} {} {origin}\n", painted(self.decision), paint(NAME, &self.name));
        let _ = writeln!(out, "  {}", harmless(&self.reason));
        if whole {
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

impl Judged {
    fn people(&self) -> String {
        let mut out = format!("{} {}\n", painted(self.decision), shown(&self.argv));
        let _ = writeln!(
            out,
            "  {} {}",
            harmless(&self.reason),
            paint(DIM, &format!("(rule {}, {})", self.rule, self.origin.name()))
        );
        let _ = match (&self.program, &self.real) {
            (Some(program), Some(real)) if program != real => {
                writeln!(out, "  runs {program}, which is {real}")
            }
            (Some(program), _) => writeln!(out, "  runs {program}"),
            _ => writeln!(out, "  there is no such program here"),
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

/// A text that cannot move the cursor or change the direction of what follows; its quotes stay as they are.
fn harmless(text: &str) -> String {
    text.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// A command as one line; what is not plain is quoted.
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
