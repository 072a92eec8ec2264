//! Replays the history of a real repository, one transaction per commit, and compares every tree.
//!
//! `cargo bench --bench replay -- REPO [--limit N] [--from REV] [--per-session N] [--verbose]`
//!
//! Clones REPO (with shared objects) at the oldest of its newest N first-parent commits (1,000), or
//! at REV. Each next commit is made by edits as an agent would send them. After each transaction
//! the session's tree must equal the commit's. Symbolic links, submodules, binary files and files
//! that Git converts are left to Git by design and counted. The commits are human work: every
//! refusal by a guard is a false alarm, counted per 1,000 changed files.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts git and reads the clock")]
#![expect(clippy::print_stdout, reason = "it prints its figures")]

#[allow(dead_code, reason = "each benchmark uses its part")]
#[path = "support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use edt_core::session::LockedWorkspace;
use edt_core::session::worktree::begin::{BeginOptions, begin};
use edt_core::session::worktree::options::Options;
use edt_core::txn::{self, Request};
use edt_edit::locate::Occurrences;
use edt_edit::place::Matching;
use edt_edit::{Edit, Expect, Op};
use edt_git::Oid;
use edt_git::read::ObjectKind;
use edt_types::text::{BOM, Endings, lines};
use edt_types::{Code, DryRun, Finding, RepoPath, Status};
use support::{Scratch, git, git_line};

struct Args {
    repo: PathBuf,
    limit: usize,
    from: Option<String>,
    per_session: usize,
    verbose: bool,
}

impl Args {
    fn read() -> Option<Args> {
        let mut args =
            Args { repo: PathBuf::new(), limit: 1000, from: None, per_session: 25, verbose: false };
        let mut given = std::env::args().skip(1);
        while let Some(arg) = given.next() {
            match arg.as_str() {
                "--bench" => {}
                "--limit" => args.limit = given.next()?.parse().ok()?,
                "--from" => args.from = Some(given.next()?),
                "--per-session" => args.per_session = given.next()?.parse().ok()?,
                "--verbose" => args.verbose = true,
                _ => args.repo = std::fs::canonicalize(arg).ok()?,
            }
        }
        (args.repo.is_dir() && args.per_session > 0).then_some(args)
    }
}

fn main() {
    let Some(args) = Args::read() else {
        println!(
            "replay: give a local repository: cargo bench --bench replay -- REPO [--limit N] [--from REV] [--per-session N]"
        );
        return;
    };
    let scratch = Scratch::new();
    let mut replay = Replay::new(&args, scratch.path("clone"));
    let commits = replay.commits(&args);
    let (start, steps) = (commits[0].clone(), commits.len() - 1);
    let files = String::from_utf8_lossy(&git(&replay.root, &["ls-files"], b"")).lines().count();
    println!(
        "{}: {steps} commits from {}, {files} files at the start",
        args.repo.display(),
        &start[..12]
    );
    let began = Instant::now();
    for (n, pair) in commits.windows(2).enumerate() {
        if n % args.per_session == 0 {
            replay.next_session(n / args.per_session + 1);
        }
        replay.commit(&pair[0], &pair[1]);
        if (n + 1) % 100 == 0 || n + 1 == steps {
            replay.check_clean(&pair[1]);
            let rate =
                f64::from(u32::try_from(n + 1).unwrap_or(u32::MAX)) / began.elapsed().as_secs_f64();
            println!("{:6} of {steps} commits, {rate:.0} commits/s", n + 1);
        }
    }
    replay.report(args.verbose);
}

/// One changed path between two commits.
struct Changed {
    path: Vec<u8>,
    from: Option<Vec<u8>>,
    old: Side,
    new: Side,
}

/// The tree entry of a path in one of the commits.
#[derive(Clone, PartialEq, Eq)]
struct Side {
    mode: String,
    oid: String,
}

impl Side {
    fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    fn is_there(&self) -> bool {
        self.mode != "000000"
    }
}

/// A refusal of a human change.
struct Alarm {
    commit: String,
    path: String,
    code: &'static str,
    detail: String,
}

struct Replay {
    root: PathBuf,
    status: Vec<u8>,
    workspace: LockedWorkspace,
    counts: BTreeMap<&'static str, usize>,
    alarms: Vec<Alarm>,
    warned: BTreeMap<&'static str, usize>,
    by_git: BTreeMap<String, usize>,
    took: Vec<(Duration, String)>,
}

