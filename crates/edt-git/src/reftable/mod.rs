//! Refs in tables (`extensions.refStorage=reftable`, Git 2.46 and newer).
//!
//! edt reads the tables itself; `git update-ref` writes them. Each worktree has tables of its own
//! for HEAD and the refs that only it has. The file `tables.list` names the tables of one stack,
//! the newest last. Git replaces it under `tables.list.lock`, for whatever number of refs and log
//! entries a transaction has. No name of a table is used twice, so equal lists have equal refs.

mod table;
mod update;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::refs::Target;

use super::Oid;
use super::repo::Repo;
use super::swap::is_per_worktree;
use edt_io::clock::Countdown;
use edt_io::disk::Dir;
use edt_io::file::{File, OpenMode};
use edt_io::stat::Stat;
use edt_io::{failed, fs};
use edt_types::Result;
use table::{LogEntry, Table};
pub(super) use update::{AfterRefusal, TableUpdate};

/// The value of `extensions.refStorage`.
pub(super) const NAME: &str = "reftable";
/// What the file HEAD has beside tables.
pub(super) const HEAD_FILE: &str = "ref: refs/heads/.invalid\n";
const LIST: &str = "tables.list";
/// The longest list that is read, in bytes. Git keeps a few dozen tables at most.
const MAX_LIST: usize = 1 << 20;
/// How long to wait for a table that is in the list and does not exist: Git has just merged it.
const WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// The tables of a Git directory.
#[derive(Debug)]
pub(super) struct Stack {
    list: Vec<u8>,
    /// The newest first.
    tables: Vec<Table>,
}

