//! `find` and `fd`: they look for files, and can remove them, write others and run programs.

use super::Decision;
use super::judge::{Call, Judge, Way, Word};
use super::pattern::like;

/// Tests over names.
const BY_NAME: [&str; 7] =
    ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"];
/// What changes what is found.
const ACTIONS: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fls", "-fprintf"];
/// Names that stand in a Git folder, in lower case.
const GIT_FILES: [&str; 26] = [
    ".git",
    "head",
    "config",
    "config.worktree",
    "index",
    "description",
    "packed-refs",
    "orig_head",
    "fetch_head",
    "merge_head",
    "commit_editmsg",
    "objects",
    "refs/heads/main",
    "refs",
    "heads",
    "tags",
    "main",
    "master",
    "logs",
    "hooks",
    "hooks/pre-commit.sample",
    "pre-commit",
    "pre-commit.sample",
    "exclude",
    "pack-0123456789abcdef0123456789abcdef01234567.pack",
    "pack-0123456789abcdef0123456789abcdef01234567.idx",
];

/// `find` and `fd`: what they remove, write and run.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let (args, way) = (&call.invocation.args, call.way);
    if call.invocation.is(&["fd", "fdfind"]) {
        return fd(judge, call);
    }
    if !call.invocation.is(&["find", "gfind"]) {
        return Vec::new();
    }
    let mut words = vec![Word::new(Decision::Allow, "find", "It looks for files.")];
    if way.open {
        words.push(Word::ask(
            "find",
            "It gets arguments that cannot be seen; with some, find removes files and runs programs.",
        ));
    }
    let mut first = 0;
    while let Some(option) = args.get(first) {
        first += match option.as_str() {
            "-D" => 2,
            "-H" | "-L" | "-P" => 1,
            level if level.starts_with("-O") => 1,
            _ => break,
        };
    }
    let first = first.min(args.len());
    let expression = |arg: &String| arg.starts_with(['-', '(', ')', '!', ',']);
    let begins = args.iter().skip(first).position(expression).map_or(args.len(), |at| at + first);
    let mut starts = args[first..begins].to_vec();
    if starts.is_empty() {
        starts.push(".".to_owned());
    }
    let tests = &args[begins..];
    let follows =
        args[..first].iter().any(|arg| arg == "-L") || tests.iter().any(|test| test == "-follow");
    let mut at = 0;
    while let Some(arg) = tests.get(at) {
        // It does what stands there to what came through the tests before it.
        let narrowed = Reach::of(&tests[..at]).narrowed();
        if follows && ACTIONS.contains(&arg.as_str()) {
            words.push(Word::ask(
                "find",
                "It follows links to wherever they lead. Leave -L and -follow out.",
            ));
        }
        at += 1;
        match arg.as_str() {
            "-delete" => words.extend(judge.deletion(&starts, narrowed, way)),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let ends = |end: &usize| {
                    tests[*end] == ";" || tests[*end] == "+" && tests[*end - 1] == "{}"
                };
                let ended = (at..tests.len()).find(ends);
                if ended.is_none() {
                    words.push(Word::ask(
                        "find",
                        "The end of the command that it runs cannot be seen.",
                    ));
                }
                let end = ended.unwrap_or(tests.len());
                for start in &starts {
                    let stands = if narrowed { format!("{start}/found") } else { start.clone() };
                    let argv: Vec<String> =
                        tests[at..end].iter().map(|arg| arg.replace("{}", &stands)).collect();
                    judge.command(&argv, &Way { by: format!("find {arg}"), ..way.clone() });
                }
                at = end;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                words.extend(judge.writing(tests.get(at..=at).unwrap_or_default(), way));
                at += 1;
            }
            "-files0-from" => {
                words.push(Word::ask("find", "Where it begins to look cannot be seen."))
            }
            _ => {}
        }
    }
    words
}

/// What tests of `find` let through, at most.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// Nearly all that there is.
    everything: bool,
    /// Files of a Git folder.
    git: bool,
}

impl Reach {
    const ALL: Reach = Reach { everything: true, git: true };

    /// What reaches an action behind `tests`.
    fn of(tests: &[String]) -> Reach {
        let mut at = 0;
        let deep = tests.windows(2).any(|two| two[0] == "-maxdepth" && two[1] == "1");
        Reach::alternatives(tests, &mut at, deep, false)
    }