impl Replay {
    fn new(args: &Args, root: PathBuf) -> Replay {
        let (repo, clone) = (args.repo.to_string_lossy(), root.to_string_lossy());
        git(Path::new("/"), &["clone", "-q", "--shared", "--no-checkout", &repo, &clone], b"");
        for (key, value) in
            [("user.name", "replay"), ("user.email", "replay@example.com"), ("gc.auto", "0")]
        {
            git(&root, &["config", key, value], b"");
        }
        let oldest = Replay::range(&root, args).remove(0);
        git(&root, &["checkout", "-q", "--no-track", "-B", "replayed", &oldest], b"");
        let workspace = LockedWorkspace::open(&root, Options::default()).expect("the clone opens");
        let (counts, warned, by_git) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let status = status(&root);
        Replay {
            root,
            status,
            workspace,
            counts,
            alarms: Vec::new(),
            warned,
            by_git,
            took: Vec::new(),
        }
    }

    /// The commits to replay, oldest first, beginning with the start commit.
    fn range(root: &Path, args: &Args) -> Vec<String> {
        let end = git_line(root, &["rev-parse", "origin/HEAD"]);
        let all = git(root, &["rev-list", "--first-parent", "--reverse", &end], b"");
        let all: Vec<String> = String::from_utf8_lossy(&all).lines().map(str::to_owned).collect();
        let first = args
            .from
            .as_ref()
            .map(|rev| git_line(root, &["rev-parse", &format!("{rev}^{{commit}}")]));
        let first = first.map(|first| {
            all.iter().position(|one| *one == first).expect("--from is a first-parent commit")
        });
        let first = first.unwrap_or(all.len().saturating_sub(args.limit + 1));
        all.into_iter().skip(first).take(args.limit + 1).collect()
    }

    fn commits(&self, args: &Args) -> Vec<String> {
        Replay::range(&self.root, args)
    }

    fn next_session(&mut self, n: usize) {
        let how = BeginOptions { name: Some(format!("replay-{n}")), ..BeginOptions::default() };
        begin(&mut self.workspace, &how).expect("a session begins");
    }

    fn count(&mut self, what: &'static str, n: usize) {
        *self.counts.entry(what).or_default() += n;
    }

    fn commit(&mut self, parent: &str, commit: &str) {
        let raw = git(
            &self.root,
            &["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M100%", parent, commit],
            b"",
        );
        let changed = parse(&raw);
        self.count("commits", 1);
        self.count("changed files", changed.len());
        let mut left = BTreeSet::new();
        for one in &changed {
            if let Some(why) = self.not_ours(one) {
                *self.by_git.entry(why.to_owned()).or_default() += 1;
                left.extend(std::iter::once(one.path.clone()).chain(one.from.clone()));
            }
        }
        self.transaction(commit, &changed, &mut left);
        if !left.is_empty() {
            self.plain_git(&changed, &left);
        }
        if git_tree(&self.root, "HEAD") != git_tree(&self.root, commit) {
            // Some old tools wrote trees with modes such as 040000: another tree id with the same
            // entries.
            let differ =
                git(&self.root, &["diff-tree", "-r", "--raw", "--no-renames", commit, "HEAD"], b"");
            let (root, differ) = (self.root.display(), String::from_utf8_lossy(&differ));
            assert!(differ.is_empty(), "after {commit} the tree differs in {root}:\n{differ}");
            self.count("trees equal in every entry, but spelt by another tool", 1);
        }
    }

