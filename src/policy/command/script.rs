//! What a shell runs: the commands of a script, and what it has built in that runs text or changes what follows.

use std::path::PathBuf;

use super::judge::{Call, Judge, Way, Word};
use super::wrapper::SHELLS;
use super::{Decision, found, pattern, shell as read_as};

/// Programs that only look, so that what cannot be seen among their arguments changes nothing.
const TAME: [&str; 30] = [
    "echo", "printf", "ls", "cat", "head", "tail", "wc", "test", "[", "[[", "grep", "egrep",
    "fgrep", "cut", "tr", "basename", "dirname", "realpath", "readlink", "stat", "du", "df",
    "diff", "cmp", "nl", "true", ":", "exit", "return", "sleep",
];
/// Programs that take a here-document as text.
const TEXT: [&str; 12] =
    ["cat", "tee", "grep", "wc", "head", "tail", "cut", "tr", "sort", "nl", "read", "jq"];
/// What evaluates subscripts, commands in them included.
const SUBSCRIPTS: [&str; 11] = [
    "test", "[", "[[", "unset", "declare", "typeset", "local", "readonly", "export", "wait", "let",
];
/// What sets variables by its words.
const DECLARES: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];
/// The most folders that a script is followed into.
const MOST_FOLDERS: usize = 64;

/// `sh -c`, `sh FILE`, `sh`, and what a shell has built in that runs text.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let (invocation, way) = (call.invocation, call.way);
    if invocation.is(&["eval"]) {
        judge_script(judge, &invocation.args.join(" "), "eval", way);
        return vec![Word::ask("shell", "eval runs text as a command. Give the command itself.")];
    }
    if invocation.is(&["source", "."])
        && invocation.args.len() == 1
        && invocation.args[0].ends_with("/bin/activate")
    {
        return vec![judge.script_file(&invocation.args[0], way)];
    }
    if invocation.is(&["trap"]) {
        invocation.args.iter().take(1).for_each(|text| judge_script(judge, text, "trap", way));
        return Vec::new();
    }
    if invocation.is(&["alias"]) {
        let texts = invocation.args.iter().filter_map(|arg| Some(arg.split_once('=')?.1));
        texts.for_each(|text| judge_script(judge, text, "alias", way));
        return Vec::new();
    }
    if invocation.is(&["make", "gmake"]) {
        return made(judge, call);
    }
    if invocation.is(&[
        "watch",
        "script",
        "parallel",
        "entr",
        "ssh",
        "fish",
        "pwsh",
        "powershell",
        "cmd",
    ]) {
        let text =
            invocation.args.iter().filter(|arg| !arg.starts_with('-')).cloned().collect::<Vec<_>>();
        judge.command(&text, &Way { by: invocation.names[0].clone(), open: true, ..way.clone() });
        return Vec::new();
    }
    if !invocation.is(&SHELLS) {
        return Vec::new();
    }
    let (mut at, mut command) = (0, false);
    while let Some(arg) = invocation.args.get(at).filter(|arg| arg.starts_with(['-', '+'])) {
        if arg == "-" && !command {
            break;
        }
        at += 1;
        if arg == "--" || arg == "-" {
            break;
        }
        if arg.starts_with("--") {
            if matches!(arg.as_str(), "--version" | "--help") {
                return vec![Word::new(Decision::Allow, "shell", "It tells of itself.")];
            }
            if !matches!(
                arg.as_str(),
                "--norc" | "--noprofile" | "--login" | "--posix" | "--verbose" | "--noediting"
            ) {
                return vec![Word::ask(
                    "shell",
                    format!("{arg} is an option of a shell that edt does not read."),
                )];
            }
            continue;
        }
        for letter in arg.chars().skip(1) {
            match letter {
                'c' => command = true,
                'o' | 'O' => at += 1,
                'l' | 'e' | 'u' | 'x' | 'f' | 'v' | 'n' | 'h' | 'm' | 'a' | 'b' | 'C' | 'E'
                | 'T' | 'B' | 'p' => {}
                _ => {
                    return vec![Word::ask(
                        "shell",
                        format!("{arg} is an option of a shell that edt does not read."),
                    )];
                }
            }
        }
    }
    match (invocation.args.get(at), command) {
        (Some(text), true) => {
            let by = format!("{} -c", invocation.names[0]);
            if call.way.open && text.contains('$') {
                judge.note(
                    way,
                    std::slice::from_ref(text),
                    Word::ask("shell", "It runs text that cannot be seen."),
                );
            }
            judge_script(judge, text, &by, &Way { open: false, ..way.clone() });
            vec![Word::new(
                Decision::Allow,
                "shell",
                "It runs a script, whose commands are judged.",
            )]
        }
        (Some(file), false) if file != "-" => vec![judge.script_file(file, way)],
        _ => vec![Word::ask(
            "shell",
            "It would read commands that cannot be seen. Give them as a program with arguments.",
        )],
    }
}

/// What `make` is told to run: `x!=text` and `x=$(shell text)`.
fn made(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    for arg in &call.invocation.args {
        if let Some((_, text)) = arg.split_once("!=") {
            judge_script(judge, text, "make", call.way);
        } else if let Some((_, value)) = arg.split_once('=').filter(|_| !arg.starts_with('-'))
            && value.contains(['$', '`', ' '])
        {
            judge_script(judge, &value.replace("$(shell ", "$("), "make", call.way);
        }
    }
    Vec::new()
}

