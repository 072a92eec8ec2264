//! `edt setup validators`: `[[validator]]` entries for the programs that are here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::super::terminal_user;
use super::super::user_files::user_directory;
use edt_agents::guide::Fences;
use edt_agents::hook::plumbing::Git;
use edt_agents::setup::{Fence, Form, ManagedFile, Purpose, Scope, SetupTarget};
use edt_io::disk::MAX_FILE;
use edt_io::{Environment, bounded, fs};
use edt_types::{Code, Effect, Finding, Result};

/// A program that checks one file by itself, without the rest of its project.
struct Checker {
    /// The programs that can do it; the first one that is here does.
    programs: &'static [&'static str],
    /// The ends of the names of the files that it checks.
    extensions: &'static [&'static str],
    /// Its arguments; `{flags}` stands for those of the compilation database.
    args: &'static [&'static str],
}

/// Warnings of `-Wall` are shown; an error is what refuses.
const C: &[&str] = &["-fsyntax-only", "-Wall", "{flags}", "-iquote", "{dir}", "{file}"];

/// None of them runs what the file contains.
const CHECKERS: &[Checker] = &[
    Checker { programs: &["gcc", "clang"], extensions: &["c"], args: C },
    Checker { programs: &["g++", "clang++"], extensions: &["cc", "cpp", "cxx"], args: C },
    // Syntax errors, and names that are not defined.
    Checker {
        programs: &["ruff"],
        extensions: &["py"],
        args: &[
            "check",
            "--quiet",
            "--no-cache",
            "--isolated",
            "--select",
            "E9,F63,F7,F82",
            "{file}",
        ],
    },
    Checker {
        programs: &["python3"],
        extensions: &["py"],
        args: &["-I", "-m", "py_compile", "{file}"],
    },
    Checker { programs: &["gofmt"], extensions: &["go"], args: &["-e", "{file}"] },
    Checker { programs: &["bash"], extensions: &["sh", "bash"], args: &["-n", "{file}"] },
    Checker { programs: &["php"], extensions: &["php"], args: &["-n", "-l", "{file}"] },
    Checker { programs: &["ruby"], extensions: &["rb"], args: &["-c", "{file}"] },
    Checker { programs: &["luac"], extensions: &["lua"], args: &["-p", "{file}"] },
    Checker { programs: &["zig"], extensions: &["zig"], args: &["ast-check", "{file}"] },
];

/// Programs that write about a text that they accept, even if there is nothing to say.
const CHATTY: &[&str] = &["gofmt", "php", "ruby"];

/// A program that takes longer is no help while an agent works.
const TIMEOUT_MS: u32 = 5000;

/// Where a compilation database is, from the root.
const DATABASES: [&str; 3] =
    ["compile_commands.json", "build/compile_commands.json", "out/compile_commands.json"];

/// Most directories of headers that are taken from a compilation database.
const MAX_DIRECTORIES: usize = 64;

const FENCES: Fences =
    Fences { begin: "# BEGIN edt setup validators", end: "# END edt setup validators" };

