//! A session edits files into which a user types: random steps, checked after each against a model
//! of whose lines are whose.
//!
//! Every line is unique and names who wrote it. After every step: (1) each line that the user typed
//! and did not delete is on disk; (2) each commit of edt has what its edit changed and nothing else;
//! (3) no landing has a line of the user, unless the user consented; (4) no ignored path is in a
//! tree; (5) the files have exactly the bytes that the model has where both sides are a line apart.
//! A refusal changed nothing. The judge is real Git.
//!
//! `EDT_TESTS=all` plays 20 seeds of 2,000 steps. `EDT_RANDOM_SEED` plays one seed,
//! `EDT_RANDOM_STEPS` sets the number of steps; `EDT_RANDOM_WITHOUT` names operations to leave out,
//! separated by commas. A failure prints the seed, the step and the last
//! operations, and keeps the repository.

#![allow(
    clippy::unused_self,
    clippy::too_many_lines,
    clippy::default_trait_access,
    clippy::map_entry,
    clippy::single_match_else,
    reason = "checks of a model, step by step"
)]

mod operations;
mod seen;
mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::io::Write as _;
use std::process::Stdio;

use edt_core::{Options, Workspace};
use edt_testkit::{Progress, Tier, play, seeds, tier};

use crate::rng::Dice;
use crate::test_repo::TestRepo;
use operations::{Landing, OPERATIONS};
use seen::{Reader, Seen};
use texts::{Expected, Text, merge3, set};

/// Files of the first commit.
const FIRST: [&str; 4] = ["a.txt", "b.txt", "dir/c.txt", "dir/d.txt"];
/// Files that the agent may create.
const CREATED: [&str; 4] = ["new-1.txt", "new-2.txt", "dir/new-3.txt", "deep/er/new-4.txt"];
/// Files that the user may create.
const NOTES: [&str; 3] = ["notes-1.txt", "notes-2.txt", "dir/notes-3.txt"];
/// Files that Git ignores.
const IGNORED: [&str; 3] = [".env", "out/x.log", "dir/y.log"];
/// Every path that a tree may have.
const PATHS: [&str; 12] = [
    "a.txt",
    "b.txt",
    "dir/c.txt",
    "dir/d.txt",
    "new-1.txt",
    "new-2.txt",
    "dir/new-3.txt",
    "deep/er/new-4.txt",
    "notes-1.txt",
    "notes-2.txt",
    "dir/notes-3.txt",
    ".gitignore",
];
const GITIGNORE: &str = ".env\n*.log\n";
/// The user's policy that lets every program run.
const FREE: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\ntimeout = 600\n";

type Judged = Result<(), String>;

/// An edit that can be undone: the files on disk before and after it.
#[derive(Debug, Clone)]
struct Edit {
    commit: String,
    /// Its number in the answer.
    number: u64,
    files: BTreeMap<String, (Text, Text)>,
}

/// What the model knows of a session.
#[derive(Debug, Clone, Default)]
struct Session {
    /// Edits that can be undone, oldest first.
    done: Vec<Edit>,
    /// What `redo` returns to, newest last: the tip and the edits.
    undone: Vec<(String, Vec<Edit>)>,
    /// The model has lost count: the user moved the branch, or the session landed.
    lost: bool,
}

/// A commit that some ref reaches.
#[derive(Debug, Default)]
struct Commit {
    parents: Vec<String>,
    kind: String,
    has_agent: bool,
    paths: BTreeSet<String>,
    /// Lines that are only in the new tree, and only in the old one.
    added: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl Commit {
    fn is_edts(&self) -> bool {
        ["edit", "run", "restore", "revert", "land"].contains(&self.kind.as_str())
    }

    fn is_users_version(&self) -> bool {
        ["checkpoint", "saved"].contains(&self.kind.as_str())
    }
}

/// Who acts in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The user in an editor, or with Git in the index only.
    User,
    /// The user with Git, which may take committed lines off the disk.
    Git,
    Agent,
}

