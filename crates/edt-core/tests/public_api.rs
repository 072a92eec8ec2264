//! The public interface is a list in a file, `public-api.txt`: it changes only on purpose.
//!
//! `cargo xtask bless -p edt-core` writes the file.
#![allow(clippy::unwrap_used, reason = "a test may panic and say why")]

use std::path::Path;

/// At most this many names at the root of the crate.
const MAX_NAMES: usize = 25;

fn source(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The names that the module at `path` exports, with those that only other crates of edt may use
/// left out.
fn names(path: &str) -> Vec<String> {
    let text = source(path);
    let exports = text.split("pub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let mut names: Vec<String> = exports
        .flat_map(|export| {
            let list =
                export.split_once('{').map_or(export, |(_, list)| list.trim_end_matches('}'));
            let last = |item: &str| item.rsplit([':', ' ']).next().unwrap().to_owned();
            list.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(last)
                .collect::<Vec<_>>()
        })
        .collect();
    names.sort();
    names
}

fn root_names() -> Vec<String> {
    names("src/lib.rs")
}

fn type_names() -> Vec<String> {
    names("src/types.rs")
}

/// The public functions and fields of `path`, one a line, in order, without hidden ones.
fn members(path: &str) -> Vec<String> {
    let text = source(path);
    let code = text.split("#[cfg(test)]").next().unwrap();
    let mut members = Vec::new();
    let mut lines = code.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line == "#[doc(hidden)]" {
            lines.by_ref().find(|line| !line.starts_with("#["));
            continue;
        }
        let is_function = ["pub fn ", "pub const fn "].iter().any(|start| line.starts_with(start));
        if !(is_function || line.starts_with("pub ") && line.ends_with(',')) {
            continue;
        }
        let mut member = line.to_owned();
        while !member.ends_with(['{', ',', ';']) || member.ends_with(',') && member.contains('(') {
            let Some(next) = lines.next() else { break };
            member = format!("{member} {next}");
            if next.ends_with('{') {
                break;
            }
        }
        members.push(member.trim_end_matches(['{', ',', ' ']).to_owned());
    }
    members
}

fn interface() -> String {
    let mut out = format!("# The names at the root of edt_core\n{}\n", root_names().join("\n"));
    out.push_str(&format!("\n# The names in edt_core::types\n{}\n", type_names().join("\n")));
    for (title, path) in [
        ("Workspace", "src/api/mod.rs"),
        ("Workspace: proposals", "src/api/proposals.rs"),
        ("Workspace: what only the user decides", "src/api/users.rs"),
        ("UserDecision", "src/user_decision.rs"),
        ("Request", "src/api/request.rs"),
        ("Options", "src/session/worktree/options.rs"),
        ("Land", "src/session/landing/options.rs"),
        ("MemoryUse", "src/observe.rs"),
        ("RepositoryView", "../edt-git/src/repository_view.rs"),
        ("Confinement", "../edt-git/src/confinement.rs"),
        ("GuardOutput and GuardContext", "../edt-guard/src/guard/check.rs"),
        ("WorktreeStatus", "src/session/views/status.rs"),
        ("LogEntry", "src/session/views/log.rs"),
        ("FileDiff", "src/session/views/file_diff.rs"),
    ] {
        out.push_str(&format!("\n# {title}\n{}\n", members(path).join("\n")));
    }
    out
}

#[test]
fn the_public_interface_is_the_recorded_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt");
    edt_testkit::blessed::compare_file(&file, &interface(), "cargo xtask bless -p edt-core");
}

#[test]
fn the_root_has_few_names() {
    let names = root_names();
    assert!(names.len() <= MAX_NAMES, "{} names: {names:?}", names.len());
    assert!(names.iter().any(|name| name == "Workspace"));
}

#[test]
fn a_workspace_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<edt_core::Workspace>();
    is_send::<edt_core::Options>();
}
