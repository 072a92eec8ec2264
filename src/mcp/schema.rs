//! JSON Schemas in the subset that all clients understand.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of arguments, without references and null alternatives. Clients pass it to models
/// that accept only a subset of JSON Schema.
#[must_use]
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = object(settings.into_generator().into_root_schema_for::<T>());
    schema.values_mut().for_each(tidy);
    schema.remove("title");
    schema.insert("type".to_owned(), json!("object"));
    schema
}

/// The schema of arguments of several kinds, merged into one object, because clients do not accept
/// alternatives at the top level.
#[must_use]
pub(crate) fn either(kinds: &[fn() -> Map<String, Value>]) -> Map<String, Value> {
    let mut schema = Map::new();
    let mut properties = Map::new();
    for mut kind in kinds.iter().map(|kind| kind()) {
        if let Some(Value::Object(more)) = kind.remove("properties") {
            properties.extend(more);
        }
        kind.remove("required");
        for (key, value) in kind {
            schema.entry(key).or_insert(value);
        }
    }
    schema.insert("properties".to_owned(), properties.into());
    schema
}

/// `schema` with short descriptions: of `arguments` these, and inside of them none. Other arguments
/// keep their own description if `all`, else they are not listed.
#[must_use]
pub(crate) fn listed(
    mut schema: Map<String, Value>,
    arguments: &[(&str, &str)],
    all: bool,
) -> Map<String, Value> {
    let Some(Value::Object(mut properties)) = schema.remove("properties") else { return schema };
    let mut listed = if all { properties.clone() } else { Map::new() };
    for (key, about) in arguments {
        let Some(mut property) = properties.remove(*key) else { continue };
        drop_notes(&mut property);
        property["description"] = json!(about);
        listed.insert((*key).to_owned(), property);
    }
    // Clients repeat the list with every request to their model: the tool's description is enough.
    schema.remove("description");
    schema.insert("properties".to_owned(), listed.into());
    schema
}

fn object(schema: Schema) -> Map<String, Value> {
    match schema.to_value() {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn tidy(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(tidy),
        Value::Object(object) => {
            object.values_mut().for_each(tidy);
            object.retain(|key, value| {
                // A property may have this name; its value is then a schema, not a string.
                !(matches!(key.as_str(), "format" | "title") && value.is_string()
                    || key == "default" && value.is_null())
            });
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|one| one != "null");
                // A number may be sent as text, but not every text as a number.
                let text = types.iter().find(|one| *one == "string");
                if let Some(one) = text.or(types.first()).cloned() {
                    object.insert("type".to_owned(), one);
                }
            }
            if let Some(names) = object.get("oneOf").and_then(choice) {
                object.remove("oneOf");
                object.extend(names);
            }
            if let Some(Value::Array(ways)) = object.get_mut("anyOf") {
                ways.retain(|way| way.get("type") != Some(&json!("null")));
                if let [Value::Object(way)] = ways.as_slice() {
                    let way = way.clone();
                    object.remove("anyOf");
                    way.into_iter().for_each(|(key, value)| {
                        object.entry(key).or_insert(value);
                    });
                }
            }
        }
        _ => {}
    }
}

/// A choice of named values, each with its description, as one enumeration.
fn choice(ways: &Value) -> Option<Map<String, Value>> {
    let ways = ways.as_array()?;
    let names = ways.iter().map(|way| way.get("const")?.as_str()).collect::<Option<Vec<&str>>>()?;
    let described = |(way, name): (&Value, &&str)| {
        Some(format!("{name}: {}", way.get("description")?.as_str()?))
    };
    let described: Vec<String> = ways.iter().zip(&names).filter_map(described).collect();
    let mut schema =
        Map::from_iter([("type".to_owned(), json!("string")), ("enum".to_owned(), json!(names))]);
    if !described.is_empty() {
        schema.insert("description".to_owned(), json!(described.join(" ")));
    }
    Some(schema)
}

/// Drops what only readers need. A property may have one of these names; its value is then a schema,
/// not a text or a number.
fn drop_notes(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(drop_notes),
        Value::Object(object) => {
            object.retain(|key, value| {
                let is_note = matches!(key.as_str(), "description" | "default" | "minimum");
                !is_note || key != "default" && value.is_object()
            });
            object.values_mut().for_each(drop_notes);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_formats_are_left_out_of_an_input() {
        let mut schema = json!({"type": ["integer", "null"], "format": "uint64", "default": null});
        tidy(&mut schema);
        assert_eq!(schema, json!({"type": "integer"}));
    }

    #[test]
    fn a_property_named_format_stays() {
        let mut schema = json!({"properties": {"format": {"type": "string"}}});
        tidy(&mut schema);
        assert_eq!(schema, json!({"properties": {"format": {"type": "string"}}}));
    }

    #[test]
    fn an_optional_object_is_that_object() {
        let mut schema = json!({"anyOf": [{"type": "object", "description": "inner"}, {"type": "null"}], "description": "outer"});
        tidy(&mut schema);
        assert_eq!(schema, json!({"type": "object", "description": "outer"}));
    }

    #[test]
    fn a_choice_of_names_is_one_enumeration() {
        let mut schema = json!({"oneOf": [
            {"const": "a", "description": "the first"},
            {"const": "b", "description": "the second"},
        ]});
        tidy(&mut schema);
        assert_eq!(
            schema,
            json!({"type": "string", "enum": ["a", "b"], "description": "a: the first b: the second"})
        );
    }

    #[test]
    fn several_kinds_share_one_object() {
        fn one() -> Map<String, Value> {
            object(
                json!({"type": "object", "properties": {"a": 1}, "required": ["a"]})
                    .try_into()
                    .unwrap(),
            )
        }
        fn two() -> Map<String, Value> {
            object(json!({"type": "object", "properties": {"b": 2}}).try_into().unwrap())
        }
        assert_eq!(
            Value::Object(either(&[one, two])),
            json!({"type": "object", "properties": {"a": 1, "b": 2}})
        );
    }

    #[test]
    fn of_several_types_text_is_left() {
        let mut schema = json!({"type": ["integer", "string", "null"]});
        tidy(&mut schema);
        assert_eq!(schema, json!({"type": "string"}));
    }

    #[test]
    fn listed_arguments_have_short_descriptions_and_nothing_inside() {
        let edit = json!({"type": "object", "properties": {
            "description": {"type": "string", "description": "y"},
            "n": {"type": "integer", "minimum": 0, "default": 3},
        }});
        let schema = json!({"type": "object", "description": "x", "properties": {
            "edits": {"type": "array", "items": edit, "description": "long"},
            "b": {"type": "string", "description": "b"},
        }});
        let Value::Object(schema) = schema else { unreachable!() };
        let short = json!({"type": "array", "description": "short", "items": {
            "type": "object",
            "properties": {"description": {"type": "string"}, "n": {"type": "integer"}},
        }});
        let arguments = [("edits", "short"), ("none", "")];
        assert_eq!(
            Value::Object(listed(schema.clone(), &arguments, false)),
            json!({"type": "object", "properties": {"edits": short}})
        );
        let all = listed(schema, &arguments, true);
        assert_eq!(
            all["properties"],
            json!({"edits": short, "b": {"type": "string", "description": "b"}})
        );
    }
}
