//! What the team and the person allow.

pub mod file;
pub mod trust;
pub mod validator;

pub use file::{DeletionLimits, GuardMode, GuardRule, Override, Policy, SizeLimits};
pub use validator::{Trust, Validator};
