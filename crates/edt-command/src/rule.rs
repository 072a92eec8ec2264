//! One command rule: which commands it matches, its decision, its reason and its examples.

use std::fmt;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

use super::Decision;
use super::matching::{
    Invocation, MatchResult, OptionTable, contains_listed, glob_match, is_listed,
};

/// One `[[command]]` table as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    name: String,
    argv: Vec<Text>,
    with: Option<Vec<String>>,
    only: Option<Vec<String>>,
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    decision: Decision,
    reason: String,
    r#match: Vec<Text>,
    #[serde(default)]
    not_match: Vec<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Unique in its file.
    pub name: String,
    /// The program and the words that must come first, each with alternatives; globs with `*` and
    /// `?`.
    pub argv: Vec<Vec<String>>,
    /// One of these must occur among the other arguments; `None`: any arguments.
    pub with: Option<Vec<String>>,
    /// Every other argument must be one of these; `None`: any arguments. Only in rules that allow.
    pub only: Option<Vec<String>>,
    /// The rule does not match if one of these occurs, exactly as written.
    pub without: Vec<String>,
    /// Options that take a value. The value is never read as an option.
    pub values: Vec<String>,
    pub decision: Decision,
    /// Why, and what the caller can do instead.
    pub reason: String,
    /// Examples that it must match.
    pub matching: Vec<Vec<String>>,
    /// Examples that it must not match.
    pub not_matching: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
enum Text {
    One(String),
    Several(Vec<String>),
}

impl Rule {
    pub(super) fn matches(
        &self,
        invocation: &Invocation,
        option_table: &OptionTable,
    ) -> MatchResult {
        if !self.argv[0]
            .iter()
            .any(|program| invocation.names.iter().any(|name| glob_match(program, name)))
        {
            return MatchResult::No;
        }
        if invocation.args.iter().any(|arg| self.without.contains(arg)) {
            return MatchResult::No;
        }
        let words = &self.argv[1..];
        if self.decision == Decision::Allow {
            let Some(rest) = option_table.match_strictly(words, invocation) else {
                return MatchResult::No;
            };
            let only = |only: &Vec<String>| {
                !invocation.open_ended && rest.iter().all(|arg| is_listed(only, arg))
            };
            let with = |with: &Vec<String>| rest.iter().any(|arg| is_listed(with, arg));
            let matches =
                self.only.as_ref().is_none_or(only) && self.with.as_ref().is_none_or(with);
            return if matches { MatchResult::Yes } else { MatchResult::No };
        }
        option_table.match_leniently(words, invocation, &|rest| match &self.with {
            Some(with) if contains_listed(with, &self.values, rest) => MatchResult::Yes,
            Some(_) if invocation.open_ended => MatchResult::Maybe,
            Some(_) => MatchResult::No,
            None => MatchResult::Yes,
        })
    }
}

/// Checks the tables of one file.
///
/// # Errors
/// What is wrong, naming the rule and, if one fails, the example.
pub(super) fn checked(tables: Vec<Table>, option_table: &OptionTable) -> Result<Vec<Rule>, String> {
    let mut all: Vec<Rule> = Vec::new();
    for table in tables {
        let name = table.name.clone();
        let wrong = |why: String| format!("[[command]] name = {name:?}: {why}");
        let rule = Rule::from_table(table).map_err(wrong)?;
        if all.iter().any(|other| other.name == name) {
            return Err(wrong("another rule has this name".to_owned()));
        }
        rule.check_examples(option_table).map_err(wrong)?;
        all.push(rule);
    }
    Ok(all)
}

impl Rule {
    /// Does not run the examples.
    pub(super) fn from_table(table: Table) -> Result<Rule, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if table.name.is_empty() || !table.name.chars().all(plain) {
            return Err("a name may only have letters, digits, `-`, `_`, `.` and `+`".to_owned());
        }
        if table.reason.trim().is_empty() {
            return Err("reason is empty; say why, and what to do instead".to_owned());
        }
        if table.r#match.is_empty() {
            return Err(
                "match is empty; write at least one command that the rule matches".to_owned()
            );
        }
        if table.only.is_some() && table.decision != Decision::Allow {
            return Err("`only` is for rules that allow; use `with` in a rule that asks or denies"
                .to_owned());
        }
        let argv: Vec<Vec<String>> = table.argv.into_iter().map(Text::alternatives).collect();
        if argv.is_empty()
            || argv.iter().any(Vec::is_empty)
            || argv.iter().flatten().any(String::is_empty)
        {
            return Err("argv is empty; write the program and the words that come first as a list"
                .to_owned());
        }
        if table.with.as_ref().is_some_and(Vec::is_empty) {
            return Err("with is empty, so the rule would match nothing; leave it out".to_owned());
        }
        let globs = argv
            .iter()
            .flatten()
            .chain(table.with.iter().flatten())
            .chain(table.only.iter().flatten());
        if let Some(glob) = globs.into_iter().find(|glob| glob.contains('[') && glob.contains(']'))
        {
            return Err(format!(
                "{glob:?} has brackets, which are not supported in patterns; use * and ?"
            ));
        }
        let Table { name, with, only, without, values, decision, reason, .. } = table;
        let matching = table.r#match.into_iter().map(Text::argv).collect();
        let not_matching = table.not_match.into_iter().map(Text::argv).collect();
        Ok(Rule {
            name,
            argv,
            with,
            only,
            without,
            values,
            decision,
            reason,
            matching,
            not_matching,
        })
    }

    pub(super) fn check_examples(&self, option_table: &OptionTable) -> Result<(), String> {
        let fit =
            |example: &Vec<String>| self.matches(&Invocation::unresolved(example), option_table);
        if let Some(example) = self.matching.iter().find(|example| fit(example) != MatchResult::Yes)
        {
            return Err(format!("it does not match {:?}, which match lists", example.join(" ")));
        }
        if let Some(example) =
            self.not_matching.iter().find(|example| fit(example) != MatchResult::No)
        {
            return Err(format!("it matches {:?}, which not_match lists", example.join(" ")));
        }
        Ok(())
    }
}