/// The file with the entries, and what the user has to know.
///
/// # Errors
/// `BAD_REQUEST` if there is no program for a file of the project; `APPROVAL_REQUIRED` if anyone but
/// the user adds programs to the user's own `edt.toml`.
pub(super) fn managed(target: &SetupTarget, changes: bool) -> Result<(ManagedFile, Vec<String>)> {
    let file = match target.scope {
        Scope::Project => target.root.join("edt.toml"),
        Scope::User => {
            if changes {
                terminal_user::require_user("edt setup validators --scope user")?;
            }
            let config = user_directory("XDG_CONFIG_HOME", ".config").ok_or_else(super::no_home)?;
            config.join("edt/edt.toml")
        }
    };
    let extensions = match target.scope {
        Scope::Project => Some(extensions_of(&target.root)?),
        Scope::User => None,
    };
    let database = if target.scope == Scope::Project { Database::of(&target.root) } else { None };
    let mut lines = String::new();
    let mut checked: BTreeSet<&str> = BTreeSet::new();
    for checker in CHECKERS {
        let is_wanted = |extension: &&&str| {
            extensions.as_ref().is_none_or(|here| here.contains(**extension))
                && !checked.contains(**extension)
        };
        let wanted: Vec<&str> = checker.extensions.iter().filter(is_wanted).copied().collect();
        let is_here = |name: &&&str| bounded::find(Environment::Process, name).is_some();
        let Some(program) = checker.programs.iter().find(is_here).filter(|_| !wanted.is_empty())
        else {
            continue;
        };
        let flags = database.as_ref().map(|database| database.flags(&wanted)).unwrap_or_default();
        lines.push_str(&entry(program, &wanted, checker.args, &flags));
        checked.extend(wanted);
    }
    if lines.is_empty() {
        let programs: Vec<&str> =
            CHECKERS.iter().flat_map(|checker| checker.programs).copied().collect();
        return Err(Finding::new(
            Code::BadRequest,
            "No program that checks a file of this project was found.",
            format!("Install one of {}; or write a [[validator]] by hand.", programs.join(", ")),
        )
        .with_effect(Effect::NothingWritten)
        .into());
    }
    let mut notes = vec![match target.scope {
        Scope::Project => {
            "They do not run yet: commit edt.toml, then type `edt trust` in a terminal.".to_owned()
        }
        Scope::User => "They run from now on, in every repository.".to_owned(),
    }];
    notes.push(
        "Each sees one file. What needs the whole project runs with `edt run -- cargo check` (go \
         vet, tsc)."
            .to_owned(),
    );
    let fence = Fence { fences: FENCES, lines, keys: &[] };
    Ok((ManagedFile { file, purpose: Purpose::Settings, form: Form::Fence(fence) }, notes))
}

