//! Keeps episodes in Git: one blob with lines of JSON, which a ref names.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Body, Episode, Episodes, MAX_BYTES};
use edt_git::read::ObjectKind;
use edt_git::{ObjectWriter, Oid, RefSwap, Repo, objects};
use edt_io::fs;
use edt_types::{Code, Finding, Result};

/// The ref that names the blob.
pub const REF: &str = "refs/edt/memory";
/// The refs of earlier blobs, by name.
pub const SNAPSHOTS: &str = "refs/edt/memory-at/";
/// The files of [`Memory::about`], below the common directory.
const LINES: &str = "edt/memory-lines-";
/// How often a change is tried if another process changes the memory at the same time.
const TRIES: usize = 20;

/// The memory of a repository.
#[derive(Debug)]
pub struct Memory<'r> {
    repo: &'r Repo,
}

/// A named state of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snapshot {
    pub name: String,
    /// The blob, as a hex object id.
    pub blob: String,
}

impl<'r> Memory<'r> {
    #[must_use]
    pub fn new(repo: &'r Repo) -> Memory<'r> {
        Memory { repo }
    }

    /// The blob; `None` if nothing was ever learned.
    ///
    /// # Errors
    /// `IO_ERROR` if the ref cannot be read.
    pub fn blob(&self) -> Result<Option<Oid>> {
        self.repo.ref_value(REF)
    }

    /// The episodes of the repository.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if the ref names something else, which is not changed;
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn read(&self) -> Result<Episodes> {
        self.blob()?.map_or_else(|| Ok(Episodes::default()), |blob| self.episodes_in(REF, blob))
    }

    /// The episodes about refusals with `code` in files of `language`, or in all files. A plain
    /// file for the code has the lines of fixes, because a refusal must not wait until a large blob
    /// is inflated. It is made again for another blob, and may be deleted at any time. Everybody
    /// can write it, so notes are read from the blob alone: the file only says if there are any.
    ///
    /// # Errors
    /// As [`read`](Memory::read).
    pub fn about(&self, code: Code, language: Option<&str>) -> Result<Episodes> {
        let Some(blob) = self.blob()? else { return Ok(Episodes::default()) };
        let file = self.repo.common_dir().join(format!("{LINES}{}", code.name()));
        let (bare, noted) = (format!("{blob}\n"), format!("{blob} notes\n"));
        let known = fs::read_small(&file, MAX_BYTES as u64).unwrap_or_default();
        let lines = if known.starts_with(bare.as_bytes()) || known.starts_with(noted.as_bytes()) {
            known
        } else {
            let all = self.read()?;
            let about = all.iter().filter(|one| one.body.code() == Some(code.name()));
            let (fixes, notes): (Vec<_>, Vec<_>) = about.partition(|one| is_fix(one));
            let head = if notes.is_empty() { &bare } else { &noted };
            let fixes: String = fixes.into_iter().map(|one| one.to_json() + "\n").collect();
            let lines = format!("{head}{fixes}").into_bytes();
            let _ = fs::write_atomic_unique(&file, &lines, 0o600);
            lines
        };
        let mut all = Vec::new();
        // Inside a text, these quotes would be escaped.
        if lines.starts_with(noted.as_bytes()) {
            let key = format!("\"body\":{{\"kind\":\"note\",\"code\":\"{}\",", code.name());
            all.extend(lines_with(&self.content(REF, blob)?, &key));
        }
        let words = [language.map(|language| format!("\"{language}\"")), Some("null".to_owned())];
        for word in words.into_iter().flatten() {
            let found = lines_with(&lines, &format!("\"language\":{word},"));
            all.extend(found.into_iter().filter(is_fix));
        }
        Ok(all.into_iter().collect())
    }

    /// The episodes in `blob`, which `name` names.
    fn episodes_in(&self, name: &str, blob: Oid) -> Result<Episodes> {
        Episodes::parse(&self.content(name, blob)?).ok_or_else(|| no_memory(name).into())
    }

    fn content(&self, name: &str, blob: Oid) -> Result<Vec<u8>> {
        if self.repo.size_of(blob)? > MAX_BYTES {
            return Err(no_memory(name).into());
        }
        self.repo.object(blob, ObjectKind::Blob).map_err(|found| {
            if self.repo.has_object(blob) { no_memory(name).into() } else { found }
        })
    }

    /// Changes the memory in one step, which another process sees wholly or not at all. `change`
    /// is called again if another process was faster. A change without an effect moves nothing.
    ///
    /// # Errors
    /// Those of `change` and of [`read`](Memory::read); `SESSION_MOVED` after twenty lost races;
    /// `SESSION_BUSY`, `IO_ERROR`, `GIT_DIR_READ_ONLY`. The memory stays as it was.
    pub fn change<T>(&self, mut change: impl FnMut(&mut Episodes) -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            let from = self.blob()?;
            let before =
                from.map_or_else(|| Ok(Episodes::default()), |at| self.episodes_in(REF, at))?;
            let mut after = before.clone();
            let answer = change(&mut after)?;
            if after == before {
                return Ok(answer);
            }
            let blob = self.write(&after)?;
            match self.point(REF, from, blob) {
                Err(found) if tries < TRIES && found.any(|one| one.code == Code::SessionMoved) => {
                    tries += 1;
                }
                moved => return moved.map(|()| answer),
            }
        }
    }

