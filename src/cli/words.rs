//! Arguments of tools in the words of other agents' tools: other names, placeholders, and values in
//! another JSON type. Edits have their own rules ([`edt_core::txn::other_words`]).

use edt_core::txn::loose_values::{self, is_placeholder, snake_case};
use serde_json::{Map, Value, json};

/// For a tool: its argument, and the names that other tools have for it, in snake case.
const NAMES: &[(&str, &str, &[&str])] = &[
    (
        "read",
        "path",
        &["file_path", "filepath", "filename", "file", "target_file", "absolute_path"],
    ),
    ("read", "max_lines", &["num_lines"]),
    ("search", "pattern", &["query", "regex", "regexp", "search", "search_term", "search_text"]),
    ("search", "paths", &["path", "dir", "directory", "dir_path", "target_directories"]),
    ("search", "glob", &["include", "include_pattern", "file_pattern", "glob_pattern", "globs"]),
    ("search", "ignore_case", &["case_insensitive", "i"]),
    ("search", "fixed", &["literal", "fixed_strings", "is_literal"]),
    ("search", "context", &["context_lines", "c"]),
    ("search", "max_matches", &["max_results", "limit", "head_limit", "max_count"]),
    ("search", "files", &["files_with_matches", "names_only"]),
    ("undo", "count", &["n", "steps", "number", "num"]),
    ("run", "program", &["command", "cmd", "shell_command", "executable", "argv"]),
    ("run", "args", &["arguments"]),
    ("run", "cwd", &["workdir", "working_directory", "dir_path", "directory", "dir"]),
    ("run", "timeout", &["timeout_seconds", "timeout_sec"]),
    ("run", "stdin", &["input"]),
    ("land", "message", &["commit_message", "msg", "title"]),
    ("help", "topic", &["about", "command", "query", "code"]),
    ("status", "view", &["what", "action"]),
];

/// Keys that say nothing, in snake case.
const WITHOUT_MEANING: &[&str] = &[
    "description",
    "explanation",
    "instruction",
    "instructions",
    "reason",
    "thought",
    "recursive",
    "should_read_entire_file",
    "encoding",
];

/// Names of an object that has all arguments.
const WRAPPERS: &[&str] = &["arguments", "params", "parameters", "input", "kwargs", "args"];

/// `args` in the words of `tool`, whose arguments `schema` describes. What has no meaning for it
/// stays as it is, so that the tool refuses it by its name.
#[must_use]
pub(super) fn own(tool: &str, schema: &Map<String, Value>, args: Value) -> Value {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return args };
    let Some(args) = object(properties, args.clone()) else { return args };
    let mut own = Map::new();
    let is_own_program = args.get("program").is_some_and(Value::is_string);
    for (key, value) in args {
        let snake = snake_case(&key);
        let name = if properties.contains_key(&key) {
            key.clone()
        } else if properties.contains_key(&snake) {
            snake.clone()
        } else {
            let known = NAMES.iter().find(|(of, name, others)| {
                *of == tool && others.contains(&snake.as_str()) && properties.contains_key(*name)
            });
            known.map_or_else(|| key.clone(), |(_, name, _)| (*name).to_owned())
        };
        let is_known = properties.contains_key(&name);
        // What must be there is refused for what it is.
        let is_required = schema.get("required").and_then(Value::as_array);
        let is_required = is_required.is_some_and(|all| all.iter().any(|one| *one == name));
        let property = properties.get(&name);
        // Without a list that narrows the call, more would happen: an empty one is refused.
        let narrows = value.is_array() && property.is_some_and(|one| one.get("minItems").is_some());
        if !is_required
            && !narrows
            && is_placeholder(property.and_then(kind), &value)
            && name != "stdin"
            || !is_known && WITHOUT_MEANING.contains(&snake.as_str())
        {
            continue;
        }
        let value = match property {
            Some(schema) => typed(schema, value),
            None => value,
        };
        // No flag is on unless it is asked for.
        if is_known && value == false {
            continue;
        }
        // Two names of one argument: the tool refuses the second.
        let name = if own.contains_key(&name) { key } else { name };
        own.insert(name, value);
    }
    match tool {
        "read" => lines(&mut own),
        "search" => search(&mut own),
        "run" => {
            let milliseconds = |value: &Value| u32::try_from(number(value)?).ok();
            if let Some(milliseconds) = taken(&mut own, &["timeout_ms"], milliseconds) {
                own.insert("timeout".to_owned(), json!(f64::from(milliseconds) / 1000.0));
            }
            // A client may have to send one of its values.
            if !own.contains_key("output") {
                own.remove("stream");
            }
            // Its own word is exactly one program.
            if !is_own_program {
                command(&mut own);
            }
        }
        _ => {}
    }
    Value::Object(own)
}

