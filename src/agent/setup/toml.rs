//! One table of a TOML file.

use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Before, Unfit, json};
use crate::agent::guide::eol;

/// The text with the table.
///
/// # Errors
/// It is no TOML, or something else stands where a table must.
pub fn with(old: Option<&str>, at: &[&str], keys: &[(&str, Value)]) -> Result<String, Unfit> {
    let old = old.unwrap_or_default();
    let mut document = parse(old)?;
    let mut table: &mut Table = document.as_table_mut();
    for depth in 1..=at.len() {
        let Some(item) = table.get_mut(at[depth - 1]) else { return appended(old, at, keys) };
        table = item.as_table_mut().ok_or_else(|| {
            Unfit(format!("`{}` in it is no table with a header", at[..depth].join(".")))
        })?;
    }
    let same = |table: &Table, key: &str, value: &Value| {
        table.get(key).and_then(Item::as_value).is_some_and(|there| plain(there) == plain(value))
    };
    if keys.iter().all(|(key, value)| same(table, key, value)) {
        return Ok(old.to_owned());
    }
    for (key, value) in keys {
        set(table, key, value);
    }
    like(old, &document)
}

/// The text without the table, or with what its keys were before; `None` if edt made the file and nothing else is in it.
///
/// # Errors
/// It is no TOML.
pub fn without(
    old: &str,
    at: &[&str],
    keys: &[(&str, Value)],
    before: Before<'_>,
) -> Result<Option<String>, Unfit> {
    let mut document = parse(old)?;
    let stood = match before {
        Before::Text(text) => parse(text).ok(),
        Before::Nothing | Before::Unknown => None,
    };
    let alike = |there: &Value, ours: &Value| match before {
        Before::Unknown => plain(there) == plain(ours),
        _ => json::alike(
            &plain(there).trim_matches('"').into(),
            &plain(ours).trim_matches('"').into(),
        ),
    };
    let Some(table) = find(&mut document, at) else { return Ok(Some(old.to_owned())) };
    let ours = |(key, value): &(&str, Value)| {
        table.get(key).and_then(Item::as_value).is_some_and(|there| alike(there, value))
    };
    if !keys.iter().all(ours) {
        return Ok(Some(old.to_owned()));
    }
    if let Some(stood) = stood.and_then(|mut stood| find(&mut stood, at).map(|table| table.clone()))
    {
        for (key, _) in keys {
            match stood.get(key).and_then(Item::as_value) {
                Some(value) => set(table, key, value),
                None => drop(table.remove(key)),
            }
        }
        return like(old, &document).map(Some);
    }
    // What somebody added to it is theirs, and says nothing without the rest.
    let text = if table.len() == keys.len() { cut(old, at, keys) } else { None };
    let text = text.unwrap_or_else(|| old.to_owned());
    Ok((before != Before::Nothing || !text.trim().is_empty()).then_some(text))
}

/// Whether there is such a table.
#[must_use]
pub fn traces(text: &str, at: &[&str]) -> bool {
    parse(text).is_ok_and(|mut document| find(&mut document, at).is_some())
}

fn find<'d>(document: &'d mut DocumentMut, at: &[&str]) -> Option<&'d mut Table> {
    at.iter().try_fold(document.as_table_mut(), |table, name| table.get_mut(name)?.as_table_mut())
}

