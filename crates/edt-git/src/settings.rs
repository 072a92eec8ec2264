//! Settings of a repository: who shares it, and what may be packed.

use std::path::Path;

use super::Repo;
use edt_io::sharing::Sharing;
use edt_io::{failed, fs};
use edt_types::Result;

impl Repo {
    /// The permissions of what is created in the Git directory (`core.sharedRepository`).
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        *self.sharing.get_or_init(|| {
            let value = self.inner.config_snapshot().string("core.sharedRepository");
            value.and_then(|value| Sharing::parse(&value.to_string())).unwrap_or(Sharing::Umask)
        })
    }

    /// The ref that follows the upstream of `branch`, a full name.
    #[must_use]
    pub fn upstream(&self, branch: &str) -> Option<String> {
        let name: gix::refs::FullName = branch.try_into().ok()?;
        let fetched = gix::remote::Direction::Fetch;
        let found = self.inner.branch_remote_tracking_ref_name(name.as_ref(), fetched)?.ok()?;
        Some(found.as_bstr().to_string())
    }

    /// Whether several users share the repository.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharing() != Sharing::Umask
    }

    /// Gives the new file or directory at `path`, and the directories between it and its Git
    /// directory, the permissions of a shared repository. What is in no Git directory of this
    /// repository is not changed.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn share(&self, path: &Path) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        // The common directory of a linked worktree is `…/worktrees/NAME/../..`.
        let path = fs::real_path(path);
        let tops = [self.git_dir(), self.common_dir()].map(fs::real_path);
        let Some(top) = tops.iter().find(|top| path.starts_with(top)) else { return Ok(()) };
        for one in path.ancestors().take_while(|above| above != top) {
            self.sharing().apply(one).map_err(|error| failed("share", one, &error))?;
        }
        Ok(())
    }

    /// Whether Git's configuration allows to pack objects unasked (`gc.auto`, `maintenance.auto`).
    #[must_use]
    pub fn packs_automatically(&self) -> bool {
        let config = self.inner.config_snapshot();
        config.integer("gc.auto").is_none_or(|most| most > 0)
            && config.boolean("maintenance.auto") != Some(false)
            && !self.has_precious_objects()
    }

    /// Whether other repositories may borrow any object of this one (`extensions.preciousObjects`),
    /// so that Git refuses to remove packs and objects.
    #[must_use]
    pub fn has_precious_objects(&self) -> bool {
        self.inner.config_snapshot().boolean("extensions.preciousObjects") == Some(true)
    }
}
