//! Requests in the words that models use: other names of keys, placeholders, and values in another
//! JSON type. A request that is refused as it is written is put in edt's own words here, and tried
//! once more. Nothing is guessed: each rule is a row of a table, and keys that mean nothing to edt
//! are named in a warning.

use serde_json::{Map, Value, json};

use super::loose_values::{self, snake_case};
use super::unique_json::Unique;
use super::words_table::{FLAGS, MODES, NAMES, OFF, WITHOUT_MEANING};

/// Keys of an edit that take a text of any length, so that `""` may be meant.
const TEXTS: &[&str] = &["content", "old_text", "expected_text"];
const NUMBERS: &[&str] = &["start_line", "end_line"];
const FLAG_KEYS: &[&str] = &["replace_all", "executable"];

/// A request in edt's own words.
pub(super) struct InOwnWords {
    pub(super) json: Value,
    /// What was left out although it was written, for the caller to know.
    pub(super) left_out: Vec<String>,
}

/// What must be known of the worktree to understand a request.
pub trait Surroundings {
    /// Whether there is a file at this path of the worktree.
    fn exists(&self, path: &str) -> bool;

    /// The path in the worktree of an absolute path; `None` outside of it.
    fn inside(&self, absolute: &str) -> Option<String>;
}

/// Nothing is known: every file is new, and every absolute path is outside.
#[derive(Debug, Clone, Copy)]
pub struct Nowhere;

impl Surroundings for Nowhere {
    fn exists(&self, _: &str) -> bool {
        false
    }

    fn inside(&self, _: &str) -> Option<String> {
        None
    }
}

/// `bytes` in edt's own words; `None` if they are no request, or two of its keys contradict each
/// other.
pub(super) fn of(bytes: &[u8], around: &dyn Surroundings) -> Option<InOwnWords> {
    let text = std::str::from_utf8(bytes).ok()?;
    let written = parsed(text)?;
    let mut rules = Rules { left_out: Vec::new(), around };
    let json = rules.request(written)?;
    Some(InOwnWords { json, left_out: rules.left_out })
}

/// The JSON of `text`, which may be in a fence or be the text of a text. `None` if it is none, or has
/// a key twice.
fn parsed(text: &str) -> Option<Value> {
    let trimmed = text.trim();
    let inside = trimmed.strip_prefix("```").and_then(|rest| {
        let (_, body) = rest.split_once('\n')?;
        body.trim_end().strip_suffix("```")
    });
    let value = |text: &str| serde_json::from_str::<Unique>(text).ok().map(|unique| unique.0);
    match value(inside.unwrap_or(trimmed))? {
        Value::String(text) => value(&text),
        value => Some(value),
    }
}

/// Names of a text that is the whole file. Others may be a part that goes somewhere.
const WHOLE: &[&str] = &["content", "contents", "file_text", "file_content", "code_content"];

/// How an edit was written, as far as it matters for its mode.
#[derive(Default, Clone, Copy)]
struct Seen {
    /// The name of its text is one of a whole file.
    is_whole: bool,
    /// A line is 0: a placeholder, or a mistake.
    has_zero: bool,
}

struct Rules<'a> {
    left_out: Vec<String>,
    around: &'a dyn Surroundings,
}

