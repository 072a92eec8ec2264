//! What a call tried, as the record of refusals keeps it: also of a request that cannot be read.

use serde_json::{Map, Value};

use super::edit_fields::EditFields;
use super::other_words::{self, Nowhere};
use super::patch_text::PatchText;
use super::request::Request;
use edt_edit::hunk::{Hunk, Side};
use edt_edit::{Edit, LineRange, Mode, Op};
use edt_journal::refusals::{Format, TriedEdit};

/// The largest request that is read again, in bytes.
const MAX_JSON: usize = 8 << 20;
/// The most edits that are read of one request.
const MAX_EDITS: usize = 32;

/// The edits of a request; of a patch that was not parsed: its text.
#[must_use]
pub fn of_request(request: &Request) -> Vec<TriedEdit> {
    match &request.patch {
        Some(patch) if request.edits.is_empty() => vec![of_patch(patch)],
        patch => {
            let edits = request.edits.iter().take(MAX_EDITS);
            edits.map(|edit| of_edit(edit, patch.is_some())).collect()
        }
    }
}

/// The keys of an edit that was not checked.
#[must_use]
pub fn of_fields(fields: &EditFields) -> TriedEdit {
    let path = String::from_utf8_lossy(&fields.path).into_owned();
    let lines = fields.start_line.map(|first| [first, fields.end_line.unwrap_or(first)]);
    let tried = TriedEdit {
        path: (!path.is_empty()).then_some(path),
        mode: fields.mode.map(|mode| mode.name().to_owned()),
        lines: lines.filter(|_| fields.symbol.is_none()),
        symbol: fields.symbol.clone(),
        ..TriedEdit::default()
    };
    let old = fields.old_text.as_ref().or(fields.expected_text.as_ref());
    with_texts(tried, old.map(Vec::as_slice), fields.content.as_deref())
}

/// A patch that was not parsed.
#[must_use]
pub fn of_patch(patch: &PatchText) -> TriedEdit {
    let (path, text) = patch.parts();
    let path = path.map(edt_types::RepoPath::text);
    TriedEdit { path, format: Format::Patch, ..TriedEdit::default() }.with_new(text)
}

/// What a request shows that cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// The agent that it names.
    pub agent: Option<String>,
    /// Its edits.
    pub edits: Vec<TriedEdit>,
}

/// What a JSON request shows.
#[must_use]
pub fn of_json(bytes: &[u8]) -> Shown {
    if bytes.len() > MAX_JSON {
        return Shown::default();
    }
    let own = other_words::of(bytes, &Nowhere).map(|own| own.json);
    let json = own.or_else(|| serde_json::from_slice(bytes).ok());
    let Some(Value::Object(request)) = json else { return Shown::default() };
    Shown { agent: text(&request, "agent").map(str::to_owned), edits: edits_of(&request) }
}

fn edits_of(request: &Map<String, Value>) -> Vec<TriedEdit> {
    if let Some(patch) = request.get("patch").and_then(Value::as_str) {
        let path = text(request, "path").map(str::to_owned);
        let tried = TriedEdit { path, format: Format::Patch, ..TriedEdit::default() };
        return vec![tried.with_new(patch.as_bytes())];
    }
    match request.get("edits").and_then(Value::as_array) {
        Some(edits) => {
            edits.iter().take(MAX_EDITS).filter_map(Value::as_object).map(of_object).collect()
        }
        None => vec![of_object(request)],
    }
}

fn of_object(edit: &Map<String, Value>) -> TriedEdit {
    let number = |key: &str| edit.get(key).and_then(Value::as_u64);
    let owned = |key: &str| text(edit, key).map(str::to_owned);
    let symbol = owned("symbol");
    let lines = number("start_line").map(|first| [first, number("end_line").unwrap_or(first)]);
    let tried = TriedEdit {
        path: owned("path"),
        mode: owned("mode"),
        lines: lines.filter(|_| symbol.is_none()),
        symbol,
        ..TriedEdit::default()
    };
    let old = text(edit, "old_text").or_else(|| text(edit, "expected_text"));
    with_texts(tried, old.map(str::as_bytes), text(edit, "content").map(str::as_bytes))
}

fn text<'j>(edit: &'j Map<String, Value>, key: &str) -> Option<&'j str> {
    edit.get(key).and_then(Value::as_str)
}

fn with_texts(tried: TriedEdit, old: Option<&[u8]>, new: Option<&[u8]>) -> TriedEdit {
    let tried = match old {
        Some(old) => tried.with_old(old),
        None => tried,
    };
    match new {
        Some(new) => tried.with_new(new),
        None => tried,
    }
}

fn of_edit(edit: &Edit, is_patch: bool) -> TriedEdit {
    let format = if is_patch { Format::Patch } else { Format::Edit };
    let lines = lines_of(&edit.op);
    let symbol = match &edit.op {
        Op::Symbol(edit) => Some(edit.symbol.clone()),
        _ => None,
    };
    let path = Some(edit.path.text());
    let mode = mode_of(&edit.op).map(|mode| mode.name().to_owned());
    let tried = TriedEdit { path, mode, format, lines, symbol, ..TriedEdit::default() };
    match &edit.op {
        Op::Create { content, .. }
        | Op::Append { content }
        | Op::Overwrite { content }
        | Op::Write { content }
        | Op::Anchored { content, .. } => tried.with_new(content),
        Op::Edit { old, new, .. } => tried.with_old(old).with_new(new),
        Op::Lines { content, expected, .. } => {
            with_texts(tried, expected.as_deref(), Some(content))
        }
        Op::Symbol(edit) => tried.with_new(edit.change.content()),
        Op::Patch { hunks, .. } => {
            tried.with_old(&side(hunks, Side::New)).with_new(&side(hunks, Side::Old))
        }
        Op::Chmod { .. } | Op::Delete { .. } | Op::Rename { .. } => tried,
    }
}

