//! `edt demo`: a scripted agent in a scratch repository. The demo uses no network and no model, and
//! writes only below one temporary directory.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::render::{DIM, NAME, NOTE, paint};
use edt_io::{environment, fs, spawn};
use edt_types::text::{Shown as _, shell_word};
use edt_types::{Code, Finding, Result, Status};

/// Play a scripted agent in a scratch repository: edits, refusals that teach, an undo, and the
/// landing.
///
/// Each command is printed as you would type it, then runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt demo")]
pub(super) struct Args {
    /// Create the scratch repository in DIR, which must not exist.
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let dir = self.at.clone().unwrap_or_else(|| {
            environment::temporary_dir().join(format!("edt-demo-{}", std::process::id()))
        });
        let program = environment::current_program()
            .map_err(|error| edt_io::failed("find the program edt, started as", &dir, &error))?;
        Demo { context, program, dir }.play()?;
        Ok(Status::Applied)
    }
}

/// How a command of the demo must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Done,
    Refused,
}

/// One command of the demo.
struct Step {
    /// Who does what, and why.
    says: &'static str,
    /// The program, `edt` or `git`, and its arguments.
    call: &'static [&'static str],
    /// What the command reads from standard input.
    input: &'static str,
    ending: Ending,
}

const fn done(says: &'static str, call: &'static [&'static str]) -> Step {
    Step { says, call, input: "", ending: Ending::Done }
}

const fn refused(says: &'static str, call: &'static [&'static str]) -> Step {
    Step { says, call, input: "", ending: Ending::Refused }
}

/// The words of `edt apply` for a file and a mode, and further arguments.
macro_rules! apply {
    ($path:expr, $mode:expr, $($rest:expr),*) => {
        &["edt", "apply", $path, "--mode", $mode, $($rest),*]
    };
}

/// The commands of the demo. A test runs them.
const STEPS: &[Step] = &[
    done(
        "An agent adds subtraction: one edit, which becomes one commit on a session branch.",
        apply!(
            "src/calc.c",
            "insert_after_symbol",
            "--symbol",
            "add",
            "--content",
            "int sub(int a, int b)\n{\n\treturn a - b;\n}",
            "-m",
            "calc: subtract"
        ),
    ),
    refused(
        "The agent wants to change one line, but sends only that line as the whole file.",
        apply!("src/calc.c", "overwrite", "--content", "}"),
    ),
    refused(
        "The agent remembers a line almost correctly. edt does not guess; it shows the nearest place.",
        apply!(
            "src/calc.c",
            "edit",
            "--old-text",
            "    return a - b;",
            "--content",
            "\treturn b - a;"
        ),
    ),
    refused(
        "The agent wants to add a target to the Makefile, but sends no text to replace.",
        apply!("Makefile", "edit", "--content", "test: calc\n\t./calc 2 3\n"),
    ),
    done(
        "The refusal said what to send instead: append. Tabs remain tabs.",
        apply!(
            "Makefile",
            "append",
            "--content",
            "\ntest: calc\n\t./calc 2 3\n",
            "-m",
            "make: a test target"
        ),
    ),
    Step {
        says: "Two files change in one transaction: both or neither.",
        call: &["edt", "apply", "--request", "-"],
        input: r#"{"message": "rename the source", "agent": "demo", "edits": [
  {"path": "src/calc.c", "mode": "rename", "to": "src/main.c"},
  {"path": "Makefile", "mode": "edit", "old_text": "src/calc.c", "content": "src/main.c",
   "replace_all": true}]}
"#,
        ending: Ending::Done,
    },
    done("You reject the last edit.", &["edt", "undo"]),
    done("What is left of the session, edit by edit:", &["edt", "log"]),
    done(
        "You review it. `edt review` shows the same in your browser.",
        &["edt", "diff", "Makefile"],
    ),
    done(
        "You land it: one ordinary commit on your branch.",
        &["edt", "land", "-m", "calc: subtract, and a test target"],
    ),
    done("For Git it is an ordinary commit.", &["git", "log", "--oneline", "--stat", "-1"]),
];

struct Demo<'c> {
    context: &'c Context,
    /// The program edt.
    program: PathBuf,
    dir: PathBuf,
}

