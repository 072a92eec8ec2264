//! Reads refs through `gix`, loose and packed ones. [`super::swap`] writes them.

use gix::bstr::ByteSlice as _;
use gix::refs::{FullName, PartialName, Target};

use super::reflog::HeadLog;
use super::repo::Repo;
use super::{Oid, causes};
use edt_io::disk::Dir;
use edt_io::{failed, fs};
use edt_types::{Code, Finding, Result};

/// How often a list of refs is read if the refs are packed again each time.
const MOST_READS: u32 = 8;

impl Repo {
    /// The object id of the ref `name`; `None` if the ref does not exist or is unborn. Does not
    /// check that the object exists: a missing object must not look like a missing ref.
    ///
    /// # Errors
    /// `IO_ERROR` if the ref exists and cannot be read.
    pub fn ref_value(&self, name: &str) -> Result<Option<Oid>> {
        let mut name = name.to_owned();
        // Git follows as many symbolic refs.
        for _ in 0..5 {
            match self.ref_target(&name)? {
                None => return Ok(None),
                Some(Target::Object(oid)) => return Ok(Some(oid)),
                Some(Target::Symbolic(next)) => name = next.as_bstr().to_string(),
            }
        }
        Ok(None)
    }

    /// Whether the ref `name` exists, which it rarely does: this costs two system calls if it does
    /// not and no ref is packed, while `gix` also looks for `name` below other directories.
    ///
    /// # Errors
    /// As [`Repo::ref_value`].
    pub fn has_ref(&self, name: &str) -> Result<bool> {
        if !self.has_tables() {
            // Git packs a ref before it removes its file.
            if self.ref_path(name).is_file() {
                return Ok(true);
            }
            let packed = self.packed_refs().symlink_metadata();
            if packed.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
                return Ok(false);
            }
        }
        Ok(self.ref_value(name)?.is_some())
    }

    /// The commit that HEAD names if its target is `target`: a full branch name or a commit id.
    ///
    /// # Errors
    /// `IO_ERROR` if the branch exists and cannot be read.
    pub fn commit_at(&self, target: &str) -> Result<Option<Oid>> {
        match Oid::from_hex(target.as_bytes()) {
            Ok(oid) => Ok(Some(oid)),
            Err(_) => self.ref_value(target),
        }
    }

    /// The ref that a change of `name` changes: `name`, or the last one of the symbolic refs that it
    /// begins, whether that exists or not.
    ///
    /// # Errors
    /// `IO_ERROR` if a ref exists and cannot be read.
    pub fn referent(&self, name: &str) -> Result<String> {
        let mut name = name.to_owned();
        for _ in 0..5 {
            match self.symbolic_ref(&name)? {
                Some(next) => name = next,
                None => break,
            }
        }
        Ok(name)
    }

    /// Whether HEAD is on the branch `name`, also through other symbolic refs.
    ///
    /// # Errors
    /// `IO_ERROR` if HEAD cannot be read.
    pub fn head_is_on(&self, name: &str) -> Result<bool> {
        match self.head_target()? {
            Some(target) if target == name => Ok(true),
            Some(target) if target.starts_with("refs/") => Ok(self.referent(&target)? == name),
            _ => Ok(false),
        }
    }

    /// What the ref `name` itself has.
    ///
    /// The loose file is read before the packed refs, as Git does. `gix` reads the packed refs
    /// first: if `git pack-refs` runs in between, it finds no loose file, and answers with the
    /// value that was packed the time before.
    fn ref_target(&self, name: &str) -> Result<Option<Target>> {
        if let Some(tables) = self.tables_of(name)? {
            return tables.target(name).map_err(|error| not_read(name, &error.to_string()).into());
        }
        let fail = |error: &gix::Error| unreadable(name, error);
        if let Some(target) = self.loose_target(name) {
            return Ok(Some(target));
        }
        let loose = self.inner.refs.try_find_loose(name).map_err(|error| fail(&error))?;
        if let Some(loose) = loose {
            return Ok(Some(loose.target));
        }
        let found = self.inner.try_find_reference(name).map_err(|error| fail(&error))?;
        Ok(found.map(|found| found.detach().target))
    }

    /// What the loose file of `name` has, read with three system calls; `None` if gix has to look.
    fn loose_target(&self, name: &str) -> Option<Target> {
        // Refs that are per worktree in Git, and that edt never writes.
        let is_elsewhere = |kind: &str| name.strip_prefix("refs/")?.strip_prefix(kind);
        if is_elsewhere("bisect/").or_else(|| is_elsewhere("rewritten/")).is_some() {
            return None;
        }
        let name = FullName::try_from(name).ok()?;
        let text = fs::read_one_block(&self.ref_path(name.as_bstr().to_str().ok()?)).ok()?;
        match text.strip_prefix("ref: ") {
            Some(target) => FullName::try_from(target.trim_end()).ok().map(Target::Symbolic),
            None => Oid::from_hex(text.trim_end().as_bytes()).ok().map(Target::Object),
        }
    }

    /// The target of the symbolic ref `name`; `None` if it does not exist or is not symbolic.
    ///
    /// # Errors
    /// `IO_ERROR` if it exists and cannot be read.
    pub fn symbolic_ref(&self, name: &str) -> Result<Option<String>> {
        Ok(match self.ref_target(name)? {
            Some(Target::Symbolic(target)) => Some(target.as_bstr().to_string()),
            _ => None,
        })
    }

    /// Every ref below `prefix`, which ends in `/`, with its value.
    ///
    /// # Errors
    /// `IO_ERROR` if refs cannot be read.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        if let Some(tables) = self.tables_of(prefix)? {
            let found =
                tables.below(prefix).map_err(|error| not_read(prefix, &error.to_string()))?;
            let object = |(name, target)| match target {
                Target::Object(oid) => Some((name, oid)),
                Target::Symbolic(_) => None,
            };
            return Ok(found.into_iter().filter_map(object).collect());
        }
        let packed = || Dir::open(self.common_dir()).ok()?.stat(b"packed-refs").ok().flatten();
        let mut before = packed();
        // A ref that is packed meanwhile may be in neither list.
        for _ in 0..MOST_READS {
            let found = self.refs_below_once(prefix);
            let after = packed();
            if before == after && found.is_ok() {
                return found;
            }
            before = after;
        }
        self.refs_below_once(prefix)
    }

    fn refs_below_once(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let platform = self.inner.references().map_err(|error| unreadable(prefix, &error))?;
        let found = platform.prefixed(prefix).map_err(|error| unreadable(prefix, &error))?;
        let mut out = Vec::new();
        for one in found {
            let one = one.map_err(|error| unreadable(prefix, &error))?;
            if let Some(id) = one.try_id() {
                out.push((one.name().as_bstr().to_string(), id.detach()));
            }
        }
        Ok(out)
    }

    /// Whether `name` is valid as a full ref name.
    #[must_use]
    pub fn is_ref_name(&self, name: &str) -> bool {
        gix::validate::reference::name(name.into()).is_ok() && PartialName::try_from(name).is_ok()
    }

    /// The messages of the reflog of the branch `name`, newest first.
    #[must_use]
    pub fn log_messages(&self, name: &str) -> Vec<String> {
        let log = self.log_text(name).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let message = |line: &str| line.split_once('\t').map(|(_, message)| message.to_owned());
        log.lines().rev().filter_map(message).collect()
    }

    /// The newest commit in the reflog of `name`; `None` if there is none.
    #[must_use]
    pub fn last_logged(&self, name: &str) -> Option<Oid> {
        let log = self.log_text(name)?;
        let log = String::from_utf8_lossy(&log);
        let ids = log.lines().rev().flat_map(|line| {
            let mut ids = line.split(' ').take(2).map(|id| Oid::from_hex(id.as_bytes()).ok());
            let old = ids.next().flatten();
            [ids.next().flatten(), old]
        });
        ids.flatten().find(|id| !id.is_null())
    }

    /// The commit from which the newest lines of the reflog of the branch `name` led to `tip`, as long
    /// as `counts` holds for their messages: `tip` itself if the newest line does not count.
    #[must_use]
    pub fn logged_before(&self, name: &str, tip: Oid, counts: impl Fn(&str) -> bool) -> Oid {
        let log = self.log_text(name).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let mut at = tip;
        for line in log.lines().rev() {
            let Some((head, message)) = line.split_once('\t') else { break };
            let mut ids = head.split(' ').map(|id| Oid::from_hex(id.as_bytes()).ok());
            let (Some(Some(from)), Some(Some(to))) = (ids.next(), ids.next()) else { break };
            if to != at || from.is_null() || !counts(message) {
                break;
            }
            at = from;
        }
        at
    }

    /// The log of HEAD; empty if it has none.
    #[must_use]
    pub fn head_log(&self) -> HeadLog {
        HeadLog(self.log_text("HEAD").unwrap_or_default())
    }

    /// The target of HEAD: a full branch name, or a commit id if it is detached.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn head_target(&self) -> Result<Option<String>> {
        if self.has_tables() {
            return Ok(self.ref_target("HEAD")?.map(|target| match target {
                Target::Symbolic(name) => name.as_bstr().to_string(),
                Target::Object(oid) => oid.to_string(),
            }));
        }
        let path = self.git_dir().join("HEAD");
        let text = fs::read_one_block(&path).map_err(|error| failed("read", &path, &error))?;
        Ok(Some(text.strip_prefix("ref: ").unwrap_or(&text).trim().to_owned()))
    }
}

