//! The interface: everything that a program, a script or an agent may match on, in one page.
//!
//! `cargo xtask bless -p edt-cli` writes the page; read the diff before you commit it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use edt_guard::guard::GUARDS;
use edt_testkit::blessed::compare_file;
use edt_types::evidence::FACTS;
use edt_types::{Code, WarningCode};
use serde_json::Value;

use crate::test_repo::EDT;

/// The trailers of commits that edt makes.
const TRAILERS: &[(&str, &str)] = &[
    ("Edt-Agent", "who made the edit"),
    ("Edt-Allowed", "an override that was needed"),
    ("Edt-Caller", "the program that called, if the request names another agent"),
    ("Edt-Change", "the trees before and after the edit"),
    ("Edt-Command", "the command of a proposal"),
    ("Edt-Conversation", "the agent's own session"),
    ("Edt-Count", "of the record: how many edits"),
    ("Edt-Decision", "the user's decision on a proposal"),
    ("Edt-Digest", "what a proposal is about"),
    ("Edt-Edit", "the number of the edit in its session"),
    ("Edt-Grant", "an override that the user gave with an approval"),
    ("Edt-Includes", "an edit that a commit of the user contains"),
    ("Edt-Kind", "`edit`, `checkpoint`, `restore`, `run`, `land` and others"),
    ("Edt-Mode", "how the edit was sent"),
    ("Edt-Model", "the agent's model"),
    ("Edt-Private", "the private record of the edit"),
    ("Edt-Prompt", "the user's prompt"),
    ("Edt-Proposal", "the proposal that was applied"),
    ("Edt-Redone", "of the record: edits that were redone"),
    ("Edt-Replaced", "of the record: commits that were replaced"),
    ("Edt-Reverts", "the edit that is reverted"),
    ("Edt-Reverts-Part", "the part of an edit that is reverted"),
    ("Edt-Session", "the session"),
    ("Edt-Signature", "the user's signature below an approval"),
    ("Edt-Since", "of the record: the base"),
    ("Edt-Turn", "the number of the turn"),
    ("Edt-Undone", "of the record: edits that were undone"),
];

/// Variables of the environment that edt reads or sets.
const VARIABLES: &[(&str, &str)] = &[
    ("EDT_AGENT", "the agent that calls; edt sets it for programs"),
    ("EDT_ALLOW", "overrides for Git's hooks, separated by commas"),
    ("EDT_COMPLETE", "the shell that asks for completions"),
    ("EDT_PLATFORM", "`portable`: builds for tests take what every system has"),
    ("EDT_PROBE", "set for the hooks that `edt doctor` tries"),
];

