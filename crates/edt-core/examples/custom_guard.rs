//! Registers a guard of the embedding program: no edit may add a line that says `TODO`.
//!
//! `cargo run -p edt-core --example custom_guard`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;

use edt_core::{
    Code, Finding, Guard, GuardContext, GuardOutput, Options, Refusal, Request, Subject, Workspace,
};
use edt_testkit::ScratchRepo;

#[derive(Debug)]
struct NoTodo;

impl Guard for NoTodo {
    fn name(&self) -> &'static str {
        "no_todo"
    }

    fn rule(&self) -> &'static str {
        "Refuses an edit that adds a line with TODO."
    }

    fn check(&self, file: &Subject<'_>, _: &GuardContext<'_>) -> Vec<GuardOutput> {
        let todo = |text: &[u8]| text.windows(4).any(|word| word == b"TODO");
        let found = file.added_lines().find(|(_, text)| todo(text)).map(|(row, _)| {
            let summary = format!("Line {} of {} would say TODO.", row + 1, file.path);
            Finding::new(Code::CustomGuard, summary, "Finish the line, or open an issue instead.")
                .nothing_changed()
                .at(file.path)
                .overridable_by("no_todo")
                .or_override("If it must stay, repeat with allow: [\"no_todo\"].")
        });
        GuardOutput::of(self.name(), found)
    }
}

fn main() -> Result<(), Refusal> {
    let repo = ScratchRepo::with(&[("notes.txt", "one\n")]);
    let mut options = Options::default();
    options.guards.push(Arc::new(NoTodo));
    let mut ws = Workspace::open(repo.path(), options)?;

    let request = Request::new("notes: add").append("notes.txt", "TODO: two\n");
    match ws.apply(&request) {
        Ok(_) => println!("applied, which this guard should have refused"),
        Err(refusal) => println!("{refusal}"),
    }
    let outcome = ws.apply(&request.allow("no_todo"))?;
    println!("applied as {}", outcome.commit.unwrap_or_default());
    Ok(())
}
