//! The failure streak: the second failed patch in a row for a file is answered with the advice to
//! send the complete file instead, unless edt has another correction for it than for the one before.
//! `[limits] failed_patches` sets another number than 2.
//!
//! The count is kept per session and file, in edt's state directory, where it may be deleted at any
//! time. It is read and written under the worktree's lock. So, of many processes that fail at the
//! same time, exactly every second gets the advice.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::request::Request;
use super::resolve::named;
use crate::session::worktree::begin;
use crate::session::{LockedWorkspace, PathState, Session};
use edt_git::sha256;
use edt_io::fs;
use edt_types::text::{BOM, is_binary, numbered};
use edt_types::{Code, Finding, Outcome, Refusal, RepoPath, Result};

/// The file below the worktree's state directory.
const FILE: &str = "failed-patches";
/// Most entries; the oldest are dropped first.
const MAX_ENTRIES: usize = 1000;
/// What a finding may offer in its evidence.
const OFFERS: [&str; 3] = ["request", "corrected_edit", "correction"];
/// A larger file was not written by edt.
const MAX_BYTES: u64 = 8 << 20;

/// Counts the result of `request`, and replaces a second failure in a row.
///
/// # Errors
/// The findings of `answer`, with `INVALID_PATCH_LIMIT_EXCEEDED` in place of those of a second
/// failure. If the count cannot be written, the failure is not counted.
pub(super) fn count(
    workspace: &LockedWorkspace,
    request: &Request,
    answer: Result<Outcome>,
) -> Result<Outcome> {
    let file = workspace.repo.state_path().join(FILE);
    let before = Streaks::read(&file);
    if before == Streaks::default()
        && !answer.as_ref().is_err_and(|found| found.any(is_failed_patch))
    {
        return answer;
    }
    let Some(session) = session_of(workspace, &answer) else { return answer };
    match &answer {
        Ok(outcome) => {
            before
                .clone()
                .succeeded(&session.name, &named_paths(request, outcome))
                .write(&file, &before);
        }
        Err(found) => {
            let most = most_failures(workspace);
            let (after, mut found) =
                before.clone().failed(&session.name, found.clone().into_vec(), most);
            after.write(&file, &before);
            let limits =
                found.iter_mut().filter(|finding| finding.code == Code::InvalidPatchLimitExceeded);
            limits.for_each(|limit| advise(workspace, &session, limit));
            Refusal::check(found)?;
        }
    }
    answer
}

/// Counts a request that was refused before it was tried: a failure that is not about a patch ends
/// the streak of its file.
pub(super) fn refused(workspace: &LockedWorkspace, found: &Refusal) {
    let file = workspace.repo.state_path().join(FILE);
    let before = Streaks::read(&file);
    let answer = Err(found.clone());
    if before != Streaks::default()
        && let Some(session) = session_of(workspace, &answer)
    {
        let most = most_failures(workspace);
        before
            .clone()
            .failed(&session.name, found.clone().into_vec(), most)
            .0
            .write(&file, &before);
    }
}

/// At which failure in a row the advice is given.
fn most_failures(workspace: &LockedWorkspace) -> u64 {
    workspace.current_policy().map_or(2, |policy| policy.failed_patches)
}

/// The files whose latest patch failed, the most recent last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Streaks(Vec<Streak>);

/// A session, a path, the digest of the correction that was offered, if there was one, and the number
/// of failures. A patch that names no file has the empty path.
type Streak = (String, String, Option<String>, u64);

impl Streaks {
    /// Ends the streak of every path that was changed or was already as requested.
    fn succeeded(mut self, session: &str, paths: &BTreeSet<String>) -> Streaks {
        self.0.retain(|(of, path, ..)| of != session || !paths.contains(path));
        self
    }

