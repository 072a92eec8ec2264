//! The guide's texts, as agents get them.

/// What an agent is told when a conversation begins.
#[must_use]
pub fn brief() -> String {
    String::from(
        "This repository is guarded by edt: every edit is judged before it lands and is one commit on a branch edt/…; a refusal changes \
         nothing and says what to send instead. `edt undo` takes the last edit back, `edt status` tells where things stand.",
    )
}
