//! The built-in rules: `builtin.toml`, parsed when the first command is evaluated.

use std::sync::OnceLock;

use serde::Deserialize;

use super::matching::{OptionTable, ProgramOptions};
use super::rule::{Rule, Table};

const TEXT: &str = include_str!("builtin.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    options: Vec<ProgramOptions>,
    command: Vec<Table>,
}

struct BuiltIn {
    option_table: OptionTable,
    rules: Vec<Rule>,
}

pub(super) fn rules() -> &'static [Rule] {
    &built_in().rules
}

pub(super) fn option_table() -> &'static OptionTable {
    &built_in().option_table
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
        BuiltIn { option_table: OptionTable::new(file.options), rules: rules.collect() }
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
