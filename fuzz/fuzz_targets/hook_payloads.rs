#![no_main]
//! What an agent sends to a hook: each protocol reads it or refuses it, and reads the same from the
//! same JSON written in another way.

use edt_agents::{AGENTS, Payload, payload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(read) = Payload::read(data) else {
        let _ = payload::point_of(data);
        return;
    };
    let written = serde_json::to_vec(read.json()).expect("JSON is written");
    let again = Payload::read(&written).expect("written JSON is JSON");
    // Not the JSON itself: a number such as 3.56668e61 is read inexactly, and no event has one.
    for protocol in AGENTS.iter().filter_map(|agent| agent.protocol.as_ref()) {
        // A payload with text that is not Unicode may be refused, and never means another event.
        if let Ok(event) = read.event(protocol) {
            assert_eq!(
                format!("{:?}", again.event(protocol)),
                format!("{:?}", Ok::<_, edt_agents::UnexpectedShape>(event))
            );
        }
    }
});
