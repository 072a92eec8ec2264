//! What is to be run: exactly these arguments, no shell, no quoting.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text::shell_word;
use crate::base::{Code, Finding, Level, Result};

/// One program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The program: a name that is looked up, or a path.
    pub program: OsString,
    /// Its arguments, byte for byte.
    pub args: Vec<OsString>,
    /// Its folder, an absolute path.
    pub dir: PathBuf,
    /// The longest it may take, if the call says so.
    pub timeout: Option<Duration>,
    /// What its environment has beside the caller's.
    pub env: Vec<(OsString, OsString)>,
    /// The sandbox asked for.
    pub sandbox: Option<Level>,
    /// What it reads.
    pub stdin: Input,
    /// Who asks; becomes a trailer.
    pub agent: Option<String>,
}

/// What a program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Closed,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What this file of the worktree holds: an absolute path.
    File(PathBuf),
    /// What edt itself is given, to its end.
    Inherited,
}

/// The JSON form of a request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// The program: a name that is looked up, or a path.
    program: String,
    /// Its arguments: each reaches it as it is.
    #[serde(default)]
    args: Vec<String>,
    /// Its folder, relative to the one edt runs in.
    cwd: Option<PathBuf>,
    /// The longest it may take, in seconds.
    timeout: Option<f64>,
    /// Further variables of its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The sandbox level: at least what policy says.
    sandbox: Option<Level>,
    /// What it reads; nothing if left out.
    stdin: Option<String>,
    /// Who asks; becomes a trailer.
    agent: Option<String>,
}

/// The keys of [`Wire`].
const KEYS: [&str; 8] = ["program", "args", "cwd", "timeout", "env", "sandbox", "stdin", "agent"];

impl Wire {
    /// Reads a request.
    ///
    /// # Errors
    /// `BAD_REQUEST` naming the key that is wrong, and the nearest known one.
    pub fn parse(json: &str) -> Result<Wire> {
        serde_json::from_str(json).map_err(|error| {
            let said = error.to_string();
            let key = said.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
            let near =
                key.and_then(|key| similar::get_close_matches(key, &KEYS, 1, 0.5).first().copied());
            let nearest = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            bad(format!("The request cannot be read: {said}.{nearest} Nothing was run.")).into()
        })
    }

    /// The request, made from `start`, an absolute path.
    ///
    /// # Errors
    /// `BAD_REQUEST` for what no program can be given.
    pub fn request(self, start: &std::path::Path) -> Result<Request> {
        Ok(Request {
            program: self.program.into(),
            args: self.args.into_iter().map(OsString::from).collect(),
            dir: self.cwd.map_or_else(|| start.to_owned(), |dir| start.join(dir)),
            timeout: self.timeout.map(seconds).transpose()?,
            env: self.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            sandbox: self.sandbox,
            stdin: self.stdin.map_or(Input::Closed, |text| Input::Bytes(text.into_bytes())),
            agent: self.agent,
        })
    }
}

/// A number of seconds that can be waited.
///
/// # Errors
/// `BAD_REQUEST` if it is not above zero.
pub fn seconds(seconds: f64) -> Result<Duration> {
    let span = Duration::try_from_secs_f64(seconds).ok().filter(|span| !span.is_zero());
    span.ok_or_else(|| {
        bad(format!("A time limit of {seconds} s cannot be kept. Nothing was run.")).into()
    })
}

impl Request {
    /// Refuses what no program can be given.
    ///
    /// # Errors
    /// `BAD_REQUEST`.
    pub fn check(&self) -> Result<()> {
        let nul = |text: &OsString| text.as_encoded_bytes().contains(&0);
        if self.program.is_empty() {
            return Err(
                bad("There is no program: its name is empty. Nothing was run.".to_owned()).into()
            );
        }
        if std::iter::once(&self.program).chain(&self.args).any(nul) {
            return Err(bad(
                "An argument holds a NUL byte, which no program can be given. Nothing was run."
                    .to_owned(),
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
            let message =
                "`agent` is empty or has a control character. Nothing was run.".to_owned();
            return Err(bad(message).into());
        }
        match self.env.iter().find(|(name, value)| wrong(name) || nul(value)) {
            Some((name, _)) => {
                Err(bad(format!("The variable {} cannot be set. Nothing was run.", name.display()))
                    .into())
            }
            None => Ok(()),
        }
    }

    /// The command line as people write it, each word quoted where a shell would need it.
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
        "Send {\"program\": \"cargo\", \"args\": [\"test\"]}, or call `edt run -- cargo test`; `edt schema run-request` has all keys.",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn a_line_reads_as_a_shell_would_write_it() {
        let words: [&[u8]; 7] =
            [b"./demo/calculate", b"5 + 3", b"", b"it's", b"$HOME *", b"a\nb\xff", b"-x=1"];
        let mut words = words.into_iter().map(|word| OsString::from_vec(word.to_vec()));
        let wire = Wire::parse(r#"{"program": "x"}"#).unwrap();
        let mut request = wire.request(std::path::Path::new("/")).unwrap();
        (request.program, request.args) = (words.next().unwrap(), words.collect());
        assert_eq!(
            request.line(),
            r"./demo/calculate '5 + 3' '' 'it'\''s' '$HOME *' $'a\nb\xff' '-x=1'"
        );
    }

    #[test]
    fn a_wrong_key_is_named_with_the_nearest() {
        let said = Wire::parse(r#"{"program": "x", "argv": []}"#).unwrap_err().to_string();
        assert!(said.contains("`argv`") && said.contains("Did you mean args?"), "{said}");
        assert!(
            seconds(-1.0).is_err()
                && seconds(f64::NAN).is_err()
                && seconds(0.0).is_err()
                && seconds(0.5).is_ok()
        );
    }
}
