//! The rules and settings of both configuration files.

use super::builtin;
use super::decision::{Decision, Origin};
use super::rule::{self, Rule};
use super::run::{self, RunRules};

/// Whether the user trusts the repository's rules, so that they may allow commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trusted {
    /// The user has not trusted the file in its present form.
    #[default]
    No,
    Yes,
}

/// The rules of both configuration files and the settings of `[run]`.
#[derive(Debug, Clone, Default)]
pub struct CommandPolicy {
    pub run: RunRules,
    pub user_rules: Vec<Rule>,
    pub repository_rules: Vec<Rule>,
    pub trusted: Trusted,
}

impl CommandPolicy {
    /// Every rule with its origin: the user's, the built-in ones, the repository's.
    #[must_use]
    pub fn rules(&self) -> Vec<(Origin, &Rule)> {
        let of = |origin, rules: &'static [Rule]| rules.iter().map(move |rule| (origin, rule));
        let user_rules = self.user_rules.iter().map(|rule| (Origin::User, rule));
        let repository = self.repository_rules.iter().map(|rule| (Origin::Repository, rule));
        user_rules.chain(of(Origin::BuiltIn, builtin::rules())).chain(repository).collect()
    }

    /// The repository's rules that allow something. They have no effect until the user trusts them.
    pub fn untrusted_allow_rules(&self) -> impl Iterator<Item = &Rule> {
        self.repository_rules.iter().filter(|rule| rule.decision == Decision::Allow)
    }
}

/// The policy of both files.
///
/// # Errors
/// What is wrong, and whether it is in the repository's file.
pub fn from_tables(
    (user, user_rules): (run::Table, Vec<rule::Table>),
    (repo, repository): (run::Table, Vec<rule::Table>),
) -> Result<CommandPolicy, (bool, String)> {
    let checked = |tables: Vec<rule::Table>, of_repository| {
        // Without a rule to check, the built-in rules need not be parsed.
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        rule::checked(tables, builtin::option_table()).map_err(|why| (of_repository, why))
    };
    let (user_rules, repository_rules) = (checked(user_rules, false)?, checked(repository, true)?);
    Ok(CommandPolicy {
        run: run::merged(user, repo)?,
        user_rules,
        repository_rules,
        trusted: Trusted::No,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rule;

    #[test]
    fn rules_are_listed_from_the_user_to_the_repository() {
        let policy = CommandPolicy {
            user_rules: vec![rule("mine", &["a"], Decision::Deny)],
            repository_rules: vec![rule("theirs", &["b"], Decision::Allow)],
            ..CommandPolicy::default()
        };
        let rules = policy.rules();
        let ends = [rules[0], rules[1], rules[rules.len() - 1]]
            .map(|(origin, rule)| (origin, rule.name.as_str()));
        assert_eq!(
            ends,
            [
                (Origin::User, "mine"),
                (Origin::BuiltIn, "read-files"),
                (Origin::Repository, "theirs")
            ]
        );
    }

    #[test]
    fn only_allowing_rules_of_the_repository_need_trust() {
        let policy = CommandPolicy {
            user_rules: vec![rule("mine", &["a"], Decision::Allow)],
            repository_rules: vec![
                rule("allows", &["b"], Decision::Allow),
                rule("asks", &["c"], Decision::Ask),
            ],
            ..CommandPolicy::default()
        };
        let names: Vec<&str> =
            policy.untrusted_allow_rules().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, ["allows"]);
    }
}
