//! Applies patches for `benches/appliers/run.py`: one row per line on standard input, one answer
//! per line on standard output, in step.
//!
//! A row is `{path, file, patch, named, match}`; `match` is `strict` or `lenient` (edt), or `diffy`
//! (the crate). A row with `request` in place of the last three has a request with edits. An answer
//! is `{how, text, codes, said, correction, request, matched_by, already_applied, micros}`.
//! Everything stays in memory.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its answers")]

use std::io::{BufRead, Write};
use std::time::Instant;

use edt_core::txn::Request;
use edt_core::txn::patch::rehearse;
use edt_core::txn::patch_text::PatchText;
use edt_core::txn::rehearsal::rehearse_request;
use edt_edit::place::Matching;
use edt_types::{Finding, RepoPath};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Row {
    path: String,
    file: String,
    patch: String,
    /// Whether the patch names its file; otherwise the path is passed separately.
    named: bool,
    r#match: String,
    request: Option<Value>,
    /// Texts that the file had before, the newest first; for `request` only.
    earlier: Vec<String>,
}

#[derive(Serialize, Default)]
struct Answer {
    how: &'static str,
    text: Option<String>,
    codes: Vec<&'static str>,
    said: Option<String>,
    correction: Option<String>,
    request: Option<Value>,
    matched_by: Option<String>,
    already_applied: bool,
    micros: u128,
}

fn main() {
    if !std::env::args().any(|arg| arg == "--rows") {
        println!("run benches/appliers/run.py");
        return;
    }
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row: Row = serde_json::from_str(&line.expect("the rows can be read")).expect("a row");
        let begun = Instant::now();
        let answer = if row.r#match == "diffy" { with_diffy(&row) } else { with_edt(&row) };
        let answer = Answer { micros: begun.elapsed().as_micros(), ..answer };
        serde_json::to_writer(&mut stdout, &answer).expect("an answer");
        stdout.write_all(b"\n").and_then(|()| stdout.flush()).expect("the answers are read");
    }
}

fn with_diffy(row: &Row) -> Answer {
    let applied = diffy::Patch::from_str(&row.patch).map_err(|error| error.to_string());
    match applied
        .and_then(|patch| diffy::apply(&row.file, &patch).map_err(|error| error.to_string()))
    {
        Ok(text) => Answer { how: "applied", text: Some(text), ..Answer::default() },
        Err(error) => Answer { how: "refused", said: Some(error), ..Answer::default() },
    }
}

fn with_edt(row: &Row) -> Answer {
    let path = RepoPath::parse(row.path.as_bytes()).expect("a path that Git has recorded");
    let file = row.file.as_bytes();
    let earlier: Vec<Vec<u8>> = row.earlier.iter().map(|text| text.clone().into_bytes()).collect();
    let applied = match &row.request {
        None => rehearse(&patch_of(row), &path, file),
        Some(request) => Request::from_json(request.to_string().as_bytes())
            .and_then(|request| rehearse_request(&request, &path, file, &earlier)),
    };
    match applied {
        Ok((text, step)) => Answer {
            how: "applied",
            text: Some(String::from_utf8(text.unwrap_or_default()).expect("UTF-8 stays UTF-8")),
            matched_by: step.matched_by.map(|by| format!("{by:?}")),
            ..Answer::default()
        },
        Err(findings) => refused(&findings.into_vec()),
    }
}

fn patch_of(row: &Row) -> PatchText {
    let matching = if row.r#match == "lenient" { Matching::Lenient } else { Matching::Strict };
    let separate_path = (!row.named).then_some(row.path.as_bytes());
    PatchText::new(row.patch.clone().into_bytes(), separate_path, None, matching)
        .expect("no hash is given")
}

fn refused(findings: &[Finding]) -> Answer {
    let correction =
        findings.iter().find_map(|finding| finding.evidence.get("correction")?.as_str());
    Answer {
        how: "refused",
        codes: findings.iter().map(|finding| finding.code.name()).collect(),
        said: Some(findings.iter().map(Finding::message).collect::<Vec<_>>().join("; ")),
        correction: correction.map(str::to_owned),
        request: findings.iter().find_map(|finding| finding.evidence.get("request")).cloned(),
        already_applied: findings
            .iter()
            .any(|finding| finding.evidence.get("already_applied") == Some(&true.into())),
        ..Answer::default()
    }
}
