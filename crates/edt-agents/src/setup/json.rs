//! Entries of a JSON file, which may have comments. All other bytes of the file stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::{Original, UnusableFile};

/// One entry that the file must have.
#[derive(Debug, Clone)]
pub enum JsonEntry {
    /// The property at this path belongs to edt.
    Owned(Vec<&'static str>, Value),
    /// One element of the list at this path belongs to edt. Its command line ends with this text.
    OwnedElement(Vec<&'static str>, Value, String),
    /// The property at this path must exist. A present value stays.
    Default(Vec<&'static str>, Value),
    /// The property at this path belongs to the user, and edt sets it.
    Override(Vec<&'static str>, Value),
    /// The list at this path must contain this text.
    ListItem(Vec<&'static str>, &'static str),
}

/// The text with all `entries`.
///
/// # Errors
/// The text is not JSON, or has another value where an object or a list is needed.
pub fn with(old: Option<&str>, entries: &[JsonEntry]) -> Result<String, UnusableFile> {
    let (mark, text) = split_bom(old.filter(|old| !old.trim().is_empty()).unwrap_or("{}\n"));
    let document = parse(text)?;
    for entry in entries {
        put(&document, entry)?;
    }
    Ok(format!("{mark}{document}"))
}

/// The text without `entries`; `None` if edt made the file and nothing else is in it.
///
/// # Errors
/// The text is not JSON.
pub fn without(
    old: &str,
    entries: &[JsonEntry],
    original: Original<'_>,
) -> Result<Option<String>, UnusableFile> {
    let (mark, text) = split_bom(old);
    let document = parse(text)?;
    let original_value = match original {
        Original::Text(text) => {
            parse(split_bom(text).1).ok().and_then(|document| document.to_serde_value())
        }
        Original::Missing => Some(Value::Object(serde_json::Map::new())),
        Original::Unknown => None,
    };
    for entry in entries {
        remove_entry(&document, entry, original_value.as_ref());
    }
    let left = document.to_serde_value();
    let nothing = left.as_ref().and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
    Ok((original != Original::Missing || !nothing).then(|| format!("{mark}{document}")))
}

fn split_bom(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest))
}

fn parse(text: &str) -> Result<CstRootNode, UnusableFile> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    let document = CstRootNode::parse(text, &options)
        .map_err(|error| UnusableFile(format!("it is not JSON: {error}")))?;
    match document.value().and_then(|top| duplicate_key(&top)) {
        Some(key) => Err(UnusableFile(format!(
            "it has the key `{key}` twice, and edt cannot know which one the agent reads"
        ))),
        None => Ok(document),
    }
}

/// A key that occurs twice in one object.
fn duplicate_key(node: &CstNode) -> Option<String> {
    if let Some(list) = node.as_array() {
        return list.elements().iter().find_map(duplicate_key);
    }
    let mut seen = std::collections::BTreeSet::new();
    node.as_object()?.properties().iter().find_map(|property| {
        let key = property.name()?.decoded_value().ok()?;
        if seen.insert(key.clone()) { duplicate_key(&property.value()?) } else { Some(key) }
    })
}

fn put(document: &CstRootNode, entry: &JsonEntry) -> Result<(), UnusableFile> {
    let no_object = || UnusableFile("its top level is not a JSON object".to_owned());
    let top = document.object_value_or_create().ok_or_else(no_object)?;
    match entry {
        JsonEntry::Owned(at, value) | JsonEntry::Override(at, value) => {
            let (object, key) = parent_object(&top, at)?;
            match object.get(key) {
                Some(present)
                    if present.value().and_then(|present| present.to_serde_value()).as_ref()
                        == Some(value) => {}
                Some(present) => present.set_value(input(value)),
                None => drop(object.append(key, input(value))),
            }
        }
        JsonEntry::Default(at, value) => {
            let (object, key) = parent_object(&top, at)?;
            if object.get(key).is_none() {
                object.append(key, input(value));
            }
        }
        JsonEntry::OwnedElement(at, value, mark) => put_element(&list(&top, at)?, value, mark),
        JsonEntry::ListItem(at, word) => {
            let list = list(&top, at)?;
            let present =
                list.elements().iter().any(|one| one.to_serde_value() == Some(Value::from(*word)));
            if !present {
                list.append(CstInputValue::String((*word).to_owned()));
            }
        }
    }
    Ok(())
}

fn remove_entry(document: &CstRootNode, entry: &JsonEntry, original_value: Option<&Value>) {
    let Some(top) = document.object_value() else { return };
    let original_at = |at: &[&str]| {
        original_value.map(|top| at.iter().try_fold(top, |value, key| value.get(key)))
    };
    let (JsonEntry::Owned(at, _)
    | JsonEntry::Override(at, _)
    | JsonEntry::Default(at, _)
    | JsonEntry::OwnedElement(at, _, _)
    | JsonEntry::ListItem(at, _)) = entry;
    let removed = match entry {
        // Without a known original, only a property that is exactly edt's is removed.
        JsonEntry::Owned(_, value) => match original_at(at) {
            None => restore(&top, at, |present| present == value, None),
            Some(original) => {
                restore(&top, at, |present| same_except_directories(present, value), original)
            }
        },
        // Only the original shows whether these are edt's.
        JsonEntry::Override(_, value) | JsonEntry::Default(_, value) => original_at(at)
            .is_some_and(|original| restore(&top, at, |present| present == value, original)),
        JsonEntry::ListItem(_, word) => {
            let had = |value: &Value| {
                value.as_array().is_some_and(|all| all.contains(&Value::from(*word)))
            };
            original_at(at).is_some_and(|original| !original.is_some_and(had))
                && drop_elements(&top, at, |one| one == *word)
        }
        JsonEntry::OwnedElement(_, value, mark) => {
            remove_element(&top, at, value, mark, original_value)
        }
    };
    // An object or list that is now empty is removed, too, unless the original has it.
    for depth in (1..=at.len()).rev().filter(|_| removed) {
        let at = &at[..depth];
        if original_at(at).flatten().is_none() && is_empty(&top, at) {
            drop_key(&top, at);
        }
    }
}

/// Sets a property to its original value if it is still `ours`. Returns whether it was removed.
fn restore(
    top: &CstObject,
    at: &[&str],
    ours: impl Fn(&Value) -> bool,
    original: Option<&Value>,
) -> bool {
    let found = at.split_last().and_then(|(last, parents)| find_object(top, parents)?.get(last));
    let Some(present) = found else { return false };
    let now = present.value().and_then(|present| present.to_serde_value());
    if !now.as_ref().is_some_and(ours) {
        return false;
    }
    match original {
        Some(original) if now.as_ref() == Some(original) => {}
        Some(original) => present.set_value(input(original)),
        None => present.remove(),
    }
    original.is_none()
}

/// Removes the elements that match from the list at `at`. Returns whether there was one.
fn drop_elements(top: &CstObject, at: &[&str], is_match: impl Fn(&Value) -> bool) -> bool {
    let Some(list) = find_list(top, at) else { return false };
    let is_matching = |one: &CstNode| one.to_serde_value().is_some_and(|value| is_match(&value));
    let found: Vec<CstNode> = list.elements().into_iter().filter(is_matching).collect();
    let some = !found.is_empty();
    found.into_iter().for_each(CstNode::remove);
    some
}

/// The object that has the last key of `at`, which is created if it is missing, and that key.
fn parent_object<'k>(
    top: &CstObject,
    at: &[&'k str],
) -> Result<(CstObject, &'k str), UnusableFile> {
    let Some((last, parents)) = at.split_last() else {
        return Err(UnusableFile("the path of keys is empty".to_owned()));
    };
    let mut object = top.clone();
    for (depth, key) in parents.iter().enumerate() {
        let next = object.object_value_or_create(key);
        object = next.ok_or_else(|| {
            UnusableFile(format!("its `{}` is not an object", at[..=depth].join(".")))
        })?;
    }
    Ok((object, last))
}

fn list(top: &CstObject, at: &[&str]) -> Result<CstArray, UnusableFile> {
    let (object, key) = parent_object(top, at)?;
    object
        .array_value_or_create(key)
        .ok_or_else(|| UnusableFile(format!("its `{}` is not a list", at.join("."))))
}

fn find_object(top: &CstObject, at: &[&str]) -> Option<CstObject> {
    at.iter().try_fold(top.clone(), |object, key| object.object_value(key))
}

fn find_list(top: &CstObject, at: &[&str]) -> Option<CstArray> {
    let (last, parents) = at.split_last()?;
    find_object(top, parents)?.array_value(last)
}

/// Removes a property. Returns whether it existed.
fn drop_key(top: &CstObject, at: &[&str]) -> bool {
    let found = at.split_last().and_then(|(last, parents)| find_object(top, parents)?.get(last));
    found.map(CstObjectProp::remove).is_some()
}

fn is_empty(top: &CstObject, at: &[&str]) -> bool {
    let found = at.split_last().and_then(|(last, parents)| {
        find_object(top, parents)?.get(last)?.value()?.to_serde_value()
    });
    found.is_some_and(|value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    })
}

