//! Reads and writes the record of refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::line::{self, Followed, Line, RefusedCall};
use edt_git::Repo;
use edt_io::{clock, fs, lines, process};

/// The file of lines, below the common directory.
const FILE: &str = "edt/refusals.jsonl";
/// The empty file that is there while something may be open, below the worktree's state directory.
const OPEN: &str = "refusals-open";
/// Above this size the older half of the file is dropped.
const MAX_FILE: u64 = 4 << 20;
/// No more than this end of the file is read.
const MAX_READ: u64 = 2 * MAX_FILE;
/// How much of the file's end is searched for what is open.
const TAIL: u64 = 256 << 10;
/// Only among so many of the newest refusals is one open; older ones were given up.
const MAX_OPEN: usize = 64;
/// So were those before this time.
const OPEN_SECONDS: i64 = 24 * 60 * 60;

/// The record of refusals, as one worktree sees it.
#[derive(Debug, Clone)]
pub struct RefusalLog {
    file: PathBuf,
    open: PathBuf,
}

/// A refusal, and what followed it as far as that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The call.
    pub refused: RefusedCall,
    /// What followed.
    pub followed: Option<Followed>,
}

/// The worktree and the session of a call.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The root of the worktree, as [`RefusedCall::worktree`] has it.
    pub worktree: &'a str,
    /// The session; `None` if there is none yet.
    pub session: Option<&'a str>,
}

impl Place<'_> {
    /// Whether a refusal belongs to the session, or to the worktree before it began.
    fn has(self, refused: &RefusedCall) -> bool {
        match refused.session.as_deref() {
            Some(session) => Some(session) == self.session,
            None => refused.worktree == self.worktree,
        }
    }
}

impl RefusalLog {
    /// The record of `repo`.
    #[must_use]
    pub fn of(repo: &Repo) -> RefusalLog {
        RefusalLog { file: repo.common_dir().join(FILE), open: repo.state_path().join(OPEN) }
    }

    /// The file of lines.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Records `refused`, with a new id and the time if it has none. Returns what is kept of it.
    /// Whatever fails is ignored: it must not change an answer.
    #[expect(clippy::must_use_candidate, reason = "it is called for the line that it writes")]
    pub fn append(&self, mut refused: RefusedCall) -> RefusedCall {
        if refused.time == 0 {
            refused.time = clock::seconds();
        }
        if refused.id.is_empty() {
            let now = clock::system().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            refused.id = format!("{:x}-{:x}", now.as_nanos(), process::process_id());
        }
        let (refused, line) = refused.into_line();
        if self.write(&line) && !refused.paths().is_empty() && self.has_none_open() {
            let _ = lines::append(&self.open, b"");
        }
        refused
    }

    /// Whether nothing is open in this worktree. It costs one look for a file.
    #[must_use]
    pub fn has_none_open(&self) -> bool {
        fs::size(&self.open).is_none()
    }

    /// The refusals that nothing followed, at `place` and about one of `paths`; newest first. Only
    /// the end of the file is read, and what was refused a day ago is no longer open.
    #[must_use]
    pub fn open(&self, place: Place<'_>, paths: &[&str]) -> Vec<RefusedCall> {
        if self.has_none_open() {
            return Vec::new();
        }
        let mut open = self.unfollowed();
        // Another session of the worktree needs the marker, too.
        if !open.iter().any(|one| place.has(one) || one.worktree == place.worktree) {
            let _ = fs::remove_file(&self.open);
        }
        open.retain(|refused| place.has(refused));
        open.retain(|refused| refused.paths().iter().any(|path| paths.contains(path)));
        open
    }

