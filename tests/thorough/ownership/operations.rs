//! What the user and the agent do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use edt_core::{Code, Land, Outcome, Refusal, Request};
use serde_json::{Value, json};

use super::seen::{Seen, Tree};
use super::texts::{Expected, Text, agrees, hunks, joined, merge3, overwritten, patched, set};
use super::{
    CREATED, Edit, FIRST, IGNORED, Judged, NOTES, PATHS, Play, Session, Who, difference,
    is_ignored, is_users,
};
use crate::test_repo::Answer;

/// An operation, and how often it is chosen.
pub(super) struct Operation {
    pub(super) weight: u64,
    pub(super) name: &'static str,
    pub(super) act: fn(&mut Play) -> Judged,
}

const fn operation(weight: u64, name: &'static str, act: fn(&mut Play) -> Judged) -> Operation {
    Operation { weight, name, act }
}

/// Every operation. A new command is added here.
pub(super) const OPERATIONS: &[Operation] = &[
    operation(36, "the user types", Play::types),
    operation(6, "the user deletes own lines", Play::deletes_own),
    operation(3, "the user deletes other lines", Play::deletes_others),
    operation(3, "the user creates a file", Play::creates),
    operation(1, "the user removes a file", Play::removes),
    operation(4, "git add", Play::stages),
    operation(6, "git add --patch", Play::stages_a_part),
    operation(2, "git reset -- PATH", Play::unstages),
    operation(1, "git commit", Play::commits),
    operation(7, "git switch", Play::switches),
    operation(2, "main moves", Play::main_moves),
    operation(1, "git stash push and pop", Play::stashes),
    operation(1, "git reset --keep", Play::resets),
    operation(1, "git gc", Play::collects),
    operation(44, "edt apply", Play::applies),
    operation(6, "edt run", Play::runs),
    operation(1, "edt run of nothing", Play::runs_nothing),
    operation(12, "edt undo", Play::undoes),
    operation(8, "edt redo", Play::redoes),
    operation(4, "edt restore", Play::restores),
    operation(7, "edt land", Play::lands),
    operation(5, "edt abandon", Play::abandons),
    operation(1, "edt begin", Play::begins),
    operation(5, "edt revert", Play::reverts),
    operation(3, "edt undo --save", Play::undoes_and_saves),
    operation(5, "edt switch", Play::switches_sessions),
    operation(1, "edt checkpoint", Play::checkpoints),
    operation(3, "edt land --undo", Play::unlands),
];

/// Why a landing waits for the user.
const HELD: [&str; 3] = ["APPROVAL_REQUIRED", "LEAVES_OUT", "LANDS_REMOVED_LINES"];

/// How a call ended.
enum Called {
    Done(Value),
    Refused(Vec<String>),
}

fn called(result: Result<Outcome, Refusal>) -> Called {
    match result {
        Ok(outcome) => Called::Done(serde_json::to_value(outcome).unwrap()),
        Err(found) => Called::Refused(each_once(found.codes())),
    }
}

fn answered(answer: Answer) -> Result<Called, String> {
    match answer.exit {
        0 => Ok(Called::Done(answer.json)),
        1..=5 => Ok(Called::Refused(each_once(answer.codes()))),
        _ => Err(format!("exit status {}: {:#}", answer.exit, answer.json)),
    }
}

fn each_once(codes: Vec<&str>) -> Vec<String> {
    let all: BTreeSet<String> = codes.into_iter().map(str::to_owned).collect();
    all.into_iter().collect()
}

