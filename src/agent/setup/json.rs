//! Entries in a JSON file, perhaps with comments: what else stands there stays as it is, byte for byte.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::{Before, Unfit};

/// One thing that must stand in the file.
#[derive(Debug, Clone)]
pub enum Entry {
    /// The property at this path is edt's.
    Own(Vec<&'static str>, Value),
    /// One element of the list at this path is edt's: the one in which this word stands.
    Element(Vec<&'static str>, Value, String),
    /// The property at this path must be there; whatever it is stays.
    There(Vec<&'static str>, Value),
    /// The property at this path is a person's, and is set.
    Choice(Vec<&'static str>, Value),
    /// The list at this path has this word.
    Word(Vec<&'static str>, &'static str),
}

/// The text with all `entries`.
///
/// # Errors
/// It is no JSON, or something else stands where an object or a list must.
pub fn with(old: Option<&str>, entries: &[Entry]) -> Result<String, Unfit> {
    let (mark, text) = split_mark(old.filter(|old| !old.trim().is_empty()).unwrap_or("{}\n"));
    let document = parse(text)?;
    for entry in entries {
        put(&document, entry)?;
    }
    Ok(format!("{mark}{document}"))
}

/// The text without them; `None` if edt made the file and nothing else is in it.
///
/// # Errors
/// It is no JSON.
pub fn without(old: &str, entries: &[Entry], before: Before<'_>) -> Result<Option<String>, Unfit> {
    let (mark, text) = split_mark(old);
    let document = parse(text)?;
    let stood = match before {
        Before::Text(text) => parse(split_mark(text).1).ok().and_then(|document| document.to_serde_value()),
        Before::Nothing => Some(Value::Object(serde_json::Map::new())),
        Before::Unknown => None,
    };
    for entry in entries {
        take(&document, entry, stood.as_ref());
    }
    let left = document.to_serde_value();
    let nothing = left.as_ref().and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
    Ok((before != Before::Nothing || !nothing).then(|| format!("{mark}{document}")))
}

fn split_mark(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest))
}

fn parse(text: &str) -> Result<CstRootNode, Unfit> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    CstRootNode::parse(text, &options).map_err(|error| Unfit(format!("it is no JSON: {error}")))
}

fn put(document: &CstRootNode, entry: &Entry) -> Result<(), Unfit> {
    let no_object = || Unfit("what it holds is no JSON object".to_owned());
    let top = document.object_value_or_create().ok_or_else(no_object)?;
    match entry {
        Entry::Own(at, value) | Entry::Choice(at, value) => {
            let (object, key) = above(&top, at)?;
            match object.get(key) {
                Some(there) if there.value().and_then(|there| there.to_serde_value()).as_ref() == Some(value) => {}
                Some(there) => there.set_value(input(value)),
                None => drop(object.append(key, input(value))),
            }
        }
        Entry::There(at, value) => {
            let (object, key) = above(&top, at)?;
            if object.get(key).is_none() {
                object.append(key, input(value));
            }
        }
        Entry::Element(at, value, mark) => {
            let list = list(&top, at)?;
            let mut ours = elements(&list, mark).into_iter();
            match ours.next() {
                Some((_, there)) if there == *value => {}
                Some((index, _)) => {
                    if let Some(old) = list.elements().get(index) {
                        old.clone().remove();
                    }
                    list.insert(index, input(value));
                }
                None => drop(list.append(input(value))),
            }
        }
        Entry::Word(at, word) => {
            let list = list(&top, at)?;
            let there = list.elements().iter().any(|one| one.to_serde_value() == Some(Value::from(*word)));
            if !there {
                list.append(CstInputValue::String((*word).to_owned()));
            }
        }
    }
    Ok(())
}

fn take(document: &CstRootNode, entry: &Entry, stood: Option<&Value>) {
    let Some(top) = document.object_value() else { return };
    let stood_at = |at: &[&str]| stood.map(|stood| at.iter().try_fold(stood, |value, key| value.get(key)));
    let (Entry::Own(at, _)
    | Entry::Choice(at, _)
    | Entry::There(at, _)
    | Entry::Element(at, _, _)
    | Entry::Word(at, _)) = entry;
    let removed = match entry {
        Entry::Own(..) => drop_key(&top, at),
        // Whose these are, only what stood there before can tell.
        Entry::Choice(_, value) | Entry::There(_, value) => {
            stood_at(at).is_some_and(|before| give_back(&top, at, value, before))
        }
        Entry::Word(_, word) => {
            let had = |value: &Value| value.as_array().is_some_and(|all| all.contains(&Value::from(*word)));
            stood_at(at).is_some_and(|before| !before.is_some_and(had)) && drop_elements(&top, at, |one| one == *word)
        }
        Entry::Element(_, _, mark) => drop_elements(&top, at, |one| holds(one, mark)),
    };
    // What held only that goes, too, unless it stood there before.
    for depth in (1..=at.len()).rev().filter(|_| removed) {
        let at = &at[..depth];
        if stood_at(at).flatten().is_none() && is_empty(&top, at) {
            drop_key(&top, at);
        }
    }
}

/// Sets a property that is still `ours` to what it was; whether it is gone.
fn give_back(top: &CstObject, at: &[&str], ours: &Value, before: Option<&Value>) -> bool {
    let found = at.split_last().and_then(|(last, above)| find_object(top, above)?.get(last));
    let Some(there) = found else { return false };
    if there.value().and_then(|there| there.to_serde_value()).as_ref() != Some(ours) {
        return false;
    }
    match before {
        Some(before) => there.set_value(input(before)),
        None => there.remove(),
    }
    before.is_none()
}

/// Removes such elements from the list at `at`; whether there was one.
fn drop_elements(top: &CstObject, at: &[&str], such: impl Fn(&Value) -> bool) -> bool {
    let Some(list) = find_list(top, at) else { return false };
    let is_such = |one: &CstNode| one.to_serde_value().is_some_and(|value| such(&value));
    let found: Vec<CstNode> = list.elements().into_iter().filter(is_such).collect();
    let some = !found.is_empty();
    found.into_iter().for_each(CstNode::remove);
    some
}

/// The object that holds the last key of `at`, made as far as it is missing.
fn above<'k>(top: &CstObject, at: &[&'k str]) -> Result<(CstObject, &'k str), Unfit> {
    let Some((last, above)) = at.split_last() else { return Err(Unfit("a path of no keys".to_owned())) };
    let mut object = top.clone();
    for (depth, key) in above.iter().enumerate() {
        let next = object.object_value_or_create(key);
        object = next.ok_or_else(|| Unfit(format!("`{}` in it is no object", at[..=depth].join("."))))?;
    }
    Ok((object, last))
}

