//! `edt demo`: a scripted agent in a scratch repository. No network, no model, nothing outside one temporary folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::context::Context;
use super::log::Line;
use super::render::{self, BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::io::{spawn, whole};
use crate::session::undo::{self, Back};
use crate::session::world::{Caller, LOCK_WAIT};
use crate::session::{Session, World};
use crate::txn::{self, Request, Run};

/// Play a scripted agent in a scratch repository: edits, refusals that teach, an undo, and how it lands.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt demo")]
pub(super) struct Args {
    /// Make the scratch repository here; the folder must not exist.
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let dir = self.at.clone().unwrap_or_else(|| {
            std::env::temp_dir().join(format!("edt-demo-{}", std::process::id()))
        });
        let scene = Scene { context, dir };
        scene.play()?;
        Ok(Status::Applied)
    }
}

struct Scene<'c> {
    context: &'c Context,
    dir: PathBuf,
}

impl Scene<'_> {
    fn play(&self) -> Result<()> {
        self.set_up()?;
        let path = "src/calc.c";
        self.say("An agent adds subtraction: one edit, one commit on a shadow branch.");
        self.send(&json!({"message": "calc: subtract", "agent": "demo", "path": path, "mode": "edit",
            "old_text": "int add(int a, int b)\n{\n\treturn a + b;\n}\n",
            "content": "int add(int a, int b)\n{\n\treturn a + b;\n}\n\nint sub(int a, int b)\n{\n\treturn a - b;\n}\n"}));
        self.say("It meant to change one line, and sends only that line as the whole file.");
        self.send(&json!({"path": path, "mode": "overwrite", "content": "}\n"}));
        self.say(
            "It remembers a line almost right: nothing is guessed, the nearest place is shown.",
        );
        self.send(
            &json!({"path": path, "mode": "edit", "old_text": "    return a - b;", "content": "\treturn b - a;"}),
        );
        self.say("It wants to add a target to the Makefile, but names no text to replace.");
        self.send(
            &json!({"path": "Makefile", "mode": "edit", "content": "test: calc\n\t./calc 2 3\n"}),
        );
        self.say("The refusal said what to send instead: append. Tabs stay tabs.");
        self.send(&json!({"message": "make: a test target", "agent": "demo", "path": "Makefile", "mode": "append", "content": "\ntest: calc\n\t./calc 2 3\n"}));
        self.say("Two files in one transaction: all or none.");
        self.send(&json!({"message": "rename the source", "agent": "demo", "edits": [
            {"path": path, "mode": "rename", "to": "src/main.c"},
            {"path": "Makefile", "mode": "edit", "old_text": "src/calc.c", "content": "src/main.c", "replace_all": true}]}));
        self.say("A person does not like the last one: edt undo.");
        let mut world = self.world()?;
        let session = Session::needed(&world.repo, &world.repo.head()?)?;
        let moved = undo::undo(&mut world, &session, &Back::Edits(1))?;
        self.tell(&format!(
            "{} back to {}, {} files as they were",
            paint(GOOD, "undone"),
            moved.to.to_hex_with_len(12),
            moved.paths.len()
        ));
        let session = Session { tip: moved.to, ..session };
        self.say("The session as it stands:");
        for commit in session.commits(&world.repo) {
            self.tell(&Line::of(&commit?).people());
        }
        drop(world);
        self.land(&session)
    }

    fn set_up(&self) -> Result<()> {
        if self.dir.exists() {
            let message = format!("{} exists already.", self.dir.display());
            return Err(Finding::new(
                Code::FileExists,
                message,
                "Name a folder that does not exist with --at.",
            )
            .into());
        }
        let fail = |error: std::io::Error| {
            crate::io::failed("make the scratch repository at", &self.dir, &error)
        };
        whole::make_folder(&self.dir.join("src")).map_err(fail)?;
        whole::write(&self.dir.join("src/calc.c"), source().as_bytes()).map_err(fail)?;
        whole::write(&self.dir.join("Makefile"), b"calc: src/calc.c\n\tcc -o calc src/calc.c\n")
            .map_err(fail)?;
        self.git(&["init", "-q", "-b", "main"])?;
        self.git(&["config", "user.name", "A Person"])?;
        self.git(&["config", "user.email", "person@example.com"])?;
        self.git(&["add", "."])?;
        self.git(&["commit", "-q", "-m", "a small calculator"])?;
        Ok(())
    }

    fn land(&self, session: &Session) -> Result<()> {
        let branch = format!("edt/{}", session.name);
        self.say("It lands as people know it, with plain Git:");
        for args in [
            vec!["switch", "-q", "main"],
            vec!["merge", "--squash", "-q", &branch],
            vec!["commit", "-q", "-m", "calc: subtract, and a test target"],
        ] {
            self.tell(&format!("$ git {}", args.join(" ")));
            self.git(&args)?;
        }
        let log = self.git(&["log", "--oneline", "--stat", "-1"])?;
        self.tell(&log);
        let dir = self.dir.display();
        let mut out = format!("{}\n", paint(NOTE, "Try next, in the scratch repository:"));
        let _ = writeln!(out, "  cd {dir}");
        let _ = writeln!(
            out,
            "  git log --oneline {branch}        {}",
            paint(DIM, "# one commit per edit, still there")
        );
        let _ = writeln!(
            out,
            "  edt apply src/calc.c --mode edit --old-text 'a - b' --content 'b - a'"
        );
        let _ = writeln!(out, "  edt status; edt undo; edt redo");
        let _ = writeln!(out, "  rm -r {dir}        {}", paint(DIM, "# when done"));
        self.tell(&out);
        Ok(())
    }

    fn say(&self, what: &str) {
        self.tell(&format!("\n{} {what}", paint(NAME, "--")));
    }

    /// Prints something for people; a machine gets the answers alone, one a line.
    fn tell(&self, text: &str) {
        if !self.context.json {
            self.context.print(text);
        }
    }

    /// Sends a request as an agent would, and prints what the agent sees.
    fn send(&self, request: &serde_json::Value) {
        let applied = Request::from_json(request.to_string().as_bytes())
            .and_then(|request| txn::apply(&mut self.world()?, &request, Run::Real));
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

    fn world(&self) -> Result<World> {
        let command = "demo".to_owned();
        World::open(
            &self.dir,
            Caller {
                command,
                lock_wait: LOCK_WAIT,
                person_policy: None,
                trust: None,
                durability: None,
                warm: None,
            },
        )
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let ran = spawn::git(Path::new(&self.dir), args, b"")?;
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

/// A file large enough that a fragment in its place is plainly a mistake.
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
