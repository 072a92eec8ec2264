//! The time until a page of `edt review` is there.
//!
//! `cargo bench --bench review [-- EDITS LINES]` makes a session of that many edits and one that
//! adds a file of that many lines, and reads and renders pages as the server does: first with
//! nothing known, then again. `--keep DIR` keeps the repository there; one that is there is used.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts git and reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

#[path = "../tests/support/large_session.rs"]
mod large_session;
#[allow(dead_code, reason = "each benchmark uses its part")]
#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::time::Instant;

use edt_core::session::refs::ended::ShownSession;
use edt_git::Repo;
use edt_io::Environment;
use edt_review::contents::{Blobs, Colours};
use edt_review::page::{self, Live};
use edt_review::{Extent, Reader};
use rustix::time::{ClockId, clock_gettime};
use support::{Scratch, git};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let kept = args.iter().position(|arg| arg == "--keep").and_then(|at| args.get(at + 1));
    let mut numbers = args.iter().filter_map(|arg| arg.parse::<u64>().ok());
    let (edits, long) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(20_000));
    let scratch = Scratch::new();
    let root = kept.map_or_else(|| scratch.path("repository"), PathBuf::from);
    if !root.join(".git").exists() {
        let began = Instant::now();
        make(&root, edits, long);
        let took = began.elapsed().as_secs_f64();
        println!("{edits} edits and a file of {long} lines, made in {took:.1} s\n");
    }
    for at in ["all", "edit-1", &format!("edit-{}", edits + 1)] {
        let (reader, colours) = (Reader::default(), Colours::default());
        for known in ["nothing known", "again"] {
            let (began, cpu) = (Instant::now(), processor_ms());
            let size = read(&root, (&reader, &colours), at);
            let took = began.elapsed().as_secs_f64() * 1000.0;
            let cpu = processor_ms() - cpu;
            println!("{at:12} {known:14} {took:8.0} ms, processor {cpu:8.0} ms {size:>10} bytes");
        }
    }
}

/// The time of the processor that this process used, in milliseconds.
fn processor_ms() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
    let ms = now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6;
    ms
}

fn make(root: &Path, edits: u64, long: u64) {
    for (path, text) in large_session::files() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root)).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    git(root, &["init", "-q", "-b", "main"], b"");
    for (key, value) in
        [("user.name", "bench"), ("user.email", "bench@example.com"), ("gc.auto", "0")]
    {
        git(root, &["config", key, value], b"");
    }
    git(root, &["add", "."], b"");
    git(root, &["commit", "-q", "-m", "begin"], b"");
    large_session::make(root, edits, long);
}

fn read(root: &Path, (reader, colours): (&Reader, &Colours), at: &str) -> usize {
    let repo = Repo::open_in(Environment::Process, root).expect("a repository");
    let shown = ShownSession::required(&repo, &repo.head().expect("HEAD")).expect("a session");
    let review = reader.read(&repo, &shown, Extent::Article(at), |_| true).expect("a review");
    let (contents, colours) = (&Blobs(&repo), colours);
    let live = Live {
        at,
        form: "",
        acted: None,
        opposite: None,
        chosen: None,
        state: "",
        contents,
        colours,
    };
    page::live(&review, &live).len()
}