fn list(top: &CstObject, at: &[&str]) -> Result<CstArray, Unfit> {
    let (object, key) = above(top, at)?;
    object.array_value_or_create(key).ok_or_else(|| Unfit(format!("`{}` in it is no list", at.join("."))))
}

fn find_object(top: &CstObject, at: &[&str]) -> Option<CstObject> {
    at.iter().try_fold(top.clone(), |object, key| object.object_value(key))
}

fn find_list(top: &CstObject, at: &[&str]) -> Option<CstArray> {
    let (last, above) = at.split_last()?;
    find_object(top, above)?.array_value(last)
}

/// Removes a property; whether it was there.
fn drop_key(top: &CstObject, at: &[&str]) -> bool {
    let found = at.split_last().and_then(|(last, above)| find_object(top, above)?.get(last));
    found.map(CstObjectProp::remove).is_some()
}

fn is_empty(top: &CstObject, at: &[&str]) -> bool {
    let found = at.split_last().and_then(|(last, above)| find_object(top, above)?.get(last)?.value()?.to_serde_value());
    found.is_some_and(|value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    })
}

/// The elements in which `mark` stands, with their places.
fn elements(list: &CstArray, mark: &str) -> Vec<(usize, Value)> {
    let all = list.elements().into_iter().enumerate();
    all.filter_map(|(index, one)| Some((index, one.to_serde_value()?))).filter(|(_, one)| holds(one, mark)).collect()
}

/// Whether a text in `value` ends with `mark`: the end of a command line.
fn holds(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.ends_with(mark),
        Value::Array(all) => all.iter().any(|one| holds(one, mark)),
        Value::Object(map) => map.values().any(|one| holds(one, mark)),
        _ => false,
    }
}

