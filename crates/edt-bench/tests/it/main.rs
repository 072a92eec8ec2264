//! Tests of the binary `edt-bench`: real agents as programs, real scratch repositories.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test may panic and say why"
)]
#![allow(
    clippy::needless_for_each,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "tests are read, not tuned"
)]

mod bench;
mod import;
mod judge;
mod models;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// `edt-bench` in `dir`, with `home` as the home directory.
fn edt_bench(dir: &Path, home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_edt-bench"));
    command.current_dir(dir).env("HOME", home).env("XDG_CONFIG_HOME", home.join(".config"));
    command
}

/// Checks an answer against the schema that it names.
#[track_caller]
fn assert_satisfies_schema(json: &Value) {
    static ALL: OnceLock<BTreeMap<&str, jsonschema::Validator>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        ["report", "list", "check", "import"].map(|shape| (shape, validator(shape))).into()
    });
    let shape = json["schema"]
        .as_str()
        .and_then(|schema| schema.strip_prefix("edt.bench-")?.strip_suffix("/1"))
        .unwrap_or_else(|| panic!("the answer does not name its schema: {json:#}"));
    let errors: Vec<String> = all[shape].iter_errors(json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "against the schema: {errors:#?}\n{json:#}");
}

fn validator(shape: &str) -> jsonschema::Validator {
    let root = Path::new("/");
    let schema = edt_bench(root, root).args(["schema", shape]).output().unwrap().stdout;
    jsonschema::validator_for(&serde_json::from_slice(&schema).unwrap()).unwrap()
}