/// One `[[validator]]`.
fn entry(program: &str, extensions: &[&str], args: &[&str], flags: &[String]) -> String {
    let paths: Vec<String> = extensions.iter().map(|one| format!("**/*.{one}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut command = vec![program];
    for arg in args {
        match *arg {
            "{flags}" => command.extend(flags.iter().map(String::as_str)),
            arg => command.push(arg),
        }
    }
    let list = |parts: &[&str]| parts.iter().copied().collect::<toml_edit::Array>().to_string();
    let mut out = String::new();
    let _ = write!(
        out,
        "[[validator]]\nname = \"{program}\"\npaths = {}\ncommand = {}\ntimeout_ms = {TIMEOUT_MS}\n",
        list(&paths),
        list(&command)
    );
    if !CHATTY.contains(&program) {
        out.push_str("warnings = true\n");
    }
    out.push('\n');
    out
}

/// The ends of the names of the tracked files.
fn extensions_of(root: &Path) -> Result<BTreeSet<String>> {
    let answer = Git::at(root).run(&["ls-files", "-z"], b"")?;
    let names = answer.stdout.split(|byte| *byte == 0);
    let end = |name: &[u8]| {
        let at = name.iter().rposition(|byte| *byte == b'.')?;
        String::from_utf8(name[at + 1..].to_vec()).ok()
    };
    Ok(names.filter_map(end).collect())
}

/// What a compilation database says of one file.
#[derive(Debug, Deserialize)]
struct Compiled {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

/// A compilation database: <https://clang.llvm.org/docs/JSONCompilationDatabase.html>.
struct Database {
    root: PathBuf,
    files: Vec<(Compiled, Vec<String>)>,
}

impl Database {
    /// The project's, if it has one that can be read.
    fn of(root: &Path) -> Option<Database> {
        let read = |name: &&str| fs::read_file_limited(&root.join(name), MAX_FILE).ok().flatten();
        let text = DATABASES.iter().find_map(read)?;
        let compiled: Vec<Compiled> = serde_json::from_slice(&text).ok()?;
        let words = |mut one: Compiled| {
            let split = one.command.take().and_then(|command| shlex::split(&command));
            let words = one.arguments.take().or(split)?;
            Some((one, words))
        };
        let files = compiled.into_iter().filter_map(words).collect();
        Some(Database { root: root.to_owned(), files })
    }

    /// The directories of headers of any file with such an extension, and the macros and standard
    /// that all of them have.
    fn flags(&self, extensions: &[&str]) -> Vec<String> {
        let is_meant = |file: &Path| {
            file.extension().is_some_and(|one| extensions.iter().any(|extension| one == *extension))
        };
        let files: Vec<&(Compiled, Vec<String>)> =
            self.files.iter().filter(|(one, _)| is_meant(&one.file)).collect();
        let (mut directories, mut common): (Vec<[String; 2]>, Option<Vec<String>>) =
            (Vec::new(), None);
        for (one, words) in files {
            let mut settings = Vec::new();
            let mut words = words.iter();
            while let Some(word) = words.next() {
                let includes = ["-I", "-isystem", "-iquote"];
                if let Some(flag) = includes.iter().find(|flag| word.starts_with(**flag)) {
                    let attached = word[flag.len()..].to_owned();
                    let place =
                        if attached.is_empty() { words.next().cloned() } else { Some(attached) };
                    let place = place.map(|place| self.place(&one.directory, Path::new(&place)));
                    let pair = place.map(|place| [(*flag).to_owned(), place]);
                    directories.extend(pair.filter(|pair| !directories.contains(pair)));
                } else if word == "-D" {
                    settings.extend(words.next().map(|name| format!("-D{name}")));
                } else if word.starts_with("-D") || word.starts_with("-std=") {
                    settings.push(word.clone());
                }
            }
            common = Some(match common {
                None => settings,
                Some(mut common) => {
                    common.retain(|setting| settings.contains(setting));
                    common
                }
            });
        }
        let directories = directories.into_iter().take(MAX_DIRECTORIES).flatten();
        common.unwrap_or_default().into_iter().chain(directories).collect()
    }

    /// A directory, from the root if it is below it.
    fn place(&self, directory: &Path, place: &Path) -> String {
        let mut whole = PathBuf::new();
        for part in self.root.join(directory).join(place).components() {
            match part {
                Component::ParentDir => drop(whole.pop()),
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        match whole.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => "{root}".to_owned(),
            Ok(below) => format!("{{root}}/{}", below.to_string_lossy()),
            Err(_) => whole.to_string_lossy().into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_guard::policy::Policy;

    #[test]
    fn every_entry_is_a_validator() {
        let text: String = CHECKERS
            .iter()
            .map(|one| {
                entry(one.programs[0], one.extensions, one.args, &["-DA=\"b c\"".to_owned()])
            })
            .collect();
        let policy = Policy::of(None, Some(&text)).unwrap();
        assert_eq!(policy.validators.len(), CHECKERS.len());
        assert_eq!(policy.validators[0].command[3], "-DA=\"b c\"");
        assert!(policy.validators[0].warnings && !policy.validators[4].warnings);
    }

    #[test]
    fn flags_of_the_compilation_database_are_those_of_every_file() {
        let dir = edt_testkit::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir(root.join("build")).unwrap();
        let database = serde_json::json!([
            {"directory": root.join("build"), "file": "../a.c",
             "command": "cc -I../include -isystem /opt/x -DA='b c' -DONE -std=c11 -c ../a.c"},
            {"directory": root.join("build"), "file": "../b.c",
             "arguments": ["cc", "-I", "../include", "-I..", "-D", "A=b c", "-std=c11", "../b.c"]},
            {"directory": root.join("build"), "file": "../c.cc", "command": "c++ -DCPP ../c.cc"},
        ]);
        std::fs::write(root.join(DATABASES[1]), database.to_string()).unwrap();
        let database = Database::of(root).unwrap();
        let expected =
            ["-DA=b c", "-std=c11", "-I", "{root}/include", "-isystem", "/opt/x", "-I", "{root}"];
        assert_eq!(database.flags(&["c"]), expected);
        assert_eq!(database.flags(&["cc", "cpp"]), ["-DCPP"]);
        assert_eq!(database.flags(&["rs"]), [""; 0]);
    }
}
