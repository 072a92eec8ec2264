//! `edt guards`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, RepoWithPolicy};
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint, short};
use edt_guard::guard::{self, GUARDS};
use edt_guard::policy::{GuardMode, Override, Policy, Trust, Validator};
use edt_types::{Code, Recovered, RepoPath, Result, Status};

/// List the guards: what each refuses and how it is configured here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt guards\n  edt guards src/generated/table.c    # the rules for one path"
)]
pub(super) struct Args {
    /// Show the configuration for this path.
    path: Option<OsString>,
}

/// The answer of `edt guards`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.guards/1`.
    schema: &'static str,
    /// The commit whose `edt.toml` applies, as a hex object id: the session's base, else HEAD.
    base: String,
    /// The path to which `mode` and `override` apply; `null` for the configuration without
    /// `[[paths]]`.
    path: Option<String>,
    /// Every guard, in the order in which findings are reported.
    guards: Vec<Guard>,
    /// The programs under `[[validator]]`; with a path, only those that judge it.
    validators: Vec<Program>,
    /// An interrupted transaction that this call recovered.
    recovered: Option<Recovered>,
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
    /// What a finding leads to here: `off`, `warn` or `refuse`.
    mode: &'static str,
    /// Who may override a refusal here: `allow` (the request), `approval` (the user) or `never`.
    r#override: &'static str,
    /// Its rule, with the built-in thresholds.
    rule: &'static str,
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
    /// The time limit for one file.
    pub(super) timeout_ms: u64,
    /// Whether a file that it rejected before the edit may stay rejected.
    pub(super) only_new: bool,
    /// `user` if the user's own file names it, `trusted` if the user trusted the repository's file,
    /// else `untrusted`: then it does not run.
    pub(super) trust: &'static str,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let path = self.path.as_ref().map(|path| context.path(path.as_bytes())).transpose()?;
        let RepoWithPolicy { base, policy, recovered, .. } = context.repo_with_policy()?;
        let matches = |one: &&Validator| path.as_ref().is_none_or(|path| one.matches(path));
        let answer = Answer {
            schema: "edt.guards/1",
            base: base.to_string(),
            guards: GUARDS.iter().map(|guard| described(*guard, &policy, path.as_ref())).collect(),
            validators: policy.validators.iter().filter(matches).map(Program::of).collect(),
            path: path.map(|path| path.text()),
            recovered,
        };
        Ok(context.answer(&answer, render_human))
    }
}

fn described(guard: &dyn guard::Guard, policy: &Policy, path: Option<&RepoPath>) -> Guard {
    let rule = policy.rule(guard.name(), path);
    let code = guard::code_of(guard.name()).unwrap_or(Code::CustomGuard);
    Guard {
        name: guard.name(),
        code,
        allow: code.allow(),
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
                Trust::User => "user",
                Trust::Trusted => "trusted",
                Trust::Untrusted => "untrusted",
            },
        }
    }

    /// The text for a terminal, with control characters escaped.
    pub(super) fn render_human(&self) -> String {
        let trust = match self.trust {
            "untrusted" => paint(NOTE, "waits for `edt trust`"),
            "trusted" => paint(GOOD, "trusted"),
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

fn render_human(answer: &Answer) -> String {
    let mut out = render::recovered(answer.recovered.as_ref());
    let place = answer.path.as_ref().map_or_else(String::new, |path| format!(" for {path}"));
    let _ = writeln!(
        out,
        "{}",
        paint(DIM, &format!("as configured in commit {}{place}", short(&answer.base)))
    );
    for guard in &answer.guards {
        let style = match guard.mode {
            "refuse" => BAD,
            "warn" => NOTE,
            _ => DIM,
        };
        let set = format!("{}, override {}", paint(style, guard.mode), guard.r#override);
        let _ = writeln!(out, "{}  {}  {set}", paint(NAME, guard.name), guard.code.name());
        let _ = writeln!(out, "  {}", guard.rule);
    }
    if !answer.validators.is_empty() {
        out.push_str("validators\n");
        out.extend(answer.validators.iter().map(Program::render_human));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::plain;

    #[test]
    fn a_guard_is_described_as_it_is_configured() {
        let user = "[guards.size_reduction]\nmode = \"warn\"\noverride = \"never\"\n";
        let policy = Policy::of(Some(user), None).unwrap();
        let guard = GUARDS.iter().find(|guard| guard.name() == "size_reduction").unwrap();
        let found = described(*guard, &policy, None);
        assert_eq!(
            (found.code, found.mode, found.r#override),
            (Code::SizeReduction, "warn", "never")
        );
    }

    fn program(trust: &'static str) -> Program {
        Program {
            name: "lint".to_owned(),
            paths: vec!["*.rs".to_owned()],
            command: vec!["lint".to_owned(), "a b\u{1b}".to_owned()],
            timeout_ms: 500,
            only_new: true,
            trust,
        }
    }

    #[test]
    fn an_untrusted_validator_waits_for_trust() {
        assert_eq!(
            plain(&program("untrusted").render_human()),
            "  lint  waits for `edt trust`\n    runs \"lint\" \"a b\\u{1b}\"\n    on \"*.rs\", at most 500 ms\n"
        );
    }

    #[test]
    fn the_validators_come_after_the_guards() {
        let guard = Guard {
            name: "size_reduction",
            code: Code::SizeReduction,
            allow: Some("size_reduction"),
            mode: "refuse",
            r#override: "allow",
            rule: "A file must not shrink much.",
        };
        let answer = Answer {
            schema: "edt.guards/1",
            base: "0123456789abcdef".to_owned(),
            path: Some("a.rs".to_owned()),
            guards: vec![guard],
            validators: vec![program("user")],
            recovered: None,
        };
        assert_eq!(
            plain(&render_human(&answer)),
            "as configured in commit 0123456789ab for a.rs\nsize_reduction  SIZE_REDUCTION  refuse, override \
         allow\n  A file must not shrink much.\nvalidators\n  lint  your own\n    runs \"lint\" \"a \
         b\\u{1b}\"\n    on \"*.rs\", at most 500 ms\n"
        );
    }
}
