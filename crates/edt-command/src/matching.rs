//! Whether an invocation begins with the words of a rule, and which arguments are left.
//!
//! A rule that allows is matched strictly: every option before its words must be known. A rule that
//! asks or denies is matched in every way that a program might parse its arguments: an unknown
//! option may or may not take the next argument, a long option may be abbreviated, short ones may
//! be combined.

use std::collections::HashMap;

use serde::Deserialize;

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    /// Every name of the program, in lower case, without version or `.exe`.
    pub(super) names: Vec<String>,
    pub(super) args: Vec<String>,
    /// Further arguments may follow that are unknown before it runs.
    pub(super) open_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchResult {
    No,
    /// With some of the arguments that are unknown before it runs.
    Maybe,
    Yes,
}

/// The options that programs take before their subcommand.
#[derive(Debug, Default)]
pub(super) struct OptionTable(HashMap<String, ProgramOptions>);

/// One `[[options]]` of the built-in rules.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramOptions {
    program: Vec<String>,
    /// Options that take the next argument.
    #[serde(default)]
    values: Vec<String>,
    /// Options without a value; globs.
    #[serde(default)]
    alone: Vec<String>,
}

/// How many unknown options are tried both with and without a value. More are not followed.
const MAX_UNKNOWN_OPTIONS: usize = 6;

impl Invocation {
    /// A command as it is written, without looking up or unwrapping its program.
    pub(super) fn unresolved(argv: &[String]) -> Invocation {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        Invocation {
            names: program_names(program),
            args: argv.iter().skip(1).cloned().collect(),
            open_ended: false,
        }
    }

    pub(super) fn is<T: AsRef<str>>(&self, any: &[T]) -> bool {
        self.names.iter().any(|name| any.iter().any(|one| one.as_ref() == name))
    }
}

/// The names of a program: in lower case, without `.exe`, with and without its version and target.
pub(super) fn program_names(program: &str) -> Vec<String> {
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

impl OptionTable {
    pub(super) fn new(all: Vec<ProgramOptions>) -> OptionTable {
        let each = |options: ProgramOptions| {
            options.program.clone().into_iter().map(move |name| (name, options.clone()))
        };
        OptionTable(all.into_iter().flat_map(each).collect())
    }

    /// How many arguments the option `arg` consumes, itself included; `None` if it is unknown.
    pub(super) fn args_taken(&self, invocation: &Invocation, arg: &str) -> Option<usize> {
        let options = invocation.names.iter().find_map(|name| self.0.get(name))?;
        if options.values.iter().any(|option| option == arg) {
            return Some(2);
        }
        let attached = |option: &&String| match option.strip_prefix("--") {
            Some(_) => arg.strip_prefix(option.as_str()).is_some_and(|rest| rest.starts_with('=')),
            None => arg.starts_with(option.as_str()),
        };
        let alone = |option: &String| glob_match(option, arg);
        (options.alone.iter().any(alone) || options.values.iter().find(attached).is_some())
            .then_some(1)
    }

    /// Whether an option of one letter takes a value; false if it is unknown.
    pub(super) fn takes_value(&self, invocation: &Invocation, letter: char) -> bool {
        let options = invocation.names.iter().find_map(|name| self.0.get(name));
        let is_it =
            |option: &String| option.strip_prefix('-').is_some_and(|one| one.chars().eq([letter]));
        options.is_some_and(|options| options.values.iter().any(is_it))
    }

    /// The arguments after `words`, if only known options precede them.
    pub(super) fn match_strictly<'a>(
        &self,
        words: &[Vec<String>],
        invocation: &'a Invocation,
    ) -> Option<&'a [String]> {
        let mut rest = invocation.args.as_slice();
        for word in words {
            while let Some(args_taken) =
                rest.first().and_then(|arg| self.args_taken(invocation, arg))
            {
                rest = rest.get(args_taken..)?;
            }
            let (first, others) = rest.split_first()?;
            word.iter().any(|one| glob_match(one, first)).then_some(())?;
            rest = others;
        }
        Some(rest)
    }

    /// The best result of `check_rest` for the arguments after `words`, over every way to parse
    /// them.
    pub(super) fn match_leniently(
        &self,
        words: &[Vec<String>],
        invocation: &Invocation,
        check_rest: &dyn Fn(&[String]) -> MatchResult,
    ) -> MatchResult {
        self.match_leniently_from(
            words,
            invocation,
            &invocation.args,
            Vec::new(),
            MAX_UNKNOWN_OPTIONS,
            check_rest,
        )
    }

    fn match_leniently_from(
        &self,
        words: &[Vec<String>],
        invocation: &Invocation,
        args: &[String],
        mut passed: Vec<String>,
        unknown: usize,
        check_rest: &dyn Fn(&[String]) -> MatchResult,
    ) -> MatchResult {
        let Some((word, words_left)) = words.split_first() else {
            passed.extend_from_slice(args);
            return check_rest(&passed);
        };
        let Some((arg, args_left)) = args.split_first() else {
            return if invocation.open_ended { MatchResult::Maybe } else { MatchResult::No };
        };
        if word.iter().any(|one| glob_match(one, arg) || is_abbreviation(one, arg)) {
            return self.match_leniently_from(
                words_left, invocation, args_left, passed, unknown, check_rest,
            );
        }
        if !arg.starts_with(['-', '+']) || arg == "-" {
            return MatchResult::No;
        }
        passed.push(arg.clone());
        let skip = |args_taken: usize, unknown| {
            self.match_leniently_from(
                words,
                invocation,
                args.get(args_taken..).unwrap_or_default(),
                passed.clone(),
                unknown,
                check_rest,
            )
        };
        match (self.args_taken(invocation, arg), unknown) {
            (Some(args_taken), _) => skip(args_taken, unknown),
            (None, _) if arg == "--" => skip(1, unknown),
            (None, 0) => MatchResult::Maybe,
            (None, _) => skip(1, unknown - 1).max(skip(2, unknown - 1)),
        }
    }
}