fn unreadable(name: &str, error: &gix::Error) -> Finding {
    not_read(name, &causes(error))
}

pub(super) fn not_read(name: &str, why: &str) -> Finding {
    // Each worktree has its own journal. Only the journal of the session's worktree knows the
    // values of its refs.
    let hint = if name.starts_with("refs/edt/") || name.starts_with("refs/heads/edt/") {
        "If a power failure damaged it, run `edt status` in that session's worktree \
         (`git worktree list`), which restores it; then repeat the call."
    } else {
        "Fix what `git fsck` and `git for-each-ref` report, then repeat the call."
    };
    Finding::new(Code::IoError, format!("Could not read the ref {name}: {why}."), hint)
}

/// Whether each worktree has its own ref of this name, among the refs that edt writes.
#[must_use]
pub fn is_per_worktree(name: &str) -> bool {
    name == "HEAD" || name.starts_with("refs/worktree/")
}

pub(super) fn ref_moved(name: &str, expected: Option<Oid>, found: Option<Oid>) -> Finding {
    let shown =
        |value: Option<Oid>| value.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string());
    let (expected, found) = (shown(expected), shown(found));
    let message = format!("{name} moved during the call: expected {expected}, found {found}.");
    Finding::new(
        Code::SessionMoved,
        message,
        "Repeat the call: it will start from the present value.",
    )
    .nothing_changed()
    .with("ref", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn set(scratch: &ScratchRepo, name: &str, content: &str) {
        let file = scratch.path().join(".git").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    fn with_head() -> (ScratchRepo, Oid) {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let head = Repo::open(scratch.path()).unwrap().head().unwrap().commit.unwrap();
        (scratch, head)
    }

    #[test]
    fn a_ref_that_does_not_exist_has_no_value() {
        let (scratch, _) = with_head();
        assert_eq!(Repo::open(scratch.path()).unwrap().ref_value("refs/heads/none").unwrap(), None);
    }

    #[test]
    fn a_symbolic_ref_has_the_value_of_its_target() {
        let (scratch, head) = with_head();
        set(&scratch, "refs/worktree/x", "ref: refs/heads/main\n");
        let repo = Repo::open(scratch.path()).unwrap();
        assert_eq!(repo.ref_value("refs/worktree/x").unwrap(), Some(head));
        let target = repo.symbolic_ref("refs/worktree/x").unwrap();
        assert_eq!(target.as_deref(), Some("refs/heads/main"));
        assert_eq!(repo.symbolic_ref("refs/heads/main").unwrap(), None);
    }

    #[test]
    fn a_circle_of_symbolic_refs_has_no_value() {
        let (scratch, _) = with_head();
        set(&scratch, "refs/heads/a", "ref: refs/heads/b\n");
        set(&scratch, "refs/heads/b", "ref: refs/heads/a\n");
        assert_eq!(Repo::open(scratch.path()).unwrap().ref_value("refs/heads/a").unwrap(), None);
    }

    #[test]
    fn a_ref_exists_if_it_has_a_value() {
        let (scratch, head) = with_head();
        let repo = Repo::open(scratch.path()).unwrap();
        let has = |name: &str| repo.has_ref(name).unwrap();
        assert!(has("refs/heads/main") && !has("refs/edt/a/base") && !has("refs/heads"));
        set(
            &scratch,
            "packed-refs",
            &format!("# pack-refs with: sorted\n{head} refs/edt/a/base\n"),
        );
        assert!(has("refs/edt/a/base") && has("refs/heads/main") && !has("refs/edt/a/x"));
    }

    #[test]
    fn a_packed_ref_is_found_and_a_loose_one_wins() {
        let (scratch, head) = with_head();
        let old = "1".repeat(40);
        let packed =
            format!("# pack-refs with: sorted\n{head} refs/edt/a/base\n{old} refs/heads/main\n");
        set(&scratch, "packed-refs", &packed);
        let repo = Repo::open(scratch.path()).unwrap();
        assert_eq!(repo.ref_value("refs/edt/a/base").unwrap(), Some(head));
        assert_eq!(repo.ref_value("refs/heads/main").unwrap(), Some(head));
    }

    #[test]
    fn refs_below_a_prefix_exclude_longer_names_of_the_same_start() {
        let (scratch, head) = with_head();
        for name in ["refs/edt/a/1", "refs/edt/a/b/2", "refs/edt/ab/3"] {
            set(&scratch, name, &format!("{head}\n"));
        }
        let repo = Repo::open(scratch.path()).unwrap();
        let below: Vec<String> =
            repo.refs_below("refs/edt/a/").unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(below, ["refs/edt/a/1", "refs/edt/a/b/2"]);
    }

    #[test]
    fn names_of_refs_are_checked_as_git_checks_them() {
        let (scratch, _) = with_head();
        let repo = Repo::open(scratch.path()).unwrap();
        assert!(repo.is_ref_name("refs/heads/a/b-c"));
        for wrong in [
            "refs/heads/a..b",
            "refs/heads/a b",
            "refs/heads/a.lock",
            "refs/heads/",
            "refs/heads/a^",
        ] {
            assert!(!repo.is_ref_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_newest_lines_of_a_reflog_lead_back() {
        let scratch = ScratchRepo::unborn();
        let repo = Repo::open(scratch.path()).unwrap();
        let oid = |byte: u8| Oid::from_bytes_or_panic(&[byte; 20]);
        let steps =
            [(0, 1, "commit"), (1, 2, "land"), (2, 3, "commit"), (3, 4, "land"), (4, 3, "land")];
        for (from, to, log) in steps {
            let write = crate::reflog::ReflogWrite::Append;
            let line = (oid(from), oid(to), log);
            repo.log_ref(&crate::reflog::Reflogs::default(), "refs/heads/x", &[line], write)
                .unwrap();
        }
        let before = |tip, word: &str| {
            repo.logged_before("refs/heads/x", oid(tip), |message| message == word)
        };
        assert_eq!(before(3, "land"), oid(3), "from 3 to 4 and back");
        assert_eq!(before(3, "commit"), oid(3));
        assert_eq!(before(4, "land"), oid(4), "the branch is where no line led");
        assert_eq!(repo.logged_before("refs/heads/x", oid(3), |_| true), oid(1));
        assert_eq!(repo.logged_before("refs/heads/none", oid(3), |_| true), oid(3));
    }

    #[test]
    fn the_messages_of_a_reflog_are_newest_first() {
        let (scratch, head) = with_head();
        let line = |message: &str| format!("{head} {head} A <a@b> 1 +0000\t{message}\n");
        set(&scratch, "logs/refs/heads/x", &(line("one") + &line("two\tthree")));
        let repo = Repo::open(scratch.path()).unwrap();
        assert_eq!(repo.log_messages("refs/heads/x"), ["two\tthree", "one"]);
        assert_eq!(repo.log_messages("refs/heads/y"), Vec::<String>::new());
    }

    #[test]
    fn the_branch_that_the_user_switched_from_is_known_until_edt_moves_head() {
        let (scratch, head) = with_head();
        let null = "0".repeat(40);
        let users = |what: &str| format!("{null} {head} A <a@b> 1 +0000\t{what}\n");
        let edts = |what: &str| format!("{head} {head} A <a@b> 1 +0000\t{what}\n");
        let from = |log: &str| {
            set(&scratch, "logs/HEAD", log);
            Repo::open(scratch.path()).unwrap().head_log().switched_from()
        };
        let away = users("checkout: moving from edt/fix to main");
        let fix = || Some("edt/fix".to_owned());
        assert_eq!(from(&away), fix());
        assert_eq!(from(&(away.clone() + &users("commit: mine"))), fix());
        assert_eq!(from(&(away.clone() + &edts("checkout: moving from main to other"))), fix());
        assert_eq!(from(&(away.clone() + &edts("checkout: moving from main to edt/fix"))), None);
        assert_eq!(from(&(away + &users("edt apply: x"))), None);
        assert_eq!(from(&edts("checkout: moving from edt/fix to main")), None);
        assert_eq!(from(""), None);
    }

    #[test]
    fn a_detached_head_names_its_commit() {
        let (scratch, head) = with_head();
        set(&scratch, "HEAD", &format!("{head}\n"));
        let repo = Repo::open(scratch.path()).unwrap();
        assert_eq!(repo.head_target().unwrap(), Some(head.to_string()));
        assert_eq!(repo.head().unwrap().branch, None);
    }
}