impl Rules<'_> {
    fn request(&mut self, written: Value) -> Option<Value> {
        let map = match written {
            Value::Object(map) => map,
            // A list of edits.
            edits @ Value::Array(_) => Map::from_iter([("edits".to_owned(), edits)]),
            _ => return None,
        };
        let (mut map, seen) = self.named(map)?;
        // It is so without it.
        if map.get("match").is_some_and(|how| how == "strict") {
            map.remove("match");
        }
        Self::flags(&mut map);
        if let Some(Value::String(word)) = map.get("allow") {
            let words: Vec<&str> = word.split([',', ' ']).filter(|word| !word.is_empty()).collect();
            let words = json!(words);
            map.insert("allow".into(), words);
        }
        if let Some(edits) = map.remove("edits") {
            let edits = match edits {
                Value::String(text) => parsed(&text)?,
                other => other,
            };
            let list = match edits {
                Value::Array(list) => list,
                one @ Value::Object(_) => vec![one],
                _ => return None,
            };
            // The path of all edits may be beside them.
            let path = map.get("path").and_then(Value::as_str).map(|path| json!(self.path(path)));
            let mut edits = Vec::new();
            for one in list {
                let Value::Object(one) = one else { return None };
                let (mut edit, seen) = self.named(one)?;
                if let (Some(path), false) = (&path, edit.contains_key("path")) {
                    edit.insert("path".into(), path.clone());
                }
                self.edit(&mut edit, seen)?;
                edits.push(Value::Object(edit));
            }
            if !edits.is_empty() {
                // A path beside edits of other files is an error.
                if edits.iter().all(|edit| edit.get("path") == path.as_ref()) {
                    map.remove("path");
                }
                Self::edit_without_mode(&mut map);
                map.insert("edits".into(), Value::Array(edits));
                return Some(Value::Object(map));
            }
        }
        if !["path", "patch", "edits"].iter().any(|key| map.contains_key(*key)) {
            return None;
        }
        if map.contains_key("patch") {
            Self::edit_without_mode(&mut map);
        } else {
            self.edit(&mut map, seen)?;
        }
        Some(Value::Object(map))
    }

    /// The map with edt's keys. `None` if two keys mean the same and differ.
    fn named(&mut self, map: Map<String, Value>) -> Option<(Map<String, Value>, Seen)> {
        let line = map.get("insert_line").cloned();
        let (mut out, mut seen) = (Map::new(), Seen::default());
        for (key, value) in map {
            let snake = snake_case(&key);
            let known = NAMES
                .iter()
                .find(|(own, others)| *own == snake || others.contains(&snake.as_str()));
            let own = known.map_or(key.as_str(), |(own, _)| own).to_owned();
            seen.has_zero |= NUMBERS.contains(&own.as_str()) && typed(&own, value.clone()) == 0;
            let is_off =
                OFF.contains(&snake.as_str()) && typed("replace_all", value.clone()) == false;
            if is_off || is_placeholder(&own, &value) {
                continue;
            }
            let says_nothing = WITHOUT_MEANING.contains(&snake.as_str())
                || snake == "type" && value == "file"
                || snake == "encoding" && ["utf-8", "utf8"].iter().any(|utf8| value == *utf8);
            if says_nothing {
                self.left_out.push(key);
                continue;
            }
            seen.is_whole |= own == "content" && WHOLE.contains(&snake.as_str());
            let value = typed(&own, value);
            match out.get(&own) {
                Some(other) if *other != value => return None,
                _ => out.insert(own, value),
            };
        }
        // The line after which other tools insert: 0 is the beginning of the file.
        if let Some(line) = line
            && out.get("mode").and_then(mode_of) == Some("insert")
        {
            out.remove("insert_line");
            let number = json!(typed("start_line", line).as_u64()?.checked_add(1)?);
            if out.insert("start_line".into(), number.clone()).is_some_and(|other| other != number)
            {
                return None;
            }
        }
        Some((out, seen))
    }

    /// A path in the worktree, without `./` at its beginning.
    fn path(&self, path: &str) -> String {
        let mut rest = path;
        while let Some(below) = rest.strip_prefix("./") {
            rest = below.trim_start_matches('/');
        }
        let inside = rest.starts_with('/').then(|| self.around.inside(rest)).flatten();
        inside.unwrap_or_else(|| rest.to_owned())
    }

    fn flags(map: &mut Map<String, Value>) {
        for (key, asks, word) in FLAGS {
            let Some(value) = map.remove(*key) else { continue };
            if typed("replace_all", value) == json!(asks) {
                let allow = map.entry("allow").or_insert_with(|| json!([]));
                if let Value::Array(words) = allow {
                    words.push(json!(word));
                }
            }
        }
    }

    /// Removes what a request with a list of edits or a patch has as placeholders of single edits.
    fn edit_without_mode(map: &mut Map<String, Value>) {
        for key in ["content", "old_text", "expected_text"] {
            if map.get(key).is_some_and(|value| value == "") {
                map.remove(key);
            }
        }
        for key in FLAG_KEYS {
            if map.get(*key) == Some(&json!(false)) {
                map.remove(*key);
            }
        }
        // A tool's name for all that it does; or a value that a client had to send. With a text or
        // a path it would be an edit of its own.
        let is_alone = ["path", "content", "old_text", "to", "symbol"];
        if map.get("mode").is_some_and(|mode| mode_of(mode) == Some("edit"))
            || !is_alone.iter().any(|key| map.contains_key(*key))
        {
            map.remove("mode");
        }
    }

    /// `None` if it may mean something else.
    fn edit(&self, map: &mut Map<String, Value>, seen: Seen) -> Option<()> {
        for key in ["path", "to"] {
            if let Some(path) = map.get(key).and_then(Value::as_str) {
                let plain = self.path(path);
                map.insert(key.into(), json!(plain));
            }
        }
        for key in FLAG_KEYS {
            if map.get(*key) == Some(&json!(false)) {
                map.remove(*key);
            }
        }
        let said = map.get("mode").and_then(mode_of);
        let mode = match said {
            Some(mode) => mode,
            None if map.contains_key("mode") => return Some(()),
            None => match implied(map) {
                Some("write") if !seen.is_whole || seen.has_zero => return None,
                Some(mode) => mode,
                None => return Some(()),
            },
        };
        // Only the range distinguishes lines from a file.
        if seen.has_zero && mode == "delete" && map.get("mode").is_some_and(|word| word != "delete")
        {
            return None;
        }
        // `replace` of other tools takes the whole file, lines or a text.
        let mode = match mode {
            "edit" if !map.contains_key("old_text") => match implied(map) {
                Some(mode @ "replace_lines") => mode,
                _ => mode,
            },
            mode => mode,
        };
        let mode = match mode {
            "write" => {
                let path = map.get("path").and_then(Value::as_str).unwrap_or_default();
                if self.around.exists(path) { "overwrite" } else { "create" }
            }
            mode => mode,
        };
        let is_proved = map.contains_key("expected_hash") || map.contains_key("start_anchor");
        let takes = |key: &str| match mode {
            "edit" => matches!(key, "content" | "old_text"),
            "replace_lines" if !is_proved => matches!(key, "content" | "expected_text"),
            "delete_lines" => key == "expected_text" && !is_proved,
            "rename" | "delete" | "rename_symbol" => false,
            _ => key == "content",
        };
        for key in ["content", "old_text", "expected_text"] {
            if !takes(key) && map.get(key).is_some_and(|value| value == "") {
                map.remove(key);
            }
        }
        map.insert("mode".into(), json!(mode));
        Some(())
    }
}

