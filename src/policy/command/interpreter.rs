//! Programs that run a program: a script of the worktree is code of the worktree, code on the command line is asked about.

use std::path::Path;

use super::Decision;
use super::judge::{Call, Judge, Way, Word};

/// How an interpreter is told what to run.
struct Interpreter {
    names: &'static [&'static str],
    /// Options that stand alone and change nothing that matters.
    alone: &'static [&'static str],
    /// Options that take the next argument, likewise.
    values: &'static [&'static str],
    /// Options after which a program follows by its name.
    module: &'static [&'static str],
    /// Words that tell of itself.
    tells: &'static [&'static str],
}

const PLAIN: Interpreter = Interpreter {
    names: &[],
    alone: &[],
    values: &[],
    module: &[],
    tells: &["--version", "--help", "-V", "-v", "-h", "version"],
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["python", "pypy"],
        alone: &["-B", "-E", "-I", "-O", "-OO", "-P", "-s", "-S", "-u", "-q", "-b", "-bb", "-d"],
        values: &["-W", "-X"],
        module: &["-m"],
        ..PLAIN
    },
    Interpreter {
        names: &["coverage"],
        alone: &["--branch", "--parallel-mode", "-p", "-a", "--append", "--timid"],
        values: &["--source", "--omit", "--include", "--data-file"],
        module: &["-m"],
        tells: &[],
    },
    Interpreter {
        names: &["node", "nodejs"],
        alone: &[
            "--test",
            "--check",
            "-c",
            "--enable-source-maps",
            "--no-warnings",
            "--trace-warnings",
            "--watch",
        ],
        tells: &["--version", "--help", "-v", "-h"],
        ..PLAIN
    },
    Interpreter {
        names: &["ruby"],
        alone: &["-w", "-W", "-c"],
        tells: &["--version", "--help", "-v", "-h"],
        ..PLAIN
    },
    Interpreter { names: &["perl"], alone: &["-w", "-c", "-T", "-W"], ..PLAIN },
    Interpreter { names: &["php"], alone: &["-l", "-n"], ..PLAIN },
    Interpreter {
        names: &["lua", "luajit", "tclsh", "rscript", "groovy", "raku", "guile"],
        ..PLAIN
    },
    Interpreter {
        names: &["java"],
        alone: &["-ea", "-jar"],
        values: &["-cp", "-classpath", "--class-path"],
        tells: &["-version", "--version"],
        ..PLAIN
    },
];

/// What an interpreter runs.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let args = &call.invocation.args;
    let Some(one) = INTERPRETERS.iter().find(|one| call.invocation.is(one.names)) else {
        return Vec::new();
    };
    let name = one.names[0];
    if args.len() == 1 && one.tells.contains(&args[0].as_str()) && !call.way.open {
        return vec![Word::new(Decision::Allow, "interpreter", format!("{name} tells of itself."))];
    }
    // `coverage` does other things, too, which rules know.
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
            judge.command(&argv, &Way { by: format!("{name} -m"), ..call.way.clone() });
            return vec![Word::new(
                Decision::Allow,
                "interpreter",
                format!("{name} runs a module, which is judged by its name."),
            )];
        }
        if one.values.contains(&text) {
            at += 2;
        } else if one.alone.contains(&text)
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
                "{name} {text} runs code that edt does not read, or changes what runs. Write the code to a file of the worktree (`edt apply FILE --mode create`) and run that file."
            );
            return vec![Word::ask("inline-code", reason)];
        }
    }
    match args.get(at).filter(|file| *file != "-") {
        Some(_) if name == "java" => {
            let mut words = super::reach::places(judge, call);
            words.push(judge.held("worktree-script", "What java runs"));
            words
        }
        Some(file) => vec![judge.script_file(file, call.way)],
        None if one.alone.contains(&"--test") && args.iter().any(|arg| arg == "--test") => {
            vec![judge.held("worktree-script", "What node --test runs")]
        }
        None => vec![Word::ask(
            "inline-code",
            format!(
                "{name} would read code that cannot be seen. Write it to a file of the worktree and run that."
            ),
        )],
    }
}

impl Judge<'_> {
    /// A script that an interpreter is given.
    pub(super) fn script_file(&self, file: &str, way: &Way) -> Word {
        let within = |dir: &Path| {
            let path = dir.join(file);
            self.programs.real(&path).is_some_and(|real| self.is_inside(&real))
        };
        if !file.starts_with('~') && way.dirs.iter().all(|dir| within(dir)) {
            return self.held("worktree-script", file);
        }
        Word::ask(
            "script-elsewhere",
            format!("{file} is no file of the worktree, so nobody has seen what it does."),
        )
    }
}