/// Keys that people look for first.
const FIRST: [&str; 6] = ["name", "version", "type", "matcher", "command", "args"];

/// `value` as it is written, with the keys that people look for first in front.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_key(|key| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
            CstInputValue::Object(keys.into_iter().map(|key| (key.clone(), input(&map[key]))).collect())
        }
    }
}

/// A whole file of its own, written as [`with`] would.
#[must_use]
pub fn file(value: &Value) -> String {
    let Some(map) = value.as_object() else { return value.to_string() };
    let Ok(document) = parse("{}\n") else { return value.to_string() };
    if let Some(top) = document.object_value_or_create()
        && let CstInputValue::Object(keys) = input(&Value::Object(map.clone()))
    {
        for (key, value) in keys {
            top.append(&key, value);
        }
    }
    document.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries() -> Vec<Entry> {
        let hook = json!({"matcher": "Edit", "hooks": [{"type": "command", "command": "edt agent-hook x"}]});
        vec![
            Entry::Own(vec!["mcpServers", "edt"], json!({"command": "edt", "args": ["mcp"]})),
            Entry::Element(vec!["hooks", "Pre"], hook, "agent-hook x".into()),
            Entry::Word(vec!["deny"], "Edit"),
            Entry::There(vec!["version"], json!(1)),
        ]
    }

    const OLD: &str = "{\n    // mine\n    \"b\": 1, /* two */ \"a\": [1,2,\n 3],\n    \"hooks\": {\n        \"Pre\": [\n            {\"matcher\": \"Bash\", \"hooks\": []} // keep\n        ]\n    },\n    \"mcpServers\": {}, // empty, and mine\n}\n";

    #[test]
    fn entries_go_in_and_out_and_every_other_byte_stays() {
        let new = with(Some(OLD), &entries()).unwrap();
        assert!(
            new.contains("// mine")
                && new.contains("\"b\": 1, /* two */ \"a\": [1,2,\n 3],")
                && new.contains("// keep"),
            "{new}"
        );
        assert_eq!(with(Some(&new), &entries()).unwrap(), new, "a second time nothing changes");
        let back = without(&new, &entries(), Before::Text(OLD)).unwrap().unwrap();
        let value = |text: &str| parse(text).unwrap().to_serde_value();
        assert_eq!(value(&back), value(OLD), "{back}");
        assert!(back.contains("// keep") && back.contains("// empty, and mine"), "{back}");
    }

    #[test]
    fn a_file_that_edt_made_goes_when_nothing_else_is_in_it() {
        let made = with(None, &entries()).unwrap();
        assert_eq!(without(&made, &entries(), Before::Nothing).unwrap(), None, "{made}");
        // Without knowledge of what stood there, what may be a person's stays.
        let left = without(&made, &entries(), Before::Unknown).unwrap().unwrap();
        assert_eq!(parse(&left).unwrap().to_serde_value(), Some(json!({"deny": ["Edit"], "version": 1})), "{left}");
    }

    #[test]
    fn what_is_no_json_or_has_something_else_in_its_place_is_left_alone() {
        assert!(with(Some("{\n  \"a\": \n"), &entries()).unwrap_err().0.contains("line"));
        assert!(with(Some("{\"hooks\": []}"), &entries()).unwrap_err().0.contains("`hooks` in it is no object"));
        assert!(with(Some("[]"), &entries()).is_err());
        assert!(with(Some("{a: 1}"), &entries()).is_err(), "agents read JSON, not JavaScript");
    }

    #[test]
    fn an_older_line_of_edts_is_replaced_where_it_stands() {
        let old = "{\"hooks\": {\"Pre\": [{\"command\": \"/old/edt agent-hook x\"}, {\"command\": \"mine\"}]}}";
        let entry = Entry::Element(vec!["hooks", "Pre"], json!({"command": "edt agent-hook x"}), "agent-hook x".into());
        let new = with(Some(old), &[entry]).unwrap();
        assert_eq!(
            parse(&new).unwrap().to_serde_value(),
            Some(json!({"hooks": {"Pre": [{"command": "edt agent-hook x"}, {"command": "mine"}]}}))
        );
    }
}
