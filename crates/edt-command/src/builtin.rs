//! The built-in rules: `builtin.toml`, parsed when the first command is evaluated.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::matching::{OptionTable, ProgramOptions, glob_match};
use super::rule::{Rule, Table};

const TEXT: &str = include_str!("builtin.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    options: Vec<ProgramOptions>,
    names: HashMap<String, Vec<String>>,
    interpreter: Vec<Interpreter>,
    wrapper: Vec<Wrapper>,
    command: Vec<Table>,
}

/// How an interpreter's arguments name the code that it runs: `[[interpreter]]` of the built-in
/// rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interpreter {
    pub(super) names: Vec<String>,
    /// Options without a value and without a relevant effect.
    #[serde(default)]
    pub(super) flags: Vec<String>,
    /// Options that take the next argument, without a relevant effect.
    #[serde(default)]
    pub(super) values: Vec<String>,
    /// Options of one letter without a value and without a relevant effect.
    #[serde(default)]
    pub(super) letters: String,
    /// Options that are followed by a suffix, and change files in place.
    #[serde(default)]
    pub(super) suffix: Vec<String>,
    /// Options that are followed by the name of a module to run.
    #[serde(default)]
    pub(super) module: Vec<String>,
    /// Options that are followed by code.
    #[serde(default)]
    pub(super) code: Vec<String>,
    /// The first operand is code if no option has code.
    #[serde(default)]
    pub(super) first_is_code: bool,
    /// Arguments that print its version or help.
    pub(super) informational: Vec<String>,
}

/// How a program's arguments name the command that it runs: `[[wrapper]]` of the built-in rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wrapper {
    pub(super) names: Vec<String>,
    /// Subcommand words that come first.
    #[serde(default)]
    pub(super) prefix: Vec<String>,
    /// Options that take the next argument.
    #[serde(default)]
    pub(super) values: Vec<String>,
    /// Options without a value.
    #[serde(default)]
    pub(super) flags: Vec<String>,
    /// Operands before the command.
    #[serde(default)]
    pub(super) operands: usize,
    /// What must come just before the command; empty: nothing.
    #[serde(default)]
    pub(super) needs: String,
    /// It adds arguments that are unknown before it runs.
    #[serde(default)]
    pub(super) open_ended: bool,
}

struct BuiltIn {
    option_table: OptionTable,
    names: HashMap<String, Vec<String>>,
    interpreters: Vec<Interpreter>,
    wrappers: Vec<Wrapper>,
    rules: Vec<Rule>,
}

pub(super) fn rules() -> &'static [Rule] {
    &built_in().rules
}

pub(super) fn option_table() -> &'static OptionTable {
    &built_in().option_table
}

/// The names of one list, which are globs.
pub(super) fn names(list: &str) -> &'static [String] {
    built_in().names.get(list).map_or(&[], Vec::as_slice)
}

/// Whether a list has `name`.
pub(super) fn is_named(list: &str, name: &str) -> bool {
    names(list).iter().any(|glob| glob_match(glob, name))
}

pub(super) fn interpreters() -> &'static [Interpreter] {
    &built_in().interpreters
}

pub(super) fn wrappers() -> &'static [Wrapper] {
    &built_in().wrappers
}

/// Does not run the examples: a test does.
fn built_in() -> &'static BuiltIn {
    static BUILT_IN: OnceLock<BuiltIn> = OnceLock::new();
    BUILT_IN.get_or_init(|| {
        let file: File = toml::from_str(TEXT).expect("a test parses builtin.toml");
        let rules = file
            .command
            .into_iter()
            .map(|table| Rule::from_table(table).expect("a test parses builtin.toml"));
        BuiltIn {
            option_table: OptionTable::new(file.options),
            names: file.names,
            interpreters: file.interpreter,
            wrappers: file.wrapper,
            rules: rules.collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_matches_its_examples() {
        let wrong: Vec<String> = rules()
            .iter()
            .filter_map(|rule| {
                rule.check_examples(option_table()).err().map(|why| format!("{}: {why}", rule.name))
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let mut names: Vec<&str> = rules().iter().map(|rule| rule.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "two rules have the same name");
    }
}