    /// Why a change is left to Git.
    fn not_ours(&self, changed: &Changed) -> Option<&'static str> {
        for side in [&changed.old, &changed.new].into_iter().filter(|side| side.is_there()) {
            match side.mode.as_str() {
                "120000" => return Some("symbolic link"),
                "160000" => return Some("submodule"),
                _ => {}
            }
            let text = self.blob(side);
            if memchr::memchr(0, &text).is_some() {
                return Some("binary (NUL)");
            }
            if std::str::from_utf8(&text).is_err() {
                return Some("binary (not UTF-8)");
            }
        }
        RepoPath::parse(&changed.path).is_err().then_some("path that edt does not take")
    }

    fn blob(&self, side: &Side) -> Vec<u8> {
        if !side.is_file() {
            return Vec::new();
        }
        let oid = Oid::from_hex(side.oid.as_bytes()).expect("an object id");
        self.workspace.repo.object(oid, ObjectKind::Blob).expect("the blob")
    }

    /// Sends the changes that are not left to Git; moves refused ones that have no override to
    /// `left`.
    fn transaction(&mut self, commit: &str, changed: &[Changed], left: &mut BTreeSet<Vec<u8>>) {
        let mut allow: Vec<String> = Vec::new();
        let mut counted = false;
        loop {
            let ours: Vec<&Changed> =
                changed.iter().filter(|one| !left.contains(&one.path)).collect();
            let mut modes = BTreeMap::new();
            let edits = self.edits(&ours, &mut modes);
            if edits.is_empty() {
                return;
            }
            let mut request = Request::default();
            request.message = Some(format!("replay {commit}"));
            request.allow.clone_from(&allow);
            request.edits = edits;
            let of =
                format!("{}: {} edits of {} files", &commit[..12], request.edits.len(), ours.len());
            let start = Instant::now();
            let result = txn::transact(&mut self.workspace, &request, DryRun::No);
            match result {
                Ok(outcome) => {
                    self.took.push((start.elapsed(), of));
                    assert_eq!(outcome.status, Status::Applied, "{commit}");
                    assert!(
                        outcome.checkpoints.is_empty(),
                        "{commit}: edt saw unrecorded work where there was none"
                    );
                    for warning in outcome.warnings {
                        *self.warned.entry(warning.code.name()).or_default() += 1;
                    }
                    self.count("transactions", 1);
                    for (mode, n) in modes {
                        self.count(mode, n);
                    }
                    return;
                }
                Err(findings) => {
                    let found = findings.into_vec();
                    let before = (allow.len(), left.len());
                    for finding in found {
                        self.refused(commit, &finding, &mut allow, changed, left, counted);
                    }
                    counted = true;
                    assert_ne!(
                        before,
                        (allow.len(), left.len()),
                        "{commit}: refused again and nothing can be left out"
                    );
                }
            }
        }
    }

    fn refused(
        &mut self,
        commit: &str,
        finding: &Finding,
        allow: &mut Vec<String>,
        changed: &[Changed],
        left: &mut BTreeSet<Vec<u8>>,
        again: bool,
    ) {
        let path = finding.path.clone().unwrap_or_default();
        if finding.code == Code::UnsupportedRepository {
            *self
                .by_git
                .entry("converted by Git (UNSUPPORTED_REPOSITORY)".to_owned())
                .or_default() += 1;
        } else {
            let against = finding
                .evidence
                .get("against")
                .and_then(|whose| whose.as_str())
                .unwrap_or_default();
            let detail = format!(
                "{} {against}{}",
                finding.message(),
                if again { " (second try)" } else { "" }
            );
            let code = finding.code.name();
            self.alarms.push(Alarm { commit: commit.to_owned(), path: path.clone(), code, detail });
        }
        if let Some(word) = finding.allow {
            if !allow.iter().any(|known| known == word) {
                allow.push(word.to_owned());
            }
            return;
        }
        if finding.code != Code::UnsupportedRepository {
            *self.by_git.entry(format!("refused with {}", finding.code.name())).or_default() += 1;
        }
        let of = |one: &&Changed| {
            one.path == path.as_bytes() || one.from.as_deref() == Some(path.as_bytes())
        };
        let Some(one) = changed.iter().find(of) else {
            panic!("{commit}: {}: {}", finding.code.name(), finding.message());
        };
        left.extend(std::iter::once(one.path.clone()).chain(one.from.clone()));
    }

    /// The edits that make `changed`, ordered so that each finds what it needs.
    fn edits(&self, changed: &[&Changed], modes: &mut BTreeMap<&'static str, usize>) -> Vec<Edit> {
        let (mut first, mut then) = (Vec::new(), Vec::new());
        for one in changed {
            let edit = |path: &[u8], op: Op| Edit {
                path: RepoPath::parse(path).expect("checked before"),
                expect: Expect::Anything,
                op,
            };
            let create = || Op::Create {
                content: self.blob(&one.new),
                executable: one.new.mode == "100755",
            };
            let ops: Vec<Op> = match (one.old.is_there(), one.new.is_there()) {
                (true, false) => vec![Op::Delete { holds: None }],
                (false, _) => vec![create()],
                (true, true) if one.from.is_some() && one.old.mode == one.new.mode => {
                    let from = one.from.as_deref().unwrap_or_default();
                    *modes.entry("rename").or_default() += 1;
                    then.push(edit(
                        from,
                        Op::Rename { to: RepoPath::parse(&one.path).expect("checked before") },
                    ));
                    continue;
                }
                (true, true) if one.from.is_some() => {
                    first.push(edit(
                        one.from.as_deref().unwrap_or_default(),
                        Op::Delete { holds: None },
                    ));
                    vec![create()]
                }
                (true, true) if one.old.mode != one.new.mode => {
                    vec![Op::Delete { holds: None }, create()]
                }
                (true, true) => match rewritten(&self.blob(&one.old), &self.blob(&one.new)) {
                    Some(ops) => ops,
                    None => vec![Op::Delete { holds: None }, create()],
                },
            };
            for op in ops {
                let (mode, list) = match op {
                    Op::Create { .. } => ("create", &mut then),
                    Op::Edit { .. } => ("edit", &mut then),
                    Op::Overwrite { .. } => ("overwrite", &mut then),
                    Op::Append { .. } => ("append", &mut then),
                    Op::Delete { .. } => ("delete", &mut first),
                    _ => ("rename", &mut then),
                };
                *modes.entry(mode).or_default() += 1;
                list.push(edit(&one.path, op));
            }
        }
        first.extend(then);
        first
    }

    /// Writes the changes in `left` to the index and commits them with plain Git.
    fn plain_git(&mut self, changed: &[Changed], left: &BTreeSet<Vec<u8>>) {
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for one in changed.iter().filter(|one| left.contains(&one.path)) {
            for path in one.from.iter().chain((!one.new.is_there()).then_some(&one.path)) {
                gone.extend_from_slice(
                    &[b"0 0000000000000000000000000000000000000000\t", path.as_slice(), b"\0"]
                        .concat(),
                );
                let _ = std::fs::remove_file(on_disk(&self.root, path));
            }
            if one.new.is_there() {
                there.push(one);
            }
        }
        for one in &there {
            let head = format!("{} {}\t", one.new.mode, one.new.oid);
            gone.extend_from_slice(&[head.as_bytes(), &one.path, b"\0"].concat());
        }
        git(&self.root, &["update-index", "-z", "--index-info"], &gone);
        let files = there.iter().filter(|one| one.new.mode != "160000");
        let paths: Vec<u8> = files.flat_map(|one| [one.path.as_slice(), b"\0"].concat()).collect();
        git(&self.root, &["checkout-index", "-f", "-u", "-z", "--stdin"], &paths);
        // `git commit` would fail on a blob that the clone lacks.
        let tree = git_line(&self.root, &["write-tree", "--missing-ok"]);
        let commit =
            git_line(&self.root, &["commit-tree", &tree, "-p", "HEAD", "-m", "left to Git"]);
        git(&self.root, &["update-ref", "HEAD", &commit], b"");
        self.count("commits with a part left to Git", 1);
    }

    /// HEAD, index and worktree must agree as at the start. A clone that lacks its largest blobs
    /// cannot check them out.
    fn check_clean(&self, commit: &str) {
        let status = status(&self.root);
        let (was, is) = (String::from_utf8_lossy(&self.status), String::from_utf8_lossy(&status));
        assert_eq!(was, is, "after {commit} git status is another");
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn report(&mut self, verbose: bool) {
        println!("\nevery tree is the commit's own");
        for (what, n) in &self.counts {
            println!("{n:8}  {what}");
        }
        println!("warnings:");
        for (code, n) in &self.warned {
            println!("{n:8}  {code}");
        }
        println!("left to Git:");
        for (why, n) in &self.by_git {
            println!("{n:8}  {why}");
        }
        self.took.sort_unstable();
        let ms = |at: usize| {
            self.took
                .get(at.min(self.took.len().saturating_sub(1)))
                .map_or(0.0, |(d, _)| d.as_secs_f64() * 1e3)
        };
        let (half, most) = (self.took.len() / 2, self.took.len() * 95 / 100);
        println!(
            "one transaction: median {:.2} ms, p95 {:.2} ms, longest {:.1} ms",
            ms(half),
            ms(most),
            ms(usize::MAX)
        );
        for (took, of) in self.took.iter().rev().take(5) {
            println!("{:8.1} ms  {of}", took.as_secs_f64() * 1e3);
        }
        let files = self.counts.get("changed files").copied().unwrap_or(1).max(1) as f64;
        let mut by_code: BTreeMap<&str, usize> = BTreeMap::new();
        for alarm in &self.alarms {
            *by_code.entry(alarm.code).or_default() += 1;
        }
        println!("refusals (false alarms) per 1,000 changed files:");
        for (code, n) in by_code {
            println!("{n:8}  {code}: {:.2}", n as f64 * 1000.0 / files);
        }
        let shown = if verbose { self.alarms.len() } else { 40 };
        for alarm in self.alarms.iter().take(shown) {
            println!("  {} {} {}: {}", &alarm.commit[..12], alarm.code, alarm.path, alarm.detail);
        }
        if self.alarms.len() > shown {
            println!("  … {} more: --verbose lists them", self.alarms.len() - shown);
        }
    }
}