/// The repository, and the model of it.
struct Play {
    repo: TestRepo,
    workspace: Workspace,
    reader: Reader,
    dice: Dice,
    /// Operations that are left out.
    without: Vec<String>,
    /// Makes every line unique.
    count: u64,
    /// How often the user saved a file.
    saved_files: u64,
    step: usize,
    /// The user's lines that must be on disk, and where each was typed.
    typed: BTreeMap<String, String>,
    /// The user's lines that an edit of the agent removed at some time.
    touched: BTreeSet<String>,
    /// The user's lines that the user committed, or let land.
    committed: BTreeSet<String>,
    /// The user's lines of the branch that a restore brought back.
    restored: BTreeSet<String>,
    /// The user's lines in checkpoints.
    checkpointed: BTreeSet<String>,
    /// The files with a change of an edit that no commit has, at some time.
    left_over: BTreeSet<String>,
    /// The lines of those edits.
    left_lines: BTreeSet<String>,
    /// Committed lines that the user's Git took off the disk, with the branch.
    parked: BTreeSet<String>,
    /// The user's lines that the user let edt save at a ref.
    saved: BTreeSet<String>,
    sessions: BTreeMap<String, Session>,
    /// Landings that were not undone, oldest first.
    landings: Vec<Landing>,
    commits: HashMap<String, Commit>,
    tips: BTreeSet<String>,
    recent: VecDeque<String>,
    /// How often each operation ended how.
    tally: BTreeMap<String, BTreeMap<String, u32>>,
}

