//! Shells and interpreters. A script in the worktree is code of the worktree. Code that is given as
//! text is evaluated if it is of a shell, else searched for what is suspicious.

use std::path::Path;

use super::builtin::{self, Interpreter};
use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::flow::evaluate_script;
use super::shell::SHELLS;
use super::shell_ast::{is_open, is_unknown, unmarked};
use super::{Decision, path_arguments, sed};

/// What the options of an interpreter say.
#[derive(Default)]
struct Options {
    /// Code in arguments.
    codes: Vec<String>,
    /// The first operand is code.
    first_is_code: bool,
    /// It changes the files in its arguments.
    in_place: bool,
    /// How it names the copies of those files.
    suffix: String,
    /// The name of a module, and where its arguments begin.
    module: Option<(String, usize)>,
    /// Where the operands begin.
    operands: usize,
}

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let (args, context) = (&command.invocation.args, command.context);
    let Some(one) = builtin::interpreters().iter().find(|one| command.invocation.is(&one.names))
    else {
        return Vec::new();
    };
    let is_shell = command.invocation.is(&SHELLS);
    let name = if is_shell { command.invocation.names[0].as_str() } else { one.names[0].as_str() };
    let rule = if is_shell { "shell" } else { "interpreter" };
    if args.len() == 1 && one.informational.contains(&args[0]) && !context.open_ended {
        let reason = format!("{name} prints its version or help.");
        return vec![RuleMatch::new(Decision::Allow, rule, reason)];
    }
    // Rules cover the other subcommands of `coverage`.
    let begins = usize::from(name == "coverage");
    if name == "coverage" && args.first().is_none_or(|word| word != "run") {
        return Vec::new();
    }
    let mut options = match read_options(one, args, begins, is_shell) {
        Ok(options) => options,
        Err(option) if is_shell => {
            if let Some(input) = &context.input {
                evaluator.keep_denials(|evaluator| {
                    evaluate_script(evaluator, input, name, context);
                });
            }
            let reason = format!("{option} is a shell option that edt does not know.");
            return vec![RuleMatch::ask(rule, reason)];
        }
        Err(option) if one.first_is_code => {
            let reason = format!("{option} is an option of {name} that edt does not know.");
            return vec![RuleMatch::ask(name, reason)];
        }
        Err(option) => {
            let reason = format!(
                "{name} {option} runs code that edt cannot analyze, or changes what runs. Write \
                 the code to a file in the worktree (`edt apply FILE --mode create`) and run that \
                 file."
            );
            return vec![RuleMatch::ask("inline-code", reason)];
        }
    };
    if let Some((module, rest)) = options.module.take() {
        let rest = args.get(rest..).unwrap_or_default().iter().cloned();
        let argv: Vec<String> = std::iter::once(module).chain(rest).collect();
        let by = format!("{name} -m");
        evaluator.command(&argv, &CommandContext { by, ..context.clone() });
        let reason = format!("{name} runs a module, which is evaluated by its name.");
        return vec![RuleMatch::new(Decision::Allow, rule, reason)];
    }
    let rest = args.get(options.operands..).unwrap_or_default();
    if is_shell {
        return shell(evaluator, command, name, &options, rest);
    }
    if one.first_is_code {
        return text_program(evaluator, command, name, options, rest);
    }
    if !options.codes.is_empty() {
        return inline(evaluator, command, name, &options, rest);
    }
    match (rest.first().filter(|file| *file != "-"), &context.input) {
        (Some(_), _) if name == "java" => {
            let mut rule_matches = path_arguments::evaluate_paths(evaluator, command);
            rule_matches.push(evaluator.worktree_code("worktree-script", "The program of java"));
            rule_matches
        }
        (Some(file), _) => {
            let mut rule_matches = vec![evaluator.script_file(file, context)];
            rule_matches.extend(options.changes(evaluator, &rest[1..], context));
            rule_matches
        }
        (None, _) if name == "node" && args.iter().any(|arg| arg == "--test") => {
            vec![evaluator.worktree_code("worktree-script", "The test code of node --test")]
        }
        (None, Some(code)) if !context.open_ended => {
            vec![evaluator.inline_code(name, code, context)]
        }
        _ => vec![RuleMatch::ask(
            "inline-code",
            format!(
                "{name} would read code that edt cannot see. Write the code to a file in the \
                 worktree and run that file."
            ),
        )],
    }
}

