//! aider: it has no hooks. It commits what it edited, and can be told to let Git's hooks judge that.

use super::{Agent, Protocol};

/// The agent.
#[derive(Debug)]
pub struct Aider;

impl Agent for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn title(&self) -> &'static str {
        "aider"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        None
    }
}