/// Refs: `<name>` is a session, `<n>` a number.
const REFS: &[(&str, &str)] = &[
    ("refs/edt/<name>/abandoned", "the tip of an abandoned session"),
    ("refs/edt/<name>/base", "the commit from which the session began"),
    ("refs/edt/<name>/comments", "the user's comments"),
    ("refs/edt/<name>/landed/<n>", "the tip that landed"),
    ("refs/edt/<name>/landing/<n>", "the commit of the landing"),
    ("refs/edt/<name>/onto/<n>", "the target before the landing"),
    ("refs/edt/<name>/origin", "the branch from which the session began"),
    ("refs/edt/<name>/record", "what edt committed in the session"),
    ("refs/edt/<name>/refused/<n>", "the changes of a refused run"),
    ("refs/edt/<name>/saved/<n>", "the user's version of files that edt overwrote"),
    ("refs/edt/<name>/undone/<n>", "commits that were undone"),
    ("refs/edt/<name>/unlanded/<n>", "a landing that was undone"),
    ("refs/edt/memory", "the memory"),
    ("refs/edt/memory-at/<word>", "a snapshot of the memory"),
    ("refs/edt/old/<name>", "the refs of an earlier session of that name"),
    ("refs/edt/proposals/<n>", "a proposal and its decisions"),
    ("refs/edt/resolution/<n>", "edits of files with merge conflicts"),
    ("refs/heads/edt/<name>", "the session's branch"),
    ("refs/worktree/edt/session", "the worktree's session while HEAD is not switched"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn printed(args: &[&str]) -> String {
    let done = Command::new(EDT).args(args).output().unwrap();
    assert!(done.status.success(), "edt {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The type that a schema describes, in one line.
fn kind(schema: &Value) -> String {
    let name = |target: &str| target.rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(target) = schema["$ref"].as_str() {
        return name(target);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(all) = schema[key].as_array() {
            return all.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(all) = schema["enum"].as_array() {
        return all.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    let one = |word: &str| match word {
        "array" if schema["prefixItems"].is_array() => {
            let all = schema["prefixItems"].as_array().unwrap();
            format!("[{}]", all.iter().map(kind).collect::<Vec<_>>().join(", "))
        }
        "array" => format!("[{}]", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("{{string: {}}}", kind(&schema["additionalProperties"]))
        }
        _ => schema["format"].as_str().unwrap_or(word).to_owned(),
    };
    match &schema["type"] {
        Value::String(word) => one(word),
        Value::Array(all) => {
            let words = all.iter().filter_map(Value::as_str);
            words
                .map(|word| if word == "null" { "null".into() } else { one(word) })
                .collect::<Vec<_>>()
                .join(" or ")
        }
        _ => "any".to_owned(),
    }
}

/// The keys of an object, one a line. Keys that may be missing have a `?`.
fn keys(schema: &Value) -> String {
    let mut lines = String::new();
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (key, of) in schema["properties"].as_object().into_iter().flatten() {
        let mark = if required.contains(key.as_str()) { "" } else { "?" };
        let _ = writeln!(lines, "  {key}{mark}: {}", kind(of));
    }
    for variant in ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten() {
        if variant["properties"].is_object() {
            let _ = write!(lines, "  or\n{}", keys(variant));
        }
    }
    lines
}

/// The requests and answers: each with the types that no earlier one has.
fn shapes() -> String {
    let mut out = String::new();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for shape in printed(&["schema", "--list"]).lines() {
        let schema: Value = serde_json::from_str(&printed(&["schema", shape])).unwrap();
        let _ = write!(out, "\n{shape}\n{}", keys(&schema));
        for (name, of) in schema["$defs"].as_object().into_iter().flatten() {
            // Lists of their own have the codes.
            if matches!(name.as_str(), "Code" | "WarningCode") {
                continue;
            }
            let keys = keys(of);
            let text = if keys.is_empty() {
                format!("{name} = {}\n", kind(of))
            } else {
                format!("{name}\n{keys}")
            };
            if known.entry(name.clone()).or_default().insert(text.clone()) {
                out.push_str(&text);
            }
        }
    }
    out
}

/// The commands with their flags and values.
fn flags(out: &mut String, name: &str, command: &clap::Command) {
    let shown = |arg: &clap::Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        let name = [short, long].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let value = arg.get_action().takes_values().then(|| {
            let names = arg.get_value_names().unwrap_or_default();
            names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ")
        });
        [name, value.unwrap_or_default()].join(" ").trim().to_owned()
    };
    let mut all: Vec<String> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set())
        .filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
        .map(shown)
        .collect();
    all.sort();
    let _ = writeln!(out, "{}", [&[name.to_owned()], &all[..]].concat().join("  "));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        flags(out, &format!("{name} {}", below.get_name()), below);
    }
}

fn table(out: &mut String, head: &str, rows: &[(&str, &str)]) {
    let _ = write!(out, "\n| {head} | meaning |\n| --- | --- |\n");
    for (name, meaning) in rows {
        let _ = writeln!(out, "| `{name}` | {meaning} |");
    }
}

fn page() -> String {
    let mut out = String::from(
        "# Interface\n\nEverything that a program, a script or an agent may match on. `cargo xtask \
         bless -p edt-cli`\nwrites this page, and a test compares it. [Stability](stability.md) says \
         what may change.\n\n## Requests and answers\n\nKeys and types of each shape of `edt schema`. \
         A key with `?` may be missing. A type is\nlisted where it occurs first.\n\n```text",
    );
    out.push_str(&shapes());
    out.push_str(
        "```\n\n## Codes\n\nName, status, exit status, and the word that overrides it. \
                  [Codes](errors.md) explains each.\n\n```text\n",
    );
    for code in Code::ALL {
        let (status, allow) = (code.status(), code.allow().unwrap_or("-"));
        let _ = writeln!(out, "{} {} {} {allow}", code.name(), status.name(), status.exit());
    }
    out.push_str("```\n\n## Warnings\n\n```text\n");
    for code in WarningCode::ALL {
        let _ = writeln!(out, "{}", code.name());
    }
    out.push_str("```\n\n## Evidence\n\n```text\n");
    for fact in FACTS {
        let codes: Vec<&str> = fact.codes.iter().map(|code| code.name()).collect();
        let codes = if codes.is_empty() { "any code".to_owned() } else { codes.join(" ") };
        let _ = writeln!(out, "{}: {}  {codes}", fact.key, fact.kind.name());
    }
    out.push_str("```\n\n## Guards\n\n```text\n");
    for guard in GUARDS {
        let _ = writeln!(out, "{}", guard.name());
    }
    out.push_str(
        "```\n\n## Commands and flags\n\n`edt` has the flags of every command.\n\n```text\n",
    );
    let edt = edt_cli::command();
    let global = edt.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let global = clap::Command::new("edt").args(global.map(|arg| arg.global(false)));
    flags(&mut out, "edt", &global);
    for command in edt.get_subcommands().filter(|command| command.get_name() != "help") {
        flags(&mut out, command.get_name(), command);
    }
    out.push_str("```\n\n## Trailers\n");
    table(&mut out, "trailer", TRAILERS);
    out.push_str("\n## Refs\n");
    table(&mut out, "ref", REFS);
    out.push_str("\n## Variables of the environment\n");
    table(&mut out, "variable", VARIABLES);
    out
}

#[test]
fn the_page_of_the_interface_has_what_is_on_the_wire() {
    let is_default =
        cfg!(all(feature = "acp", feature = "mcp", feature = "review", feature = "tui"))
            && !cfg!(any(feature = "metrics", feature = "otel"));
    if is_default {
        let path = root().join("docs/reference/interface.md");
        compare_file(&path, &page(), "cargo xtask bless -p edt-cli");
    }
}

/// The code of the program, without tests and comments, by file.
fn sources() -> BTreeMap<String, String> {
    let listed = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "crates/*/src/*.rs", "src/*.rs"])
        .output()
        .unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let is_product = |name: &&str| {
        !["edt-bench", "edt-testkit", "tests.rs", "/tests/"].iter().any(|part| name.contains(part))
    };
    let code = |name: &str| {
        let text = std::fs::read_to_string(root().join(name)).ok()?;
        let text = text.split("#[cfg(test)]").next()?;
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        Some((name.to_owned(), lines.collect::<Vec<_>>().join("\n")))
    };
    names.lines().filter(is_product).filter_map(code).collect()
}

/// The words that begin with `prefix` right after a quotation mark.
fn words<'t>(text: &'t str, prefix: &str) -> Vec<&'t str> {
    let quoted = format!("\"{prefix}");
    let end = |c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c));
    text.match_indices(&quoted)
        .map(|(at, _)| text[at + 1..].split(end).next().unwrap_or_default())
        .filter(|word| word.len() > prefix.len())
        .collect()
}