/// `sh -c TEXT`, `sh FILE`, `sh` with a here-document.
fn shell(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
    name: &str,
    options: &Options,
    rest: &[String],
) -> Vec<RuleMatch> {
    let context = command.context;
    let first = rest.first();
    let (text, by) = match (first, &context.input) {
        (Some(text), _) if options.first_is_code => (text, format!("{name} -c")),
        (Some(file), _) if file != "-" => return vec![evaluator.script_file(file, context)],
        (None, Some(input)) if !context.open_ended => (input, name.to_owned()),
        _ => {
            return vec![RuleMatch::ask(
                "shell",
                "It would read commands that edt cannot see. Give them as a program with \
                 arguments.",
            )];
        }
    };
    if command.invocation.open_ended && text.contains('$') {
        let reason = "It runs text that is unknown before it runs.";
        let rule_match = RuleMatch::ask("shell", reason);
        evaluator.record_step(context, std::slice::from_ref(text), rule_match);
    }
    evaluate_script(evaluator, text, &by, &CommandContext { open_ended: false, ..context.clone() });
    let reason = "It runs a script, whose commands are evaluated.";
    vec![RuleMatch::new(Decision::Allow, "shell", reason)]
}

/// `sed` and `awk`: the program is an argument, and the others are files.
fn text_program(
    evaluator: &Evaluator<'_>,
    command: &CommandInContext<'_>,
    name: &str,
    mut options: Options,
    rest: &[String],
) -> Vec<RuleMatch> {
    let (mut codes, mut files) = (std::mem::take(&mut options.codes), rest.to_vec());
    // `sed -i ''` of BSD.
    files.retain(|file| !(options.in_place && file.is_empty()));
    if codes.is_empty() && !files.is_empty() {
        codes.push(files.remove(0));
    }
    let is_plain = if name == "sed" { sed::sed_is_plain } else { sed::awk_is_plain };
    let before = &command.invocation.args[..options.operands.min(command.invocation.args.len())];
    let is_open = name == "sed" && command.invocation.open_ended
        || codes.is_empty()
        || before.iter().any(|arg| is_open(arg));
    if let Some(odd) = codes.iter().find(|code| is_unknown(code) || !is_plain(code)) {
        let reason = format!(
            "The program {:?} may run others or write files. Use `edt apply` to change a file.",
            unmarked(odd)
        );
        // Any string in the program may be the file that it writes.
        let texts: Vec<String> = odd.split('"').skip(1).map(str::to_owned).collect();
        let written = evaluator.writing(&texts, command.context).into_iter();
        let git = written.filter(|rule_match| rule_match.rule == "write-git");
        return std::iter::once(RuleMatch::ask(name, reason)).chain(git).collect();
    }
    if is_open {
        let reason = "Its program or its options are unknown before it runs.";
        return vec![RuleMatch::ask(name, reason)];
    }
    let mut rule_matches =
        vec![RuleMatch::new(Decision::Allow, name, "It prints and replaces text.")];
    let late = name == "sed" && files.iter().any(|file| file.starts_with('-') && file.len() > 1);
    if late {
        let reason = "It has options after its program. Write them first.";
        rule_matches.push(RuleMatch::ask(name, reason));
    }
    options.in_place |= late;
    rule_matches.extend(options.changes(evaluator, &files, command.context));
    rule_matches
}

