//! Edits a file in a scratch repository, reads a refusal, and lands the session.
//!
//! `cargo run -p edt-core --example embed`

#![expect(clippy::print_stdout, reason = "an example prints")]

use edt_core::{Code, Land, Options, Refusal, Request, Status, Workspace};
use edt_testkit::ScratchRepo;

fn main() -> Result<(), Refusal> {
    let repo = ScratchRepo::with(&[("src/calc.c", "int add(int a, int b) { return a - b; }\n")]);
    let mut ws = Workspace::open(repo.path(), Options::default())?;

    // A wrong old text is refused. Nothing is changed, and the finding says what to send instead.
    let wrong = Request::new("calc: add").edit("src/calc.c", "a * b", "a + b");
    if let Err(refusal) = ws.apply(&wrong) {
        for finding in refusal.as_slice() {
            println!("{}: {}\n  next: {}", finding.code.name(), finding.message(), finding.hint());
        }
        assert!(refusal.any(|finding| finding.code == Code::OldTextNotFound));
    }

    // The edit is one commit on the session's branch, with the file and the index.
    let right = Request::new("calc: add").agent("embed").edit("src/calc.c", "a - b", "a + b");
    let outcome = ws.apply(&right)?;
    assert_eq!(outcome.status, Status::Applied);
    println!("{} {}", outcome.commit.unwrap_or_default(), outcome.files[0].path);

    ws.undo(1)?;
    ws.redo()?;
    let landed = ws.land(Land::default())?;
    println!("landed as {}", landed.commit.unwrap_or_default());
    Ok(())
}
