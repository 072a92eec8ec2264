#![no_main]
//! Any text of a message: it forges no trailer, and edt reads the trailers that it wrote. Any name
//! of a session is that of one branch.

use edt_core::session::refs::message::{self, Kind, Trailers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = (message::text(&text), message::numbers(&text), message::values(&text, "Edt-Edit"));
    let own = Trailers {
        agent: Some("codex".to_owned()),
        allowed: vec!["encoding".to_owned()],
        ..Trailers::plain("fix-1", Kind::Edit, 7)
    };
    let composed = message::compose(&text, &own);
    assert_eq!(message::parse(&composed), Some(own), "{composed:?}");
    // What the text says of itself stays as it is.
    assert!(composed.starts_with(text.trim()), "{composed:?}");
    if let Some(read) = message::parse(&text) {
        // Written once, values have no blanks at their ends.
        let written = message::parse(&message::compose("subject", &read)).expect("written trailers");
        let again = message::parse(&message::compose("subject", &written));
        assert_eq!(again, Some(written));
    }
});
