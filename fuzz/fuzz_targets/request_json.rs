#![no_main]
//! A request in JSON, as a tool sends it: it is read or refused with a finding that says what to
//! do, and another order of white space says the same.

use edt_core::Request;
use edt_core::txn::tried;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = tried::of_json(data);
    let request = match Request::from_json(data) {
        Ok(request) => request,
        Err(found) => {
            for finding in found.as_slice() {
                assert!(!finding.summary.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
            }
            return;
        }
    };
    let value: serde_json::Value =
        serde_json::from_slice(data).expect("an accepted request is JSON");
    let pretty = serde_json::to_vec_pretty(&value).expect("JSON is written");
    let again = Request::from_json(&pretty).expect("the same request is accepted");
    assert_eq!(format!("{request:?}"), format!("{again:?}"));
});
