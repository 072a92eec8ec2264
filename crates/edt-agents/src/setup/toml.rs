//! Tables of a TOML file.

use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Original, UnusableFile, json};
use crate::guide::line_end;

/// One table.
#[derive(Debug, Clone)]
pub struct TomlTable {
    /// Its path.
    pub at: &'static [&'static str],
    /// Its keys.
    pub keys: Vec<(&'static str, Value)>,
    /// Whose they are.
    pub owner: TomlOwner,
}

/// Whose the keys of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TomlOwner {
    /// edt sets them.
    Edt,
    /// The table must exist. A present one is the user's choice, and stays.
    User,
}

/// The text with all `tables`, of which a later one may be in an earlier one.
///
/// # Errors
/// As [`with`].
pub fn with_all(old: Option<&str>, tables: &[TomlTable]) -> Result<String, UnusableFile> {
    let old = old.unwrap_or_default().to_owned();
    tables.iter().try_fold(old, |text, TomlTable { at, keys, owner }| match owner {
        TomlOwner::User if has_table(&text, at) => Ok(text),
        _ => with(Some(&text), at, keys),
    })
}

/// The text without `tables`; `None` if edt made the file and nothing else is in it.
///
/// # Errors
/// As [`without`].
pub fn without_all(
    old: &str,
    tables: &[TomlTable],
    original: Original<'_>,
) -> Result<Option<String>, UnusableFile> {
    // The table that has others goes last: with a key more it is the user's.
    tables.iter().rev().try_fold(Some(old.to_owned()), |text, table| match text {
        Some(text) => without(&text, table.at, &table.keys, original),
        None => Ok(None),
    })
}

/// The text with the table.
///
/// # Errors
/// The text is not TOML, or has another value where a table is needed.
pub fn with(
    old: Option<&str>,
    at: &[&str],
    keys: &[(&str, Value)],
) -> Result<String, UnusableFile> {
    let old = old.unwrap_or_default();
    let mut document = parse(old)?;
    let mut table: &mut Table = document.as_table_mut();
    for depth in 1..=at.len() {
        let Some(item) = table.get_mut(at[depth - 1]) else { return appended(old, at, keys) };
        table = item.as_table_mut().ok_or_else(|| {
            UnusableFile(format!("its `{}` is not a table with a header", at[..depth].join(".")))
        })?;
    }
    let same = |table: &Table, key: &str, value: &Value| {
        table
            .get(key)
            .and_then(Item::as_value)
            .is_some_and(|present| undecorated(present) == undecorated(value))
    };
    if keys.iter().all(|(key, value)| same(table, key, value)) {
        return Ok(old.to_owned());
    }
    for (key, value) in keys {
        set(table, key, value);
    }
    render_like(old, &document)
}

/// The text without the table, or with the original values of its keys; `None` if edt made the file
/// and nothing else is in it. What else the table has becomes comments.
///
/// # Errors
/// The text is not TOML, or the rest of the table cannot be made comments.
pub fn without(
    old: &str,
    at: &[&str],
    keys: &[(&str, Value)],
    original: Original<'_>,
) -> Result<Option<String>, UnusableFile> {
    let mut document = parse(old)?;
    let original_document = match original {
        Original::Text(text) => parse(text).ok(),
        Original::Missing | Original::Unknown => None,
    };
    let is_ours = |present: &Value, ours: &Value| match original {
        Original::Unknown => undecorated(present) == undecorated(ours),
        _ => json::same_except_directories(
            &undecorated(present).trim_matches('"').into(),
            &undecorated(ours).trim_matches('"').into(),
        ),
    };
    let Some(table) = find(&mut document, at) else { return Ok(Some(old.to_owned())) };
    let ours = |(key, value): &(&str, Value)| {
        table.get(key).and_then(Item::as_value).is_some_and(|present| is_ours(present, value))
    };
    if !keys.iter().all(ours) {
        return Ok(Some(old.to_owned()));
    }
    let original_table = original_document
        .and_then(|mut document| find(&mut document, at).map(|table| table.clone()));
    if let Some(original_table) = original_table {
        for (key, _) in keys {
            match original_table.get(key).and_then(Item::as_value) {
                Some(value) => set(table, key, value),
                None => drop(table.remove(key)),
            }
        }
        return render_like(old, &document).map(Some);
    }
    let text = if table.len() == keys.len() { without_table(old, at, keys) } else { None };
    let text = text.map_or_else(|| with_comments(old, at, keys), Ok)?;
    Ok((original != Original::Missing || !text.trim().is_empty()).then_some(text))
}