/// Every override.
fn every_word() -> Vec<String> {
    let words: BTreeSet<&str> = Code::ALL.iter().filter_map(|code| code.allow()).collect();
    words.into_iter().map(str::to_owned).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn below(number: usize) -> u64 {
    u64::try_from(number).unwrap()
}

// ---- the user --------------------------------------------------------------------------------------

impl Play {
    fn at(&mut self, sides: usize) -> usize {
        usize::try_from(self.dice.roll(below(sides))).unwrap()
    }

    /// A file on disk with at least `least` lines.
    fn some_file(&mut self, seen: &Seen, least: usize) -> Option<String> {
        let fits = |(path, text): &(&String, &String)| {
            *path != ".gitignore" && text.lines().count() >= least
        };
        let paths: Vec<&String> = seen.disk.iter().filter(fits).map(|(path, _)| path).collect();
        if paths.is_empty() {
            return None;
        }
        // Most edits meet in the first files.
        let some = if self.dice.chance(60) { paths.len().min(3) } else { paths.len() };
        let at = self.at(some);
        Some(paths[at].clone())
    }

    /// The user saves a file. Its time is in a second of its own: whether Git sees a change in the
    /// second in which the index was written must not depend on the speed of the test.
    fn saves(&mut self, path: &str, all: &[String]) {
        self.note(format!("    {path}, {} lines", all.len()));
        self.repo.write(path, joined(all));
        self.saved_files += 1;
        let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000 + self.saved_files);
        let file = std::fs::File::options().append(true).open(self.repo.root.join(path)).unwrap();
        file.set_modified(time).unwrap();
    }

    /// The checks after something that the user did without Git.
    fn after_the_user(&mut self, before: &Seen) -> Judged {
        let after = self.seen();
        self.check_all(Who::User, before, &after, &|_| false)
    }

    fn types(&mut self) -> Judged {
        let before = self.seen();
        let Some(path) = self.some_file(&before, 0) else { return Ok(()) };
        let mut all = lines(&before.disk[&path]);
        let who = if is_ignored(&path) { "secret" } else { "user" };
        let mut at = self.at(all.len() + 1);
        if self.dice.chance(10) {
            // Next to a line of the agent.
            at = all.iter().position(|line| line.starts_with("agent ")).map_or(at, |at| at + 1);
        }
        for _ in 0..=self.dice.roll(2) {
            let line = self.line(who);
            self.typed.insert(line.clone(), format!("step {}, {path}", self.step));
            self.note(format!("    {line:?} as line {} of {path}", at + 1));
            all.insert(at, line);
        }
        let next = at + 2;
        if self.dice.chance(20) && all.get(next).is_some_and(|line| !is_users(line)) {
            self.note(format!("    instead of {:?}", all[next]));
            all.remove(next);
        }
        self.saves(&path, &all);
        self.after_the_user(&before)
    }

    fn deletes_own(&mut self) -> Judged {
        let before = self.seen();
        let own: Vec<(String, String)> = before
            .disk
            .iter()
            .flat_map(|(path, text)| text.lines().map(move |line| (path.clone(), line.to_owned())))
            .filter(|(_, line)| is_users(line))
            .collect();
        if own.is_empty() {
            return Ok(());
        }
        // The lines of a file do not become more and more.
        let count = 1 + own.len() / 20;
        for _ in 0..count {
            let (path, line) = self.dice.pick(&own).clone();
            let mut all = lines(&String::from_utf8(self.repo.read(&path)).unwrap());
            all.retain(|one| *one != line);
            self.forget(&line);
            self.note(format!("    {line:?}"));
            self.saves(&path, &all);
        }
        self.after_the_user(&before)
    }

    /// The user deleted a line.
    fn forget(&mut self, line: &str) {
        self.typed.remove(line);
        self.parked.remove(line);
    }

    fn deletes_others(&mut self) -> Judged {
        let before = self.seen();
        let Some(path) = self.some_file(&before, 10) else { return Ok(()) };
        let mut all = lines(&before.disk[&path]);
        let at = self.at(all.len() - 3);
        let count = 1 + self.at(3);
        for line in all.drain(at..at + count).collect::<Vec<_>>() {
            self.note(format!("    {line:?}"));
            self.forget(&line);
        }
        self.saves(&path, &all);
        self.after_the_user(&before)
    }

    fn creates(&mut self) -> Judged {
        let before = self.seen();
        let names: Vec<&str> = NOTES.into_iter().chain(IGNORED).collect();
        let path = *self.dice.pick(&names);
        if before.disk.contains_key(path) {
            return Ok(());
        }
        let who = if is_ignored(path) { "secret" } else { "user" };
        let all: Vec<String> = (0..8).map(|_| self.line(who)).collect();
        for line in &all {
            self.typed.insert(line.clone(), format!("step {}, {path}", self.step));
        }
        self.saves(path, &all);
        self.after_the_user(&before)
    }

    fn removes(&mut self) -> Judged {
        let before = self.seen();
        let Some(path) = self.some_file(&before, 0) else { return Ok(()) };
        self.note(format!("    {path}"));
        for line in lines(&before.disk[&path]) {
            self.forget(&line);
        }
        std::fs::remove_file(self.repo.root.join(&path)).unwrap();
        self.after_the_user(&before)
    }

    fn stages(&mut self) -> Judged {
        let before = self.seen();
        let Some(path) = self.some_file(&before, 0) else { return Ok(()) };
        if !is_ignored(&path) {
            self.repo.git(&["add", "--", &path]);
        }
        self.note(format!("    {path}"));
        self.after_the_user(&before)
    }

    /// Stages some of the changes of a file.
    fn stages_a_part(&mut self) -> Judged {
        let before = self.seen();
        let differs = |path: &&&str| {
            before.in_head(path).is_some()
                && before.on_disk(path).is_some()
                && before.in_head(path) != before.on_disk(path)
        };
        let paths: Vec<&str> = PATHS.iter().filter(differs).copied().collect();
        if paths.is_empty() {
            return Ok(());
        }
        let path = *self.dice.pick(&paths);
        let old = before.in_head(path).unwrap();
        let mut some = hunks(&old, &before.on_disk(path).unwrap());
        some.retain(|_| self.dice.chance(50));
        self.note(format!("    {path}: {some:?}"));
        let text = patched(&old, some);
        let id = self.fed(&["hash-object", "-w", "--stdin"], text.as_bytes());
        let entry = format!("100644,{},{path}", id.trim());
        self.repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
        self.after_the_user(&before)
    }

    fn unstages(&mut self) -> Judged {
        let before = self.seen();
        let path = *self.dice.pick(&PATHS);
        self.note(format!("    {path}"));
        let _ = self.repo.try_git(&["reset", "--quiet", "--", path]);
        self.after_the_user(&before)
    }

    /// The checks after a command of Git that may move HEAD: no ignored file changes.
    fn after_git(&mut self, before: &Seen) -> Judged {
        let after = self.seen();
        for path in IGNORED {
            if before.files.get(path) != after.files.get(path) {
                return Err(format!("(5) Git changed the ignored file {path}"));
            }
        }
        self.check_all(Who::Git, before, &after, &|_| false)
    }

    fn commits(&mut self) -> Judged {
        let before = self.seen();
        let all = self.dice.chance(50);
        let args: &[&str] = if all { &["--all"] } else { &[] };
        let done = self.repo.try_git(&[&["commit", "--quiet", "-m", "mine"], args].concat());
        self.note(format!("    {args:?}: {}", done.status.success()));
        if done.status.success() && before.session().is_some() {
            // Nothing before the user's commit can be undone.
            let session = self.session(&before);
            session.done.clear();
            session.undone.clear();
        }
        self.after_git(&before)
    }

    fn switches(&mut self) -> Judged {
        let before = self.seen();
        let heads: Vec<String> = before
            .refs
            .keys()
            .filter_map(|name| name.strip_prefix("refs/heads/"))
            .filter(|name| Some(*name) != before.branch().strip_prefix("refs/heads/"))
            .map(str::to_owned)
            .collect();
        let new = format!("feature-{}", heads.len());
        let args = if before.branch() == "refs/heads/main" && self.dice.chance(15) {
            vec!["switch", "--quiet", "--create", &new]
        } else if heads.is_empty() {
            return Ok(());
        } else if self.dice.chance(30) && heads.iter().any(|name| name == "main") {
            vec!["switch", "--quiet", "main"]
        } else {
            // The latest sessions.
            let at = heads.len() - 1 - self.at(heads.len().min(3));
            vec!["switch", "--quiet", &heads[at]]
        };
        let done = self.repo.try_git(&args);
        self.note(format!("    {args:?}: {}", done.status.success()));
        self.after_git(&before)
    }

    /// Someone else commits on `main`, in another clone say.
    fn main_moves(&mut self) -> Judged {
        let before = self.seen();
        if before.branch() == "refs/heads/main" {
            return Ok(());
        }
        let main = before.refs["refs/heads/main"].clone();
        let tree = self.reader.tree(&main);
        let paths: Vec<&String> = tree.keys().filter(|path| *path != ".gitignore").collect();
        let path = (*self.dice.pick(&paths)).clone();
        let mut all = lines(&tree[&path]);
        let line = self.line("main");
        let at = self.at(all.len() + 1);
        self.note(format!("    {line:?} as line {} of {path}", at + 1));
        all.insert(at, line);
        if self.dice.chance(40) && all.get(at + 1).is_some_and(|line| !is_users(line)) {
            all.remove(at + 1);
        }
        let index = self.repo.root.join(".git/another-index");
        let git = |args: &[&str]| {
            let mut command = self.repo.command("git");
            let done = command.args(args).env("GIT_INDEX_FILE", &index).output().unwrap();
            assert!(done.status.success(), "git {args:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        git(&["read-tree", &main]);
        let blob = self.fed(&["hash-object", "-w", "--stdin"], joined(&all).as_bytes());
        let entry = format!("100644,{},{path}", blob.trim());
        git(&["update-index", "--cacheinfo", &entry]);
        let tree = git(&["write-tree"]);
        let commit = git(&["commit-tree", &tree, "-p", &main, "-m", "main moves"]);
        git(&["update-ref", "refs/heads/main", &commit, &main]);
        std::fs::remove_file(&index).unwrap();
        self.after_git(&before)
    }

    fn stashes(&mut self) -> Judged {
        let before = self.seen();
        let said = self.repo.try_git(&["stash", "push"]);
        if String::from_utf8_lossy(&said.stdout).starts_with("Saved") {
            self.repo.git(&["stash", "pop", "--quiet"]);
        }
        self.after_git(&before)
    }

    /// Takes the last commit off the session's branch, if it is an edit without lines of the user.
    fn resets(&mut self) -> Judged {
        let before = self.seen();
        let head = before.head_commit().to_owned();
        let is_plain = self.commits.get(&head).is_some_and(|commit| {
            commit.is_edts()
                && commit.kind != "land"
                && !commit.removed.iter().chain(&commit.added).any(|line| is_users(line))
        });
        if before.session().is_none() || !is_plain {
            return Ok(());
        }
        let done = self.repo.try_git(&["reset", "--quiet", "--keep", "HEAD~1"]);
        self.note(format!("    {}", done.status.success()));
        if done.status.success() {
            let session = self.session(&before);
            if session.done.pop().is_none_or(|edit| edit.commit != head) {
                session.lost = true;
            }
            session.undone.clear();
        }
        self.after_git(&before)
    }

    fn collects(&mut self) -> Judged {
        let before = self.seen();
        self.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        self.repo.git(&["gc", "--quiet", "--prune=now"]);
        self.after_git(&before)
    }
}

// ---- edits -----------------------------------------------------------------------------------------

impl Play {
    /// A random line number, mostly of a line that is not the user's.
    fn some_line(&mut self, all: &[String]) -> usize {
        let at = self.at(all.len());
        if is_users(&all[at]) && self.dice.chance(92) {
            let others: Vec<usize> = (0..all.len()).filter(|&at| !is_users(&all[at])).collect();
            if !others.is_empty() {
                return *self.dice.pick(&others);
            }
        }
        at
    }

    fn agents(&mut self, most: u64) -> Vec<String> {
        (0..=self.dice.roll(most)).map(|_| self.line("agent")).collect()
    }

    /// An edit of a file as JSON, and the file after it.
    fn some_edit(&mut self, path: &str, before: &Text) -> (Value, Text) {
        let Some(text) = before else {
            let content = joined(&self.agents(7));
            let edit = json!({"path": path, "mode": "create", "content": content});
            return (edit, Some(content));
        };
        let mut all = lines(text);
        let new = self.agents(2);
        let content = joined(&new);
        // Files stay at about sixty lines.
        let roll = match (all.len(), self.dice.roll(100)) {
            (..6, _) => 50,
            (..45, 56..84) => 40,
            (75.., 35..56) => 70,
            (_, roll) => roll,
        };
        let edit = match roll {
            0..35 => {
                let at = self.some_line(&all);
                let old = all[at].clone();
                all.splice(at..=at, new.clone());
                json!({"path": path, "mode": "edit", "old_text": old, "content": content.trim_end()})
            }
            35..48 => {
                let at = self.some_line(&all);
                all.splice(at..at, new.clone());
                json!({"path": path, "mode": "insert", "start_line": at + 1, "content": content})
            }
            48..56 => {
                all.extend(new.clone());
                json!({"path": path, "mode": "append", "content": content})
            }
            56..68 => {
                let first = self.some_line(&all);
                let last = (first + self.at(2)).min(all.len() - 1);
                let old: Vec<String> = all.splice(first..=last, new.clone()).collect();
                json!({"path": path, "mode": "replace_lines", "start_line": first + 1,
                       "end_line": last + 1, "content": content, "expected_text": joined(&old)})
            }
            68..84 => {
                let first = self.some_line(&all);
                let last = (first + self.at(3)).min(all.len() - 1);
                let old: Vec<String> = all.drain(first..=last).collect();
                json!({"path": path, "mode": "delete_lines", "start_line": first + 1,
                       "end_line": last + 1, "expected_text": joined(&old)})
            }
            84..98 => {
                for line in new {
                    let at = self.some_line(&all);
                    all[at] = line;
                }
                json!({"path": path, "mode": "overwrite", "content": joined(&all)})
            }
            _ => return (json!({"path": path, "mode": "delete"}), None),
        };
        (edit, Some(joined(&all)))
    }

    /// Paths for an edit.
    fn some_paths(&mut self, seen: &Seen, most: u64) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        for _ in 0..=self.dice.roll(most) {
            let path = match self.dice.roll(100) {
                0..75 => (*self.dice.pick(&FIRST)).to_owned(),
                75..88 => (*self.dice.pick(&CREATED)).to_owned(),
                88..94 => (*self.dice.pick(&NOTES)).to_owned(),
                _ => (*self.dice.pick(&IGNORED)).to_owned(),
            };
            // The agent creates no notes of the user.
            if seen.disk.contains_key(&path) || !NOTES.contains(&path.as_str()) {
                paths.insert(path);
            }
        }
        paths
    }

    fn applies(&mut self) -> Judged {
        let before = self.seen();
        if self.dice.chance(2) {
            return self.renames(&before);
        }
        let (mut edits, mut files) = (Vec::new(), BTreeMap::new());
        for path in self.some_paths(&before, 2) {
            let old = before.on_disk(&path);
            let (edit, new) = self.some_edit(&path, &old);
            edits.push(edit);
            files.insert(path, (old, new));
        }
        if edits.is_empty() {
            return Ok(());
        }
        self.note(format!("    {}", Value::from(edits.clone())));
        let request = json!({"edits": edits, "allow": every_word(), "agent": "bot"});
        let request = Request::from_json(request.to_string().as_bytes()).unwrap();
        let call = called(self.workspace.apply(&request));
        self.after_edit("edt apply", &before, call, files, None)
    }

    fn renames(&mut self, before: &Seen) -> Judged {
        let is_tracked =
            |path: &&&str| before.on_disk(path).is_some() && before.in_head(path).is_some();
        let from: Vec<&str> = FIRST.iter().chain(&CREATED).filter(is_tracked).copied().collect();
        let free = |path: &&&str| before.on_disk(path).is_none() && before.in_head(path).is_none();
        let to: Vec<&str> = CREATED.iter().filter(free).copied().collect();
        if from.is_empty() || to.is_empty() {
            return Ok(());
        }
        let (from, to) = (*self.dice.pick(&from), *self.dice.pick(&to));
        self.note(format!("    rename {from} to {to}"));
        let request = json!({"path": from, "mode": "rename", "to": to, "allow": every_word()});
        let request = Request::from_json(request.to_string().as_bytes()).unwrap();
        let call = called(self.workspace.apply(&request));
        let text = before.on_disk(from);
        let files = BTreeMap::from([
            (from.to_owned(), (text.clone(), None)),
            (to.to_owned(), (None, text)),
        ]);
        self.after_edit("edt rename", before, call, files, Some((from, to)))
    }

    fn runs(&mut self) -> Judged {
        let before = self.seen();
        let (mut script, mut files) = (String::new(), BTreeMap::new());
        for path in self.some_paths(&before, 2) {
            let old = before.on_disk(&path);
            let (_, new) = self.some_edit(&path, &old);
            match &new {
                None => script += &format!("rm '{path}'\n"),
                Some(text) => {
                    if let Some((directory, _)) = path.rsplit_once('/') {
                        script += &format!("mkdir -p '{directory}'\n");
                    }
                    script += &format!("cat > '{path}' <<'END'\n{text}END\n");
                }
            }
            files.insert(path, (old, new));
        }
        if files.is_empty() {
            return Ok(());
        }
        self.note(format!("    {:?}", files.keys().collect::<Vec<_>>()));
        let call = answered(self.repo.runs(&["--agent", "bot"], &["sh", "-c", &script]))?;
        self.after_edit("edt run", &before, call, files, None)
    }

    fn runs_nothing(&mut self) -> Judged {
        let before = self.seen();
        let wanted = self.repo.git(&["status", "--porcelain"]);
        let answer = self.repo.runs(&[], &["git", "status", "--porcelain"]);
        let found = answer.json["run"]["stdout"]["text"].as_str().unwrap_or_default().to_owned();
        if answer.exit != 0 || found != wanted {
            return Err(format!(
                "the program saw {found:?} instead of {wanted:?}: {:#}",
                answer.json
            ));
        }
        let after = self.seen();
        if let Some(what) = before.differs(&after) {
            return Err(format!("a program that changes nothing changed {what}"));
        }
        self.check_all(Who::Agent, &before, &after, &|_| false)
    }

    /// The checks after an edit that changes `files`.
    fn after_edit(
        &mut self,
        name: &str,
        before: &Seen,
        call: Called,
        files: BTreeMap<String, (Text, Text)>,
        renamed: Option<(&str, &str)>,
    ) -> Judged {
        let after = self.seen();
        let answer = match call {
            Called::Refused(codes) => {
                self.count(name, &codes.join(" "));
                let rolled_back = ["SIZE_REDUCTION", "MASS_DELETION"];
                if name == "edt run"
                    && codes.iter().all(|code| rolled_back.contains(&code.as_str()))
                {
                    // What was refused is kept at a ref. Ignored output stays.
                    let output = files
                        .into_iter()
                        .filter(|(path, (old, _))| is_ignored(path) && old.is_none());
                    let output = output.map(|(path, (_, new))| (path, new)).collect();
                    self.check_disk(before, &after, &output)?;
                    self.check_index(before, &after)?;
                    return self.check_all(Who::Agent, before, &after, &|_| false);
                }
                self.check_refused(before, &after, &codes)?;
                return Err(format!("an edit that nothing forbids was refused: {codes:?}"));
            }
            Called::Done(answer) => answer,
        };
        let wrong = |what: String| Err(format!("{what}; the answer: {answer:#}"));
        let expected: BTreeMap<String, Text> =
            files.iter().map(|(path, (_, new))| (path.clone(), new.clone())).collect();
        self.check_disk(before, &after, &expected)?;
        // An ignored file that a program creates is output, which nobody records.
        let mut files = files;
        files.retain(|path, (old, _)| name != "edt run" || !is_ignored(path) || old.is_some());
        if files.is_empty() {
            let moved = before.head != after.head || before.refs != after.refs;
            if answer["status"] != "unchanged" || moved {
                return wrong("ignored output was recorded".to_owned());
            }
            return self.check_all(Who::Agent, before, &after, &|_| false);
        }
        if answer["status"] != "applied" {
            return wrong("the edit was not applied".to_owned());
        }
        let mut ends = BTreeSet::new();
        for path in PATHS {
            let (tip, now) = (before.in_head(path), after.in_head(path));
            let Some((old, new)) = files.get(path) else {
                if now != tip {
                    return wrong(format!(
                        "(2) the branch has another {path}, which was not edited"
                    ));
                }
                continue;
            };
            if let Some((from, to)) = renamed {
                let lines = old.iter().chain(new).flat_map(|text| text.lines());
                self.left_lines.extend(lines.map(str::to_owned));
                let source = before.in_head(from);
                let expected = if path == from { None } else { source.clone() };
                let is_right = now == expected || source.is_none() && now == tip;
                if !is_right {
                    return wrong(format!(
                        "(2) {from} was renamed to {to}; {path} in the branch: {}",
                        difference(&expected, &now)
                    ));
                }
                continue;
            }
            let report = answer["files"].as_array().unwrap().iter().find(|one| one["path"] == path);
            let said = report.map_or("branch", |one| one["recorded"].as_str().unwrap());
            ends.insert(said.to_owned());
            if said != "branch" {
                self.left_over.insert(path.to_owned());
                let lines = new.iter().flat_map(|text| text.lines());
                self.left_lines.extend(lines.map(str::to_owned));
            }
            // What the user has in the index or in an untracked file, or removed.
            let staged = before.staged(path) != tip;
            let is_tracked = tip == *old || tip.is_some() && old.is_some() && new.is_some();
            let merged = merge3(old, &tip, new);
            match (said, merged) {
                ("branch", Expected::Exactly(branch)) if now != branch => {
                    return wrong(format!("(2) {path}: {}", difference(&branch, &now)));
                }
                ("branch", Expected::Exactly(_)) => {}
                ("branch", Expected::Unclear) => {
                    if let Err(fault) = agrees(old, &tip, new, &now) {
                        return wrong(format!("(2) {path} in the branch: {fault}"));
                    }
                }
                ("partly" | "private", Expected::Exactly(_)) if is_tracked && !staged => {
                    return wrong(format!("{path} is {said} for no reason"));
                }
                ("private", _) if now != tip => {
                    return wrong(format!("(2) {path} is private: {}", difference(&tip, &now)));
                }
                ("partly" | "private", _) => {
                    let lines = |text: &Text| text.clone().unwrap_or_default();
                    let (tip, new) = (lines(&tip), lines(new));
                    let known: BTreeSet<&str> = tip.lines().chain(new.lines()).collect();
                    let now = lines(&now);
                    if let Some(line) = now.lines().find(|line| !known.contains(line)) {
                        return wrong(format!("(2) {path} in the branch has {line:?}"));
                    }
                }
                _ => return wrong(format!("{path} is {said}")),
            }
        }
        for path in files.keys().filter(|path| is_ignored(path)) {
            let report =
                answer["files"].as_array().unwrap().iter().find(|one| one["path"] == **path);
            if report.is_none_or(|one| one["recorded"] != "private") {
                return wrong(format!("{path} is ignored and not recorded as private"));
            }
        }
        self.check_index_of(before, &after, renamed)?;
        let ends: Vec<String> = ends.into_iter().collect();
        self.count(name, &format!("applied {}", ends.join(" and ")));
        if before.session().is_none() {
            self.sessions
                .insert(after.session().unwrap_or_default().to_owned(), Session::default());
        }
        let commit = after.head_commit().to_owned();
        let number = answer["edit"].as_u64().unwrap_or_default();
        let session = self.session(&after);
        session.done.push(Edit { commit, number, files: files.clone() });
        session.undone.clear();
        let removed: BTreeSet<String> = removed_lines(&files).collect();
        self.touched.extend(removed.iter().filter(|line| is_users(line)).cloned());
        self.check_all(Who::Agent, before, &after, &|line| removed.contains(line))
    }
}

// ---- going back ------------------------------------------------------------------------------------

/// A change of one file that is taken back or made again.
#[derive(Debug, Clone)]
struct Step {
    /// Where the file is before; mostly the same path.
    source: String,
    path: String,
    from: Text,
    to: Text,
}

impl Step {
    fn of(path: &str, from: Text, to: Text) -> Step {
        Step { source: path.to_owned(), path: path.to_owned(), from, to }
    }

    /// The two halves of a rename, if they are not followed as one: the file is gone, or another one
    /// is in its place.
    fn halves(&self) -> [Step; 2] {
        [
            Step::of(&self.source, self.from.clone(), None),
            Step::of(&self.path, None, self.to.clone()),
        ]
    }

    /// The step as it is followed from the files that `now` returns.
    fn followed(&self, now: impl Fn(&str) -> Text) -> Vec<Step> {
        let moves = now(&self.source).is_some() && now(&self.path).is_none();
        if self.source == self.path || moves { vec![self.clone()] } else { self.halves().into() }
    }

    fn paths(&self) -> [&String; 2] {
        [&self.source, &self.path]
    }
}

/// The files on disk after edits were taken back or made again, one after the other. The flag: all
/// of it is certain.
fn replayed<'e>(
    disk: &Tree,
    steps: impl Iterator<Item = &'e Step>,
) -> (BTreeMap<String, Text>, bool) {
    let (mut files, mut is_certain) = (BTreeMap::<String, Text>::new(), true);
    for step in steps {
        let now = |files: &BTreeMap<String, Text>, path: &str| {
            files.get(path).cloned().unwrap_or_else(|| disk.get(path).cloned())
        };
        for Step { source, path, from, to } in step.followed(|path| now(&files, path)) {
            match merge3(&from, &now(&files, &source), &to) {
                Expected::Exactly(text) => {
                    files.insert(source, None);
                    files.insert(path, text);
                }
                Expected::Unclear => is_certain = false,
            }
        }
    }
    (files, is_certain)
}