    /// The newest refusals with a path that nothing followed, newest first.
    fn unfollowed(&self) -> Vec<RefusedCall> {
        let bytes = lines::tail(&self.file, TAIL);
        let since = clock::seconds().saturating_sub(OPEN_SECONDS);
        let (mut followed, mut open, mut seen) = (BTreeSet::new(), Vec::new(), 0);
        for line in bytes.split(|byte| *byte == b'\n').rev() {
            // Most lines are not parsed: the id is their first value.
            if let Some(id) = id_after(line, b"{\"followed\":{\"of\":\"") {
                followed.insert(id);
            } else if let Some(id) = id_after(line, b"{\"refused\":{\"id\":\"") {
                seen += 1;
                if seen > MAX_OPEN {
                    break;
                }
                if !followed.contains(id)
                    && let Ok(Line::Refused(refused)) = serde_json::from_slice(line)
                    && !refused.paths().is_empty()
                    && refused.time >= since
                {
                    open.push(*refused);
                }
            }
        }
        open
    }

    /// Records what followed a refusal, which is no longer open then. A later line about the same
    /// refusal adds to an earlier one. Whatever fails is ignored.
    pub fn follow(&self, mut followed: Followed) {
        if followed.time == 0 {
            followed.time = clock::seconds();
        }
        self.write(&line::of(&Line::Followed(followed)));
    }

    /// Every refusal in the file, oldest first, with what followed it. A torn or foreign line is
    /// skipped.
    #[must_use]
    pub fn all(&self) -> Vec<Recorded> {
        let bytes = lines::tail(&self.file, MAX_READ);
        let (mut all, mut places) = (Vec::<Recorded>::new(), BTreeMap::new());
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Refused(refused)) => {
                    places.insert(refused.id.clone(), all.len());
                    all.push(Recorded { refused: *refused, followed: None });
                }
                Ok(Line::Followed(new)) => {
                    let Some(at) = places.get(&new.of) else { continue };
                    let followed = &mut all[*at].followed;
                    *followed = Some(new.after(followed.take()));
                }
                Err(_) => {}
            }
        }
        all
    }

    /// Appends `line`; whether that succeeded.
    fn write(&self, line: &str) -> bool {
        let Ok(size) = lines::append(&self.file, format!("{line}\n").as_bytes()) else {
            return false;
        };
        if size > MAX_FILE {
            self.drop_older_half();
        }
        true
    }

    /// Drops the older half. What another process appends meanwhile is lost.
    fn drop_older_half(&self) {
        let newer = lines::tail(&self.file, MAX_FILE / 2);
        let _ = fs::write_atomic_unique(&self.file, &newer, 0o600);
    }
}

/// The text between `start` and the next quote, if `line` begins so.
fn id_after<'l>(line: &'l [u8], start: &[u8]) -> Option<&'l [u8]> {
    line.strip_prefix(start)?.split(|byte| *byte == b'"').next()
}

