//! What the team and the person allow.

pub mod file;

pub use file::{DeletionLimits, GuardMode, GuardRule, Override, Policy, SizeLimits};
