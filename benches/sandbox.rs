//! The cost of a sandbox level: `true` alone, and at each level.
//!
//! `cargo bench --bench sandbox` prints medians of starting, waiting and cleaning up. The goals for
//! `edt run true`, compared with `true`, are 10 ms at permissive and 15 ms at standard; they
//! include the start of edt, which is not measured here.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock and starts programs")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "it prints its figures and may stop")]

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use edt_run::sandbox::{NamespaceBackend, SandboxPlan, Termination, start};
use edt_types::Level;

const RUNS: usize = 300;

fn main() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    let null = || File::options().read(true).write(true).open("/dev/null").unwrap();
    let program = Path::new("/bin/true");
    show(
        "true",
        &measured(|| assert!(std::process::Command::new(program).status().unwrap().success())),
    );
    for (name, level, backend) in [
        ("permissive", Level::Permissive, NamespaceBackend::Own),
        ("standard", Level::Standard, NamespaceBackend::Own),
        ("strict", Level::Strict, NamespaceBackend::Own),
        ("strict by bubblewrap", Level::Strict, NamespaceBackend::Bubblewrap),
    ] {
        let mut plan = SandboxPlan::new(level, program, &root);
        plan.git = vec![root.join(".git")];
        (plan.backend, plan.edt) = (backend, env!("CARGO_BIN_EXE_edt").into());
        let run = || start(&plan, null(), null(), null()).unwrap().wait().unwrap();
        show(name, &measured(|| assert_eq!(run().how, Termination::Exit(0))));
    }
}

fn measured(run: impl Fn()) -> Vec<Duration> {
    let mut took: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    took.sort();
    took
}

fn show(name: &str, took: &[Duration]) {
    let ms = |at: usize| took[at].as_secs_f64() * 1e3;
    println!("{name:22} median {:6.2} ms   90 % {:6.2} ms", ms(RUNS / 2), ms(RUNS * 9 / 10));
}
