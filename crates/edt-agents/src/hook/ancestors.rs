//! Finds an agent among the processes that started this one.
//!
//! An agent's shell may have a terminal of its own and no variable of the agent. Its processes
//! descend from the agent all the same, unless one of them detached itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use edt_io::processes::{self, Process};

/// The names of agents' programs. Editors with a terminal for their user are not listed.
const PROGRAMS: [&str; 21] = [
    "aider",
    "amp",
    "auggie",
    "claude",
    "cline",
    "codex",
    "copilot",
    "crush",
    "cursor-agent",
    "droid",
    "gemini",
    "goose",
    "junie",
    "kilo",
    "kilocode",
    "kimi",
    "opencode",
    "openhands",
    "plandex",
    "qwen",
    "windsurf-agent",
];

/// Packages of agents that an interpreter runs from a file with another name.
const PACKAGES: [[&str; 2]; 7] = [
    ["@anthropic-ai", "claude-code"],
    ["@github", "copilot"],
    ["@google", "gemini-cli"],
    ["@openai", "codex"],
    ["@qwen-code", "qwen-code"],
    ["@sourcegraph", "amp"],
    ["@augmentcode", "auggie"],
];

const INTERPRETERS: [&str; 6] = ["node", "nodejs", "bun", "deno", "python", "ruby"];

/// How far the search goes up.
const MAX_DEPTH: usize = 64;

/// The name of the agent that started this process, directly or not; `None` if there is none, or
/// if the system does not say.
#[must_use]
pub(super) fn agent() -> Option<String> {
    processes::ancestors().take(MAX_DEPTH).find_map(|process| agent_in(&process))
}

/// The agent that `process` is.
fn agent_in(process: &Process) -> Option<String> {
    let mut names = vec![process.name.as_slice()];
    names.extend(process.program.as_deref().and_then(Path::file_name).map(OsStr::as_bytes));
    let title = process.args.first().map(|arg| Path::new(OsStr::from_bytes(arg)));
    names.extend(title.and_then(Path::file_name).map(OsStr::as_bytes));
    if let Some(name) = names.iter().find_map(|name| listed(name)) {
        return Some(name.to_owned());
    }
    if !names.iter().any(|name| is_interpreter(name)) {
        return None;
    }
    let script = script(&process.args)?;
    let package = packaged(&script);
    package.or_else(|| listed(script.file_stem()?.as_bytes())).map(str::to_owned)
}

fn listed(name: &[u8]) -> Option<&'static str> {
    PROGRAMS.into_iter().find(|known| known.as_bytes() == name)
}

/// `python3.12` is one, too.
fn is_interpreter(name: &[u8]) -> bool {
    let name = name.iter().position(u8::is_ascii_digit).map_or(name, |at| &name[..at]);
    INTERPRETERS.iter().any(|known| known.as_bytes() == name)
}

/// The script, or the module after `-m`, that an interpreter with these arguments runs.
fn script(args: &[Vec<u8>]) -> Option<PathBuf> {
    let mut args = args.iter().skip(1).map(Vec::as_slice);
    loop {
        match args.next()? {
            b"-m" => return args.next().map(path),
            b"run" | b"--" => {}
            option if option.starts_with(b"-") => {}
            script => return Some(path(script)),
        }
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// The agent whose installed package has `script`.
fn packaged(script: &Path) -> Option<&'static str> {
    let parts: Vec<&OsStr> = script
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
        .collect();
    let has = |package: &[&str; 2]| {
        parts.windows(3).any(|three| {
            three[0] == "node_modules" && three[1] == package[0] && three[2] == package[1]
        })
    };
    PACKAGES.iter().find(|package| has(package)).map(|package| package[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, program: Option<&str>, args: &[&str]) -> Option<String> {
        agent_in(&Process {
            name: name.into(),
            program: program.map(PathBuf::from),
            args: args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        })
    }

    #[test]
    fn agents_are_found_by_program_title_script_module_and_package() {
        for (name, program, args) in [
            ("claude", Some("/home/u/.local/share/claude/versions/2.0.1"), &["claude"][..]),
            ("node", Some("/usr/bin/node"), &["node", "/usr/bin/gemini", "-p", "x"]),
            ("node", Some("/usr/bin/node"), &["/h/.local/bin/cursor-agent", "--x", "/h/index.js"]),
            ("MainThread", Some("/usr/bin/node"), &["node", "--no-warnings", "/h/bin/codex.js"]),
            ("codex", Some("/opt/codex"), &["codex"]),
            ("python3.12", Some("/usr/bin/python3.12"), &["python3", "/h/.local/bin/aider"]),
            ("python3", None, &["python3", "-m", "aider"]),
            ("bun", None, &["bun", "run", "/h/node_modules/@anthropic-ai/claude-code/cli.js"]),
            ("node", None, &["node", "/l/node_modules/@google/gemini-cli/dist/index.js"]),
        ] {
            assert!(found(name, program, args).is_some(), "{name} {args:?}");
        }
    }

    #[test]
    fn editors_shells_and_directories_with_an_agents_name_are_not_agents() {
        for (name, program, args) in [
            ("bash", Some("/usr/bin/bash"), &["-bash"][..]),
            ("tmux: server", Some("/usr/bin/tmux"), &["tmux", "new", "-s", "claude"]),
            ("cursor", Some("/usr/share/cursor/cursor"), &["/usr/share/cursor/cursor"]),
            ("code", Some("/usr/share/code/code"), &["/usr/share/code/code", "--type=zygote"]),
            ("zed-editor", Some("/opt/zed"), &["zed", "/home/u/claude"]),
            ("bash", Some("/usr/bin/bash"), &["bash", "/home/u/codex/run.sh"]),
            ("vim", Some("/usr/bin/vim"), &["vim", "gemini"]),
            ("node", Some("/usr/bin/node"), &["node", "/home/u/claude/server.js"]),
            ("node", Some("/usr/bin/node"), &["node", "/home/u/gemini-cli/index.js"]),
            ("node", Some("/home/claude/bin/node"), &["node", "/srv/app.js", "codex"]),
            ("make", Some("/usr/bin/make"), &["make", "claude"]),
            ("python3", None, &["python3", "-m", "http.server"]),
        ] {
            assert_eq!(found(name, program, args), None, "{name} {args:?}");
        }
    }

    #[test]
    fn the_search_ends() {
        // Whatever started the tests: the answer has one of the listed names.
        let known = |name: &String| {
            listed(name.as_bytes()).is_some() || PACKAGES.iter().any(|one| one[1] == name)
        };
        assert!(agent().as_ref().is_none_or(known));
    }
}
