//! Programs that `edt.toml` names check the new text: in a scratch directory, with exactly their
//! arguments, within a time limit, and only after the user trusted the file that names them.

use std::path::Path;

use super::check::{Guard, GuardContext, GuardOutput, Site};
use super::subject::Subject;
use crate::policy::{GuardMode, Trust, Validator};
use edt_git::confinement::{ConfinedProgram, ConfinedStreams, Variables, WorktreeAccess};
use edt_io::bounded::{self, Job, JobOutput, ProcessEnd};
use edt_io::notices::first_time;
use edt_io::scratch::Scratch;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Refusal, RepoPath};

/// The guard `validator`.
#[derive(Debug)]
pub struct Validators;

const NAME: &str = "validator";
/// Most lines of a program's output that an answer repeats.
const MAX_OUTPUT_LINES: usize = 20;
/// Most characters of them.
const MAX_OUTPUT_CHARACTERS: usize = 2000;

/// The result of one program for one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValidatorResult {
    /// The program ended with status 0; what it wrote, if the validator shows warnings.
    Accepted(String),
    /// The program ended with another status or by a signal.
    Rejected(Rejection),
    /// The program exceeded its time limit.
    TimedOut,
    /// The program does not exist.
    NotFound,
    /// The program could not be run, for this reason.
    Failed(String),
}

/// A program's rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// `exit status 1`, `signal 11`.
    pub end: String,
    /// Its exit status, unless a signal ended it.
    pub status: Option<i32>,
    /// The last lines of its output.
    pub output: String,
    /// Whether there was more output.
    pub truncated: bool,
}

impl Guard for Validators {
    fn name(&self) -> &'static str {
        NAME
    }

    fn rule(&self) -> &'static str {
        "A program under [[validator]] in edt.toml ends with a status other than 0 on the new \
         text, and (unless only_new = false) with 0 on the old text."
    }

    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput> {
        let (Some(site), Some(after)) = (context.site, file.after) else { return Vec::new() };
        let applicable = context.policy.validators.iter().filter(|validator| {
            validator.trust != Trust::Untrusted && validator.matches(file.path)
        });
        let results: Vec<Option<GuardOutput>> =
            applicable.map(|validator| check_one(validator, file, after, site)).collect();
        let ran = results.iter().any(Option::is_some);
        let reported: Vec<GuardOutput> =
            results.into_iter().flatten().filter(|output| *output != GuardOutput::Pass).collect();
        if ran && reported.is_empty() { vec![GuardOutput::Pass] } else { reported }
    }

    fn check_all(&self, files: &[Subject<'_>], context: &GuardContext<'_>) -> Vec<GuardOutput> {
        if context.site.is_none() {
            return Vec::new();
        }
        let policy = context.policy;
        let applies = |validator: &&Validator| {
            let runs = |path| {
                policy.rule(self.name(), Some(path)).mode != GuardMode::Off
                    && validator.matches(path)
            };
            files.iter().any(|file| file.after.is_some() && runs(file.path))
        };
        let untrusted = policy.validators.iter().filter(|one| one.trust == Trust::Untrusted);
        let names: Vec<&str> = untrusted.filter(applies).map(|one| one.name.as_str()).collect();
        let word = "trust_required";
        if names.is_empty() {
            Vec::new()
        } else if policy.require_trust {
            GuardOutput::of(word, Some(trust_required(&names)))
        } else {
            let reason = format!(
                "TRUST_REQUIRED: {} did not run, because the user has not trusted edt.toml as it \
                 is in the session's base commit. The user can do so with `edt trust` in a \
                 terminal.",
                names.join(", ").shown()
            );
            vec![GuardOutput::Unchecked { word, reason }]
        }
    }
}