impl Play {
    fn undoes(&mut self) -> Judged {
        let before = self.seen();
        let count = if self.dice.chance(75) { 1 } else { 2 + self.at(2) };
        self.note(format!("    {count}"));
        let call = called(self.workspace.undo(below(count)));
        self.after_undo("edt undo", &before, count, call).map(drop)
    }

    /// Whether something was undone.
    fn after_undo(
        &mut self,
        name: &str,
        before: &Seen,
        count: usize,
        call: Called,
    ) -> Result<bool, String> {
        let after = self.seen();
        let session = self.session(before).clone();
        let at = session.done.len().checked_sub(count).filter(|_| !session.lost);
        let steps: Option<Vec<Step>> = at.map(|at| {
            let edits = session.done[at..].iter().rev();
            edits.flat_map(|edit| backwards(&edit.files)).collect()
        });
        let codes = match call {
            Called::Refused(codes) => codes,
            Called::Done(answer) => {
                self.count(name, "done");
                let judged = self.undone(before, &after, &session, at, steps.as_deref());
                return judged.map(|()| true).map_err(|fault| format!("{fault}; {answer:#}"));
            }
        };
        self.count(name, &codes.join(" "));
        self.check_refused(before, &after, &codes)?;
        let is = |code: &str| codes.iter().all(|one| one == code);
        let expected = if before.session().is_none() {
            is("NO_SESSION") || is("SESSION_LANDED")
        } else if is("NOTHING_TO_UNDO") {
            session.lost || at.is_none()
        } else {
            is("UNSAVED_CHANGES") && self.may_conflict(before, steps.as_deref())
        };
        if expected { Ok(false) } else { Err(format!("refused for no reason: {codes:?}")) }
    }