/// Whether the user wrote a line.
fn is_users(line: &str) -> bool {
    let number = line.strip_prefix("user ").or_else(|| line.strip_prefix("secret "));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_ignored(path: &str) -> bool {
    IGNORED.contains(&path)
}

impl Play {
    fn new(seed: u64) -> Play {
        let mut count = 0;
        let mut text = || {
            let lines = (0..60).map(|_| {
                count += 1;
                format!("first {count:06}\n")
            });
            lines.collect::<String>()
        };
        let files: Vec<(&str, String)> = FIRST.iter().map(|path| (*path, text())).collect();
        let mut files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        files.push((".gitignore", GITIGNORE.as_bytes()));
        let repo = TestRepo::with(&files);
        for setting in ["gc.auto", "maintenance.auto"] {
            repo.git(&["config", setting, "0"]);
        }
        let directory = repo.home.join(".config/edt");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("edt.toml"), FREE).unwrap();
        let workspace = Workspace::open(&repo.root, Options::default()).unwrap();
        let reader = Reader::new(&repo, &PATHS);
        let mut play = Play {
            repo,
            workspace,
            reader,
            dice: Dice::new(seed),
            without: without(),
            count,
            saved_files: 0,
            step: 0,
            typed: BTreeMap::new(),
            touched: BTreeSet::new(),
            committed: BTreeSet::new(),
            restored: BTreeSet::new(),
            checkpointed: BTreeSet::new(),
            left_over: BTreeSet::new(),
            left_lines: BTreeSet::new(),
            parked: BTreeSet::new(),
            saved: BTreeSet::new(),
            sessions: BTreeMap::new(),
            landings: Vec::new(),
            commits: HashMap::new(),
            tips: BTreeSet::new(),
            recent: VecDeque::new(),
            tally: BTreeMap::new(),
        };
        let seen = play.seen();
        play.read_commits(&seen);
        play
    }

    /// One random operation and every check after it.
    fn play(&mut self) -> Judged {
        let sum: u64 = OPERATIONS.iter().map(|operation| operation.weight).sum();
        let mut at = self.dice.roll(sum);
        let operation = OPERATIONS.iter().find(|operation| {
            let found = at < operation.weight;
            at = at.saturating_sub(operation.weight);
            found
        });
        let operation = operation.unwrap();
        if self.without.iter().any(|name| name == operation.name) {
            return Ok(());
        }
        self.note(format!("{}: {}", self.step, operation.name));
        (operation.act)(self).map_err(|fault| format!("{}: {fault}", operation.name))
    }

    /// Adds a line to the log.
    fn note(&mut self, what: String) {
        self.recent.push_back(what);
        if self.recent.len() > 40 {
            self.recent.pop_front();
        }
    }

    fn count(&mut self, operation: &str, end: &str) {
        *self.tally.entry(operation.to_owned()).or_default().entry(end.to_owned()).or_default() +=
            1;
    }

    fn seen(&mut self) -> Seen {
        self.reader.seen(&self.repo)
    }

    /// A new unique line.
    fn line(&mut self, who: &str) -> String {
        self.count += 1;
        format!("{who} {:06}", self.count)
    }

    /// The model of the session that HEAD is on.
    fn session(&mut self, seen: &Seen) -> &mut Session {
        let name = seen.session().unwrap_or_default().to_owned();
        self.sessions.entry(name).or_default()
    }

    // ---- checks ----------------------------------------------------------------------------------

    /// What must be true after every step, whoever acted. `may_leave` says which of the user's lines
    /// may have left the disk.
    fn check(
        &mut self,
        who: Who,
        before: &Seen,
        after: &Seen,
        may_leave: &dyn Fn(&str) -> bool,
    ) -> Judged {
        let on_disk: BTreeSet<&str> = after.disk.values().flat_map(|text| text.lines()).collect();
        let gone: Vec<String> = self
            .typed
            .keys()
            .filter(|line| !on_disk.contains(line.as_str()) && !self.parked.contains(*line))
            .cloned()
            .collect();
        for line in gone {
            if who == Who::Git
                && (self.committed.contains(&line) || self.checkpointed.contains(&line))
            {
                self.parked.insert(line);
            } else if who == Who::Agent && may_leave(&line) {
                self.typed.remove(&line);
                self.touched.insert(line);
            } else {
                let place =
                    before.disk.iter().find(|(_, text)| text.lines().any(|one| one == line));
                return Err(format!(
                    "(1) a line of the user is not on disk any more: {line:?}, typed at {}, before \
                     this step in {:?}",
                    self.typed[&line],
                    place.map(|(path, _)| path)
                ));
            }
        }
        self.parked.retain(|line| !on_disk.contains(line.as_str()));
        for line in self.touched.iter().chain(&self.committed) {
            if on_disk.contains(line.as_str()) && !self.typed.contains_key(line) {
                self.typed.insert(line.clone(), "an earlier step, and back".to_owned());
            }
        }
        if let Some(path) = after.tip.keys().chain(after.index.keys()).find(|path| is_ignored(path))
        {
            return Err(format!("(4) {path} is ignored and in HEAD or the index"));
        }
        if before.index_bytes != after.index_bytes {
            self.check_stats(after)?;
        }
        Ok(())
    }

    /// Every check that does not depend on the operation.
    fn check_all(
        &mut self,
        who: Who,
        before: &Seen,
        after: &Seen,
        may_leave: &dyn Fn(&str) -> bool,
    ) -> Judged {
        self.check_commits(after, who, false)?;
        self.check(who, before, after, may_leave)
    }

    /// A refused call must have changed nothing.
    fn check_refused(&self, before: &Seen, after: &Seen, codes: &[String]) -> Judged {
        before
            .differs(after)
            .map_or(Ok(()), |what| Err(format!("a refusal ({codes:?}) changed something: {what}")))
    }

    /// Learns the commits that are new in `seen`; their ids, oldest first.
    fn read_commits(&mut self, seen: &Seen) -> Vec<String> {
        let is_tip = |name: &str, value: &str| {
            !name.ends_with("/origin") && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let tips: BTreeSet<String> = seen
            .refs
            .iter()
            .filter(|(name, value)| is_tip(name, value))
            .map(|(_, value)| value.clone())
            .collect();
        let new: Vec<&String> =
            tips.iter().filter(|tip| !self.commits.contains_key(*tip)).collect();
        if new.is_empty() {
            self.tips = tips;
            return Vec::new();
        }
        let mut asked: String = new.iter().map(|tip| format!("{tip}\n")).collect();
        asked.extend(self.tips.iter().map(|tip| format!("^{tip}\n")));
        let said = self.fed(
            &[
                "log",
                "--reverse",
                "--topo-order",
                "--format=%x01%H%x02%P%x02%(trailers:key=Edt-Kind,valueonly,separator=)%x02%(trailers:key=Edt-Agent,valueonly,separator=)",
                "--patch",
                "--unified=0",
                "--no-renames",
                "--no-color",
                "--diff-merges=first-parent",
                "--stdin",
            ],
            asked.as_bytes(),
        );
        let mut ids = Vec::new();
        for part in said.split('\u{1}').skip(1) {
            let (id, commit) = parsed(part);
            if commit.is_users_version() {
                self.checkpointed
                    .extend(commit.added.iter().filter(|line| is_users(line)).cloned());
            }
            if !self.commits.contains_key(&id) {
                ids.push(id.clone());
                self.commits.insert(id, commit);
            }
        }
        self.tips = tips;
        ids
    }

    /// What every new commit of a step must fulfil: (2), (3) and (4). `consented`: the user let the
    /// session's user changes land.
    fn check_commits(&mut self, after: &Seen, who: Who, consented: bool) -> Judged {
        for id in self.read_commits(after) {
            // A restored file may have lines that are in another file already: it was renamed.
            let parent = self.commits[&id].parents.first().cloned();
            // What was staged may lack a line that the commit below and the disk have.
            let staged = parent.as_ref().and_then(|parent| self.commits.get(parent));
            let below = staged.filter(|one| one.is_users_version());
            let below = below.and_then(|one| one.parents.first().cloned());
            let below = below.map(|below| self.reader.tree(&below)).unwrap_or_default();
            let below: BTreeSet<&str> = below.values().flat_map(|text| text.lines()).collect();
            let parent = parent.map(|parent| self.reader.tree(&parent)).unwrap_or_default();
            let known: BTreeSet<&str> = parent.values().flat_map(|text| text.lines()).collect();
            let commit = &self.commits[&id];
            let wrong = |what: String| Err(format!("{what}; commit {id}: {commit:#?}"));
            if let Some(path) = commit.paths.iter().find(|path| !PATHS.contains(&path.as_str())) {
                return wrong(format!("(4) a commit has {path}"));
            }
            let users = |lines: &BTreeSet<String>| {
                let users = lines.iter().filter(|line| is_users(line));
                users.filter(|line| !self.touched.contains(*line)).cloned().collect::<Vec<_>>()
            };
            if commit.is_edts() {
                let number = if commit.kind == "land" { 3 } else { 2 };
                let added = users(&commit.added);
                // A restore brings back what was on the branch.
                let was_there =
                    |line: &String| self.committed.contains(line) || known.contains(line.as_str());
                let is_own = |line: &&String| match commit.kind.as_str() {
                    "restore" => !was_there(line),
                    "land" => !(self.restored.contains(*line) && was_there(line)),
                    _ => true,
                };
                if let Some(line) = added.iter().find(is_own) {
                    return wrong(format!(
                        "({number}) a commit of kind {} adds a line of the user: {line:?}",
                        commit.kind
                    ));
                }
                if commit.kind == "restore" {
                    self.restored.extend(added);
                }
            } else if commit.is_users_version() {
                if commit.has_agent {
                    return wrong("(2) the user's version has an agent's name".to_owned());
                }
                // What edits left over is among the user's changes.
                let is_agents = |line: &&String| {
                    let is_known = self.left_lines.contains(*line) || below.contains(line.as_str());
                    line.starts_with("agent ") && !is_known
                };
                if let Some(line) = commit.added.iter().find(is_agents) {
                    return wrong(format!("(2) the user's version adds {line:?}"));
                }
            }
            if who == Who::Agent && commit.kind != "saved" && !consented {
                let is_restored = |line: &str| commit.kind == "restore" && known.contains(line);
                let private = |line: &String| !self.committed.contains(line) && !is_restored(line);
                if let Some(line) = users(&commit.added).iter().find(|line| private(line)) {
                    return wrong(format!("(3) a line of the user was committed: {line:?}"));
                }
            }
            if consented || who != Who::Agent && commit.kind.is_empty() {
                let lines = commit.added.iter().chain(&commit.removed);
                self.committed.extend(lines.filter(|line| is_users(line)).cloned());
            }
        }
        Ok(())
    }

    /// Each file on disk must be `expected`, and every other as before.
    fn check_disk(&self, before: &Seen, after: &Seen, expected: &BTreeMap<String, Text>) -> Judged {
        let paths: BTreeSet<&String> =
            before.disk.keys().chain(after.disk.keys()).chain(expected.keys()).collect();
        for path in paths {
            let wanted = expected.get(path).cloned().unwrap_or_else(|| before.on_disk(path));
            let found = after.on_disk(path);
            if found != wanted {
                let kind = if expected.contains_key(path) { "" } else { ", which nobody changed" };
                return Err(format!("(5) {path} on disk{kind}: {}", difference(&wanted, &found)));
            }
        }
        Ok(())
    }

    /// The index must follow HEAD: what was staged is still staged. What is staged of a file that gets
    /// another path may go with it.
    fn check_index(&self, before: &Seen, after: &Seen) -> Judged {
        let mut moved = BTreeSet::new();
        for (to, from) in operations::renamed(&before.tip, &after.tip) {
            let goes = before.staged(&to).is_none() && after.staged(&from).is_none();
            let merged = merge3(&before.in_head(&from), &before.staged(&from), &after.in_head(&to));
            let is_merged = match merged {
                Expected::Exactly(wanted) => wanted == after.staged(&to),
                Expected::Unclear => true,
            };
            if goes && is_merged {
                moved.extend([from, to]);
            }
        }
        self.check_index_without(before, after, &moved)
    }

    /// The same after a rename: what was staged of the file moves with it.
    fn check_index_of(&self, before: &Seen, after: &Seen, renamed: Option<(&str, &str)>) -> Judged {
        if let Some((from, to)) = renamed
            && before.in_head(from).is_some()
        {
            let (staged, moved) = (before.staged(from), after.staged(to));
            if before.staged(to).is_none() && moved != staged && after.staged(from) != staged {
                return Err(format!(
                    "{from} was renamed to {to}, and what was staged is lost: {}",
                    difference(&staged, &moved)
                ));
            }
        }
        let moved = renamed.into_iter().flat_map(|(from, to)| [from.to_owned(), to.to_owned()]);
        self.check_index_without(before, after, &moved.collect())
    }

    /// The same without some paths.
    fn check_index_without(&self, before: &Seen, after: &Seen, moved: &BTreeSet<String>) -> Judged {
        for path in PATHS.into_iter().filter(|path| !moved.contains(*path)) {
            let (old, new) = (before.in_head(path), after.in_head(path));
            if let Expected::Exactly(wanted) = merge3(&old, &before.staged(path), &new)
                && wanted != after.staged(path)
            {
                return Err(format!(
                    "the index has another {path} than the merge of HEAD's change into what was \
                     staged: {}",
                    difference(&wanted, &after.staged(path))
                ));
            }
        }
        Ok(())
    }

    /// Git must see every file that differs from the index, by the stats that edt wrote.
    fn check_stats(&self, seen: &Seen) -> Judged {
        let listed = self.repo.git(&["diff-files", "--name-only"]);
        let listed: BTreeSet<&str> = listed.lines().collect();
        let hidden = seen.index.iter().find(|(path, text)| {
            seen.disk.get(*path) != Some(*text) && !listed.contains(path.as_str())
        });
        hidden.map_or(Ok(()), |(path, _)| {
            Err(format!("git does not see that {path} differs from the index"))
        })
    }

    /// Whether the user staged something of one of these paths.
    fn has_staged<'p>(seen: &Seen, paths: impl IntoIterator<Item = &'p String>) -> bool {
        paths.into_iter().any(|path| seen.in_head(path) != seen.staged(path))
    }

    /// The commits of a session with the user's version, or by the user.
    fn has_users_commits(&self, seen: &Seen) -> (bool, bool) {
        let name = seen.session().unwrap_or_default();
        let base = seen.refs.get(&format!("refs/edt/{name}/base"));
        let (mut version, mut own) = (false, false);
        let mut at = seen.head_commit().to_owned();
        while Some(&at) != base {
            let Some(commit) = self.commits.get(&at) else { break };
            version |= commit.is_users_version();
            own |= commit.kind.is_empty();
            let Some(parent) = commit.parents.first() else { break };
            at.clone_from(parent);
        }
        (version, own)
    }

    /// Slow checks: `git fsck`, and what `git push --mirror` sends.
    fn judge(&mut self) -> Judged {
        let done = self.repo.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        if !done.status.success() {
            let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            return Err(format!("git fsck: {said}"));
        }
        if !self.repo.locks().is_empty() {
            return Err(format!("locks: {:?}", self.repo.locks()));
        }
        let bare = self.repo.home.join("mirror.git");
        let place = bare.to_str().unwrap();
        if !bare.exists() {
            self.repo.git(&["init", "--quiet", "--bare", place]);
        }
        self.repo.git(&["push", "--quiet", "--mirror", place]);
        let all = self.repo.git(&["-C", place, "cat-file", "--batch-all-objects", "--batch"]);
        let public = [&self.committed, &self.checkpointed, &self.touched, &self.saved];
        let private = |line: &&str| {
            is_users(line)
                && (line.starts_with("secret ") || !public.iter().any(|all| all.contains(*line)))
        };
        match all.lines().find(private) {
            Some(line) => {
                Err(format!("(3) `git push --mirror` sends a line of the user: {line:?}"))
            }
            None => Ok(()),
        }
    }

    /// `git ARGS`, which must succeed, with something on its standard input.
    fn fed(&self, args: &[&str], stdin: &[u8]) -> String {
        let mut command = self.repo.command("git");
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "git {args:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

/// A commit as `git log` prints it.
fn parsed(part: &str) -> (String, Commit) {
    let (header, patch) = part.split_once('\n').unwrap_or((part, ""));
    let fields: Vec<&str> = header.split('\u{2}').collect();
    let mut commit = Commit {
        parents: fields[1].split_whitespace().map(str::to_owned).collect(),
        kind: fields[2].to_owned(),
        has_agent: !fields[3].is_empty(),
        ..Commit::default()
    };
    let mut in_hunk = false;
    for line in patch.lines() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            in_hunk = false;
            commit.paths.insert(names.split(" b/").next().unwrap_or_default().to_owned());
        } else if line.starts_with("@@") {
            in_hunk = true;
        } else if in_hunk {
            if let Some(line) = line.strip_prefix('+') {
                commit.added.insert(line.to_owned());
            } else if let Some(line) = line.strip_prefix('-') {
                commit.removed.insert(line.to_owned());
            }
        }
    }
    // A renamed file moves its lines.
    let moved: BTreeSet<String> = commit.added.intersection(&commit.removed).cloned().collect();
    commit.added.retain(|line| !moved.contains(line));
    commit.removed.retain(|line| !moved.contains(line));
    (fields[0].to_owned(), commit)
}

