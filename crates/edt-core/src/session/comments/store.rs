//! The blob of a session's comments, and its moves.

use serde::{Deserialize, Serialize};

use crate::session::refs::names::REFS;
use edt_git::read::ObjectKind;
use edt_git::{ObjectWriter, Oid, RefSwap, Repo, objects};
use edt_types::comment::{CommentAnswer, CommentState, Reading, ReviewSummary};
use edt_types::{Code, Finding, Result};

/// The name and version of the blob's form.
const SCHEMA: &str = "edt.stored-comments/1";
/// The largest blob that is read, in bytes.
const MAX_READ: usize = 2 * 1024 * 1024;
/// The largest blob that a new text may make, in bytes. What edt adds later, such as who read a
/// comment, always fits below [`MAX_READ`].
pub(super) const MAX_WRITTEN: usize = 1024 * 1024;
/// How often a change is tried if another process changes the comments at the same time.
const TRIES: usize = 20;

/// All comments of a session, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredComments {
    schema: String,
    /// The highest number of a comment so far.
    pub last: u64,
    /// The number of the last review.
    pub reviews: u64,
    /// The summaries of reviews that have one.
    pub summaries: Vec<ReviewSummary>,
    /// Ordered by number.
    pub comments: Vec<StoredComment>,
}

/// A comment as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredComment {
    pub id: u64,
    pub edit: Option<u64>,
    pub path: Option<String>,
    pub lines: Option<(u64, u64)>,
    pub before: bool,
    pub quoted: Vec<String>,
    /// What the lines are in; `None` without lines.
    pub anchor: Option<Anchor>,
    pub text: String,
    pub time: i64,
    pub state: CommentState,
    pub review: Option<u64>,
    pub read: Option<Reading>,
    /// How often the user made it to be read: by sending, adding to or reopening it.
    pub said: u64,
    /// The value of `said` that an agent has read.
    pub given: u64,
    pub answers: Vec<CommentAnswer>,
}

/// The content that a comment was written on, as hex object ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The file's blob.
    pub blob: String,
    /// The trees of the change before and after.
    pub trees: (String, String),
}

impl StoredComment {
    /// Whether an agent has to read it.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.state == CommentState::Open && self.given < self.said
    }
}

impl Default for StoredComments {
    fn default() -> StoredComments {
        StoredComments {
            schema: SCHEMA.to_owned(),
            last: 0,
            reviews: 0,
            summaries: Vec::new(),
            comments: Vec::new(),
        }
    }
}

/// The name of the ref of a session's comments.
#[must_use]
pub fn comments_ref(session: &str) -> String {
    format!("{REFS}{session}/comments")
}

/// The comments of the session of that name, and the blob that has them; `None` if there never was
/// one.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` if the ref names something else, such as comments of a later version,
/// which are not changed; `OBJECT_MISSING`, `IO_ERROR`.
pub fn read(repo: &Repo, session: &str) -> Result<Option<(Oid, StoredComments)>> {
    let name = comments_ref(session);
    let Some(blob) = repo.ref_value(&name)? else { return Ok(None) };
    if repo.size_of(blob)? > MAX_READ {
        return Err(not_comments(&name).into());
    }
    let bytes = repo
        .object(blob, ObjectKind::Blob)
        .map_err(|found| if repo.has_object(blob) { not_comments(&name).into() } else { found })?;
    let all: Option<StoredComments> = serde_json::from_slice(&bytes).ok();
    let all = all.filter(|all| all.schema == SCHEMA).ok_or_else(|| not_comments(&name))?;
    Ok(Some((blob, all)))
}