    /// Whether these steps may meet changes of the user, on disk or staged.
    fn may_conflict(&self, before: &Seen, steps: Option<&[Step]>) -> bool {
        steps.is_none_or(|steps| {
            !replayed(&before.disk, steps.iter()).1
                || Play::has_staged(before, steps.iter().flat_map(Step::paths))
        })
    }

    fn undone(
        &mut self,
        before: &Seen,
        after: &Seen,
        session: &Session,
        at: Option<usize>,
        steps: Option<&[Step]>,
    ) -> Judged {
        self.check_index(before, after)?;
        let added: BTreeSet<String>;
        if let (Some(at), Some(steps)) = (at, steps) {
            self.check_replayed(before, after, steps)?;
            self.check_undone_tip(after, &session.done[at].commit)?;
            let edits = session.done[at..].to_vec();
            added = edits.iter().flat_map(|edit| added_lines(&edit.files)).collect();
            let tip = before.head_commit().to_owned();
            let known = self.session(before);
            known.done.truncate(at);
            known.undone.push((tip, edits));
        } else {
            self.check_moved(before, after)?;
            self.session(before).lost = true;
            added = self.committed.clone();
        }
        let touched = self.touched.clone();
        let may_leave = |line: &str| added.contains(line) || touched.contains(line);
        self.check_all(Who::Agent, before, after, &may_leave)
    }

    /// The branch must be where it was before `commit`: with or without the user's version.
    fn check_undone_tip(&mut self, after: &Seen, commit: &str) -> Judged {
        let mut at = commit.to_owned();
        let mut allowed = Vec::new();
        while let Some(parent) = self.commits.get(&at).and_then(|one| one.parents.first().cloned())
        {
            allowed.push(self.reader.tree(&parent));
            if !self.commits.get(&parent).is_some_and(super::Commit::is_users_version) {
                break;
            }
            at = parent;
        }
        if allowed.contains(&after.tip) {
            return Ok(());
        }
        Err(format!("the branch is not where it was before {commit}: {:#?}", after.tip))
    }

    /// The files on disk after steps of going back or forth.
    fn check_replayed(&self, before: &Seen, after: &Seen, steps: &[Step]) -> Judged {
        let (files, is_certain) = replayed(&before.disk, steps.iter());
        if is_certain {
            return self.check_disk(before, after, &files);
        }
        // Where the sides meet and edt merged nevertheless, every line must be as in a merge.
        let paths: BTreeSet<&String> = steps.iter().flat_map(Step::paths).collect();
        let untouched = before.disk.keys().chain(after.disk.keys());
        for path in untouched.filter(|path| !paths.contains(path)) {
            if before.on_disk(path) != after.on_disk(path) {
                return Err(format!("(5) {path} changed on disk, which is in no edit"));
            }
        }
        for path in paths {
            let own: Vec<_> = steps.iter().filter(|step| step.paths().contains(&path)).collect();
            let [step] = own.as_slice() else { continue };
            for step in step.followed(|path| before.on_disk(path)) {
                let Step { source, path, from, to } = step;
                agrees(&from, &before.on_disk(&source), &to, &after.on_disk(&path))
                    .map_err(|fault| format!("(5) {path} on disk: {fault}"))?;
            }
        }
        Ok(())
    }

    /// The branch moved to a tree that the model does not know: the disk must have followed it.
    fn check_moved(&self, before: &Seen, after: &Seen) -> Judged {
        // What the user changed stays, even if the branch had it.
        let users = self.paths_of_the_user(before.head_commit(), after.head_commit());
        self.check_moved_without(before, after, &users)
    }

    /// The same without paths of which the user's changes stay.
    fn check_moved_without(&self, before: &Seen, after: &Seen, users: &BTreeSet<String>) -> Judged {
        let is_known = |path: &&str| !users.contains(*path) && !self.left_over.contains(*path);
        for path in PATHS.into_iter().filter(is_known) {
            let (old, new) = (before.in_head(path), after.in_head(path));
            let (disk, now) = (before.on_disk(path), after.on_disk(path));
            if old.is_none() && new.is_some() && now.is_some() {
                // The other half of a rename has the user's lines.
                continue;
            }
            match merge3(&old, &disk, &new) {
                Expected::Exactly(wanted) if wanted != now => {
                    return Err(format!("(5) {path} on disk: {}", difference(&wanted, &now)));
                }
                Expected::Exactly(_) => {}
                Expected::Unclear => {
                    // The user's lines may be in another file now: it was renamed.
                    let [old, disk, new, now] = [&old, &disk, &new, &now].map(without_users);
                    agrees(&old, &disk, &new, &now)
                        .map_err(|fault| format!("(5) {path} on disk: {fault}"))?;
                }
            }
        }
        Ok(())
    }

    /// The paths of the user's commits, and of commits with the user's version, that only one of
    /// two commits has as ancestors.
    fn paths_of_the_user(&self, one: &str, two: &str) -> BTreeSet<String> {
        let mut commits = self.commits_only_in(one, two);
        commits.extend(self.commits_only_in(two, one));
        self.paths_in(&commits)
    }

    /// The commits that `one` has as ancestors and `two` has not.
    fn commits_only_in(&self, one: &str, two: &str) -> BTreeSet<String> {
        let chain = |from: &str| {
            let (mut all, mut at) = (BTreeSet::new(), Some(from.to_owned()));
            while let Some((id, commit)) = at.and_then(|id| self.commits.get_key_value(&id)) {
                all.insert(id.clone());
                at = commit.parents.first().cloned();
            }
            all
        };
        chain(one).difference(&chain(two)).cloned().collect()
    }

    /// The paths of those of `commits` that are the user's.
    fn paths_in(&self, commits: &BTreeSet<String>) -> BTreeSet<String> {
        let commits = commits.iter().map(|id| &self.commits[id]);
        let users = commits.filter(|commit| commit.is_users_version() || commit.kind.is_empty());
        users.flat_map(|commit| commit.paths.iter().cloned()).collect()
    }

    fn redoes(&mut self) -> Judged {
        let before = self.seen();
        let session = self.session(&before).clone();
        let call = called(self.workspace.redo());
        let after = self.seen();
        let group = session.undone.last().filter(|_| !session.lost);
        let steps = group.map(|(_, edits)| {
            let steps = edits.iter().flat_map(|edit| forwards(&edit.files));
            steps.collect::<Vec<_>>()
        });
        let codes = match call {
            Called::Refused(codes) => codes,
            Called::Done(answer) => {
                self.count("edt redo", "done");
                let judged = self.redone(&before, &after, group, steps.as_deref());
                return judged.map_err(|fault| format!("{fault}; {answer:#}"));
            }
        };
        self.count("edt redo", &codes.join(" "));
        self.check_refused(&before, &after, &codes)?;
        let is = |code: &str| codes.iter().all(|one| one == code);
        let expected = if before.session().is_none() {
            is("NO_SESSION") || is("SESSION_LANDED")
        } else if is("NOTHING_TO_REDO") {
            group.is_none()
        } else {
            is("UNSAVED_CHANGES") && self.may_conflict(&before, steps.as_deref())
        };
        if expected { Ok(()) } else { Err(format!("refused for no reason: {codes:?}")) }
    }

