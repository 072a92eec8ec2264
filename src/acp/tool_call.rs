//! What a request for permission says that a tool will do.

use std::path::Path;

use agent_client_protocol_schema::{
    Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    SelectedPermissionOutcome, ToolCallContent, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use edt_agents::{Replacement, ToolEdit};
use edt_io::disk::MAX_FILE;
use edt_io::fs;
use edt_types::text::shell_word;

/// Adds what an update says to what is known of a tool call.
pub(super) fn update(known: &mut ToolCallUpdateFields, new: ToolCallUpdateFields) {
    known.kind = new.kind.or(known.kind);
    known.title = new.title.or_else(|| known.title.take());
    known.raw_input = new.raw_input.or_else(|| known.raw_input.take());
    known.content = new.content.or_else(|| known.content.take());
}

/// The edits that a tool call shows as diffs, for a session in `dir`.
pub(super) fn edits(call: &ToolCallUpdateFields, dir: &Path) -> Vec<ToolEdit> {
    let diffs = call.content.iter().flatten().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff),
        _ => None,
    });
    diffs.map(|diff| edit(diff, call.kind == Some(ToolKind::Delete), dir)).collect()
}

/// Some agents show the complete file before and after, others the piece that they replace.
fn edit(diff: &Diff, deletes: bool, dir: &Path) -> ToolEdit {
    let path = diff.path.to_string_lossy().into_owned();
    let (old, new) = (diff.old_text.clone().unwrap_or_default(), diff.new_text.clone());
    let place = dir.join(&diff.path);
    let read = place.is_file().then(|| fs::read_file_limited(&place, MAX_FILE).ok());
    let file = read.flatten().flatten().unwrap_or_default();
    if deletes && new.is_empty() {
        ToolEdit::Delete { path }
    } else if diff.old_text.is_none() || old.as_bytes() == file {
        ToolEdit::Write { path, content: new }
    } else if !old.is_empty() && memchr::memmem::find_iter(&file, old.as_bytes()).count() == 1 {
        ToolEdit::Replace { path, replacements: vec![Replacement { old, new, all: false }] }
    } else {
        // The text that is shown is not the file's, or it does not say where it is.
        ToolEdit::Unspecified { path }
    }
}

/// Whether one of the edits changes the file at `path`.
pub(super) fn touches(edits: &[ToolEdit], path: &str) -> bool {
    edits.iter().any(|edit| match edit {
        ToolEdit::Patch { .. } => false,
        ToolEdit::Replace { path: own, .. }
        | ToolEdit::Write { path: own, .. }
        | ToolEdit::Insert { path: own, .. }
        | ToolEdit::Delete { path: own }
        | ToolEdit::SearchReplace { path: own, .. }
        | ToolEdit::Unspecified { path: own } => own == path,
    })
}

/// The command that a tool call will execute: as its input has it, else its title, which is the
/// command in Gemini CLI.
pub(super) fn command(call: &ToolCallUpdateFields) -> Option<String> {
    if call.kind != Some(ToolKind::Execute) {
        return None;
    }
    let input = call.raw_input.as_ref().and_then(|input| match &input["command"] {
        Value::String(script) => Some(script.clone()),
        Value::Array(words) => script(words.iter().filter_map(Value::as_str)),
        _ => None,
    });
    input.or_else(|| call.title.clone())
}

/// The words of a command as a shell reads them.
pub(super) fn script<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let words: Vec<String> = words.map(|word| shell_word(word.as_bytes())).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The answer that rejects a request with these options. One that the agent remembers is chosen only
/// if it offers no other.
pub(super) fn rejection(options: &[PermissionOption]) -> RequestPermissionOutcome {
    let of = |kind| options.iter().find(|option| option.kind == kind);
    let found =
        of(PermissionOptionKind::RejectOnce).or_else(|| of(PermissionOptionKind::RejectAlways));
    found.map_or(RequestPermissionOutcome::Cancelled, |option| {
        let selected = SelectedPermissionOutcome::new(option.option_id.clone());
        RequestPermissionOutcome::Selected(selected)
    })
}

/// The names of the options that allow the tool call.
pub(super) fn allowing(options: &[PermissionOption]) -> Vec<String> {
    let allows = |option: &&PermissionOption| {
        matches!(option.kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways)
    };
    options.iter().filter(allows).map(|option| option.option_id.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(value: Value) -> ToolCallUpdateFields {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_diff_is_the_whole_file_or_the_piece_that_is_replaced() {
        let place = edt_testkit::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "one\ntwo\n").unwrap();
        let shown = |old: Value, new: &str, kind: &str| {
            let diff = json!({"type": "diff", "path": "a", "oldText": old, "newText": new});
            edits(&call(json!({"kind": kind, "content": [diff]})), place.path()).remove(0)
        };
        let (path, content) = ("a".to_owned(), "x".to_owned());
        let whole = ToolEdit::Write { path: path.clone(), content };
        for old in [json!(null), json!("one\ntwo\n")] {
            assert_eq!(shown(old, "x", "edit"), whole);
        }
        let replaced = Replacement { old: "two".into(), new: "x".into(), all: false };
        let piece = ToolEdit::Replace { path: path.clone(), replacements: vec![replaced] };
        assert_eq!(shown(json!("two"), "x", "edit"), piece);
        for old in ["three", "", "o"] {
            let unspecified = ToolEdit::Unspecified { path: path.clone() };
            assert_eq!(shown(json!(old), "x", "edit"), unspecified);
        }
        assert_eq!(shown(json!("one\ntwo\n"), "", "delete"), ToolEdit::Delete { path });
    }

    #[test]
    fn a_command_is_in_the_input_or_the_title() {
        let of = |value: Value| command(&call(value));
        let input = json!({"command": "git status"});
        assert_eq!(
            of(json!({"kind": "execute", "title": "t", "rawInput": input})).unwrap(),
            "git status"
        );
        let words = json!({"command": ["bash", "-lc", "a b"]});
        assert_eq!(of(json!({"kind": "execute", "rawInput": words})).unwrap(), "bash -lc 'a b'");
        assert_eq!(of(json!({"kind": "execute", "title": "ls"})).unwrap(), "ls");
        assert_eq!(of(json!({"kind": "read", "title": "ls"})), None);
    }

    #[test]
    fn a_rejection_is_remembered_only_if_there_is_no_other() {
        let chosen = |kinds: &[&str]| {
            let option = |kind: &&str| json!({"optionId": kind, "name": "n", "kind": kind});
            let all: Vec<Value> = kinds.iter().map(option).collect();
            let all: Vec<PermissionOption> = serde_json::from_value(json!(all)).unwrap();
            serde_json::to_value(rejection(&all)).unwrap()
        };
        let selected = |kind: &str| json!({"outcome": "selected", "optionId": kind});
        assert_eq!(chosen(&["reject_always", "reject_once"]), selected("reject_once"));
        assert_eq!(chosen(&["allow_once", "reject_always"]), selected("reject_always"));
        assert_eq!(chosen(&["allow_once"]), json!({"outcome": "cancelled"}));
    }
}
