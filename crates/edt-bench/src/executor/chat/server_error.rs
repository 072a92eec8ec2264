//! Errors that a model's server reports in its answer.

use serde_json::Value;

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerError {
    /// A retry may help.
    Temporary(String),
    /// A retry cannot help.
    Permanent(String),
}

impl ServerError {
    /// Classifies the error object of an answer.
    pub(super) fn classify(error: &Value) -> ServerError {
        let text = |key: &str| error[key].as_str().unwrap_or_default();
        let (kind, code, message) = (
            text("type"),
            text("code"),
            error["message"].as_str().or(error.as_str()).unwrap_or_default(),
        );
        let why = format!(
            "the server answered with an error: {} {}",
            kind,
            message.chars().take(300).collect::<String>()
        );
        let temporary =
            ["overloaded", "rate_limit", "api_error", "server_error", "timeout", "unavailable"];
        if temporary.iter().any(|word| kind.contains(word) || code.contains(word)) {
            ServerError::Temporary(why)
        } else {
            ServerError::Permanent(why)
        }
    }
}
