//! Names of edits and proposals as arguments: a number, a revision of Git, or `p7`.

use std::borrow::Cow;
use std::convert::Infallible;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// An edit of the session by its number, or a revision of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditName(pub(super) String);

/// A proposal by its number, with or without the `p` that edt prints before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProposalName(pub(super) u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl NumberOrText {
    fn text(self) -> String {
        match self {
            NumberOrText::Number(number) => number.to_string(),
            NumberOrText::Text(text) => text,
        }
    }
}

impl FromStr for EditName {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<EditName, Infallible> {
        Ok(EditName(text.to_owned()))
    }
}

impl FromStr for ProposalName {
    type Err = String;

    fn from_str(text: &str) -> Result<ProposalName, String> {
        let digits = text.strip_prefix('p').unwrap_or(text);
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if is_number => Ok(ProposalName(number)),
            _ => Err(format!("{text:?} is not the name of a proposal, such as p7")),
        }
    }
}

impl<'de> Deserialize<'de> for EditName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EditName, D::Error> {
        NumberOrText::deserialize(deserializer).map(|name| EditName(name.text()))
    }
}

impl<'de> Deserialize<'de> for ProposalName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProposalName, D::Error> {
        let name = NumberOrText::deserialize(deserializer)?;
        name.text().parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for EditName {
    fn schema_name() -> Cow<'static, str> {
        "EditName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}

impl JsonSchema for ProposalName {
    fn schema_name() -> Cow<'static, str> {
        "ProposalName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_named_with_or_without_its_letter() {
        let parsed = |text: &str| text.parse::<ProposalName>().ok().map(|name| name.0);
        assert_eq!((parsed("p7"), parsed("7")), (Some(7), Some(7)));
        assert_eq!(
            (parsed("seven"), parsed("p"), parsed("+7"), parsed("p-7")),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_json_number_names_an_edit() {
        let named = |json: &str| serde_json::from_str::<EditName>(json).map(|name| name.0);
        assert_eq!(named("7").unwrap(), "7");
        assert_eq!(named("\"HEAD~1\"").unwrap(), "HEAD~1");
        assert!(named("true").is_err());
    }
}
