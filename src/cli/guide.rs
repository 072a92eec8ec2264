//! `edt guide`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use edt_agents::guide::{self, FenceError};
use edt_io::{failed, fs};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result, Status};

/// Print the text that teaches an agent to use edt, or write it where agents read it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt guide                                        # for a system prompt\n  edt guide --format agents-md --write AGENTS.md   # adds or updates a block in the file\n  edt guide --format skill --write .agents/skills  # writes edt/SKILL.md below it"
)]
pub(super) struct Args {
    /// The form of the text.
    #[arg(long, value_enum, default_value_t = Form::Prompt)]
    format: Form,
    /// Write the text to PATH: agents-md writes a block into this file, skill writes the directory
    /// edt/ into this directory.
    #[arg(long, value_name = "PATH")]
    write: Option<PathBuf>,
    /// Remove what --write wrote; other content stays as it is.
    #[arg(long, value_name = "PATH", conflicts_with = "write")]
    remove: Option<PathBuf>,
}

/// The forms of the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// The rules and an example of each mode.
    Prompt,
    /// SKILL.md: the same with the header by which an agent chooses skills.
    Skill,
    /// A block for AGENTS.md, between two fences.
    AgentsMd,
}

/// The answer of `edt guide`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.guide/1`.
    schema: &'static str,
    /// The form.
    format: Form,
    /// The text; null if it was written or removed.
    text: Option<String>,
    /// The file that was written, removed or found up to date.
    file: Option<String>,
    /// What happened to the file: `written`, `removed` or `unchanged`; null if no file was named.
    change: Option<&'static str>,
}

/// Answers with the text for a system prompt.
#[cfg(feature = "mcp")]
pub(super) fn show(context: &Context) -> Status {
    context.text(&guide::prompt())
}

/// The largest file that a block is written into, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

impl Args {
    /// Whether it changes a file that the caller names.
    pub(super) const fn writes(&self) -> bool {
        self.write.is_some() || self.remove.is_some()
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let answer = match (&self.write, &self.remove) {
            (None, None) => Answer { text: Some(self.text()), ..self.answer(None, None) },
            (Some(path), _) => self.write(path)?,
            (None, Some(path)) => self.remove(path)?,
        };
        Ok(context.answer(&answer, |answer| match (&answer.text, &answer.change, &answer.file) {
            (Some(text), ..) => text.clone(),
            (None, Some(change), Some(file)) => format!("{change}: {file}\n"),
            _ => String::new(),
        }))
    }

    fn text(&self) -> String {
        match self.format {
            Form::Prompt => guide::prompt(),
            Form::Skill => guide::skill(),
            Form::AgentsMd => guide::agents_md_block() + "\n",
        }
    }

    fn answer(&self, file: Option<&Path>, change: Option<&'static str>) -> Answer {
        let file = file.map(|file| file.to_string_lossy().into_owned());
        Answer { schema: "edt.guide/1", format: self.format, text: None, file, change }
    }

    fn write(&self, path: &Path) -> Result<Answer> {
        match self.format {
            Form::Prompt => Err(no_destination()),
            Form::Skill => {
                let directory = path.join(guide::NAME);
                let file = directory.join("SKILL.md");
                if read(&file)?.as_deref() == Some(&guide::skill()) {
                    return Ok(self.answer(Some(&file), Some("unchanged")));
                }
                fs::make_dir(&directory).map_err(|error| failed("make", &directory, &error))?;
                put(&file, &guide::skill())?;
                Ok(self.answer(Some(&file), Some("written")))
            }
            Form::AgentsMd => {
                let before = read(path)?;
                let after = guide::with_block(before.as_deref().unwrap_or_default())
                    .map_err(|why| bad_fences(path, why))?;
                if before.as_ref() == Some(&after) {
                    return Ok(self.answer(Some(path), Some("unchanged")));
                }
                put(path, &after)?;
                Ok(self.answer(Some(path), Some("written")))
            }
        }
    }

    fn remove(&self, path: &Path) -> Result<Answer> {
        let (file, rest) = match self.format {
            Form::Prompt => return Err(no_destination()),
            Form::Skill => {
                let file = path.join(guide::NAME).join("SKILL.md");
                let found = read(&file)?;
                if found.as_ref().is_some_and(|text| !text.starts_with("---\nname: edt\n")) {
                    let message = format!("{} is not edt's skill.", file.shown());
                    return Err(Finding::new(
                        Code::BadRequest,
                        message,
                        "Remove it by hand if you no longer want it.",
                    )
                    .into());
                }
                (file, found.map(|_| String::new()))
            }
            Form::AgentsMd => {
                let found = read(path)?;
                let rest = found
                    .as_deref()
                    .map(guide::without_block)
                    .transpose()
                    .map_err(|why| bad_fences(path, why))?;
                (path.to_owned(), rest.filter(|rest| found.as_ref() != Some(rest)))
            }
        };
        let Some(rest) = rest else { return Ok(self.answer(Some(&file), Some("unchanged"))) };
        if rest.is_empty() {
            let real = fs::real_path(&file);
            fs::remove_file(&real).map_err(|error| failed("remove", &file, &error))?;
            if let (Form::Skill, Some(directory)) = (self.format, real.parent()) {
                fs::remove_empty_dir(directory);
            }
        } else {
            put(&file, &rest)?;
        }
        Ok(self.answer(Some(&file), Some("removed")))
    }
}

/// The text of `file`; `None` if the file does not exist.
fn read(file: &Path) -> Result<Option<String>> {
    let bytes = match fs::read_file_limited(file, MAX_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(unusable_file(file, &format!("has more than {MAX_BYTES} bytes"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", file, &error).into()),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| unusable_file(file, "is not UTF-8"))
}

/// Writes `file`, or its target if `file` is a symbolic link.
fn put(file: &Path, text: &str) -> Result<()> {
    let real = fs::real_path(file);
    let put = if real.exists() {
        fs::write_atomic_same_mode(&real, text.as_bytes())
    } else {
        fs::write_atomic_unique(&real, text.as_bytes(), 0o666)
    };
    put.map_err(|error| failed("write", file, &error).into())
}

fn no_destination() -> edt_types::Refusal {
    let message = "The form prompt has no file of its own.";
    Finding::new(
        Code::BadRequest,
        message,
        "Send --format skill or --format agents-md, or redirect the printed text.",
    )
    .nothing_changed()
    .into()
}

fn unusable_file(file: &Path, what: &str) -> edt_types::Refusal {
    let message = format!("{} {what}.", file.shown());
    Finding::new(Code::BadRequest, message, "Name the instruction file that your agent reads.")
        .nothing_changed()
        .into()
}

fn bad_fences(file: &Path, why: FenceError) -> edt_types::Refusal {
    let what = match why {
        FenceError::Unpaired => {
            "has only one of the two fences of the block of edt, or both in the wrong order"
        }
        FenceError::Several => "has more than one edt block",
    };
    let (begin, end) = (guide::BEGIN, guide::END);
    let message = format!("{} {what} ({begin} … {end}).", file.shown());
    let hint = "Remove the fences and the text between them by hand, then repeat the call.";
    Finding::new(Code::BadRequest, message, hint).nothing_changed().into()
}
