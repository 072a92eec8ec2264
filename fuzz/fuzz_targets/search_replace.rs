#![no_main]
//! The parser of SEARCH/REPLACE blocks never panics, whatever the text.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|patch: &[u8]| edt_fuzz::read_as(1, patch));