impl Stack {
    /// Opens the tables of the Git directory `git_dir`.
    fn open(git_dir: &Path) -> io::Result<Stack> {
        let directory = git_dir.join(NAME);
        let mut countdown = Countdown::new(WAIT);
        loop {
            let list = list(git_dir)?;
            let mut tables = Vec::new();
            let names = list.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
            let opened = names.rev().try_for_each(|name| {
                let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/'));
                let name = name.ok_or(io::ErrorKind::InvalidData)?;
                tables.push(Table::open(&directory.join(name))?);
                Ok::<(), io::Error>(())
            });
            match opened {
                Ok(()) => return Ok(Stack { list, tables }),
                Err(error) if error.kind() == io::ErrorKind::NotFound && countdown.pause() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What the ref `name` itself has.
    pub(super) fn target(&self, name: &str) -> io::Result<Option<Target>> {
        for table in &self.tables {
            let found = table.refs_from(name, |found| found == name)?;
            if let Some((_, target)) = found.into_iter().next() {
                return Ok(target);
            }
        }
        Ok(None)
    }

    /// Every ref below `prefix`.
    pub(super) fn below(&self, prefix: &str) -> io::Result<BTreeMap<String, Target>> {
        let mut all = BTreeMap::new();
        for table in &self.tables {
            for (name, target) in table.refs_from(prefix, |name| name.starts_with(prefix))? {
                all.entry(name).or_insert(target);
            }
        }
        Ok(all.into_iter().filter_map(|(name, target)| Some((name, target?))).collect())
    }

    /// The log of `name`, as the file of a log has it.
    pub(super) fn log(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut all: BTreeMap<u64, Option<LogEntry>> = BTreeMap::new();
        for table in &self.tables {
            for (_, update, entry) in table.log_of(name)? {
                all.entry(update).or_insert(entry);
            }
        }
        let mut text = Vec::new();
        // The numbers of updates are inverted: the newest entry comes first.
        for entry in all.into_values().rev().flatten() {
            let LogEntry { from, to, name, mail, seconds, zone, message } = entry;
            // An empty log that exists has an entry of null ids.
            if from.is_null() && to.is_null() {
                continue;
            }
            let message = message.trim_end_matches('\n');
            text.extend(
                format!("{from} {to} {name} <{mail}> {seconds} {zone:+05}\t{message}\n").bytes(),
            );
        }
        Ok(text)
    }
}

/// The names of the tables of `git_dir`.
fn list(git_dir: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(&git_dir.join(NAME).join(LIST), OpenMode::ReadOnly)?;
    let len = usize::try_from(file.len()?).unwrap_or(usize::MAX);
    if len > MAX_LIST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut list = vec![0; len];
    file.read_exact_at(&mut list, 0)?;
    Ok(list)
}

/// Whether the refs of the repository are in tables.
pub(super) fn is_used(repo: &gix::Repository) -> bool {
    let storage = repo.config_snapshot().string("extensions.refStorage");
    storage.is_some_and(|value| value.eq_ignore_ascii_case(NAME.as_bytes()))
}

/// The commit of HEAD in a repository whose refs are in tables; the outer `None` if they are files.
#[expect(clippy::option_option, reason = "a repository may have no commit")]
pub(super) fn head_of(repo: &gix::Repository) -> Option<Option<Oid>> {
    if !is_used(repo) {
        return None;
    }
    let find = |git_dir: &Path, name: &str| Stack::open(git_dir).ok()?.target(name).ok()?;
    let mut target = find(repo.git_dir(), "HEAD");
    // Git follows as many symbolic refs.
    for _ in 0..5 {
        match target {
            Some(Target::Symbolic(name)) => {
                target = find(repo.common_dir(), &name.as_bstr().to_string());
            }
            Some(Target::Object(oid)) => return Some(Some(oid)),
            None => break,
        }
    }
    Some(None)
}

impl Repo {
    /// Whether refs are in tables, not in files.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        self.has_tables
    }

    /// The tables with the ref `name`; `None` if refs are files.
    pub(super) fn tables_of(&self, name: &str) -> Result<Option<Arc<Stack>>> {
        if !self.has_tables {
            return Ok(None);
        }
        let git_dir = self.stack_dir(name);
        let fail = |error: io::Error| failed("read the refs in", &git_dir.join(NAME), &error);
        let now = list(git_dir).map_err(fail)?;
        let mut known = self.tables.borrow_mut();
        if let Some(stack) = known.get(git_dir).filter(|stack| stack.list == now) {
            return Ok(Some(Arc::clone(stack)));
        }
        let stack = Arc::new(Stack::open(git_dir).map_err(fail)?);
        known.insert(git_dir.to_owned(), Arc::clone(&stack));
        Ok(Some(stack))
    }

    /// The symbolic ref `name` of the worktree with the Git directory `git_dir`.
    pub(super) fn symbolic_ref_in(&self, git_dir: &Path, name: &str) -> Option<String> {
        if !self.has_tables {
            let text = fs::read_one_block(&git_dir.join(name)).ok()?;
            return text.strip_prefix("ref: ").map(|name| name.trim_end().to_owned());
        }
        match Stack::open(git_dir).ok()?.target(name).ok()?? {
            Target::Symbolic(target) => Some(target.as_bstr().to_string()),
            Target::Object(_) => None,
        }
    }

    /// The stat of the list of the tables that have `name`: no change of a ref keeps the file.
    pub(super) fn tables_stat(&self, name: &str) -> Option<Stat> {
        Dir::open(&self.stack_dir(name).join(NAME)).ok()?.stat(LIST.as_bytes()).ok().flatten()
    }

    /// The lock of the tables that have `name`.
    pub(super) fn tables_lock(&self, name: &str) -> PathBuf {
        self.stack_dir(name).join(NAME).join(format!("{LIST}.lock"))
    }

    /// The Git directory whose tables have `name`.
    fn stack_dir(&self, name: &str) -> &Path {
        if is_per_worktree(name) { self.git_dir() } else { self.common_dir() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;
    use edt_types::Code;

    struct Tables {
        root: tempfile::TempDir,
        first: Oid,
        second: Oid,
    }

    impl Tables {
        fn new(format: &str) -> Tables {
            let root = tempfile::tempdir().unwrap();
            let null = Oid::null(gix::hash::Kind::Sha1);
            let mut made = Tables { root, first: null, second: null };
            made.git(&["init", "-q", "-b", "main", "--ref-format=reftable", format], "");
            let tree = made.git(&["mktree"], "");
            let commit = |text| made.git(&["commit-tree", "-m", text, tree.trim()], "");
            let oids = ["one", "two"].map(|text| Oid::from_hex(commit(text).trim().as_bytes()));
            [made.first, made.second] = oids.map(std::result::Result::unwrap);
            made.refs(&format!("create refs/heads/main {}\n", made.first));
            made
        }

        #[expect(clippy::disallowed_methods, reason = "Git writes what is read")]
        fn git(&self, args: &[&str], input: &str) -> String {
            let mut command = Command::new("git");
            command.current_dir(self.root.path()).args([
                "-c",
                "user.name=U",
                "-c",
                "user.email=u@x",
            ]);
            command.args(["-c", "core.logAllRefUpdates=always"]).args(args);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            let done = child.wait_with_output().unwrap();
            assert!(done.status.success(), "{args:?}");
            String::from_utf8(done.stdout).unwrap()
        }

        fn refs(&self, commands: &str) {
            self.git(&["update-ref", "--no-deref", "-m", "why", "--stdin"], commands);
        }

        fn repo(&self) -> Repo {
            Repo::open(self.root.path()).unwrap()
        }

        /// All refs that Git lists, with their values.
        fn listed(&self) -> Vec<(String, Oid)> {
            let text = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"], "");
            let split = |line: &str| {
                let (name, oid) = line.split_once(' ').unwrap();
                (name.to_owned(), Oid::from_hex(oid.as_bytes()).unwrap())
            };
            text.lines().map(split).collect()
        }
    }

    #[test]
    fn refs_and_logs_are_those_that_git_lists() {
        for format in ["--object-format=sha1", "--object-format=sha256"] {
            let tables = Tables::new(format);
            let (first, second) = (tables.first, tables.second);
            // Enough for indexes of refs and of log entries with several levels.
            let many: String =
                (0..9_000).map(|n| format!("create refs/heads/many/{n:05} {first}\n")).collect();
            tables.refs(&many);
            tables.refs(&format!("update refs/heads/many/04711 {second}\n"));
            tables.refs(&format!("delete refs/heads/many/00815 {first}\n"));
            tables.git(&["tag", "-a", "-m", "t", "tag", &first.to_string()], "");
            for packed in [false, true] {
                if packed {
                    tables.git(&["pack-refs", "--all"], "");
                }
                let repo = tables.repo();
                let listed = tables.listed();
                assert_eq!(repo.refs_below("refs/").unwrap(), listed);
                for (name, oid) in listed.iter().step_by(97) {
                    assert_eq!(repo.ref_value(name).unwrap(), Some(*oid), "{name}");
                }
                assert_eq!(repo.ref_value("refs/heads/many/00815").unwrap(), None);
                assert_eq!(repo.ref_value("refs/heads/many/").unwrap(), None);
                assert_eq!(repo.head().unwrap().branch.as_deref(), Some("refs/heads/main"));
                let name = "refs/heads/many/04711";
                let log = String::from_utf8(repo.log_text(name).unwrap()).unwrap();
                let git = tables.git(&["reflog", "show", "--format=%H %gs", name], "");
                let shown: Vec<String> = log.lines().rev().map(to_and_message).collect();
                assert_eq!(shown, git.lines().collect::<Vec<_>>());
                assert_eq!(repo.last_move(name), Some((first, second)));
                assert_eq!(repo.log_text("refs/heads/none").as_deref(), Some(&b""[..]));
            }
        }
    }

    fn to_and_message(line: &str) -> String {
        let (head, message) = line.split_once('\t').unwrap();
        format!("{} {message}", head.split(' ').nth(1).unwrap())
    }

    #[test]
    fn a_ref_is_created_moved_and_deleted() {
        let tables = Tables::new("--object-format=sha1");
        let (repo, name) = (tables.repo(), "refs/heads/edt/x");
        let (first, second) = (tables.first, tables.second);
        repo.create_logged_ref(name, first, "created").unwrap();
        repo.create_ref(name, first).unwrap();
        let swap = |from, to| crate::RefSwap { name, from, to, log: "moved" };
        repo.swap_ref(&swap(first, second)).unwrap();
        let error = repo.swap_ref(&swap(first, second));
        assert!(error.is_ok(), "it is there already");
        let error = repo.create_ref(name, first).unwrap_err();
        assert!(error.any(|finding| finding.code == Code::SessionMoved));
        let log = String::from_utf8(repo.log_text(name).unwrap()).unwrap();
        let messages: Vec<_> = log.lines().map(|line| line.split_once('\t').unwrap().1).collect();
        assert_eq!(messages, ["created", "moved"]);
        repo.set_symbolic_ref("HEAD", name, "checkout: moving from main to edt/x").unwrap();
        assert!(repo.head_is_on(name).unwrap());
        repo.set_symbolic_ref("refs/worktree/edt", name, "").unwrap();
        repo.delete_symbolic_ref("refs/worktree/edt", "refs/heads/main").unwrap();
        assert_eq!(repo.symbolic_ref("refs/worktree/edt").unwrap().as_deref(), Some(name));
        repo.delete_symbolic_ref("refs/worktree/edt", name).unwrap();
        assert_eq!(repo.symbolic_ref("refs/worktree/edt").unwrap(), None);
        repo.set_symbolic_ref("HEAD", &first.to_string(), "detached").unwrap();
        assert_eq!(repo.head_target().unwrap(), Some(first.to_string()));
        assert!(repo.delete_ref(name, first).is_err());
        repo.delete_ref(name, second).unwrap();
        assert_eq!(repo.ref_value(name).unwrap(), None);
        assert_eq!(tables.git(&["reflog", "list"], "").lines().count(), 2);
    }

    #[test]
    fn a_held_lock_is_waited_for_and_then_named() {
        let tables = Tables::new("--object-format=sha1");
        let repo = tables.repo();
        let lock = repo.tables_lock("refs/heads/x");
        std::fs::write(&lock, "").unwrap();
        let error = repo.create_ref("refs/heads/x", tables.first).unwrap_err();
        assert!(error.any(|finding| finding.code == Code::SessionBusy), "{error}");
        assert!(repo.check_unlocked("refs/heads/x").is_err());
        std::fs::remove_file(lock).unwrap();
        repo.create_ref("refs/heads/x", tables.first).unwrap();
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that has ended")]
    fn the_lock_of_a_killed_git_is_removed() {
        let tables = Tables::new("--object-format=sha1");
        let repo = tables.repo();
        std::fs::create_dir_all(repo.state_path()).unwrap();
        let lock = repo.tables_lock("refs/heads/x");
        std::fs::write(&lock, "").unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let mark = |process: u32| repo.state_path().join(format!("git-{process}"));
        std::fs::hard_link(&lock, mark(std::process::id())).unwrap();
        assert_eq!(repo.own_ref_locks(), Vec::<PathBuf>::new(), "its process runs");
        std::fs::rename(mark(std::process::id()), mark(ended.id())).unwrap();
        assert_eq!(repo.own_ref_locks(), vec![lock.clone()]);
        repo.create_ref("refs/heads/x", tables.first).unwrap();
        assert!(!lock.exists() && !mark(ended.id()).exists());
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        let tables = Tables::new("--object-format=sha1");
        tables.git(&["pack-refs", "--all"], "");
        let directory = tables.root.path().join(".git").join(NAME);
        let table = std::fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
        let table = table.into_iter().find(|path| path.extension().is_some()).unwrap();
        let table = match table.file_name().unwrap().to_str() {
            Some(LIST) => {
                let list = std::fs::read_to_string(&table).unwrap();
                directory.join(list.trim_end())
            }
            _ => table,
        };
        let whole = std::fs::read(&table).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let _ = std::fs::remove_file(&table);
            std::fs::write(&table, &bytes).unwrap();
            // No byte makes it panic, or hang.
            if let Ok(stack) = Stack::open(&tables.root.path().join(".git")) {
                let _ = (stack.below("refs/"), stack.target("HEAD"), stack.log("refs/heads/main"));
            }
        }
        std::fs::write(&table, &whole[..whole.len() / 2]).unwrap();
        assert!(Stack::open(&tables.root.path().join(".git")).is_err());
    }
}