/// The lines of hunks, without those of the side `other`.
fn side(hunks: &[Hunk], other: Side) -> Vec<u8> {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.side != other);
    lines.flat_map(|line| line.text.iter().copied().chain([b'\n'])).collect()
}

/// The first and the last line that `op` names.
fn lines_of(op: &Op) -> Option<[u64; 2]> {
    let lines = |first: usize, last: usize| Some([first as u64, last as u64]);
    match op {
        Op::Lines { range: LineRange::Before(line), .. } => lines(*line, *line),
        Op::Lines { range: LineRange::Of(first, last), .. } => lines(*first, *last),
        Op::Anchored { first, last, .. } => lines(first.line, last.line),
        _ => None,
    }
}

/// The modes of the edits of `request`, each once; `patch` for a patch.
#[must_use]
pub fn modes(request: &Request) -> Vec<&'static str> {
    let name = |edit: &Edit| mode_of(&edit.op).map_or("patch", |mode| mode.name());
    let mut modes: Vec<&'static str> = match &request.patch {
        Some(_) => vec!["patch"],
        None => request.edits.iter().map(name).collect(),
    };
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// The mode that a request would name; `None` for what only a patch does.
fn mode_of(op: &Op) -> Option<Mode> {
    Some(match op {
        Op::Create { .. } => Mode::Create,
        Op::Edit { .. } => Mode::Edit,
        Op::Append { .. } => Mode::Append,
        Op::Overwrite { .. } => Mode::Overwrite,
        Op::Lines { range: LineRange::Before(_), .. } | Op::Anchored { inserts: true, .. } => {
            Mode::Insert
        }
        Op::Lines { content, .. } | Op::Anchored { content, .. } if content.is_empty() => {
            Mode::DeleteLines
        }
        Op::Lines { .. } | Op::Anchored { .. } => Mode::ReplaceLines,
        Op::Delete { .. } => Mode::Delete,
        Op::Rename { .. } => Mode::Rename,
        Op::Symbol(edit) => edit.change.mode(),
        Op::Write { .. } | Op::Patch { .. } | Op::Chmod { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_journal::refusals::Texts;

    fn edit(path: &str, mode: &str) -> TriedEdit {
        TriedEdit { path: Some(path.into()), mode: Some(mode.into()), ..TriedEdit::default() }
    }

    #[test]
    fn a_request_that_cannot_be_read_shows_path_mode_and_texts() {
        let of = |json: &str| of_json(json.as_bytes()).edits;
        assert_eq!(
            of(r#"{"path": "a", "mode": "alter", "old_text": "1", "content": "2", "x": 1}"#),
            [edit("a", "alter").with_old(b"1").with_new(b"2")]
        );
        assert_eq!(
            of(r#"{"edits": [{"path": "a", "mode": "edit", "content": "2"}, 7]}"#),
            [edit("a", "edit").with_new(b"2")]
        );
        assert_eq!(of("{"), []);
        assert_eq!(of(r#"{"patch": 7}"#), [TriedEdit::default()]);
    }

    #[test]
    fn words_of_other_agents_are_understood() {
        let json =
            br#"{"file_path": "a", "old_string": "1", "new_string": "2", "mode": "edit", "x": 1}"#;
        assert_eq!(of_json(json).edits[0].old.as_deref(), Some("1"));
    }

    #[test]
    fn a_patch_that_cannot_be_parsed_is_its_text() {
        let json = br#"{"patch": "nonsense", "path": "a"}"#;
        let tried = TriedEdit { path: Some("a".into()), format: Format::Patch, ..edit("", "") };
        let tried = TriedEdit { mode: None, ..tried }.with_new(b"nonsense");
        assert_eq!(of_json(json).edits, std::slice::from_ref(&tried));
        let request = Request::from_json(json).unwrap();
        assert_eq!(of_request(&request), [tried]);
    }

    #[test]
    fn a_parsed_request_has_its_modes_lines_and_texts() {
        let request = Request::new("x")
            .edit("a", "1", "2")
            .replace_lines("a", 3..=4, "x\n")
            .insert("a", 5, "y\n")
            .create("b", b"\xff".to_vec());
        let tried = of_request(&request);
        assert_eq!(tried[0], edit("a", "edit").with_old(b"1").with_new(b"2"));
        let lines = |lines, mode: &str| TriedEdit { lines: Some(lines), ..edit("a", mode) };
        assert_eq!(tried[1], lines([3, 4], "replace_lines").with_new(b"x\n"));
        assert_eq!(tried[2], lines([5, 5], "insert").with_new(b"y\n"));
        assert_eq!(tried[3].texts, Texts::Cut);
    }
}
