//! `edt guards`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, Ruled};
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint, short};
use crate::base::{Code, RepoPath, Result, Settled, Status};
use crate::guard::GUARDS;
use crate::policy::{GuardMode, Override, Policy, Trust, Validator};

/// List the guards: what each refuses, how it is set here, where its rule comes from, and what was measured.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt guards\n  edt guards src/generated/table.c    # the rules that hold for one path"
)]
pub(super) struct Args {
    /// Show how they are set for this path, relative to the worktree's root.
    path: Option<OsString>,
}

/// The answer of `edt guards`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.guards/1`.
    schema: &'static str,
    /// The commit whose `edt.toml` holds, as a hex object id: the session's base, else HEAD.
    base: String,
    /// The path that `mode` and `override` are for; `null` for what holds where no `[[paths]]` says otherwise.
    path: Option<String>,
    /// Every guard, in the order of reports.
    guards: Vec<Guard>,
    /// The programs under `[[validator]]`; with a path, those that judge it.
    validators: Vec<Program>,
    /// An interrupted transaction that this call settled.
    settled: Option<Settled>,
}

/// One guard.
#[derive(Debug, Serialize, JsonSchema)]
struct Guard {
    /// Its name in answers and in `edt.toml`.
    name: &'static str,
    /// The code of its refusals.
    code: Code,
    /// The word that overrides it in `allow`.
    allow: Option<&'static str>,
    /// What its finding leads to here: `off`, `warn` or `refuse`.
    mode: &'static str,
    /// Who may override a refusal here: `allow` (the request), `approval` (a person) or `never`.
    r#override: &'static str,
    /// Its rule, with the built-in thresholds.
    rule: &'static str,
    /// Where the rule comes from.
    source: &'static str,
    /// What was measured.
    figures: &'static str,
}

/// One validator.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Program {
    /// Its name.
    pub(super) name: String,
    /// The globs of the files that it judges.
    pub(super) paths: Vec<String>,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// The longest it may take for one file.
    pub(super) timeout_ms: u64,
    /// Whether a file that it rejected before may stay rejected.
    pub(super) only_new: bool,
    /// `own` if it stands in the person's own file, `given` if a person trusted the repository's, else `awaited`: it does not run.
    pub(super) trust: &'static str,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let path = self.path.as_ref().map(|path| {
            let raw = path.as_bytes();
            RepoPath::parse(raw).map_err(|problem| problem.finding(raw))
        });
        let path = path.transpose()?;
        let Ruled { base, policy, settled, .. } = context.ruled()?;
        let judges = |one: &&Validator| path.as_ref().is_none_or(|path| one.judges(path));
        let answer = Answer {
            schema: "edt.guards/1",
            base: base.to_string(),
            guards: GUARDS.iter().map(|guard| described(*guard, &policy, path.as_ref())).collect(),
            validators: policy.validators.iter().filter(judges).map(Program::of).collect(),
            path: path.map(|path| path.to_string()),
            settled,
        };
        Ok(context.answer(&answer, people))
    }
}

fn described(guard: &dyn crate::guard::Guard, policy: &Policy, path: Option<&RepoPath>) -> Guard {
    let rule = policy.rule(guard.name(), path);
    Guard {
        name: guard.name(),
        code: guard.code(),
        allow: guard.code().allow(),
        mode: match rule.mode {
            GuardMode::Off => "off",
            GuardMode::Warn => "warn",
            GuardMode::Refuse => "refuse",
        },
        r#override: match rule.overriding {
            Override::Allow => "allow",
            Override::Approval => "approval",
            Override::Never => "never",
        },
        rule: guard.rule(),
        source: guard.source(),
        figures: guard.figures(),
    }
}

impl Program {
    pub(super) fn of(validator: &Validator) -> Program {
        Program {
            name: validator.name.clone(),
            paths: validator.patterns.clone(),
            command: validator.command.clone(),
            timeout_ms: u64::try_from(validator.limit.as_millis()).unwrap_or(u64::MAX),
            only_new: validator.only_new,
            trust: match validator.trust {
                Trust::Own => "own",
                Trust::Given => "given",
                Trust::Awaited => "awaited",
            },
        }
    }

    /// For people: nothing in it can move the cursor or change the direction of the text.
    pub(super) fn people(&self) -> String {
        let trust = match self.trust {
            "awaited" => paint(NOTE, "waits for `edt trust`"),
            "given" => paint(GOOD, "trusted"),
            _ => paint(GOOD, "your own"),
        };
        let command: Vec<String> = self.command.iter().map(|part| format!("{part:?}")).collect();
        let paths: Vec<String> = self.paths.iter().map(|glob| format!("{glob:?}")).collect();
        format!(
            "  {}  {trust}\n    runs {}\n    on {}, at most {} ms\n",
            paint(NAME, &self.name),
            command.join(" "),
            paths.join(" "),
            self.timeout_ms
        )
    }
}

fn people(answer: &Answer) -> String {
    let mut out = render::settled(answer.settled.as_ref());
    let place = answer.path.as_ref().map_or_else(String::new, |path| format!(" for {path}"));
    let _ = writeln!(out, "{}", paint(DIM, &format!("as {} has them{place}", short(&answer.base))));
    for guard in &answer.guards {
        let style = match guard.mode {
            "refuse" => BAD,
            "warn" => NOTE,
            _ => DIM,
        };
        let set = format!("{}, override {}", paint(style, guard.mode), guard.r#override);
        let _ = writeln!(out, "{}  {}  {set}", paint(NAME, guard.name), guard.code.name());
        let _ = writeln!(out, "  {}", guard.rule);
        let _ = writeln!(out, "  {}", paint(DIM, &format!("source: {}", guard.source)));
        let _ = writeln!(out, "  {}", paint(DIM, &format!("figures: {}", guard.figures)));
    }
    if !answer.validators.is_empty() {
        out.push_str("validators\n");
        out.extend(answer.validators.iter().map(Program::people));
    }
    out
}
