//! The fields of a payload, read strictly. An editing tool whose input has an unknown shape is an
//! error: it must not pass for a tool that edits nothing.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::event::{AgentTurn, HookPhase, Replacement, ShellCommand, ToolEdit};
use edt_types::text::shell_word;

/// Why a payload could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnexpectedShape(pub String);

/// The fields of a JSON object, and the object's name for messages.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    name: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`.
    ///
    /// # Errors
    /// `value` is not an object.
    pub fn of(name: &'a str, value: &'a Value) -> Result<Fields<'a>, UnexpectedShape> {
        let map = value
            .as_object()
            .ok_or_else(|| UnexpectedShape(format!("{name} is not a JSON object")))?;
        Ok(Fields { name, map })
    }

    /// The object at `key`, or the object whose JSON text is at `key`; `buffer` then stores it.
    ///
    /// # Errors
    /// There is no object at `key`.
    pub fn object(
        &self,
        key: &str,
        buffer: &'a mut Value,
        name: &'a str,
    ) -> Result<Fields<'a>, UnexpectedShape> {
        match self.map.get(key) {
            Some(Value::Object(map)) => Ok(Fields { name, map }),
            Some(Value::String(text)) => {
                *buffer = serde_json::from_str(text).map_err(|error| {
                    UnexpectedShape(format!("`{key}` of {} is not JSON: {error}", self.name))
                })?;
                Fields::of(name, buffer)
            }
            _ => Err(UnexpectedShape(format!("{} has no object `{key}`", self.name))),
        }
    }

    /// The text at the first of `keys` that exists; `None` if no key exists, or its value is null.
    ///
    /// # Errors
    /// The value is not a text, or the texts at two keys differ: edt cannot know which one the
    /// agent reads.
    pub fn optional_text(&self, keys: &[&str]) -> Result<Option<&'a str>, UnexpectedShape> {
        let mut found: Option<(&str, &str)> = None;
        for key in keys {
            match (self.map.get(*key), found) {
                (None | Some(Value::Null), _) => {}
                (Some(Value::String(text)), None) => found = Some((key, text)),
                (Some(Value::String(text)), Some((_, first))) if first == text => {}
                (Some(Value::String(_)), Some((first, _))) => {
                    let message = format!("`{first}` and `{key}` of {} differ", self.name);
                    return Err(UnexpectedShape(message));
                }
                (Some(_), _) => {
                    return Err(UnexpectedShape(format!("`{key}` of {} is not a text", self.name)));
                }
            }
        }
        Ok(found.map(|(_, text)| text))
    }

    /// The text at the first of `keys` that exists.
    ///
    /// # Errors
    /// As [`Fields::optional_text`]; also if no key exists.
    pub fn text(&self, keys: &[&str]) -> Result<&'a str, UnexpectedShape> {
        self.optional_text(keys)?.ok_or_else(|| {
            UnexpectedShape(format!("{} has no field `{}`", self.name, keys.join("` or `")))
        })
    }

    /// The name of a tool.
    ///
    /// # Errors
    /// There is no text at `key`, or it is empty.
    pub fn tool_name(&self, key: &str) -> Result<&'a str, UnexpectedShape> {
        let name = self.text(&[key])?;
        if name.trim().is_empty() {
            Err(UnexpectedShape(format!("`{key}` of {} is empty", self.name)))
        } else {
            Ok(name)
        }
    }

    /// The text at one of `keys`; `None` if it is anything else. For values that decide nothing.
    #[must_use]
    pub fn lenient_text(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.map.get(*key)?.as_str()).filter(|text| !text.is_empty())
    }

    /// What the payload says about the agent's turn.
    #[must_use]
    pub fn turn(&self, phase: HookPhase) -> AgentTurn {
        let text = |keys: &[&str]| self.lenient_text(keys).map(str::to_owned);
        let prompt = (phase == HookPhase::Prompt).then(|| text(&["prompt"]).unwrap_or_default());
        let id = text(&["turn_id", "turnId", "generation_id", "execution_id", "messageID"]);
        AgentTurn { id, model: text(&["model", "model_name"]), prompt }
    }

    /// Whether the value at `key` is `true`.
    #[must_use]
    pub fn lenient_flag(&self, key: &str) -> bool {
        self.map.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Whether the list of texts at `key` has exactly one.
    #[must_use]
    pub fn has_one(&self, key: &str) -> bool {
        self.list(&[key]).is_ok_and(|list| list.is_some_and(|list| list.len() == 1))
    }

    /// The directory at one of `keys`: a text, or the first text of a list.
    #[must_use]
    pub fn directory(&self, keys: &[&str]) -> Option<PathBuf> {
        let first = |value: &'a Value| match value {
            Value::Array(all) => all.first().and_then(Value::as_str),
            value => value.as_str(),
        };
        keys.iter()
            .find_map(|key| first(self.map.get(*key)?))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    }

    /// Whether the value at one of `keys` is `true` or `"true"`.
    #[must_use]
    pub fn flag(&self, keys: &[&str]) -> bool {
        let is_true = |value: &Value| value == &Value::Bool(true) || value.as_str() == Some("true");
        keys.iter().any(|key| self.map.get(*key).is_some_and(is_true))
    }

    /// The number at `key`, which may be written as a text.
    ///
    /// # Errors
    /// The value is not a number, or is below 0.
    pub fn number(&self, key: &str) -> Result<Option<u64>, UnexpectedShape> {
        let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        match self.map.get(key).filter(|value| !value.is_null()) {
            None => Ok(None),
            Some(value) => number(value).map(Some).ok_or_else(|| {
                UnexpectedShape(format!("`{key}` of {} is not a line number", self.name))
            }),
        }
    }

    /// The objects in the list at `key`.
    ///
    /// # Errors
    /// There is no list at `key`, the list is empty, or one of its values is not an object.
    pub fn objects(&self, key: &str) -> Result<Vec<Fields<'a>>, UnexpectedShape> {
        let list = self.map.get(key).and_then(Value::as_array);
        let list =
            list.ok_or_else(|| UnexpectedShape(format!("{} has no list `{key}`", self.name)))?;
        if list.is_empty() {
            return Err(UnexpectedShape(format!("the list `{key}` of {} is empty", self.name)));
        }
        list.iter().map(|value| Fields::of(self.name, value)).collect()
    }

    /// The command of a shell tool: a text, or a list of words or of commands.
    ///
    /// # Errors
    /// There is no command, or it has another form.
    pub fn command(&self) -> Result<ShellCommand, UnexpectedShape> {
        let dir = self.directory(&["workdir", "working_directory", "dir_path", "directory", "cwd"]);
        let script = match self.list(&["command", "commands"])? {
            // `["bash", "-lc", "script"]`
            Some(words) if words.len() == 3 && matches!(words[1].as_str(), "-c" | "-lc") => {
                words[2].clone()
            }
            Some(words) if self.has("commands") => words.join("\n"),
            Some(words) => {
                let words = words.iter().map(|word| shell_word(word.as_bytes()));
                words.collect::<Vec<_>>().join(" ")
            }
            None => self.text(&["command", "command_line", "commands", "cmd"])?.to_owned(),
        };
        Ok(ShellCommand { script, dir, call: None, can_be_changed: false })
    }

    /// The list of texts at the first of `keys` that has one, or that has the JSON text of one.
    fn list(&self, keys: &[&str]) -> Result<Option<Vec<String>>, UnexpectedShape> {
        let parsed = |value: &Value| match value {
            Value::Array(_) => Some(value.clone()),
            Value::String(text) if text.starts_with('[') => serde_json::from_str(text).ok(),
            _ => None,
        };
        let Some(found) = keys.iter().find_map(|key| parsed(self.map.get(*key)?)) else {
            return Ok(None);
        };
        let texts: Option<Vec<String>> = found
            .as_array()
            .and_then(|all| all.iter().map(|one| Some(one.as_str()?.to_owned())).collect());
        let error = || UnexpectedShape(format!("{} has a command that is not of texts", self.name));
        texts.map(Some).ok_or_else(error)
    }

    /// Whether the value at `key` exists and is not null.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// A replacement; a missing old text is taken as empty.
    ///
    /// # Errors
    /// There is no new text.
    pub fn replacement(&self) -> Result<Replacement, UnexpectedShape> {
        Ok(Replacement {
            old: self.optional_text(OLD)?.unwrap_or_default().to_owned(),
            new: self.text(NEW)?.to_owned(),
            all: self.flag(ALL)
                || self.number("expected_replacements").ok().flatten().is_some_and(|many| many > 1),
        })
    }

    /// One replacement in a file. The old text must exist, and may be empty.
    ///
    /// # Errors
    /// A field is missing.
    pub fn replace(&self) -> Result<ToolEdit, UnexpectedShape> {
        self.text(OLD)?;
        Ok(ToolEdit::Replace { path: self.path()?, replacements: vec![self.replacement()?] })
    }

    /// Several replacements in a file, from the list `edits`.
    ///
    /// # Errors
    /// A field is missing.
    pub fn multi_replace(&self) -> Result<ToolEdit, UnexpectedShape> {
        let replacements =
            self.objects("edits")?.iter().map(Fields::replacement).collect::<Result<_, _>>()?;
        Ok(ToolEdit::Replace { path: self.path()?, replacements })
    }

    /// A write of all of a file.
    ///
    /// # Errors
    /// A field is missing.
    pub fn write(&self) -> Result<ToolEdit, UnexpectedShape> {
        Ok(ToolEdit::Write { path: self.path()?, content: self.text(CONTENT)?.to_owned() })
    }

    /// A patch.
    ///
    /// # Errors
    /// The text is missing.
    pub fn patch(&self) -> Result<ToolEdit, UnexpectedShape> {
        Ok(ToolEdit::Patch { text: self.text(PATCH)?.to_owned() })
    }

    /// The path of the file.
    ///
    /// # Errors
    /// The path is missing.
    pub fn path(&self) -> Result<String, UnexpectedShape> {
        self.text(PATH).map(str::to_owned)
    }
}