fn set(table: &mut Table, key: &str, value: &Value) {
    let mut value = value.clone();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(there) => {
            // The comments around it are about the key.
            *value.decor_mut() = there.decor().clone();
            *there = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// The text with the table at its end: no byte of what is there changes.
fn appended(old: &str, at: &[&str], keys: &[(&str, Value)]) -> Result<String, Unfit> {
    let eol = eol(old);
    let mut lines = vec![format!("[{}]", at.join("."))];
    lines.extend(keys.iter().map(|(key, value)| format!("{key} = {}", plain(value))));
    let gap = match old {
        "" | "\u{feff}" => String::new(),
        old if old.ends_with('\n') => eol.to_owned(),
        _ => eol.repeat(2),
    };
    let new = format!("{old}{gap}{}{eol}", lines.join(eol));
    parse(&new).map_err(|_| Unfit(format!("`{}` in it is no table with a header", at[0])))?;
    Ok(new)
}

/// The text without the lines of the table and the empty one above it, if they stand there as [`appended`] writes them.
fn cut(text: &str, at: &[&str], keys: &[(&str, Value)]) -> Option<String> {
    let header = format!("[{}]", at.join("."));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first =
        lines.iter().position(|line| line.trim_start_matches('\u{feff}').trim_end() == header)?;
    let last = first + keys.len();
    let body = lines.get(first + 1..=last)?;
    if !keys.iter().zip(body).all(|((key, _), line)| line.starts_with(&format!("{key} = "))) {
        return None;
    }
    let mark = if lines[first].starts_with('\u{feff}') { "\u{feff}" } else { "" };
    let above = if first > 0 && lines[first - 1].trim().is_empty() { first - 1 } else { first };
    Some(format!("{}{mark}{}", lines[..above].concat(), lines[last + 1..].concat()))
}

/// The document with the line ends and the byte order mark of `old`.
fn like(old: &str, document: &DocumentMut) -> Result<String, Unfit> {
    let around = |document: &DocumentMut| {
        let mark = if old.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let text = document.to_string().replace("\r\n", "\n").replace('\n', eol(old));
        format!("{mark}{}", text.trim_start_matches('\u{feff}'))
    };
    if around(&parse(old)?) == old {
        Ok(around(document))
    } else {
        Err(Unfit(
            "its lines end in more than one way, and not every byte of it could be kept".to_owned(),
        ))
    }
}

fn parse(text: &str) -> Result<DocumentMut, Unfit> {
    text.parse::<DocumentMut>()
        .map_err(|error| Unfit(format!("it is no TOML: {}", error.to_string().trim_end())))
}

/// A value without the white space and comments around it.
fn plain(value: &Value) -> String {
    let mut value = value.clone();
    value.decor_mut().clear();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &[&str] = &["mcp_servers", "edt"];

    fn keys() -> Vec<(&'static str, Value)> {
        vec![("command", "edt".into()), ("args", Value::Array(["mcp"].into_iter().collect()))]
    }

    #[test]
    fn a_table_goes_in_and_out_and_everything_else_stays() {
        let old = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = 'o'\n";
        let new = with(Some(old), AT, &keys()).unwrap();
        assert!(
            new.starts_with(old)
                && new.contains("\n[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n"),
            "{new}"
        );
        assert_eq!(with(Some(&new), AT, &keys()).unwrap(), new);
        assert_eq!(without(&new, AT, &keys(), Before::Unknown).unwrap().unwrap(), old);
        let made = with(None, AT, &keys()).unwrap();
        assert_eq!(made, "[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n");
        assert_eq!(without(&made, AT, &keys(), Before::Nothing).unwrap(), None);
        assert!(with(Some("a = \n"), AT, &keys()).unwrap_err().0.contains("line 1"));
        assert!(with(Some("mcp_servers = 1\n"), AT, &keys()).is_err());
    }

    #[test]
    fn line_ends_marks_and_comments_at_the_end_stay() {
        for old in ["\u{feff}a = 1\r\n# end\r\n", "a = 1\n# end\n", "a = 1\r\nb = 2\n# end\n"] {
            let new = with(Some(old), AT, &keys()).unwrap();
            assert!(new.starts_with(old), "{new:?}");
            assert_eq!(without(&new, AT, &keys(), Before::Unknown).unwrap().unwrap(), old);
        }
        let old = "\u{feff}a = 1\r\n\r\n[mcp_servers.edt] # mine\r\ncommand = \"x\" # why\r\nargs = [\"mcp\"]\r\nenv = {}\r\n# end\r\n";
        let new = with(Some(old), AT, &keys()).unwrap();
        assert_eq!(new, old.replace("\"x\"", "\"edt\""));
        let changed = new.replace("a = 1", "a = 2");
        let back = without(&changed, AT, &keys(), Before::Text(old)).unwrap().unwrap();
        assert_eq!(back, old.replace("a = 1", "a = 2"), "what stood there is given back");
        assert_eq!(
            without(&new, AT, &keys(), Before::Unknown).unwrap().unwrap(),
            new,
            "more than edt writes is somebody's"
        );
    }
}