/// The key of the list of handlers in a group.
const HANDLERS: &str = "hooks";

/// Puts edt's element into a list. It replaces an older version of itself, or is added at the end.
/// In a group that also has other handlers, only edt's own handler is replaced.
fn put_element(list: &CstArray, value: &Value, mark: &str) {
    let handler = handlers(value).first().copied().unwrap_or(value);
    let all = || {
        list.elements()
            .into_iter()
            .filter_map(|one| Some((one.to_serde_value()?, one.as_object()?)))
    };
    let is_up_to_date = |one: &Value| {
        one == value
            || (without_handlers(one) == without_handlers(value)
                && handlers(one).contains(&handler))
    };
    if all().any(|(present, _)| is_up_to_date(&present)) {
        return;
    }
    for (present, object) in all() {
        let inner = handlers(&present);
        if is_own(&present, mark)
            || (!inner.is_empty() && inner.iter().all(|one| is_own(one, mark)))
        {
            object.replace_with(input(value));
            return;
        }
        let own = |one: &CstNode| one.to_serde_value().is_some_and(|one| is_own(&one, mark));
        let theirs = object.array_value(HANDLERS).into_iter().flat_map(|list| list.elements());
        let Some(old) = theirs.into_iter().find(own) else { continue };
        if without_handlers(&present) == without_handlers(value) {
            old.as_object().map(|old| old.replace_with(input(handler)));
            return;
        }
        // The group matches other tools than edt's group does.
        old.remove();
    }
    list.append(input(value));
}

