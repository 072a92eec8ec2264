#![no_main]
//! A table of refs from any bytes, with a checksum that fits: it is read or refused, and its copy
//! says the same.

use std::fs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (path, copy) =
        (edt_fuzz::directory("reftable").join("one"), edt_fuzz::directory("reftable").join("two"));
    let mut bytes = data.to_vec();
    // The footer repeats the header and has a checksum of itself.
    let header = if bytes.get(4) == Some(&1) { 24 } else { 28 };
    if let Some(at) = bytes.len().checked_sub(header + 44).filter(|at| *at >= header) {
        let (start, footer) = bytes.split_at_mut(at);
        footer[..header].copy_from_slice(&start[..header]);
        let (body, sum) = footer.split_at_mut(header + 40);
        sum.copy_from_slice(&crc32fast::hash(body).to_be_bytes());
    }
    fs::write(&path, &bytes).expect("the table is written");
    assert_ne!(edt_git::is_copied(&path, &copy).ok().flatten(), Some(false));
});