/// Changes the comments of a session in one step, which another process sees wholly or not at all.
/// `change` is called again if another process was faster. A change without an effect moves
/// nothing. The caller holds the worktree's lock.
///
/// # Errors
/// Those of `change` and of [`read`]; `FILE_TOO_LARGE` if the comments have more than 1 MiB
/// afterwards and grew by a text; `SESSION_MOVED` after twenty lost races; `SESSION_BUSY`,
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`. The comments stay as they were.
pub fn change<T>(
    repo: &Repo,
    session: &str,
    mut change: impl FnMut(&mut StoredComments) -> Result<T>,
) -> Result<T> {
    let name = comments_ref(session);
    let mut tries = 1;
    loop {
        let (from, before) = read(repo, session)?.unzip();
        let before = before.unwrap_or_default();
        let mut after = before.clone();
        let answer = change(&mut after)?;
        if after == before {
            return Ok(answer);
        }
        let bytes = serde_json::to_vec(&after).unwrap_or_default();
        if bytes.len() > MAX_WRITTEN && texts(&after) > texts(&before) {
            return Err(too_many(bytes.len()).into());
        }
        let mut writer = ObjectWriter::new(repo);
        let to = writer.write_blob(&bytes)?;
        objects::write_missing(repo, &writer.loose_objects())?;
        // A killed call of this worktree may have left its lock.
        repo.unlock_ref(&name)?;
        let moved = match from {
            Some(from) => repo.swap_ref(&RefSwap { name: &name, from, to }),
            None => repo.create_ref(&name, to),
        };
        match moved {
            Err(found) if tries < TRIES && found.any(|one| one.code == Code::SessionMoved) => {
                tries += 1;
            }
            moved => return moved.map(|()| answer),
        }
    }
}

/// How many texts of others there are.
fn texts(all: &StoredComments) -> usize {
    let answers: usize = all.comments.iter().map(|one| one.answers.len()).sum();
    all.comments.len() + all.summaries.len() + answers
}

fn too_many(bytes: usize) -> Finding {
    Finding::new(
        Code::FileTooLarge,
        format!(
            "The comments of the session would have {bytes} bytes; the limit is {MAX_WRITTEN}."
        ),
        "The user's `edt comment drop ID` deletes drafts; `edt comment resolve ID` still works. The \
         next session has comments of its own.",
    )
    .nothing_changed()
    .with("bytes", bytes)
    .with("limit", MAX_WRITTEN)
}

fn not_comments(name: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "{name} names something else than comments of this version of edt, so they were not \
             read and not changed."
        ),
        format!(
            "If a later version of edt wrote them, use that version. Or keep them under another \
             name and remove the ref: `git update-ref refs/old-comments {name} && git update-ref \
             -d {name}`."
        ),
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};

    fn comment(id: u64) -> StoredComment {
        StoredComment {
            id,
            edit: None,
            path: None,
            lines: None,
            before: false,
            quoted: Vec::new(),
            anchor: None,
            text: "Why?".to_owned(),
            time: 1,
            state: CommentState::Open,
            review: Some(1),
            read: None,
            said: 1,
            given: 0,
            answers: Vec::new(),
        }
    }

    fn add(scratch: &Scratch, id: u64) -> Result<()> {
        let workspace = scratch.open();
        change(&workspace.repo, "fix", |all| {
            all.comments.push(comment(id));
            Ok(())
        })
    }

    fn begun() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch
    }

    fn ids(scratch: &Scratch) -> Vec<u64> {
        let all = read(&scratch.repo(), "fix").unwrap().map(|(_, all)| all.comments);
        all.into_iter().flatten().map(|one| one.id).collect()
    }

    #[test]
    fn a_session_has_no_comments_at_first() {
        let scratch = begun();
        assert_eq!(read(&scratch.repo(), "fix"), Ok(None));
        add(&scratch, 1).unwrap();
        assert_eq!(ids(&scratch), [1]);
    }

    #[test]
    fn a_change_without_an_effect_moves_nothing() {
        let scratch = begun();
        let workspace = scratch.open();
        change(&workspace.repo, "fix", |_| Ok(())).unwrap();
        assert_eq!(scratch.ref_value("refs/edt/fix/comments"), None);
    }

    #[test]
    fn a_lost_race_is_read_again_and_repeated() {
        let scratch = begun();
        add(&scratch, 1).unwrap();
        let workspace = scratch.open();
        let mut other = Some(StoredComments { comments: vec![comment(7)], ..Default::default() });
        change(&workspace.repo, "fix", |all| {
            // Another process is faster, once.
            if let Some(other) = other.take() {
                let mut writer = ObjectWriter::new(&workspace.repo);
                let blob = writer.write_blob(&serde_json::to_vec(&other).unwrap()).unwrap();
                objects::write(&workspace.repo, &writer.loose_objects()).unwrap();
                scratch.set_ref("refs/edt/fix/comments", blob);
            }
            all.comments.push(comment(8));
            Ok(())
        })
        .unwrap();
        assert_eq!(ids(&scratch), [7, 8]);
    }

    #[test]
    fn a_race_that_is_always_lost_ends() {
        let scratch = begun();
        let workspace = scratch.open();
        let mut calls = 0;
        let lost = change(&workspace.repo, "fix", |all| {
            calls += 1;
            let mut writer = ObjectWriter::new(&workspace.repo);
            let other = StoredComments { last: calls, ..Default::default() };
            let blob = writer.write_blob(&serde_json::to_vec(&other).unwrap()).unwrap();
            objects::write(&workspace.repo, &writer.loose_objects()).unwrap();
            scratch.set_ref("refs/edt/fix/comments", blob);
            all.comments.push(comment(8));
            Ok(())
        });
        assert_eq!((refusal(lost).code, calls), (Code::SessionMoved, TRIES as u64));
    }

    #[test]
    fn what_a_later_version_wrote_is_refused_and_stays() {
        let scratch = begun();
        for text in [
            "{\"schema\":\"edt.stored-comments/2\"}",
            "[]",
            "{\"schema\":\"edt.stored-comments/1\"}",
        ] {
            let workspace = scratch.open();
            let mut writer = ObjectWriter::new(&workspace.repo);
            let blob = writer.write_blob(text.as_bytes()).unwrap();
            objects::write(&workspace.repo, &writer.loose_objects()).unwrap();
            scratch.set_ref("refs/edt/fix/comments", blob);
            drop(workspace);
            let name = "refs/edt/fix/comments";
            assert_eq!(refusal(read(&scratch.repo(), "fix")), not_comments(name), "{text}");
            assert_eq!(refusal(add(&scratch, 1)), not_comments(name));
            assert_eq!(scratch.ref_value(name), Some(blob));
        }
        scratch.set_ref("refs/edt/fix/comments", scratch.head());
        assert_eq!(refusal(add(&scratch, 1)).code, Code::UnsupportedRepository);
    }

    #[test]
    fn the_comments_have_a_limit_that_readings_may_pass() {
        let scratch = begun();
        let workspace = scratch.open();
        let long = StoredComment { text: "x".repeat(MAX_WRITTEN), ..comment(1) };
        let full = |all: &mut StoredComments| {
            all.comments.push(long.clone());
            Ok(())
        };
        let found = refusal(change(&workspace.repo, "fix", full));
        assert_eq!(found.code, Code::FileTooLarge);
        assert_eq!(read(&workspace.repo, "fix"), Ok(None));
        let mut writer = ObjectWriter::new(&workspace.repo);
        let all = StoredComments { comments: vec![long], ..Default::default() };
        let blob = writer.write_blob(&serde_json::to_vec(&all).unwrap()).unwrap();
        objects::write(&workspace.repo, &writer.loose_objects()).unwrap();
        scratch.set_ref("refs/edt/fix/comments", blob);
        change(&workspace.repo, "fix", |all| {
            all.comments[0].given = 1;
            Ok(())
        })
        .unwrap();
    }
}