/// The agents' keys for the path.
const PATH: &[&str] = &["file_path", "filePath", "path", "absolute_path", "notebook_path"];
/// Their keys for the text to replace.
const OLD: &[&str] = &["old_string", "oldString", "old_str", "old_text"];
/// Their keys for its replacement.
const NEW: &[&str] = &["new_string", "newString", "new_str", "new_text"];
/// Their keys for all of a file's text.
const CONTENT: &[&str] = &["content", "contents", "file_text"];
/// Their keys for "every occurrence".
const ALL: &[&str] = &["replace_all", "replaceAll", "allow_multiple"];
/// Their keys for the text of a patch.
const PATCH: &[&str] = &["patchText", "patch", "command", "input"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Calls `read` with the fields of `value`.
    fn with<'v, T>(value: &'v Value, read: impl FnOnce(&Fields<'v>) -> T) -> T {
        read(&Fields::of("call", value).unwrap())
    }

    fn wrong<T>(why: &str) -> Result<T, UnexpectedShape> {
        Err(UnexpectedShape(why.to_owned()))
    }

    #[test]
    fn only_an_object_has_fields() {
        assert_eq!(Fields::of("call", &json!([])).map(|_| ()), wrong("call is not a JSON object"));
    }

    #[test]
    fn an_object_may_be_written_as_text() {
        let (payload, mut buffer) = (json!({"input": "{\"path\": \"a\"}"}), Value::Null);
        let fields = Fields::of("call", &payload).unwrap();
        let input = fields.object("input", &mut buffer, "tool").unwrap();
        assert_eq!(input.path(), Ok("a".to_owned()));
    }

    #[test]
    fn a_text_that_is_no_object_is_an_error() {
        let payload = json!({"input": "[1]"});
        let fields = Fields::of("call", &payload).unwrap();
        let mut buffer = Value::Null;
        assert_eq!(
            fields.object("input", &mut buffer, "tool").map(|_| ()),
            wrong("tool is not a JSON object")
        );
    }

    #[test]
    fn a_missing_object_is_an_error() {
        let payload = json!({"input": 1});
        let fields = Fields::of("call", &payload).unwrap();
        let mut buffer = Value::Null;
        assert_eq!(
            fields.object("input", &mut buffer, "tool").map(|_| ()),
            wrong("call has no object `input`")
        );
    }

    #[test]
    fn two_keys_with_the_same_text_agree() {
        assert_eq!(
            with(&json!({"a": "x", "b": "x"}), |fields| fields
                .optional_text(&["a", "b"])
                .map(|text| text.map(str::to_owned))),
            Ok(Some("x".to_owned()))
        );
    }

    #[test]
    fn two_keys_with_different_texts_are_an_error() {
        assert_eq!(
            with(&json!({"a": "x", "b": "y"}), |fields| fields
                .text(&["a", "b"])
                .map(str::to_owned)),
            wrong("`a` and `b` of call differ")
        );
    }

    #[test]
    fn a_null_counts_as_missing() {
        assert_eq!(
            with(&json!({"a": null}), |fields| fields.text(&["a", "b"]).map(str::to_owned)),
            wrong("call has no field `a` or `b`")
        );
    }

    #[test]
    fn a_number_is_no_text() {
        assert_eq!(
            with(&json!({"a": 1}), |fields| fields.text(&["a"]).map(str::to_owned)),
            wrong("`a` of call is not a text")
        );
    }

    #[test]
    fn a_tool_needs_a_name() {
        assert_eq!(
            with(&json!({"tool": " "}), |fields| fields.tool_name("tool").map(str::to_owned)),
            wrong("`tool` of call is empty")
        );
    }

    #[test]
    fn a_directory_is_a_text_or_the_first_of_a_list() {
        assert_eq!(
            with(&json!({"roots": ["/a", "/b"]}), |fields| fields.directory(&["cwd", "roots"])),
            Some("/a".into())
        );
        assert_eq!(
            with(&json!({"cwd": "/c"}), |fields| fields.directory(&["cwd", "roots"])),
            Some("/c".into())
        );
        assert_eq!(with(&json!({"cwd": ""}), |fields| fields.directory(&["cwd"])), None);
    }

    #[test]
    fn a_flag_may_be_written_as_text() {
        assert!(with(&json!({"all": "true"}), |fields| fields.flag(&["every", "all"])));
        assert!(!with(&json!({"all": 1}), |fields| fields.flag(&["all"])));
    }

    #[test]
    fn a_line_number_may_be_written_as_text() {
        assert_eq!(with(&json!({"line": " 3 "}), |fields| fields.number("line")), Ok(Some(3)));
        assert_eq!(with(&json!({"line": null}), |fields| fields.number("line")), Ok(None));
        assert_eq!(
            with(&json!({"line": -1}), |fields| fields.number("line")),
            wrong("`line` of call is not a line number")
        );
    }

    #[test]
    fn a_list_of_objects_must_not_be_empty() {
        let objects = |value| with(&value, |fields| fields.objects("edits").map(|all| all.len()));
        assert_eq!(objects(json!({"edits": [{}, {}]})), Ok(2));
        assert_eq!(objects(json!({"edits": []})), wrong("the list `edits` of call is empty"));
        assert_eq!(objects(json!({"edits": {}})), wrong("call has no list `edits`"));
        assert_eq!(objects(json!({"edits": [1]})), wrong("call is not a JSON object"));
    }

    #[test]
    fn a_replacement_without_an_old_text_has_an_empty_one() {
        assert_eq!(
            with(&json!({"new_string": "x"}), Fields::replacement),
            Ok(Replacement { old: String::new(), new: "x".to_owned(), all: false })
        );
    }

    #[test]
    fn more_than_one_expected_replacement_means_all() {
        let all = |many: u64| {
            let payload = json!({"old_str": "a", "new_str": "b", "expected_replacements": many});
            with(&payload, Fields::replacement).unwrap().all
        };
        assert_eq!([all(1), all(2)], [false, true]);
    }

    #[test]
    fn a_single_replacement_must_name_its_old_text() {
        assert_eq!(
            with(&json!({"path": "a", "new_str": "b"}), Fields::replace),
            wrong("call has no field `old_string` or `oldString` or `old_str` or `old_text`")
        );
    }

    #[test]
    fn several_replacements_are_of_one_file() {
        let payload = json!({"filePath": "a", "edits": [
            {"oldString": "1", "newString": "2"},
            {"old_text": "3", "new_text": "4", "replaceAll": true},
        ]});
        let replacement =
            |old: &str, new: &str, all| Replacement { old: old.into(), new: new.into(), all };
        assert_eq!(
            with(&payload, Fields::multi_replace),
            Ok(ToolEdit::Replace {
                path: "a".to_owned(),
                replacements: vec![replacement("1", "2", false), replacement("3", "4", true)],
            })
        );
    }
}
