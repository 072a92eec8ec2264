//! A server sends its spans from the SDK's thread. This is one test, because a process has one
//! tracer.

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use edt_io::clock;
use edt_telemetry::{
    TraceFile, begin, end, finish_server, for_children, is_on, note, repository_opened,
};
use edt_types::trace::names;
use edt_types::tracing::info_span;
use support::{Collector, HANGS, waiting};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn spans_are_sent_or_left_in_the_file_and_never_both() {
    let repository = tempfile::tempdir().unwrap();
    let file = TraceFile::of(repository.path());
    let collector = Collector::new(&["200 OK", HANGS]);
    let config = |key: &str| (key == "edt.telemetry.endpoint").then(|| collector.url.clone());

    // Enough spans for a batch.
    begin("tools/call run".to_owned(), Some([Some(PARENT.to_owned()), Some("a=1".to_owned())]));
    repository_opened(repository.path(), &config);
    let own: Vec<&str> = for_children().iter().map(|(name, _)| *name).collect();
    assert_eq!(own, ["TRACEPARENT", "TRACESTATE"]);
    (0..600).for_each(|_| drop(info_span!(target: "edt_core", "edt.guard.one").entered()));
    note(names::ERROR, "tool_error");
    let began = clock::now();
    end();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    let sent = collector.requests.recv_timeout(Duration::from_secs(10)).unwrap().spans;
    assert_eq!(sent.len(), 512);
    assert!(support::has_sending_thread());
    assert!(!file.directory.exists(), "what was sent is not in the file");

    // Another configuration: neither its call nor a span in it is recorded.
    begin("tools/call read".to_owned(), Some([None, None]));
    repository_opened(repository.path(), &|_| None);
    drop(info_span!(target: "edt_core", "edt.resolve").entered());
    assert!(!is_on());
    end();
    begin("tools/call read".to_owned(), Some([None, None]));
    repository_opened(repository.path(), &|_| Some("http://127.0.0.1:9".to_owned()));
    assert!(!is_on());
    end();

    // The collector hangs, and the server ends.
    let began = clock::now();
    finish_server();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let left = waiting(&file);
    let all: Vec<_> = sent.iter().chain(&left).collect();
    let ids: BTreeSet<_> = all.iter().map(|span| &span.span_id).collect();
    assert_eq!((all.len(), ids.len()), (601, 601));
    let root = left.iter().find(|span| span.name == "tools/call run").unwrap();
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(format!("00-{}-{}-01", hex(&root.trace_id), hex(&root.parent_span_id)), PARENT);
    assert_eq!((root.trace_state.as_str(), root.kind), ("a=1", 2));
    assert_eq!(root.status.as_ref().unwrap().code, 2, "the note of an error marks it as failed");
    assert!(
        all.iter().all(|span| span.span_id == root.span_id || span.parent_span_id == root.span_id)
    );
}
