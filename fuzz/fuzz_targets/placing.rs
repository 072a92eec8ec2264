#![no_main]
//! A patch of any format and any text: it lands or is refused, strict and lenient, and an offered
//! correction lands.

use edt_types::RepoPath;
use edt_edit::place::Matching;
use edt_core::txn::patch::rehearse;
use edt_core::txn::patch_text::PatchText;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (text, patch) = edt_fuzz::halves(data);
    let path = RepoPath::parse(b"a.txt").unwrap();
    for matching in [Matching::Strict, Matching::Lenient] {
        let patch = PatchText::new(patch.to_vec(), Some(path.as_bytes()), None, matching).unwrap();
        let Err(found) = rehearse(&patch, &path, text) else { continue };
        for finding in found.into_vec() {
            if let Some(correction) = finding.evidence.get("correction").and_then(|patch| patch.as_str()) {
                let again = PatchText::new(correction.as_bytes().to_vec(), None, None, Matching::Strict).unwrap();
                assert!(rehearse(&again, &path, text).is_ok(), "{correction}");
            }
        }
    }
});
