//! What callers write in another form than a schema asks for: keys in other cases, placeholders for
//! what was left out, and values in another JSON type.

use serde_json::{Value, json};

/// `oldString`, `OldString` and `--old-string` as `old_string`.
#[must_use]
pub fn snake_case(key: &str) -> String {
    let mut out = String::new();
    for (at, letter) in key.trim_start_matches('-').chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 && !out.ends_with('_') {
            out.push('_');
        }
        out.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    out
}

/// Whether `value` says nothing: what a client fills in for an argument that the model left out.
/// `kind` is the JSON type that the argument has. 0 says something if that is no number.
#[must_use]
pub fn is_placeholder(kind: Option<&str>, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => {
            matches!(kind, Some("integer" | "number")) && number.as_f64() == Some(0.0)
        }
        Value::Bool(_) => false,
    }
}

/// `value` as the JSON type `kind`, a number or a flag, if there is one way to write it so.
#[must_use]
pub fn typed(kind: Option<&str>, value: Value) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text.trim());
    match (kind, &value) {
        (Some("integer"), Value::Number(number)) => match number.as_f64() {
            Some(whole) if !number.is_u64() && whole.fract() == 0.0 && whole >= 0.0 => {
                parsed(&format!("{whole}")).unwrap_or(value)
            }
            _ => value,
        },
        (Some("integer" | "number"), Value::String(text)) => match parsed(text) {
            Ok(number @ Value::Number(_)) => typed(kind, number),
            _ => value,
        },
        (Some("boolean"), Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => json!(true),
            "false" | "no" | "0" => json!(false),
            _ => value,
        },
        _ => value,
    }
}
