//! How often a contiguous change of a human commit is refused when it is sent alone, and how often
//! it is still refused after one retry.
//!
//! `cargo bench --bench singly -- REPO [--commits N] [--list]`
//!
//! Each file that one of the newest N first-parent commits (1,000) modifies is put into a scratch
//! repository as it was before. Then each contiguous change is one request with one edit, from top to
//! bottom. If it is refused, the retry sends it together with one more change of the file: the next
//! one that touches `evidence.original`, else the next one. What is still refused is then allowed.
//!
//! "offered" counts refusals with `evidence.request`; "as the human" those whose request makes the
//! change, others of the same file, and nothing else.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts git")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

#[allow(dead_code, reason = "each benchmark uses its part")]
#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use edt_core::session::LockedWorkspace;
use edt_core::session::worktree::options::Options;
use edt_core::txn::rehearsal::rehearse_request;
use edt_core::txn::{self, Request};
use edt_edit::locate::Occurrences;
use edt_edit::place::Matching;
use edt_edit::{Edit, Expect, Op};
use edt_types::text::{is_binary, lines};
use edt_types::{Code, DryRun, Finding, Outcome, Refusal, RepoPath};
use support::{Scratch, git, git_line};

/// Larger files are left out.
const MAX_BYTES: usize = 300_000;

fn main() {
    let (mut repo, mut commits, mut list) = (PathBuf::new(), 1000_usize, false);
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        match arg.as_str() {
            "--bench" => {}
            "--commits" => commits = given.next().and_then(|n| n.parse().ok()).expect("a number"),
            "--list" => list = true,
            _ => repo = std::fs::canonicalize(arg).expect("a repository"),
        }
    }
    if !repo.is_dir() {
        println!("singly: give a local repository: cargo bench --bench singly -- REPO");
        return;
    }
    let scratch = Scratch::new();
    let mut run = Run::new(&scratch.path("repo"), list);
    let count = format!("--max-count={commits}");
    let all = git(&repo, &["rev-list", "--first-parent", "--min-parents=1", &count, "HEAD"], b"");
    for commit in String::from_utf8_lossy(&all).lines() {
        run.commit(&repo, commit);
    }
    run.report(&repo);
}

#[derive(Default)]
struct Counts {
    files: usize,
    changes: usize,
    refused: usize,
    still: usize,
    still_with_all: usize,
    offered: usize,
    as_human: usize,
    by_code: BTreeMap<&'static str, (usize, usize)>,
}

struct Run {
    workspace: LockedWorkspace,
    list: bool,
    counts: Counts,
}

/// A file on its way from one text to another.
struct Progress<'a> {
    path: RepoPath,
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    /// The rows of each change in both texts, and whether it is made.
    changes: Vec<(Range<usize>, Range<usize>, bool)>,
}

impl Progress<'_> {
    /// The text with the changes made so far and those in `also`, and the rows of each change.
    fn text(&self, also: &[usize]) -> (Vec<&[u8]>, Vec<Range<usize>>) {
        let (mut now, mut rows, mut at) = (Vec::new(), Vec::new(), 0);
        for (i, (old, new, made)) in self.changes.iter().enumerate() {
            now.extend(&self.before[at..old.start]);
            let start = now.len();
            if *made || also.contains(&i) {
                now.extend(&self.after[new.clone()]);
            } else {
                now.extend(&self.before[old.clone()]);
            }
            rows.push(start..now.len());
            at = old.end;
        }
        now.extend(&self.before[at..]);
        (now, rows)
    }

    /// A request with one edit for each of `which`: the fewest whole lines that occur once.
    fn request(&self, which: &[usize]) -> Option<Request> {
        let mut request = Request::new("a change");
        for (n, i) in which.iter().enumerate() {
            let (now, rows) = self.text(&which[..n]);
            let (from, to) = (rows[*i].start, rows[*i].end);
            let text = now.concat();
            let (top, end, old) = (0..=now.len()).find_map(|more| {
                let (top, end) = (from.saturating_sub(more), (to + more).min(now.len()));
                let block = now[top..end].concat();
                let once = !block.is_empty()
                    && memchr::memmem::find(&text, &block)
                        .is_some_and(|at| memchr::memmem::find(&text[at + 1..], &block).is_none());
                once.then_some((top, end, block))
            })?;
            let new = self.after[self.changes[*i].1.clone()].concat();
            request.edits.push(Edit {
                path: self.path.clone(),
                expect: Expect::Anything,
                op: Op::Edit {
                    old,
                    new: [now[top..from].concat(), new, now[to..end].concat()].concat(),
                    occurrences: Occurrences::One,
                    matching: Matching::Strict,
                },
            });
        }
        Some(request)
    }

    /// The change that belongs to a refused one: the one that touches the original copy, else the
    /// next.
    fn counterpart(&self, i: usize, finding: &Finding) -> Option<usize> {
        let number =
            |at: usize| usize::try_from(finding.evidence.get("original")?.get(at)?.as_u64()?).ok();
        let (_, rows) = self.text(&[i]);
        let open = |j: &usize| *j != i && !self.changes[*j].2;
        let by_original = number(0).zip(number(1)).and_then(|(first, last)| {
            let touches = |j: &usize| rows[*j].start < last && rows[*j].end >= first;
            (0..rows.len()).filter(open).find(touches)
        });
        by_original.or_else(|| (i + 1..rows.len()).find(open))
    }
}

impl Run {
    fn new(root: &Path, list: bool) -> Run {
        std::fs::create_dir_all(root).expect("a directory");
        git(root, &["init", "-q"], b"");
        for (key, value) in [("user.name", "singly"), ("user.email", "singly@example.com")] {
            git(root, &["config", key, value], b"");
        }
        git(root, &["commit", "-q", "--allow-empty", "-m", "start"], b"");
        let workspace = LockedWorkspace::open(root, Options::default()).expect("it opens");
        Run { workspace, list, counts: Counts::default() }
    }

