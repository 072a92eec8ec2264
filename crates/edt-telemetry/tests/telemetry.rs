//! What telemetry promises, through the library: calls that are written to the file, and flushes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use edt_io::clock;
use edt_telemetry::{TraceFile, begin, end, for_children, is_on, note, repository_opened};
use edt_types::trace::names;
use edt_types::tracing::info_span;
use serde_json::{Value, json};
use support::{Collector, HANGS, file, refused, request, settings, waiting};

const LIMIT: Duration = Duration::from_secs(10);

/// The only repository whose calls this process records.
static REPOSITORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded-calls");
    let _ = std::fs::remove_dir_all(&path);
    path
});

fn config(key: &str) -> Option<String> {
    (key == "edt.telemetry.endpoint").then(|| "http://user:hunter2@127.0.0.1:9".to_owned())
}

/// A recorded call with a stage; returns what a program that it started would get.
fn call(name: &str) -> Vec<(&'static str, String)> {
    begin(format!("edt {name}"), None);
    note(names::COMMAND, name);
    note(names::EDIT, 7_u64);
    note(names::CODES, vec!["A".to_owned(), "B".to_owned()]);
    repository_opened(&REPOSITORY, &config);
    assert!(is_on());
    let stage = info_span!(target: "edt_core", "edt.plan").entered();
    let children = for_children();
    drop(stage);
    // The spans of libraries are not recorded.
    drop(info_span!(target: "rustls", "handshake").entered());
    end();
    children
}

/// The line of a recorded call.
fn line(name: &str) -> Value {
    let lines = TraceFile::of(&REPOSITORY).lines();
    let lines = lines.iter().map(|line| serde_json::from_slice::<Value>(line).unwrap());
    lines.into_iter().find(|line| line.to_string().contains(name)).unwrap()
}

#[test]
fn a_call_is_a_tree_of_spans_in_the_file() {
    let began = clock::now();
    let children = call("tree");
    assert!(began.elapsed() < Duration::from_secs(2), "no collector listens, and none is asked");
    let line = line("edt tree");
    assert!(!line.to_string().contains("hunter2"));
    let resource = &line["resourceSpans"][0];
    let attributes = resource["resource"]["attributes"].as_array().unwrap();
    let service = attributes.iter().find(|one| one["key"] == "service.name").unwrap();
    assert_eq!(service["value"]["stringValue"], "edt");
    let all = line["resourceSpans"][0]["scopeSpans"].as_array().unwrap().iter();
    let all: Vec<&Value> = all.flat_map(|scope| scope["spans"].as_array().unwrap()).collect();
    let find = |name: &str| *all.iter().find(|span| span["name"] == name).unwrap();
    let (root, stage) = (find("edt tree"), find("edt.plan"));
    assert_eq!(stage["parentSpanId"], root["spanId"]);
    let text = |span: &Value, key: &str| span[key].as_str().unwrap().to_owned();
    let parent = format!("00-{}-{}-01", text(root, "traceId"), text(stage, "spanId"));
    assert_eq!(children[0], ("TRACEPARENT", parent), "a program is below the present span");
    let attribute = |key: &str| {
        let all = root["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!(attribute("edt.command"), json!({"stringValue": "tree"}));
    assert_eq!(attribute("edt.edit"), json!({"intValue": "7"}));
    let codes = json!({"values": [{"stringValue": "A"}, {"stringValue": "B"}]});
    assert_eq!(attribute("edt.codes"), json!({"arrayValue": codes}));
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn a_process_has_one_tracer_for_all_its_calls() {
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || call(&format!("thread {number};")));
        }
    });
    let spans = waiting(&TraceFile::of(&REPOSITORY));
    let roots: Vec<_> = spans.iter().filter(|span| span.name.starts_with("edt thread")).collect();
    let ids: BTreeSet<_> = roots.iter().map(|span| &span.span_id).collect();
    assert_eq!((roots.len(), ids.len()), (8, 8));
    for root in roots {
        let below = spans.iter().filter(|span| span.parent_span_id == root.span_id);
        assert_eq!(below.map(|span| span.name.as_str()).collect::<Vec<_>>(), ["edt.plan"]);
    }
}

