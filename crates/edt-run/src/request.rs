//! The request of `edt run`: exact arguments, without a shell or quoting.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use edt_types::text::Shown as _;
use edt_types::text::shell_word;
use edt_types::{Code, Effect, Finding, Level, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRequest {
    /// A name to look up on `PATH`, or a path.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The working directory, absolute.
    pub dir: PathBuf,
    /// The requested time limit.
    pub timeout: Option<Duration>,
    /// Variables to add to the caller's environment.
    pub env: Vec<(OsString, OsString)>,
    pub sandbox: Option<Level>,
    pub stdin: ProgramInput,
    /// The caller's name; becomes a commit trailer.
    pub agent: Option<String>,
}

/// Standard input of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramInput {
    Closed,
    Bytes(Vec<u8>),
    /// The content of this file in the worktree; an absolute path.
    File(PathBuf),
    /// edt's own standard input, to its end.
    Inherited,
}

/// The JSON form of a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "edt.run-request/1")]
pub struct RunRequestJson {
    /// The name and version of this shape: `edt.run-request/1`. It may be left out.
    schema: Option<String>,
    /// The program: a name to look up on PATH, or a path.
    program: String,
    /// Its arguments, each passed unchanged.
    #[serde(default)]
    args: Vec<String>,
    /// The working directory, relative to the one of edt.
    cwd: Option<PathBuf>,
    /// The time limit in seconds.
    timeout: Option<f64>,
    /// Variables to add to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The sandbox level: at least the minimum of the policy.
    sandbox: Option<Level>,
    /// Standard input; empty if left out.
    stdin: Option<String>,
    /// The caller's name; becomes a commit trailer.
    agent: Option<String>,
}

impl RunRequestJson {
    /// The name and version of this shape.
    pub const SCHEMA: &'static str = "edt.run-request/1";

    /// # Errors
    /// `BAD_REQUEST` naming the unknown key and the nearest known one.
    pub fn parse(json: &str) -> Result<RunRequestJson> {
        serde_json::from_str(json).map_err(|error| {
            let error = error.to_string();
            // serde's message names the key, then every known one.
            let mut words = error.split('`').skip(1).step_by(2);
            let key = words.next().filter(|_| error.starts_with("unknown field `"));
            let known: Vec<&str> = words.collect();
            let near = key
                .and_then(|key| similar::get_close_matches(key, &known, 1, 0.5).first().copied());
            let nearest = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            bad(format!("The request cannot be parsed: {error}.{nearest}")).into()
        })
    }

    /// The request; `start` is the absolute directory that `cwd` is relative to.
    ///
    /// # Errors
    /// `BAD_REQUEST` for an invalid time limit, or if the request names another schema.
    pub fn request(self, start: &std::path::Path) -> Result<ProgramRequest> {
        if let Some(other) = self.schema.filter(|schema| schema != RunRequestJson::SCHEMA) {
            let message = format!(
                "The request names the schema {}, and not {}.",
                other.shown(),
                RunRequestJson::SCHEMA
            );
            return Err(bad(message).with("key", "schema").into());
        }
        Ok(ProgramRequest {
            program: self.program.into(),
            args: self.args.into_iter().map(OsString::from).collect(),
            dir: self.cwd.map_or_else(|| start.to_owned(), |dir| start.join(dir)),
            timeout: self.timeout.map(seconds).transpose()?,
            env: self.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            sandbox: self.sandbox,
            stdin: self
                .stdin
                .map_or(ProgramInput::Closed, |text| ProgramInput::Bytes(text.into_bytes())),
            agent: self.agent,
        })
    }
}

/// # Errors
/// `BAD_REQUEST` if the number of seconds is not positive and finite.
pub fn seconds(seconds: f64) -> Result<Duration> {
    let span = Duration::try_from_secs_f64(seconds).ok().filter(|span| !span.is_zero());
    span.ok_or_else(|| {
        bad(format!("The time limit of {seconds} s is not a positive number.")).into()
    })
}

impl ProgramRequest {
    /// Refuses values that the system cannot pass to a program.
    ///
    /// # Errors
    /// `BAD_REQUEST`.
    pub fn check(&self) -> Result<()> {
        let nul = |text: &OsString| text.as_encoded_bytes().contains(&0);
        if self.program.is_empty() {
            return Err(bad("The program's name is empty.".to_owned()).into());
        }
        if std::iter::once(&self.program).chain(&self.args).any(nul) {
            return Err(bad(
                "An argument contains a NUL byte, which cannot be passed to a program.".to_owned(),
            )
            .into());
        }
        let wrong = |name: &OsString| {
            name.is_empty() || name.as_encoded_bytes().contains(&b'=') || nul(name)
        };
        if self
            .agent
            .as_ref()
            .is_some_and(|agent| agent.trim().is_empty() || agent.contains(char::is_control))
        {
            let message = "`agent` is empty or contains a control character.".to_owned();
            return Err(bad(message).into());
        }
        match self.env.iter().find(|(name, value)| wrong(name) || nul(value)) {
            Some((name, _)) => {
                Err(bad(format!("The variable {} cannot be set.", name.shown())).into())
            }
            None => Ok(()),
        }
    }