/// Whether the list of a rule that allows contains `arg`: exactly, or with a value after `=`.
pub(super) fn is_listed(list: &[String], arg: &str) -> bool {
    let valued = |one: &String| {
        one.starts_with("--")
            && arg.strip_prefix(one.as_str()).is_some_and(|rest| rest.starts_with('='))
    };
    list.iter().any(|one| glob_match(one, arg) || valued(one))
}

/// Whether an entry of the list of a rule that asks or denies occurs in `args`, in any spelling.
pub(super) fn contains_listed(list: &[String], values: &[String], args: &[String]) -> bool {
    let mut options = true;
    let mut before: Option<&String> = None;
    for arg in args {
        if options && before.is_some_and(|before| value_follows(values, before)) {
            before = None;
            continue;
        }
        let option = &without_value(values, arg);
        let found = list.iter().any(|one| match one.as_str() {
            "--" => option == "--",
            listed if listed.starts_with('-') && listed.len() > 1 => {
                options && option_occurs(listed, option)
            }
            glob => glob_match(glob, option),
        });
        if found {
            return true;
        }
        // After an option, `--` may be the value of that option.
        options &= option != "--" || before.is_some_and(|before| before.starts_with('-'));
        before = Some(arg);
    }
    false
}

/// Whether the next argument is the value of the last option in `arg`.
fn value_follows(values: &[String], arg: &str) -> bool {
    let short = |arg: &str| arg.starts_with('-') && !arg.starts_with("--");
    let ends =
        |one: &&String| short(one) && one.len() == 2 && short(arg) && arg.ends_with(&one[1..]);
    values.iter().any(|one| one == arg)
        || values.iter().find(ends).is_some() && without_value(values, arg) == arg
}

/// `arg` without the value attached to a short option.
fn without_value(values: &[String], arg: &str) -> String {
    let valued = |letter: char| values.iter().any(|one| one.len() == 2 && one.ends_with(letter));
    if values.is_empty() || !arg.starts_with('-') || arg.starts_with("--") {
        return arg.to_owned();
    }
    let end = arg.char_indices().skip(1).find(|(_, letter)| valued(*letter));
    end.map_or(arg, |(at, letter)| &arg[..at + letter.len_utf8()]).to_owned()
}

