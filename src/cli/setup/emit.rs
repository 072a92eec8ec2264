//! `edt setup AGENT --emit DIR`: the files of an agent's plugin.

use std::path::Path;

use serde_json::Value;

use edt_agents::Agent;
use edt_agents::setup::Purpose;
use edt_agents::setup::apply::{SetupAction, SetupStep};
use edt_io::{failed, fs};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Refusal, Result};

pub(super) fn emit(agent: &Agent, directory: &Path) -> Result<Vec<SetupStep>> {
    let files = agent.wiring.plugin.map(|plugin| plugin()).unwrap_or_default();
    if files.is_empty() {
        let message = format!("edt has no plugin for {}.", agent.title);
        let hint = format!("`edt setup {}` writes its settings.", agent.name);
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    }
    let (mut steps, mut theirs) = (Vec::new(), Vec::new());
    for (name, content) in &files {
        let file = directory.join(name);
        let action = match fs::read_path(&file).map_err(|error| failed("read", &file, &error))? {
            fs::PathContent::File { bytes, .. } if bytes == content.as_bytes() => {
                SetupAction::Unchanged
            }
            fs::PathContent::Nothing => SetupAction::Created,
            fs::PathContent::File { bytes, .. } if is_emitted(&bytes, content) => {
                SetupAction::Changed
            }
            _ => {
                let message = format!("{} was not written by edt.", file.shown());
                let hint = "Name another directory, or move that file away.";
                theirs.push(
                    Finding::new(Code::BadRequest, message, hint)
                        .with_effect(edt_types::Effect::NothingWritten),
                );
                continue;
            }
        };
        steps.push(SetupStep {
            file: file.to_string_lossy().into_owned(),
            purpose: Purpose::Plugin,
            action,
            detail: None,
        });
    }
    Refusal::check(theirs)?;
    for ((name, content), _) in
        files.iter().zip(&steps).filter(|(_, step)| step.action != SetupAction::Unchanged)
    {
        let file = directory.join(name);
        let wrap = |error: std::io::Error| failed("write", &file, &error);
        fs::make_dir(file.parent().unwrap_or(directory)).map_err(wrap)?;
        fs::write_atomic_unique(&file, content.as_bytes(), 0o666).map_err(wrap)?;
    }
    Ok(steps)
}

/// Whether an earlier version of edt wrote `bytes` in place of `content`. JSON must be equal except
/// for the values that depend on the version; other text must have the same first two lines.
fn is_emitted(bytes: &[u8], content: &str) -> bool {
    fn same_shape(key: &str, one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(key, value)| {
                        other.get(key).is_some_and(|other| same_shape(key, value, other))
                    })
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| same_shape(key, one, other))
            }
            _ => ["version", "description", "license", "timeout"].contains(&key) || one == other,
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match (serde_json::from_str::<Value>(text), serde_json::from_str::<Value>(content)) {
        (Ok(one), Ok(other)) => same_shape("", &one, &other),
        (Err(_), Err(_)) => text.lines().take(2).eq(content.lines().take(2)),
        _ => false,
    }
}
