//! Runs Git for hooks. Only Git itself sees the index to commit, a push's quarantine, lazily
//! fetched objects, bare repositories and every ref format correctly.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use edt_io::Environment;
use edt_io::fs::{self, PathContent};
use edt_io::spawn::{self, CommandOutput, Hooks};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// Git in one repository: the one of the directory, or the one that the environment names.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
}

/// An object, as `git cat-file` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its id in hexadecimal.
    pub id: String,
    pub bytes: Vec<u8>,
}

impl Git {
    #[must_use]
    pub fn at(dir: &Path) -> Git {
        Git { dir: dir.to_owned() }
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs `git` with bounded memory and output. A failure of Git is not an error.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`; `UNSUPPORTED_REPOSITORY` if Git needs more memory.
    pub fn run(&self, args: &[&str], input: &[u8]) -> Result<CommandOutput> {
        // A walk of the history takes what the history takes, and no content of a push adds to it.
        if args.first().is_some_and(|name| ["log", "merge-base", "rev-list"].contains(name)) {
            return self.run_with(args, input, &[]);
        }
        let ran = spawn::git_limited(Environment::Process, &self.dir, args, input)?;
        ran.ok_or_else(|| too_much(args).into())
    }

    /// Runs `git` with the repository's hooks, as the user would.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn run_with_hooks(&self, args: &[&str], env: &[(&str, &OsStr)]) -> Result<CommandOutput> {
        spawn::git_with(Environment::Process, &self.dir, args, b"", Hooks::Guarded, env)
    }

    /// As [`Git::run`], with more environment variables.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn run_with(
        &self,
        args: &[&str],
        input: &[u8],
        env: &[(&str, &OsStr)],
    ) -> Result<CommandOutput> {
        // Whoever can push a replacement would decide what a hook sees.
        let env = [env, &[("GIT_NO_REPLACE_OBJECTS", OsStr::new("1"))]].concat();
        spawn::git_with(Environment::Process, &self.dir, args, input, Hooks::Off, &env)
    }

    /// The output of a `git` that must succeed.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; `IO_ERROR` with Git's message.
    pub fn output(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let ran = self.run(args, input)?;
        if ran.ok { Ok(ran.stdout) } else { Err(self.failed(args, &ran).into()) }
    }

    /// The output of a `git` that prints one line; `None` if it fails or prints nothing.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn line(&self, args: &[&str]) -> Result<Option<String>> {
        let ran = self.run(args, b"")?;
        let line = String::from_utf8_lossy(&ran.stdout).trim_end_matches('\n').to_owned();
        Ok(Some(line).filter(|line| ran.ok && !line.is_empty()))
    }

    /// The objects that `specs` name, in their order; `None` for one that does not exist.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if Git's output cannot be parsed.
    pub fn objects(&self, specs: &[String]) -> Result<Vec<Option<Object>>> {
        if specs.is_empty() {
            return Ok(Vec::new());
        }
        let out = self.output(&["cat-file", "--batch"], &lines(specs))?;
        let mut rest = out.as_slice();
        specs
            .iter()
            .map(|spec| next_object(&mut rest).ok_or_else(|| unreadable_object(spec).into()))
            .collect()
    }

    /// The sizes of the blobs `ids`, in their order.
    ///
    /// # Errors
    /// `OBJECT_MISSING` if one does not exist.
    pub fn sizes(&self, ids: &[String]) -> Result<Vec<u64>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let out = self.output(&["cat-file", "--batch-check=%(objectsize)"], &lines(ids))?;
        let text = String::from_utf8_lossy(&out);
        let sizes: Option<Vec<u64>> = text.lines().map(|line| line.parse().ok()).collect();
        sizes
            .filter(|sizes| sizes.len() == ids.len())
            .ok_or_else(|| unreadable_object(&ids.join(" ")).into())
    }

    /// Whether `old` is `new` or one of its ancestors; `false` if either is not a commit.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool> {
        Ok(self.run(&["merge-base", "--is-ancestor", old, new], b"")?.ok)
    }

    /// How many commits `old` reaches and `new` does not; `None` if Git fails.
    #[must_use]
    pub fn commits_lost(&self, old: &str, new: &str) -> Option<u64> {
        let range = format!("{new}..{old}");
        self.line(&["rev-list", "--count", &range]).ok().flatten()?.parse().ok()
    }

    /// The id of the empty tree.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn empty_tree(&self) -> Result<String> {
        let id = self.output(&["hash-object", "-t", "tree", "--stdin"], b"")?;
        Ok(String::from_utf8_lossy(&id).trim().to_owned())
    }

    /// Whether Git's configuration sets `key` to true.
    #[must_use]
    pub fn config_flag(&self, key: &str) -> bool {
        matches!(self.line(&["config", "--type=bool", "--get", key]), Ok(Some(value)) if value == "true")
    }

    /// All values of `key` in Git's configuration.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn config_values(&self, key: &str) -> Result<Vec<String>> {
        let ran = self.run(&["config", "--get-all", key], b"")?;
        Ok(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect())
    }

    /// The worktree's root; `None` in a bare repository.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn top(&self) -> Result<Option<PathBuf>> {
        Ok(self.line(&["rev-parse", "--show-toplevel"])?.map(PathBuf::from))
    }

    /// The Git directory of this worktree. Runs no process if it is `.git`, or if the environment
    /// names it, as in a hook.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn git_dir(&self) -> Result<PathBuf> {
        let named = edt_io::environment::variable("GIT_DIR").unwrap_or_else(|| ".git".into());
        let plain = self.dir.join(named);
        if plain.join("HEAD").symlink_metadata().is_ok() {
            return Ok(plain);
        }
        let dir = self.line(&["rev-parse", "--path-format=absolute", "--git-dir"])?;
        Ok(dir.map(PathBuf::from).unwrap_or_default())
    }

    /// The Git directory that all worktrees share, found in the same way.
    ///
    /// # Errors
    /// `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn common(&self) -> Result<PathBuf> {
        if edt_io::environment::variable("GIT_COMMON_DIR").is_none() {
            let own = self.git_dir()?;
            match fs::read_path(&own.join("commondir")) {
                Ok(PathContent::File { bytes, .. }) => {
                    return Ok(own.join(OsStr::from_bytes(bytes.trim_ascii_end())));
                }
                _ if own.join("objects").is_dir() => return Ok(own),
                _ => {}
            }
        }
        let dir = self.line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        Ok(dir.map(PathBuf::from).unwrap_or_default())
    }

    fn failed(&self, args: &[&str], ran: &CommandOutput) -> Finding {
        let message = ran.stderr.trim();
        if message.contains("not a git repository") {
            return Finding::new(
                Code::NotARepository,
                format!("{} is not inside a Git repository.", self.dir.shown()),
                "Run edt inside a worktree, pass -C DIR (`worktree` of a tool), or create a repository \
             with `git init`.",
            );
        }
        if message.contains("exceeded maximum allowed tree depth") {
            let message = "A tree has more levels than Git reads (core.maxTreeDepth).";
            return unsupported(message, "Remove the directory with so many levels.");
        }
        let what = args.first().copied().unwrap_or_default();
        let hint =
            "Run `git fsck` and `git status`, correct what they report, and repeat the call.";
        Finding::new(Code::IoError, format!("`git {what}` failed: {message}"), hint)
    }
}

fn lines(specs: &[String]) -> Vec<u8> {
    specs.iter().flat_map(|spec| [spec.as_bytes(), b"\n"].concat()).collect()
}

/// The next object of a batch; the outer `None` if the batch is malformed.
#[expect(clippy::option_option, reason = "a malformed batch differs from an absent object")]
fn next_object(rest: &mut &[u8]) -> Option<Option<Object>> {
    let end = memchr::memchr(b'\n', rest)?;
    let head = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    let mut words = head.rsplit(' ');
    let Ok(size) = words.next()?.parse::<usize>() else { return Some(None) };
    let id = words.nth(1)?.to_owned();
    let bytes = rest.get(..size)?.to_vec();
    *rest = rest.get(size + 1..)?;
    Some(Some(Object { id, bytes }))
}

fn too_much(args: &[&str]) -> Finding {
    let what = args.first().copied().unwrap_or_default();
    let message = format!(
        "`git {what}` needs more than {} MiB of memory or writes more than {} MiB, which is more \
         than edt reads.",
        spawn::GIT_MEMORY >> 20,
        spawn::GIT_OUTPUT >> 20
    );
    unsupported(
        &message,
        "Commit or push the change in parts, each with fewer paths. The user may skip a local hook \
         with `--no-verify`.",
    )
}

fn unsupported(message: &str, remedy: &'static str) -> Finding {
    Finding::new(Code::UnsupportedRepository, message, remedy).nothing_changed()
}

fn unreadable_object(what: &str) -> Finding {
    Finding::new(
        Code::ObjectMissing,
        format!("Git could not read {what}."),
        "`git fsck` lists missing objects; `git fetch` may restore them.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_parsed_object_by_object() {
        let mut rest =
            b"HEAD:x y missing\nabc blob 3\na\nb\nabc blob 0\n\nabc blob 9\nshort".as_slice();
        let object =
            |bytes: &[u8]| Some(Some(Object { id: "abc".to_owned(), bytes: bytes.to_vec() }));
        assert_eq!(next_object(&mut rest), Some(None));
        assert_eq!(next_object(&mut rest), object(b"a\nb"));
        assert_eq!(next_object(&mut rest), object(b""));
        assert_eq!(next_object(&mut rest), None);
    }
}