    fn narrowed(self) -> bool {
        !self.everything && !self.git
    }

    /// Alternatives up to the end, of which only the last leads on, or up to a parenthesis, of which all do.
    fn alternatives(tests: &[String], at: &mut usize, shallow: bool, within: bool) -> Reach {
        let (mut any, mut now) = (None::<Reach>, Reach::ALL);
        let (mut not, mut pruned, mut named_git) = (false, false, false);
        while let Some(test) = tests.get(*at) {
            *at += 1;
            let one = match test.as_str() {
                ")" if within => break,
                "-o" | "-or" | "," => {
                    let before = any.unwrap_or(now);
                    any = Some(Reach {
                        everything: before.everything || now.everything,
                        git: before.git || now.git,
                    });
                    now = Reach { git: !pruned, ..Reach::ALL };
                    (not, named_git) = (false, false);
                    continue;
                }
                "!" | "-not" => {
                    not = !not;
                    continue;
                }
                "(" => {
                    let inner = Reach::alternatives(tests, at, shallow, true);
                    named_git =
                        tests.iter().take(*at).any(|test| is_git(test)) && !inner.everything;
                    if not { Reach { git: !named_git, ..Reach::ALL } } else { inner }
                }
                "-prune" => {
                    pruned |= named_git;
                    Reach::ALL
                }
                name if BY_NAME.contains(&name) => {
                    let pattern = tests.get(*at).map(String::as_str).unwrap_or_default();
                    *at += 1;
                    named_git |= is_git(pattern) && !not;
                    if not {
                        Reach { git: !is_git(pattern), ..Reach::ALL }
                    } else {
                        Reach::by(name, pattern, shallow)
                    }
                }
                _ => Reach::ALL,
            };
            not = false;
            now = Reach { everything: now.everything && one.everything, git: now.git && one.git };
        }
        match any {
            Some(before) if within => Reach {
                everything: before.everything || now.everything,
                git: before.git || now.git,
            },
            _ => now,
        }
    }

    /// What a test by name lets through.
    fn by(test: &str, pattern: &str, shallow: bool) -> Reach {
        let (mut plain, mut bracket) = (String::new(), false);
        for c in pattern.chars() {
            bracket = (bracket || c == '[') && c != ']';
            if !bracket {
                plain.push(c);
            }
        }
        let everything = !plain.contains(char::is_alphanumeric);
        let pattern = pattern.to_lowercase();
        let git = match test {
            "-name" | "-iname" if shallow => like(&pattern, ".git"),
            "-name" | "-iname" => GIT_FILES.iter().any(|file| like(&pattern, file)),
            "-regex" | "-iregex" => {
                let end = pattern
                    .rsplit_once("\\.")
                    .map(|(_, end)| end.trim_end_matches(['$', ')', '\\']));
                !end.is_some_and(|end| end.len() > 1 && end.chars().all(char::is_alphanumeric))
            }
            _ => {
                GIT_FILES.iter().any(|file| like(&pattern, &format!("./.git/{file}")))
                    || like(&pattern, "./.git")
            }
        };
        Reach { everything, git }
    }
}

/// Whether a pattern names the Git folder, so that what is like it can be left out.
fn is_git(pattern: &str) -> bool {
    matches!(
        pattern
            .trim_start_matches("./")
            .trim_start_matches("*/")
            .trim_end_matches('*')
            .trim_end_matches('/'),
        ".git"
    )
}

fn fd(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let args = &call.invocation.args;
    let runs = ["-x", "-X", "--exec", "--exec-batch"];
    let list: Vec<String> = runs.iter().map(ToString::to_string).collect();
    let mut words = vec![Word::new(Decision::Allow, "find", "It looks for files.")];
    if let Some(at) = args.iter().position(|arg| runs.contains(&arg.as_str())) {
        let end = args
            .iter()
            .skip(at + 1)
            .position(|arg| arg == ";")
            .map_or(args.len(), |end| end + at + 1);
        judge.command(
            &args[at + 1..end],
            &Way { by: "fd --exec".to_owned(), open: true, ..call.way.clone() },
        );
    } else if super::fit::carries(&list, &[], args) || call.way.open {
        words.push(Word::ask("find", "It may run a command for each file that cannot be seen."));
    }
    words
}
