//! What an agent tells a hook, and what it is told.

use std::path::PathBuf;

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool does something: it can still be stopped.
    Before,
    /// After it was done.
    After,
    /// A conversation begins.
    Start,
    /// Anything else: nothing is said.
    Other,
}

/// Where in the agent's protocol an answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// When.
    pub moment: Moment,
    /// The agent's own name for the hook, where its form depends on it.
    pub hook: &'static str,
}

impl At {
    /// Nothing is known yet: what must be blocked is taken for granted.
    pub const UNKNOWN: At = At { moment: Moment::Before, hook: "" };
}

/// The moment of a payload by which a hook is told of what was done already, in the words of any agent.
#[must_use]
pub fn after(payload: &serde_json::Value) -> Option<At> {
    let names = ["hook_event_name", "hookEventName", "hookName", "agent_action_name", "hook"];
    let told = names.iter().find_map(|name| payload.get(name)?.as_str());
    let hook = match told {
        Some("PostToolUse" | "tool_result") if payload.get("hookName").is_some() => "postToolUse",
        Some(name) => AFTER.iter().find(|after| **after == name)?,
        // The command line of Copilot names no hook; what was done has a result.
        None if payload.get("toolResult").is_some_and(|result| !result.is_null()) => "cli",
        None => return None,
    };
    Some(At { moment: Moment::After, hook })
}

/// The names of hooks after a tool.
const AFTER: [&str; 6] = [
    "PostToolUse",
    "AfterTool",
    "postToolUse",
    "afterFileEdit",
    "post_write_code",
    "tool.execute.after",
];

/// What an agent tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, and how to answer.
    pub at: At,
    /// The agent's name for the tool.
    pub tool: String,
    /// The folder that relative paths are below.
    pub cwd: Option<PathBuf>,
    /// The agent's name for its conversation.
    pub session: Option<String>,
    /// What the tool does to files, in order; empty if that is nothing that edt judges.
    pub acts: Vec<Act>,
}

/// One thing that a tool does to one file, or a patch to several. Paths are as the agent wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Pieces of text are replaced, one after another.
    Replace {
        /// The file.
        path: String,
        /// What by what.
        pairs: Vec<Pair>,
    },
    /// The whole of a file is written, whether there is one or not.
    Whole {
        /// The file.
        path: String,
        /// Its new text.
        content: String,
    },
    /// Lines are put before a line.
    Insert {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The lines.
        content: String,
    },
    /// A file goes.
    Delete {
        /// The file.
        path: String,
    },
    /// A patch in a form that names its files.
    Patch {
        /// Its text.
        text: String,
    },
    /// SEARCH/REPLACE blocks for one file.
    Blocks {
        /// The file.
        path: String,
        /// Their text.
        text: String,
    },
    /// A file changes in a way that only its outcome shows.
    Changes {
        /// The file.
        path: String,
    },
}

/// A piece of text and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The text that stands there; empty: the file is new.
    pub old: String,
    /// The new one.
    pub new: String,
    /// Wherever it stands.
    pub all: bool,
}

/// What is to be said to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Nothing: the agent goes on as without edt.
    Nothing,
    /// Do not do it, because.
    Refused(String),
    /// It was done; know this.
    Told(String),
    /// It was done, and a guard refuses it.
    Objected(String),
    /// Edt could not do its part.
    Broken(String),
}

/// The bytes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// On standard output.
    pub stdout: String,
    /// On standard error.
    pub stderr: String,
    /// The exit status.
    pub exit: u8,
}

impl Reply {
    /// Silence.
    pub const NOTHING: Reply = Reply { stdout: String::new(), stderr: String::new(), exit: 0 };

    /// One line of JSON.
    #[must_use]
    pub fn json(value: &serde_json::Value) -> Reply {
        Reply { stdout: format!("{value}\n"), ..Reply::NOTHING }
    }

    /// Exit status 2 with words, which most agents take for "no". Never without words: some let that pass.
    #[must_use]
    pub fn two(text: &str) -> Reply {
        let words =
            if text.trim().is_empty() { "edt refused without a reason" } else { text.trim_end() };
        Reply { stderr: format!("{words}\n"), exit: 2, ..Reply::NOTHING }
    }
}
