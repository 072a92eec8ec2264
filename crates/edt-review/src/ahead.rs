//! What a page gets after it is there: the files of further steps, and who wrote each line.

use crate::authors;
use crate::diffs::locked;
use crate::hunks::LineSource;
use crate::model::{Reader, undone, viewed};
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::ended::ShownSession;
use edt_git::Repo;
use edt_io::clock;
use edt_types::Result;

/// How much of the steps [`Reader::read_ahead`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAhead {
    /// How many steps it read.
    pub read: usize,
    /// Whether it read all.
    pub complete: bool,
}

impl Reader {
    /// Reads the files of the steps of the session that are not known, for `most_ms` milliseconds,
    /// but at least of one step: a busy machine gets on, too.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn read_ahead(&self, repo: &Repo, shown: &ShownSession, most_ms: u64) -> Result<ReadAhead> {
        let session = viewed(repo, shown)?;
        let mut commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        commits.reverse();
        commits.extend(undone(repo, &session)?);
        let (mut read, deadline) = (0, clock::in_ms(most_ms));
        for commit in commits {
            let trees = (commit.parent_tree(repo)?, commit.tree);
            if self.diffs.known(trees).is_some() {
                continue;
            }
            if read > 0 && clock::now() >= deadline {
                return Ok(ReadAhead { read, complete: false });
            }
            self.diffs.listed(repo, trees)?;
            read += 1;
        }
        Ok(ReadAhead { read, complete: true })
    }

    /// The commit at the tip of the session, and who wrote each line of the file `path` there.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn line_sources(
        &self,
        repo: &Repo,
        shown: &ShownSession,
        path: &str,
    ) -> Result<(String, Vec<LineSource>)> {
        let tip = viewed(repo, shown)?.tip;
        let key = (tip, path.to_owned());
        let known = locked(&self.sources).get(&key).cloned();
        if let Some(known) = known {
            return Ok((tip.to_string(), known));
        }
        let found = authors::of_file(repo, tip, path)?;
        let mut sources = locked(&self.sources);
        sources.retain(|(commit, _), _| *commit == tip);
        sources.insert(key, found.clone());
        Ok((tip.to_string(), found))
    }
}