/// The mode that the keys of an edit imply.
fn implied(map: &Map<String, Value>) -> Option<&'static str> {
    let has = |key: &str| map.contains_key(key);
    let lines = has("start_line") || has("start_anchor");
    let last = has("end_line") || has("end_anchor");
    match (has("old_text"), has("content"), lines, last, has("to"), has("symbol")) {
        (true, true, false, false, false, false) => Some("edit"),
        (false, true, true, true, false, false) => Some("replace_lines"),
        (false, true, false, false, false, false) => Some("write"),
        (false, false, false, false, true, false) => Some("rename"),
        _ => None,
    }
}

/// The mode that a word of another tool means.
fn mode_of(value: &Value) -> Option<&'static str> {
    let word: String = value.as_str()?.to_lowercase();
    let word = word.replace(['_', '-', ' '], "");
    MODES.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(mode, _)| *mode)
}

/// Whether the value says nothing. An empty text may be what is meant.
fn is_placeholder(own: &str, value: &Value) -> bool {
    !(value.is_string() && TEXTS.contains(&own)) && loose_values::is_placeholder(kind(own), value)
}

/// Numbers and flags that are written as texts.
fn typed(own: &str, value: Value) -> Value {
    loose_values::typed(kind(own), value)
}

/// The JSON type of a key whose value is no text.
fn kind(own: &str) -> Option<&'static str> {
    match own {
        _ if NUMBERS.contains(&own) => Some("integer"),
        _ if FLAG_KEYS.contains(&own) => Some("boolean"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::*;

    struct Here;

    impl Surroundings for Here {
        fn exists(&self, path: &str) -> bool {
            path == "old.txt"
        }

        fn inside(&self, absolute: &str) -> Option<String> {
            absolute.strip_prefix("/w/").map(str::to_owned)
        }
    }

    fn normal(json: Value) -> Value {
        of(json.to_string().as_bytes(), &Here).unwrap().json
    }

    #[test]
    fn an_absolute_path_in_the_worktree_is_one_of_it() {
        let path =
            |path: &str| normal(json!({"file_path": path, "mode": "delete"}))["path"].clone();
        assert_eq!((path("/w/a/b"), path("/v/a")), (json!("a/b"), json!("/v/a")));
    }

    #[test]
    fn keys_of_other_tools_are_understood() {
        let edit = json!({"path": "a", "old_text": "x", "content": "y", "mode": "edit"});
        for written in [
            json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
            json!({"filePath": "./a", "oldString": "x", "newString": "y", "replaceAll": false}),
            json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y", "file_text": null}),
            json!({"path": "a", "mode": "EDIT", "search": "x", "replace": "y", "start_line": 0}),
            json!({"target_file": "a", "old_text": "x", "new_text": "y", "symbol": "", "edits": []}),
        ] {
            assert_eq!(normal(written.clone()), edit, "{written}");
        }
    }

    #[test]
    fn a_mode_is_implied_by_the_keys() {
        let mode = |written: Value| normal(written)["mode"].clone();
        assert_eq!(mode(json!({"path": "new.txt", "content": "x"})), "create");
        assert_eq!(mode(json!({"path": "old.txt", "content": "x"})), "overwrite");
        assert_eq!(
            mode(json!({"path": "a", "content": "x", "start_line": "2", "end_line": 3.0})),
            "replace_lines"
        );
        assert_eq!(mode(json!({"path": "a", "to": "b"})), "rename");
        assert_eq!(mode(json!({"path": "a", "content": "x", "start_line": 2})), Value::Null);
        assert_eq!(
            mode(json!({"path": "old.txt", "mode": "write", "content": "", "old_text": ""})),
            "overwrite"
        );
    }

    #[test]
    fn insert_line_is_the_line_after_which_a_command_inserts() {
        let lines = |written: Value| normal(written)["start_line"].clone();
        assert_eq!(
            lines(json!({"command": "insert", "path": "a", "insert_line": 0, "new_str": "x"})),
            1
        );
        assert_eq!(
            lines(json!({"command": "insert", "path": "a", "insert_line": "4", "new_str": "x"})),
            5
        );
    }

    #[test]
    fn values_in_other_types_are_understood() {
        let edits = json!([{"path": "a", "mode": "append", "content": "x"}]);
        for written in [
            json!({"edits": edits.to_string()}),
            json!({"edits": edits[0]}),
            edits.clone(),
            json!({"changes": edits, "mode": "edit", "content": ""}),
        ] {
            assert_eq!(normal(written.clone())["edits"], edits, "{written}");
        }
        let fenced = format!("```json\n{}\n```", json!({"edits": edits}));
        assert_eq!(of(fenced.as_bytes(), &Nowhere).unwrap().json["edits"], edits);
        let text = json!(json!({"edits": edits}).to_string());
        assert_eq!(normal(text)["edits"], edits);
        let one = json!({"path": "a", "edits": [{"old_string": "x", "new_string": ""}]});
        assert_eq!(
            normal(one),
            json!({"edits": [{"old_text": "x", "content": "", "path": "a", "mode": "edit"}]})
        );
    }

    #[test]
    fn flags_of_the_first_tools_are_overrides() {
        let allow = |written: Value| normal(written)["allow"].clone();
        let edit = |key: &str, value: bool| json!({"path": "a", "mode": "append", "content": "x", key: value});
        assert_eq!(allow(edit("allow_size_reduce", true)), json!(["size_reduction"]));
        assert_eq!(allow(edit("allow_size_reduce", false)), Value::Null);
        assert_eq!(allow(edit("check_duplicates", false)), json!(["duplicate"]));
        assert_eq!(
            allow(json!({"path": "a", "allow": "duplicate, size_reduction"})),
            json!(["duplicate", "size_reduction"])
        );
    }

    #[test]
    fn what_means_nothing_is_left_out_and_named() {
        let written = json!({"path": "a", "mode": "append", "content": "x", "explanation": "why"});
        let found = of(written.to_string().as_bytes(), &Nowhere).unwrap();
        assert_eq!(found.left_out, ["explanation"]);
        assert_eq!(found.json, json!({"path": "a", "mode": "append", "content": "x"}));
    }

    #[test]
    fn two_keys_for_the_same_must_agree() {
        let both = json!({"path": "a", "file_path": "b", "mode": "append", "content": "x"});
        assert!(of(both.to_string().as_bytes(), &Nowhere).is_none());
        let same = json!({"path": "a", "file_path": "a", "mode": "append", "content": "x"});
        assert!(of(same.to_string().as_bytes(), &Nowhere).is_some());
    }

    #[test]
    fn an_empty_text_is_a_text_where_the_mode_takes_one() {
        assert_eq!(normal(json!({"path": "a", "mode": "create", "content": ""}))["content"], "");
        assert_eq!(
            normal(json!({"path": "a", "mode": "edit", "old_text": "", "content": "x"}))["old_text"],
            ""
        );
        assert_eq!(
            normal(json!({"path": "a", "mode": "delete", "content": "", "expected_text": ""})),
            json!({"path": "a", "mode": "delete"})
        );
    }
}
