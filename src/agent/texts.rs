//! The texts that agents get in their files.

use std::path::{Path, PathBuf};

use super::guide;
use super::setup::{Fence, Form, Part, What};

/// What edt is, for a list of plugins.
pub const DESCRIPTION: &str =
    "Every edit is judged before it lands, is one Git commit, and can be undone";

/// What an agent is told when a conversation begins.
#[must_use]
pub fn brief() -> String {
    String::from(
        "This repository is guarded by edt: every edit is judged before it lands and is one commit on a branch edt/…; a refusal changes \
         nothing and says what to send instead. `edt undo` takes the last edit back, `edt status` tells where things stand.",
    )
}

/// The file `SKILL.md` of the skill `edt`.
#[must_use]
pub fn skill() -> String {
    guide::skill()
}

/// The skill as a part, below the folder of an agent's skills.
#[must_use]
pub fn skill_part(skills: &Path) -> Part {
    let form = Form::Whole { content: skill(), mark: SKILL, executable: false };
    Part { file: skills.join("edt/SKILL.md"), what: What::Skill, form }
}

/// The block as a part.
#[must_use]
pub fn agents_part(file: PathBuf) -> Part {
    Part { file, what: What::Instructions, form: Form::Fence(agents_md()) }
}

/// The word by which a skill of edt's is known.
pub const SKILL: &str = "name: edt\n";

/// The block for `AGENTS.md`.
#[must_use]
pub fn agents_md() -> Fence {
    Fence { fences: guide::FENCES, lines: guide::agents_md(), keys: &[] }
}
