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

/// The schema of an answer: a `T`, or a refusal.
#[must_use]
pub(crate) fn output<T: JsonSchema, EditError: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let shapes = [generator.subschema_for::<T>(), generator.subschema_for::<EditError>()];
    let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    if shapes[0] == shapes[1] {
        schema.extend(object(shapes[0].clone()));
    } else {
        schema.insert("anyOf".to_owned(), json!(shapes));
    }
    let mut definitions = Value::Object(generator.take_definitions(true));
    // Clients validate answers against the schema; models do not read the descriptions.
    drop_descriptions(&mut definitions);
    schema.insert("$defs".to_owned(), definitions);
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
                if let [one] = types.as_slice() {
                    let one = one.clone();
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

fn drop_descriptions(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(drop_descriptions),
        Value::Object(object) => {
            // A property may have this name; its value is then a schema, not a string.
            if object.get("description").is_some_and(Value::is_string) {
                object.remove("description");
            }
            // Clients do not know the formats of integer widths, and warn about each at every
            // start.
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            object.values_mut().for_each(drop_descriptions);
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
    fn an_answer_has_no_descriptions_except_properties_of_that_name() {
        let mut schema = json!({"description": "x", "properties": {"description": {"type": "string", "description": "y"}}});
        drop_descriptions(&mut schema);
        assert_eq!(schema, json!({"properties": {"description": {"type": "string"}}}));
    }
}
