//! How a task is judged: the keys of `[judge]`. Parsed strictly: unknown keys are refused.

use serde::Deserialize;

use super::judge::class::ErrorClass;
use edt_io::directory::FileTree;
use edt_types::Level;

/// How the files after an attempt are judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JudgeSpec {
    /// The files equal `expected/`, byte for byte.
    Exact {
        /// Only these files; all files of the worktree if empty.
        #[serde(default)]
        files: Vec<String>,
    },
    /// A file, or what a program prints, has the expected words, and its numbers within a
    /// tolerance.
    Numeric {
        /// The file, unless `argv` names a program.
        #[serde(default)]
        file: String,
        /// The program and its arguments, run in a copy of the worktree.
        #[serde(default)]
        argv: Vec<String>,
        /// The time limit of the program in seconds.
        #[serde(default = "default_timeout")]
        timeout: f64,
        /// The expected words; if left out, those of `file` in `expected/`.
        answer: Option<String>,
        /// The absolute tolerance.
        tolerance: f64,
        /// The tolerance as a share of the expected number.
        #[serde(default)]
        relative: f64,
        /// Wrong numbers whose class is known.
        #[serde(default)]
        wrong: Vec<WrongAnswer>,
    },
    /// A program exits with status 0, run as `edt run` does in a copy of the worktree.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The time limit in seconds.
        #[serde(default = "default_timeout")]
        timeout: f64,
        #[serde(default = "default_sandbox")]
        sandbox: Level,
    },
    /// A program reads a JSON object and answers with one.
    Program {
        /// The program and its arguments; `{task}` is the task's directory.
        argv: Vec<String>,
        /// The time limit in seconds.
        #[serde(default = "default_timeout")]
        timeout: f64,
    },
    /// A model compares the files with what is expected.
    Llm {
        /// `recorded:FILE`, or a model whose server is on this machine; `--judge-model` replaces it.
        model: Option<String>,
        /// What is right, in words.
        criteria: Option<String>,
        /// The files that the model sees; those that differ from the files before if empty.
        #[serde(default)]
        files: Vec<String>,
        /// The time limit of each question in seconds.
        #[serde(default = "default_timeout")]
        timeout: f64,
    },
}

/// A wrong number that a typical mistake leads to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrongAnswer {
    pub answer: f64,
    pub class: ErrorClass,
    /// What to do instead, without the answer.
    pub hint: Option<String>,
}

const fn default_timeout() -> f64 {
    60.0
}

const fn default_sandbox() -> Level {
    Level::Standard
}

impl JudgeSpec {
    /// The value of the key `kind`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            JudgeSpec::Exact { .. } => "exact",
            JudgeSpec::Numeric { .. } => "numeric",
            JudgeSpec::Command { .. } => "command",
            JudgeSpec::Program { .. } => "program",
            JudgeSpec::Llm { .. } => "llm",
        }
    }

    /// The key with an invalid value, and why it is invalid.
    pub(super) fn fault(
        &self,
        before: &FileTree,
        expected: Option<&FileTree>,
    ) -> Option<(&'static str, String)> {
        let missing = |file: &String| !expected.is_some_and(|files| files.contains_key(file));
        let fault = |key: &'static str, why: &str| Some((key, why.to_owned()));
        let timeout = match self {
            JudgeSpec::Exact { .. } if expected.is_none() => {
                return fault("judge", "kind \"exact\" compares with expected/, which is missing");
            }
            JudgeSpec::Exact { files } => {
                // A file that should be deleted is in repo/ only.
                let file =
                    files.iter().find(|file| missing(file) && !before.contains_key(*file))?;
                let why = format!("{file} is neither in expected/ nor in repo/");
                return fault("judge.files", &why);
            }
            JudgeSpec::Numeric { file, argv, timeout, answer, tolerance, relative, .. } => {
                if file.is_empty() == argv.is_empty() {
                    return fault("judge.file", "name either `file` or `argv`");
                }
                if answer.is_none() && missing(file) {
                    let why = format!("{file:?} is not in expected/, and there is no `answer`");
                    return fault("judge.file", &why);
                }
                if [tolerance, relative].iter().any(|one| !(**one >= 0.0 && one.is_finite())) {
                    return fault("judge.tolerance", "it is not a finite number of at least 0");
                }
                timeout
            }
            JudgeSpec::Llm { criteria: None, .. } if expected.is_none() => {
                return fault("judge.criteria", "there is neither `criteria` nor expected/");
            }
            JudgeSpec::Command { argv, .. } | JudgeSpec::Program { argv, .. }
                if argv.is_empty() =>
            {
                return fault("judge.argv", "it is empty; the first item is the program");
            }
            JudgeSpec::Llm { timeout, .. }
            | JudgeSpec::Command { timeout, .. }
            | JudgeSpec::Program { timeout, .. } => timeout,
        };
        if *timeout > 0.0 && *timeout <= 3600.0 {
            return None;
        }
        fault("judge.timeout", "it is not a number of seconds above 0, up to 3600")
    }
}
