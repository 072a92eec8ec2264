//! The time of a patch with many hunks in one process: parsed, placed and spliced, without a
//! repository.
//!
//! `cargo bench --bench hunks [-- LINES HUNKS]` applies a unified diff of HUNKS hunks (200) to a
//! file of LINES lines (100,000): with correct line numbers, with wrong numbers, and with spaces
//! for tabs. The goal is 100 ms.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::time::Instant;

use edt_core::txn::patch::rehearse;
use edt_core::txn::patch_text::PatchText;
use edt_edit::place::Matching;
use edt_types::RepoPath;
use edt_types::text::line_count;

const ROUNDS: usize = 15;

fn main() {
    let number = |n: usize, default: usize| {
        std::env::args().filter_map(|arg| arg.parse().ok()).nth(n).unwrap_or(default)
    };
    let (lines, hunks) = (number(0, 100_000), number(1, 200));
    let file: Vec<String> = (0..lines).map(line).collect();
    let text = file.concat();
    let step = lines / (hunks + 1);
    println!("{lines} lines, {} bytes, {hunks} hunks; {ROUNDS} rounds", text.len());
    for (name, shift, spaces, matching) in [
        ("right numbers", 0, false, Matching::Strict),
        ("wrong numbers", 7, false, Matching::Strict),
        ("spaces for tabs, lenient", 0, true, Matching::Lenient),
    ] {
        let mut diff = String::from("--- a/a.c\n+++ b/a.c\n");
        for hunk in 1..=hunks {
            let at = hunk * step;
            diff += &format!("@@ -{0},7 +{0},8 @@\n", at + shift - 2);
            for (i, line) in file.iter().enumerate().take(at + 4).skip(at - 3) {
                diff += &if i == at {
                    format!("-{line}+{line}+\tadded({hunk});\n")
                } else {
                    format!(" {line}")
                };
            }
        }
        let diff = if spaces { diff.replace('\t', "        ") } else { diff };
        let mut times: Vec<f64> =
            (0..ROUNDS).map(|_| once(&diff, matching, &text, hunks)).collect();
        times.sort_by(f64::total_cmp);
        println!("{name}: median {:.1} ms, slowest {:.1} ms", times[ROUNDS / 2], times[ROUNDS - 1]);
    }
}

/// Every tenth line repeats often, as in code.
fn line(n: usize) -> String {
    match n % 10 {
        0 => "}\n".to_owned(),
        1 => "\n".to_owned(),
        _ => format!("\tint value_{n} = compute({n}, {});\n", n % 97),
    }
}

/// The time of one application in milliseconds.
fn once(diff: &str, matching: Matching, text: &str, hunks: usize) -> f64 {
    let begun = Instant::now();
    let patch = PatchText::new(diff.as_bytes().to_vec(), None, None, matching).expect("a patch");
    let path = RepoPath::parse(b"a.c").expect("a path");
    let (after, _) = rehearse(&patch, &path, text.as_bytes()).expect("it lands");
    let took = begun.elapsed().as_secs_f64() * 1e3;
    let added = line_count(&after.expect("a text")) - line_count(text.as_bytes());
    assert_eq!(added, hunks as u64);
    took
}
