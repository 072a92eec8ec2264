//! Which commands of an agent's shell edt can record: it then asks the agent to run `edt
//! agent-shell`, which runs the command.

use std::path::Path;

use edt_command::{CommandEvaluation, Decision, EvaluationStep, Origin};
use edt_io::fs;
use edt_types::text::shell_word;

/// Programs that need new privileges, trace others, use the terminal, go on in the background, or let
/// a server do the work. So does edt, which records by itself.
const NOT_WRAPPED: &[&str] = &[
    "bazel",
    "bazelisk",
    "bwrap",
    "chroot",
    "disown",
    "doas",
    "docker",
    "docker-compose",
    "edt",
    "emacs",
    "fzf",
    "gdb",
    "gradle",
    "gradlew",
    "htop",
    "less",
    "lldb",
    "ltrace",
    "man",
    "more",
    "mvnd",
    "nano",
    "nerdctl",
    "nohup",
    "nsenter",
    "nvim",
    "perf",
    "pkexec",
    "podman",
    "rr",
    "runuser",
    "screen",
    "script",
    "setpriv",
    "setsid",
    "ssh",
    "strace",
    "su",
    "sudo",
    "tmux",
    "top",
    "unshare",
    "vi",
    "vim",
    "watch",
    "watchman",
];

/// Whether a recorder can run the script in the shell's place.
pub(super) fn is_possible(script: &str, evaluation: &CommandEvaluation) -> bool {
    let name = |word: &String| Path::new(word).file_name().map(ToOwned::to_owned);
    let runs = |step: &EvaluationStep| step.argv.first().and_then(name);
    let mut programs = evaluation.steps.iter().filter_map(runs);
    !has_background(script) && !programs.any(|name| NOT_WRAPPED.iter().any(|one| name == *one))
}

/// The name of this program in a script, and the rule that allows it.
const EDT: &str = "edt";
/// The built-in rules of commands that write no file.
const READS: &[&str] = &["read-files", "system-information", "git-reads", "git-lists", "find"];
/// Programs of these rules that write a file with some option.
const MAY_WRITE: &[&str] = &["file", "tree"];
/// edt's commands that record what they change, or change nothing.
const EDT_COMMANDS: &[&str] = &[
    "apply",
    "check",
    "diff",
    "explain",
    "guards",
    "land",
    "log",
    "ls",
    "outline",
    "propose",
    "proposals",
    "read",
    "redo",
    "restore",
    "revert",
    "run",
    "search",
    "show",
    "stats",
    "status",
    "undo",
];
/// The first letters of the actions of `find` that do more than print.
const FIND_WRITES: &[&str] = &["-exec", "-ok", "-delete", "-fprint", "-fls"];

/// Whether nothing needs to be recorded: the script consists of commands that only read, and of edt,
/// which records by itself. It redirects nothing; a `>` in quotes counts, too.
pub(super) fn needs_no_record(script: &str, evaluation: &CommandEvaluation) -> bool {
    let reads = |step: &EvaluationStep| {
        let writes = |word: &String| FIND_WRITES.iter().any(|action| word.starts_with(action));
        let words: Vec<&str> = step.argv.iter().take(2).map(String::as_str).collect();
        let records_itself = match words.as_slice() {
            [EDT, command] => step.rule == EDT && EDT_COMMANDS.contains(command),
            _ => false,
        };
        let reads = READS.contains(&step.rule.as_str())
            && !words.first().is_some_and(|name| MAY_WRITE.contains(name));
        step.origin == Origin::BuiltIn
            && (records_itself || reads)
            && !(step.rule == "find" && step.argv.iter().any(writes))
    };
    // The first step is the shell itself.
    let steps = evaluation.steps.get(1..).unwrap_or_default();
    evaluation.decision == Decision::Allow
        && !script.contains('>')
        && !steps.is_empty()
        && steps.iter().all(reads)
}

/// Whether an `&` may start a process in the background. One in quotes counts, too.
fn has_background(script: &str) -> bool {
    let bytes = script.as_bytes();
    let at = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied();
    memchr::memchr_iter(b'&', bytes).any(|found| {
        let (before, after) = (at(found.checked_sub(1)), at(Some(found + 1)));
        // `a && b`, `2>&1`, `<&3`, `&> file`
        !matches!(before, Some(b'&' | b'>' | b'<')) && !matches!(after, Some(b'&' | b'>'))
    })
}

/// One word for every shell: not all know the form `$'…'`.
fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', "'\\''"))
}

/// The command that runs `script`, which a hook judged under `name`.
pub(super) fn command(agent: &str, name: &str, script: &str) -> std::io::Result<String> {
    use std::os::unix::ffi::OsStrExt as _;
    let edt = fs::current_program()?;
    let edt = shell_word(edt.as_os_str().as_bytes());
    Ok(format!("{edt} agent-shell {agent} {name} {}", quoted(script)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_the_background_is_recognised() {
        for script in ["sleep 9 &", "a & b", "(a&)", "a & wait", "echo '&'"] {
            assert!(has_background(script), "{script}");
        }
        for script in ["a && b", "a 2>&1", "a &> f", "a <&3", "a", "a >& f"] {
            assert!(!has_background(script), "{script}");
        }
    }

    #[test]
    fn the_command_of_a_script_is_one_word_in_every_shell() {
        let line = command("gemini", "12ab", "echo 'it'\nls").unwrap();
        assert!(line.contains(" agent-shell gemini 12ab "), "{line}");
        assert!(line.ends_with("'echo '\\''it'\\''\nls'"), "{line}");
    }
}
