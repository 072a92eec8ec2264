//! One table of a TOML file.

use toml_edit::{DocumentMut, Item, Table, Value};

use super::{Before, Unfit};

/// The text with the table.
///
/// # Errors
/// It is no TOML, or something else stands where a table must.
pub fn with(old: Option<&str>, at: &[&str], keys: &[(&str, Value)]) -> Result<String, Unfit> {
    let mut document = parse(old.unwrap_or_default())?;
    let mut table: &mut Table = document.as_table_mut();
    for (depth, name) in at.iter().enumerate() {
        let item = table.entry(name).or_insert_with(|| {
            let mut new = Table::new();
            // Only the last has a header of its own.
            new.set_implicit(depth + 1 < at.len());
            Item::Table(new)
        });
        table = item
            .as_table_mut()
            .ok_or_else(|| Unfit(format!("`{}` in it is no table with a header", at[..=depth].join("."))))?;
    }
    for (key, value) in keys {
        let same = table.get(key).and_then(Item::as_value).is_some_and(|there| plain(there) == plain(value));
        if !same {
            table.insert(key, Item::Value(value.clone()));
        }
    }
    Ok(document.to_string())
}

/// The text without the table; `None` if edt made the file and nothing else is in it.
///
/// # Errors
/// It is no TOML.
pub fn without(old: &str, at: &[&str], before: Before<'_>) -> Result<Option<String>, Unfit> {
    let mut document = parse(old)?;
    let Some((last, above)) = at.split_last() else { return Ok(Some(old.to_owned())) };
    let mut table: &mut Table = document.as_table_mut();
    for name in above {
        match table.get_mut(name).and_then(Item::as_table_mut) {
            Some(next) => table = next,
            None => return Ok(Some(old.to_owned())),
        }
    }
    if table.remove(last).is_none() {
        return Ok(Some(old.to_owned()));
    }
    let text = document.to_string();
    Ok((before != Before::Nothing || !text.trim().is_empty()).then_some(text))
}

fn parse(text: &str) -> Result<DocumentMut, Unfit> {
    text.parse::<DocumentMut>().map_err(|error| Unfit(format!("it is no TOML: {}", error.to_string().trim_end())))
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
            new.starts_with(old) && new.contains("\n[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n"),
            "{new}"
        );
        assert_eq!(with(Some(&new), AT, &keys()).unwrap(), new);
        assert_eq!(without(&new, AT, Before::Unknown).unwrap().unwrap(), old);
        let made = with(None, AT, &keys()).unwrap();
        assert_eq!(made, "[mcp_servers.edt]\ncommand = \"edt\"\nargs = [\"mcp\"]\n");
        assert_eq!(without(&made, AT, Before::Nothing).unwrap(), None);
        assert!(with(Some("a = \n"), AT, &keys()).unwrap_err().0.contains("line 1"));
        assert!(with(Some("mcp_servers = 1\n"), AT, &keys()).is_err());
    }
}
