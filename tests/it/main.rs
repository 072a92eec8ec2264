#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(missing_docs, dead_code, clippy::unwrap_used)]
mod restart;
mod world;
