//! The file that collectors read: `<git-common-dir>/edt/telemetry/traces.jsonl`, with one line of
//! OTLP JSON per batch, as OpenTelemetry's file exporter writes it.
//!
//! A line is appended under a lock, by one write. A full file replaces `traces.1.jsonl`, unless a
//! flush has the lock of that: it sends `traces.1.jsonl`, and then `traces.jsonl`, renamed to that;
//! calls append to a new file meanwhile. Both locks end with their processes. The lines of a flush
//! that is killed between sending and removing are sent again. All files may be deleted at any time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::send::{SendError, send};
use super::settings::Settings;
use edt_io::file::{File, OpenMode};
use edt_io::lock::{LockGuard, acquire};
use edt_io::{clock, fs};

/// The maximum size of each of the two files, in bytes.
const MAX_FILE: u64 = 8 << 20;

/// The file of a repository, and the one that it replaced.
#[derive(Debug, Clone)]
pub struct TraceFile {
    pub directory: PathBuf,
    newer: PathBuf,
    older: PathBuf,
}

/// The result of a flush, in spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Accepted by the collector.
    pub sent: u64,
    /// Rejected by the collector: lost.
    pub rejected: u64,
    /// Lines that could not be read: lost.
    pub unreadable: u64,
    /// Why spans were rejected, or why the flush ended before everything was sent.
    pub error: Option<String>,
}

impl TraceFile {
    pub fn of(common_dir: &Path) -> TraceFile {
        let directory = common_dir.join("edt/telemetry");
        let [newer, older] = ["traces.jsonl", "traces.1.jsonl"].map(|name| directory.join(name));
        TraceFile { directory, newer, older }
    }

    /// The waiting lines, the oldest first.
    pub fn lines(&self) -> Vec<Vec<u8>> {
        [&self.older, &self.newer].into_iter().flat_map(|path| lines(path)).collect()
    }

    fn lock(&self, name: &str) -> Option<LockGuard> {
        acquire(&self.directory.join(name), "edt telemetry", Duration::from_millis(250)).ok()
    }

    /// Appends the spans as one line. A failure is ignored: `None`.
    pub fn append(&self, spans: &ExportTraceServiceRequest) -> Option<()> {
        let line = serde_json::to_vec(spans).ok()?;
        fs::make_dir(&self.directory).ok()?;
        let _held = self.lock("lock")?;
        if fs::size(&self.newer).unwrap_or_default() + line.len() as u64 > MAX_FILE {
            let _no_flush = self.lock("flush.lock")?;
            fs::rename(&self.newer, &self.older).ok()?;
        }
        let file = File::open(&self.newer, OpenMode::AppendOrCreate).ok()?;
        // A full disk or a killed process may have left a part of a line.
        let mut last = *b"\n";
        file.read_at(&mut last, file.len().ok()?.saturating_sub(1)).ok()?;
        let begin: &[u8] = if last == *b"\n" { b"" } else { b"\n" };
        file.write_all(&[begin, &line, b"\n"].concat()).ok()
    }

    /// Sends the lines within `limit`, the oldest first, and removes those that the collector
    /// accepted or rejected for good. The others wait.
    pub fn flush(&self, settings: &Settings, limit: Duration) -> Flushed {
        let (mut done, until) = (Flushed::default(), clock::now() + limit);
        if !self.lines().is_empty() && self.send_all(settings, until, &mut done).is_none() {
            done.error = Some("another process sends them, or the file is read-only".to_owned());
        }
        done
    }

    fn send_all(&self, settings: &Settings, until: Instant, done: &mut Flushed) -> Option<()> {
        let _flush = self.lock("flush.lock")?;
        for _ in 0..2 {
            if fs::size(&self.older).unwrap_or_default() == 0 && self.newer.is_file() {
                let _held = self.lock("lock")?;
                fs::rename(&self.newer, &self.older).ok()?;
            }
            let lines = lines(&self.older);
            let sent = lines.iter().take_while(|line| done.send(line, settings, until)).count();
            if sent < lines.len() {
                return fs::write_atomic(&self.older, &lines[sent..].concat(), 0o666).ok();
            } else if sent > 0 {
                fs::remove_file(&self.older).ok()?;
            }
        }
        Some(())
    }
}

impl Flushed {
    /// Sends a line. Returns whether it is to be removed.
    fn send(&mut self, line: &[u8], settings: &Settings, until: Instant) -> bool {
        let Ok(request) = serde_json::from_slice::<ExportTraceServiceRequest>(line) else {
            self.unreadable += 1;
            return true;
        };
        let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        let spans = scopes.map(|scope| scope.spans.len() as u64).sum::<u64>();
        match send(settings, &request, until.saturating_duration_since(clock::now())) {
            Ok(()) => self.sent += spans,
            Err(SendError::Rejected(why)) => {
                self.rejected += spans;
                self.error = Some(why);
            }
            Err(SendError::Later(why)) => {
                self.error = Some(why);
                return false;
            }
        }
        true
    }
}

fn lines(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read_file_limited(path, 2 * MAX_FILE).ok().flatten().unwrap_or_default();
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}
