//! The arguments of tools.

use serde::de::DeserializeOwned;
use serde_json::Value;

use edt_types::{Code, Finding, Result};

/// Parses the arguments of a tool.
///
/// # Errors
/// `BAD_REQUEST` naming the key.
pub(super) fn of<T: DeserializeOwned>(args: Value) -> Result<T> {
    parsed(args, None)
}

/// Removes the argument `key` and parses it; `None` if it was left out.
///
/// # Errors
/// As [`of`].
pub(super) fn take<T: DeserializeOwned>(args: &mut Value, key: &str) -> Result<Option<T>> {
    let value = args.as_object_mut().and_then(|args| args.remove(key));
    value.map(|value| parsed(value, Some(key))).transpose()
}

fn parsed<T: DeserializeOwned>(value: Value, key: Option<&str>) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = match (key, error.path().to_string()) {
            (Some(key), place) if place == "." => key.to_owned(),
            (Some(key), place) => format!("{key}.{place}"),
            (None, place) => place,
        };
        let error = error.into_inner().to_string();
        let (at, key) = if place == "." {
            // Of the outermost object the error names the key.
            (String::new(), error.split('`').nth(1).unwrap_or_default().to_owned())
        } else {
            (format!(" at `{place}`"), place)
        };
        let message = format!("The arguments cannot be read{at}: {error}.");
        let hint = "Repeat the call with arguments that match the tool's schema.";
        Finding::new(Code::BadRequest, message, hint).nothing_changed().with("key", key).into()
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are of interest")]
    struct Args {
        path: String,
        #[serde(default)]
        lines: Vec<u64>,
    }

    fn key<T: std::fmt::Debug>(found: Result<T>) -> Value {
        let refusal = found.unwrap_err();
        let finding = &refusal.as_slice()[0];
        assert!(finding.summary.contains(finding.evidence["key"].as_str().unwrap()));
        finding.evidence["key"].clone()
    }

    #[test]
    fn an_error_names_the_key() {
        assert_eq!(key(of::<Args>(json!({}))), "path");
        assert_eq!(key(of::<Args>(json!({"path": "a", "pth": 1}))), "pth");
        assert_eq!(key(of::<Args>(json!({"path": 7}))), "path");
        assert_eq!(key(of::<Args>(json!({"path": "a", "lines": [1, "b"]}))), "lines[1]");
        assert_eq!(key(take::<bool>(&mut json!({"check": "x"}), "check")), "check");
    }
}
