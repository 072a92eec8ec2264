//! Programs that run another one. The other program is what is evaluated.

use std::path::PathBuf;

use super::builtin::{self, Wrapper};
use super::evaluator::{CommandContext, CommandInContext, Evaluator, RuleMatch};
use super::shell_ast::{ShellWord, Statement, UNKNOWN_WORD, UNKNOWN_WORDS};
use super::{Decision, flow, shell};

/// Programs that run another one as a different user or on a different machine.
const SWITCH_USER: [&str; 9] =
    ["sudo", "doas", "su", "runuser", "pkexec", "sudoedit", "run0", "machinectl", "gosu"];

pub(super) fn evaluate(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let invocation = command.invocation;
    if invocation.is(&["env"]) {
        return env(evaluator, command, &invocation.args, &command.context.dirs);
    }
    if invocation.is(&SWITCH_USER) {
        evaluate_inner(
            evaluator,
            command,
            command.context,
            "sudo",
            invocation.args.iter().position(|arg| !arg.starts_with('-')).unwrap_or(0),
        );
        let reason = "It would run as another user. Run the command without it. If it needs other \
                      privileges, ask the user.";
        return vec![RuleMatch::new(Decision::Deny, "other-user", reason)];
    }
    if invocation.is(&["command"])
        && invocation.args.first().is_some_and(|arg| arg == "-v" || arg == "-V")
    {
        return vec![RuleMatch::new(Decision::Allow, "wrapper", "It prints where a program is.")];
    }
    if let Some(rule_matches) = package_runner(evaluator, command) {
        return rule_matches;
    }
    let wrapper = builtin::wrappers().iter().find(|wrapper| {
        invocation.is(&wrapper.names)
            && wrapper.prefix.iter().zip(&invocation.args).filter(|(a, b)| a == b).count()
                == wrapper.prefix.len()
            && (wrapper.needs.is_empty()
                || invocation
                    .args
                    .get(wrapper.prefix.len())
                    .is_some_and(|arg| *arg == wrapper.needs))
    });
    let Some(wrapper) = wrapper else { return options_before_prefix(evaluator, command) };
    let name = wrapper.names.iter().find(|name| invocation.is(&[name])).map_or("", String::as_str);
    if name == "edt" {
        return own_run(evaluator, command, wrapper);
    }
    let Some(at) = wrapper.command_at(&invocation.args) else {
        evaluate_denials(evaluator, &invocation.args, command.context);
        return vec![RuleMatch::ask(
            "wrapper",
            format!(
                "It has an option of {name} that edt does not know, so its command cannot be \
                 determined."
            ),
        )];
    };
    if at >= invocation.args.len() {
        let nothing = ["xargs", "gxargs", "busybox", "time", "rustup", "exec"].contains(&name);
        let decision =
            if nothing && !command.context.open_ended { Decision::Allow } else { Decision::Ask };
        let reason = match name {
            "exec" => "It redirects the script's own streams; the files are evaluated.".to_owned(),
            _ => format!("{name} has no command argument."),
        };
        return vec![RuleMatch::new(decision, "wrapper", reason)];
    }
    let placeholder = wrapper.open_ended.then(|| placeholder(&invocation.args[..at])).flatten();
    let context = CommandContext {
        by: name.to_owned(),
        open_ended: command.context.open_ended || wrapper.open_ended && placeholder.is_none(),
        ..command.context.clone()
    };
    if invocation.args[..at].iter().any(|arg| arg.contains(UNKNOWN_WORDS)) {
        let reason = "Where its command begins is unknown before it runs.";
        evaluator.record_step(&context, &invocation.args, RuleMatch::ask("wrapper", reason));
    }
    let argv: Vec<String> = match placeholder {
        Some(text) => {
            let unknown = format!("{UNKNOWN_WORD}{text}");
            invocation.args[at..].iter().map(|arg| arg.replace(&text, &unknown)).collect()
        }
        None => invocation.args[at..].to_vec(),
    };
    evaluator.command(&argv, &context);
    vec![RuleMatch::new(
        Decision::Allow,
        "wrapper",
        format!("{name} runs another command, which is evaluated."),
    )]
}

