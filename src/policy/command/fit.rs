//! Whether the words of a rule stand at the head of an invocation, and what of it is left.
//!
//! A rule that allows is read plainly: an option before its words must be a known one. A rule that asks or denies is read in every way
//! that a program might: an unknown option may or may not take the next argument, a long option may be cut short, short ones may be
//! written together.

use std::collections::HashMap;

use serde::Deserialize;

/// One program with its arguments, found and named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// Every name it goes by, in lower case, without version or `.exe`.
    pub(super) names: Vec<String>,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// Whether further arguments may follow that cannot be seen.
    pub(super) open: bool,
}

/// How well a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Not at all.
    No,
    /// With arguments that cannot be seen.
    Could,
    /// As it is.
    Yes,
}

/// The options that some programs take before their subcommand.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<String, Options>);

/// One `[[options]]` of the built-in rules.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    program: Vec<String>,
    /// Those that take the next argument.
    #[serde(default)]
    values: Vec<String>,
    /// Those that stand alone; globs.
    #[serde(default)]
    alone: Vec<String>,
}

/// The most unknown options before a rule's words that are tried in both readings.
const MOST_UNKNOWN: usize = 6;

impl Invocation {
    /// A command as it is written, its program neither looked up nor unwrapped.
    pub(super) fn plain(argv: &[String]) -> Invocation {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        Invocation {
            names: names_of(program),
            args: argv.iter().skip(1).cloned().collect(),
            open: false,
        }
    }

    pub(super) fn is(&self, any: &[&str]) -> bool {
        self.names.iter().any(|name| any.contains(&name.as_str()))
    }
}

/// The names that a program goes by: in lower case, without `.exe`, with and without its version and the system it is for.
pub(super) fn names_of(program: &str) -> Vec<String> {
    if program.contains('/') && !program.starts_with('/') {
        return vec![program.to_owned()];
    }
    let base = program.rsplit('/').next().unwrap_or_default().to_lowercase();
    let base = [".exe", ".cmd", ".bat", ".com"]
        .iter()
        .find_map(|end| base.strip_suffix(end))
        .unwrap_or(&base);
    let mut names = vec![base.to_owned()];
    let unversioned =
        base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    let made_for = ["-gnu-", "-musl-", "-gnueabihf-"]
        .iter()
        .find_map(|made| Some(unversioned.split_once(made)?.1));
    let others = [Some(unversioned), made_for, Some(program).filter(|path| path.starts_with('/'))];
    names.extend(
        others
            .into_iter()
            .flatten()
            .filter(|name| !name.is_empty() && *name != base)
            .map(str::to_owned),
    );
    names.dedup();
    names
}

impl Known {
    pub(super) fn new(all: Vec<Options>) -> Known {
        let each = |options: Options| {
            options.program.clone().into_iter().map(move |name| (name, options.clone()))
        };
        Known(all.into_iter().flat_map(each).collect())
    }

    /// How many arguments from the front a known option takes; `None` if it is no known one.
    pub(super) fn taken(&self, invocation: &Invocation, arg: &str) -> Option<usize> {
        let options = invocation.names.iter().find_map(|name| self.0.get(name))?;
        if options.values.iter().any(|option| option == arg) {
            return Some(2);
        }
        let attached = |option: &&String| match option.strip_prefix("--") {
            Some(_) => arg.strip_prefix(option.as_str()).is_some_and(|rest| rest.starts_with('=')),
            None => arg.starts_with(option.as_str()),
        };
        let alone = |option: &String| alike(option, arg);
        (options.alone.iter().any(alone) || options.values.iter().find(attached).is_some())
            .then_some(1)
    }

