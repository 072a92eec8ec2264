//! A request as JSON, ready to send: for refusals that know the next call.

use serde_json::{Map, Value, json};

use super::request::Request;
use edt_edit::locate::Occurrences;
use edt_edit::place::Matching;
use edt_edit::symbol::{SymbolChange, SymbolEdit};
use edt_edit::{Edit, Expect, LineRange, Mode, Op};

/// The key of the evidence.
pub(super) const KEY: &str = "request";

/// The longest request that is offered, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The JSON of `request` with `edits` in place of its own; `None` if JSON cannot express one, or if
/// it is too long.
pub(super) fn json(request: &Request, edits: &[Edit]) -> Option<Value> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(key.to_owned(), value);
        }
    };
    put("message", request.message.clone().map(Value::from));
    put("agent", request.agent.clone().map(Value::from));
    put("allow", (!request.allow.is_empty()).then(|| request.allow.clone().into()));
    let lenient =
        edits.iter().any(|edit| matches!(edit.op, Op::Edit { matching: Matching::Lenient, .. }));
    put("match", lenient.then(|| "lenient".into()));
    put("edits", Some(edits.iter().map(edit_json).collect::<Option<Vec<Value>>>()?.into()));
    let out = Value::Object(out);
    (out.to_string().len() <= MAX_BYTES).then_some(out)
}

/// The JSON of one edit; `None` if JSON cannot express it.
pub(super) fn edit_json(edit: &Edit) -> Option<Value> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    let (mode, fields) = match &edit.op {
        Op::Create { content, executable } => {
            (Mode::Create, json!({"content": text(content)?, "executable": executable}))
        }
        Op::Edit { old, new, occurrences, .. } => {
            let mut fields = json!({"old_text": text(old)?, "content": text(new)?});
            if *occurrences == Occurrences::All {
                fields["replace_all"] = true.into();
            }
            (Mode::Edit, fields)
        }
        Op::Append { content } => (Mode::Append, json!({"content": text(content)?})),
        Op::Overwrite { content } => (Mode::Overwrite, json!({"content": text(content)?})),
        Op::Lines { range, content, expected } => {
            let (mode, mut fields) = match range {
                LineRange::Before(line) => (Mode::Insert, json!({"start_line": line})),
                LineRange::Of(first, last) if content.is_empty() => {
                    (Mode::DeleteLines, json!({"start_line": first, "end_line": last}))
                }
                LineRange::Of(first, last) => {
                    (Mode::ReplaceLines, json!({"start_line": first, "end_line": last}))
                }
            };
            if mode != Mode::DeleteLines {
                fields["content"] = text(content)?.into();
            }
            if let Some(expected) = expected {
                fields["expected_text"] = text(expected)?.into();
            }
            (mode, fields)
        }
        Op::Delete { holds: None } => (Mode::Delete, json!({})),
        Op::Rename { to } => (Mode::Rename, json!({"to": text(to.as_bytes())?})),
        Op::Anchored { first, last, inserts, content } => {
            let mut fields = json!({"start_anchor": first.to_string()});
            if !inserts {
                fields["end_anchor"] = last.to_string().into();
            }
            let deletes = content.is_empty() && !inserts;
            if !deletes {
                fields["content"] = text(content)?.into();
            }
            let modes = (*inserts, deletes);
            let mode = match modes {
                (true, _) => Mode::Insert,
                (_, true) => Mode::DeleteLines,
                _ => Mode::ReplaceLines,
            };
            (mode, fields)
        }
        Op::Symbol(SymbolEdit { symbol, line, change }) => {
            let key = if let SymbolChange::Rename(_) = change { "to" } else { "content" };
            let mut fields = json!({"symbol": symbol, key: text(change.content())?});
            if let Some(line) = line {
                fields["start_line"] = (*line).into();
            }
            (change.mode(), fields)
        }
        Op::Write { .. } | Op::Patch { .. } | Op::Chmod { .. } | Op::Delete { holds: Some(_) } => {
            return None;
        }
    };
    let mut out = json!({"path": text(edit.path.as_bytes())?, "mode": mode.name()});
    let fields = fields.as_object()?.clone();
    out.as_object_mut()?.extend(fields);
    if let Expect::Hash(hash) = &edit.expect {
        out["expected_hash"] = hash.clone().into();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with every mode, as JSON.
    const ALL: &str = r#"{"message": "m", "agent": "a", "allow": ["syntax_error"], "match": "lenient", "edits": [
        {"path": "a", "mode": "create", "content": "x", "executable": true},
        {"path": "a", "mode": "edit", "old_text": "x", "content": "y", "replace_all": true},
        {"path": "a", "mode": "append", "content": "z", "expected_hash": "abcdef1"},
        {"path": "a", "mode": "overwrite", "content": ""},
        {"path": "a", "mode": "insert", "start_line": 1, "content": "a", "expected_text": ""},
        {"path": "a", "mode": "replace_lines", "start_line": 1, "end_line": 1, "content": "b"},
        {"path": "a", "mode": "delete_lines", "start_line": 1, "end_line": 1},
        {"path": "a", "mode": "rename", "to": "b"},
        {"path": "b", "mode": "insert", "start_anchor": "1:abcdef0123", "content": "x"},
        {"path": "b", "mode": "replace_lines", "start_anchor": "1:abcdef0123", "end_anchor": "2:abcdef0123", "content": "x"},
        {"path": "b", "mode": "delete_lines", "start_anchor": "1:abcdef0123", "end_anchor": "2:abcdef0123"},
        {"path": "b", "mode": "replace_symbol", "symbol": "f", "content": "x"},
        {"path": "b", "mode": "insert_before_symbol", "symbol": "f", "start_line": 3, "content": "x"},
        {"path": "b", "mode": "insert_after_symbol", "symbol": "f", "content": "x"},
        {"path": "b", "mode": "rename_symbol", "symbol": "f", "to": "g"},
        {"path": "b", "mode": "delete"}]}"#;

    #[test]
    fn the_json_of_every_mode_is_the_same_request() {
        let request = Request::from_json(ALL.as_bytes()).unwrap();
        let json = json(&request, &request.edits).unwrap();
        assert_eq!(Request::from_json(json.to_string().as_bytes()).unwrap(), request);
    }

    #[test]
    fn a_text_that_json_cannot_express_is_not_offered() {
        let request = Request::new("x").append("a", b"\xff".to_vec());
        assert_eq!(json(&request, &request.edits), None);
        let long = Request::new("x").append("a", "x".repeat(MAX_BYTES));
        assert_eq!(json(&long, &long.edits), None);
    }
}