/// `edt run`, which judges its command itself, and asks the user. What is denied in it is denied
/// here, too.
fn own_run(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
    wrapper: &Wrapper,
) -> Vec<RuleMatch> {
    let args = &command.invocation.args;
    let at = wrapper.command_at(args).map_or(args.len(), |at| at.min(args.len()));
    let value = |option: &str| {
        let place = args[..at].iter().position(|arg| arg.split('=').next() == Some(option))?;
        args[place]
            .split_once('=')
            .map(|(_, value)| value.to_owned())
            .or(args.get(place + 1).cloned())
    };
    let mut context = CommandContext { by: "edt run".to_owned(), ..command.context.clone() };
    for dir in ["-C", "--cwd"].iter().filter_map(|option| value(option)) {
        context.dirs.iter_mut().for_each(|before| before.push(&dir));
    }
    evaluator.drop_others(|evaluator| {
        if let Some(script) = value("--shell") {
            flow::evaluate_script(evaluator, &script, "edt run --shell", &context);
        }
        if at < args.len() {
            evaluator.command(&args[at..], &context);
        }
    });
    let reason = "It is edt itself, which judges the command that it runs.";
    vec![RuleMatch::new(Decision::Allow, "edt", reason)]
}

/// The text that `xargs -I` replaces.
fn placeholder(options: &[String]) -> Option<String> {
    let at = options.iter().position(|option| option.starts_with("-I"))?;
    let attached = options[at].strip_prefix("-I").filter(|text| !text.is_empty());
    attached.map(str::to_owned).or_else(|| options.get(at + 1).cloned())
}

/// `npx NAME`, `yarn NAME`, `pnpm exec NAME`, `bun run NAME`: a program installed in the worktree,
/// or else one of the system.
fn package_runner(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Option<Vec<RuleMatch>> {
    let (invocation, context) = (command.invocation, command.context);
    let managers = invocation.is(&["npm", "pnpm", "yarn", "bun"]);
    if !managers && !invocation.is(&["npx"]) {
        return None;
    }
    let args = &invocation.args;
    let subcommand = args.first().map_or("", String::as_str);
    let runs = subcommand == "exec" || subcommand == "run" && invocation.is(&["bun"]);
    let mut at = usize::from(managers && runs);
    while managers && runs && args.get(at).is_some_and(|arg| matches!(arg.as_str(), "--" | "--bun"))
    {
        at += 1;
    }
    let only_installed = !managers
        && args.first().is_some_and(|arg| matches!(arg.as_str(), "--no-install" | "--no"));
    at += usize::from(only_installed);
    let name = args.get(at)?;
    let by = invocation.names[0].clone();
    let installed = format!("node_modules/.bin/{name}");
    let is_installed = |dir: &PathBuf| evaluator.host.is_executable(&dir.join(&installed));
    let plain = !name.starts_with('-') && !name.contains('/');
    if plain && (only_installed || context.dirs.iter().all(is_installed)) {
        if only_installed && !context.dirs.iter().all(is_installed) {
            // Old versions take a program of the system.
            evaluator.command(&args[at..], &CommandContext { by, ..context.clone() });
            return Some(vec![RuleMatch::new(
                Decision::Allow,
                "wrapper",
                "It runs only a program that is installed, which is evaluated.",
            )]);
        }
        let argv: Vec<String> =
            std::iter::once(installed).chain(args[at + 1..].iter().cloned()).collect();
        evaluator.command(&argv, &CommandContext { by, ..context.clone() });
        return Some(vec![RuleMatch::new(
            Decision::Allow,
            "wrapper",
            "It runs a program of the worktree, which is evaluated.",
        )]);
    }
    if runs && subcommand == "run" {
        let system = evaluator
            .host
            .path_directories()
            .iter()
            .any(|one| evaluator.host.is_executable(&one.join(name)));
        if plain && system {
            evaluator.command(&args[at..], &CommandContext { by, ..context.clone() });
        } else if !plain {
            evaluate_denials(evaluator, args, context);
        }
        return Some(Vec::new());
    }
    if managers && subcommand != "exec" {
        return Some(Vec::new());
    }
    evaluate_denials(evaluator, args, context);
    let reason =
        format!("{name} is not installed in node_modules of the worktree, so it would be fetched.");
    Some(vec![RuleMatch::ask("fetch-and-run", reason)])
}

/// A wrapper with options before its subcommand. Its command is not searched for after them.
fn options_before_prefix(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
) -> Vec<RuleMatch> {
    let args = &command.invocation.args;
    let hidden = |wrapper: &&Wrapper| {
        let has_prefix =
            wrapper.prefix.first().is_some_and(|word| args.iter().any(|arg| arg == word));
        has_prefix && command.invocation.is(&wrapper.names)
    };
    let found = builtin::wrappers()
        .iter()
        .find(hidden)
        .filter(|_| args.first().is_some_and(|arg| arg.starts_with(['-', '+'])));
    if found.is_some() {
        evaluate_denials(evaluator, args, command.context);
    }
    found.map_or_else(Vec::new, |wrapper| {
        let prefix = &wrapper.prefix[0];
        vec![RuleMatch::ask(
            "wrapper",
            format!(
                "There are options before {prefix}, so its command cannot be determined. Leave \
                     them out."
            ),
        )]
    })
}

impl Wrapper {
    /// The index where its command begins; `None` after an unknown option.
    fn command_at(&self, args: &[String]) -> Option<usize> {
        if !self.needs.is_empty() {
            return Some(self.prefix.len() + 1);
        }
        let mut at = self.prefix.len();
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-') && *arg != "-") {
            if arg == "--" {
                at += 1;
                break;
            }
            at += self.args_taken(arg)?;
        }
        let at = at + self.operands;
        Some(at + usize::from(self.operands > 0 && args.get(at).is_some_and(|arg| arg == "--")))
    }

    fn args_taken(&self, arg: &str) -> Option<usize> {
        let flags = |one: &String| match one.as_str() {
            "-[0-9]" => arg[1..].trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit()),
            one => super::matching::glob_match(one, arg),
        };
        if self.values.iter().any(|one| one == arg) {
            return Some(2);
        }
        if self.flags.iter().any(flags) {
            return Some(1);
        }
        if arg.starts_with("--") {
            let (name, value) = arg.split_once('=').map_or((arg, false), |(name, _)| (name, true));
            let abbreviated =
                |list: &[String]| list.iter().filter(|one| one.starts_with(name)).count();
            return match (abbreviated(&self.values), abbreviated(&self.flags)) {
                (1, 0) => Some(if value { 1 } else { 2 }),
                (0, 1) if !value => Some(1),
                _ => None,
            };
        }
        // Combined short options: the last may take a value, attached or in the next argument.
        for (at, letter) in arg.char_indices().skip(1) {
            let short = format!("-{letter}");
            if self.values.contains(&short) {
                return Some(if at + letter.len_utf8() == arg.len() { 2 } else { 1 });
            }
            self.flags.contains(&short).then_some(())?;
        }
        Some(1)
    }
}

