//! `find` and `fd`: they look for files, and can remove them, write others and run programs.

use super::Decision;
use super::judge::{Call, Judge, Way, Word};

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
    let narrowed = narrowed(tests);
    let mut at = 0;
    while let Some(arg) = tests.get(at) {
        at += 1;
        match arg.as_str() {
            "-delete" => words.extend(judge.deletion(&starts, narrowed, way)),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let ends = |end: &usize| tests[*end] == ";" || tests[*end] == "+" && tests[*end - 1] == "{}";
                let ended = (at..tests.len()).find(ends);
                if ended.is_none() {
                    words.push(Word::ask("find", "The end of the command that it runs cannot be seen."));
                }
                let end = ended.unwrap_or(tests.len());
                for start in &starts {
                    let stands = if narrowed { format!("{start}/found") } else { start.clone() };
                    let argv: Vec<String> = tests[at..end].iter().map(|arg| arg.replace("{}", &stands)).collect();
                    judge.command(&argv, &Way { by: format!("find {arg}"), ..way.clone() });
                }
                at = end;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                words.extend(judge.writing(tests.get(at..=at).unwrap_or_default(), way));
                at += 1;
            }
            "-files0-from" => words.push(Word::ask("find", "Where it begins to look cannot be seen.")),
            _ => {}
        }
    }
    words
}

/// Whether a test of `find` leaves out most of what there is.
fn narrowed(tests: &[String]) -> bool {
    let by_name = ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"];
    let widens = tests.iter().any(|test| matches!(test.as_str(), "-o" | "-or" | "!" | "-not" | ","));
    let git = tests.iter().any(|test| test.to_lowercase().contains(".git"));
    let named =
        tests.windows(2).any(|two| by_name.contains(&two[0].as_str()) && two[1].contains(char::is_alphanumeric));
    named && !widens && !git
}

fn fd(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let args = &call.invocation.args;
    let runs = ["-x", "-X", "--exec", "--exec-batch"];
    let list: Vec<String> = runs.iter().map(ToString::to_string).collect();
    let mut words = vec![Word::new(Decision::Allow, "find", "It looks for files.")];
    if let Some(at) = args.iter().position(|arg| runs.contains(&arg.as_str())) {
        let end = args.iter().skip(at + 1).position(|arg| arg == ";").map_or(args.len(), |end| end + at + 1);
        judge.command(&args[at + 1..end], &Way { by: "fd --exec".to_owned(), open: true, ..call.way.clone() });
    } else if super::fit::carries(&list, args) || call.way.open {
        words.push(Word::ask("find", "It may run a command for each file that cannot be seen."));
    }
    words
}
