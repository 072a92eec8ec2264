//! What an agent sends to a hook, and what a hook answers.

use std::path::PathBuf;

use edt_core::session::turns::CallingAgent;

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPhase {
    /// Before a tool runs: it can still be stopped.
    Before,
    /// After a tool ran.
    After,
    /// A conversation begins.
    Start,
    /// The user sent a prompt, which begins a turn. Nothing stops it.
    Prompt,
    /// Any other time. The answer is silence.
    Other,
}

/// The hook that was called; the form of the answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPoint {
    /// When it is called.
    pub phase: HookPhase,
    /// The agent's own name for the hook, or empty where the form does not depend on it.
    pub hook: &'static str,
}

impl HookPoint {
    /// A hook that edt could not determine: it is answered as if it can still stop the tool.
    pub const UNKNOWN: HookPoint = HookPoint { phase: HookPhase::Before, hook: "" };

    /// The hook of a payload that could not be read otherwise, of any agent: the hook after a tool
    /// or of a prompt if the payload shows it, else [`HookPoint::UNKNOWN`].
    #[must_use]
    pub fn of_unreadable(payload: &serde_json::Value) -> HookPoint {
        let is_prompt = match name_of(payload) {
            Some(name) => PROMPTS.contains(&name),
            // Copilot's command line does not name the hook. Only that of a prompt has a prompt.
            None => {
                payload.get("prompt").is_some()
                    && ["toolName", "toolArgs"].iter().all(|key| payload.get(key).is_none())
            }
        };
        if is_prompt {
            return HookPoint { phase: HookPhase::Prompt, hook: "" };
        }
        match hook_after_tool(payload) {
            Some(hook) => HookPoint { phase: HookPhase::After, hook },
            None => HookPoint::UNKNOWN,
        }
    }
}

/// The agent's name for the hook.
fn name_of(payload: &serde_json::Value) -> Option<&str> {
    let keys = ["hook_event_name", "hookEventName", "hookName", "agent_action_name", "hook"];
    keys.iter().find_map(|key| payload.get(key)?.as_str())
}

/// The names of hooks of a prompt.
const PROMPTS: [&str; 6] = [
    "UserPromptSubmit",
    "BeforeAgent",
    "userPromptSubmitted",
    "chat.message",
    "beforeSubmitPrompt",
    "pre_user_prompt",
];

fn hook_after_tool(payload: &serde_json::Value) -> Option<&'static str> {
    match name_of(payload) {
        Some("PostToolUse" | "tool_result") if payload.get("hookName").is_some() => {
            Some("postToolUse")
        }
        Some(name) => AFTER_TOOL.iter().find(|after| **after == name).copied(),
        // Copilot's command line does not name the hook. Only a finished call has a result.
        None if payload.get("toolResult").is_some_and(|result| !result.is_null()) => Some("cli"),
        None => None,
    }
}

/// The names of hooks after a tool.
const AFTER_TOOL: [&str; 7] = [
    "PostToolUse",
    "AfterTool",
    "postToolUse",
    "afterFileEdit",
    "post_write_code",
    "post_run_command",
    "tool.execute.after",
];

/// What an agent sends to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// The hook that was called.
    pub point: HookPoint,
    /// The agent's name for the tool.
    pub tool: String,
    /// The directory that relative paths start from.
    pub cwd: Option<PathBuf>,
    /// The agent's name for its conversation.
    pub session: Option<String>,
    /// What the agent says about its turn.
    pub turn: AgentTurn,
    /// What the tool does to files, in order; empty for a tool that edits nothing.
    pub edits: Vec<ToolEdit>,
    /// The command, if the tool is the agent's shell.
    pub command: Option<ShellCommand>,
}

impl HookEvent {
    /// The agent with this name, in the conversation and the turn of the event.
    #[must_use]
    pub fn caller(&self, agent: &str) -> CallingAgent {
        CallingAgent {
            agent: Some(agent.to_owned()),
            model: self.turn.model.clone(),
            conversation: self.session.clone(),
            turn: self.turn.id.clone(),
        }
    }
}

/// What an agent says about its turn: one prompt of the user and all that the agent does for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentTurn {
    /// The agent's name for it.
    pub id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The prompt, if the hook is that of a prompt.
    pub prompt: Option<String>,
}

/// A command for an agent's own shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The script, as a shell reads it.
    pub script: String,
    /// The directory that it runs in, if it is not that of the call.
    pub dir: Option<PathBuf>,
    /// The agent's name for the call, if it has one: several may run at once.
    pub call: Option<String>,
    /// Whether the answer may name another command, and the agent still asks its user by its own
    /// rules.
    pub can_be_changed: bool,
}