/// Code in arguments.
fn inline(
    evaluator: &Evaluator<'_>,
    command: &CommandInContext<'_>,
    name: &str,
    options: &Options,
    rest: &[String],
) -> Vec<RuleMatch> {
    let code = options.codes.join("\n");
    let mut rule_matches = vec![evaluator.inline_code(name, &code, command.context)];
    let opens = |file: &String| file.contains('|') || file.starts_with(['<', '>']);
    if name == "perl" && rest.iter().any(opens) {
        let reason = "Perl runs a command whose text is given as a file name.";
        rule_matches.push(RuleMatch::ask("inline-code", reason));
    }
    rule_matches.extend(options.changes(evaluator, rest, command.context));
    rule_matches
}

impl Options {
    /// The changes of `files` in place, and the copies of them.
    fn changes(
        &self,
        evaluator: &Evaluator<'_>,
        files: &[String],
        context: &CommandContext,
    ) -> Vec<RuleMatch> {
        if !self.in_place {
            return Vec::new();
        }
        let mut rule_matches = evaluator.in_place_change(files, context);
        if self.suffix.contains(['/', '*']) || is_unknown(&self.suffix) {
            let reason = format!(
                "The suffix {} may name a copy elsewhere. Use one as `.bak`, or none.",
                self.suffix
            );
            rule_matches.push(RuleMatch::ask("write-outside", reason));
        }
        rule_matches
    }
}

/// Reads the options before the operands.
///
/// # Errors
/// An option that is not known.
fn read_options<'a>(
    one: &Interpreter,
    args: &'a [String],
    begins: usize,
    is_shell: bool,
) -> Result<Options, &'a str> {
    let has = |list: &[String], option: &str| list.iter().any(|one| one == option);
    let mut options = Options { operands: begins, ..Options::default() };
    let begins_option = |arg: &&String| arg.starts_with('-') || is_shell && arg.starts_with('+');
    while let Some(arg) = args.get(options.operands).filter(begins_option) {
        if arg == "-" && !options.first_is_code {
            break;
        }
        options.operands += 1;
        let next = args.get(options.operands).cloned().unwrap_or_default();
        if arg == "--" || arg == "-" {
            break;
        } else if has(&one.code, arg) && !is_shell {
            options.codes.push(next);
            options.operands += 1;
        } else if has(&one.values, arg) {
            options.operands += 1;
        } else if has(&one.suffix, arg) {
            options.in_place = true;
        } else if has(&one.flags, arg) {
        } else if arg.starts_with("--") {
            let (option, value) = arg.split_once('=').ok_or(arg.as_str())?;
            if has(&one.code, option) {
                options.codes.push(value.to_owned());
            } else if has(&one.suffix, option) {
                options.in_place = true;
                value.clone_into(&mut options.suffix);
            } else if !has(&one.values, option) {
                return Err(arg);
            }
        } else {
            read_letters(one, arg, &next, is_shell, &mut options)?;
        }
        // The rest are arguments of the code or the module.
        if options.module.is_some() || one.names[0] == "python" && !options.codes.is_empty() {
            break;
        }
    }
    Ok(options)
}

/// Reads options of one letter, of which the last may have a value: `-lc`, `-pi.bak`, `-mpytest`.
fn read_letters<'a>(
    one: &Interpreter,
    arg: &'a str,
    next: &str,
    is_shell: bool,
    options: &mut Options,
) -> Result<(), &'a str> {
    for (at, letter) in arg.char_indices().skip(1) {
        let option = format!("-{letter}");
        let attached = &arg[at + letter.len_utf8()..];
        let value = || if attached.is_empty() { next.to_owned() } else { attached.to_owned() };
        let taken = usize::from(attached.is_empty());
        if one.code.contains(&option) && is_shell {
            options.first_is_code = true;
        } else if one.code.contains(&option) {
            options.codes.push(value());
            options.operands += taken;
            return Ok(());
        } else if one.module.contains(&option) {
            options.module = Some((value(), options.operands + taken));
            return Ok(());
        } else if one.values.contains(&option) {
            options.operands += taken;
            if !is_shell {
                return Ok(());
            }
        } else if one.suffix.contains(&option) && (attached.is_empty() || attached.starts_with('.'))
        {
            options.in_place = true;
            attached.clone_into(&mut options.suffix);
            return Ok(());
        } else if !one.letters.contains(letter) {
            return Err(arg);
        }
    }
    Ok(())
}

