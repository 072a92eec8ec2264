//! What the record of refusals keeps of a command.

use edt_guard::guard::secret;

/// Programs whose next word says what they do.
const WITH_SUBCOMMAND: [&str; 24] = [
    "apt",
    "apt-get",
    "brew",
    "bun",
    "cargo",
    "docker",
    "edt",
    "gh",
    "git",
    "go",
    "helm",
    "just",
    "kubectl",
    "make",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
    "zig",
];
/// The longest word that is kept, in bytes.
const MAX_WORD: usize = 32;

/// The name of the first program of the shell script `script`, and its subcommand if it has one;
/// `…` stands for the rest. Any argument, assignment and quoted text may be a credential.
pub(super) fn shape(script: &str) -> String {
    let mut rest = script.trim();
    loop {
        let (word, after) = word(rest);
        if !is_assignment(word) {
            break;
        }
        // What no shell script has after an assignment is a part of the value.
        rest = after.trim_start();
        rest = [";", "&&"].iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
        rest = rest.trim_start();
    }
    let (first, after) = word(rest);
    let Some(program) = program(first) else { return "…".to_owned() };
    let mut kept = program.to_owned();
    let mut rest = after;
    if WITH_SUBCOMMAND.contains(&program) && !rest.starts_with(is_separator) {
        let (second, after) = word(rest.trim_start_matches([' ', '\t']));
        if is_subcommand(second) {
            kept = format!("{kept} {second}");
            rest = after;
        }
    }
    if rest.trim().is_empty() { kept } else { kept + " …" }
}

/// The text before the next white space or separator of commands, and the rest.
fn word(script: &str) -> (&str, &str) {
    let end = script.find(|c: char| c.is_whitespace() || is_separator(c));
    script.split_at(end.unwrap_or(script.len()))
}

const fn is_separator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '\n')
}

/// Whether `word` is an assignment, and ends where it seems to: nothing in it is quoted.
fn is_assignment(word: &str) -> bool {
    const QUOTES: [char; 9] = ['\'', '"', '\\', '`', '$', '(', ')', '<', '>'];
    word.split_once('=').is_some_and(|(name, value)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name) && !value.contains(QUOTES)
    })
}

/// The name of the program that `word` names, without its directory.
fn program(word: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= MAX_WORD
        && word.chars().all(is_plain)
        && !secret::is_in(name.as_bytes());
    is_name.then_some(name)
}

/// Whether `word` looks like a subcommand: a few small letters.
fn is_subcommand(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.len() <= MAX_WORD
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_program_and_its_subcommand() {
        for (script, kept) in [
            ("git push --force origin main", "git push …"),
            ("git push", "git push"),
            ("  git\tstatus ; rm x", "git status …"),
            ("git -C x push", "git …"),
            ("git; push", "git …"),
            ("git\npush", "git …"),
            ("rm -rf build", "rm …"),
            ("/usr/bin/rm x", "rm …"),
            ("make db-reset", "make db-reset"),
            ("sh -c 'x'", "sh …"),
            ("A=1 B=2 cargo test", "cargo test"),
            ("a=1;git push", "git push"),
            ("a=1\nb=2 && git push", "git push"),
            ("", "…"),
        ] {
            assert_eq!(shape(script), kept, "{script:?}");
        }
    }

    #[test]
    fn no_argument_and_no_assignment_is_kept() {
        let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5");
        for (script, kept) in [
            ("GITHUB_TOKEN=hunter git push", "git push"),
            ("token=hunter;git push", "git push"),
            ("token=hunter;echo hunter", "echo …"),
            ("PGPASSWORD=hunter psql", "psql"),
            ("A='x; hunter y' git push", "…"),
            ("A=\"x hunter\" git push", "…"),
            ("A=x\\ hunter git push", "…"),
            ("A=$(echo hunter) git push", "…"),
            ("A=x&hunter git push", "…"),
            ("A=x|hunter git push", "…"),
            ("'hunter' git push", "…"),
            ("echo hunter | docker login", "echo …"),
            ("mysql -phunter", "mysql …"),
            ("curl -u hunter:hunter http://x", "curl …"),
            ("git clone https://hunter@x/y", "git clone …"),
            ("git https://a:hunter@x/y", "git …"),
            ("https://a:hunter@x/y", "…"),
            ("curl -H 'Authorization: Basic hunter'", "curl …"),
            ("printf 'X=hunter' > .env", "printf …"),
            ("cat <<E\nhunter\nE", "cat …"),
            ("docker hunter2", "docker …"),
            (&token, "…"),
            (&format!("git {token}"), "git …"),
        ] {
            assert_eq!(shape(script), kept, "{script:?}");
        }
    }
}
