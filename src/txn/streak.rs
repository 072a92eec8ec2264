//! The failure streak: whoever fails twice in a row to patch a file is told to send the whole file instead.
//!
//! What counts is kept over processes, per session and file, in a file of edt's own that may be deleted at any time. It is read and
//! written under the worktree's lock, so that of many processes that fail at once exactly every second is told.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::request::Request;
use super::resolve::named;
use crate::base::text::{BOM, is_binary, numbered};
use crate::base::{Code, Finding, Findings, Outcome, RepoPath, Result};
use crate::io::whole;
use crate::session::{Look, Session, World, begin};

/// The file below the worktree's state folder.
const FILE: &str = "failed-patches";
/// Most failures that are remembered; the oldest are forgotten first.
const MOST: usize = 1000;
/// A larger file is not one that edt wrote.
const MOST_BYTES: u64 = 8 << 20;

/// Counts what became of `request`, and puts the limit's answer in place of a second failure in a row.
///
/// # Errors
/// The findings of `answer`, or `INVALID_PATCH_LIMIT_EXCEEDED` in place of those that failed for a second time. What cannot be
/// remembered is not counted.
pub(super) fn keep(world: &World, request: &Request, answer: Result<Outcome>) -> Result<Outcome> {
    let file = world.repo.state_path().join(FILE);
    let before = Streaks::read(&file);
    if before == Streaks::default()
        && !answer.as_ref().is_err_and(|found| found.any(is_failed_patch))
    {
        return answer;
    }
    let Some(session) = session_of(world, &answer) else { return answer };
    match &answer {
        Ok(outcome) => {
            before
                .clone()
                .succeeded(&session.name, &spoken_of(request, outcome))
                .write(&file, &before);
        }
        Err(found) => {
            let (after, mut found) = before.clone().failed(&session.name, found.clone().into_vec());
            after.write(&file, &before);
            let limits =
                found.iter_mut().filter(|finding| finding.code == Code::InvalidPatchLimitExceeded);
            limits.for_each(|limit| advise(world, &session, limit));
            Findings::check(found)?;
        }
    }
    answer
}

/// Counts what refused a request before it could be tried: a failure of another kind than a patch's begins its file anew.
pub(super) fn refused(world: &World, found: &Findings) {
    let file = world.repo.state_path().join(FILE);
    let before = Streaks::read(&file);
    let answer = Err(found.clone());
    if before != Streaks::default()
        && let Some(session) = session_of(world, &answer)
    {
        before.clone().failed(&session.name, found.clone().into_vec()).0.write(&file, &before);
    }
}

/// The files whose latest patch failed, each with its session; the most recent last. A patch that names no file stands under the
/// empty path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Streaks(Vec<(String, String)>);

impl Streaks {
    /// Every path that was changed, or was found to be as asked, begins anew.
    fn succeeded(mut self, session: &str, paths: &BTreeSet<String>) -> Streaks {
        self.0.retain(|(of, path)| of != session || !paths.contains(path));
        self
    }

    /// What the failures of one request come to: what is remembered from now on, and what is answered.
    fn failed(mut self, session: &str, mut found: Vec<Finding>) -> (Streaks, Vec<Finding>) {
        let paths: BTreeSet<String> = found.iter().map(path_of).collect();
        for path in paths {
            let failed = |finding: &Finding| is_failed_patch(finding) && path_of(finding) == path;
            if !found.iter().any(failed) {
                // Another kind of failure says something of its file; without a path it says nothing of patches.
                if !path.is_empty() {
                    self.forget(session, &path);
                }
            } else if self.forget(session, &path) {
                let failures: Vec<Finding> =
                    found.extract_if(.., |finding| failed(finding)).collect();
                found.push(limit(&path, failures));
            } else {
                self.0.push((session.to_owned(), path));
            }
        }
        let surplus = self.0.len().saturating_sub(MOST);
        self.0.drain(..surplus);
        (self, found)
    }

    /// Whether it was remembered; from now on it is not.
    fn forget(&mut self, session: &str, path: &str) -> bool {
        let count = self.0.len();
        self.0.retain(|(of, other)| of != session || other != path);
        self.0.len() < count
    }

