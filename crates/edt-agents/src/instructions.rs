//! The texts about edt in agents' files.

use std::path::{Path, PathBuf};

use super::guide;
use super::setup::{Fence, Form, JsonEntry, ManagedFile, Purpose};

/// What edt is, for a list of plugins.
pub const DESCRIPTION: &str =
    "Every edit is checked before it is written, is one Git commit, and can be undone";

/// The message at the start of a conversation.
#[must_use]
pub fn brief() -> String {
    format!(
        "{} edt guards this repository. It checks every edit before it is written, and records it \
         as one commit on a branch edt/…. A refusal changes nothing and says what to send instead. \
         `edt undo` undoes the last edit; `edt status` shows the session.",
        guide::OPENING.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// The file `SKILL.md` of the skill `edt`.
#[must_use]
pub fn skill() -> String {
    guide::skill()
}

/// The skill, in an agent's directory of skills.
#[must_use]
pub fn skill_file(skills: &Path) -> ManagedFile {
    let form = Form::OwnFile { content: skill(), mark: SKILL_MARK, executable: false };
    ManagedFile { file: skills.join("edt/SKILL.md"), purpose: Purpose::Skill, form }
}

/// Settings with `entries`, and the skill: both in the agent's directory `home`.
#[must_use]
pub(crate) fn settings_and_skill(home: &Path, entries: Vec<JsonEntry>) -> Vec<ManagedFile> {
    let (file, form) = (home.join("settings.json"), Form::Json(entries));
    let settings = ManagedFile { file, purpose: Purpose::McpAndHooks, form };
    vec![settings, skill_file(&home.join("skills"))]
}

/// The block of instructions, in an `AGENTS.md`.
#[must_use]
pub fn agents_md_file(file: PathBuf) -> ManagedFile {
    ManagedFile { file, purpose: Purpose::Instructions, form: Form::Fence(agents_md()) }
}

/// The block for users of an agent that reads a directory of rules: a file of its own in it.
#[must_use]
pub fn rule_file(rules: &Path) -> ManagedFile {
    let content = guide::agents_md_block() + "\n";
    let form = Form::OwnFile { content, mark: guide::BEGIN, executable: false };
    ManagedFile { file: rules.join("edt.md"), purpose: Purpose::Instructions, form }
}

/// The text that identifies a skill as edt's.
pub const SKILL_MARK: &str = "name: edt\n";

/// The block for `AGENTS.md`.
#[must_use]
pub fn agents_md() -> Fence {
    Fence { fences: guide::FENCES, lines: guide::agents_md(), keys: &[] }
}
