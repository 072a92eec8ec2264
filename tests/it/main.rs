#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(missing_docs, dead_code)]
mod restart;
mod world;
