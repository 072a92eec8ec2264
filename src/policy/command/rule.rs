//! One rule over commands: which it is about, what it decides, why, and the examples that prove it.

use std::fmt;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

use super::Decision;
use super::fit::{Fit, Invocation, Known, alike, asks, carries};

/// One `[[command]]` as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::policy) struct Table {
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

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Its name, unique in its file.
    pub name: String,
    /// The program and the words that must come first, each as alternatives; globs with `*` and `?`.
    pub argv: Vec<Vec<String>>,
    /// One of these must stand among the other arguments; `None`: whatever follows.
    pub with: Option<Vec<String>>,
    /// Every other argument must be one of these; `None`: whatever follows. Only where the rule allows.
    pub only: Option<Vec<String>>,
    /// Where one of these stands, it is not about the command; exactly as written.
    pub without: Vec<String>,
    /// Options that take a value, which is no option whatever it looks like.
    pub values: Vec<String>,
    /// What it decides.
    pub decision: Decision,
    /// Why, and what to do instead.
    pub reason: String,
    /// Commands that it is about.
    pub matching: Vec<Vec<String>>,
    /// Commands that it is not about.
    pub not_matching: Vec<Vec<String>>,
}

/// A text, or several.
#[derive(Debug, Clone)]
enum Text {
    One(String),
    Several(Vec<String>),
}

impl Rule {
    /// Whether it speaks of `invocation`.
    pub(super) fn fits(&self, invocation: &Invocation, known: &Known) -> Fit {
        if !self.argv[0]
            .iter()
            .any(|program| invocation.names.iter().any(|name| alike(program, name)))
        {
            return Fit::No;
        }
        if invocation.args.iter().any(|arg| self.without.contains(arg)) {
            return Fit::No;
        }
        let words = &self.argv[1..];
        if self.decision == Decision::Allow {
            let Some(rest) = known.plainly(words, invocation) else { return Fit::No };
            let only =
                |only: &Vec<String>| !invocation.open && rest.iter().all(|arg| asks(only, arg));
            let with = |with: &Vec<String>| rest.iter().any(|arg| asks(with, arg));
            let fits = self.only.as_ref().is_none_or(only) && self.with.as_ref().is_none_or(with);
            return if fits { Fit::Yes } else { Fit::No };
        }
        known.anyhow(words, invocation, &|rest| match &self.with {
            Some(with) if carries(with, &self.values, rest) => Fit::Yes,
            Some(_) if invocation.open => Fit::Could,
            Some(_) => Fit::No,
            None => Fit::Yes,
        })
    }
}

/// Checks the tables of one file.
///
/// # Errors
/// What is wrong, naming the rule and, where it is one, the example.
pub(super) fn checked(tables: Vec<Table>, known: &Known) -> Result<Vec<Rule>, String> {
    let mut all: Vec<Rule> = Vec::new();
    for table in tables {
        let name = table.name.clone();
        let wrong = |why: String| format!("[[command]] name = {name:?}: {why}");
        let rule = Rule::of(table).map_err(wrong)?;
        if all.iter().any(|other| other.name == name) {
            return Err(wrong("another rule has this name".to_owned()));
        }
        rule.proven(known).map_err(wrong)?;
        all.push(rule);
    }
    Ok(all)
}

impl Rule {
    /// The rule of a table, its examples not yet tried.
    pub(super) fn of(table: Table) -> Result<Rule, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if table.name.is_empty() || !table.name.chars().all(plain) {
            return Err("a name has letters, digits, `-`, `_`, `.` and `+` only".to_owned());
        }
        if table.reason.trim().is_empty() {
            return Err("reason is empty; say why, and what to do instead".to_owned());
        }
        if table.r#match.is_empty() {
            return Err(
                "match is empty; write at least one command that the rule is about".to_owned()
            );
        }
        if table.only.is_some() && table.decision != Decision::Allow {
            return Err(
                "only stands in rules that allow; write with for what a rule asks about or denies"
                    .to_owned(),
            );
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
                "{glob:?} has brackets, which are no pattern here; only * and ? are"
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

    /// Tries the examples.
    pub(super) fn proven(&self, known: &Known) -> Result<(), String> {
        let fit = |example: &Vec<String>| self.fits(&Invocation::plain(example), known);
        if let Some(example) = self.matching.iter().find(|example| fit(example) != Fit::Yes) {
            return Err(format!("it does not match {:?}, which match lists", example.join(" ")));
        }
        if let Some(example) = self.not_matching.iter().find(|example| fit(example) != Fit::No) {
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

    /// An example: split at spaces, or exactly these arguments.
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
                f.write_str("a text or a list of texts")
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
