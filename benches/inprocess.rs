//! Edits in series in one process, as a server makes them.
//!
//! `cargo bench --bench inprocess [-- EDITS]` edits the first line of a 1 KB file, four directories
//! deep, in a repository of 5,000 files. It measures a new [`LockedWorkspace`] per edit and one for
//! all edits, with HEAD not switched and with HEAD on the session's branch.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts git and reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

#[allow(dead_code, reason = "each benchmark uses its part")]
#[path = "support/mod.rs"]
mod support;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use edt_core::session::LockedWorkspace;
use edt_core::session::worktree::begin::{BeginOptions, HeadSwitch, begin};
use edt_core::session::worktree::options::Options;
use edt_core::txn::{self, Request};
use edt_edit::locate::Occurrences;
use edt_edit::place::Matching;
use edt_edit::{Edit, Expect, Op};
use edt_types::{DryRun, RepoPath, Status};
use support::{Scratch, git};

const FILE: &str = "src/core/net/bench/edit.c";
const FILES: usize = 5000;
const GOAL: f64 = 650.0;

fn main() {
    let edits = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(2000);
    let scratch = Scratch::new();
    println!("{edits} edits of one 1 KB file in a repository of {FILES} files\n");
    println!(
        "{:42}{:>9}{:>11}{:>9}{:>22}",
        "", "edits/s", "median us", "p95 us", "last / first tenth"
    );
    let mut reached = true;
    for (switching, head) in
        [(HeadSwitch::Never, "HEAD not switched"), (HeadSwitch::AsConfigured, "HEAD on the branch")]
    {
        for reuse in [false, true] {
            let root = scratch.path(&format!("{head} {reuse}"));
            make(&root);
            let took = run(&root, switching, reuse, edits);
            let workspace = if reuse { "one workspace" } else { "a workspace per edit" };
            reached &= report(&format!("{head}, {workspace}"), &took) >= GOAL
                || switching == HeadSwitch::AsConfigured;
        }
    }
    println!(
        "\n{} goal, HEAD not switched: >= {GOAL} edits/s",
        if reached { "ok    " } else { "MISSED" }
    );
}

/// A repository of many files, ten per directory.
fn make(root: &Path) {
    std::fs::create_dir_all(root).expect("a folder");
    git(root, &["init", "-q", "-b", "main"], b"");
    for (key, value) in
        [("user.name", "bench"), ("user.email", "bench@example.com"), ("gc.auto", "0")]
    {
        git(root, &["config", key, value], b"");
    }
    let mut stream =
        "commit refs/heads/main\ncommitter bench <bench@example.com> 1700000000 +0000\ndata 5\nbegin\n".to_owned();
    let mut put = |path: &str, text: &str| {
        write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).expect("memory");
    };
    let line = |n: usize| format!("static int value_{n}(int a) {{ return a + {n}; }}\n");
    put(FILE, &["/* touch 0 */\n".to_owned(), (0..20).map(line).collect()].concat());
    for n in 1..FILES {
        let text: String = (0..30).map(|i| line(n * 31 + i)).collect();
        put(
            &format!(
                "src/{}part{}/unit{}/file{n}.c",
                if n % 9 == 0 { "core/net/" } else { "" },
                n / 500,
                n / 10
            ),
            &text,
        );
    }
    git(root, &["fast-import", "--quiet"], stream.as_bytes());
    git(root, &["reset", "-q", "--hard", "main"], b"");
    git(root, &["status", "--porcelain"], b"");
}

fn open(root: &Path) -> LockedWorkspace {
    LockedWorkspace::open(root, Options::default()).expect("the repository opens")
}

fn run(root: &Path, switching: HeadSwitch, reuse: bool, edits: usize) -> Vec<Duration> {
    let mut workspace = open(root);
    begin(
        &mut workspace,
        &BeginOptions { name: Some("bench".to_owned()), switching, ..BeginOptions::default() },
    )
    .expect("a session begins");
    let mut kept = reuse.then_some(workspace);
    let touch = |n: usize| format!("/* touch {n} */").into_bytes();
    let edit = |n: usize| {
        let path = RepoPath::parse(FILE.as_bytes()).expect("a path");
        let op = Op::Edit {
            old: touch(n),
            new: touch(n + 1),
            occurrences: Occurrences::One,
            matching: Matching::Strict,
        };
        let edits = vec![Edit { path, expect: Expect::Anything, op }];
        let mut request = Request::default();
        request.edits = edits;
        request
    };
    let mut timed = |n: usize| {
        let request = edit(n);
        let start = Instant::now();
        let outcome = match &mut kept {
            Some(workspace) => txn::transact(workspace, &request, DryRun::No),
            None => txn::transact(&mut open(root), &request, DryRun::No),
        };
        let took = start.elapsed();
        assert_eq!(outcome.expect("the edit fits").status, Status::Applied);
        took
    };
    (0..edits).map(&mut timed).collect()
}

/// Prints the figures; returns edits per second.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn report(name: &str, took: &[Duration]) -> f64 {
    let sum = |part: &[Duration]| part.iter().sum::<Duration>().as_secs_f64();
    let tenth = (took.len() / 10).max(1);
    let growth = sum(&took[took.len() - tenth..]) / sum(&took[..tenth]);
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let micros = |at: usize| sorted[at.min(sorted.len() - 1)].as_secs_f64() * 1e6;
    let rate = took.len() as f64 / sum(took);
    println!(
        "{name:42}{rate:9.0}{:11.0}{:9.0}{growth:22.2}",
        micros(sorted.len() / 2),
        micros(sorted.len() * 95 / 100)
    );
    rate
}