impl Evaluator<'_> {
    /// The decision on a script file.
    pub(super) fn script_file(&self, file: &str, context: &CommandContext) -> RuleMatch {
        let within = |dir: &Path| {
            let path = dir.join(file);
            self.host.real_path(&path).is_some_and(|real| self.is_in_worktree(&real))
        };
        if !file.starts_with('~') && context.dirs.iter().all(|dir| within(dir)) {
            return self.worktree_code("worktree-script", file);
        }
        RuleMatch::ask(
            "script-elsewhere",
            format!("{file} is not a file in the worktree, so its code is not known."),
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{Machine, argv, steps, verdict};

    #[test]
    fn a_script_of_the_worktree_is_its_code() {
        assert_eq!(
            verdict(&argv("python3 -u tools/check.py x")),
            "allow by worktree-script: tools/check.py is code of the worktree; the sandbox confines it."
        );
    }

    #[test]
    fn inline_code_is_allowed_as_the_same_code_in_a_file_is() {
        let allowed = "allow by inline-code: The code on the command line is code of the worktree; \
                       the sandbox confines it.";
        assert_eq!(verdict(&["python3", "-c", "print(1)"]), allowed);
        assert_eq!(verdict(&["node", "--print", "1"]), allowed);
        assert_eq!(verdict(&["perl", "-pi.bak", "-e", "s/a/b/", "README.md"]), allowed);
        let machine = Machine { level: edt_types::Level::Permissive, ..Machine::with(&[]) };
        assert_eq!(machine.evaluate(&["python3", "-c", "1"], &[]).decision, crate::Decision::Ask);
    }

    #[test]
    fn inline_code_that_may_do_more_than_compute_is_asked_about() {
        assert_eq!(
            verdict(&["python3", "-c", "import os; os.system('id')"]),
            "ask by inline-code: The code on the command line has \"system\", which may do more \
             than compute. Write the code to a file in the worktree (`edt apply FILE --mode \
             create`) and run that file."
        );
        assert_eq!(
            verdict(&["python3", "-c", "open('/srv/x', 'w')"]),
            "ask by inline-code: The code may write outside the worktree. Write the code to a file \
             in the worktree (`edt apply FILE --mode create`) and run that file."
        );
        assert!(verdict(&["perl", "-pi", "-e", "s/a/b/", ".git/config"]).starts_with("deny"));
        let there = |code: &str| format!("cd /srv && python3 -c \"{code}\"");
        assert!(verdict(&["sh", "-c", &there("open('x', 'w')")]).starts_with("ask"));
        assert!(verdict(&["sh", "-c", &there("print(1)")]).starts_with("allow"));
        assert!(verdict(&["python3", "-Bc", "os.system('x')"]).starts_with("ask"));
    }

    #[test]
    fn a_module_is_evaluated_by_its_name() {
        assert_eq!(
            steps(&argv("python3 -B -m pip install x")),
            [
                "given: python3 -B -m pip install x = allow by interpreter",
                "python -m: pip install x = ask by packages-installed",
            ]
        );
    }

    #[test]
    fn a_module_attached_to_its_option_is_evaluated() {
        assert_eq!(
            steps(&argv("python3 -mpytest -q"))[1],
            "python -m: pytest -q = allow by test-programs"
        );
    }

    #[test]
    fn coverage_runs_the_module_that_follows() {
        assert_eq!(
            steps(&argv("coverage run -m pytest")),
            [
                "given: coverage run -m pytest = allow by interpreter",
                "coverage -m: pytest = allow by test-programs",
            ]
        );
    }

    #[test]
    fn an_interpreter_without_a_file_would_read_code() {
        assert_eq!(
            verdict(&argv("node")),
            "ask by inline-code: node would read code that edt cannot see. Write the code to a file in \
         the worktree and run that file."
        );
    }

    #[test]
    fn the_version_of_an_interpreter_is_printed() {
        assert_eq!(
            verdict(&argv("ruby -v")),
            "allow by interpreter: ruby prints its version or help."
        );
    }

    #[test]
    fn the_tests_of_node_need_no_file() {
        assert_eq!(
            verdict(&argv("node --test")),
            "allow by worktree-script: The test code of node --test is code of the worktree; the \
         sandbox confines it."
        );
    }

    #[test]
    fn a_class_path_of_java_outside_the_worktree_is_asked_about() {
        assert_eq!(
            verdict(&argv("java -cp /srv/x.jar Main")),
            "ask by elsewhere: /srv/x.jar is outside the worktree, and the program may write it or run \
         code from it."
        );
    }

    #[test]
    fn a_file_in_the_home_directory_is_not_of_the_worktree() {
        assert_eq!(
            verdict(&argv("python3 ~/x.py")),
            "ask by script-elsewhere: ~/x.py is not a file in the worktree, so its code is not known."
        );
    }

    #[test]
    fn a_sed_script_that_runs_programs_is_asked_about() {
        assert_eq!(
            verdict(&["sed", "-e", "1e id", "README.md"]),
            "ask by sed: The program \"1e id\" may run others or write files. Use `edt apply` to change \
         a file."
        );
    }

    #[test]
    fn an_unknown_option_of_sed_is_asked_about() {
        assert_eq!(
            verdict(&argv("sed -f x README.md")),
            "ask by sed: -f is an option of sed that edt does not know."
        );
    }

    #[test]
    fn an_awk_program_that_writes_a_git_file_is_denied() {
        assert_eq!(
            verdict(&["awk", "{print > \".git/config\"}", "x"]),
            "deny by write-git: .git/config is in a Git directory, which only Git and edt may write."
        );
    }

    #[test]
    fn awk_takes_its_options_before_the_program() {
        assert_eq!(
            verdict(&["awk", "-F", ":", "-v", "n=1", "{print $n}", "/etc/passwd"]),
            "allow by awk: It prints and replaces text."
        );
    }

    #[test]
    fn a_suffix_that_names_a_copy_elsewhere_is_asked_about() {
        for argv in [
            ["sed", "-i.git/hooks/*", "s/a/b/", "README.md"],
            ["sed", "-ni../bak_*", "s/a/b/", "README.md"],
            ["sed", "--in-place=.git/*", "s/a/b/", "README.md"],
            ["sed", "--in-place=../b_*", "s/a/b/", "README.md"],
        ] {
            let verdict = verdict(&argv);
            assert!(verdict.starts_with("ask by write-outside: The suffix"), "{verdict}");
        }
        assert!(verdict(&["perl", "-i../x", "-pe", "1", "README.md"]).starts_with("ask"));
        assert!(verdict(&argv("perl -pi.git/* tools/check.py README.md")).starts_with("ask"));
        assert!(verdict(&argv("perl -pi tools/check.py .git/config")).starts_with("deny"));
        assert!(verdict(&argv("sed --in-place=.bak s/a/b/ README.md")).starts_with("allow"));
    }

    #[test]
    fn options_of_sed_after_its_program_count() {
        assert!(
            verdict(&argv("sed s/a/b/ -i README.md")).starts_with("ask by sed: It has options")
        );
        assert!(verdict(&argv("sed s/a/b/ -i .git/config")).starts_with("deny by write-git"));
        assert!(verdict(&argv("sed -ni.bak s/a/b/ README.md")).starts_with("allow"));
    }
}