/// The flags of `apply` besides its request: other names, placeholders and types. The request has its
/// own rules.
pub(super) fn flags_of_apply(args: &mut Value) {
    let Some(args) = args.as_object_mut() else { return };
    if args
        .get("dry_run")
        .is_some_and(|value| loose_values::typed(Some("boolean"), value.clone()) == true)
        && args.remove("dry_run").is_some()
    {
        args.insert("check".to_owned(), json!(true));
    }
    for (name, kind) in [("check", "boolean"), ("propose", "boolean"), ("proposal", "integer")] {
        match args.remove(name) {
            Some(value) if !is_placeholder(Some(kind), &value) => {
                args.insert(name.to_owned(), loose_values::typed(Some(kind), value));
            }
            _ => {}
        }
    }
}

/// The object of all arguments, which may be a text, or inside another object.
fn object(properties: &Map<String, Value>, args: Value) -> Option<Map<String, Value>> {
    let map = match args {
        Value::Object(map) => map,
        Value::String(text) => serde_json::from_str(&text).ok()?,
        _ => return None,
    };
    let inside = match map.iter().next() {
        Some((key, inside)) if map.len() == 1 && WRAPPERS.contains(&key.as_str()) => inside,
        _ => return Some(map),
    };
    match inside {
        Value::Object(inside) if inside.keys().any(|key| properties.contains_key(key)) => {
            Some(inside.clone())
        }
        _ => Some(map),
    }
}

/// The type of an argument that may be left out.
fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// `value` in the type of the argument, if there is one way to write it so.
fn typed(schema: &Value, value: Value) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim());
    match (kind(schema), &value) {
        (Some("object"), Value::String(text)) => match parsed(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => value,
        },
        (Some("string"), Value::Number(number)) => json!(number.to_string()),
        (Some("array"), Value::String(text)) => match parsed(text) {
            Ok(list @ Value::Array(_)) => list,
            _ => json!([value]),
        },
        (Some("array"), Value::Object(_) | Value::Number(_)) => {
            let one = typed(&schema["items"], value);
            json!([one])
        }
        (Some("array"), Value::Array(list)) => {
            let list = list.iter().map(|one| typed(&schema["items"], one.clone()));
            Value::Array(list.collect())
        }
        (kind, _) => loose_values::typed(kind, value),
    }
}

/// Removes the first of the arguments `names` that is there, if `read` understands its value.
fn taken<T>(
    own: &mut Map<String, Value>,
    names: &[&str],
    read: impl Fn(&Value) -> Option<T>,
) -> Option<T> {
    let name = names.iter().find(|name| own.contains_key(**name))?;
    let value = read(own.get(*name)?)?;
    own.remove(*name);
    Some(value)
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    }
}

/// A range of lines in other words. What is no line stays, so that the tool refuses it.
fn lines(own: &mut Map<String, Value>) {
    // `10-40` of other tools.
    for range in own.get_mut("lines").and_then(Value::as_array_mut).into_iter().flatten() {
        let dashed = range.as_str().and_then(|range| range.split_once('-'));
        if let Some((first, last)) = dashed.filter(|(first, _)| !first.is_empty()) {
            *range = json!(format!("{}:{}", first.trim(), last.trim()));
        }
    }
    if own.contains_key("lines") {
        return;
    }
    let range = own.get("view_range").and_then(Value::as_array);
    let range = range.and_then(|range| match &range[..] {
        [first, last] => Some((number(first)?, number(last)?)),
        _ => None,
    });
    if let Some((first, last)) = range {
        own.remove("view_range");
        let last = if last > 0 { last.to_string() } else { String::new() };
        own.insert("lines".to_owned(), json!([format!("{}:{last}", first.max(1))]));
        return;
    }
    let line = |value: &Value| number(value).filter(|line| *line >= 0);
    let first = taken(own, &["start_line", "first_line", "line_start", "start", "offset"], line);
    let last = taken(own, &["end_line", "last_line", "line_end", "end"], line);
    let count = taken(own, &["limit", "count"], line);
    let from = first.unwrap_or(1).max(1);
    let last = last.or(count.map(|count| from + count.max(1) - 1)).filter(|last| *last > 0);
    if first.is_some() || last.is_some() {
        let last = last.map_or_else(String::new, |last| last.to_string());
        own.insert("lines".to_owned(), json!([format!("{from}:{last}")]));
    }
}