    /// What is left after `words`, if only known options stand before them.
    pub(super) fn plainly<'a>(
        &self,
        words: &[Vec<String>],
        invocation: &'a Invocation,
    ) -> Option<&'a [String]> {
        let mut rest = invocation.args.as_slice();
        for word in words {
            while let Some(taken) = rest.first().and_then(|arg| self.taken(invocation, arg)) {
                rest = rest.get(taken..)?;
            }
            let (first, others) = rest.split_first()?;
            word.iter().any(|one| alike(one, first)).then_some(())?;
            rest = others;
        }
        Some(rest)
    }

    /// The best of what `judge` says of all that may be left after `words`, in every reading.
    pub(super) fn anyhow(
        &self,
        words: &[Vec<String>],
        invocation: &Invocation,
        judge: &dyn Fn(&[String]) -> Fit,
    ) -> Fit {
        self.reading(words, invocation, &invocation.args, Vec::new(), MOST_UNKNOWN, judge)
    }

    fn reading(
        &self,
        words: &[Vec<String>],
        invocation: &Invocation,
        args: &[String],
        mut passed: Vec<String>,
        unknown: usize,
        judge: &dyn Fn(&[String]) -> Fit,
    ) -> Fit {
        let Some((word, words_left)) = words.split_first() else {
            passed.extend_from_slice(args);
            return judge(&passed);
        };
        let Some((arg, args_left)) = args.split_first() else {
            return if invocation.open { Fit::Could } else { Fit::No };
        };
        if word.iter().any(|one| alike(one, arg) || is_cut_short(one, arg)) {
            return self.reading(words_left, invocation, args_left, passed, unknown, judge);
        }
        if !arg.starts_with(['-', '+']) || arg == "-" {
            return Fit::No;
        }
        passed.push(arg.clone());
        let skip = |taken: usize, unknown| {
            self.reading(
                words,
                invocation,
                args.get(taken..).unwrap_or_default(),
                passed.clone(),
                unknown,
                judge,
            )
        };
        match (self.taken(invocation, arg), unknown) {
            (Some(taken), _) => skip(taken, unknown),
            (None, _) if arg == "--" => skip(1, unknown),
            (None, 0) => Fit::Could,
            (None, _) => skip(1, unknown - 1).max(skip(2, unknown - 1)),
        }
    }
}

/// Whether `arg` is one of what a rule that allows lists: exactly, or with a value after `=`.
pub(super) fn asks(list: &[String], arg: &str) -> bool {
    let valued = |one: &String| {
        one.starts_with("--")
            && arg.strip_prefix(one.as_str()).is_some_and(|rest| rest.starts_with('='))
    };
    list.iter().any(|one| alike(one, arg) || valued(one))
}

/// Whether one of what a rule that asks or denies lists stands among `args`, in any way of writing it.
pub(super) fn carries(list: &[String], values: &[String], args: &[String]) -> bool {
    let mut options = true;
    let mut before: Option<&String> = None;
    for whole in args {
        let arg = whole;
        if options && before.is_some_and(|before| takes_next(values, before)) {
            before = None;
            continue;
        }
        let arg = &without_value(values, arg);
        let found = list.iter().any(|one| match one.as_str() {
            "--" => arg == "--",
            option if option.starts_with('-') && option.len() > 1 => options && stands(option, arg),
            glob => alike(glob, arg),
        });
        if found {
            return true;
        }
        // After an option, `--` may be its value.
        options &= arg != "--" || before.is_some_and(|before| before.starts_with('-'));
        before = Some(whole);
    }
    false
}

/// Whether the next argument is the value of the last option in `arg`.
fn takes_next(values: &[String], arg: &str) -> bool {
    let short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--");
    let ends =
        |one: &&String| short(one) && one.len() == 2 && short(arg) && arg.ends_with(&one[1..]);
    values.iter().any(|one| one == arg)
        || values.iter().find(ends).is_some() && without_value(values, arg) == arg
}

/// `arg` without the value that stands in it behind a short option.
fn without_value(values: &[String], arg: &str) -> String {
    let valued = |letter: char| values.iter().any(|one| one.len() == 2 && one.ends_with(letter));
    if values.is_empty() || !arg.starts_with('-') || arg.starts_with("--") {
        return arg.to_owned();
    }
    let end = arg.char_indices().skip(1).find(|(_, letter)| valued(*letter));
    end.map_or(arg, |(at, letter)| &arg[..at + letter.len_utf8()]).to_owned()
}

/// Whether `option` stands in `arg`: as it is, with a value, cut short, or together with others.
fn stands(option: &str, arg: &str) -> bool {
    if alike(option, arg) || is_cut_short(option, arg) {
        return true;
    }
    let letter = option.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
    match (letter, arg.strip_prefix('-')) {
        (Some(letter), Some(together)) if !together.starts_with('-') => {
            let letters: String =
                together.chars().take_while(char::is_ascii_alphanumeric).collect();
            letters.contains(letter)
        }
        // A long option with one dash.
        (None, Some(rest)) if !option.starts_with("--") => {
            let name = rest.trim_start_matches('-').split('=').next();
            name == option.strip_prefix('-')
        }
        _ => false,
    }
}

/// Whether `arg` is the long option `option`, perhaps cut short, perhaps with a value.
fn is_cut_short(option: &str, arg: &str) -> bool {
    let name = arg.split('=').next().unwrap_or_default();
    option.starts_with("--") && name.len() > 2 && option.starts_with(name)
}

/// Whether `text` is like `glob`, in which `*` stands for any text and `?` for one character.
pub(super) fn alike(glob: &str, text: &str) -> bool {
    if !glob.contains(['*', '?']) {
        return glob == text;
    }
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (g, t) = (g + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (g, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}