    /// The command line with shell quoting, for messages.
    #[must_use]
    pub fn line(&self) -> String {
        let words: Vec<String> = std::iter::once(&self.program)
            .chain(&self.args)
            .map(|word| shell_word(word.as_encoded_bytes()))
            .collect();
        words.join(" ")
    }
}

fn bad(message: String) -> Finding {
    Finding::new(
        Code::BadRequest,
        message,
        "Send {\"program\": \"cargo\", \"args\": [\"test\"]}, or call `edt run -- cargo test`; `edt \
         schema run-request` prints all keys.",
    )
    .with_effect(Effect::NothingRun)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_command_line_is_quoted_for_a_shell() {
        let words: [&[u8]; 7] =
            [b"./demo/calculate", b"5 + 3", b"", b"it's", b"$HOME *", b"a\nb\xff", b"-x=1"];
        let mut words = words.into_iter().map(|word| OsString::from_vec(word.to_vec()));
        let wire = RunRequestJson::parse(r#"{"program": "x"}"#).unwrap();
        let mut request = wire.request(std::path::Path::new("/")).unwrap();
        (request.program, request.args) = (words.next().unwrap(), words.collect());
        assert_eq!(
            request.line(),
            r"./demo/calculate '5 + 3' '' 'it'\''s' '$HOME *' $'a\nb\xff' '-x=1'"
        );
    }

    #[test]
    fn a_wrong_key_is_named_with_the_nearest() {
        let message =
            RunRequestJson::parse(r#"{"program": "x", "argv": []}"#).unwrap_err().to_string();
        assert!(message.contains("`argv`") && message.contains("Did you mean args?"), "{message}");
        assert!(
            seconds(-1.0).is_err()
                && seconds(f64::NAN).is_err()
                && seconds(0.0).is_err()
                && seconds(0.5).is_ok()
        );
    }

    use std::path::Path;

    fn parsed(json: &str) -> ProgramRequest {
        RunRequestJson::parse(json).unwrap().request(Path::new("/start")).unwrap()
    }

    #[test]
    fn every_key_of_a_request_is_passed_on() {
        let json = r#"{"program": "make", "args": ["-k"], "cwd": "dir", "timeout": 1.5,
            "env": {"A": "b"}, "sandbox": "strict", "stdin": "in", "agent": "robot"}"#;
        let expected = ProgramRequest {
            program: "make".into(),
            args: vec!["-k".into()],
            dir: "/start/dir".into(),
            timeout: Some(Duration::from_millis(1500)),
            env: vec![("A".into(), "b".into())],
            sandbox: Some(Level::Strict),
            stdin: ProgramInput::Bytes(b"in".to_vec()),
            agent: Some("robot".into()),
        };
        assert_eq!(parsed(json), expected);
    }

    #[test]
    fn a_request_may_name_its_schema_and_no_other() {
        parsed(r#"{"schema": "edt.run-request/1", "program": "make"}"#);
        let other = r#"{"schema": "edt.request/1", "program": "make"}"#;
        let found = RunRequestJson::parse(other).unwrap().request(Path::new("/")).unwrap_err();
        assert_eq!(found.as_slice()[0].evidence["key"], "schema");
    }

    #[test]
    fn a_request_needs_only_a_program() {
        let request = parsed(r#"{"program": "make"}"#);
        assert_eq!(
            (request.dir.as_path(), request.stdin),
            (Path::new("/start"), ProgramInput::Closed)
        );
        assert_eq!((request.timeout, request.sandbox, request.args.len()), (None, None, 0));
    }

    /// Why a request is refused.
    fn refused(change: impl FnOnce(&mut ProgramRequest)) -> String {
        let mut request = parsed(r#"{"program": "make"}"#);
        change(&mut request);
        request.check().unwrap_err().into_vec().remove(0).summary
    }

    #[test]
    fn a_program_has_a_name() {
        assert_eq!(refused(|request| request.program.clear()), "The program's name is empty.");
    }

    #[test]
    fn an_argument_has_no_nul_byte() {
        assert_eq!(
            refused(|request| request.args = vec!["a\0b".into()]),
            "An argument contains a NUL byte, which cannot be passed to a program."
        );
    }

    #[test]
    fn a_variable_has_a_name_without_an_equals_sign() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A", "x\0")] {
            let summary = refused(|request| request.env = vec![(name.into(), value.into())]);
            assert_eq!(summary, format!("The variable {name} cannot be set."));
        }
    }

    #[test]
    fn an_agent_has_a_name_on_one_line() {
        for agent in [" ", "a\nb"] {
            assert_eq!(
                refused(|request| request.agent = Some(agent.into())),
                "`agent` is empty or contains a control character."
            );
        }
    }

    #[test]
    fn a_time_limit_that_is_not_positive_is_named() {
        let finding = seconds(-1.5).unwrap_err().into_vec().remove(0);
        assert_eq!(finding.summary, "The time limit of -1.5 s is not a positive number.");
        assert_eq!(finding.effect, Effect::NothingRun);
    }
}