/// `git status` of tracked files, without submodules.
fn status(root: &Path) -> Vec<u8> {
    git(root, &["status", "--porcelain", "--ignore-submodules=all", "--untracked-files=no"], b"")
}

fn git_tree(root: &Path, rev: &str) -> String {
    git_line(root, &["rev-parse", &format!("{rev}^{{tree}}")])
}

fn on_disk(root: &Path, path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    root.join(std::ffi::OsStr::from_bytes(path))
}

/// `git diff-tree --raw -z`: `:oldmode newmode oldid newid S\0path\0`, with two paths for renames
/// and copies.
fn parse(raw: &[u8]) -> Vec<Changed> {
    let mut parts = raw.split(|&b| b == 0).filter(|part| !part.is_empty());
    let mut changed = Vec::new();
    while let Some(head) = parts.next() {
        let head = String::from_utf8_lossy(head);
        let mut words = head.trim_start_matches(':').split(' ').map(str::to_owned);
        let mut word = || words.next().expect("a field of diff-tree");
        let (old_mode, new_mode, old_oid, new_oid, status) =
            (word(), word(), word(), word(), word());
        let mut path = parts.next().expect("a path").to_vec();
        let mut from = None;
        if status.starts_with(['R', 'C']) {
            from =
                Some(std::mem::replace(&mut path, parts.next().expect("a second path").to_vec()));
        }
        let mut old = Side { mode: old_mode, oid: old_oid };
        if status.starts_with('C') {
            (from, old) = (None, Side { mode: "000000".to_owned(), oid: String::new() });
        }
        changed.push(Changed { path, from, old, new: Side { mode: new_mode, oid: new_oid } });
    }
    changed
}