    fn redone(
        &mut self,
        before: &Seen,
        after: &Seen,
        group: Option<&(String, Vec<Edit>)>,
        steps: Option<&[Step]>,
    ) -> Judged {
        self.check_index(before, after)?;
        let mut removed = self.touched.clone();
        match (group, steps) {
            (Some((tip, edits)), Some(steps)) if *tip == after.head_commit() => {
                self.check_replayed(before, after, steps)?;
                removed.extend(edits.iter().flat_map(|edit| removed_lines(&edit.files)));
                let session = self.session(before);
                session.done.extend(edits.iter().cloned());
                session.undone.pop();
            }
            _ => {
                self.check_moved(before, after)?;
                self.session(before).lost = true;
            }
        }
        self.check_all(Who::Agent, before, after, &|line| removed.contains(line))
    }

    fn restores(&mut self) -> Judged {
        let before = self.seen();
        let path = (*self.dice.pick(&FIRST)).to_owned();
        let revision = self.at(3);
        self.note(format!("    {path}, {revision}"));
        let steps = self.steps_of_restore(&before, &path, revision);
        let answer = self.repo.edt(&["restore", &path, "--revision", &revision.to_string()]);
        self.after_single("edt restore", &before, &path, answered(answer)?, steps.as_deref())
    }

    /// What the edits of `path` since its `revision` changed on disk, backwards; `None` if the model
    /// does not know each of them, or if only the user has changed the file since.
    fn steps_of_restore(
        &mut self,
        before: &Seen,
        path: &str,
        revision: usize,
    ) -> Option<Vec<Step>> {
        let base = before.refs.get(&format!("refs/edt/{}/base", before.session()?))?.clone();
        let done = self.session(before).done.clone();
        let (mut at, mut steps, mut seen) = (before.head_commit().to_owned(), Vec::new(), 0);
        while at != base {
            let commit = self.commits.get(&at)?;
            let parent = commit.parents.first()?.clone();
            let is_edit = commit.is_edts();
            let new = self.reader.tree(&at).get(path).cloned();
            let old = self.reader.tree(&parent).get(path).cloned();
            // What the user committed is no revision, and stays.
            if is_edit {
                let edit = done.iter().find(|edit| edit.commit == at)?;
                let (from, to) = match edit.files.get(path).cloned() {
                    Some((before, after)) => (after, before),
                    None if old != new => return None,
                    None => (new.clone(), old.clone()),
                };
                let changes = old != new || edit.files.contains_key(path);
                steps.push(Step::of(path, from, to));
                if changes && seen == revision {
                    let is_known = old != before.in_head(path) || self.left_over.contains(path);
                    return is_known.then_some(steps);
                }
                seen += usize::from(changes);
            }
            at = parent;
        }
        None
    }

    /// The checks after a commit that sets `path` to an earlier version.
    fn after_single(
        &mut self,
        name: &str,
        before: &Seen,
        path: &str,
        call: Called,
        steps: Option<&[Step]>,
    ) -> Judged {
        let after = self.seen();
        let answer = match call {
            Called::Done(answer) => answer,
            Called::Refused(codes) => {
                self.count(name, &codes.join(" "));
                self.check_refused(before, &after, &codes)?;
                let known = ["NO_SESSION", "SESSION_LANDED", "NOTHING_TO_UNDO", "UNSAVED_CHANGES"];
                if codes.iter().all(|code| known.contains(&code.as_str())) {
                    return Ok(());
                }
                return Err(format!("refused for no reason: {codes:?}"));
            }
        };
        let wrong = |what: String| Err(format!("{what}; the answer: {answer:#}"));
        if let Some(steps) = steps {
            self.check_replayed(before, &after, steps).or_else(&wrong)?;
        }
        if answer["status"] == "unchanged" {
            self.count(name, "unchanged");
            return before
                .differs(&after)
                .map_or(Ok(()), |what| wrong(format!("it changed {what}")));
        }
        self.count(name, "done");
        self.check_index(before, &after)?;
        self.check_moved(before, &after)?;
        for other in PATHS {
            let moved = before.in_head(other) != after.in_head(other);
            if other != path && (moved || before.on_disk(other) != after.on_disk(other)) {
                return wrong(format!("(2) {other} changed"));
            }
        }
        let files =
            BTreeMap::from([(path.to_owned(), (before.on_disk(path), after.on_disk(path)))]);
        let commit = after.head_commit().to_owned();
        let number = answer["edit"].as_u64().unwrap_or_default();
        let session = self.session(before);
        session.done.push(Edit { commit, number, files });
        session.undone.clear();
        let (touched, committed) = (self.touched.clone(), self.committed.clone());
        let may_leave = |line: &str| touched.contains(line) || committed.contains(line);
        self.check_all(Who::Agent, before, &after, &may_leave)
    }

    fn reverts(&mut self) -> Judged {
        let before = self.seen();
        let done = self.session(&before).done.clone();
        if done.is_empty() || self.session(&before).lost {
            return Ok(());
        }
        let edit = self.dice.pick(&done).clone();
        self.note(format!("    {}, {}", edit.number, edit.commit));
        let call = answered(self.repo.edt(&["revert", &edit.number.to_string()]))?;
        let after = self.seen();
        let answer = match call {
            Called::Done(answer) => answer,
            Called::Refused(codes) => {
                self.count("edt revert", &codes.join(" "));
                return self.check_refused(&before, &after, &codes);
            }
        };
        if answer["status"] == "unchanged" {
            self.count("edt revert", "unchanged");
            let changed = before.differs(&after);
            return changed.map_or(Ok(()), |what| Err(format!("it changed {what}")));
        }
        self.count("edt revert", "done");
        self.check_index(&before, &after)?;
        let mut steps: Vec<_> = backwards(&edit.files).collect();
        // A file that is without the edit on the branch already stays as it is.
        let parent = self.commits[&edit.commit].parents.first().cloned().unwrap_or_default();
        let (new, old) = (self.reader.tree(&edit.commit), self.reader.tree(&parent));
        let is_without = |path: &String| {
            let (from, to) = (new.get(path).cloned(), old.get(path).cloned());
            let tip = before.in_head(path);
            from != to && merge3(&from, &tip, &to) == Expected::Exactly(tip)
        };
        steps.retain(|step| !is_without(&step.path));
        self.check_replayed(&before, &after, &steps)?;
        self.check_reverted_tip(&before, &after, &edit.commit)?;
        let number = answer["edit"].as_u64().unwrap_or_default();
        let paths = edit.files.keys();
        let files = paths.map(|path| (path.clone(), (before.on_disk(path), after.on_disk(path))));
        let (commit, files) = (after.head_commit().to_owned(), files.collect());
        let session = self.session(&before);
        session.done.push(Edit { commit, number, files });
        session.undone.clear();
        let added: BTreeSet<String> = added_lines(&edit.files).collect();
        self.check_all(Who::Agent, &before, &after, &|line| added.contains(line))
    }

    /// The branch must have the edit `commit` taken out of it.
    fn check_reverted_tip(&mut self, before: &Seen, after: &Seen, commit: &str) -> Judged {
        let parent = self.commits[commit].parents.first().cloned().unwrap_or_default();
        let (from, to) = (self.reader.tree(commit), self.reader.tree(&parent));
        for path in PATHS {
            let (from, to) = (from.get(path).cloned(), to.get(path).cloned());
            let (tip, now) = (before.in_head(path), after.in_head(path));
            // The user committed what the edit had left over.
            let was_committed = self.left_over.contains(path) && before.on_disk(path) == tip;
            if was_committed && now == after.on_disk(path) {
                continue;
            }
            match merge3(&from, &tip, &to) {
                Expected::Exactly(wanted) if wanted != now => {
                    let what = difference(&wanted, &now);
                    return Err(format!("(2) {path} in the branch: {what}"));
                }
                Expected::Exactly(_) => {}
                Expected::Unclear => agrees(&from, &tip, &to, &now)
                    .map_err(|fault| format!("(2) {path} in the branch: {fault}"))?,
            }
        }
        Ok(())
    }