/// Removes edt's handlers from a list, and a group if nothing else is in it. Restores edt's
/// handlers of the original. Returns whether a handler was removed.
fn remove_element(
    top: &CstObject,
    at: &[&str],
    value: &Value,
    mark: &str,
    original_value: Option<&Value>,
) -> bool {
    let Some(list) = find_list(top, at) else { return false };
    let handler = handlers(value).first().copied().unwrap_or(value);
    let own = |one: &CstNode| {
        one.to_serde_value().is_some_and(|one| {
            if original_value.is_some() { is_own(&one, mark) } else { one == *handler }
        })
    };
    let mut some = false;
    for one in list.elements() {
        if own(&one) {
            (some, ()) = (true, one.remove());
            continue;
        }
        let Some(inner) = one.as_object().and_then(|group| group.array_value(HANDLERS)) else {
            continue;
        };
        let found: Vec<CstNode> = inner.elements().into_iter().filter(&own).collect();
        some |= !found.is_empty();
        if !found.is_empty() && found.len() == inner.elements().len() {
            one.remove();
        } else {
            found.into_iter().for_each(CstNode::remove);
        }
    }
    let original_list =
        original_value.and_then(|top| at.iter().try_fold(top, |value, key| value.get(key)));
    let elements = original_list.and_then(Value::as_array).into_iter().flatten();
    for own in elements.filter_map(|one| own_part(one, mark)).filter(|_| some) {
        list.append(input(&own));
    }
    some
}

/// The part of an element that has edt's mark: all of it, or the group with only those handlers.
fn own_part(one: &Value, mark: &str) -> Option<Value> {
    if is_own(one, mark) {
        return Some(one.clone());
    }
    let own: Vec<Value> =
        handlers(one).into_iter().filter(|one| is_own(one, mark)).cloned().collect();
    let mut group = one.as_object()?.clone();
    (!own.is_empty()).then(|| {
        group.insert(HANDLERS.to_owned(), own.into());
        group.into()
    })
}

fn handlers(group: &Value) -> Vec<&Value> {
    group.get(HANDLERS).and_then(Value::as_array).into_iter().flatten().collect()
}