/// Whether `arg` contains `option`: as it is, with a value, abbreviated, or combined with others.
fn option_occurs(option: &str, arg: &str) -> bool {
    if glob_match(option, arg) || is_abbreviation(option, arg) {
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

/// Whether `arg` is the long option `option`, possibly abbreviated, possibly with a value.
fn is_abbreviation(option: &str, arg: &str) -> bool {
    let name = arg.split('=').next().unwrap_or_default();
    option.starts_with("--") && name.len() > 2 && option.starts_with(name)
}

/// Whether `text` matches `glob`, in which `*` matches any text and `?` one character.
pub(super) fn glob_match(glob: &str, text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(text: &str) -> Invocation {
        let argv: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Invocation::unresolved(&argv)
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn options() -> OptionTable {
        OptionTable::new(vec![ProgramOptions {
            program: words(&["git"]),
            values: words(&["-C", "--git-dir"]),
            alone: words(&["-P", "--no-*"]),
        }])
    }

    #[test]
    fn a_program_has_its_name_with_and_without_version_and_target() {
        assert_eq!(program_names("Python3.11"), ["python3.11", "python"]);
        assert_eq!(
            program_names("x86_64-linux-gnu-gcc-13"),
            ["x86_64-linux-gnu-gcc-13", "x86_64-linux-gnu-gcc", "gcc"]
        );
        assert_eq!(program_names("GIT.EXE"), ["git"]);
    }

    #[test]
    fn a_program_by_its_absolute_path_keeps_that_path_as_a_name() {
        assert_eq!(program_names("/usr/bin/gcc-13"), ["gcc-13", "gcc", "/usr/bin/gcc-13"]);
    }

    #[test]
    fn a_program_by_its_relative_path_has_only_that_name() {
        assert_eq!(program_names("bin/git"), ["bin/git"]);
    }

    #[test]
    fn known_options_before_the_subcommand_are_skipped() {
        let found = invocation("git -C x --git-dir=y --no-pager log -p");
        assert_eq!(options().match_strictly(&[words(&["log"])], &found), Some(&words(&["-p"])[..]));
    }

    #[test]
    fn an_unknown_option_before_the_subcommand_fails_a_strict_match() {
        assert_eq!(options().match_strictly(&[words(&["log"])], &invocation("git -z log")), None);
    }

    #[test]
    fn an_unknown_option_may_take_the_next_argument_in_a_lenient_match() {
        let push = [words(&["push"])];
        let yes = |_: &[String]| MatchResult::Yes;
        let matched = |text: &str| options().match_leniently(&push, &invocation(text), &yes);
        assert_eq!(matched("git -z push"), MatchResult::Yes);
        assert_eq!(matched("git -z x push"), MatchResult::Yes);
        assert_eq!(matched("git x push"), MatchResult::No);
    }

    #[test]
    fn more_unknown_options_than_are_followed_may_match() {
        let yes = |_: &[String]| MatchResult::Yes;
        let found = invocation("git -a -b -d -e -f -g -h log");
        assert_eq!(
            options().match_leniently(&[words(&["push"])], &found, &yes),
            MatchResult::Maybe
        );
    }

    #[test]
    fn missing_words_may_be_among_unknown_arguments() {
        let yes = |_: &[String]| MatchResult::Yes;
        let found = Invocation { open_ended: true, ..invocation("git") };
        assert_eq!(
            options().match_leniently(&[words(&["push"])], &found, &yes),
            MatchResult::Maybe
        );
    }

    #[test]
    fn a_listed_option_occurs_abbreviated_valued_and_combined() {
        let occurs = |list: &str, arg: &str| contains_listed(&words(&[list]), &[], &words(&[arg]));
        assert!(occurs("--force", "--forc"));
        assert!(occurs("--output", "--output=x"));
        assert!(occurs("-f", "-uf"));
        assert!(!occurs("-f", "-u"));
        assert!(!occurs("--force", "--for-all"));
    }

    #[test]
    fn a_value_of_an_option_is_not_read_as_an_option() {
        let listed =
            |args: &[&str]| contains_listed(&words(&["-n"]), &words(&["-m"]), &words(args));
        assert!(listed(&["-m", "x", "-n"]));
        assert!(!listed(&["-m", "-n"]));
        assert!(!listed(&["-mn"]));
        assert!(listed(&["-nm", "x"]));
    }

    #[test]
    fn after_two_dashes_nothing_is_an_option() {
        assert!(!contains_listed(&words(&["-f"]), &[], &words(&["--", "-f"])));
        assert!(contains_listed(&words(&["+*"]), &[], &words(&["--", "+main"])));
    }

    #[test]
    fn two_dashes_after_an_option_may_be_its_value() {
        assert!(contains_listed(&words(&["-f"]), &[], &words(&["-x", "--", "-f"])));
    }

    #[test]
    fn a_long_option_with_one_dash_occurs_with_two() {
        assert!(contains_listed(&words(&["-exec"]), &[], &words(&["--exec=sh"])));
    }

    #[test]
    fn the_list_of_an_allowing_rule_takes_no_abbreviation() {
        assert!(is_listed(&words(&["--sort"]), "--sort=x"));
        assert!(!is_listed(&words(&["--sort"]), "--sor"));
        assert!(is_listed(&words(&["-?"]), "-1"));
    }

    #[test]
    fn a_star_matches_any_text_and_a_question_mark_one_character() {
        assert!(glob_match("a*c*", "abbc"));
        assert!(!glob_match("a*c", "abcd"));
        assert!(glob_match("v?", "vé"));
        assert!(!glob_match("v?", "v"));
    }
}
