//! Reads failed edits with what followed them, as lines of JSON on standard input, and prints for
//! each what the memory learns: the class, or why there is none. Each line has
//!
//! * `failed` (or `refused`): `{path?, mode?, old?, new?, lines?, patch?}`, and `code`, or the
//!   line has `code`;
//! * `followed`: a list of such edits in order, each with `ok`; or `landed`, one edit.
//!
//! Of what followed, the first edit that succeeded and is a fix counts.

use std::io::{BufRead as _, Write as _};

use edt_journal::refusals::{Format, TriedEdit};
use edt_memory::fix::{NoFix, class_of_calls};
use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        writeln!(out, "{}", answer(&line))?;
    }
    Ok(())
}

fn answer(line: &Value) -> Value {
    let failed = line.get("failed").or_else(|| line.get("refused")).unwrap_or(&Value::Null);
    let code = [line.get("code"), failed.get("code")].into_iter().flatten().find_map(Value::as_str);
    let refused = edit(failed, line.get("path"));
    let landed: Vec<&Value> = match line.get("followed").and_then(Value::as_array) {
        Some(all) => all.iter().collect(),
        None => line.get("landed").into_iter().collect(),
    };
    let mut why = Vec::new();
    for (at, one) in landed.iter().enumerate() {
        if one.get("ok").and_then(Value::as_bool) == Some(false) {
            continue;
        }
        let landed = edit(one, line.get("path").filter(|_| one.get("path").is_none()));
        // The place is changed already.
        if why.last() == Some(&NoFix::SameCall) {
            break;
        }
        let refused = std::slice::from_ref(&refused);
        match class_of_calls(code.unwrap_or("OLD_TEXT_NOT_FOUND"), refused, &[landed]) {
            Ok((_, class)) => {
                return json!({"id": line.get("id"), "class": class.name(), "followed": at});
            }
            Err(none) => why.push(none),
        }
    }
    let why: Vec<String> = why.iter().map(|none| format!("{none:?}")).collect();
    json!({"id": line.get("id"), "class": null, "why": why})
}

fn edit(edit: &Value, path: Option<&Value>) -> TriedEdit {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| edit.get(name).and_then(Value::as_str));
        found.map(str::to_owned)
    };
    let patch = text(&["patch"]);
    let line = |at: usize| edit.get("lines").and_then(|lines| lines.get(at)?.as_u64());
    let named = edit.get("path").or(path).and_then(Value::as_str);
    TriedEdit {
        path: named.map(str::to_owned),
        mode: text(&["mode"]).filter(|_| patch.is_none()).map(|mode| match mode.as_str() {
            "write" => "overwrite".to_owned(),
            "lines" => "replace_lines".to_owned(),
            _ => mode,
        }),
        format: if patch.is_some() { Format::Patch } else { Format::Edit },
        old: text(&["old", "old_text"]),
        new: text(&["new", "content"]).or(patch),
        lines: line(0).zip(line(1)).map(|(first, last)| [first, last]),
        symbol: text(&["symbol"]),
        ..TriedEdit::default()
    }
}