impl Followed {
    /// The same, with what only an earlier line says.
    fn after(self, earlier: Option<Followed>) -> Followed {
        let Some(earlier) = earlier else { return self };
        Followed {
            session: self.session.or(earlier.session),
            commit: self.commit.or(earlier.commit),
            class: self.class.or(earlier.class),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::{Cause, How, MAX_LINE, MAX_TEXT, RefusedFinding, Texts, TriedEdit};
    use super::*;
    use edt_types::{Code, Finding};

    struct Scratch {
        _dir: tempfile::TempDir,
        log: RefusalLog,
    }

    fn scratch() -> Scratch {
        let dir = tempfile::tempdir().unwrap();
        let (file, open) = (dir.path().join("refusals.jsonl"), dir.path().join("refusals-open"));
        Scratch { _dir: dir, log: RefusalLog { file, open } }
    }

    fn refused(session: Option<&str>, path: &str, old: &str) -> RefusedCall {
        let finding = Finding::new(Code::OldTextNotFound, "", "");
        let edit = TriedEdit {
            path: Some(path.to_owned()),
            mode: Some("edit".to_owned()),
            old: Some(old.to_owned()),
            ..TriedEdit::default()
        };
        RefusedCall {
            session: session.map(str::to_owned),
            worktree: "/w".to_owned(),
            call: "apply".to_owned(),
            findings: vec![RefusedFinding::of(&finding)],
            edits: vec![edit],
            ..RefusedCall::default()
        }
    }

    const S: Place<'_> = Place { worktree: "/w", session: Some("s") };

    fn landed(of: &str) -> Followed {
        Followed { of: of.to_owned(), time: 7, ..Followed::default() }
    }

    #[test]
    fn what_is_appended_is_open_until_something_follows() {
        let Scratch { log, .. } = &scratch();
        assert!(log.has_none_open());
        let first = log.append(refused(None, "a", "1"));
        let second = log.append(refused(Some("s"), "a", "2"));
        log.append(refused(Some("t"), "a", "3"));
        log.append(refused(Some("s"), "b", "4"));
        assert_eq!(log.open(S, &["a", "c"]), [second.clone(), first.clone()]);
        log.follow(landed(&second.id));
        assert_eq!(log.open(S, &["a"]), std::slice::from_ref(&first));
        log.follow(landed(&first.id));
        assert_eq!(log.open(S, &["a"]), []);
        let elsewhere = Place { worktree: "/v", session: None };
        log.append(refused(None, "a", "5"));
        assert_eq!(log.open(elsewhere, &["a"]), []);
        let followed: Vec<bool> = log.all().iter().map(|one| one.followed.is_some()).collect();
        assert_eq!(followed, [true, true, false, false, false]);
    }

    #[test]
    fn a_command_is_recorded_and_never_open() {
        let Scratch { log, .. } = &scratch();
        let command = RefusedCall {
            call: "command".to_owned(),
            command: Some("rm -rf x".to_owned()),
            ..RefusedCall::default()
        };
        let kept = log.append(command);
        assert!(log.has_none_open());
        assert_eq!(log.all(), [Recorded { refused: kept, followed: None }]);
    }

    #[test]
    fn a_later_line_adds_the_class() {
        let Scratch { log, .. } = &scratch();
        let id = log.append(refused(None, "a", "1")).id;
        log.follow(Followed { commit: Some("c".into()), ..landed(&id) });
        log.follow(Followed { class: Some("white_space".into()), ..landed(&id) });
        let (commit, class) = (Some("c".into()), Some("white_space".into()));
        assert_eq!(
            log.all()[0].followed,
            Some(Followed { commit, class, how: How::Landed, ..landed(&id) })
        );
    }

    #[test]
    fn torn_and_foreign_lines_are_skipped() {
        let Scratch { log, .. } = &scratch();
        let kept = log.append(refused(None, "a", "1"));
        for foreign in [&b"{\"refused\":{\"id\":\"x\n"[..], b"\xff\n", b"{\"else\":1}\n", b"\n"] {
            lines::append(&log.file, foreign).unwrap();
        }
        log.follow(landed("nothing"));
        assert_eq!(log.all(), [Recorded { refused: kept.clone(), followed: None }]);
        assert_eq!(log.open(S, &["a"]), [kept]);
    }

    #[test]
    fn a_torn_line_swallows_no_other() {
        let Scratch { log, .. } = &scratch();
        std::fs::write(&log.file, b"{\"refused\":{\"id\":\"x").unwrap();
        let kept = log.append(refused(None, "a", "1"));
        assert_eq!(log.open(S, &["a"]), std::slice::from_ref(&kept));
        assert_eq!(log.all(), [Recorded { refused: kept, followed: None }]);
    }

    #[test]
    fn keys_and_words_of_a_later_version_are_read() {
        let Scratch { log, .. } = &scratch();
        let line = r#"{"refused":{"id":"x","new":1,"call":"apply","findings":[{"code":"LATER","cause":"later"}]}}"#;
        lines::append(&log.file, format!("{line}\n").as_bytes()).unwrap();
        let all = log.all();
        assert_eq!(all[0].refused.findings[0].cause, Some(Cause::Unknown));
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let Scratch { log, .. } = &scratch();
        let kept = log.append(refused(None, "a", &"\u{e9}".repeat(MAX_TEXT)));
        let edit = &kept.edits[0];
        assert_eq!((edit.old.as_ref().map(String::len), edit.texts), (Some(MAX_TEXT), Texts::Cut));
        let mut many = refused(None, "a", &"\n".repeat(MAX_TEXT));
        many.edits = vec![many.edits[0].clone(); 40];
        let kept = log.append(many);
        assert!(kept.edits[0].texts.is_whole() && kept.edits[1].texts == Texts::Cut);
        assert!(
            std::fs::read(&log.file).unwrap().split(|b| *b == b'\n').all(|l| l.len() <= MAX_LINE)
        );
    }

    #[test]
    fn a_secret_leaves_no_text() {
        let Scratch { log, .. } = &scratch();
        for code in [Code::Secret, Code::ProtectedPath] {
            let mut call = refused(None, "a", "hunter2");
            call.command = Some("echo hunter2".to_owned());
            call.findings.push(RefusedFinding::of(&Finding::new(code, "", "")));
            let kept = log.append(call);
            assert_eq!(kept.edits[0].texts, Texts::Withheld);
        }
        assert!(!String::from_utf8(std::fs::read(&log.file).unwrap()).unwrap().contains("hunter2"));
    }

    #[test]
    fn the_older_half_of_a_long_file_is_dropped() {
        let Scratch { log, .. } = &scratch();
        let line = vec![b'x'; 1023];
        let lines: Vec<u8> =
            std::iter::repeat_n([&line[..], b"\n"].concat(), 4096).flatten().collect();
        lines::append(&log.file, &lines).unwrap();
        let kept = log.append(refused(None, "a", "1"));
        let size = fs::size(&log.file).unwrap();
        assert!((MAX_FILE / 4..=MAX_FILE / 2).contains(&size), "{size}");
        assert_eq!(log.all().last().map(|one| one.refused.clone()), Some(kept));
    }

    #[test]
    fn the_marker_is_there_while_something_of_the_worktree_is_open() {
        let Scratch { log, .. } = &scratch();
        let id = log.append(refused(Some("s"), "a", "1")).id;
        let other = log.append(refused(Some("t"), "a", "1")).id;
        log.append(RefusedCall { worktree: "/v".into(), ..refused(Some("u"), "a", "1") });
        assert_eq!(log.open(S, &["b"]), []);
        log.follow(landed(&id));
        assert_eq!(log.open(S, &["b"]), []);
        assert!(!log.has_none_open());
        log.follow(landed(&other));
        assert_eq!(log.open(S, &["b"]), []);
        assert!(log.has_none_open());
    }

    #[test]
    fn what_is_old_or_many_refusals_ago_is_given_up() {
        let Scratch { log, .. } = &scratch();
        let old = clock::seconds() - OPEN_SECONDS - 1;
        log.append(RefusedCall { time: old, ..refused(None, "old", "1") });
        for number in 0..=MAX_OPEN {
            log.append(refused(None, &number.to_string(), "1"));
        }
        assert_eq!(log.unfollowed().len(), MAX_OPEN);
        assert_eq!(log.open(S, &["0", "old"]), []);
        assert_eq!(log.open(S, &["1"]).len(), 1);
    }

    #[test]
    fn a_record_that_cannot_be_written_changes_nothing() {
        let Scratch { log, .. } = &scratch();
        std::fs::create_dir(&log.file).unwrap();
        assert_eq!(log.append(refused(None, "a", "1")).call, "apply");
        assert!(log.has_none_open());
        assert_eq!(log.all(), []);
    }

    #[test]
    fn the_cause_is_read_from_the_evidence() {
        let of = |finding: Finding| RefusedFinding::of(&finding).cause;
        let finding = || Finding::new(Code::OldTextNotFound, "", "");
        let near = |white: bool| serde_json::json!({"white_space_only": white});
        assert_eq!(
            [
                of(finding()),
                of(finding().with("already_applied", true)),
                of(finding().with("nearest", near(true))),
                of(finding().with("nearest", near(false))),
                of(finding().with("nearest", serde_json::Value::Null)),
                of(finding().with("bracket", "(")),
            ],
            [
                None,
                Some(Cause::AlreadyApplied),
                Some(Cause::WhiteSpace),
                Some(Cause::OtherText),
                Some(Cause::NothingNear),
                Some(Cause::Bracket)
            ]
        );
    }
}
