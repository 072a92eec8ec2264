//! Guards of planned changes, and the policy that they follow.
//!
//! Both are functions of texts, paths and policy: they know no session and record nothing. Only a
//! validator starts a process, and only the lists of trusted validators are files.
//!
//! | module | content |
//! | --- | --- |
//! | [`executed`] | what other programs execute by themselves, by its name |
//! | [`guard`] | one file per guard, the list [`GUARDS`](guard::GUARDS), and [`evaluate`](guard::evaluate()) |
//! | [`policy`] | `edt.toml`, trust of validators, and the paths that wait for the user |

pub mod executed;
pub mod guard;
pub mod policy;
