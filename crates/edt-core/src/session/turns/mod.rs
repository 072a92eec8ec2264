//! Who asks for an edit: an agent's program, its conversation, and the turn of the session. A turn
//! is one prompt of the user and all that the agent does for it.

pub mod caller;
pub mod open;
pub mod session_turns;

pub use caller::{Asked, CallingAgent};
pub use session_turns::SessionTurn;