/// Judges the commands of a script.
fn judge_script(judge: &mut Judge<'_>, text: &str, by: &str, way: &Way) {
    let read = read_as::read(text);
    let mut way = Way { by: by.to_owned(), ..way.clone() };
    let doubted = |judge: &mut Judge<'_>, way: &Way, doubt: &str| {
        let reason = format!(
            "What the script runs cannot be seen before it runs: {doubt}. Run each command by itself."
        );
        judge.note(way, &[text.to_owned()], Word::ask("script", reason));
    };
    for doubt in &read.doubts {
        doubted(judge, &way, doubt);
    }
    for simple in read.commands {
        for file in &simple.writes {
            for file in several(judge, file, &way) {
                judge.writes(&file, &way);
            }
        }
        let mut words = simple.words.as_slice();
        let mut variables: Vec<(String, String)> =
            simple.sets.into_iter().map(|name| (name, String::new())).collect();
        while let Some((name, value)) = words.first().and_then(|word| assignment(&word.text)) {
            if words[0].hidden {
                doubted(judge, &way, "a variable holds a substitution");
                judge_within(judge, &value, &way);
            }
            variables.push((name, value));
            words = &words[1..];
        }
        let bare = words.is_empty();
        let first = words.first().map_or("", |word| word.text.as_str());
        if DECLARES.contains(&first) {
            variables.extend(words.iter().filter_map(|word| assignment(&word.text)));
        }
        if first == "read" {
            let names = words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
            variables.extend(names.map(|word| (word.text.clone(), String::new())));
        }
        // A variable of the script's own, in small letters, reaches no program.
        variables.retain(|(name, _)| !(bare || first == "read") || !is_own(name));
        judge.environment(by, &variables);
        if bare {
            continue;
        }
        if SUBSCRIPTS.contains(&first) && words.iter().any(|word| word.hidden) {
            doubted(judge, &way, "a subscript may hold a substitution");
            words
                .iter()
                .filter(|word| word.hidden)
                .for_each(|word| judge_within(judge, &word.text, &way));
        }
        if words.iter().any(|word| word.unknown) && (!TAME.contains(&first) || words[0].unknown) {
            doubted(judge, &way, "it has an expansion");
        }
        if let Some(input) = &simple.input {
            if SHELLS.contains(&first) {
                judge_script(judge, input, first, &way);
            }
            if !TEXT.contains(&first) {
                doubted(judge, &way, "a here-document is given to a program");
            }
        }
        let argv: Vec<String> = words.iter().flat_map(|word| several(judge, word, &way)).collect();
        judge.command(&argv, &way);
        moved(judge, &argv, &mut way);
    }
}

/// The words that take the place of one: names of files, all of what braces make.
fn several(judge: &Judge<'_>, word: &read_as::Word, way: &Way) -> Vec<String> {
    let words = if word.braces { pattern::braces(&word.text) } else { vec![word.text.clone()] };
    if !word.pattern {
        return words;
    }
    let names = |word: String| {
        let mut names: Vec<String> = Vec::new();
        for dir in &way.dirs {
            // A home and the like stand first: what is computed is put in.
            let begins = word.starts_with(['~', '$', '`']);
            let from = if begins {
                judge.placed_at(&word, dir).to_string_lossy().into_owned()
            } else {
                word.clone()
            };
            names.extend(pattern::expanded(&from, dir, judge.programs));
        }
        names.sort_unstable();
        names.dedup();
        // In a folder where nothing is like it, it stands for itself.
        names.insert(0, word);
        names
    };
    words.into_iter().flat_map(names).collect()
}

/// Follows `cd`. Whether it went well cannot be seen: what follows runs here or there.
fn moved(judge: &mut Judge<'_>, argv: &[String], way: &mut Way) {
    let leads =
        |arg: &&String| matches!(arg.as_str(), "builtin" | "command" | "time" | "-p" | "--" | "!");
    let argv = &argv[argv.iter().take_while(leads).count()..];
    if !argv.first().is_some_and(|first| first == "cd" || first == "pushd") {
        return;
    }
    let mut to: Vec<String> =
        argv.iter().skip(1).filter(|arg| !arg.starts_with('-')).cloned().collect();
    if to.is_empty() {
        to.push("~".to_owned());
    }
    let there: Vec<PathBuf> = way
        .dirs
        .iter()
        .flat_map(|dir| to.iter().map(|to| found::plain(&judge.placed_at(to, dir))))
        .collect();
    for dir in there {
        if way.dirs.len() >= MOST_FOLDERS {
            let reason = format!("It goes through more than {MOST_FOLDERS} folders.");
            return judge.note(way, argv, Word::ask("script", reason));
        }
        if !way.dirs.contains(&dir) {
            way.dirs.push(dir);
        }
    }
}

/// Judges the substitutions in a text that was quoted.
fn judge_within(judge: &mut Judge<'_>, text: &str, way: &Way) {
    for simple in read_as::read(&format!("echo \"{}\"", text.replace(['"', '\\'], " "))).commands {
        let argv: Vec<String> = simple.words.into_iter().map(|word| word.text).collect();
        judge.command(&argv, way);
    }
}

/// Whether a variable is a script's own: no program and no shell looks at its name.
fn is_own(name: &str) -> bool {
    let special = [
        "path",
        "cdpath",
        "fpath",
        "manpath",
        "mailpath",
        "module_path",
        "fignore",
        "watch",
        "prompt",
    ];
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain)
        && !special.contains(&name)
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_")
        && !name.starts_with("git_")
}

/// `NAME=value`, `NAME+=value`, `NAME[i]=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (plain && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| (name.to_owned(), value.to_owned()))
}

impl Judge<'_> {
    /// Judges what a program of its own language gives to a shell.
    pub(super) fn script(&mut self, text: &str, by: &str, way: &Way) {
        judge_script(self, text, by, way);
    }
}
