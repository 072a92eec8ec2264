//! The built-in rules: `builtin.toml`, read when a command is first judged.

use std::sync::OnceLock;

use serde::Deserialize;

use super::fit::{Known, Options};
use super::rule::{Rule, Table};

/// The rules, in the language of everybody's.
const TEXT: &str = include_str!("builtin.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    options: Vec<Options>,
    command: Vec<Table>,
}

struct BuiltIn {
    known: Known,
    rules: Vec<Rule>,
}

pub(super) fn rules() -> &'static [Rule] {
    &built_in().rules
}

/// The options that programs take before their subcommand.
pub(super) fn known() -> &'static Known {
    &built_in().known
}

/// The examples are tried by a test, not at each start.
fn built_in() -> &'static BuiltIn {
    static BUILT_IN: OnceLock<BuiltIn> = OnceLock::new();
    BUILT_IN.get_or_init(|| {
        let file: File = toml::from_str(TEXT).expect("a test reads builtin.toml");
        let rules = file
            .command
            .into_iter()
            .map(|table| Rule::of(table).expect("a test reads builtin.toml"));
        BuiltIn { known: Known::new(file.options), rules: rules.collect() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_is_proven_by_its_examples() {
        let wrong: Vec<String> = rules()
            .iter()
            .filter_map(|rule| {
                rule.proven(known()).err().map(|why| format!("{}: {why}", rule.name))
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let mut names: Vec<&str> = rules().iter().map(|rule| rule.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "two rules have one name");
    }
}