/// How `found` differs from `wanted`, line by line.
fn difference(wanted: &Text, found: &Text) -> String {
    let (Some(old), Some(new)) = (wanted, found) else {
        let word = |text: &Text| if text.is_some() { "a file" } else { "no file" };
        return format!("expected {}, found {}", word(wanted), word(found));
    };
    let (old_set, new_set) = (set(wanted), set(found));
    let lacks: Vec<&&str> = old_set.difference(&new_set).collect();
    let has: Vec<&&str> = new_set.difference(&old_set).collect();
    if lacks.is_empty() && has.is_empty() {
        return format!("the lines are in another order, or their ends differ:\n{old:?}\n{new:?}");
    }
    format!("it lacks {lacks:?} and has {has:?}")
}

/// Plays a seed; the number of steps, or why it failed.
fn play_seed(seed: u64, steps: usize) -> Judged {
    let mut play = Play::new(seed);
    for step in 0..steps {
        play.step = step;
        let judged = play.play().and_then(|()| match step % 250 {
            249 => play.judge().map_err(|fault| format!("judge: {fault}")),
            _ => Ok(()),
        });
        if let Err(fault) = judged {
            return Err(report(play, seed, &fault));
        }
    }
    play.step = steps;
    match play.all_the_way_back().and_then(|()| play.judge()) {
        Err(fault) => Err(report(play, seed, &format!("at the end: {fault}"))),
        Ok(()) => {
            println!("seed {seed}: {steps} steps: {:#?}", play.tally);
            Ok(())
        }
    }
}