fn search(own: &mut Map<String, Value>) {
    let flag = |value: &Value| loose_values::typed(Some("boolean"), value.clone()).as_bool();
    if taken(own, &["case_sensitive"], flag) == Some(false) {
        own.insert("ignore_case".to_owned(), json!(true));
    }
    if taken(own, &["is_regex", "use_regex"], flag) == Some(false) {
        own.insert("fixed".to_owned(), json!(true));
    }
    let texts = |value: &Value| {
        let list = typed(&json!({"type": "array", "items": {"type": "string"}}), value.clone());
        let texts = list.as_array()?.iter().map(|one| Some(json!(format!("!{}", one.as_str()?))));
        texts.collect::<Option<Vec<Value>>>()
    };
    if let Some(excluded) = taken(own, &["exclude", "exclude_pattern"], texts)
        && let Value::Array(globs) = own.entry("glob").or_insert_with(|| json!([]))
    {
        globs.extend(excluded);
    }
    match own.get("output_mode").and_then(Value::as_str) {
        Some("files_with_matches") => {
            own.remove("output_mode");
            own.insert("files".to_owned(), json!(true));
        }
        Some("content") => drop(own.remove("output_mode")),
        _ => {}
    }
    if !own.contains_key("pattern") && !own.contains_key("list") {
        own.insert("list".to_owned(), json!(true));
    }
}

/// What the shell itself does.
const BUILT_IN: &[&str] =
    &["cd", "export", "source", ".", "alias", "set", "unset", "ulimit", "eval"];

