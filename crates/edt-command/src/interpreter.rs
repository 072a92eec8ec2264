//! Interpreters. A script in the worktree is code of the worktree; inline code is asked about.

use std::path::Path;

use super::Decision;
use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};

/// How an interpreter's arguments name the code that it runs.
struct Interpreter {
    names: &'static [&'static str],
    /// Options without a value and without a relevant effect.
    flags: &'static [&'static str],
    /// Options that take the next argument, without a relevant effect.
    values: &'static [&'static str],
    /// Options that are followed by the name of a module to run.
    module: &'static [&'static str],
    /// Arguments that print its version or help.
    informational: &'static [&'static str],
}

const DEFAULT: Interpreter = Interpreter {
    names: &[],
    flags: &[],
    values: &[],
    module: &[],
    informational: &["--version", "--help", "-V", "-v", "-h", "version"],
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy"],
        flags: &["-B", "-E", "-I", "-O", "-OO", "-P", "-s", "-S", "-u", "-q", "-b", "-bb", "-d"],
        values: &["-W", "-X"],
        module: &["-m"],
        ..DEFAULT
    },
    Interpreter {
        names: &["coverage"],
        flags: &["--branch", "--parallel-mode", "-p", "-a", "--append", "--timid"],
        values: &["--source", "--omit", "--include", "--data-file"],
        module: &["-m"],
        informational: &[],
    },
    Interpreter {
        names: &["node", "nodejs"],
        flags: &[
            "--test",
            "--check",
            "-c",
            "--enable-source-maps",
            "--no-warnings",
            "--trace-warnings",
            "--watch",
        ],
        informational: &["--version", "--help", "-v", "-h"],
        ..DEFAULT
    },
    Interpreter {
        names: &["ruby"],
        flags: &["-w", "-W", "-c"],
        informational: &["--version", "--help", "-v", "-h"],
        ..DEFAULT
    },
    Interpreter { names: &["perl"], flags: &["-w", "-c", "-T", "-W"], ..DEFAULT },
    Interpreter { names: &["php"], flags: &["-l", "-n"], ..DEFAULT },
    Interpreter {
        names: &["lua", "luajit", "tclsh", "rscript", "groovy", "raku", "guile"],
        ..DEFAULT
    },
    Interpreter {
        names: &["java"],
        flags: &["-ea", "-jar"],
        values: &["-cp", "-classpath", "--class-path"],
        informational: &["-version", "--version"],
        ..DEFAULT
    },
];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let args = &command.invocation.args;
    let Some(one) = INTERPRETERS.iter().find(|one| command.invocation.is(one.names)) else {
        return Vec::new();
    };
    let name = one.names[0];
    if args.len() == 1
        && one.informational.contains(&args[0].as_str())
        && !command.context.open_ended
    {
        return vec![RuleMatch::new(
            Decision::Allow,
            "interpreter",
            format!("{name} prints its version or help."),
        )];
    }
    // Rules cover the other subcommands of `coverage`.
    let mut at = usize::from(name == "coverage");
    if name == "coverage" && args.first().is_none_or(|word| word != "run") {
        return Vec::new();
    }
    while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-') && *arg != "-") {
        let text = arg.as_str();
        let attached = |option: &&&str| {
            !option.starts_with("--") && option.len() == 2 && text.starts_with(**option)
        };
        if one.module.contains(&text) || one.module.iter().any(|option| attached(&option)) {
            let (module, rest) = match text.get(2..).filter(|module| !module.is_empty()) {
                Some(module) => (Some(module.to_owned()), at + 1),
                None => (args.get(at + 1).cloned(), at + 2),
            };
            let argv: Vec<String> = module
                .into_iter()
                .chain(args.get(rest..).unwrap_or_default().iter().cloned())
                .collect();
            evaluator.command(
                &argv,
                &CommandContext { by: format!("{name} -m"), ..command.context.clone() },
            );
            return vec![RuleMatch::new(
                Decision::Allow,
                "interpreter",
                format!("{name} runs a module, which is evaluated by its name."),
            )];
        }
        if one.values.contains(&text) {
            at += 2;
        } else if one.flags.contains(&text)
            || one.values.iter().any(|option| {
                attached(&option) || option.len() > 3 && text.starts_with(&format!("{option}="))
            })
        {
            at += 1;
        } else if text == "--" {
            at += 1;
            break;
        } else {
            let reason = format!(
                "{name} {text} runs code that edt cannot analyze, or changes what runs. Write the \
                 code to a file in the worktree (`edt apply FILE --mode create`) and run that file."
            );
            return vec![RuleMatch::ask("inline-code", reason)];
        }
    }
    match args.get(at).filter(|file| *file != "-") {
        Some(_) if name == "java" => {
            let mut rule_matches = super::path_arguments::evaluate_paths(evaluator, command);
            rule_matches.push(evaluator.worktree_code("worktree-script", "The program of java"));
            rule_matches
        }
        Some(file) => vec![evaluator.script_file(file, command.context)],
        None if one.flags.contains(&"--test") && args.iter().any(|arg| arg == "--test") => {
            vec![evaluator.worktree_code("worktree-script", "The test code of node --test")]
        }
        None => vec![RuleMatch::ask(
            "inline-code",
            format!(
                "{name} would read code that edt cannot see. Write the code to a file in the \
                 worktree and run that file."
            ),
        )],
    }
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
    use crate::tests::{argv, steps, verdict};

    #[test]
    fn a_script_of_the_worktree_is_its_code() {
        assert_eq!(
            verdict(&argv("python3 -u tools/check.py x")),
            "allow by worktree-script: tools/check.py is code of the worktree; the sandbox confines it."
        );
    }

    #[test]
    fn inline_code_is_asked_about() {
        assert_eq!(
            verdict(&["python3", "-c", "print(1)"]),
            "ask by inline-code: python -c runs code that edt cannot analyze, or changes what runs. \
         Write the code to a file in the worktree (`edt apply FILE --mode create`) and run that \
         file."
        );
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
}
