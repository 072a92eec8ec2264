//! The parts of `docs/reference/` that are made from the code: `cargo xtask docs` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use edt_guard::executed::{When, free_names, programs};
use edt_guard::guard::{GUARDS, code_of};
use edt_guard::policy::GuardMode;
use edt_testkit::blessed::{compare_file, compare_part};

use crate::repo::in_workspace;

const COMMAND: &str = "cargo xtask docs";

/// A program may depend on each row of the table: a row is added, and never changed or removed.
#[test]
fn the_page_of_codes_lists_every_code_and_keeps_their_contract() {
    let path = in_workspace("docs/reference/errors.md");
    let (recorded, now) = (std::fs::read_to_string(&path).unwrap(), edt_types::code_page());
    let now_by_code = contract(&now);
    for (code, cells) in contract(&recorded) {
        assert_eq!(now_by_code.get(code), Some(&cells), "{code}: status, exit status, allow");
    }
    compare_file(&path, &now, COMMAND);
}

/// Each code with its status, exit status and override.
fn contract(page: &str) -> BTreeMap<&str, Vec<&str>> {
    let codes = page.split("## Warnings").next().unwrap_or_default();
    let rows = codes.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(code, rest)| (code, rest.split(" | ").take(3).collect())).collect()
}

#[test]
fn the_page_of_guards_has_what_the_code_says() {
    let mut table =
        "| guard | code | mode | refuses, or warns about |\n| --- | --- | --- | --- |\n".to_owned();
    for guard in GUARDS {
        let code = code_of(guard.name()).unwrap();
        let mode = match guard.default_mode() {
            GuardMode::Off => "off",
            GuardMode::Warn => "warn",
            GuardMode::Refuse => "refuse",
        };
        let rule = guard.rule().replace('&', "&amp;").replace('|', "\\|");
        writeln!(table, "| `{}` | `{}` | {mode} | {rule} |", guard.name(), code.name()).unwrap();
    }
    let page = in_workspace("docs/reference/guards.md");
    compare_part(&page, "<!-- the guards, made by `cargo xtask docs` -->", &table, COMMAND);
}

#[test]
fn the_page_of_executed_names_has_the_table() {
    let page = in_workspace("docs/reference/executed-names.md");
    let cells = |names: &str| {
        let names: Vec<String> = names.split_whitespace().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let mut table = "| program | names | when |\n| --- | --- | --- |\n".to_owned();
    for one in programs() {
        let when = match one.when {
            When::Here => "here",
            When::Later => "after a push",
        };
        let (program, source, names) = (one.program, one.source, cells(one.names));
        writeln!(table, "| [{program}]({source}) | {names} | {when} |").unwrap();
    }
    compare_part(&page, "<!-- the programs, made by `cargo xtask docs` -->", &table, COMMAND);
    let mut table = "| names | what they are |\n| --- | --- |\n".to_owned();
    for one in free_names() {
        writeln!(table, "| {} | {} |", cells(one.names), one.why).unwrap();
    }
    compare_part(&page, "<!-- the free names, made by `cargo xtask docs` -->", &table, COMMAND);
}