    fn commit(&mut self, repo: &Path, commit: &str) {
        let parent = format!("{commit}^1");
        let range = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--diff-filter=M"];
        let raw = git(repo, &[&range[..], &[&parent, commit]].concat(), b"");
        let raw = String::from_utf8_lossy(&raw).into_owned();
        let mut parts = raw.split('\0');
        while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, _] = words[..] else { continue };
            if !old_mode.starts_with("100") || old_mode != new_mode {
                continue;
            }
            let blob = |id: &str| git(repo, &["cat-file", "blob", id], b"");
            let (before, after) = (blob(old), blob(new));
            let usable = |text: &[u8]| text.len() <= MAX_BYTES && !is_binary(text);
            if usable(&before) && usable(&after) && path.is_ascii() {
                self.file(&commit[..12], path, &before, &after);
            }
        }
    }

    fn send(&mut self, request: &Request) -> Result<Outcome, Vec<Finding>> {
        let answer = txn::transact(&mut self.workspace, request, DryRun::No);
        answer.map_err(Refusal::into_vec)
    }

    fn file(&mut self, commit: &str, path: &str, before: &[u8], after: &[u8]) {
        let Ok(named) = RepoPath::parse(format!("{commit}/{path}").as_bytes()) else { return };
        let everything =
            Code::ALL.iter().filter_map(|code| code.allow()).map(str::to_owned).collect::<Vec<_>>();
        let mut put = Request::new("put").create(&named.text(), before.to_vec());
        put.allow.clone_from(&everything);
        if self.send(&put).is_err() {
            return;
        }
        let (before, after): (Vec<&[u8]>, Vec<&[u8]>) =
            (lines(before).collect(), lines(after).collect());
        let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after);
        let changed = ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal);
        let changes = changed.map(|op| (op.old_range(), op.new_range(), false)).collect();
        let mut file = Progress { path: named, before, after, changes };
        self.counts.files += 1;
        for i in 0..file.changes.len() {
            if file.changes[i].2 {
                continue;
            }
            let Some(mut request) = file.request(&[i]) else { return };
            self.counts.changes += 1;
            let Err(found) = self.send(&request) else {
                file.changes[i].2 = true;
                continue;
            };
            let with = self.refused(&mut file, i, &found);
            if let Some(j) = with {
                file.changes[j].2 = true;
            } else {
                request.allow.clone_from(&everything);
                if self.send(&request).is_err() {
                    return;
                }
            }
            file.changes[i].2 = true;
        }
    }

    /// Counts a refusal and sends the retry; the change that landed with it.
    fn refused(&mut self, file: &mut Progress<'_>, i: usize, found: &[Finding]) -> Option<usize> {
        let finding = &found[0];
        let open: Vec<usize> = (i..file.changes.len()).filter(|j| !file.changes[*j].2).collect();
        self.counts.refused += 1;
        let code = finding.code.name();
        self.counts.by_code.entry(code).or_default().0 += 1;
        let offered = finding.evidence.get("request");
        if let Some(offered) = offered {
            self.counts.offered += 1;
            let request = Request::from_json(offered.to_string().as_bytes()).expect("a request");
            let now = file.text(&[]).0.concat();
            let made = rehearse_request(&request, &file.path, &now, &[]).expect("it applies").0;
            let human = |also: &[usize]| Some(file.text(also).0.concat()) == made;
            let same =
                (1..=open.len()).any(|n| human(&open[..n])) || open.iter().any(|j| human(&[i, *j]));
            self.counts.as_human += usize::from(same);
        }
        let all = (open.len() > 1).then(|| file.request(&open)).flatten();
        let all = all.is_some_and(|request| {
            txn::transact(&mut self.workspace, &request, DryRun::Yes).is_ok()
        });
        let with = file.counterpart(i, finding);
        let mut both: Vec<usize> = with.into_iter().chain([i]).collect();
        both.sort_unstable();
        let landed = with.and_then(|j| {
            let request = file.request(&both)?;
            self.send(&request).is_ok().then_some(j)
        });
        if landed.is_none() {
            self.counts.still += 1;
            self.counts.still_with_all += usize::from(!all);
            self.counts.by_code.entry(code).or_default().1 += 1;
        }
        if self.list {
            let result = match (landed, all) {
                (Some(_), _) => "lands with its counterpart",
                (None, true) => "lands with all",
                (None, false) => "is still refused",
            };
            let offer = if offered.is_some() { ", offered" } else { "" };
            let (n, count) = (i + 1, file.changes.len());
            println!("{code} {} change {n} of {count}: {result}{offer}", file.path.text());
        }
        landed
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn report(&self, repo: &Path) {
        let c = &self.counts;
        let rate = |n: usize| n as f64 * 1000.0 / c.changes.max(1) as f64;
        println!("{} at {}", repo.to_string_lossy(), git_line(repo, &["rev-parse", "HEAD"]));
        println!("{} files, {} changes sent alone", c.files, c.changes);
        println!("refused: {} ({:.2} per 1,000)", c.refused, rate(c.refused));
        println!(
            "refused after one retry with one more change: {} ({:.2})",
            c.still,
            rate(c.still)
        );
        println!(
            "of these, also refused with all other changes of the file: {} ({:.2})",
            c.still_with_all,
            rate(c.still_with_all)
        );
        println!("offered: {}, as the human: {}", c.offered, c.as_human);
        for (code, (refused, still)) in &c.by_code {
            println!("{code}: {refused} refused, {still} after the retry");
        }
    }
}