/// `env`: options, then variables, then a command.
fn env(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
    args: &[String],
    dirs: &[PathBuf],
) -> Vec<RuleMatch> {
    let unknown_option = |evaluator: &mut Evaluator<'_>| {
        evaluate_denials(evaluator, args, command.context);
        vec![RuleMatch::ask(
            "wrapper",
            "It has an option of env that edt does not know, so its command cannot be determined.",
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
        } else if let Some((args_taken, _)) = value("--unset", "-u") {
            at += args_taken;
        } else if let Some((args_taken, dir)) = value("--chdir", "-C") {
            dirs = dirs.iter().map(|before| before.join(&dir)).collect();
            at += args_taken;
        } else if let Some((args_taken, text)) = value("--split-string", "-S") {
            // env splits the text like a shell without expansions.
            let read = shell::read(&text);
            let [Statement::Command(simple)] = read.statements.as_slice() else {
                return unknown_option(evaluator);
            };
            if text.contains(['\\', '$', '`'])
                || !read.unparsed.is_empty()
                || !simple.redirections.is_empty()
            {
                return unknown_option(evaluator);
            }
            let variables = simple.assignments.iter();
            let mut args_left: Vec<String> = variables
                .map(|(name, value)| format!("{name}={}", value.literal()))
                .chain(simple.words.iter().map(ShellWord::literal))
                .collect();
            args_left.extend_from_slice(args.get(at + args_taken..).unwrap_or_default());
            return env(evaluator, command, &args_left, &dirs);
        } else if arg.starts_with('-') {
            return unknown_option(evaluator);
        } else {
            break;
        }
    }
    while let Some((name, value)) = args.get(at).and_then(|arg| arg.split_once('=')) {
        variables.push((name.to_owned(), value.to_owned()));
        at += 1;
    }
    evaluator.environment("env", &variables);
    if at < args.len() {
        evaluator.command(
            &args[at..],
            &CommandContext { by: "env".to_owned(), dirs, ..command.context.clone() },
        );
    } else if command.context.open_ended {
        return vec![RuleMatch::ask(
            "wrapper",
            "The command that env runs is unknown before it runs.",
        )];
    }
    vec![RuleMatch::new(
        Decision::Allow,
        "wrapper",
        "env runs another command, which is evaluated, or prints the environment.",
    )]
}