/// Runs one validator on one file; `None` if its program is missing and that was reported before.
fn check_one(
    validator: &Validator,
    file: &Subject<'_>,
    after: &[u8],
    site: Site<'_>,
) -> Option<GuardOutput> {
    let (name, path) = (&validator.name, file.path);
    let unchecked = |reason| GuardOutput::Unchecked { word: NAME, reason };
    let rejection = match run_validator(validator, path, after, site) {
        ValidatorResult::Accepted(warnings) => {
            return Some(warned(validator, file, &warnings, site));
        }
        ValidatorResult::Rejected(rejection) => rejection,
        ValidatorResult::NotFound => {
            let program = validator.command.first().map(String::as_str).unwrap_or_default();
            let notice = format!("validator {name}: no program {program}");
            return first_time(site.state, &notice).then(|| {
                unchecked(format!(
                    "{name} did not run: there is no program {program}. This is reported once; \
                     `edt guards` lists the validators."
                ))
            });
        }
        other => return Some(unchecked(why_unchecked(validator, "the new text", other))),
    };
    let old = file
        .before
        .filter(|_| validator.only_new)
        .map(|before| run_validator(validator, path, before, site));
    Some(match old {
        None | Some(ValidatorResult::Accepted(_)) => {
            GuardOutput::Found { word: NAME, findings: vec![explain(validator, path, &rejection)] }
        }
        Some(ValidatorResult::Rejected(_)) => unchecked(format!(
            "{name} rejects the new text ({}), and the old text, too; such errors never refuse.",
            rejection.end
        )),
        Some(other) => unchecked(format!(
            "{name} rejects the new text ({}). {}",
            rejection.end,
            why_unchecked(validator, "the old text", other)
        )),
    })
}

/// What a validator writes about a text that it accepts, without what it writes about the old text.
/// Numbers do not count: they are those of lines.
fn warned(
    validator: &Validator,
    file: &Subject<'_>,
    warnings: &str,
    site: Site<'_>,
) -> GuardOutput {
    let without_numbers =
        |line: &str| line.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let mut known: Vec<String> = Vec::new();
    if validator.only_new
        && !warnings.is_empty()
        && let Some(before) = file.before
    {
        let old = match run_validator(validator, file.path, before, site) {
            ValidatorResult::Accepted(old)
            | ValidatorResult::Rejected(Rejection { output: old, .. }) => old,
            _ => String::new(),
        };
        known.extend(old.lines().map(without_numbers));
    }
    let is_new = |line: &&str| !known.contains(&without_numbers(line));
    let new: Vec<&str> = warnings.lines().filter(is_new).collect();
    if new.is_empty() {
        return GuardOutput::Pass;
    }
    let message =
        format!("{} accepts {}, and writes:\n{}", validator.name, file.path, new.join("\n"));
    GuardOutput::Noted { word: NAME, message }
}

fn why_unchecked(validator: &Validator, of: &str, result: ValidatorResult) -> String {
    let name = &validator.name;
    match result {
        ValidatorResult::TimedOut => {
            let limit = validator.limit.as_millis();
            format!("{name} did not check {of}: it timed out after {limit} ms.")
        }
        ValidatorResult::Failed(why) => format!("{name} did not check {of}: {why}."),
        ValidatorResult::Accepted(_) | ValidatorResult::Rejected(_) | ValidatorResult::NotFound => {
            format!("{name} did not check {of}.")
        }
    }
}

/// Runs one validator on one text.
#[must_use]
pub fn run_validator(
    validator: &Validator,
    path: &RepoPath,
    text: &[u8],
    site: Site<'_>,
) -> ValidatorResult {
    let Site { root, environment, reap_orphans, .. } = site;
    let name = validator.command.first();
    let Some(program) = name.and_then(|name| bounded::find(environment, name)) else {
        return ValidatorResult::NotFound;
    };
    let confinement = match validator.trust {
        Trust::User => Ok(None),
        _ => site.repo.confinement(),
    };
    let confinement = match confinement {
        Ok(confinement) => confinement,
        Err(found) => return ValidatorResult::Failed(why_not_run(found)),
    };
    let run = || {
        let scratch = Scratch::outside(environment, root)?;
        let file = scratch.put(path.as_bytes(), text)?;
        let args = validator.args(path, &file, root);
        if let Some(confinement) = confinement {
            let program = ConfinedProgram {
                program: &program,
                args: &args,
                root,
                access: WorktreeAccess::Read,
                dir: scratch.path(),
                variables: Variables::Basic,
                env: &[],
                input: b"",
                scratch: Some(scratch.path()),
                read_only: &[],
                limit: Some(validator.limit),
                output: ConfinedStreams::Joined,
                max_output: bounded::TAIL_BYTES,
            };
            let done = match confinement.run(site.repo.into(), &program) {
                Ok(done) => done,
                Err(found) => return Ok(ValidatorResult::Failed(why_not_run(found))),
            };
            let done = JobOutput { end: done.end, output: done.stdout, written: done.written };
            return Ok(result_of(validator, &done, scratch.path()));
        }
        let job = Job {
            program: &program,
            args: &args,
            dir: scratch.path(),
            limit: validator.limit,
            environment,
            reap_orphans,
        };
        bounded::run(&job).map(|done| result_of(validator, &done, scratch.path()))
    };
    run().unwrap_or_else(|error| {
        ValidatorResult::Failed(format!("{} could not be run ({error})", program.shown()))
    })
}