    fn write(&self, episodes: &Episodes) -> Result<Oid> {
        let mut writer = ObjectWriter::new(self.repo);
        let blob = writer.write_blob(episodes.lines().as_bytes())?;
        objects::write_missing(self.repo, &writer.loose_objects())?;
        Ok(blob)
    }

    /// Moves the ref `name` from `from` to `to`. The caller holds the worktree's lock.
    fn point(&self, name: &str, from: Option<Oid>, to: Oid) -> Result<()> {
        // A killed call of this worktree may have left its lock.
        self.repo.unlock_ref(name)?;
        match from {
            Some(from) => self.repo.swap_ref(&RefSwap { name, from, to }),
            None => self.repo.create_ref(name, to),
        }
    }

    /// The named states.
    ///
    /// # Errors
    /// `IO_ERROR` if the refs cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let named = |(name, blob): (String, Oid)| {
            let name = name.strip_prefix(SNAPSHOTS)?.to_owned();
            Some(Snapshot { name, blob: blob.to_string() })
        };
        Ok(self.repo.refs_below(SNAPSHOTS)?.into_iter().filter_map(named).collect())
    }

    /// Gives the present state a name.
    ///
    /// # Errors
    /// `BAD_REQUEST` if the name is invalid or taken, `EPISODE_NOT_FOUND` if the memory is empty;
    /// as [`read`](Memory::read).
    pub fn snapshot(&self, name: &str) -> Result<Snapshot> {
        let (reference, at) = (format!("{SNAPSHOTS}{name}"), self.blob()?);
        let remedy = "edt learns from refused edits; `edt memory add` adds a note.";
        let at = at.ok_or_else(|| absent("The memory of this repository is empty.", remedy))?;
        self.episodes_in(REF, at)?;
        let is_valid = self.repo.is_ref_name(&reference);
        if !is_valid || self.repo.ref_value(&reference)?.is_some_and(|taken| taken != at) {
            let summary = format!("{name:?} is no name of a ref, or names another state already.");
            let remedy = "Use another name, of letters, digits and hyphens.";
            return Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into());
        }
        self.point(&reference, None, at)?;
        Ok(Snapshot { name: name.to_owned(), blob: at.to_string() })
    }

    /// Restores the state with that name. The state before stays at the snapshot that is returned;
    /// `None` if there was none, or the same.
    ///
    /// # Errors
    /// `EPISODE_NOT_FOUND` if no snapshot has the name; `UNSUPPORTED_REPOSITORY` if it or the
    /// memory's ref names something else; as [`change`](Memory::change).
    pub fn restore(&self, name: &str) -> Result<Option<Snapshot>> {
        let (reference, from) = (format!("{SNAPSHOTS}{name}"), self.blob()?);
        let remedy = "`edt memory snapshot` lists the snapshots.";
        let to = self.repo.ref_value(&reference)?;
        let to = to.ok_or_else(|| absent(&format!("There is no snapshot {name:?}."), remedy))?;
        self.episodes_in(&reference, to)?;
        let Some(before) = from.filter(|from| *from != to) else {
            return self.point(REF, from, to).map(|()| None);
        };
        let kept = self.snapshot(&format!("before-{name}-{}", &before.to_string()[..12]))?;
        self.point(REF, from, to)?;
        Ok(Some(kept))
    }
}

fn is_fix(one: &Episode) -> bool {
    matches!(one.body, Body::Repair { .. })
}

/// The episodes on the lines that have `key`.
fn lines_with(lines: &[u8], key: &str) -> Vec<Episode> {
    let found = memchr::memmem::find_iter(lines, key.as_bytes()).filter_map(|at| {
        let start = memchr::memrchr(b'\n', &lines[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end);
        Episode::from_json(&lines[start..end]).ok()
    });
    found.collect()
}

fn absent(summary: &str, remedy: &str) -> Finding {
    Finding::new(Code::EpisodeNotFound, summary, remedy).nothing_changed()
}

fn no_memory(name: &str) -> Finding {
    let summary = format!(
        "{name} names something else than a memory of this version of edt, so it was not read and \
         not changed, and nothing is learned."
    );
    let remedy = format!(
        "If it is the memory of an earlier version, keep it under another name and remove the ref: \
         `git update-ref refs/old-memory {name} && git update-ref -d {name}`."
    );
    Finding::new(Code::UnsupportedRepository, summary, remedy).nothing_changed()
}