/// Whether the text has the table `at`.
#[must_use]
pub fn has_table(text: &str, at: &[&str]) -> bool {
    parse(text).is_ok_and(|mut document| find(&mut document, at).is_some())
}

fn find<'d>(document: &'d mut DocumentMut, at: &[&str]) -> Option<&'d mut Table> {
    at.iter().try_fold(document.as_table_mut(), |table, name| table.get_mut(name)?.as_table_mut())
}

fn set(table: &mut Table, key: &str, value: &Value) {
    let mut value = value.clone();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(present) => {
            // The comments around the value are about the key.
            *value.decor_mut() = present.decor().clone();
            *present = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// The text with the table at its end. No present byte changes.
fn appended(old: &str, at: &[&str], keys: &[(&str, Value)]) -> Result<String, UnusableFile> {
    let line_end = line_end(old);
    let mut lines = vec![format!("[{}]", at.join("."))];
    lines.extend(keys.iter().map(|(key, value)| format!("{key} = {}", undecorated(value))));
    let gap = match old {
        "" | "\u{feff}" => String::new(),
        old if old.ends_with('\n') => line_end.to_owned(),
        _ => line_end.repeat(2),
    };
    let new = format!("{old}{gap}{}{line_end}", lines.join(line_end));
    parse(&new)
        .map_err(|_| UnusableFile(format!("its `{}` is not a table with a header", at[0])))?;
    Ok(new)
}

/// The text without the lines of the table and the empty line above it, if they are as [`appended`]
/// writes them.
fn without_table(text: &str, at: &[&str], keys: &[(&str, Value)]) -> Option<String> {
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

/// The text without `keys` in the lines of the table, and with the rest of the table and the tables
/// in it as comments: an agent may not start with a table that lacks them, and the rest is the
/// user's.
fn with_comments(text: &str, at: &[&str], keys: &[(&str, Value)]) -> Result<String, UnusableFile> {
    let own: Vec<String> =
        keys.iter().map(|(key, value)| format!("{key} = {}", undecorated(value))).collect();
    let (name, mut out, mut is_within) = (at.join("."), String::new(), false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches('\u{feff}').trim();
        if let Some(header) = trimmed.strip_prefix('[') {
            let header = header.trim_start_matches('[').split(']').next().unwrap_or_default();
            let inner = header.trim().strip_prefix(&name);
            is_within = inner.is_some_and(|inner| inner.is_empty() || inner.starts_with('.'));
        }
        if !is_within || trimmed.is_empty() || trimmed.starts_with('#') {
            out.push_str(line);
        } else if !own.iter().any(|own| own == trimmed) {
            let mark = if line.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            out.push_str(&format!("{mark}# {}", &line[mark.len()..]));
        }
    }
    let (before, after) = (parse(text)?, parse(&out));
    let mut rest = values(before.as_table(), "");
    rest.retain(|(path, _)| !path.starts_with(&format!(".{name}.")));
    if after.is_ok_and(|after| values(after.as_table(), "") == rest) {
        Ok(out)
    } else {
        Err(UnusableFile(format!("its table `{name}` has more than edt wrote: remove that table")))
    }
}

/// Every value in the table, with its path.
fn values(table: &Table, path: &str) -> Vec<(String, String)> {
    let within = |(key, item): (&str, &Item)| {
        let path = format!("{path}.{key}");
        match item {
            Item::Table(table) => values(table, &path),
            Item::ArrayOfTables(all) => all.iter().flat_map(|one| values(one, &path)).collect(),
            item => vec![(path, item.as_value().map(undecorated).unwrap_or_default())],
        }
    };
    table.iter().flat_map(within).collect()
}

/// The document with the line ends and the byte order mark of `old`.
fn render_like(old: &str, document: &DocumentMut) -> Result<String, UnusableFile> {
    let around = |document: &DocumentMut| {
        let mark = if old.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let text = document.to_string().replace("\r\n", "\n").replace('\n', line_end(old));
        format!("{mark}{}", text.trim_start_matches('\u{feff}'))
    };
    if around(&parse(old)?) == old {
        Ok(around(document))
    } else {
        Err(UnusableFile(
            "it has both LF and CRLF line ends, so edt could not keep every byte".to_owned(),
        ))
    }
}

fn parse(text: &str) -> Result<DocumentMut, UnusableFile> {
    text.parse::<DocumentMut>()
        .map_err(|error| UnusableFile(format!("it is not TOML: {}", error.to_string().trim_end())))
}

/// A value without the white space and comments around it.
fn undecorated(value: &Value) -> String {
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
    fn adding_and_removing_a_table_leaves_other_bytes_unchanged() {
        let old = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = 'o'\n";
        let new = with(Some(old), AT, &keys()).unwrap();
        assert!(
            new.starts_with(old)
                && new.contains("\n[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n"),
            "{new}"
        );
        assert_eq!(with(Some(&new), AT, &keys()).unwrap(), new);
        assert_eq!(without(&new, AT, &keys(), Original::Unknown).unwrap().unwrap(), old);
        let made = with(None, AT, &keys()).unwrap();
        assert_eq!(made, "[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n");
        assert_eq!(without(&made, AT, &keys(), Original::Missing).unwrap(), None);
        assert!(with(Some("a = \n"), AT, &keys()).unwrap_err().0.contains("line 1"));
        assert!(with(Some("mcp_servers = 1\n"), AT, &keys()).is_err());
    }

    #[test]
    fn line_ends_byte_order_marks_and_final_comments_stay() {
        for old in ["\u{feff}a = 1\r\n# end\r\n", "a = 1\n# end\n", "a = 1\r\nb = 2\n# end\n"] {
            let new = with(Some(old), AT, &keys()).unwrap();
            assert!(new.starts_with(old), "{new:?}");
            assert_eq!(without(&new, AT, &keys(), Original::Unknown).unwrap().unwrap(), old);
        }
        let old = "\u{feff}a = 1\r\n\r\n[mcp_servers.edt] # mine\r\ncommand = \"x\" # why\r\nargs = [\"mcp\"]\r\nenv = {}\r\n# end\r\n";
        let new = with(Some(old), AT, &keys()).unwrap();
        assert_eq!(new, old.replace("\"x\"", "\"edt\""));
        let changed = new.replace("a = 1", "a = 2");
        let back = without(&changed, AT, &keys(), Original::Text(old)).unwrap().unwrap();
        assert_eq!(back, old.replace("a = 1", "a = 2"), "the original values are restored");
        assert_eq!(
            without(&new, AT, &keys(), Original::Unknown).unwrap().unwrap(),
            "\u{feff}a = 1\r\n\r\n# [mcp_servers.edt] # mine\r\n# command = \"edt\" # why\r\n\
             # env = {}\r\n# end\r\n",
            "what the user added stays as a comment"
        );
    }

    #[test]
    fn a_value_of_the_table_is_replaced_in_its_place() {
        let old = "[mcp_servers.edt]\ncommand = \"/old/edt\" # mine\nargs = [\"mcp\"]\n";
        assert_eq!(
            with(Some(old), AT, &keys()).unwrap(),
            "[mcp_servers.edt]\ncommand = \"edt\" # mine\nargs = [\"mcp\"]\n"
        );
    }

    #[test]
    fn a_table_in_a_table_is_added_and_removed_with_it() {
        const TOOL: &[&str] = &["mcp_servers", "edt", "tools", "run"];
        let tables = [
            TomlTable { at: AT, keys: keys(), owner: TomlOwner::Edt },
            TomlTable {
                at: TOOL,
                keys: vec![("approval_mode", "approve".into())],
                owner: TomlOwner::User,
            },
        ];
        let old = "model = \"x\"\n";
        let new = with_all(Some(old), &tables).unwrap();
        assert_eq!(
            new,
            "model = \"x\"\n\n[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n\n\
             [mcp_servers.edt.tools.run]\napproval_mode = \"approve\"\n"
        );
        assert_eq!(with_all(Some(&new), &tables).unwrap(), new);
        for original in [Original::Unknown, Original::Text(old)] {
            assert_eq!(without_all(&new, &tables, original).unwrap().as_deref(), Some(old));
        }
        let made = with_all(None, &tables).unwrap();
        assert_eq!(without_all(&made, &tables, Original::Missing).unwrap(), None);
        // An earlier version wrote the first table alone.
        let earlier = with(Some(old), AT, &keys()).unwrap();
        assert_eq!(with_all(Some(&earlier), &tables).unwrap(), new);
        let theirs = new.replace("\"approve\"", "\"prompt\"");
        assert_eq!(with_all(Some(&theirs), &tables).unwrap(), theirs);
        let kept = "model = \"x\"\n\n# [mcp_servers.edt]\n\n# [mcp_servers.edt.tools.run]\n\
                    # approval_mode = \"prompt\"\n";
        for original in [Original::Unknown, Original::Missing, Original::Text(old)] {
            let without = without_all(&theirs, &tables, original).unwrap();
            assert_eq!(without.as_deref(), Some(kept), "a mode that the user chose is a comment");
        }
    }

    #[test]
    fn a_table_whose_rest_cannot_be_a_comment_is_refused() {
        for rest in ["env = [\n[\"a\"],\n1]\n", "env = \"\"\"\n[a]\n\"\"\"\n"] {
            let old = format!("[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n{rest}");
            let refused = without(&old, AT, &keys(), Original::Missing).unwrap_err();
            assert!(refused.0.contains("remove that table"), "{refused:?}");
        }
        let old =
            "[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\nenv = {}\n\n[[a.b]]\nc = 1\n";
        assert_eq!(
            without(old, AT, &keys(), Original::Missing).unwrap().as_deref(),
            Some("# [mcp_servers.edt]\n# env = {}\n\n[[a.b]]\nc = 1\n")
        );
    }

    #[test]
    fn a_table_of_another_program_stays() {
        let theirs = "[mcp_servers.edt]\ncommand = \"other\"\nargs = [\"mcp\"]\n";
        assert_eq!(
            without(theirs, AT, &keys(), Original::Missing).unwrap().as_deref(),
            Some(theirs)
        );
    }

    #[test]
    fn a_table_with_edt_in_another_directory_is_edts_if_edt_made_the_file() {
        let old = "[mcp_servers.edt]\ncommand = \"/opt/edt\"\nargs = [\"mcp\"]\n";
        assert_eq!(without(old, AT, &keys(), Original::Missing).unwrap(), None);
        assert_eq!(without(old, AT, &keys(), Original::Unknown).unwrap().as_deref(), Some(old));
    }

    #[test]
    fn a_key_that_the_original_lacked_is_removed() {
        let original = "[mcp_servers.edt]\ncommand = \"mine\"\n";
        let new = with(Some(original), AT, &keys()).unwrap();
        assert_eq!(
            without(&new, AT, &keys(), Original::Text(original)).unwrap().as_deref(),
            Some(original)
        );
    }

    #[test]
    fn an_inline_table_cannot_be_extended() {
        assert_eq!(
            with(Some("mcp_servers = { other = 1 }\n"), AT, &keys()),
            Err(UnusableFile("its `mcp_servers` is not a table with a header".to_owned()))
        );
    }

    #[test]
    fn mixed_line_ends_in_a_changed_table_are_refused() {
        let old = "[mcp_servers.edt]\r\ncommand = \"x\"\nargs = [\"mcp\"]\r\n";
        assert_eq!(
            with(Some(old), AT, &keys()),
            Err(UnusableFile(
                "it has both LF and CRLF line ends, so edt could not keep every byte".to_owned()
            ))
        );
    }

    #[test]
    fn a_table_is_found_by_its_path() {
        assert!(has_table("[mcp_servers.edt]\n", AT));
        assert!(!has_table("[mcp_servers]\nedt = 1\n", AT));
        assert!(!has_table("[mcp_servers.edt\n", AT));
    }
}