impl Text {
    fn alternatives(self) -> Vec<String> {
        match self {
            Text::One(text) => vec![text],
            Text::Several(texts) => texts,
        }
    }

    /// An example: a text is split at white space, a list is the exact arguments.
    fn argv(self) -> Vec<String> {
        match self {
            Text::One(text) => text.split_whitespace().map(str::to_owned).collect(),
            Text::Several(texts) => texts,
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Text, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                Ok(Text::Several(texts))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked_rules(text: &str) -> Result<Vec<Rule>, String> {
        #[derive(Deserialize)]
        struct File {
            command: Vec<Table>,
        }
        let file: File = toml::from_str(text).unwrap();
        checked(file.command, &OptionTable::default())
    }

    const DB: &str = "[[command]]\nname = \"db\"\nargv = [\"make\", [\"reset\", \"drop\"]]\n\
                  decision = \"deny\"\nreason = \"no\"\nmatch = [\"make reset\", [\"make\", \"drop\"]]\n";

    #[test]
    fn a_table_becomes_a_rule_whose_texts_are_lists() {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            checked_rules(DB),
            Ok(vec![Rule {
                name: "db".to_owned(),
                argv: vec![words(&["make"]), words(&["reset", "drop"])],
                with: None,
                only: None,
                without: vec![],
                values: vec![],
                decision: Decision::Deny,
                reason: "no".to_owned(),
                matching: vec![words(&["make", "reset"]), words(&["make", "drop"])],
                not_matching: vec![],
            }])
        );
    }

    #[test]
    fn an_example_that_does_not_match_is_named() {
        assert_eq!(
            checked_rules(&DB.replace("make reset", "make all")),
            Err("[[command]] name = \"db\": it does not match \"make all\", which match lists"
                .to_owned())
        );
    }

    #[test]
    fn a_bracket_in_a_pattern_is_refused() {
        assert_eq!(
            checked_rules(&DB.replace("\"drop\"", "\"[dr]op\"")),
            Err("[[command]] name = \"db\": \"[dr]op\" has brackets, which are not supported in \
             patterns; use * and ?"
                .to_owned())
        );
    }

    #[test]
    fn two_rules_of_one_file_need_two_names() {
        assert_eq!(
            checked_rules(&DB.repeat(2)),
            Err("[[command]] name = \"db\": another rule has this name".to_owned())
        );
    }

    #[test]
    fn a_rule_does_not_match_if_an_excluding_argument_occurs() {
        let rules = checked_rules(&format!("{DB}without = [\"--dry-run\"]\n")).unwrap();
        let result = |text: &str| {
            let argv: Vec<String> = text.split(' ').map(str::to_owned).collect();
            rules[0].matches(&Invocation::unresolved(&argv), &OptionTable::default())
        };
        assert_eq!(result("make reset"), MatchResult::Yes);
        assert_eq!(result("make reset --dry-run"), MatchResult::No);
    }

    #[test]
    fn a_rule_with_required_arguments_may_match_unknown_ones() {
        let rules = checked_rules(&DB.replace(
            "match = [\"make reset\", [\"make\", \"drop\"]]",
            "with = [\"-f\"]\nmatch = [\"make reset -f\"]",
        ))
        .unwrap();
        let argv = ["make", "reset"].map(str::to_owned);
        let closed = Invocation::unresolved(&argv);
        let open = Invocation { open_ended: true, ..closed.clone() };
        assert_eq!(rules[0].matches(&closed, &OptionTable::default()), MatchResult::No);
        assert_eq!(rules[0].matches(&open, &OptionTable::default()), MatchResult::Maybe);
    }
}
