//! Programs that `edt.toml` names judge the would-be text: in a scratch folder, with exactly their arguments, within a time
//! limit, and only after a person trusted the file that names them.

use std::path::Path;

use super::{Guard, Judgement, Said, Site, Subject};
use crate::base::{Code, Finding, RepoPath};
use crate::io::bounded::{self, Done, End, Job};
use crate::io::once::once;
use crate::io::scratch::Scratch;
use crate::policy::{GuardMode, Policy, Trust, Validator};

/// The guard `validator`.
#[derive(Debug)]
pub struct Validators;

/// Most lines of a program's output that an answer repeats.
const LINES: usize = 20;
/// Most characters of them.
const CHARACTERS: usize = 2000;

/// What one program says of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing against it.
    Accepted,
    /// It rejects the text.
    Rejected(Rejection),
    /// It took too long.
    Late,
    /// There is no such program.
    Absent,
    /// It could not be run, and why.
    Failed(String),
}

/// A program's rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// `exit status 1`, `signal 11`.
    pub end: String,
    /// Its exit status, if it ended by itself.
    pub status: Option<i32>,
    /// The last lines of its output.
    pub output: String,
    /// Whether there was more output.
    pub truncated: bool,
}

impl Guard for Validators {
    fn name(&self) -> &'static str {
        "validator"
    }

    fn rule(&self) -> &'static str {
        "A program under [[validator]] in edt.toml ends with another status than 0 on the new text, and (unless only_new = false) does not \
         on the text before."
    }

    fn source(&self) -> &'static str {
        "the repository's own checks; never run before a person trusted edt.toml (`edt trust`)"
    }

    /// Nothing: without a worktree around the text no program is run.
    fn judge(&self, _: &Subject<'_>, _: &Policy) -> Judgement {
        Judgement::Pass
    }

    fn say(&self, subject: &Subject<'_>, policy: &Policy, site: Site<'_>) -> Vec<Said> {
        let Some(after) = subject.after else { return Vec::new() };
        let mine = policy
            .validators
            .iter()
            .filter(|one| one.trust != Trust::Awaited && one.judges(subject.path));
        let heard: Vec<Option<Judgement>> =
            mine.map(|one| hear(one, subject, after, site)).collect();
        let ran = heard.iter().any(Option::is_some);
        let loud: Vec<Judgement> =
            heard.into_iter().flatten().filter(|one| *one != Judgement::Pass).collect();
        let all = if ran && loud.is_empty() { vec![Judgement::Pass] } else { loud };
        all.into_iter().map(|judgement| Said { word: self.name(), judgement }).collect()
    }

    fn judges_all(&self) -> bool {
        true
    }

    fn say_all(&self, subjects: &[Subject<'_>], policy: &Policy) -> Vec<Said> {
        let awaited = |one: &&Validator| one.trust == Trust::Awaited;
        let concerned = |one: &&Validator| {
            let runs = |path| {
                policy.rule(self.name(), Some(path)).mode != GuardMode::Off && one.judges(path)
            };
            subjects.iter().any(|subject| subject.after.is_some() && runs(subject.path))
        };
        let names: Vec<&str> = policy
            .validators
            .iter()
            .filter(awaited)
            .filter(concerned)
            .map(|one| one.name.as_str())
            .collect();
        if names.is_empty() {
            return Vec::new();
        }
        let judgement = if policy.require_trust {
            Judgement::Found(vec![untrusted(&names)])
        } else {
            Judgement::Unchecked(format!(
                "TRUST_REQUIRED: {} did not run, because no person has trusted edt.toml as it is in the session's base commit. A person \
                 can, with `edt trust` in a terminal.",
                names.join(", ")
            ))
        };
        vec![Said { word: "trust_required", judgement }]
    }
}

/// Lets one validator judge one file; `None` if it is absent and that was told before.
fn hear(
    validator: &Validator,
    subject: &Subject<'_>,
    after: &[u8],
    site: Site<'_>,
) -> Option<Judgement> {
    let (name, path) = (&validator.name, subject.path);
    let rejection = match ask(validator, path, after, site.root) {
        Opinion::Accepted => return Some(Judgement::Pass),
        Opinion::Rejected(rejection) => rejection,
        Opinion::Absent => {
            let program = validator.command.first().map(String::as_str).unwrap_or_default();
            let told = format!("validator {name}: no program {program}");
            return once(site.state, &told).then(|| {
                Judgement::Unchecked(format!(
                    "{name} did not run: there is no program {program}. This is said once; `edt guards` lists the validators."
                ))
            });
        }
        silent => return Some(Judgement::Unchecked(excuse(validator, "the new text", silent))),
    };
    let old = subject
        .before
        .filter(|_| validator.only_new)
        .map(|before| ask(validator, path, before, site.root));
    Some(match old {
        None | Some(Opinion::Accepted) => {
            Judgement::Found(vec![explain(validator, path, &rejection)])
        }
        Some(Opinion::Rejected(_)) => Judgement::Unchecked(format!(
            "{name} rejects the new text ({}), and the text before, too; such errors never refuse.",
            rejection.end
        )),
        Some(silent) => Judgement::Unchecked(format!(
            "{name} rejects the new text ({}). {}",
            rejection.end,
            excuse(validator, "the text before", silent)
        )),
    })
}

