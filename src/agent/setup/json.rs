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
        Before::Text(text) => {
            parse(split_mark(text).1).ok().and_then(|document| document.to_serde_value())
        }
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
    let document = CstRootNode::parse(text, &options)
        .map_err(|error| Unfit(format!("it is no JSON: {error}")))?;
    match document.value().and_then(|top| twice(&top)) {
        Some(key) => Err(Unfit(format!(
            "the key `{key}` stands in it twice, and which one counts is not for edt to say"
        ))),
        None => Ok(document),
    }
}

/// A key that stands twice in one object.
fn twice(node: &CstNode) -> Option<String> {
    if let Some(list) = node.as_array() {
        return list.elements().iter().find_map(twice);
    }
    let mut seen = std::collections::BTreeSet::new();
    node.as_object()?.properties().iter().find_map(|property| {
        let key = property.name()?.decoded_value().ok()?;
        if seen.insert(key.clone()) { twice(&property.value()?) } else { Some(key) }
    })
}

fn put(document: &CstRootNode, entry: &Entry) -> Result<(), Unfit> {
    let no_object = || Unfit("what it holds is no JSON object".to_owned());
    let top = document.object_value_or_create().ok_or_else(no_object)?;
    match entry {
        Entry::Own(at, value) | Entry::Choice(at, value) => {
            let (object, key) = above(&top, at)?;
            match object.get(key) {
                Some(there)
                    if there.value().and_then(|there| there.to_serde_value()).as_ref()
                        == Some(value) => {}
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
        Entry::Element(at, value, mark) => put_element(&list(&top, at)?, value, mark),
        Entry::Word(at, word) => {
            let list = list(&top, at)?;
            let there =
                list.elements().iter().any(|one| one.to_serde_value() == Some(Value::from(*word)));
            if !there {
                list.append(CstInputValue::String((*word).to_owned()));
            }
        }
    }
    Ok(())
}

fn take(document: &CstRootNode, entry: &Entry, stood: Option<&Value>) {
    let Some(top) = document.object_value() else { return };
    let stood_at =
        |at: &[&str]| stood.map(|stood| at.iter().try_fold(stood, |value, key| value.get(key)));
    let (Entry::Own(at, _)
    | Entry::Choice(at, _)
    | Entry::There(at, _)
    | Entry::Element(at, _, _)
    | Entry::Word(at, _)) = entry;
    let removed = match entry {
        // What nobody knows the past of is edt's only if it is exactly that.
        Entry::Own(_, value) => match stood_at(at) {
            None => give_back(&top, at, |there| there == value, None),
            Some(before) => give_back(&top, at, |there| alike(there, value), before),
        },
        // Whose these are, only what stood there before can tell.
        Entry::Choice(_, value) | Entry::There(_, value) => {
            stood_at(at).is_some_and(|before| give_back(&top, at, |there| there == value, before))
        }
        Entry::Word(_, word) => {
            let had = |value: &Value| {
                value.as_array().is_some_and(|all| all.contains(&Value::from(*word)))
            };
            stood_at(at).is_some_and(|before| !before.is_some_and(had))
                && drop_elements(&top, at, |one| one == *word)
        }
        Entry::Element(_, value, mark) => take_element(&top, at, value, mark, stood),
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
fn give_back(
    top: &CstObject,
    at: &[&str],
    ours: impl Fn(&Value) -> bool,
    before: Option<&Value>,
) -> bool {
    let found = at.split_last().and_then(|(last, above)| find_object(top, above)?.get(last));
    let Some(there) = found else { return false };
    let now = there.value().and_then(|there| there.to_serde_value());
    if !now.as_ref().is_some_and(ours) {
        return false;
    }
    match before {
        Some(before) if now.as_ref() == Some(before) => {}
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
    let Some((last, above)) = at.split_last() else {
        return Err(Unfit("a path of no keys".to_owned()));
    };
    let mut object = top.clone();
    for (depth, key) in above.iter().enumerate() {
        let next = object.object_value_or_create(key);
        object =
            next.ok_or_else(|| Unfit(format!("`{}` in it is no object", at[..=depth].join("."))))?;
    }
    Ok((object, last))
}

fn list(top: &CstObject, at: &[&str]) -> Result<CstArray, Unfit> {
    let (object, key) = above(top, at)?;
    object
        .array_value_or_create(key)
        .ok_or_else(|| Unfit(format!("`{}` in it is no list", at.join("."))))
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
    let found = at
        .split_last()
        .and_then(|(last, above)| find_object(top, above)?.get(last)?.value()?.to_serde_value());
    found.is_some_and(|value| match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    })
}

/// The list of handlers in a group of them.
const HANDLERS: &str = "hooks";

/// Puts edt's element into a list: in the place of its older self, else at the end. In a group with others' handlers only the one of
/// edt's is.
fn put_element(list: &CstArray, value: &Value, mark: &str) {
    let handler = handlers(value).first().copied().unwrap_or(value);
    let all = || {
        list.elements()
            .into_iter()
            .filter_map(|one| Some((one.to_serde_value()?, one.as_object()?)))
    };
    let as_it_should_be = |one: &Value| {
        one == value || (frame(one) == frame(value) && handlers(one).contains(&handler))
    };
    if all().any(|(there, _)| as_it_should_be(&there)) {
        return;
    }
    for (there, object) in all() {
        let inner = handlers(&there);
        if is_own(&there, mark) || (!inner.is_empty() && inner.iter().all(|one| is_own(one, mark)))
        {
            object.replace_with(input(value));
            return;
        }
        let own = |one: &CstNode| one.to_serde_value().is_some_and(|one| is_own(&one, mark));
        let theirs = object.array_value(HANDLERS).into_iter().flat_map(|list| list.elements());
        let Some(old) = theirs.into_iter().find(own) else { continue };
        if frame(&there) == frame(value) {
            old.as_object().map(|old| old.replace_with(input(handler)));
            return;
        }
        // It is asked about other tools than edt must be asked about.
        old.remove();
    }
    list.append(input(value));
}

/// Takes edt's handlers out of a list, a group only if nothing else is in it, and gives back those that stood there; whether there was one.
fn take_element(
    top: &CstObject,
    at: &[&str],
    value: &Value,
    mark: &str,
    stood: Option<&Value>,
) -> bool {
    let Some(list) = find_list(top, at) else { return false };
    let handler = handlers(value).first().copied().unwrap_or(value);
    let own = |one: &CstNode| {
        one.to_serde_value()
            .is_some_and(|one| if stood.is_some() { is_own(&one, mark) } else { one == *handler })
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
    let stood = stood.and_then(|stood| at.iter().try_fold(stood, |value, key| value.get(key)));
    let stood = stood.and_then(Value::as_array).into_iter().flatten();
    for theirs in stood.filter_map(|one| only_own(one, mark)).filter(|_| some) {
        list.append(input(&theirs));
    }
    some
}

/// What of an element has edt's mark: all of it, or a group with the handlers that do.
fn only_own(one: &Value, mark: &str) -> Option<Value> {
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
fn frame(group: &Value) -> Option<serde_json::Map<String, Value>> {
    let mut group = group.as_object()?.clone();
    group.remove(HANDLERS)?;
    Some(group)
}

/// Whether `handler` itself has a text that ends with `mark`: the end of a command line.
fn is_own(handler: &Value, mark: &str) -> bool {
    let ends = |value: &Value| value.as_str().is_some_and(|text| text.ends_with(mark));
    handler.as_object().is_some_and(|map| map.values().any(ends))
}

/// Whether two values are the same but for the folders of programs.
#[must_use]
pub fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => {
            one.rsplit('/').next() == other.rsplit('/').next()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| alike(value, other)))
        }
        _ => one == other,
    }
}

/// Whether something of edt's is there, in whatever version.
#[must_use]
pub fn traces(text: &str, entries: &[Entry]) -> bool {
    let document = parse(split_mark(text).1).ok().and_then(|document| document.to_serde_value());
    let at = |at: &[&str]| at.iter().try_fold(document.as_ref()?, |value, key| value.get(key));
    entries.iter().any(|entry| match entry {
        Entry::Own(path, _) => at(path).is_some(),
        Entry::Element(path, _, mark) => at(path).and_then(Value::as_array).is_some_and(|all| {
            all.iter()
                .any(|one| is_own(one, mark) || handlers(one).iter().any(|one| is_own(one, mark)))
        }),
        Entry::There(..) | Entry::Choice(..) | Entry::Word(..) => false,
    })
}

/// Whether the property `key` is `true` at the top.
#[must_use]
pub fn says(text: &str, key: &str) -> bool {
    let document = parse(split_mark(text).1).ok().and_then(|document| document.to_serde_value());
    document.is_some_and(|document| document.get(key) == Some(&Value::Bool(true)))
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
            keys.sort_by_key(|key| {
                FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len())
            });
            CstInputValue::Object(
                keys.into_iter().map(|key| (key.clone(), input(&map[key]))).collect(),
            )
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
        assert_eq!(
            parse(&left).unwrap().to_serde_value(),
            Some(json!({"deny": ["Edit"], "version": 1})),
            "{left}"
        );
    }

    #[test]
    fn what_is_no_json_or_has_something_else_in_its_place_is_left_alone() {
        assert!(with(Some("{\n  \"a\": \n"), &entries()).unwrap_err().0.contains("line"));
        assert!(
            with(Some("{\"hooks\": []}"), &entries())
                .unwrap_err()
                .0
                .contains("`hooks` in it is no object")
        );
        assert!(with(Some("[]"), &entries()).is_err());
        assert!(with(Some("{a: 1}"), &entries()).is_err(), "agents read JSON, not JavaScript");
    }

    #[test]
    fn an_older_line_of_edts_is_replaced_where_it_stands() {
        let old = "{\"hooks\": {\"Pre\": [{\"command\": \"/old/edt agent-hook x\"}, {\"command\": \"mine\"}]}}";
        let entry = Entry::Element(
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
    fn of_a_group_with_a_persons_hook_only_edts_own_is_edts() {
        let value = |text: &str| parse(text).unwrap().to_serde_value();
        let ours = json!({"matcher": "Edit", "hooks": [{"type": "command", "command": "edt agent-hook x"}]});
        let entry = [Entry::Element(vec!["hooks", "Pre"], ours.clone(), "agent-hook x".into())];
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
            let out = without(&with_it, &entry, Before::Text(&file(&left))).unwrap().unwrap();
            assert_eq!(value(&out), value(&file(&left)));
            assert_eq!(
                value(&without(&with_it, &entry, Before::Unknown).unwrap().unwrap()),
                value(&file(&left))
            );
        }
    }

    #[test]
    fn what_a_person_had_under_edts_name_is_given_back() {
        let old = "{\"mcpServers\": {\"edt\": {\"command\": \"edt\", \"args\": [\"mcp\", \"--tools\", \"read\"]}}}";
        let entry = &entries()[..1];
        assert_eq!(
            without(old, entry, Before::Unknown).unwrap().unwrap(),
            old,
            "it is not exactly edt's"
        );
        let new = with(Some(old), entry).unwrap();
        let back = without(&new, entry, Before::Text(old)).unwrap().unwrap();
        assert_eq!(parse(&back).unwrap().to_serde_value(), parse(old).unwrap().to_serde_value());
        assert!(
            with(Some("{\"hooks\": {}, \"hooks\": {}}"), entry)
                .unwrap_err()
                .0
                .contains("`hooks` stands in it twice")
        );
    }
}
