//! A process without telemetry: no span, no file, no thread.

mod support;

use edt_telemetry::{TraceFile, begin, end, for_children, is_on, note, repository_opened};
use edt_types::trace::names;
use edt_types::tracing;

#[test]
fn nothing_set_means_no_span_no_file_and_no_thread() {
    let repository = tempfile::tempdir().unwrap();
    begin("edt status".to_owned(), None);
    note(names::STATUS, "applied");
    repository_opened(repository.path(), &|_| None);
    assert!(!is_on() && tracing::info_span!("edt.plan").is_disabled());
    assert_eq!(for_children(), []);
    end();
    assert!(!TraceFile::of(repository.path()).directory.exists());
    assert!(!support::has_sending_thread());
}
