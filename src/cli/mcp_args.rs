//! The arguments of tools.

use serde::de::DeserializeOwned;
use serde_json::Value;

use edt_types::{Code, Finding, Result};

/// Parses the arguments of a tool.
pub(super) fn of<T: DeserializeOwned>(args: Value) -> Result<T> {
    serde_path_to_error::deserialize(args).map_err(|error| {
        let place = error.path().to_string();
        let at = if place == "." { String::new() } else { format!(" at `{place}`") };
        let message = format!("The arguments cannot be read{at}: {}.", error.into_inner());
        Finding::new(
            Code::BadRequest,
            message,
            "Repeat the call with arguments that match the tool's schema.",
        )
        .nothing_changed()
        .into()
    })
}
