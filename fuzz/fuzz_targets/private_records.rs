#![no_main]
//! The private record of an edit from any bytes: it is read or refused, and written as it was read.

use edt_journal::PrivateRecord;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(record) = PrivateRecord::decoded(data) else {
        // A checksum that fits lets the fuzzer behind it.
        let framed = PrivateRecord::framed(data);
        if let Some(record) = PrivateRecord::decoded(&framed) {
            check(&record);
        }
        return;
    };
    check(&record);
});

fn check(record: &PrivateRecord) {
    let bytes = record.encoded();
    assert_eq!(PrivateRecord::decoded(&bytes).as_ref(), Some(record));
    for file in &record.files {
        let _ = file.path();
    }
    // A byte that changed is noticed.
    let mut damaged = bytes;
    if let Some(last) = damaged.last_mut() {
        *last ^= 1;
        assert_eq!(PrivateRecord::decoded(&damaged), None);
    }
}