    fn undoes_and_saves(&mut self) -> Judged {
        if self.dice.chance(40) {
            self.stages()?;
        }
        let before = self.seen();
        let call = answered(self.repo.edt(&["undo", "--save"]))?;
        let after = self.seen();
        let new = after.refs.iter().filter(|(name, _)| name.contains("/saved/"));
        let new: Vec<String> = new.map(|(_, id)| id.clone()).collect();
        for id in new {
            let tree = self.reader.tree(&id);
            let lines = tree.values().flat_map(|text| text.lines());
            self.saved.extend(lines.filter(|line| is_users(line)).map(str::to_owned));
        }
        let Called::Done(_) = call else {
            return self.after_undo("edt undo --save", &before, 1, call).map(drop);
        };
        self.count("edt undo --save", "done");
        let known = self.session(&before);
        let (edit, lost) = (known.done.pop(), known.lost);
        known.lost |= edit.is_none();
        known.undone.clear();
        if let Some(edit) = edit.as_ref().filter(|_| !lost) {
            self.check_undone_tip(&after, &edit.commit)?;
            let steps = backwards(&edit.files);
            for step in steps.flat_map(|step| step.followed(|path| before.on_disk(path))) {
                let Step { source, path, from, to } = step;
                overwritten(&from, &before.on_disk(&source), &to, &after.on_disk(&path))
                    .map_err(|fault| format!("(5) {path} on disk: {fault}"))?;
            }
            let others = before.disk.keys().chain(after.disk.keys());
            for path in others.filter(|path| !edit.files.contains_key(*path)) {
                if before.on_disk(path) != after.on_disk(path) {
                    return Err(format!("(5) {path} changed on disk, which is in no edit"));
                }
            }
            let renamed = renamed(&before.tip, &after.tip);
            let is_moved = |path: &&str| {
                renamed.iter().any(|(to, from)| [to, from].into_iter().any(|one| one == path))
            };
            for path in PATHS.into_iter().filter(|path| !is_moved(path)) {
                let (old, new) = (before.in_head(path), after.in_head(path));
                overwritten(&old, &before.staged(path), &new, &after.staged(path))
                    .map_err(|fault| format!("{path} in the index: {fault}"))?;
            }
        }
        let mut may_leave: BTreeSet<String> =
            edit.iter().flat_map(|edit| added_lines(&edit.files)).collect();
        may_leave.extend(self.saved.iter().chain(&self.touched).cloned());
        self.check_all(Who::Agent, &before, &after, &|line| may_leave.contains(line))
    }

    /// Undoes everything that the model knows of the session that HEAD is on.
    pub(super) fn all_the_way_back(&mut self) -> Judged {
        loop {
            let before = self.seen();
            if before.session().is_none() || self.session(&before).done.is_empty() {
                return Ok(());
            }
            self.note("undo, at the end".to_owned());
            let call = called(self.workspace.undo(1));
            if !self.after_undo("edt undo", &before, 1, call)? {
                return Ok(());
            }
        }
    }
}

/// The files that have another path in `new` than in `old`, by their new paths: at least half of the
/// lines are the same.
pub(super) fn renamed(old: &Tree, new: &Tree) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (path, text) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
        let text = Some(text.clone());
        let same = |(_, other): &(&String, &String)| {
            set(&Some((*other).clone())).intersection(&set(&text)).count()
        };
        let gone = old.iter().filter(|(path, _)| !new.contains_key(*path));
        let nearest = gone.max_by_key(same);
        if let Some(one) = nearest
            && 2 * same(&one) >= one.1.lines().count().max(set(&text).len())
        {
            found.insert(path.clone(), one.0.clone());
        }
    }
    found
}

/// A text without the user's lines.
fn without_users(text: &Text) -> Text {
    let others = |text: &String| {
        let lines: Vec<&str> = text.lines().filter(|line| !is_users(line)).collect();
        joined(&lines)
    };
    text.as_ref().map(others)
}

/// The steps of undoing an edit.
fn backwards(files: &BTreeMap<String, (Text, Text)>) -> impl Iterator<Item = Step> + '_ {
    let swapped =
        |(path, (old, new)): (&String, &(Text, Text))| (path.clone(), (new.clone(), old.clone()));
    let swapped = files.iter().map(swapped).collect();
    forwards(&swapped).collect::<Vec<_>>().into_iter()
}

/// The steps of redoing an edit.
fn forwards(files: &BTreeMap<String, (Text, Text)>) -> impl Iterator<Item = Step> + '_ {
    let side = |side: fn(&(Text, Text)) -> &Text| -> Tree {
        let text = |(path, texts): (&String, _)| Some((path.clone(), side(texts).clone()?));
        files.iter().filter_map(text).collect()
    };
    let sources = renamed(&side(|(old, _)| old), &side(|(_, new)| new));
    let moved: BTreeSet<String> = sources.values().cloned().collect();
    files.iter().filter(move |(path, _)| !moved.contains(*path)).map(move |(path, (old, new))| {
        match sources.get(path) {
            Some(source) => {
                let from = files[source].0.clone();
                Step { source: source.clone(), ..Step::of(path, from, new.clone()) }
            }
            None => Step::of(path, old.clone(), new.clone()),
        }
    })
}

/// The lines that only the files after an edit have.
fn added_lines(files: &BTreeMap<String, (Text, Text)>) -> impl Iterator<Item = String> + '_ {
    files.values().flat_map(|(old, new)| {
        let (old, new) = (set(old), set(new));
        new.difference(&old).map(|&line| line.to_owned()).collect::<Vec<_>>()
    })
}

/// The lines that only the files before an edit have.
fn removed_lines(files: &BTreeMap<String, (Text, Text)>) -> impl Iterator<Item = String> + '_ {
    files.values().flat_map(|(old, new)| {
        let (old, new) = (set(old), set(new));
        old.difference(&new).map(|&line| line.to_owned()).collect::<Vec<_>>()
    })
}

// ---- the ends of a session -------------------------------------------------------------------------

impl Play {
    fn begins(&mut self) -> Judged {
        let before = self.seen();
        if before.session().is_some() {
            return Ok(());
        }
        let call = called(self.workspace.begin(None));
        let after = self.seen();
        if let Called::Refused(codes) = call {
            self.check_refused(&before, &after, &codes)?;
            return Err(format!("refused for no reason: {codes:?}"));
        }
        self.count("edt begin", "done");
        self.sessions.insert(after.session().unwrap_or_default().to_owned(), Session::default());
        self.check_disk(&before, &after, &BTreeMap::new())?;
        self.check_index(&before, &after)?;
        self.check_all(Who::Agent, &before, &after, &|_| false)
    }

    /// The branch that a session lands on.
    fn target(&mut self, seen: &Seen) -> String {
        let name = format!("refs/edt/{}/origin", seen.session().unwrap_or_default());
        self.reader.text(&name).unwrap_or_default().trim().to_owned()
    }

    fn lands(&mut self) -> Judged {
        if self.dice.chance(35) {
            self.note("    main moves first".to_owned());
            self.main_moves()?;
        }
        let before = self.seen();
        let (has_version, has_own) = self.has_users_commits(&before);
        let target = self.target(&before);
        let mut options = Land::default();
        options.allow = every_word();
        let mut call = called(self.workspace.land(options));
        let mut consented = false;
        if let Called::Refused(codes) = &call
            && codes.iter().any(|code| HELD.contains(&&**code))
        {
            self.count("edt land", &codes.join(" "));
            let after = self.seen();
            self.check_refused(&before, &after, codes)?;
            if !has_version && !has_own && codes.iter().any(|code| code == "APPROVAL_REQUIRED") {
                return Err(format!("{codes:?} although no commit is the user's"));
            }
            if self.dice.chance(50) {
                return Ok(());
            }
            // The user types it.
            self.note("    by the user".to_owned());
            let allow: String =
                every_word().iter().map(|word| format!(" --allow {word}")).collect();
            let line = format!("land --json --allow leaves_out --allow lands_removed_lines{allow}");
            let (status, screen) = self.repo.at_terminal(&line, "");
            let answer = screen.find('{').map(|at| &screen[at..]).unwrap_or_default();
            let answer: Value = serde_json::from_str(answer.trim()).unwrap_or_default();
            call = match status {
                Some(0) => Called::Done(answer),
                Some(1..=5) => {
                    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
                    let code = |error: &Value| error["code"].as_str().unwrap_or("?").to_owned();
                    Called::Refused(errors.iter().map(code).collect())
                }
                _ => return Err(format!("exit status {status:?}: {screen}")),
            };
            consented = true;
        } else if let Called::Done(answer) = &call
            && has_version
            && !self.session(&before).lost
        {
            return Err(format!("(3) the user's version landed without consent: {answer:#}"));
        }
        let after = self.seen();
        match call {
            Called::Refused(codes) => {
                self.count("edt land", &codes.join(" "));
                self.check_refused(&before, &after, &codes)?;
                self.check_not_landed(&before, &target, &codes)?;
                self.leaves_sometimes()
            }
            Called::Done(answer) => {
                self.count("edt land", if consented { "done, by the user" } else { "done" });
                self.landed(&before, &after, &target, (consented, has_own))
                    .map_err(|fault| format!("{fault}; {answer:#}"))?;
                if self.dice.chance(if consented { 60 } else { 20 }) {
                    self.types()?;
                    self.unlands()?;
                }
                Ok(())
            }
        }
    }

    /// The user leaves a session that cannot end, so that not all of the play is in one session.
    fn leaves_sometimes(&mut self) -> Judged {
        let before = self.seen();
        if before.session().is_none() || self.dice.chance(30) {
            return Ok(());
        }
        let done = self.repo.try_git(&["switch", "--quiet", "main"]);
        self.note(format!("    git switch main: {}", done.status.success()));
        self.after_git(&before)
    }

