//! What a confined program can do, and that nothing of it survives.

use edt::base::Level;

use crate::cage::{As, Cage};

#[test]
fn a_program_runs_at_every_level() {
    for level in Level::ALL {
        let cage = Cage::new(As::Self_);
        let told = cage.sh(level, "echo out; echo err >&2; exit 3");
        assert_eq!(
            (told.how.as_str(), told.out.as_str(), told.err.as_str()),
            ("Exit(3)", "out\n", "err\n"),
            "{level}: {told:?}"
        );
    }
}
