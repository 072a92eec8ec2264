//! What the team and the person allow.

pub mod command;
pub mod file;
mod limits;
mod ruling;
pub mod trust;
pub mod validator;

pub use file::Policy;
pub use limits::{DeletionLimits, SizeLimits};
pub use ruling::{GuardMode, GuardRule, Override};
pub use validator::{Trust, Validator};
