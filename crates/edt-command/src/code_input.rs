//! Whether a command runs what it reads from standard input.

use super::builtin;
use super::shell::SHELLS;

/// Words that run the program that follows them, or are options of one that does.
const LEADING: [&str; 12] = [
    "sudo", "doas", "env", "exec", "command", "builtin", "nohup", "nice", "time", "timeout",
    "xargs", "stdbuf",
];

/// Whether the name is that of a shell or an interpreter.
pub(super) fn is_interpreter(name: &str) -> bool {
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    SHELLS.contains(&name)
        || builtin::interpreters()
            .iter()
            .any(|one| one.names.iter().any(|name| name == unversioned))
}

/// Whether a command runs what it reads from standard input.
pub(super) fn runs_its_input(words: &[String]) -> bool {
    let leads = |word: &&String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        LEADING.contains(&name)
            || word.starts_with('-')
            || word.contains('=')
            || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let before = words.iter().take_while(leads).count();
    let Some((program, args)) = words[before..].split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_input = |arg: &String| arg == "-" || arg == "/dev/stdin" || arg.starts_with("/dev/fd/");
    if matches!(name, "source" | ".") {
        return args.iter().any(is_input);
    }
    if name == "parallel" || !is_interpreter(name) {
        return name == "parallel";
    }
    let is_shell = SHELLS.contains(&name);
    if words[..before].iter().any(|word| word == "xargs") && is_shell {
        return true;
    }
    let mut options = args.iter().take_while(|arg| arg.starts_with('-') || arg.starts_with('+'));
    let is_code = |arg: &String| {
        let short = !arg.starts_with("--");
        if is_shell {
            short && arg.contains('c')
        } else {
            arg.contains('e') || short && arg.contains(['c', 'm', 'r', 'p', 'n'])
        }
    };
    if args.iter().any(|arg| is_shell && arg == "-s") {
        return true;
    }
    let has_code = options.any(is_code);
    let operand = args.iter().find(|arg| !arg.starts_with(['-', '+']));
    !has_code && operand.is_none_or(is_input)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_runs_its_input_if_it_has_no_code_of_its_own() {
        for (text, runs) in [
            ("sh", true),
            ("sudo -E bash -", true),
            ("bash -s -- --yes", true),
            ("env A=1 python3", true),
            ("xargs sh -c", true),
            ("source /dev/stdin", true),
            ("python3 -m json.tool", false),
            ("python3 parse.py", false),
            ("bash -c ls", false),
            ("grep bash", false),
            ("node -e 1", false),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(super::runs_its_input(&words), runs, "{text}");
        }
    }
}