    /// Counts the failures of one request: the new state, and the findings to answer.
    fn failed(
        mut self,
        session: &str,
        mut found: Vec<Finding>,
        most: u64,
    ) -> (Streaks, Vec<Finding>) {
        let paths: BTreeSet<String> = found.iter().map(path_of).collect();
        let offered = offered(&found);
        for path in paths {
            let failed = |finding: &Finding| is_failed_patch(finding) && path_of(finding) == path;
            if !found.iter().any(failed) {
                // Another kind of failure ends the streak of its file. Without a path it ends none.
                if !path.is_empty() {
                    self.forget(session, &path);
                }
                continue;
            }
            let before = self.forget(session, &path);
            let is_known = |(_, _, known, _): &Streak| offered.is_none() || *known == offered;
            let before = before.filter(is_known).map_or(0, |(.., failures)| failures);
            let number = before.saturating_add(1);
            // A first failure with a correction is answered with it.
            if number >= most && (before > 0 || offered.is_none()) {
                let failures: Vec<Finding> =
                    found.extract_if(.., |finding| failed(finding)).collect();
                found.push(limit(&path, number, failures));
            } else {
                self.0.push((session.to_owned(), path, offered.clone(), number));
            }
        }
        let surplus = self.0.len().saturating_sub(MAX_ENTRIES);
        self.0.drain(..surplus);
        (self, found)
    }

    /// Removes an entry, and returns it.
    fn forget(&mut self, session: &str, path: &str) -> Option<Streak> {
        let at = self.0.iter().position(|(of, other, ..)| of == session && other == path)?;
        Some(self.0.remove(at))
    }

