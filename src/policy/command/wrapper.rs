//! Programs that run another one: the other one is what is judged.

use std::path::PathBuf;

use super::judge::{Call, Judge, Way, Word};
use super::{Decision, shell};

/// How a program says which other one it runs.
struct Wrapper {
    names: &'static [&'static str],
    /// Words that come first.
    prefix: &'static [&'static str],
    /// Options that take the next argument.
    values: &'static [&'static str],
    /// Options that stand alone.
    alone: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
    /// Whether it adds arguments that cannot be seen.
    open: bool,
}

const PLAIN: Wrapper =
    Wrapper { names: &[], prefix: &[], values: &[], alone: &[], operands: 0, open: false };

/// The family. What a wrapper has beyond this list is asked about.
const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["nice"], values: &["-n", "--adjustment"], alone: &["-[0-9]"], ..PLAIN },
    Wrapper {
        names: &["ionice"],
        values: &["-c", "--class", "-n", "--classdata"],
        alone: &["-t", "--ignore"],
        ..PLAIN
    },
    Wrapper { names: &["nohup", "exec", "builtin"], ..PLAIN },
    Wrapper { names: &["command"], alone: &["-p"], ..PLAIN },
    Wrapper {
        names: &["timeout", "gtimeout"],
        values: &["-s", "--signal", "-k", "--kill-after"],
        alone: &["--foreground", "--preserve-status", "-v", "--verbose", "-p", "-f"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["setsid"],
        alone: &["-c", "--ctty", "-f", "--fork", "-w", "--wait"],
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        values: &["-i", "--input", "-o", "--output", "-e", "--error"],
        ..PLAIN
    },
    Wrapper {
        names: &["time"],
        alone: &["-p", "--portability", "-v", "--verbose", "-q", "--quiet"],
        ..PLAIN
    },
    Wrapper {
        names: &["chrt"],
        alone: &["-b", "--batch", "-i", "--idle", "-o", "--other", "-f", "--fifo", "-r", "--rr"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["taskset"], alone: &["-c", "--cpu-list"], operands: 1, ..PLAIN },
    Wrapper { names: &["prlimit"], values: &[], alone: &["--*=*"], ..PLAIN },
    Wrapper {
        names: &["busybox", "toybox", "coreutils", "ccache", "sccache", "distcc", "icecc"],
        ..PLAIN
    },
    Wrapper {
        names: &["xargs", "gxargs"],
        values: &[
            "-I",
            "-L",
            "--max-lines",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-s",
            "--max-chars",
            "-d",
            "--delimiter",
            "-a",
            "--arg-file",
            "-E",
        ],
        alone: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"],
        open: true,
        ..PLAIN
    },
    Wrapper { names: &["rustup"], prefix: &["run"], operands: 1, ..PLAIN },
    Wrapper {
        names: &["poetry", "pipenv", "uv", "hatch", "pdm", "rye"],
        prefix: &["run"],
        ..PLAIN
    },
    Wrapper { names: &["bundle"], prefix: &["exec"], ..PLAIN },
    Wrapper { names: &["edt"], prefix: &["run"], values: &["--timeout"], ..PLAIN },
];

/// Programs that run another one as somebody else or somewhere else.
const OTHERS: [&str; 9] =
    ["sudo", "doas", "su", "runuser", "pkexec", "sudoedit", "run0", "machinectl", "gosu"];

/// Shells.
pub(super) const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "ksh93", "yash", "hush", "posh"];