#[test]
fn a_malformed_parent_is_ignored() {
    call("parents");
    let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
    let root = |name: &str, parent: &str| {
        begin(name.to_owned(), Some([Some(parent.to_owned()), Some("no state".to_owned())]));
        repository_opened(&REPOSITORY, &config);
        end();
        let spans = waiting(&TraceFile::of(&REPOSITORY)).into_iter();
        spans.rev().find(|span| span.name == name).unwrap()
    };
    let known = root("parent 00", &format!("00-{ids}-01"));
    assert_eq!(known.parent_span_id, [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
    assert_eq!(known.trace_state, "", "a malformed state is ignored, the parent is used");
    assert!(!root("parent cc", &format!("cc-{ids}-01-more")).parent_span_id.is_empty());
    for bad in [
        "",
        "00",
        &format!("ff-{ids}-01"),
        &format!("00-{ids}-01-more"),
        &format!("00-{}-01", ids.to_uppercase()),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    ] {
        assert!(root(&format!("parent {bad}"), bad).parent_span_id.is_empty(), "{bad}");
    }
}

#[test]
fn a_flush_sends_each_line_once_and_removes_it() {
    for protocol in ["http/json", "http/protobuf"] {
        let repository = tempfile::tempdir().unwrap();
        let file = file(repository.path(), &["a", "b"]);
        let collector = Collector::new(&["200 OK"]);
        let env = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20ecret"),
        ];
        let settings = settings(&collector.url, &env);
        let done = file.flush(&settings, LIMIT);
        assert_eq!((done.sent, done.rejected, done.unreadable, done.error), (2, 0, 0, None));
        let requests: Vec<_> = collector.requests.try_iter().collect();
        assert!(requests.iter().all(|request| request.headers["api-key"] == "s ecret"));
        let names: Vec<_> = requests.iter().map(|request| request.spans[0].name.clone()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(file.lines().is_empty());
        assert_eq!(file.flush(&settings, LIMIT).sent, 0);
        assert!(collector.requests.try_iter().next().is_none());
    }
}

#[test]
fn the_collectors_status_decides_whether_a_line_waits() {
    for (answers, counts, asked, left) in [
        (&["202 Accepted"][..], (2, 0), &["a", "b"][..], &[][..]),
        (&["503 Service Unavailable\r\nretry-after: 1"], (0, 0), &["a"], &["a", "b"]),
        (&["200 OK", "429 Too Many Requests"], (1, 0), &["a", "b"], &["b"]),
        (&["400 Bad Request", "200 OK"], (1, 1), &["a", "b"], &[]),
        (&["301 Moved\r\nlocation: /x"], (0, 2), &["a", "b"], &[]),
    ] {
        let repository = tempfile::tempdir().unwrap();
        let file = file(repository.path(), &["a", "b"]);
        let collector = Collector::new(answers);
        let done = file.flush(&settings(&collector.url, &[]), LIMIT);
        assert_eq!((done.sent, done.rejected), counts, "{answers:?}");
        assert_eq!(done.error.is_some(), counts != (2, 0), "{answers:?}");
        assert_eq!(collector.names(), asked, "{answers:?}: no retry");
        let names: Vec<_> = waiting(&file).into_iter().map(|span| span.name).collect();
        assert_eq!(names, left, "{answers:?}");
        let again = Collector::new(&["200 OK"]);
        let _ = file.flush(&settings(&again.url, &[]), LIMIT);
        assert_eq!(again.names(), left, "{answers:?}");
    }
}

#[test]
fn a_collector_that_is_missing_or_hangs_ends_a_flush_in_time_and_lines_wait() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    let hangs = Collector::new(&[HANGS]);
    let refused = refused().replace("://", "://user:hunter2@");
    for url in [refused, "http://user:hunter2@".to_owned(), hangs.url.clone()] {
        let env = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter3")];
        let began = clock::now();
        let done = file.flush(&settings(&url, &env), Duration::from_millis(500));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        let error = done.error.unwrap();
        assert!(error.contains("did not answer") && !error.contains("hunter"), "{error}");
        assert_eq!(waiting(&file).len(), 1);
    }
}

#[test]
fn settings_that_edt_does_not_support_leave_the_lines() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    let grpc = settings("http://127.0.0.1:9", &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    assert!(file.flush(&grpc, LIMIT).error.unwrap().contains("not grpc"));
    if cfg!(not(feature = "tls")) {
        let https = settings("https://127.0.0.1:9", &[]);
        assert!(file.flush(&https, LIMIT).error.unwrap().contains("no TLS"));
    }
    assert_eq!(waiting(&file).len(), 1);
}

#[test]
fn two_flushes_never_send_the_same_line() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    let hangs = Collector::new(&[HANGS]);
    let (slow, fast) = (settings(&hangs.url, &[]), Collector::new(&["200 OK"]));
    let fast_settings = settings(&fast.url, &[]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| file.flush(&slow, Duration::from_secs(2)));
        let request = hangs.requests.recv_timeout(LIMIT).unwrap();
        assert_eq!(request.spans[0].name, "a");
        // Meanwhile a call appends without waiting, and a second flush leaves everything.
        file.append(&support::request("b")).unwrap();
        let second = file.flush(&fast_settings, LIMIT);
        assert!(second.error.unwrap().contains("another process"));
        assert!(first.join().unwrap().error.is_some());
    });
    assert!(fast.names().is_empty());
    assert_eq!(file.flush(&fast_settings, LIMIT).sent, 2);
    assert_eq!(fast.names(), ["a", "b"]);
}