/// One thing that a tool does to one file, or a patch of several. Paths are as the agent wrote
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEdit {
    /// Replaces pieces of text, one after another.
    Replace {
        /// The file.
        path: String,
        /// The replacements, in order.
        replacements: Vec<Replacement>,
    },
    /// Writes all of a file, which may or may not exist.
    Write {
        /// The file.
        path: String,
        /// Its new text.
        content: String,
    },
    /// Inserts lines before a line.
    Insert {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: u64,
        /// The new lines.
        content: String,
    },
    /// Deletes a file.
    Delete {
        /// The file.
        path: String,
    },
    /// Applies a patch that names its files.
    Patch {
        /// Its text.
        text: String,
    },
    /// Applies SEARCH/REPLACE blocks to one file.
    SearchReplace {
        /// The file.
        path: String,
        /// Their text.
        text: String,
    },
    /// Changes a file; the new text is known only afterwards.
    Unspecified {
        /// The file.
        path: String,
    },
}

/// A piece of text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text to replace; empty for a new file.
    pub old: String,
    /// The new text.
    pub new: String,
    /// Whether every occurrence is replaced.
    pub all: bool,
}

/// What a hook answers, before it is put in the agent's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookMessage {
    /// No message: the agent goes on as without edt.
    Silent,
    /// The tool must not run, for this reason.
    Refusal(String),
    /// The user must be asked first.
    Ask(Question),
    /// The agent goes on and should know this.
    Info(String),
    /// The agent's shell runs another command, which records this one.
    Instead {
        /// The command.
        command: String,
        /// What the agent should know; may be empty.
        info: String,
    },
    /// The edit was made, and a guard refuses it for this reason.
    Objection(String),
    /// edt failed before it could judge or record the edit.
    Failure(String),
}

/// Why the user must be asked before a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The reason, for an agent that asks its user.
    pub reason: String,
    /// The refusal, for an agent whose hooks cannot ask: it names the call that can.
    pub refusal: String,
}

impl HookMessage {
    /// The message for an agent whose hooks cannot ask the user: a question is a refusal.
    #[must_use]
    pub fn without_question(&self) -> HookMessage {
        match self {
            HookMessage::Ask(question) => HookMessage::Refusal(question.refusal.clone()),
            other => other.clone(),
        }
    }
}

/// The bytes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Written to standard output.
    pub stdout: String,
    /// Written to standard error.
    pub stderr: String,
    /// The exit status.
    pub exit: u8,
}

impl Reply {
    /// No output, exit status 0.
    pub const EMPTY: Reply = Reply { stdout: String::new(), stderr: String::new(), exit: 0 };

    /// One line of JSON.
    #[must_use]
    pub fn json(value: &serde_json::Value) -> Reply {
        Reply { stdout: format!("{value}\n"), ..Reply::EMPTY }
    }

    /// Exit status 2 with `text` on standard error, which most agents take for a refusal. The text
    /// is never empty: some agents go on when it is.
    #[must_use]
    pub fn exit_two(text: &str) -> Reply {
        let text =
            if text.trim().is_empty() { "edt refused without a reason" } else { text.trim_end() };
        Reply { stderr: format!("{text}\n"), exit: 2, ..Reply::EMPTY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hook_after_a_tool_is_found_in_an_unreadable_payload() {
        for payload in [
            json!({"hook_event_name": "PostToolUse"}),
            json!({"hook_event_name": "AfterTool"}),
            json!({"agent_action_name": "post_write_code"}),
            json!({"hook": "tool.execute.after"}),
        ] {
            assert_eq!(HookPoint::of_unreadable(&payload).phase, HookPhase::After, "{payload}");
        }
    }

    #[test]
    fn clines_hooks_after_a_tool_have_one_name() {
        for name in ["PostToolUse", "tool_result"] {
            assert_eq!(
                HookPoint::of_unreadable(&json!({"hookName": name})),
                HookPoint { phase: HookPhase::After, hook: "postToolUse" }
            );
        }
    }

    #[test]
    fn a_result_shows_that_copilots_tool_has_run() {
        assert_eq!(
            HookPoint::of_unreadable(&json!({"toolResult": {}})),
            HookPoint { phase: HookPhase::After, hook: "cli" }
        );
        assert_eq!(HookPoint::of_unreadable(&json!({"toolResult": null})), HookPoint::UNKNOWN);
    }

    #[test]
    fn an_unreadable_prompt_is_not_stopped() {
        for payload in [
            json!({"hook_event_name": "UserPromptSubmit"}),
            json!({"hookName": "UserPromptSubmit"}),
            json!({"agent_action_name": "pre_user_prompt"}),
        ] {
            assert_eq!(HookPoint::of_unreadable(&payload).phase, HookPhase::Prompt, "{payload}");
        }
    }

    #[test]
    fn any_other_unreadable_payload_may_still_be_stopped() {
        assert_eq!(
            HookPoint::of_unreadable(&json!({"hook_event_name": "PreToolUse"})),
            HookPoint::UNKNOWN
        );
        assert_eq!(HookPoint::of_unreadable(&json!("text")), HookPoint::UNKNOWN);
    }

    #[test]
    fn a_refusal_by_exit_status_always_has_a_text() {
        let reply = |stderr: &str| Reply { stdout: String::new(), stderr: stderr.into(), exit: 2 };
        assert_eq!(Reply::exit_two("why\n\n"), reply("why\n"));
        assert_eq!(Reply::exit_two(" \n"), reply("edt refused without a reason\n"));
    }
}