fn why_not_run(found: Refusal) -> String {
    let first = found.into_vec().into_iter().next();
    first.map(|one| one.summary.trim_end_matches('.').to_owned()).unwrap_or_default()
}

fn result_of(validator: &Validator, done: &JobOutput, scratch: &Path) -> ValidatorResult {
    let (end, status) = match done.end {
        ProcessEnd::Exit(0) => {
            let shown = validator.warnings.then(|| last_lines(&done.output, scratch).0);
            return ValidatorResult::Accepted(shown.unwrap_or_default());
        }
        ProcessEnd::TimedOut => return ValidatorResult::TimedOut,
        ProcessEnd::Exit(status) => (format!("exit status {status}"), Some(status)),
        ProcessEnd::Signal(signal) => (format!("signal {signal}"), None),
    };
    let (output, shortened) = last_lines(&done.output, scratch);
    ValidatorResult::Rejected(Rejection {
        end,
        status,
        output,
        truncated: shortened || done.written > done.output.len() as u64,
    })
}

/// The last lines of an output, and whether there were more. Control characters are removed, and
/// paths are relative to the worktree's root.
fn last_lines(output: &[u8], scratch: &Path) -> (String, bool) {
    let plain = |c: &char| *c == '\n' || *c == '\t' || !c.is_control();
    let text: String = String::from_utf8_lossy(output).chars().filter(plain).collect();
    let text = text.replace(&format!("{}/", scratch.to_string_lossy()), "");
    let text = text.trim_end();
    let mut from = text.rmatch_indices('\n').nth(MAX_OUTPUT_LINES - 1).map_or(0, |(at, _)| at + 1);
    if text[from..].chars().count() > MAX_OUTPUT_CHARACTERS {
        from = text.char_indices().rev().nth(MAX_OUTPUT_CHARACTERS - 1).map_or(0, |(at, _)| at);
    }
    let rest = &text[from..];
    if from > 0 && !text[..from].ends_with('\n') {
        // The first line is not whole.
        let (shown, all) = (rest.chars().count(), text.chars().count());
        return (format!("… (the last {shown} of {all} characters)\n{rest}"), true);
    }
    (rest.to_owned(), from > 0)
}

fn explain(validator: &Validator, path: &RepoPath, rejection: &Rejection) -> Finding {
    let Rejection { end, status, output, truncated } = rejection;
    let output_text = match (output.is_empty(), truncated) {
        (true, _) => "It wrote nothing.".to_owned(),
        (false, true) => format!("The end of what it wrote:\n{output}\n"),
        (false, false) => format!("It wrote:\n{output}\n"),
    };
    Finding::new(
        Code::ValidatorFailed,
        format!("{} rejects the new text of {path} ({end}). {output_text}", validator.name),
        "Correct the content as it says; send edits that only make sense together in one request.",
    )
    .nothing_changed()
    .or_override("If the text is right as it is, repeat with allow: [\"validator_failed\"].")
    .at(path)
    .with("validator", validator.name.as_str())
    .with("command", validator.command.clone())
    .with("exit_status", *status)
    .with("output", output.as_str())
    .with("truncated", *truncated)
}