    /// The content of `file`; empty if it cannot be read.
    fn read(file: &Path) -> Streaks {
        let bytes = fs::read_small(file, MAX_BYTES).unwrap_or_default();
        Streaks(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Writes `file` if the state differs from `before`. An error is ignored: it must not change an
    /// answer.
    fn write(&self, file: &Path, before: &Streaks) {
        if self == before {
            return;
        }
        let _ = if self.0.is_empty() {
            fs::remove_file(file)
        } else {
            fs::write_atomic(file, json!(self.0).to_string().as_bytes(), 0o666)
        };
    }
}

/// The digest of the corrections in an answer.
fn offered(found: &[Finding]) -> Option<String> {
    let corrections =
        found.iter().flat_map(|finding| OFFERS.iter().filter_map(|key| finding.evidence.get(*key)));
    let all: String = corrections.map(Value::to_string).collect();
    if all.is_empty() { None } else { sha256(all.as_bytes()).ok() }
}

fn is_failed_patch(finding: &Finding) -> bool {
    matches!(finding.code, Code::InvalidPatch | Code::OldTextNotFound)
}

fn path_of(finding: &Finding) -> String {
    finding.path.clone().unwrap_or_default()
}

/// The current session, or the one that would begin, with the name in the answer if it has one.
fn session_of(workspace: &LockedWorkspace, answer: &Result<Outcome>) -> Option<Session> {
    let head = workspace.repo.head().ok()?;
    let session = match Session::current(&workspace.repo, &head).ok()? {
        Some(session) => session,
        None => begin::preview_session(&workspace.repo, &head).ok()?,
    };
    match answer {
        Ok(Outcome { session: Some(named), .. }) => {
            Some(Session { name: named.name.clone(), ..session })
        }
        _ => Some(session),
    }
}

/// Every path that a request and its answer name, and the empty one, because the request was
/// readable.
fn named_paths(request: &Request, outcome: &Outcome) -> BTreeSet<String> {
    let asked = request.edits.iter().flat_map(named).map(RepoPath::text);
    let changed = outcome
        .files
        .iter()
        .flat_map(|file| std::iter::once(&file.path).chain(&file.from))
        .cloned();
    asked.chain(changed).chain([String::new()]).collect()
}

/// `INVALID_PATCH_LIMIT_EXCEEDED` in place of `failures`, which are all about one file.
fn limit(path: &str, number: u64, failures: Vec<Finding>) -> Finding {
    let of = if path.is_empty() { "that names no file".to_owned() } else { format!("for {path}") };
    let count =
        if failures.len() > 1 { format!(", in {} places", failures.len()) } else { String::new() };
    let first = failures.first();
    let (first, effect) =
        first.map(|first| (first.summary.clone(), first.effect)).unwrap_or_default();
    let described = failures.iter().map(|failure| {
        let edit = failure.evidence.get("edit");
        json!({"code": failure.code, "edit": edit, "message": failure.message()})
    });
    let described: Vec<Value> = described.collect();
    let mut evidence = Map::new();
    // A corrected patch or request would contradict the advice to send the complete file.
    let kept = |key: &str| key != "edit" && !OFFERS.contains(&key);
    for (key, value) in
        failures.into_iter().flat_map(|failure| failure.evidence).filter(|(key, _)| kept(key))
    {
        evidence.entry(key).or_insert(value);
    }
    let which = match number {
        1 => "This patch".to_owned(),
        2 => "The second patch in a row".to_owned(),
        3 => "The third patch in a row".to_owned(),
        number => format!("Patch {number} in a row"),
    };
    let message = format!("{which} {of} failed{count}. {first}");
    let hint = next_step(path, path, evidence.get("hash").and_then(Value::as_str));
    let path = (!path.is_empty()).then(|| path.to_owned());
    let limit = Finding::new(Code::InvalidPatchLimitExceeded, message, hint);
    Finding { path, effect, evidence, ..limit }.with("failures", described)
}

/// The next call to make instead of a patch.
fn next_step(path: &str, disk: &str, hash: Option<&str>) -> String {
    if path.is_empty() {
        return "Do not send a patch again now: read the intended file (`edt read PATH`) and send \
                its complete new content as an edit that names it, {\"path\": PATH, \"mode\": \
                \"overwrite\", \"content\": TEXT}."
            .to_owned();
    }
    let hash = match hash {
        Some(hash) => format!("expected_hash \"{hash}\""),
        None => "the printed blob id as expected_hash".to_owned(),
    };
    format!(
        "Do not send a patch for {path} again now: read the file (`edt read {}`) and send its \
         complete new content with mode \"overwrite\" and {hash}{}.",
        RepoPath::from_tree(disk.as_bytes()).for_shell(),
        if path == disk {
            String::new()
        } else {
            format!(" (its name is still {disk}: the request would have renamed it)")
        },
    )
}

/// Adds the hash and the text of the file on disk to the finding, or that the file does not exist.
fn advise(workspace: &LockedWorkspace, session: &Session, limit: &mut Finding) {
    let Some(path) = limit.path.clone() else { return };
    let disk = limit.evidence.get("on_disk").and_then(Value::as_str).unwrap_or(&path).to_owned();
    let Ok(named) = RepoPath::parse(disk.as_bytes()) else { return };
    let tree = workspace.repo.tree_of(session.tip);
    let path_state = tree.and_then(|tree| PathState::at(&workspace.repo, tree, None, &named));
    let Ok(path_state) = path_state else { return };
    let Some(found) = path_state.disk else {
        limit.remedy = format!(
            "Do not send a patch for {path} again now: there is no such file; send its complete \
             content with mode \"create\"."
        );
        return;
    };
    let hash = found.file.oid.to_string();
    limit.remedy = next_step(&path, &disk, Some(&hash));
    limit.evidence.insert("hash".to_owned(), hash.into());
    if !is_binary(&found.bytes) {
        let text = found.bytes.strip_prefix(BOM).unwrap_or(&found.bytes);
        limit.evidence.insert("file".to_owned(), numbered(text, 0..usize::MAX, 0).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::finding::Effect;

    fn finding(code: Code, path: &str) -> Finding {
        let mut finding =
            Finding::new(code, format!("{} in {path:?}.", code.name()), "next").nothing_changed();
        finding.path = (!path.is_empty()).then(|| path.to_owned());
        finding
    }

    fn streaks(of: &[(&str, &str)]) -> Streaks {
        Streaks(
            of.iter().map(|(of, path)| ((*of).to_owned(), (*path).to_owned(), None, 1)).collect(),
        )
    }

    /// The entries after the session `s` failed with `found`, and the codes that it is answered.
    fn after(before: &[(&str, &str)], found: &[(Code, &str)]) -> (Streaks, Vec<&'static str>) {
        let found = found.iter().map(|(code, path)| finding(*code, path)).collect();
        let (streaks, found) = streaks(before).failed("s", found, 2);
        (streaks, found.iter().map(|finding| finding.code.name()).collect())
    }

    #[test]
    fn every_second_failure_of_either_kind_exceeds_the_limit() {
        for first in [Code::InvalidPatch, Code::OldTextNotFound] {
            assert_eq!(after(&[], &[(first, "a")]), (streaks(&[("s", "a")]), vec![first.name()]));
            assert_eq!(
                after(&[("s", "a")], &[(first, "a")]),
                (streaks(&[]), vec!["INVALID_PATCH_LIMIT_EXCEEDED"])
            );
        }
    }

    #[test]
    fn another_correction_is_offered_instead_of_the_complete_file() {
        let failed = |before: Streaks, correction: &str| {
            let found = finding(Code::OldTextNotFound, "a").with("request", correction);
            let (streaks, found) = before.failed("s", vec![found], 2);
            (streaks, found[0].code.name())
        };
        let (first, code) = failed(Streaks::default(), "one");
        assert_eq!(code, "OLD_TEXT_NOT_FOUND");
        assert_eq!(failed(first.clone(), "one").1, "INVALID_PATCH_LIMIT_EXCEEDED");
        let (second, code) = failed(first, "two");
        assert_eq!(code, "OLD_TEXT_NOT_FOUND");
        let (_, found) = second.failed("s", vec![finding(Code::OldTextNotFound, "a")], 2);
        assert_eq!(found[0].code.name(), "INVALID_PATCH_LIMIT_EXCEEDED");
    }

    #[test]
    fn sessions_and_files_are_counted_apart() {
        let others = [("other", "a"), ("s", "b")];
        let more = streaks(&[("other", "a"), ("s", "b"), ("s", "a")]);
        assert_eq!(after(&others, &[(Code::InvalidPatch, "a")]), (more, vec!["INVALID_PATCH"]));
    }

    #[test]
    fn another_failure_of_the_file_ends_the_streak_unless_a_patch_failed_too() {
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
    fn a_patch_that_names_no_file_is_counted_until_a_request_succeeds() {
        assert_eq!(after(&[], &[(Code::InvalidPatch, "")]).0, streaks(&[("s", "")]));
        assert_eq!(after(&[("s", "")], &[(Code::RepositoryBusy, "")]).0, streaks(&[("s", "")]));
        let done = BTreeSet::from(["a".to_owned(), String::new()]);
        let before = streaks(&[("s", ""), ("s", "a"), ("s", "b"), ("other", "")]);
        assert_eq!(before.succeeded("s", &done), streaks(&[("s", "b"), ("other", "")]));
        let (_, found) =
            streaks(&[("s", "")]).failed("s", vec![finding(Code::InvalidPatch, "")], 2);
        assert_eq!((found[0].code, &found[0].path), (Code::InvalidPatchLimitExceeded, &None));
        assert!(found[0].remedy.contains("\"mode\": \"overwrite\""), "{}", found[0].remedy);
    }

    #[test]
    fn the_limit_has_the_evidence_of_the_failures() {
        let one = finding(Code::InvalidPatch, "a")
            .with("edit", 1)
            .with("hash", "beef")
            .with("nearest", json!({"line": 3}))
            .with("correction", "--- a");
        let two = finding(Code::OldTextNotFound, "a")
            .with("edit", 2)
            .with("hash", "beef")
            .with("context", "3 | x");
        let found = vec![one, finding(Code::OldTextNotFound, "b"), two];
        let before = Streaks(vec![("s".to_owned(), "a".to_owned(), offered(&found), 1)]);
        let (_, found) = before.failed("s", found, 2);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[1],
            Finding {
                code: Code::InvalidPatchLimitExceeded,
                path: Some("a".to_owned()),
                summary:
                    "The second patch in a row for a failed, in 2 places. INVALID_PATCH in \"a\"."
                        .to_owned(),
                effect: Effect::NothingChanged,
                remedy: "Do not send a patch for a again now: read the file (`edt read a`) and \
                         send its complete new content with mode \"overwrite\" and expected_hash \
                         \"beef\"."
                    .to_owned(),
                override_remedy: None,
                allow: None,
                evidence: json!({
                    "hash": "beef", "nearest": {"line": 3}, "context": "3 | x",
                    "failures": [
                        {
                            "code": "INVALID_PATCH", "edit": 1,
                            "message": "INVALID_PATCH in \"a\". Nothing was changed.",
                        },
                        {
                            "code": "OLD_TEXT_NOT_FOUND", "edit": 2,
                            "message": "OLD_TEXT_NOT_FOUND in \"a\". Nothing was changed.",
                        },
                    ],
                })
                .as_object()
                .cloned()
                .unwrap(),
            }
        );
    }

    #[test]
    fn the_oldest_entries_are_dropped_first() {
        let full =
            Streaks((0..MAX_ENTRIES).map(|n| ("s".to_owned(), n.to_string(), None, 1)).collect());
        let (after, _) = full.failed("s", vec![finding(Code::InvalidPatch, "new")], 2);
        assert_eq!(
            (after.0.len(), after.0[0].1.as_str(), after.0[MAX_ENTRIES - 1].1.as_str()),
            (MAX_ENTRIES, "1", "new")
        );
    }

    #[test]
    fn a_written_file_is_read_back_and_a_damaged_one_is_empty() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join(FILE);
        let some = streaks(&[("s", "a \"b\"\n\u{e9}"), ("t", "")]);
        some.write(&file, &Streaks::default());
        assert_eq!(Streaks::read(&file), some);
        for damaged in ["", "[[\"s\", \"a\"", "{}", "[[\"s\"]]", "\0\0\0"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(Streaks::read(&file), Streaks::default(), "{damaged:?}");
        }
        std::fs::File::create(&file).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(Streaks::read(&file), Streaks::default());
        some.write(&file, &Streaks::default());
        Streaks::default().write(&file, &some);
        assert!(!file.exists());
    }

    #[test]
    fn a_renamed_file_is_read_by_its_name_on_disk() {
        let step = next_step("new.txt", "old.txt", None);
        assert_eq!(
            step,
            "Do not send a patch for new.txt again now: read the file (`edt read old.txt`) and \
             send its complete new content with mode \"overwrite\" and the printed blob id as \
             expected_hash (its name is still old.txt: the request would have renamed it)."
        );
    }

    fn scratch() -> crate::tests::Scratch {
        crate::tests::Scratch::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")])
    }

    fn fail(scratch: &crate::tests::Scratch, path: &str) -> Finding {
        crate::tests::refusal(scratch.apply(&Request::new("x").edit(path, "0123456789", "x")))
    }

    #[test]
    fn the_second_failure_in_a_row_has_the_text_and_the_hash_of_the_file() {
        let scratch = scratch();
        assert_eq!(fail(&scratch, "a.txt").code, Code::OldTextNotFound);
        let limit = fail(&scratch, "a.txt");
        let hash = scratch.repo().blob_id(b"one\ntwo\n").unwrap().to_string();
        assert_eq!(limit.code, Code::InvalidPatchLimitExceeded);
        assert_eq!(limit.evidence["file"], "1 | one\n2 | two\n");
        assert_eq!(limit.evidence["hash"], hash.as_str());
        assert_eq!(fail(&scratch, "a.txt").code, Code::OldTextNotFound);
    }

    #[test]
    fn a_file_may_set_another_number_of_failures() {
        for (most, codes) in [(1, [true, true, true]), (3, [false, false, true])] {
            let policy = format!("[limits]\nfailed_patches = {most}\n");
            let scratch =
                crate::tests::Scratch::with(&[("a.txt", "one\ntwo\n"), ("edt.toml", &policy)]);
            let is_limit = codes.map(|_| fail(&scratch, "a.txt").code != Code::OldTextNotFound);
            assert_eq!(is_limit, codes, "{most}");
        }
    }

    #[test]
    fn a_success_between_two_failures_ends_the_streak() {
        let scratch = scratch();
        fail(&scratch, "a.txt");
        scratch.edit("x", "a.txt", "one", "1");
        assert_eq!(fail(&scratch, "a.txt").code, Code::OldTextNotFound);
    }

    #[test]
    fn a_failure_of_another_file_is_a_first_failure() {
        let scratch = scratch();
        fail(&scratch, "a.txt");
        assert_eq!(fail(&scratch, "b.txt").code, Code::OldTextNotFound);
    }

    #[test]
    fn a_failed_dry_run_is_not_counted() {
        let scratch = scratch();
        let request = Request::new("x").edit("a.txt", "0123456789", "x");
        for _ in 0..2 {
            let answer =
                super::super::transact(&mut scratch.open(), &request, edt_types::DryRun::Yes);
            assert_eq!(crate::tests::refusal(answer).code, Code::OldTextNotFound);
        }
    }
}
