//! What the user and the repository allow.

pub mod executed;
pub mod file;
mod globs;
mod guard_rule;
mod limits;
mod named;
mod privacy;
pub mod trust;
pub mod validator;

pub use executed::ProtectedBy;
pub use file::Policy;
pub(crate) use guard_rule::KnownGuard;
pub use guard_rule::{GuardMode, GuardRule, Override};
pub use limits::{DeletionLimits, SizeLimits};
pub use named::NamedPath;
pub use validator::{Trust, Validator};
