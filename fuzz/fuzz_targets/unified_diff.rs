#![no_main]
//! No text makes the parser of this form fail otherwise than with a fault.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|patch: &[u8]| edt_fuzz::read_as(2, patch));