fn trust_required(names: &[&str]) -> Finding {
    Finding::new(
        Code::TrustRequired,
        format!(
            "Policy requires that {} checks this edit, and the user has not trusted edt.toml as it \
             is in the session's base commit.",
            names.join(", ").shown()
        ),
        "Ask the user to run `edt trust` in a terminal; then repeat the request.",
    )
    .nothing_changed()
    .with("validators", names.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_output_are_relative_to_the_worktree() {
        let scratch = Path::new("/tmp/edt-1-0");
        let (text, more) = last_lines(b"/tmp/edt-1-0/src/a.c:1: \x1b[31mbad\x1b[0m\n\n", scratch);
        assert_eq!((text.as_str(), more), ("src/a.c:1: [31mbad[0m", false));
        let (text, more) = last_lines(&b"cut\n".repeat(MAX_OUTPUT_LINES + 1), scratch);
        assert_eq!((text.lines().count(), more), (MAX_OUTPUT_LINES, true));
        let (text, more) = last_lines("ä".repeat(3000).as_bytes(), scratch);
        assert_eq!((text.matches('ä').count(), more), (MAX_OUTPUT_CHARACTERS, true));
    }

    fn with_limit(limit_ms: u64) -> Validator {
        let text = format!(
            "[[validator]]\nname = \"v\"\npaths = [\"*.c\"]\ncommand = [\"cc\", \"{{file}}\"]\n\
             timeout_ms = {limit_ms}\n"
        );
        crate::policy::Policy::of(Some(&text), None).unwrap().validators.remove(0)
    }

    fn done(end: ProcessEnd, output: &str) -> ValidatorResult {
        let output = output.as_bytes().to_vec();
        let written = output.len() as u64;
        result_of(&with_limit(1), &JobOutput { end, output, written }, Path::new("/scratch"))
    }

    #[test]
    fn a_program_accepts_by_its_exit_status() {
        let accepted = done(ProcessEnd::Exit(0), "a warning that is not asked for");
        assert_eq!(accepted, ValidatorResult::Accepted(String::new()));
        assert!(matches!(done(ProcessEnd::TimedOut, ""), ValidatorResult::TimedOut));
    }

    #[test]
    fn a_rejection_has_the_status_and_the_output() {
        let ValidatorResult::Rejected(rejection) =
            done(ProcessEnd::Exit(2), "/scratch/a.c:1: no\n")
        else {
            panic!()
        };
        let finding = Finding::new(
            Code::ValidatorFailed,
            "v rejects the new text of a.c (exit status 2). It wrote:\na.c:1: no\n",
            "Correct the content as it says; send edits that only make sense together in one \
             request.",
        );
        let path = RepoPath::parse(b"a.c").unwrap();
        let finding = finding
            .nothing_changed()
            .or_override(
                "If the text is right as it is, repeat with allow: [\"validator_failed\"].",
            )
            .at(&path)
            .with("validator", "v")
            .with("command", vec!["cc", "{file}"])
            .with("exit_status", 2)
            .with("output", "a.c:1: no")
            .with("truncated", false);
        assert_eq!(explain(&with_limit(5), &path, &rejection), finding);
    }

    #[test]
    fn a_program_that_a_signal_ended_has_no_exit_status() {
        let ValidatorResult::Rejected(rejection) = done(ProcessEnd::Signal(9), "") else {
            panic!()
        };
        assert_eq!((rejection.end.as_str(), rejection.status), ("signal 9", None));
        let path = RepoPath::parse(b"a.c").unwrap();
        let message = explain(&with_limit(5), &path, &rejection).summary;
        assert_eq!(message, "v rejects the new text of a.c (signal 9). It wrote nothing.");
    }

    #[test]
    fn only_the_last_lines_of_an_output_are_shown() {
        let all: String = (1..=21).map(|n| format!("line {n}\n")).collect();
        let (shown, cut) = last_lines(all.as_bytes(), Path::new("/scratch"));
        assert_eq!((shown.lines().next(), shown.lines().count(), cut), (Some("line 2"), 20, true));
    }

    #[test]
    fn a_long_last_line_is_cut_at_its_start() {
        let (shown, cut) = last_lines("ä".repeat(2001).as_bytes(), Path::new("/scratch"));
        let expected = format!("… (the last 2000 of 2001 characters)\n{}", "ä".repeat(2000));
        assert_eq!((shown, cut), (expected, true));
    }

    #[test]
    fn control_characters_of_an_output_are_removed() {
        let (shown, _) = last_lines(b"\x1b[31mred\x07\tx\r\n", Path::new("/scratch"));
        assert_eq!(shown, "[31mred\tx");
    }

    #[test]
    fn a_program_that_did_not_end_in_time_is_named_with_its_limit() {
        assert_eq!(
            why_unchecked(&with_limit(250), "the new text", ValidatorResult::TimedOut),
            "v did not check the new text: it timed out after 250 ms."
        );
    }

    #[test]
    fn a_program_that_could_not_be_run_is_named_with_the_reason() {
        let failed = ValidatorResult::Failed("no memory".into());
        assert_eq!(
            why_unchecked(&with_limit(250), "the old text", failed),
            "v did not check the old text: no memory."
        );
    }

    #[test]
    fn required_checks_name_the_validators_that_are_not_trusted() {
        let finding = trust_required(&["one", "two"]);
        assert_eq!(
            finding.summary,
            "Policy requires that one, two checks this edit, and the user has not trusted \
             edt.toml as it is in the session's base commit."
        );
        assert_eq!(finding.evidence["validators"], serde_json::json!(["one", "two"]));
    }
}