    /// Whether a landing may be refused with these codes.
    fn check_not_landed(&mut self, before: &Seen, target: &str, codes: &[String]) -> Judged {
        let is = |code: &str| codes.iter().all(|one| one == code);
        let name = before.session().unwrap_or_default().to_owned();
        let lost = self.session(before).lost;
        let (has_version, has_own) = self.has_users_commits(before);
        let base = before.refs.get(&format!("refs/edt/{name}/base")).cloned();
        let (Some(base), Some(onto)) = (base, before.refs.get(target).cloned()) else {
            return Ok(());
        };
        let (base, onto) = (self.reader.tree(&base), self.reader.tree(&onto));
        let in_tree = |tree: &Tree, path: &str| tree.get(path).cloned();
        let merged: Vec<(&str, Expected)> = PATHS
            .iter()
            .map(|path| {
                let (base, onto) = (in_tree(&base, path), in_tree(&onto, path));
                (*path, merge3(&base, &onto, &before.in_head(path)))
            })
            .collect();
        let allowed = if before.session().is_none() {
            is("NO_SESSION") || is("SESSION_LANDED")
        } else if is("MERGE_CONFLICT") {
            // Commits of the user are merged one by one.
            let one_by_one = (has_version || has_own) && base != onto;
            lost || one_by_one && !self.is_replayable(before, &base, &onto)
                || merged.iter().any(|(_, merged)| *merged == Expected::Unclear)
        } else if is("UNSAVED_CHANGES") {
            lost || merged.iter().any(|(path, merged)| {
                let path_is_staged = before.in_head(path) != before.staged(path);
                match merged {
                    Expected::Unclear => true,
                    Expected::Exactly(landed) => {
                        let disk = merge3(&before.in_head(path), &before.on_disk(path), landed);
                        disk == Expected::Unclear
                            || path_is_staged && *landed != before.in_head(path)
                    }
                }
            })
        } else {
            is("NOTHING_TO_LAND")
        };
        if allowed { Ok(()) } else { Err(format!("refused for no reason: {codes:?}")) }
    }

    /// Whether the session's commits certainly merge one by one into the target, with the same result
    /// as all at once.
    fn is_replayable(&mut self, before: &Seen, base: &Tree, onto: &Tree) -> bool {
        let name = before.session().unwrap_or_default();
        let end = before.refs.get(&format!("refs/edt/{name}/base")).cloned();
        let (mut commits, mut at) = (Vec::new(), before.head_commit().to_owned());
        while Some(&at) != end.as_ref() {
            commits.push(at.clone());
            match self.commits.get(&at).map(|commit| commit.parents.as_slice()) {
                Some([parent]) => at.clone_from(parent),
                _ => return false,
            }
        }
        PATHS.iter().all(|path| {
            let in_tree = |tree: &Tree| tree.get(*path).cloned();
            let (mut old, mut merged) = (in_tree(base), in_tree(onto));
            for commit in commits.iter().rev() {
                let new = in_tree(&self.reader.tree(commit));
                match merge3(&old, &merged, &new) {
                    Expected::Exactly(text) => merged = text,
                    Expected::Unclear => return false,
                }
                old = new;
            }
            merge3(&in_tree(base), &in_tree(onto), &old) == Expected::Exactly(merged)
        })
    }

    fn landed(
        &mut self,
        before: &Seen,
        after: &Seen,
        target: &str,
        (consented, has_own): (bool, bool),
    ) -> Judged {
        let name = before.session().unwrap_or_default().to_owned();
        let lost = self.session(before).lost;
        let old = before.refs.get(target).cloned();
        if after.branch() != target {
            return Err(format!("HEAD is on {} and not on {target}", after.branch()));
        }
        // The content of the target.
        let base = before.refs.get(&format!("refs/edt/{name}/base")).cloned();
        let (base, onto) = match (&base, &old) {
            (Some(base), Some(old)) => (self.reader.tree(base), self.reader.tree(old)),
            _ => (Default::default(), Default::default()),
        };
        for path in PATHS.iter().filter(|_| !lost && !has_own) {
            let (base, onto) = (base.get(*path).cloned(), onto.get(*path).cloned());
            let (tip, landed) = (before.in_head(path), after.in_head(path));
            match merge3(&base, &onto, &tip) {
                // A renamed file takes the target's lines with it.
                _ if tip.is_none() || base.is_none() => {}
                Expected::Exactly(wanted) if wanted != landed => {
                    return Err(format!("(3) {path} landed: {}", difference(&wanted, &landed)));
                }
                Expected::Exactly(_) => {}
                Expected::Unclear => agrees(&base, &onto, &tip, &landed)
                    .map_err(|fault| format!("(3) {path} landed: {fault}"))?,
            }
        }
        self.check_moved_without(before, after, &BTreeSet::new())?;
        if *before.tip == *after.tip {
            self.check_disk(before, after, &BTreeMap::new())?;
        }
        for path in IGNORED {
            if before.files.get(path) != after.files.get(path) {
                return Err(format!("(5) the landing changed the ignored file {path}"));
            }
        }
        self.check_index(before, after)?;
        let new = self.check_landed_commits(before, after, consented)?;
        self.note(format!("    {new} commits on {target}"));
        self.session(before).lost = true;
        if let Some(old) = old {
            let after = after.head_commit().to_owned();
            let (session, target) = (name, target.to_owned());
            self.landings.push(Landing { session, target, before: old, after });
        }
        let (touched, committed) = (self.touched.clone(), self.committed.clone());
        let may_leave = |line: &str| touched.contains(line) || committed.contains(line);
        self.check(Who::Agent, before, after, &may_leave)
    }

    /// The commits that a landing made: how many.
    fn check_landed_commits(
        &mut self,
        before: &Seen,
        after: &Seen,
        consented: bool,
    ) -> Result<usize, String> {
        self.check_commits(after, Who::Agent, consented)?;
        let known: BTreeSet<&String> = before.refs.values().collect();
        let (mut at, mut count) = (after.head_commit().to_owned(), 0);
        while !known.contains(&at) {
            let commit = &self.commits[&at];
            count += 1;
            let users: Vec<&String> = commit.added.iter().filter(|line| is_users(line)).collect();
            if consented {
                self.committed.extend(users.iter().map(|&line| line.clone()));
            }
            let private = users
                .iter()
                .find(|line| !self.committed.contains(**line) && !self.touched.contains(**line));
            if let Some(line) = private {
                return Err(format!("(3) {line:?} landed without consent: {commit:#?}"));
            }
            let is_agents =
                |line: &String| line.starts_with("agent ") && !self.left_lines.contains(line);
            let agents = commit.added.iter().any(is_agents);
            let is_own = |line: &str| !self.touched.contains(line) && !self.restored.contains(line);
            let own = users.iter().any(|line| is_own(line));
            if agents && own {
                return Err(format!("(3) a commit has lines of both: {commit:#?}"));
            }
            let Some(parent) = commit.parents.first() else { break };
            at.clone_from(parent);
        }
        Ok(count)
    }

    fn abandons(&mut self) -> Judged {
        let before = self.seen();
        let (has_version, has_own) = self.has_users_commits(&before);
        let edits = self.session(&before).done.clone();
        let call = called(self.workspace.abandon());
        let after = self.seen();
        if let Called::Refused(codes) = call {
            self.count("edt abandon", &codes.join(" "));
            self.check_refused(&before, &after, &codes)?;
            let is = |code: &str| codes.iter().all(|one| one == code);
            let allowed = match before.session() {
                None => is("NO_SESSION") || is("SESSION_LANDED"),
                Some(_) => {
                    let lost = self.session(&before).lost;
                    is("UNSAVED_CHANGES") && (lost || self.may_not_abandon(&before, &edits))
                }
            };
            if !allowed {
                return Err(format!("refused for no reason: {codes:?}"));
            }
            return self.leaves_sometimes();
        }
        self.count("edt abandon", if has_version { "done, with a checkpoint" } else { "done" });
        self.note(format!("    the user's version: {has_version}, commits: {has_own}"));
        self.check_index(&before, &after)?;
        if !has_version {
            let users = self.commits_only_in(before.head_commit(), after.head_commit());
            self.check_moved_without(&before, &after, &self.paths_in(&users))?;
        }
        for path in IGNORED {
            let (old, now) = (before.on_disk(path), after.on_disk(path));
            let kept: BTreeSet<&str> = set(&now);
            if let Some(line) =
                set(&old).difference(&kept).find(|line| self.typed.contains_key(**line))
            {
                return Err(format!("(1) {path} lost {line:?}"));
            }
        }
        self.sessions.remove(before.session().unwrap_or_default());
        let (touched, committed) = (self.touched.clone(), self.committed.clone());
        let may_leave = |line: &str| touched.contains(line) || committed.contains(line);
        self.check_all(Who::Agent, &before, &after, &may_leave)
    }

    /// Whether the user's changes may be in the way of leaving the session.
    fn may_not_abandon(&mut self, before: &Seen, edits: &[Edit]) -> bool {
        let target = self.target(before);
        let Some(onto) = before.refs.get(&target).cloned() else { return true };
        let onto = self.reader.tree(&onto);
        let staged_is_in_the_way = PATHS.iter().any(|path| {
            let (tip, new) = (before.in_head(path), onto.get(*path).cloned());
            merge3(&tip, &before.staged(path), &new) == Expected::Unclear
        });
        if staged_is_in_the_way {
            return true;
        }
        let name = before.session().unwrap_or_default();
        let Some(base) = before.refs.get(&format!("refs/edt/{name}/base")) else { return true };
        let mut all = self.commits_only_in(before.head_commit(), base);
        all.retain(|id| self.commits[id].is_edts());
        if !all.iter().all(|id| edits.iter().any(|edit| edit.commit == *id)) {
            // Edits below a commit of the user, which the model forgot.
            return true;
        }
        let edits = edits.iter().rev().filter(|edit| all.contains(&edit.commit));
        let mut steps: Vec<_> = edits.flat_map(|edit| backwards(&edit.files)).collect();
        let base = self.reader.tree(base);
        let path_of = |path: &str| (base.get(path).cloned(), onto.get(path).cloned());
        steps.extend(
            PATHS
                .iter()
                .map(|path| (path, path_of(path)))
                .filter(|(_, (old, new))| old != new)
                .map(|(path, (old, new))| Step::of(path, old, new)),
        );
        !replayed(&before.disk, steps.iter()).1
    }
}

// ---- between sessions ------------------------------------------------------------------------------

