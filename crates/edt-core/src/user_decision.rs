//! What a program around the library states about the user.

/// A statement of the program around the library: the user decided this, not an agent.
///
/// The library cannot see who sits before the program, so the program states it, call by call. The
/// program `edt` makes this statement only for a user at a terminal or on its own page. A program
/// that makes it without asking the user takes the user's protection away: an agent could then
/// approve its own proposals, and commit the user's text.
#[derive(Debug)]
pub struct UserDecision(());

impl UserDecision {
    /// States that the user saw what the call does, and decided to do it.
    #[must_use]
    pub const fn made_by_user() -> UserDecision {
        UserDecision(())
    }
}