fn excuse(validator: &Validator, of: &str, opinion: Opinion) -> String {
    let name = &validator.name;
    match opinion {
        Opinion::Late => {
            format!(
                "{name} did not judge {of}: it took longer than {} ms and was ended.",
                validator.limit.as_millis()
            )
        }
        Opinion::Failed(why) => format!("{name} did not judge {of}: {why}."),
        Opinion::Accepted | Opinion::Rejected(_) | Opinion::Absent => {
            format!("{name} did not judge {of}.")
        }
    }
}

/// Runs one validator on one text.
#[must_use]
pub fn ask(validator: &Validator, path: &RepoPath, text: &[u8], root: &Path) -> Opinion {
    let Some(program) = validator.command.first().and_then(|name| bounded::find(name)) else {
        return Opinion::Absent;
    };
    let run = || {
        let scratch = Scratch::outside(root)?;
        let file = scratch.put(path.as_bytes(), text)?;
        let args = validator.args(&file, root);
        let job =
            Job { program: &program, args: &args, dir: scratch.path(), limit: validator.limit };
        bounded::run(&job).map(|done| opinion(&done, scratch.path()))
    };
    run().unwrap_or_else(|error| {
        Opinion::Failed(format!("{} could not be run ({error})", program.display()))
    })
}

fn opinion(done: &Done, scratch: &Path) -> Opinion {
    let (end, status) = match done.end {
        End::Exit(0) => return Opinion::Accepted,
        End::TimedOut => return Opinion::Late,
        End::Exit(status) => (format!("exit status {status}"), Some(status)),
        End::Signal(signal) => (format!("signal {signal}"), None),
    };
    let (output, shortened) = last_lines(&done.output, scratch);
    Opinion::Rejected(Rejection {
        end,
        status,
        output,
        truncated: shortened || done.written > done.output.len() as u64,
    })
}

/// The last lines of an output, without control characters, paths as the repository has them; and whether more went before.
fn last_lines(output: &[u8], scratch: &Path) -> (String, bool) {
    let plain = |c: &char| *c == '\n' || *c == '\t' || !c.is_control();
    let text: String = String::from_utf8_lossy(output).chars().filter(plain).collect();
    let text = text.replace(&format!("{}/", scratch.display()), "");
    let text = text.trim_end();
    let mut from = text.rmatch_indices('\n').nth(LINES - 1).map_or(0, |(at, _)| at + 1);
    if text[from..].chars().count() > CHARACTERS {
        from = text.char_indices().rev().nth(CHARACTERS - 1).map_or(0, |(at, _)| at);
    }
    (text[from..].to_owned(), from > 0)
}

fn explain(validator: &Validator, path: &RepoPath, rejection: &Rejection) -> Finding {
    let Rejection { end, status, output, truncated } = rejection;
    let said = match (output.is_empty(), truncated) {
        (true, _) => "It wrote nothing. ".to_owned(),
        (false, true) => format!("The end of what it wrote:\n{output}\n"),
        (false, false) => format!("It wrote:\n{output}\n"),
    };
    Finding::new(
        Code::ValidatorFailed,
        format!("{} rejects the new text of {path} ({end}). {said}Nothing was changed.", validator.name),
        "Correct the content as it says; send edits that only make sense together in one request. If the text should stand as it is, \
         repeat with allow: [\"validator_failed\"].",
    )
    .at(path)
    .with("validator", validator.name.as_str())
    .with("command", validator.command.clone())
    .with("exit_status", *status)
    .with("output", output.as_str())
    .with("truncated", *truncated)
}

fn untrusted(names: &[&str]) -> Finding {
    Finding::new(
        Code::TrustRequired,
        format!(
            "Policy requires that {} judge this edit, and no person has trusted edt.toml as it is in the session's base commit. Nothing was \
             changed.",
            names.join(", ")
        ),
        "Ask a person to run `edt trust` in a terminal; then repeat the request.",
    )
    .with("validators", names.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_name_the_file_as_the_repository_does() {
        let scratch = Path::new("/tmp/edt-1-0");
        let (text, more) = last_lines(b"/tmp/edt-1-0/src/a.c:1: \x1b[31mbad\x1b[0m\n\n", scratch);
        assert_eq!((text.as_str(), more), ("src/a.c:1: [31mbad[0m", false));
        let (text, more) = last_lines(&b"cut\n".repeat(LINES + 1), scratch);
        assert_eq!((text.lines().count(), more), (LINES, true));
        let (text, more) = last_lines("ä".repeat(3000).as_bytes(), scratch);
        assert_eq!((text.chars().count(), more), (CHARACTERS, true));
    }
}