/// A landing that was not undone.
#[derive(Debug, Clone)]
pub(super) struct Landing {
    session: String,
    target: String,
    /// The target's commits before and after it.
    before: String,
    after: String,
}

impl Play {
    fn switches_sessions(&mut self) -> Judged {
        let before = self.seen();
        let names: Vec<&str> =
            before.refs.keys().filter_map(|name| name.strip_prefix("refs/heads/edt/")).collect();
        let name = match names.len() {
            0 => return Ok(()),
            // The latest sessions.
            many => names[many - 1 - self.at(many.min(3))].to_owned(),
        };
        let to = if self.dice.chance(30) { "--leave" } else { name.as_str() };
        self.note(format!("    {to}"));
        let call = answered(self.repo.edt(&["switch", to]))?;
        let after = self.seen();
        let stays = before.session() == Some(to) || before.session().is_none() && to == "--leave";
        let answer = match call {
            Called::Done(answer) => answer,
            Called::Refused(codes) => {
                self.count("edt switch", &codes.join(" "));
                self.check_refused(&before, &after, &codes)?;
                let is = |code: &str| codes.iter().all(|one| one == code);
                let branch = if to == "--leave" {
                    self.target(&before)
                } else {
                    format!("refs/heads/edt/{to}")
                };
                let without = is("NO_SESSION") || is("SESSION_LANDED");
                let allowed = without && to == "--leave" && stays
                    || is("UNSAVED_CHANGES") && self.may_not_move(&before, &branch);
                let why = || format!("refused for no reason: {codes:?}");
                return if allowed { Ok(()) } else { Err(why()) };
            }
        };
        if stays {
            return before.differs(&after).map_or(Ok(()), |what| Err(format!("it changed {what}")));
        }
        self.count("edt switch", "done");
        let branch =
            if to == "--leave" { self.target(&before) } else { format!("refs/heads/edt/{to}") };
        let moved = before.refs != after.refs;
        if after.branch() != branch || moved {
            let head = after.branch();
            return Err(format!("HEAD is on {head}, refs moved: {moved}; {answer:#}"));
        }
        self.check_index(&before, &after)?;
        for path in PATHS {
            let (old, new) = (before.in_head(path), after.in_head(path));
            let (disk, now) = (before.on_disk(path), after.on_disk(path));
            match merge3(&old, &disk, &new) {
                Expected::Exactly(wanted) if wanted != now => {
                    return Err(format!("(5) {path} on disk: {}", difference(&wanted, &now)));
                }
                Expected::Exactly(_) => {}
                Expected::Unclear => agrees(&old, &disk, &new, &now)
                    .map_err(|fault| format!("(5) {path} on disk: {fault}"))?,
            }
        }
        self.after_git(&before)
    }

    /// Whether changes of the user, on disk or staged, may be in the way of moving to `branch`.
    fn may_not_move(&mut self, before: &Seen, branch: &str) -> bool {
        let to = before.refs.get(branch).map(|commit| self.reader.tree(commit)).unwrap_or_default();
        PATHS.iter().any(|path| {
            let (old, new) = (before.in_head(path), to.get(*path).cloned());
            [before.on_disk(path), before.staged(path)]
                .iter()
                .any(|users| merge3(&old, users, &new) == Expected::Unclear)
        })
    }

    /// The user commits everything as their own on the session's branch.
    fn checkpoints(&mut self) -> Judged {
        let before = self.seen();
        let answer = match answered(self.repo.edt(&["checkpoint"]))? {
            Called::Done(answer) => answer,
            Called::Refused(codes) => return Err(format!("refused for no reason: {codes:?}")),
        };
        let after = self.seen();
        self.count("edt checkpoint", answer["status"].as_str().unwrap_or("?"));
        self.check_disk(&before, &after, &BTreeMap::new())?;
        for path in PATHS {
            let (disk, tip) = (after.on_disk(path), after.in_head(path));
            if disk != tip {
                return Err(format!("{path} in the branch: {}", difference(&disk, &tip)));
            }
        }
        if before.head_commit() != after.head_commit() {
            let session = self.session(&after);
            session.undone.clear();
        }
        self.check_all(Who::User, &before, &after, &|_| false)
    }

    fn unlands(&mut self) -> Judged {
        let before = self.seen();
        let call = answered(self.repo.edt(&["land", "--undo"]))?;
        let after = self.seen();
        let answer = match call {
            Called::Done(answer) => answer,
            Called::Refused(codes) => {
                self.count("edt land --undo", &codes.join(" "));
                self.check_refused(&before, &after, &codes)?;
                let why = || format!("refused for no reason: {codes:?}");
                let allowed = self.may_not_unland(&before, &codes);
                return if allowed { Ok(()) } else { Err(why()) };
            }
        };
        let judged = self.unlanded(&before, &after);
        judged.map_err(|fault| format!("{fault}; {answer:#}"))
    }

    /// Whether undoing a landing may be refused with these codes.
    fn may_not_unland(&mut self, before: &Seen, codes: &[String]) -> bool {
        let is = |code: &str| codes.iter().all(|one| one == code);
        let onto = if let Some(name) = before.session() {
            self.landings.iter().rfind(|landing| landing.session == name).cloned()
        } else {
            let chain = self.commits_only_in(before.head_commit(), "");
            let here = self.landings.iter().filter(|landing| {
                landing.target == before.branch() && chain.contains(&landing.after)
            });
            // The newest on the branch.
            here.max_by_key(|landing| self.commits_only_in(&landing.after, "").len()).cloned()
        };
        let tip = onto.as_ref().and_then(|landing| before.refs.get(&landing.target)).cloned();
        let (Some(landing), Some(tip)) = (onto, tip) else { return is("NOTHING_TO_UNDO") };
        if !self.commits_only_in(&tip, "").contains(&landing.after) {
            return is("NOTHING_TO_UNDO");
        }
        let trees = [&landing.after, &tip, &landing.before].map(|commit| self.reader.tree(commit));
        let merged = PATHS.map(|path| {
            let [base, ours, theirs] = [0, 1, 2].map(|at| trees[at].get(path).cloned());
            (path, ours.clone(), merge3(&base, &ours, &theirs))
        });
        let is_unclear = merged.iter().any(|(.., merged)| *merged == Expected::Unclear);
        let is_same = |(_, ours, merged): &(_, Text, Expected)| {
            *merged == Expected::Exactly(ours.clone()) || *merged == Expected::Unclear
        };
        if is("NOTHING_TO_UNDO") {
            return tip != landing.after && merged.iter().all(is_same);
        }
        if is("MERGE_CONFLICT") {
            return tip != landing.after && is_unclear;
        }
        let landed = self.commits_only_in(&landing.after, &landing.before);
        let mut landed = landed.iter().map(|id| &self.commits[id]);
        let has_users = landed.any(|one| one.is_users_version() || one.kind.is_empty());
        let is_in_the_way = merged.iter().any(|(path, ours, merged)| match merged {
            Expected::Unclear => true,
            Expected::Exactly(new) => [before.on_disk(path), before.staged(path)]
                .iter()
                .any(|users| merge3(ours, users, new) == Expected::Unclear),
        });
        is("UNSAVED_CHANGES") && before.branch() == landing.target && (has_users || is_in_the_way)
    }

    /// The checks after an undone landing.
    fn unlanded(&mut self, before: &Seen, after: &Seen) -> Judged {
        let is_it = |landing: &Landing| {
            let name = format!("refs/edt/{}/", landing.session);
            let kept = |(path, id): (&String, &String)| {
                path.starts_with(&name)
                    && path.contains("/unlanded/")
                    && *id == landing.after
                    && !before.refs.contains_key(path)
            };
            after.refs.iter().any(kept)
        };
        let at = self.landings.iter().rposition(is_it).ok_or("no landing is kept")?;
        let landing = self.landings.remove(at);
        self.note(format!("    {landing:?}"));
        if before.head != after.head {
            return Err("HEAD moved".to_owned());
        }
        let (from, to) = (&before.refs[&landing.target], &after.refs[&landing.target]);
        let by = if *to == landing.before { "done, rewound" } else { "done, reverted" };
        self.count("edt land --undo", by);
        let (landed, onto) = (self.reader.tree(&landing.after), self.reader.tree(&landing.before));
        let (from, to) = (self.reader.tree(from), self.reader.tree(to));
        let renamed = renamed(&landed, &onto);
        for path in PATHS {
            let in_tree = |tree: &Tree| tree.get(path).cloned();
            // A renamed file takes along what the target's later commits changed in it.
            let source = renamed.get(path).map_or(path, String::as_str);
            let (base, ours) = (landed.get(source).cloned(), from.get(source).cloned());
            let is_source = renamed.values().any(|source| source == path);
            let (ours, theirs) = (if is_source { base.clone() } else { ours }, in_tree(&onto));
            match merge3(&base, &ours, &theirs) {
                Expected::Exactly(wanted) if wanted != in_tree(&to) => {
                    let what = difference(&wanted, &in_tree(&to));
                    return Err(format!("(2) {path} in the target: {what}"));
                }
                Expected::Exactly(_) => {}
                Expected::Unclear => agrees(&base, &ours, &theirs, &in_tree(&to))
                    .map_err(|fault| format!("(2) {path} in the target: {fault}"))?,
            }
        }
        if before.branch() == landing.target {
            let users = self.paths_of_the_user(&landing.before, &landing.after);
            self.check_moved_without(before, after, &users)?;
        } else {
            self.check_disk(before, after, &BTreeMap::new())?;
        }
        self.check_index(before, after)?;
        let touched = self.touched.clone();
        self.check_all(Who::Agent, before, after, &|line| touched.contains(line))
    }
}