/// What it runs, judged; what it is itself.
pub(super) fn judge(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let invocation = call.invocation;
    if invocation.is(&["env"]) {
        return env(judge, call, &invocation.args, &call.way.dirs);
    }
    if invocation.is(&OTHERS) {
        inner(
            judge,
            call,
            call.way,
            "sudo",
            invocation.args.iter().position(|arg| !arg.starts_with('-')).unwrap_or(0),
        );
        let reason = "It would run as another user. Run the command without it; what needs other rights is for a person.";
        return vec![Word::new(Decision::Deny, "other-user", reason)];
    }
    if invocation.is(&["command"])
        && invocation.args.first().is_some_and(|arg| arg == "-v" || arg == "-V")
    {
        return vec![Word::new(Decision::Allow, "wrapper", "It tells where a program is.")];
    }
    if let Some(words) = of_packages(judge, call) {
        return words;
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| {
        invocation.is(wrapper.names)
            && wrapper.prefix.iter().zip(&invocation.args).filter(|(a, b)| a == b).count()
                == wrapper.prefix.len()
    });
    let Some(wrapper) = wrapper else { return prefixed(judge, call) };
    let name =
        wrapper.names.iter().find(|name| invocation.is(&[name])).copied().unwrap_or_default();
    let Some(at) = wrapper.command_at(&invocation.args) else {
        judge.denials(&invocation.args, call.way);
        return vec![Word::ask(
            "wrapper",
            format!(
                "It has an option of {name} that edt does not read, so what it runs cannot be seen."
            ),
        )];
    };
    if at >= invocation.args.len() {
        let nothing = matches!(name, "xargs" | "gxargs" | "busybox" | "time" | "rustup" | "edt");
        let word = if nothing && !call.way.open { Decision::Allow } else { Decision::Ask };
        return vec![Word::new(word, "wrapper", format!("{name} is given no command."))];
    }
    let replaced = invocation.args[..at].iter().any(|arg| arg.starts_with("-I"));
    let way = Way {
        by: name.to_owned(),
        dirs: call.way.dirs.clone(),
        open: call.way.open || wrapper.open,
    };
    if replaced && wrapper.open {
        // The text that is put in may stand anywhere, and be an option.
        let argv = &invocation.args[at..];
        judge.note(
            &way,
            argv,
            Word::ask("wrapper", "It puts text that cannot be seen into the command."),
        );
    }
    judge.command(&invocation.args[at..], &way);
    vec![Word::new(
        Decision::Allow,
        "wrapper",
        format!("{name} runs another command, which is judged."),
    )]
}

/// `npx NAME`, `yarn NAME`, `pnpm exec NAME`, `bun run NAME`: what is installed in the worktree, or else what the system has.
fn of_packages(judge: &mut Judge<'_>, call: &Call<'_>) -> Option<Vec<Word>> {
    let (invocation, way) = (call.invocation, call.way);
    let managers = invocation.is(&["npm", "pnpm", "yarn", "bun"]);
    if !managers && !invocation.is(&["npx"]) {
        return None;
    }
    let args = &invocation.args;
    let word = args.first().map_or("", String::as_str);
    let runs = word == "exec" || word == "run" && invocation.is(&["bun"]);
    let mut at = usize::from(managers && runs);
    while managers && runs && args.get(at).is_some_and(|arg| matches!(arg.as_str(), "--" | "--bun"))
    {
        at += 1;
    }
    let name = args.get(at)?;
    let by = invocation.names[0].clone();
    let installed = format!("node_modules/.bin/{name}");
    let there = |dir: &PathBuf| judge.programs.runs(&dir.join(&installed));
    let plain = !name.starts_with('-') && !name.contains('/');
    if plain && way.dirs.iter().all(there) {
        let argv: Vec<String> =
            std::iter::once(installed).chain(args[at + 1..].iter().cloned()).collect();
        judge.command(&argv, &Way { by, ..way.clone() });
        return Some(vec![Word::new(
            Decision::Allow,
            "wrapper",
            "It runs a program of the worktree, which is judged.",
        )]);
    }
    if runs && word == "run" {
        let system =
            judge.programs.folders().iter().any(|folder| judge.programs.runs(&folder.join(name)));
        if plain && system {
            judge.command(&args[at..], &Way { by, ..way.clone() });
        } else if !plain {
            judge.denials(args, way);
        }
        return Some(Vec::new());
    }
    if managers && word != "exec" {
        return Some(Vec::new());
    }
    judge.denials(args, way);
    let reason =
        format!("{name} is not installed in node_modules of the worktree, so it would be fetched.");
    Some(vec![Word::ask("fetch-and-run", reason)])
}

/// A wrapper whose word comes after options: what it runs is not looked for behind them.
fn prefixed(judge: &mut Judge<'_>, call: &Call<'_>) -> Vec<Word> {
    let args = &call.invocation.args;
    let hidden = |wrapper: &&Wrapper| {
        let word = wrapper.prefix.first().is_some_and(|word| args.iter().any(|arg| arg == word));
        word && call.invocation.is(wrapper.names)
    };
    let found = WRAPPERS
        .iter()
        .find(hidden)
        .filter(|_| args.first().is_some_and(|arg| arg.starts_with(['-', '+'])));
    if found.is_some() {
        judge.denials(args, call.way);
    }
    found.map_or_else(Vec::new, |wrapper| {
        let word = wrapper.prefix[0];
        vec![Word::ask(
            "wrapper",
            format!("Options stand before {word}, so what it runs cannot be seen. Leave them out."),
        )]
    })
}