impl Demo<'_> {
    fn play(&self) -> Result<()> {
        self.set_up()?;
        for step in STEPS {
            self.print_human(&format!("\n{} {}", paint(NAME, "--"), step.says));
            self.print_human(&as_typed(step));
            self.run(step)?;
        }
        self.print_human(&self.farewell());
        Ok(())
    }

    fn set_up(&self) -> Result<()> {
        if self.dir.exists() {
            let message = format!("{} already exists.", self.dir.shown());
            return Err(Finding::new(
                Code::FileExists,
                message,
                "Name a directory that does not exist with --at.",
            )
            .into());
        }
        let fail = |error: std::io::Error| {
            edt_io::failed("make the scratch repository at", &self.dir, &error)
        };
        fs::make_dir(&self.dir.join("src")).map_err(fail)?;
        fs::write_in_place(&self.dir.join("src/calc.c"), source().as_bytes()).map_err(fail)?;
        fs::write_in_place(
            &self.dir.join("Makefile"),
            b"calc: src/calc.c\n\tcc -o calc src/calc.c\n",
        )
        .map_err(fail)?;
        self.git(&["init", "-q", "-b", "main"])?;
        // The user's own hooks and signing key are not for a scratch repository.
        for (key, value) in [
            ("user.name", "A User"),
            ("user.email", "user@example.com"),
            ("core.hooksPath", ".git/hooks"),
            ("commit.gpgSign", "false"),
        ] {
            self.git(&["config", key, value])?;
        }
        self.git(&["add", "."])?;
        self.git(&["commit", "-q", "-m", "a small calculator"])?;
        Ok(())
    }

    /// Runs the command of `step` in the scratch repository and prints what it prints.
    fn run(&self, step: &Step) -> Result<()> {
        let [program, args @ ..] = step.call else { return Ok(()) };
        if *program == "git" {
            let printed = self.git(args)?;
            self.print_human(&printed);
            return Ok(());
        }
        let json = self.context.json.then_some("--json");
        let args: Vec<&str> = args.iter().copied().chain(json).collect();
        // What is printed loses its colors again if standard output is no terminal.
        let env = [("CLICOLOR_FORCE", OsStr::new("1"))];
        let input = step.input.as_bytes();
        let ran = spawn::in_new_directory(&self.program, &self.dir, &args, input, &env)?;
        let printed = [&String::from_utf8_lossy(&ran.stdout), ran.stderr.as_str()].concat();
        if ran.ok != (step.ending == Ending::Done) {
            let message = format!("`{}` ended otherwise than the demo expects.", as_typed(step));
            let hint = format!("It printed: {}", printed.trim_end());
            return Err(Finding::new(Code::IoError, message, hint).into());
        }
        self.context.print(printed.trim_end());
        Ok(())
    }

    fn farewell(&self) -> String {
        let dir = shell_word(self.dir.as_os_str().as_bytes());
        let mut out = format!("\n{}\n", paint(NOTE, "Try next, in the scratch repository:"));
        let mut line = |command: &str, about: &str| {
            let _ = writeln!(out, "  {command:<36} {}", paint(DIM, about));
        };
        line(&format!("cd {dir}"), "# its branch is main");
        line("edt log main-1", "# one commit per edit, still available");
        line("edt review main-1", "# in your browser");
        line("edt land --undo", "# takes the landing back; `edt switch main-1` goes on");
        line(&format!("rm -r {dir}"), "# when done");
        out
    }

    /// Prints `text`, except with `--json`, which prints only the answers, one per line.
    fn print_human(&self, text: &str) {
        if !self.context.json {
            self.context.print(text);
        }
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let ran = spawn::in_new_directory(Path::new("git"), &self.dir, args, b"", &[])?;
        if !ran.ok {
            let message = format!("git {} failed: {}", args.join(" "), ran.stderr.trim());
            return Err(
                Finding::new(Code::IoError, message, "The demo needs Git 2.39 or newer.").into()
            );
        }
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

/// The command of `step` as the user would type it.
fn as_typed(step: &Step) -> String {
    let words = step.call.iter().map(|word| {
        // Between single quotes a shell keeps line ends and tabs.
        if word.contains(['\n', '\t']) { format!("'{word}'") } else { shell_word(word.as_bytes()) }
    });
    let mut typed = format!("$ {}", words.collect::<Vec<_>>().join(" "));
    if !step.input.is_empty() {
        let _ = write!(typed, " <<'END'\n{}END", step.input);
    }
    typed
}

/// A file large enough that replacing it with a fragment triggers the size guard.
fn source() -> String {
    let mut out = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n\nint add(int a, int b)\n{\n\treturn a + b;\n}\n\n",
    );
    for n in 1..=24 {
        let _ = writeln!(
            out,
            "/* entry {n:2} of a table that somebody wrote by hand */\nstatic const int value_{n} = {};",
            n * n
        );
    }
    out.push_str("\nint main(int argc, char **argv)\n{\n\tif (argc != 3)\n\t\treturn 1;\n\tprintf(\"%d\\n\", add(atoi(argv[1]), atoi(argv[2])));\n\treturn 0;\n}\n");
    out
}
