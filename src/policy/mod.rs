//! What the team and the person allow.

pub mod command;
pub mod file;
mod limits;
pub mod trust;
pub mod validator;

pub use file::{GuardMode, GuardRule, Override, Policy};
pub use limits::{DeletionLimits, SizeLimits};
pub use validator::{Trust, Validator};
