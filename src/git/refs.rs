//! Refs read, through `gix`, which knows loose and packed ones. [`super::swap`] writes them.

use std::collections::HashSet;

use gix::refs::{PartialName, TargetRef};

use super::repo::Repo;
use super::{Oid, causes};
use crate::base::{Code, Finding, Result};
use crate::io::disk::{Dir, Parent, Stat};
use crate::io::failed;

impl Repo {
    /// The object that the ref `name` names; `None` if there is no such ref, or if it is unborn. Whether the object exists is
    /// not looked at: a missing object must not look like a missing ref.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn ref_value(&self, name: &str) -> Result<Option<Oid>> {
        let mut name = name.to_owned();
        // As many symbolic refs in a row as Git follows.
        for _ in 0..5 {
            let found = self
                .inner
                .try_find_reference(name.as_str())
                .map_err(|error| unreadable(&name, &error))?;
            let Some(found) = found else { return Ok(None) };
            match found.target() {
                TargetRef::Object(oid) => return Ok(Some(oid.to_owned())),
                TargetRef::Symbolic(next) => name = next.as_bstr().to_string(),
            }
        }
        Ok(None)
    }

    /// The ref that the symbolic ref `name` names; `None` if it is absent or not symbolic.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn symbolic_ref(&self, name: &str) -> Result<Option<String>> {
        let found =
            self.inner.try_find_reference(name).map_err(|error| unreadable(name, &error))?;
        Ok(found.and_then(|found| found.target().try_name().map(|name| name.as_bstr().to_string())))
    }

    /// Every ref whose name begins with `prefix`, which ends in `/`, with its value.
    ///
    /// # Errors
    /// `IO_ERROR` if refs cannot be read.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
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

    /// Whether `name` can be a ref's full name.
    #[must_use]
    pub fn is_ref_name(&self, name: &str) -> bool {
        gix::validate::reference::name(name.into()).is_ok() && PartialName::try_from(name).is_ok()
    }

    /// The commits that `git commit --amend` made on the branch `name`, as far as its log tells.
    #[must_use]
    pub fn amended(&self, name: &str) -> HashSet<Oid> {
        let log = std::fs::read(self.common_dir().join("logs").join(name)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let amends = log.lines().filter(|line| line.contains("\tcommit (amend): "));
        amends.filter_map(|line| Oid::from_hex(line.split(' ').nth(1)?.as_bytes()).ok()).collect()
    }

    /// What HEAD names: a branch in full, or a commit id if it is detached.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn head_names(&self) -> Result<Option<String>> {
        let path = self.git_dir().join("HEAD");
        let text = std::fs::read_to_string(&path).map_err(|error| failed("read", &path, &error))?;
        Ok(Some(text.strip_prefix("ref: ").unwrap_or(&text).trim().to_owned()))
    }

    /// The stat of HEAD's file.
    #[must_use]
    pub fn head_stat(&self) -> Option<Stat> {
        Dir::open(self.git_dir()).ok()?.stat(b"HEAD").ok().flatten()
    }

    /// The stat of the file that holds the ref `name`: its loose file, else the packed refs.
    #[must_use]
    pub fn ref_stat(&self, name: &str) -> Option<Stat> {
        let below = Dir::open(self.common_dir()).ok()?;
        let (folder, file) = name.rsplit_once('/')?;
        let loose = match below.beneath(folder.as_bytes()) {
            Ok(Parent::Open(dir)) => dir.stat(file.as_bytes()).ok().flatten(),
            _ => None,
        };
        loose.or_else(|| below.stat(b"packed-refs").ok().flatten())
    }
}

fn unreadable(name: &str, error: &gix::Error) -> Finding {
    // Each worktree has a journal of its own, and only that of the session's knows what its refs held.
    let hint = if name.starts_with("refs/edt/") || name.starts_with("refs/heads/edt/") {
        "If a power cut tore it, `edt status` in that session's worktree (`git worktree list`) brings it back; then repeat the call."
    } else {
        "`git fsck` and `git for-each-ref` tell what is wrong; mend it and repeat the call."
    };
    Finding::new(Code::IoError, format!("Could not read the ref {name}: {}.", causes(error)), hint)
}