impl Wrapper {
    /// Where its command begins; `None` if it has an option that is not read.
    fn command_at(&self, args: &[String]) -> Option<usize> {
        let mut at = self.prefix.len();
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-') && *arg != "-") {
            if arg == "--" {
                at += 1;
                break;
            }
            at += self.taken(arg)?;
        }
        let at = at + self.operands;
        Some(at + usize::from(self.operands > 0 && args.get(at).is_some_and(|arg| arg == "--")))
    }

    fn taken(&self, arg: &str) -> Option<usize> {
        let alone = |one: &&str| match *one {
            "-[0-9]" => arg[1..].trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit()),
            one => super::fit::alike(one, arg),
        };
        if self.values.contains(&arg) {
            return Some(2);
        }
        if self.alone.iter().any(alone) {
            return Some(1);
        }
        if arg.starts_with("--") {
            let (name, value) = arg.split_once('=').map_or((arg, false), |(name, _)| (name, true));
            let cut_short = |list: &[&str]| list.iter().filter(|one| one.starts_with(name)).count();
            return match (cut_short(self.values), cut_short(self.alone)) {
                (1, 0) => Some(if value { 1 } else { 2 }),
                (0, 1) if !value => Some(1),
                _ => None,
            };
        }
        // Short ones together: the last may take a value, attached or next.
        for (at, letter) in arg.char_indices().skip(1) {
            let short = format!("-{letter}");
            if self.values.contains(&short.as_str()) {
                return Some(if at + letter.len_utf8() == arg.len() { 2 } else { 1 });
            }
            self.alone.contains(&short.as_str()).then_some(())?;
        }
        Some(1)
    }
}

/// `env`: options, variables, then a command.
fn env(judge: &mut Judge<'_>, call: &Call<'_>, args: &[String], dirs: &[PathBuf]) -> Vec<Word> {
    let doubt = |judge: &mut Judge<'_>| {
        judge.denials(args, call.way);
        vec![Word::ask(
            "wrapper",
            "It has an option of env that edt does not read, so what it runs cannot be seen.",
        )]
    };
    let (mut at, mut dirs, mut variables) = (0, dirs.to_vec(), Vec::new());
    while let Some(arg) = args.get(at) {
        let value = |long: &str, short: &str| {
            let next = args.get(at + 1).cloned();
            match arg.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')).or_else(|| {
                arg.strip_prefix(short).filter(|rest| !arg.starts_with("--") && !rest.is_empty())
            }) {
                Some(value) => Some((1, value.to_owned())),
                None if arg == long || arg == short => next.map(|next| (2, next)),
                None => None,
            }
        };
        if matches!(
            arg.as_str(),
            "-" | "-i" | "--ignore-environment" | "-0" | "--null" | "-v" | "--debug"
        ) {
            at += 1;
        } else if arg == "--" {
            at += 1;
            break;
        } else if let Some((taken, _)) = value("--unset", "-u") {
            at += taken;
        } else if let Some((taken, dir)) = value("--chdir", "-C") {
            dirs = dirs.iter().map(|before| before.join(&dir)).collect();
            at += taken;
        } else if let Some((taken, text)) = value("--split-string", "-S") {
            // The text is split as env does it, which a shell's rules without expansions cover; the rest follows.
            let read = shell::read(&text);
            if text.contains('\\') {
                return doubt(judge);
            }
            let [simple] = read.commands.as_slice() else { return doubt(judge) };
            if !read.doubts.is_empty() || !simple.writes.is_empty() {
                return doubt(judge);
            }
            let mut args_left: Vec<String> =
                simple.words.iter().map(|word| word.text.clone()).collect();
            args_left.extend_from_slice(args.get(at + taken..).unwrap_or_default());
            judge.environment("env", &variables);
            return env(judge, call, &args_left, &dirs);
        } else if arg.starts_with('-') {
            return doubt(judge);
        } else {
            break;
        }
    }
    while let Some((name, value)) = args.get(at).and_then(|arg| arg.split_once('=')) {
        variables.push((name.to_owned(), value.to_owned()));
        at += 1;
    }
    judge.environment("env", &variables);
    if at < args.len() {
        judge.command(&args[at..], &Way { by: "env".to_owned(), dirs, open: call.way.open });
    } else if call.way.open {
        return vec![Word::ask("wrapper", "What env runs cannot be seen.")];
    }
    vec![Word::new(
        Decision::Allow,
        "wrapper",
        "env runs another command, which is judged, or prints the environment.",
    )]
}

/// Has the command judged that begins at `at`, for what is forbidden in it.
fn inner(judge: &mut Judge<'_>, call: &Call<'_>, way: &Way, by: &str, at: usize) {
    if let Some(argv) = call.invocation.args.get(at..).filter(|argv| !argv.is_empty()) {
        judge.command(argv, &Way { by: by.to_owned(), ..way.clone() });
    }
}