/// A command line, or a list of words, that other tools call a command. A shell runs what needs one.
fn command(own: &mut Map<String, Value>) {
    let is_plain = |text: &str| {
        let first = text.split_whitespace().next().unwrap_or_default();
        !first.contains('=')
            && !BUILT_IN.contains(&first)
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b" \t_./=:,@%+-".contains(&b))
    };
    let words: Vec<Value> = match own.get("program") {
        Some(Value::Array(words)) => words.clone(),
        Some(Value::String(text))
            if own.contains_key("args")
                || !text.trim().contains(char::is_whitespace) && is_plain(text) =>
        {
            return;
        }
        Some(Value::String(text)) if is_plain(text) => {
            text.split_whitespace().map(|word| json!(word)).collect()
        }
        Some(Value::String(text)) => vec![json!("bash"), json!("-c"), json!(text.trim())],
        _ => return,
    };
    let Some((program, first)) = words.split_first() else { return };
    let mut args = first.to_vec();
    match own.remove("args") {
        Some(Value::Array(more)) => args.extend(more),
        Some(other) => args.push(other),
        None => {}
    }
    own.insert("program".to_owned(), program.clone());
    own.insert("args".to_owned(), json!(args));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_words(tool: &str, args: Value) -> Value {
        let schema = match tool {
            "read" => schemars::schema_for!(crate::cli::read::Args),
            "search" => schemars::schema_for!(crate::cli::search::Args),
            "run" => schemars::schema_for!(edt_run::request::RunRequestJson),
            _ => schemars::schema_for!(crate::cli::land::Args),
        };
        let mut schema = schema.to_value().as_object().cloned().unwrap();
        if tool == "search" {
            schema["properties"]["list"] = json!({"type": "boolean"});
        }
        own(tool, &schema, args)
    }

    #[test]
    fn arguments_of_other_tools_are_understood() {
        for (tool, args, expected) in [
            (
                "read",
                json!({"file_path": "a", "offset": 3, "limit": 2}),
                json!({"path": "a", "lines": ["3:4"]}),
            ),
            (
                "read",
                json!({"filePath": "a", "limit": "10"}),
                json!({"path": "a", "lines": ["1:10"]}),
            ),
            (
                "read",
                json!({"path": "a", "view_range": [4, -1]}),
                json!({"path": "a", "lines": ["4:"]}),
            ),
            (
                "read",
                json!({"target_file": "a", "start_line": "2", "end_line": 5, "explanation": "x"}),
                json!({"path": "a", "lines": ["2:5"]}),
            ),
            (
                "read",
                json!({"path": "a", "lines": "10-40", "max_lines": 0, "anchors": "true"}),
                json!({"path": "a", "lines": ["10:40"], "anchors": true}),
            ),
            ("read", json!({"arguments": {"path": "a"}}), json!({"path": "a"})),
            ("read", json!("{\"path\": \"a\"}"), json!({"path": "a"})),
            (
                "search",
                json!({"query": "x", "include": "*.rs", "case_sensitive": false}),
                json!({"pattern": "x", "glob": ["*.rs"], "ignore_case": true}),
            ),
            (
                "search",
                json!({"pattern": "x", "path": "src", "output_mode": "files_with_matches", "-i": true}),
                json!({"pattern": "x", "paths": ["src"], "files": true, "ignore_case": true}),
            ),
            (
                "search",
                json!({"pattern": "x", "paths": "[\"a\", \"b\"]", "is_regex": false, "max_results": "5"}),
                json!({"pattern": "x", "paths": ["a", "b"], "fixed": true, "max_matches": 5}),
            ),
            (
                "search",
                json!({"path": "src", "recursive": true}),
                json!({"paths": ["src"], "list": true}),
            ),
            (
                "run",
                json!({"command": "cargo test --lib", "description": "x"}),
                json!({"program": "cargo", "args": ["test", "--lib"]}),
            ),
            (
                "run",
                json!({"cmd": "ls | wc -l", "workdir": "src", "timeout_ms": 1500}),
                json!({"program": "bash", "args": ["-c", "ls | wc -l"], "cwd": "src", "timeout": 1.5}),
            ),
            ("run", json!({"command": ["git", "log"]}), json!({"program": "git", "args": ["log"]})),
            (
                "run",
                json!({"argv": ["ls"], "env": {}, "stdin": ""}),
                json!({"program": "ls", "args": [], "stdin": ""}),
            ),
            (
                "run",
                json!({"argv": ["sh", "-c", "x"], "args": ["--dry-run"]}),
                json!({"program": "sh", "args": ["-c", "x", "--dry-run"]}),
            ),
            (
                "run",
                json!({"command": "A=1 env"}),
                json!({"program": "bash", "args": ["-c", "A=1 env"]}),
            ),
            (
                "run",
                json!({"command": "cd src"}),
                json!({"program": "bash", "args": ["-c", "cd src"]}),
            ),
            ("run", json!({"program": "./my tool", "args": []}), json!({"program": "./my tool"})),
            (
                "search",
                json!({"pattern": "x", "exclude": ["a", "b"], "case_sensitive": "false"}),
                json!({"pattern": "x", "glob": ["!a", "!b"], "ignore_case": true}),
            ),
            (
                "read",
                json!({"path": "a", "start_line": "foo"}),
                json!({"path": "a", "start_line": "foo"}),
            ),
            ("land", json!({"to": 0, "message": "x"}), json!({"message": "x"})),
            (
                "run",
                json!({"program": "make", "args": "all"}),
                json!({"program": "make", "args": ["all"]}),
            ),
            ("land", json!({"commitMessage": "x", "undo": "false"}), json!({"message": "x"})),
        ] {
            assert_eq!(own_words(tool, args.clone()), expected, "{args}");
        }
    }

    #[test]
    fn an_empty_list_that_narrows_a_call_stays() {
        let given = json!({"only": [], "allow": []});
        assert_eq!(own_words("land", given), json!({"only": []}));
        assert_eq!(own_words("land", json!({"only": null})), json!({}));
    }

    #[test]
    fn edts_own_words_stay() {
        for (tool, args) in [
            ("read", json!({"path": "a", "lines": ["1:2", "7"], "max_lines": 5})),
            ("search", json!({"pattern": "a|b", "paths": ["."], "context": 2})),
            ("run", json!({"program": "sh", "args": ["-c", "a | b"], "timeout": 2.5})),
            ("land", json!({"message": "x", "unknown": 1})),
        ] {
            assert_eq!(own_words(tool, args.clone()), args);
        }
    }
}