#[test]
fn every_trailer_and_variable_in_the_sources_is_listed() {
    let sources = sources();
    assert!(sources.len() > 200, "only {} files", sources.len());
    for (prefix, listed) in [("Edt-", TRAILERS), ("EDT_", VARIABLES)] {
        let found: BTreeSet<&str> = sources.values().flat_map(|text| words(text, prefix)).collect();
        let listed: BTreeSet<&str> = listed.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, listed, "{prefix}");
    }
}

#[test]
fn every_warning_is_given_somewhere() {
    let sources = sources();
    let used = |code: &&WarningCode| {
        let (variant, word) = (format!("WarningCode::{code:?}"), format!("\"{}\"", code.name()));
        sources.iter().any(|(name, text)| {
            !name.ends_with("edt-types/src/warning.rs")
                && (text.contains(&variant) || text.contains(&word))
        })
    };
    let unused: Vec<&str> =
        WarningCode::ALL.iter().filter(|code| !used(code)).map(|code| code.name()).collect();
    assert_eq!(unused, Vec::<&str>::new());
}

#[test]
fn every_fact_is_given_somewhere() {
    let sources = sources();
    let used = |key: &str| {
        let word = format!("\"{key}\"");
        sources.iter().any(|(name, text)| {
            !name.ends_with("edt-types/src/evidence.rs") && text.contains(&word)
        })
    };
    let unused: Vec<&str> = FACTS.iter().map(|fact| fact.key).filter(|key| !used(key)).collect();
    assert_eq!(unused, Vec::<&str>::new());
}

#[test]
fn every_key_of_an_edit_is_a_flag() {
    let schema: Value = serde_json::from_str(&printed(&["schema", "request"])).unwrap();
    let edt = edt_cli::command();
    for name in ["apply", "check", "propose"] {
        let command = edt.find_subcommand(name).unwrap();
        let is_flag = |key: &str| {
            let long = key.replace('_', "-");
            key == "path" || command.get_arguments().any(|arg| arg.get_long() == Some(&long))
        };
        let keys = schema["properties"].as_object().unwrap().keys();
        let missing: Vec<&String> = keys
            .filter(|key| !matches!(key.as_str(), "edits" | "schema") && !is_flag(key))
            .collect();
        assert_eq!(missing, Vec::<&String>::new(), "{name}");
    }
}

#[test]
fn a_call_without_an_edit_teaches_a_request() {
    let done = Command::new(EDT).args(["apply", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    let hint = answer["errors"][0]["hint"].as_str().unwrap();
    assert!(hint.contains("| edt apply --request -") && hint.contains("\"mode\""), "{hint}");
    assert_eq!(done.status.code(), Some(2));
}