/// The report of a failure. The repository stays.
fn report(play: Play, seed: u64, fault: &str) -> String {
    let recent: String = play.recent.iter().map(|line| format!("  {line}\n")).collect();
    let place = play.repo.root.display().to_string();
    let text = format!(
        "\nseed {seed}, step {}: {fault}\nthe last operations:\n{recent}repository: {place}\n\
         again: EDT_RANDOM_SEED={seed} EDT_RANDOM_STEPS={} cargo test --test thorough ownership::\n",
        play.step,
        play.step + 1
    );
    std::mem::forget(play);
    text
}

fn without() -> Vec<String> {
    let names = std::env::var("EDT_RANDOM_WITHOUT").unwrap_or_default();
    names.split(',').map(|name| name.trim().to_owned()).collect()
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nobody_loses_or_publishes_a_line_of_the_user() {
    let progress = Progress::start();
    let steps = if tier() == Tier::All { 2000 } else { 200 };
    let steps = number("EDT_RANDOM_STEPS").unwrap_or(steps);
    let seeds = seeds(number("EDT_RANDOM_SEED").map(|seed| seed as u64), 2, 20);
    let count = seeds.len();
    let faults: Vec<String> =
        play(seeds, |seed| play_seed(seed, steps).err()).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} of {count} seeds failed\n{}", faults.len(), faults.concat());
    progress.done("ownership", "steps", count * steps);
}