/// A group without its handlers.
fn without_handlers(group: &Value) -> Option<serde_json::Map<String, Value>> {
    let mut group = group.as_object()?.clone();
    group.remove(HANDLERS)?;
    Some(group)
}

/// Whether `handler` itself has a text that ends with `mark`, as edt's command lines do.
fn is_own(handler: &Value, mark: &str) -> bool {
    let ends = |value: &Value| value.as_str().is_some_and(|text| text.ends_with(mark));
    handler.as_object().is_some_and(|map| map.values().any(ends))
}

/// Whether two values are equal, except for the directories of programs.
#[must_use]
pub fn same_except_directories(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => {
            one.rsplit('/').next() == other.rsplit('/').next()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| same_except_directories(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    other.get(key).is_some_and(|other| same_except_directories(value, other))
                })
        }
        _ => one == other,
    }
}

/// Whether the text has an entry that edt wrote, of any version.
#[must_use]
pub fn any_occurs(text: &str, entries: &[JsonEntry]) -> bool {
    let document = parse(split_bom(text).1).ok().and_then(|document| document.to_serde_value());
    let at = |at: &[&str]| at.iter().try_fold(document.as_ref()?, |value, key| value.get(key));
    entries.iter().any(|entry| match entry {
        JsonEntry::Owned(path, _) => at(path).is_some(),
        JsonEntry::OwnedElement(path, _, mark) => {
            at(path).and_then(Value::as_array).is_some_and(|all| {
                all.iter().any(|one| {
                    is_own(one, mark) || handlers(one).iter().any(|one| is_own(one, mark))
                })
            })
        }
        JsonEntry::Default(..) | JsonEntry::Override(..) | JsonEntry::ListItem(..) => false,
    })
}

/// Whether the property `key` is `true` at the top.
#[must_use]
pub fn is_true_at_top(text: &str, key: &str) -> bool {
    let document = parse(split_bom(text).1).ok().and_then(|document| document.to_serde_value());
    document.is_some_and(|document| document.get(key) == Some(&Value::Bool(true)))
}

/// Keys that readers look for first.
const FIRST: [&str; 6] = ["name", "version", "type", "matcher", "command", "args"];

/// `value` as edt writes it, with the keys that readers look for first in front.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(input).collect()),
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by_key(|key| {
                FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len())
            });
            CstInputValue::Object(
                keys.into_iter().map(|key| (key.clone(), input(&map[key]))).collect(),
            )
        }
    }
}