#[test]
fn what_a_killed_flush_left_is_sent() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    // Its lock ended with it.
    let path = |name: &str| file.directory.join(name);
    std::fs::rename(path("traces.jsonl"), path("traces.1.jsonl")).unwrap();
    std::fs::write(path("flush.lock"), "1 edt telemetry\n").unwrap();
    file.append(&request("b")).unwrap();
    let collector = Collector::new(&["200 OK"]);
    assert_eq!(file.flush(&settings(&collector.url, &[]), LIMIT).sent, 2);
    assert_eq!(collector.names(), ["a", "b"]);
}

#[test]
fn a_flush_takes_no_file_that_a_call_appends_to() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    let collector = Collector::new(&["200 OK"]);
    let settings = settings(&collector.url, &[]);
    let held = edt_io::lock::acquire(&file.directory.join("lock"), "test", LIMIT).unwrap();
    assert_eq!(file.append(&request("b")), None, "nor does another call append meanwhile");
    assert!(file.flush(&settings, LIMIT).error.is_some());
    assert!(file.directory.join("traces.jsonl").exists());
    drop(held);
    assert_eq!(file.flush(&settings, LIMIT).sent, 1);
}

#[test]
fn calls_append_while_others_flush_without_loss_or_duplicate() {
    let repository = tempfile::tempdir().unwrap();
    let file = TraceFile::of(repository.path());
    let collector = Collector::new(&["200 OK"]);
    let settings = settings(&collector.url, &[]);
    let running = AtomicUsize::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (file, running) = (&file, &running);
            scope.spawn(move || {
                (0..250).for_each(|n| file.append(&request(&format!("{thread}-{n}"))).unwrap());
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while running.load(Ordering::Relaxed) > 0 {
                    let _ = file.flush(&settings, LIMIT);
                }
            });
        }
    });
    assert_eq!(file.flush(&settings, LIMIT).error, None);
    let names = collector.names();
    assert_eq!((names.len(), names.iter().collect::<BTreeSet<_>>().len()), (1000, 1000));
}

#[test]
fn the_file_is_bounded_and_loses_whole_lines() {
    let repository = tempfile::tempdir().unwrap();
    let file = TraceFile::of(repository.path());
    let long = "x".repeat(1 << 20);
    (0..40).for_each(|number| file.append(&request(&format!("{number} {long}"))).unwrap());
    let bytes: usize = file.lines().iter().map(Vec::len).sum();
    assert!((8 << 20..=16 << 20).contains(&bytes), "{bytes}");
    let numbers: Vec<_> = waiting(&file)
        .iter()
        .map(|span| span.name.split(' ').next().unwrap().parse::<usize>().unwrap())
        .collect();
    assert_eq!(numbers, (40 - numbers.len()..40).collect::<Vec<_>>(), "the newest remain");
}

#[test]
fn a_part_of_a_line_spoils_no_other() {
    let repository = tempfile::tempdir().unwrap();
    let file = file(repository.path(), &["a"]);
    let path = file.directory.join("traces.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"resourceSpans\":[{{\"reso")).unwrap();
    file.append(&request("b")).unwrap();
    let collector = Collector::new(&["200 OK"]);
    let done = file.flush(&settings(&collector.url, &[]), LIMIT);
    assert_eq!((done.sent, done.unreadable, done.error), (2, 1, None));
    assert_eq!(collector.names(), ["a", "b"]);
    assert!(file.lines().is_empty());
}

#[test]
fn a_file_that_cannot_be_written_is_ignored() {
    let repository = tempfile::tempdir().unwrap();
    let file = TraceFile::of(repository.path());
    std::fs::create_dir(repository.path().join("edt")).unwrap();
    std::fs::write(&file.directory, "a file where the directory should be").unwrap();
    assert_eq!(file.append(&request("a")), None);
    std::fs::remove_file(&file.directory).unwrap();
    std::fs::create_dir(&file.directory).unwrap();
    std::os::unix::fs::symlink("/dev/full", file.directory.join("traces.jsonl")).unwrap();
    assert_eq!(file.append(&request("a")), None);
}
