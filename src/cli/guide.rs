//! `edt guide`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use crate::agent::guide::{self, Misfenced};
use crate::base::{Code, Finding, Result, Status};
use crate::io::{failed, whole};

/// Print the text that teaches an agent to use edt, or put it where agents read it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  edt guide                                        # for a system prompt\n  edt guide --format agents-md --write AGENTS.md   # puts a block there, or brings it up to date\n  edt guide --format skill --write .agents/skills  # writes edt/SKILL.md below it"
)]
pub(super) struct Args {
    /// In which form.
    #[arg(long, value_enum, default_value_t = Form::Prompt)]
    format: Form,
    /// Put it there: agents-md a block into this file, skill the folder edt/ into this one.
    #[arg(long, value_name = "PATH")]
    write: Option<PathBuf>,
    /// Take it out again: all else stays as it is.
    #[arg(long, value_name = "PATH", conflicts_with = "write")]
    remove: Option<PathBuf>,
}

/// The forms of the guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// The rules and an example of each mode.
    Prompt,
    /// SKILL.md: the same with what an agent chooses skills by.
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
    /// The file that was meant.
    file: Option<String>,
    /// What became of the file: `written`, `removed` or `unchanged`; null if none was meant.
    change: Option<&'static str>,
}

/// The longest file that a block is put into.
const MOST: u64 = 4 * 1024 * 1024;

impl Args {
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
        let file = file.map(|file| file.display().to_string());
        Answer { schema: "edt.guide/1", format: self.format, text: None, file, change }
    }

    fn write(&self, path: &Path) -> Result<Answer> {
        match self.format {
            Form::Prompt => Err(no_place()),
            Form::Skill => {
                let folder = path.join(guide::NAME);
                let file = folder.join("SKILL.md");
                if read(&file)?.as_deref() == Some(&guide::skill()) {
                    return Ok(self.answer(Some(&file), Some("unchanged")));
                }
                whole::make_folder(&folder).map_err(|error| failed("make", &folder, &error))?;
                put(&file, &guide::skill())?;
                Ok(self.answer(Some(&file), Some("written")))
            }
            Form::AgentsMd => {
                let before = read(path)?;
                let after = guide::with_block(before.as_deref().unwrap_or_default())
                    .map_err(|why| unfit(path, why))?;
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
            Form::Prompt => return Err(no_place()),
            Form::Skill => {
                let file = path.join(guide::NAME).join("SKILL.md");
                let found = read(&file)?;
                if found.as_ref().is_some_and(|text| !text.starts_with("---\nname: edt\n")) {
                    let message = format!("{} is not a skill of edt's.", file.display());
                    return Err(Finding::new(
                        Code::BadRequest,
                        message,
                        "Remove it by hand if it is to go.",
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
                    .map_err(|why| unfit(path, why))?;
                (path.to_owned(), rest.filter(|rest| found.as_ref() != Some(rest)))
            }
        };
        let Some(rest) = rest else { return Ok(self.answer(Some(&file), Some("unchanged"))) };
        if rest.is_empty() {
            let real = whole::real(&file);
            whole::remove(&real).map_err(|error| failed("remove", &file, &error))?;
            if let (Form::Skill, Some(folder)) = (self.format, real.parent()) {
                whole::remove_empty_folder(folder);
            }
        } else {
            put(&file, &rest)?;
        }
        Ok(self.answer(Some(&file), Some("removed")))
    }
}

/// The text of `file`; `None` if there is none.
fn read(file: &Path) -> Result<Option<String>> {
    let bytes = match whole::read_at_most(file, MOST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(strange(file, &format!("has more than {MOST} bytes"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", file, &error).into()),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| strange(file, "is not UTF-8"))
}

/// Writes `file`; where it is a link, what that leads to.
fn put(file: &Path, text: &str) -> Result<()> {
    let real = whole::real(file);
    let put = if real.exists() {
        whole::put_like(&real, text.as_bytes())
    } else {
        whole::put_beside(&real, text.as_bytes(), 0o666)
    };
    put.map_err(|error| failed("write", file, &error).into())
}

fn no_place() -> crate::base::Findings {
    let message = "The form prompt has no place of its own. Nothing was changed.";
    Finding::new(
        Code::BadRequest,
        message,
        "Name --format skill or --format agents-md, or redirect what is printed.",
    )
    .into()
}

fn strange(file: &Path, what: &str) -> crate::base::Findings {
    let message = format!("{} {what}. Nothing was changed.", file.display());
    Finding::new(Code::BadRequest, message, "Name the file of instructions that your agent reads.")
        .into()
}

fn unfit(file: &Path, why: Misfenced) -> crate::base::Findings {
    let what = match why {
        Misfenced::Unpaired => {
            "has one of the two fences of edt's block, or both in the wrong order"
        }
        Misfenced::Several => "has more than one block of edt's",
    };
    let (begin, end) = (guide::BEGIN, guide::END);
    let message = format!("{} {what} ({begin} … {end}). Nothing was changed.", file.display());
    let hint = "Take the fences and what stands between them out by hand, then repeat the call.";
    Finding::new(Code::BadRequest, message, hint).into()
}