    /// What `file` holds; nothing if it cannot be read.
    fn read(file: &Path) -> Streaks {
        let bytes = whole::small(file, MOST_BYTES).unwrap_or_default();
        Streaks(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Makes `file` hold this, where it held `before`. What cannot be written is forgotten: that is no reason to change an answer.
    fn write(&self, file: &Path, before: &Streaks) {
        if self == before {
            return;
        }
        let _ = if self.0.is_empty() {
            whole::remove(file)
        } else {
            whole::put(file, json!(self.0).to_string().as_bytes(), 0o666)
        };
    }
}

fn is_failed_patch(finding: &Finding) -> bool {
    matches!(finding.code, Code::InvalidPatch | Code::OldTextNotFound)
}

fn path_of(finding: &Finding) -> String {
    finding.path.clone().unwrap_or_default()
}

/// The session there is, else the one that would begin; after an answer that names one, that.
fn session_of(world: &World, answer: &Result<Outcome>) -> Option<Session> {
    let head = world.repo.head().ok()?;
    let session = match Session::current(&world.repo, &head).ok()? {
        Some(session) => session,
        None => begin::imagined(&world.repo, &head).ok()?,
    };
    match answer {
        Ok(Outcome { session: Some(named), .. }) => {
            Some(Session { name: named.name.clone(), ..session })
        }
        _ => Some(session),
    }
}

/// Every path that a request and its answer name, and the empty one: the request could be read.
fn spoken_of(request: &Request, outcome: &Outcome) -> BTreeSet<String> {
    let asked = request.edits.iter().flat_map(named).map(ToString::to_string);
    let changed = outcome
        .files
        .iter()
        .flat_map(|file| std::iter::once(&file.path).chain(&file.from))
        .cloned();
    asked.chain(changed).chain([String::new()]).collect()
}

/// `INVALID_PATCH_LIMIT_EXCEEDED` in place of `failures`, which are all of one file.
fn limit(path: &str, failures: Vec<Finding>) -> Finding {
    let of = if path.is_empty() { "that names no file".to_owned() } else { format!("for {path}") };
    let count =
        if failures.len() > 1 { format!(", in {} places", failures.len()) } else { String::new() };
    let first = failures.first().map(|failure| failure.message.clone()).unwrap_or_default();
    let told = failures
        .iter()
        .map(|failure| json!({"code": failure.code, "edit": failure.evidence.get("edit"), "message": failure.message}));
    let told: Vec<Value> = told.collect();
    let mut evidence = Map::new();
    // A corrected patch beside the advice to send none would be two voices.
    let kept = |key: &str| !["edit", "correction"].contains(&key);
    for (key, value) in
        failures.into_iter().flat_map(|failure| failure.evidence).filter(|(key, _)| kept(key))
    {
        evidence.entry(key).or_insert(value);
    }
    let message = format!("The second patch in a row {of} failed{count}. {first}");
    let hint = next(path, path, evidence.get("hash").and_then(Value::as_str));
    let mut limit = Finding::new(Code::InvalidPatchLimitExceeded, message, hint);
    limit.path = (!path.is_empty()).then(|| path.to_owned());
    limit.evidence = evidence;
    limit.with("failures", told)
}

/// The next call to make instead of a patch.
fn next(path: &str, disk: &str, hash: Option<&str>) -> String {
    if path.is_empty() {
        return "Do not send a patch again now: read the file that is meant (`edt read PATH`) and send its whole new content as \
            an edit that names it, {\"path\": PATH, \"mode\": \"overwrite\", \"content\": TEXT}."
            .to_owned();
    }
    let hash = match hash {
        Some(hash) => format!("expected_hash \"{hash}\""),
        None => "the blob id that it prints as expected_hash".to_owned(),
    };
    format!(
        "Do not send a patch for {path} again now: read the file (`edt read {}`) and send its whole new content with mode \
         \"overwrite\" and {hash}{}.",
        RepoPath::from_tree(disk.as_bytes()).for_shell(),
        if path == disk {
            String::new()
        } else {
            format!(" (its name is {disk} now: the request was to rename it)")
        },
    )
}

/// Completes the limit's answer by what stands on disk: the file's hash and text, or that there is none.
fn advise(world: &World, session: &Session, limit: &mut Finding) {
    let Some(path) = limit.path.clone() else { return };
    let disk = limit.evidence.get("on_disk").and_then(Value::as_str).unwrap_or(&path).to_owned();
    let Ok(named) = RepoPath::parse(disk.as_bytes()) else { return };
    let tree = world.repo.tree_of(session.tip);
    let Ok(look) = tree.and_then(|tree| Look::at(&world.repo, tree, None, &named)) else { return };
    let Some(stands) = look.disk else {
        limit.hint = format!(
            "Do not send a patch for {path} again now: there is no such file; send its whole content with mode \"create\"."
        );
        return;
    };
    let hash = stands.file.oid.to_string();
    limit.hint = next(&path, &disk, Some(&hash));
    limit.evidence.insert("hash".to_owned(), hash.into());
    if !is_binary(&stands.bytes) {
        let text = stands.bytes.strip_prefix(BOM).unwrap_or(&stands.bytes);
        limit.evidence.insert("file".to_owned(), numbered(text, 0..usize::MAX, 0).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: Code, path: &str) -> Finding {
        let mut finding = Finding::new(
            code,
            format!("{} in {path:?}. Nothing was changed.", code.name()),
            "next",
        );
        finding.path = (!path.is_empty()).then(|| path.to_owned());
        finding
    }

    fn streaks(of: &[(&str, &str)]) -> Streaks {
        Streaks(
            of.iter().map(|(session, path)| ((*session).to_owned(), (*path).to_owned())).collect(),
        )
    }

    /// What the session `s` remembers after `found`, and the codes that it is answered.
    fn after(before: &[(&str, &str)], found: &[(Code, &str)]) -> (Streaks, Vec<&'static str>) {
        let found = found.iter().map(|(code, path)| finding(*code, path)).collect();
        let (streaks, found) = streaks(before).failed("s", found);
        (streaks, found.iter().map(|finding| finding.code.name()).collect())
    }

    #[test]
    fn every_second_failure_of_either_kind_is_the_limit() {
        for first in [Code::InvalidPatch, Code::OldTextNotFound] {
            assert_eq!(after(&[], &[(first, "a")]), (streaks(&[("s", "a")]), vec![first.name()]));
            assert_eq!(
                after(&[("s", "a")], &[(first, "a")]),
                (streaks(&[]), vec!["INVALID_PATCH_LIMIT_EXCEEDED"])
            );
        }
    }

    #[test]
    fn sessions_and_files_are_counted_apart() {
        let others = [("other", "a"), ("s", "b")];
        let more = streaks(&[("other", "a"), ("s", "b"), ("s", "a")]);
        assert_eq!(after(&others, &[(Code::InvalidPatch, "a")]), (more, vec!["INVALID_PATCH"]));
    }

    #[test]
    fn another_failure_of_the_file_begins_anew_unless_a_patch_failed_beside_it() {
        let before = [("s", "a"), ("s", "b")];
        assert_eq!(
            after(&before, &[(Code::HashMismatch, "a")]),
            (streaks(&[("s", "b")]), vec!["HASH_MISMATCH"])
        );
        assert_eq!(
            after(&before, &[(Code::HashMismatch, "a"), (Code::InvalidPatch, "a")]),
            (streaks(&[("s", "b")]), vec!["HASH_MISMATCH", "INVALID_PATCH_LIMIT_EXCEEDED"])
        );
    }

    #[test]
    fn a_patch_that_names_no_file_is_counted_and_only_success_begins_it_anew() {
        assert_eq!(after(&[], &[(Code::InvalidPatch, "")]).0, streaks(&[("s", "")]));
        assert_eq!(after(&[("s", "")], &[(Code::RepositoryBusy, "")]).0, streaks(&[("s", "")]));
        let done = BTreeSet::from(["a".to_owned(), String::new()]);
        let before = streaks(&[("s", ""), ("s", "a"), ("s", "b"), ("other", "")]);
        assert_eq!(before.succeeded("s", &done), streaks(&[("s", "b"), ("other", "")]));
        let (_, found) = streaks(&[("s", "")]).failed("s", vec![finding(Code::InvalidPatch, "")]);
        assert_eq!((found[0].code, &found[0].path), (Code::InvalidPatchLimitExceeded, &None));
        assert!(found[0].hint.contains("\"mode\": \"overwrite\""), "{}", found[0].hint);
    }

    #[test]
    fn the_limit_keeps_what_the_failures_carried() {
        let one = finding(Code::InvalidPatch, "a")
            .with("edit", 1)
            .with("hash", "beef")
            .with("nearest", json!({"line": 3}))
            .with("correction", "--- a");
        let two = finding(Code::OldTextNotFound, "a")
            .with("edit", 2)
            .with("hash", "beef")
            .with("context", "3 | x");
        let (_, found) =
            streaks(&[("s", "a")]).failed("s", vec![one, finding(Code::OldTextNotFound, "b"), two]);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[1],
            Finding {
                code: Code::InvalidPatchLimitExceeded,
                path: Some("a".to_owned()),
                message: "The second patch in a row for a failed, in 2 places. INVALID_PATCH in \
                    \"a\". Nothing was changed."
                    .to_owned(),
                hint: "Do not send a patch for a again now: read the file (`edt read a`) and send its whole new content with mode \
                    \"overwrite\" and expected_hash \"beef\"."
                    .to_owned(),
                allow: None,
                evidence: json!({
                    "hash": "beef", "nearest": {"line": 3}, "context": "3 | x",
                    "failures": [
                        {"code": "INVALID_PATCH", "edit": 1, "message": "INVALID_PATCH in \"a\". Nothing was changed."},
                        {"code": "OLD_TEXT_NOT_FOUND", "edit": 2, "message": "OLD_TEXT_NOT_FOUND in \"a\". Nothing was changed."},
                    ],
                })
                .as_object()
                .cloned()
                .unwrap(),
            }
        );
    }

    #[test]
    fn only_so_many_are_remembered_and_the_oldest_go_first() {
        let full = Streaks((0..MOST).map(|n| ("s".to_owned(), n.to_string())).collect());
        let (after, _) = full.failed("s", vec![finding(Code::InvalidPatch, "new")]);
        assert_eq!(
            (after.0.len(), after.0[0].1.as_str(), after.0[MOST - 1].1.as_str()),
            (MOST, "1", "new")
        );
    }

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        let some = streaks(&[("s", "a \"b\"\n\u{e9}"), ("t", "")]);
        some.write(&file, &Streaks::default());
        assert_eq!(Streaks::read(&file), some);
        for damaged in ["", "[[\"s\", \"a\"", "{}", "[[\"s\"]]", "\0\0\0"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(Streaks::read(&file), Streaks::default(), "{damaged:?}");
        }
        std::fs::File::create(&file).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(Streaks::read(&file), Streaks::default());
        some.write(&file, &Streaks::default());
        Streaks::default().write(&file, &some);
        assert!(!file.exists());
    }
}