/// Evaluates the command that begins at `at`, to find what is denied in it.
fn evaluate_inner(
    evaluator: &mut Evaluator<'_>,
    command: &CommandInContext<'_>,
    context: &CommandContext,
    by: &str,
    at: usize,
) {
    if let Some(argv) = command.invocation.args.get(at..).filter(|argv| !argv.is_empty()) {
        evaluator.command(argv, &CommandContext { by: by.to_owned(), ..context.clone() });
    }
}

/// For a program whose command cannot be found: every argument may begin it. Records only steps
/// that are denied.
pub(super) fn evaluate_denials(
    evaluator: &mut Evaluator<'_>,
    args: &[String],
    context: &CommandContext,
) {
    evaluator.keep_denials(|evaluator| {
        for (at, arg) in args.iter().enumerate() {
            if arg.contains(char::is_whitespace) {
                let text = arg
                    .split_once('=')
                    .filter(|_| arg.starts_with('-'))
                    .map_or(arg.as_str(), |(_, text)| text);
                flow::evaluate_script(evaluator, text, "text", context);
            } else if !arg.starts_with('-') {
                evaluator.command(&args[at..], context);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::tests::{Machine, argv, steps, verdict};

    #[test]
    fn every_wrapper_in_a_chain_is_a_step_and_the_program_inside_decides() {
        assert_eq!(
            steps(&argv("nice -n 5 timeout 10 git push -f")),
            [
                "given: nice -n 5 timeout 10 git push -f = allow by wrapper",
                "nice: timeout 10 git push -f = allow by wrapper",
                "timeout: git push -f = deny by git-push-force",
            ]
        );
    }

    #[test]
    fn a_call_of_edt_judges_its_command_itself() {
        let allowed = "allow by edt: It is edt itself, which judges the command that it runs.";
        for line in [
            "edt run npm install x",
            "edt run --sandbox strict --timeout 5 -- grep reboot src",
            "edt run --cwd src rm -rf *",
            "edt run --output 3",
            "edt run --request -",
            "edt run",
        ] {
            assert_eq!(verdict(&argv(line)), allowed, "{line}");
        }
        assert_eq!(verdict(&["edt", "run", "--shell", "npm install > x"]), allowed);
        let line = "edt run --shell 'npm install > x' && npm install";
        assert!(verdict(&["sh", "-c", line]).starts_with("ask by npm-beyond"));
        let line = "edt run make > ../x";
        assert!(verdict(&["sh", "-c", line]).starts_with("ask by write-outside"));
    }

    #[test]
    fn what_a_call_of_edt_would_refuse_is_denied() {
        for script in ["git push -f", "ls; git push -f"] {
            let line = ["edt", "run", "--timeout=5", "--shell", script];
            assert!(verdict(&line).starts_with("deny by git-push-force"), "{script}");
        }
        for line in ["edt run -- git push -f", "edt run -- edt -C . run -- git push -f"] {
            assert!(verdict(&argv(line)).starts_with("deny by git-push-force"), "{line}");
        }
    }

    #[test]
    fn exec_without_a_command_redirects() {
        for line in ["exec > log; make", "exec 3>f", "exec 3>&-", "exec < README.md"] {
            let verdict = verdict(&["bash", "-c", line]);
            assert!(verdict.starts_with("allow"), "{line}: {verdict}");
        }
        assert!(verdict(&["bash", "-c", "exec 3> ../x"]).starts_with("ask by write-outside"));
        assert!(verdict(&["bash", "-c", "exec > .git/config"]).starts_with("deny by write-git"));
        assert!(verdict(&["bash", "-c", "exec $X > log"]).starts_with("ask"));
        assert!(verdict(&["bash", "-c", "exec < README.md; sh"]).starts_with("ask"));
    }

    #[test]
    fn another_program_of_that_name_is_not_edt() {
        let machine = Machine::with(&["edt"]).program("/srv/edt");
        let rule = |argv: &[&str]| machine.evaluate(argv, &[]).rule;
        assert_eq!(rule(&argv("./edt run npm install x")), "worktree-program");
        assert_eq!(rule(&argv("/srv/edt run npm install x")), "strange-place");
        assert_eq!(rule(&["sh", "-c", "alias edt=npm; edt run x"]), "shell-text");
        let function = "edt() { npm install x; }; edt run x";
        assert_eq!(rule(&["sh", "-c", function]), "npm-beyond");
    }

    #[test]
    fn env_evaluates_its_variables_before_the_command() {
        assert_eq!(
            steps(&argv("env -u C CI=1 LD_PRELOAD=x ls")),
            [
                "given: env -u C CI=1 LD_PRELOAD=x ls = allow by wrapper",
                "env: LD_PRELOAD=x = ask by environment",
                "env: ls = allow by read-files",
            ]
        );
    }

    #[test]
    fn env_with_another_directory_runs_its_command_there() {
        assert_eq!(
            verdict(&argv("env -C /etc rm hosts")),
            "deny by remove-vital: hosts is a system directory, a home directory, or a parent of the \
         worktree. Name the files in the worktree to remove; `edt undo` restores those."
        );
    }

    #[test]
    fn the_text_of_env_split_string_is_evaluated_as_words() {
        assert_eq!(
            steps(&["env", "-S", "CC=./x git 'push'", "-f"]),
            [
                "given: env -S CC=./x git 'push' -f = allow by wrapper",
                "env: CC=./x = ask by environment",
                "env: git push -f = deny by git-push-force",
            ]
        );
    }

    #[test]
    fn an_unknown_option_of_a_wrapper_is_asked_about() {
        assert_eq!(
            verdict(&argv("stdbuf -z ls")),
            "ask by wrapper: It has an option of stdbuf that edt does not know, so its command cannot \
         be determined."
        );
    }

    #[test]
    fn a_denied_command_is_found_after_an_unknown_option() {
        assert_eq!(
            steps(&argv("stdbuf -z git push -f")),
            [
                "given: stdbuf -z git push -f = ask by wrapper",
                "given: git push -f = deny by git-push-force",
            ]
        );
    }

    #[test]
    fn a_long_option_may_be_abbreviated_if_only_one_begins_so() {
        assert_eq!(
            verdict(&argv("timeout --kill 3 9 ls")),
            "allow by wrapper: timeout runs another command, which is evaluated."
        );
    }

    #[test]
    fn a_command_of_xargs_gets_unknown_arguments() {
        assert_eq!(
            steps(&argv("xargs -r rm")),
            ["given: xargs -r rm = allow by wrapper", "xargs: rm = ask by remove"]
        );
    }

    #[test]
    fn xargs_with_a_placeholder_inserts_unknown_text() {
        let step = |text: &str| steps(&argv(text))[1..].join("; ");
        assert_eq!(step("xargs -I % grep x %"), "xargs: grep x % = allow by read-files");
        assert_eq!(
            step("xargs -I % git show main:%"),
            "xargs: git show main:% = allow by git-reads"
        );
        assert_eq!(step("xargs -I % git show %"), "xargs: git show % = ask by git-reads-and-runs");
        assert!(step("xargs -I% sh -c %").contains("sh -c: % = ask by script"));
    }

    #[test]
    fn another_user_is_denied_whatever_the_command() {
        assert_eq!(
            steps(&argv("sudo -n ls")),
            ["given: sudo -n ls = deny by other-user", "sudo: ls = allow by read-files"]
        );
    }

    #[test]
    fn a_wrapper_without_a_command_is_asked_about() {
        assert_eq!(verdict(&argv("nohup")), "ask by wrapper: nohup has no command argument.");
    }

    #[test]
    fn busybox_without_a_command_prints_its_list() {
        assert_eq!(verdict(&argv("busybox")), "allow by wrapper: busybox has no command argument.");
    }

    #[test]
    fn command_v_only_looks_a_program_up() {
        assert_eq!(
            steps(&argv("command -v shutdown")),
            ["given: command -v shutdown = allow by wrapper"]
        );
    }

    #[test]
    fn a_package_of_the_worktree_runs_as_its_code() {
        let machine = Machine::with(&["node_modules/.bin/eslint"]);
        assert_eq!(
            machine.steps(&argv("npx eslint src")),
            [
                "given: npx eslint src = allow by wrapper",
                "npx: node_modules/.bin/eslint src = allow by worktree-program",
            ]
        );
    }

    #[test]
    fn a_package_that_is_not_installed_would_be_fetched() {
        assert_eq!(
            verdict(&argv("npx eslint src")),
            "ask by fetch-and-run: eslint is not installed in node_modules of the worktree, so it \
         would be fetched."
        );
    }

    #[test]
    fn options_before_the_subcommand_of_a_runner_hide_its_command() {
        assert_eq!(
            steps(&argv("poetry -q run git push -f")),
            [
                "given: poetry -q run git push -f = ask by wrapper",
                "given: git push -f = deny by git-push-force",
            ]
        );
    }

    #[test]
    fn commands_nested_too_deeply_are_asked_about() {
        let command = format!("{}git push -f", "nice ".repeat(13));
        assert_eq!(
            verdict(&argv(&command)),
            "ask by too-deep: Commands are nested more than 12 deep."
        );
    }
}
