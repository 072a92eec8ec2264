//! The table of codes, its document, and the help of every command.

use std::path::Path;
use std::process::Command;

use crate::test_repo::EDT;

/// What edt prints for `args`, which must succeed.
fn prints(args: &[&str]) -> String {
    let done = Command::new(EDT).args(args).output().unwrap();
    assert!(done.status.success(), "edt {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The codes in the table that `edt explain --all` prints, with their statuses and exit statuses.
fn codes() -> Vec<(String, String, String)> {
    let table = prints(&["explain", "--all"]);
    let table = table.split("## Warnings").next().unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let code = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
        Some((code.to_owned(), cells[2].to_owned(), cells[3].to_owned()))
    };
    let codes: Vec<_> = table.lines().filter_map(row).collect();
    assert!(codes.len() > 25, "only {} codes", codes.len());
    codes
}

#[test]
fn the_document_of_codes_is_what_edt_explains() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/errors.md");
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == prints(&["explain", "--all"]), "run `cargo xtask docs`");
}

#[test]
fn every_code_can_be_explained_alone() {
    for (code, status, exit) in codes() {
        let printed = prints(&["explain", &code]);
        assert!(
            printed.starts_with(&format!("{code} (status {status}, exit {exit})")),
            "{printed}"
        );
        assert_eq!(prints(&["explain", &code.to_lowercase().replace('_', "-")]), printed);
    }
    for code in edt_types::WarningCode::ALL {
        let printed = prints(&["explain", code.name()]);
        assert_eq!(printed, format!("{} (warning)\n{}\n", code.name(), code.explanation()));
    }
    let done = Command::new(EDT).args(["explain", "SIZE_REDUKTION", "--json"]).output().unwrap();
    let printed = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(printed.contains("Did you mean SIZE_REDUCTION?"), "{printed}");
}

#[test]
fn every_commands_help_has_an_example() {
    let all = prints(&["help", "all"]);
    let commands = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 12 && commands.contains(&"apply"), "{commands:?}");
    let without = commands
        .iter()
        .filter(|command| **command != "help" && !prints(&[command, "--help"]).contains("Example"));
    assert_eq!(without.collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(prints(&["--help"]).contains("Example"));
}

#[test]
fn every_schema_is_one() {
    for shape in prints(&["schema", "--list"]).lines() {
        let schema: serde_json::Value = serde_json::from_str(&prints(&["schema", shape])).unwrap();
        jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{shape}: {error}"));
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(prints(&["completions", shell]).contains("edt"));
    }
    assert!(
        prints(&["man"]).starts_with(".ie") && prints(&["man", "apply"]).contains("old\\-text")
    );
}

#[test]
fn answers_about_edt_itself_satisfy_their_schemas() {
    let workspace = crate::test_repo::TestRepo::with(&[("a.txt", b"one\n")]);
    let calls: [&[&str]; 10] = [
        &["explain", "SIZE_REDUCTION"],
        &["explain", "--all"],
        &["explain", "no-such-code"],
        &["explain", "left_out"],
        &["completions", "bash"],
        &["man", "apply"],
        &["guide"],
        &["guards"],
        &["setup", "--list"],
        &["policy", "explain"],
    ];
    for call in calls {
        workspace.edt(call);
    }
}