/// The edits that turn `old` into `new`: each changed region as the smallest block of whole lines
/// that occurs once, or else the whole text. `None` if line ends or the byte-order mark change,
/// which `edit` and `overwrite` keep.
fn rewritten(old: &[u8], new: &[u8]) -> Option<Vec<Op>> {
    let (had, has) = (Endings::of(old), Endings::of(new));
    let whole = || vec![Op::Overwrite { content: new.to_vec() }];
    if old.starts_with(BOM) && !new.starts_with(BOM) {
        return None;
    }
    match (had, has) {
        (Endings::Mixed | Endings::None, _) => return Some(whole()),
        _ if had == has || has == Endings::None => {}
        _ => return None,
    }
    let (before, after): (Vec<&[u8]>, Vec<&[u8]>) = (lines(old).collect(), lines(new).collect());
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after);
    let mut edits = Vec::new();
    for op in ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal) {
        let (was, is) = (op.old_range(), op.new_range());
        // The file after the previous edits.
        let now: Vec<&[u8]> =
            after[..is.start].iter().chain(&before[was.start..]).copied().collect();
        let (from, to) = (is.start, is.start + was.len());
        let text = now.concat();
        let block = (0..=now.len()).find_map(|more| {
            let (top, end) = (from.saturating_sub(more), (to + more).min(now.len()));
            let block = now[top..end].concat();
            (places(&text, &block) == 1).then_some((top, end, block))
        });
        let Some((top, end, block)) = block else { return Some(whole()) };
        let content = [now[top..from].concat(), after[is].concat(), now[to..end].concat()].concat();
        edits.push(Op::Edit {
            old: block,
            new: content,
            occurrences: Occurrences::One,
            matching: Matching::Strict,
        });
    }
    Some(edits)
}

/// How often `block` occurs in `text`, overlaps included: 0, 1, or 2 for more.
fn places(text: &[u8], block: &[u8]) -> usize {
    if block.is_empty() {
        return 0;
    }
    let Some(first) = memchr::memmem::find(text, block) else { return 0 };
    1 + usize::from(memchr::memmem::find(&text[first + 1..], block).is_some())
}
