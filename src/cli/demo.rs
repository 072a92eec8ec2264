//! `edt demo`: a scripted agent in a scratch repository. The demo uses no network and no model, and
//! writes only below one temporary directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::context::Context;
use super::log::Line;
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint};
use edt_core::session::back::undo::{self, UndoTarget};
use edt_core::session::worktree::options::Options;
use edt_core::session::{LockedWorkspace, Session};
use edt_core::txn::{self, Request};
use edt_io::{Environment, fs, spawn};
use edt_types::text::{Shown as _, counted};
use edt_types::{Code, DryRun, Finding, Outcome, Result, Status};

/// Play a scripted agent in a scratch repository: edits, refusals that teach, an undo, and the
/// landing.
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
            edt_io::environment::temporary_dir().join(format!("edt-demo-{}", std::process::id()))
        });
        let demo = Demo { context, dir };
        demo.play()?;
        Ok(Status::Applied)
    }
}

struct Demo<'c> {
    context: &'c Context,
    dir: PathBuf,
}

impl Demo<'_> {
    fn play(&self) -> Result<()> {
        self.set_up()?;
        let path = "src/calc.c";
        self.narrate(
            "An agent adds subtraction: one edit, which becomes one commit on a shadow branch.",
        );
        self.send(&json!({"message": "calc: subtract", "agent": "demo", "path": path, "mode": "edit",
            "old_text": "int add(int a, int b)\n{\n\treturn a + b;\n}\n",
            "content": "int add(int a, int b)\n{\n\treturn a + b;\n}\n\nint sub(int a, int b)\n{\n\treturn a - b;\n}\n"}));
        self.narrate(
            "The agent wants to change one line, but sends only that line as the whole file.",
        );
        self.send(&json!({"path": path, "mode": "overwrite", "content": "}\n"}));
        self.narrate(
            "The agent remembers a line almost correctly. edt does not guess; it shows the nearest place.",
        );
        self.send(
            &json!({"path": path, "mode": "edit", "old_text": "    return a - b;", "content": "\treturn b - a;"}),
        );
        self.narrate(
            "The agent wants to add a target to the Makefile, but sends no text to replace.",
        );
        self.send(
            &json!({"path": "Makefile", "mode": "edit", "content": "test: calc\n\t./calc 2 3\n"}),
        );
        self.narrate("The refusal said what to send instead: append. Tabs remain tabs.");
        self.send(&json!({"message": "make: a test target", "agent": "demo", "path": "Makefile", "mode": "append", "content": "\ntest: calc\n\t./calc 2 3\n"}));
        self.narrate("Two files change in one transaction: both or neither.");
        self.send(&json!({"message": "rename the source", "agent": "demo", "edits": [
            {"path": path, "mode": "rename", "to": "src/main.c"},
            {"path": "Makefile", "mode": "edit", "old_text": "src/calc.c", "content": "src/main.c", "replace_all": true}]}));
        self.narrate("The user rejects the last edit: edt undo.");
        let mut workspace = self.workspace()?;
        let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
        let moved = undo::undo(
            &mut workspace,
            &session,
            &UndoTarget::Edits(1),
            undo::MoveOptions::default(),
        )?;
        self.print_human(&format!(
            "{}: back at {}, {} restored",
            paint(GOOD, "undone"),
            moved.to.to_hex_with_len(12),
            counted(moved.files.len(), "file")
        ));
        let session = Session { tip: moved.to, ..session };
        self.narrate("The session now:");
        for commit in session.commits(&workspace.repo) {
            self.print_human(&Line::of(&commit?).render_human());
        }
        drop(workspace);
        self.land(&session)
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
        self.git(&["config", "user.name", "A User"])?;
        self.git(&["config", "user.email", "user@example.com"])?;
        self.git(&["add", "."])?;
        self.git(&["commit", "-q", "-m", "a small calculator"])?;
        Ok(())
    }

    fn land(&self, session: &Session) -> Result<()> {
        let branch = format!("edt/{}", session.name);
        self.narrate("The session lands with plain Git:");
        for args in [
            vec!["switch", "-q", "main"],
            vec!["merge", "--squash", "-q", &branch],
            vec!["commit", "-q", "-m", "calc: subtract, and a test target"],
        ] {
            self.print_human(&format!("$ git {}", args.join(" ")));
            self.git(&args)?;
        }
        let log = self.git(&["log", "--oneline", "--stat", "-1"])?;
        self.print_human(&log);
        let dir = self.dir.shown();
        let mut out = format!("{}\n", paint(NOTE, "Try next, in the scratch repository:"));
        let _ = writeln!(out, "  cd {dir}");
        let _ = writeln!(
            out,
            "  git log --oneline {branch}        {}",
            paint(DIM, "# one commit per edit, still available")
        );
        let _ = writeln!(
            out,
            "  edt apply src/calc.c --mode edit --old-text 'a - b' --content 'b - a'"
        );
        let _ = writeln!(out, "  edt status; edt undo; edt redo");
        let _ = writeln!(out, "  rm -r {dir}        {}", paint(DIM, "# when done"));
        self.print_human(&out);
        Ok(())
    }

    fn narrate(&self, what: &str) {
        self.print_human(&format!("\n{} {what}", paint(NAME, "--")));
    }

    /// Prints `text`, except with `--json`, which prints only the answers, one per line.
    fn print_human(&self, text: &str) {
        if !self.context.json {
            self.context.print(text);
        }
    }

    /// Sends a request as an agent would, and prints the answer that the agent sees.
    fn send(&self, request: &serde_json::Value) {
        let applied = Request::from_json(request.to_string().as_bytes())
            .and_then(|request| txn::transact(&mut self.workspace()?, &request, DryRun::No));
        match applied {
            Ok(outcome) if self.context.json => self.context.print(&render::json(&outcome)),
            Ok(outcome) => self.context.print(&brief(&outcome)),
            Err(findings) => {
                let status = findings.status();
                let outcome = render::refusal(findings, status);
                if self.context.json {
                    return self.context.print(&render::json(&outcome));
                }
                self.context.print(&format!(
                    "{}\n{}",
                    paint(BAD, "refused, nothing changed"),
                    render::refused(&outcome)
                ));
            }
        }
    }

    fn workspace(&self) -> Result<LockedWorkspace> {
        let mut options = Options::default();
        "edt demo".clone_into(&mut options.command);
        options.environment = Environment::Process;
        options.reap_orphans = true;
        LockedWorkspace::open(&self.dir, options)
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let ran = spawn::git(Environment::Process, Path::new(&self.dir), args, b"")?;
        if !ran.ok {
            let message = format!("git {} failed: {}", args.join(" "), ran.stderr.trim());
            return Err(
                Finding::new(Code::IoError, message, "The demo needs Git 2.39 or newer.").into()
            );
        }
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

fn brief(outcome: &Outcome) -> String {
    let text = render::applied(outcome);
    text.trim_end().to_owned()
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
