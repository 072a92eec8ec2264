//! The fields of a payload, read strictly: a tool that edits, in a shape that is not known, is an error, not a tool that does nothing.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::event::{Act, Pair};

/// Why a payload could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misshapen(pub String);

/// The fields of an object, with the name it goes by.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    of: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Those of `value`.
    ///
    /// # Errors
    /// It is no object.
    pub fn of(of: &'a str, value: &'a Value) -> Result<Fields<'a>, Misshapen> {
        let map = value.as_object().ok_or_else(|| Misshapen(format!("{of} is no JSON object")))?;
        Ok(Fields { of, map })
    }

    /// The object at `key`, also where it comes as JSON in a text; `held` keeps that.
    ///
    /// # Errors
    /// There is none.
    pub fn object(
        &self,
        key: &str,
        held: &'a mut Value,
        of: &'a str,
    ) -> Result<Fields<'a>, Misshapen> {
        match self.map.get(key) {
            Some(Value::Object(map)) => Ok(Fields { of, map }),
            Some(Value::String(text)) => {
                *held = serde_json::from_str(text).map_err(|error| {
                    Misshapen(format!("`{key}` of {} is no JSON: {error}", self.of))
                })?;
                Fields::of(of, held)
            }
            _ => Err(Misshapen(format!("{} has no object `{key}`", self.of))),
        }
    }

    /// The text at the first of `keys` that there is; `None` if there is none of them, or it is null.
    ///
    /// # Errors
    /// It is no text, or two of them say different things: nobody can tell which of them the agent heeds.
    pub fn maybe(&self, keys: &[&str]) -> Result<Option<&'a str>, Misshapen> {
        let mut found: Option<(&str, &str)> = None;
        for key in keys {
            match (self.map.get(*key), found) {
                (None | Some(Value::Null), _) => {}
                (Some(Value::String(text)), None) => found = Some((key, text)),
                (Some(Value::String(text)), Some((_, first))) if first == text => {}
                (Some(Value::String(_)), Some((first, _))) => {
                    return Err(Misshapen(format!("`{first}` and `{key}` of {} differ", self.of)));
                }
                (Some(_), _) => {
                    return Err(Misshapen(format!("`{key}` of {} is no text", self.of)));
                }
            }
        }
        Ok(found.map(|(_, text)| text))
    }

    /// The same, which must be there.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&self, keys: &[&str]) -> Result<&'a str, Misshapen> {
        self.maybe(keys)?
            .ok_or_else(|| Misshapen(format!("{} has none of `{}`", self.of, keys.join("`, `"))))
    }

    /// The name of a tool.
    ///
    /// # Errors
    /// There is none.
    pub fn tool(&self, key: &str) -> Result<&'a str, Misshapen> {
        let name = self.text(&[key])?;
        if name.trim().is_empty() {
            Err(Misshapen(format!("`{key}` of {} is empty", self.of)))
        } else {
            Ok(name)
        }
    }

    /// The text at one of `keys`, or nothing where it is something else: for what only a hint depends on.
    #[must_use]
    pub fn word(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.map.get(*key)?.as_str()).filter(|word| !word.is_empty())
    }

    /// The folder that relative paths are below: a text, or the first of a list.
    #[must_use]
    pub fn folder(&self, keys: &[&str]) -> Option<PathBuf> {
        let first = |value: &'a Value| match value {
            Value::Array(all) => all.first().and_then(Value::as_str),
            value => value.as_str(),
        };
        keys.iter()
            .find_map(|key| first(self.map.get(*key)?))
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    }

    /// Whether one of `keys` is true, or `"true"`.
    #[must_use]
    pub fn says_yes(&self, keys: &[&str]) -> bool {
        let yes = |value: &Value| value == &Value::Bool(true) || value.as_str() == Some("true");
        keys.iter().any(|key| self.map.get(*key).is_some_and(yes))
    }

    /// The number at `key`, also as a text.
    ///
    /// # Errors
    /// It is none, or below 0.
    pub fn number(&self, key: &str) -> Result<Option<u64>, Misshapen> {
        let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        match self.map.get(key).filter(|value| !value.is_null()) {
            None => Ok(None),
            Some(value) => number(value)
                .map(Some)
                .ok_or_else(|| Misshapen(format!("`{key}` of {} is no line number", self.of))),
        }
    }

    /// The objects in the list at `key`.
    ///
    /// # Errors
    /// There is no such list, or nothing or something else in it.
    pub fn list(&self, key: &str) -> Result<Vec<Fields<'a>>, Misshapen> {
        let list = self.map.get(key).and_then(Value::as_array);
        let list = list.ok_or_else(|| Misshapen(format!("{} has no list `{key}`", self.of)))?;
        if list.is_empty() {
            return Err(Misshapen(format!("the list `{key}` of {} is empty", self.of)));
        }
        list.iter().map(|value| Fields::of(self.of, value)).collect()
    }

    /// Whether there is something at `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// A replacement.
    ///
    /// # Errors
    /// One of its texts is missing.
    pub fn pair(&self) -> Result<Pair, Misshapen> {
        Ok(Pair {
            old: self.maybe(OLD)?.unwrap_or_default().to_owned(),
            new: self.text(NEW)?.to_owned(),
            all: self.says_yes(ALL)
                || self.number("expected_replacements").ok().flatten().is_some_and(|many| many > 1),
        })
    }

    /// One replacement in a file. The old text must be named, be it empty.
    ///
    /// # Errors
    /// One of its parts is missing.
    pub fn replace(&self) -> Result<Act, Misshapen> {
        self.text(OLD)?;
        Ok(Act::Replace { path: self.path()?, pairs: vec![self.pair()?] })
    }

    /// Several replacements in a file.
    ///
    /// # Errors
    /// One of their parts is missing.
    pub fn replaces(&self) -> Result<Act, Misshapen> {
        let pairs = self.list("edits")?.iter().map(Fields::pair).collect::<Result<_, _>>()?;
        Ok(Act::Replace { path: self.path()?, pairs })
    }

    /// A whole file.
    ///
    /// # Errors
    /// One of its parts is missing.
    pub fn whole(&self) -> Result<Act, Misshapen> {
        Ok(Act::Whole { path: self.path()?, content: self.text(CONTENT)?.to_owned() })
    }

    /// A patch.
    ///
    /// # Errors
    /// There is none.
    pub fn patch(&self) -> Result<Act, Misshapen> {
        Ok(Act::Patch { text: self.text(PATCH)?.to_owned() })
    }

    /// The file.
    ///
    /// # Errors
    /// It is not named.
    pub fn path(&self) -> Result<String, Misshapen> {
        self.text(PATH).map(str::to_owned)
    }
}

/// The names that agents have for the file.
const PATH: &[&str] = &["file_path", "filePath", "path", "absolute_path", "notebook_path"];
/// For the text that stands there.
const OLD: &[&str] = &["old_string", "oldString", "old_str", "old_text"];
/// For what takes its place.
const NEW: &[&str] = &["new_string", "newString", "new_str", "new_text"];
/// For the text of a whole file.
const CONTENT: &[&str] = &["content", "contents", "file_text"];
/// For "wherever it stands".
const ALL: &[&str] = &["replace_all", "replaceAll", "allow_multiple"];
/// For the text of a patch.
const PATCH: &[&str] = &["patchText", "patch", "command", "input"];