/// The text of a file that has only `value`, in the style of [`with`].
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

    fn entries() -> Vec<JsonEntry> {
        let hook = json!({"matcher": "Edit", "hooks": [{"type": "command", "command": "edt agent-hook x"}]});
        vec![
            JsonEntry::Owned(vec!["mcpServers", "edt"], json!({"command": "edt", "args": ["mcp"]})),
            JsonEntry::OwnedElement(vec!["hooks", "Pre"], hook, "agent-hook x".into()),
            JsonEntry::ListItem(vec!["deny"], "Edit"),
            JsonEntry::Default(vec!["version"], json!(1)),
        ]
    }

    const OLD: &str = "{\n    // mine\n    \"b\": 1, /* two */ \"a\": [1,2,\n 3],\n    \"hooks\": {\n        \"Pre\": [\n            {\"matcher\": \"Bash\", \"hooks\": []} // keep\n        ]\n    },\n    \"mcpServers\": {}, // empty, and mine\n}\n";

    #[test]
    fn adding_and_removing_entries_leaves_other_bytes_unchanged() {
        let new = with(Some(OLD), &entries()).unwrap();
        assert!(
            new.contains("// mine")
                && new.contains("\"b\": 1, /* two */ \"a\": [1,2,\n 3],")
                && new.contains("// keep"),
            "{new}"
        );
        assert_eq!(with(Some(&new), &entries()).unwrap(), new, "a second call changes nothing");
        let back = without(&new, &entries(), Original::Text(OLD)).unwrap().unwrap();
        let value = |text: &str| parse(text).unwrap().to_serde_value();
        assert_eq!(value(&back), value(OLD), "{back}");
        assert!(back.contains("// keep") && back.contains("// empty, and mine"), "{back}");
    }

    #[test]
    fn a_file_that_edt_made_is_removed_when_nothing_else_is_in_it() {
        let made = with(None, &entries()).unwrap();
        assert_eq!(without(&made, &entries(), Original::Missing).unwrap(), None, "{made}");
        // Without a known original, entries that may be the user's stay.
        let left = without(&made, &entries(), Original::Unknown).unwrap().unwrap();
        assert_eq!(
            parse(&left).unwrap().to_serde_value(),
            Some(json!({"deny": ["Edit"], "version": 1})),
            "{left}"
        );
    }

    #[test]
    fn invalid_json_and_unexpected_values_are_refused() {
        assert!(with(Some("{\n  \"a\": \n"), &entries()).unwrap_err().0.contains("line"));
        assert!(
            with(Some("{\"hooks\": []}"), &entries())
                .unwrap_err()
                .0
                .contains("its `hooks` is not an object")
        );
        assert!(with(Some("[]"), &entries()).is_err());
        assert!(with(Some("{a: 1}"), &entries()).is_err(), "agents read JSON, not JavaScript");
    }

    #[test]
    fn an_older_command_of_edt_is_replaced_in_its_position() {
        let old = "{\"hooks\": {\"Pre\": [{\"command\": \"/old/edt agent-hook x\"}, {\"command\": \"mine\"}]}}";
        let entry = JsonEntry::OwnedElement(
            vec!["hooks", "Pre"],
            json!({"command": "edt agent-hook x"}),
            "agent-hook x".into(),
        );
        let new = with(Some(old), &[entry]).unwrap();
        assert_eq!(
            parse(&new).unwrap().to_serde_value(),
            Some(json!({"hooks": {"Pre": [{"command": "edt agent-hook x"}, {"command": "mine"}]}}))
        );
    }

    #[test]
    fn in_a_group_with_a_users_hook_only_edts_hook_is_replaced() {
        let value = |text: &str| parse(text).unwrap().to_serde_value();
        let ours = json!({"matcher": "Edit", "hooks": [{"type": "command", "command": "edt agent-hook x"}]});
        let entry =
            [JsonEntry::OwnedElement(vec!["hooks", "Pre"], ours.clone(), "agent-hook x".into())];
        let group = |matcher: &str, commands: &[&str]| {
            let all: Vec<Value> =
                commands.iter().map(|one| json!({"type": "command", "command": one})).collect();
            json!({"matcher": matcher, "hooks": all})
        };
        let file = |all: &[Value]| json!({"hooks": {"Pre": all}}).to_string();
        for (old, new, left) in [
            (
                vec![group("Edit", &["mine", "/old/edt agent-hook x"])],
                vec![group("Edit", &["mine", "edt agent-hook x"])],
                vec![group("Edit", &["mine"])],
            ),
            (
                vec![group("Bash", &["edt agent-hook x", "mine"])],
                vec![group("Bash", &["mine"]), ours.clone()],
                vec![group("Bash", &["mine"])],
            ),
        ] {
            let with_it = with(Some(&file(&old)), &entry).unwrap();
            assert_eq!(value(&with_it), value(&file(&new)));
            assert_eq!(with(Some(&with_it), &entry).unwrap(), with_it);
            let out = without(&with_it, &entry, Original::Text(&file(&left))).unwrap().unwrap();
            assert_eq!(value(&out), value(&file(&left)));
            assert_eq!(
                value(&without(&with_it, &entry, Original::Unknown).unwrap().unwrap()),
                value(&file(&left))
            );
        }
    }

    #[test]
    fn a_users_entry_named_edt_is_restored() {
        let old = "{\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\", \"--tools\", \"read\"]}}}";
        let entry = &entries()[..1];
        assert_eq!(
            without(old, entry, Original::Unknown).unwrap().unwrap(),
            old,
            "the entry is not exactly edt's"
        );
        let new = with(Some(old), entry).unwrap();
        let back = without(&new, entry, Original::Text(old)).unwrap().unwrap();
        assert_eq!(parse(&back).unwrap().to_serde_value(), parse(old).unwrap().to_serde_value());
        assert!(
            with(Some("{\"hooks\": {}, \"hooks\": {}}"), entry)
                .unwrap_err()
                .0
                .contains("has the key `hooks` twice")
        );
    }

    fn text_with(old: &str, entry: JsonEntry) -> String {
        with(Some(old), &[entry]).unwrap()
    }

    #[test]
    fn a_default_leaves_a_present_value() {
        let entry = || JsonEntry::Default(vec!["version"], json!(1));
        assert_eq!(text_with("{\"version\": 2}\n", entry()), "{\"version\": 2}\n");
    }

    #[test]
    fn an_override_is_removed_only_if_the_original_is_known() {
        let entry = [JsonEntry::Override(vec!["permission", "edit"], json!("deny"))];
        let old = "{\"permission\": {\"edit\": \"ask\"}}\n";
        let new = with(Some(old), &entry).unwrap();
        assert_eq!(new, "{\"permission\": {\"edit\": \"deny\"}}\n");
        assert_eq!(without(&new, &entry, Original::Text(old)).unwrap().as_deref(), Some(old));
        assert_eq!(without(&new, &entry, Original::Unknown).unwrap(), Some(new));
    }

    #[test]
    fn a_list_item_that_the_original_has_stays() {
        let entry = [JsonEntry::ListItem(vec!["deny"], "Edit")];
        let old = "{\"deny\": [\"Edit\"]}\n";
        assert_eq!(with(Some(old), &entry).unwrap(), old);
        assert_eq!(without(old, &entry, Original::Text(old)).unwrap().as_deref(), Some(old));
    }

    #[test]
    fn a_byte_order_mark_stays() {
        let entry = || JsonEntry::Owned(vec!["a"], json!(1));
        let old = "\u{feff}{\n  \"b\": 2\n}\n";
        let new = text_with(old, entry());
        assert!(new.starts_with("\u{feff}{"), "{new:?}");
        assert_eq!(without(&new, &[entry()], Original::Text(old)).unwrap().unwrap(), old);
    }

    #[test]
    fn an_empty_file_becomes_an_object() {
        assert_eq!(
            with(Some(" \n"), &[JsonEntry::Owned(vec!["a"], json!(1))]).unwrap(),
            with(None, &[JsonEntry::Owned(vec!["a"], json!(1))]).unwrap()
        );
    }

    #[test]
    fn a_list_where_a_text_is_cannot_be_extended() {
        let entry = JsonEntry::ListItem(vec!["permissions", "deny"], "Edit");
        assert_eq!(
            with(Some("{\"permissions\": {\"deny\": \"x\"}}"), &[entry]),
            Err(UnusableFile("its `permissions.deny` is not a list".to_owned()))
        );
    }

    #[test]
    fn a_duplicate_key_in_a_list_is_found() {
        assert_eq!(
            with(Some("{\"a\": [{\"b\": 1, \"b\": 2}]}"), &[]),
            Err(UnusableFile(
                "it has the key `b` twice, and edt cannot know which one the agent reads"
                    .to_owned()
            ))
        );
    }

    #[test]
    fn values_that_differ_only_in_directories_are_the_same() {
        let command = |path: &str| json!({"command": path, "args": ["mcp"]});
        assert!(same_except_directories(&command("/a/edt"), &command("edt")));
        assert!(!same_except_directories(&command("/a/edt"), &command("/a/edt2")));
        assert!(!same_except_directories(&command("edt"), &json!({"command": "edt"})));
    }

    #[test]
    fn a_part_of_any_version_is_found() {
        let all = entries();
        assert!(any_occurs("{\"mcpServers\": {\"edt\": {}}}", &all));
        assert!(any_occurs(
            "{\"hooks\": {\"Pre\": [{\"hooks\": [{\"command\": \"/old/edt agent-hook x\"}]}]}}",
            &all
        ));
        assert!(!any_occurs("{\"deny\": [\"Edit\"], \"version\": 1}", &all));
        assert!(!any_occurs("not JSON", &all));
    }

    #[test]
    fn only_the_value_true_is_true() {
        assert!(is_true_at_top("// x\n{\"disableAllHooks\": true}", "disableAllHooks"));
        assert!(!is_true_at_top("{\"disableAllHooks\": \"true\"}", "disableAllHooks"));
        assert!(!is_true_at_top("{\"a\": {\"disableAllHooks\": true}}", "disableAllHooks"));
    }

    #[test]
    fn a_file_of_edt_has_the_important_keys_first() {
        assert_eq!(
            file(&json!({"license": "x", "name": "edt", "version": "1"})),
            "{\n  \"name\": \"edt\",\n  \"version\": \"1\",\n  \"license\": \"x\"\n}\n"
        );
    }
}
