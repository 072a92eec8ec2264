//! Repositories as `git init`, `git add` and `git commit` write them, without starting Git.
//!
//! A test binary makes hundreds of repositories; five processes for each of them cost more than
//! most tests. The result is what Git would have written: `git fsck --strict` is silent, and the
//! index needs no refresh.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::hash::Kind as HashKind;
use gix::objs::Kind;

/// The author and committer of every commit.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// `user.name`.
    pub name: &'a str,
    /// `user.email`.
    pub email: &'a str,
}

/// Writes what `git init --initial-branch=main` and two `git config` write in the empty directory
/// `root`. The sample hooks are left out.
///
/// # Errors
/// What the file system reports.
pub fn init(root: &Path, user: User<'_>) -> io::Result<()> {
    let git = root.join(".git");
    for directory in
        ["hooks", "info", "objects/info", "objects/pack", "refs/heads", "refs/tags", "branches"]
    {
        fs::create_dir_all(git.join(directory))?;
    }
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\t\
         logallrefupdates = true\n[user]\n\tname = {}\n\temail = {}\n",
        user.name, user.email
    );
    fs::write(git.join("config"), config)?;
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(git.join("description"), "Unnamed repository\n")?;
    fs::write(git.join("info/exclude"), "# Patterns of files that Git ignores here\n")
}

/// Whether [`commit`] records these files as `git add --all` would: no path among them changes how
/// Git reads the others.
#[must_use]
pub fn suits(files: &[(&str, &[u8])]) -> bool {
    files.iter().all(|(path, _)| {
        !path.starts_with('/')
            && path.split('/').all(|name| {
                !["", ".", "..", ".git", ".gitattributes", ".gitignore", ".gitmodules"]
                    .contains(&name)
            })
    })
}

/// Writes `files` into the worktree of the repository that [`init`] made at `root`, and records
/// them as the first commit of `main`: objects, index with its tree, ref and reflogs.
///
/// # Errors
/// What the file system reports.
pub fn commit(
    root: &Path,
    user: User<'_>,
    files: &[(&str, &[u8])],
    subject: &str,
) -> io::Result<ObjectId> {
    let git = root.join(".git");
    let now = SystemTime::now();
    // An index that is no newer than a file makes Git read that file again.
    let written = now - Duration::from_secs(1);
    let mut entries = BTreeMap::new();
    for (path, bytes) in files {
        let full = root.join(path);
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&full, bytes)?;
        fs::File::options().append(true).open(&full)?.set_modified(written)?;
        entries.insert(path.as_bytes(), object(&git, Kind::Blob, bytes)?);
    }
    let mut cached = Vec::new();
    let list: Vec<(&[u8], ObjectId)> = entries.iter().map(|(path, oid)| (*path, *oid)).collect();
    let tree = tree(&git, b"", b"", &list, &mut cached)?;
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let who = format!("{} <{}> {seconds} +0000", user.name, user.email);
    let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\n{subject}\n");
    let commit = object(&git, Kind::Commit, text.as_bytes())?;
    fs::write(git.join("index"), index(root, &list, &cached)?)?;
    fs::create_dir_all(git.join("logs/refs/heads"))?;
    let line = format!("{} {commit} {who}\tcommit (initial): {subject}\n", HashKind::Sha1.null());
    fs::write(git.join("logs/HEAD"), &line)?;
    fs::write(git.join("logs/refs/heads/main"), &line)?;
    fs::write(git.join("refs/heads/main"), format!("{commit}\n"))?;
    Ok(commit)
}

/// Writes a loose object.
fn object(git: &Path, kind: Kind, bytes: &[u8]) -> io::Result<ObjectId> {
    let oid = gix::objs::compute_hash(HashKind::Sha1, kind, bytes).map_err(io::Error::other)?;
    let name = oid.to_string();
    let directory = git.join("objects").join(&name[..2]);
    let file = directory.join(&name[2..]);
    if file.exists() {
        return Ok(oid);
    }
    fs::create_dir_all(&directory)?;
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    write!(zlib, "{kind} {}\0", bytes.len())?;
    zlib.write_all(bytes)?;
    fs::write(&file, zlib.finish()?)?;
    let mut permissions = fs::metadata(&file)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions)?;
    Ok(oid)
}

/// Writes the tree of `entries`, whose paths begin with `prefix`; appends it and its subtrees to
/// the index's extension `TREE`.
fn tree(
    git: &Path,
    prefix: &[u8],
    name: &[u8],
    entries: &[(&[u8], ObjectId)],
    cached: &mut Vec<u8>,
) -> io::Result<ObjectId> {
    type Item = (Vec<u8>, &'static [u8], Vec<u8>, ObjectId);
    let mut items: Vec<Item> = Vec::new();
    let (mut below, mut subtrees, mut at) = (Vec::new(), 0, 0);
    while at < entries.len() {
        let rest = &entries[at].0[prefix.len()..];
        let Some(slash) = rest.iter().position(|byte| *byte == b'/') else {
            items.push((rest.to_vec(), b"100644", rest.to_vec(), entries[at].1));
            at += 1;
            continue;
        };
        let directory = &entries[at].0[..=(prefix.len() + slash)];
        let count =
            entries[at..].iter().take_while(|(path, _)| path.starts_with(directory)).count();
        let child = &rest[..slash];
        let oid = tree(git, directory, child, &entries[at..at + count], &mut below)?;
        // A directory's name sorts as if it ended with a slash.
        items.push(([child, b"/"].concat(), b"40000", child.to_vec(), oid));
        subtrees += 1;
        at += count;
    }
    items.sort();
    let mut bytes = Vec::new();
    for (_, mode, name, oid) in &items {
        bytes.extend_from_slice(&[*mode, b" ", name, b"\0", oid.as_slice()].concat());
    }
    let oid = object(git, Kind::Tree, &bytes)?;
    cached.extend_from_slice(name);
    cached.extend_from_slice(format!("\0{} {subtrees}\n", entries.len()).as_bytes());
    cached.extend_from_slice(oid.as_slice());
    cached.extend_from_slice(&below);
    Ok(oid)
}

/// An index of version 2 with the stats of the files as they are on disk.
fn index(root: &Path, entries: &[(&[u8], ObjectId)], cached: &[u8]) -> io::Result<Vec<u8>> {
    fn low(number: i64) -> u32 {
        u32::try_from(number & 0xffff_ffff).unwrap_or_default()
    }
    let count = u32::try_from(entries.len()).map_err(io::Error::other)?;
    let mut bytes = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
    for (path, oid) in entries {
        let name = std::str::from_utf8(path).map_err(io::Error::other)?;
        let meta = fs::symlink_metadata(root.join(name))?;
        let words = [
            low(meta.ctime()),
            low(meta.ctime_nsec()),
            low(meta.mtime()),
            low(meta.mtime_nsec()),
            low(meta.dev().cast_signed()),
            low(meta.ino().cast_signed()),
            0o100_644,
            meta.uid(),
            meta.gid(),
            low(meta.size().cast_signed()),
        ];
        let start = bytes.len();
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_be_bytes()));
        bytes.extend_from_slice(oid.as_slice());
        let length = u16::try_from(path.len().min(0xfff)).unwrap_or(0xfff);
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(path);
        // One to eight NUL bytes, so that the length of an entry is a multiple of eight.
        let padded = (bytes.len() - start) / 8 * 8 + 8;
        bytes.resize(start + padded, 0);
    }
    bytes.extend_from_slice(b"TREE");
    bytes.extend_from_slice(&u32::try_from(cached.len()).map_err(io::Error::other)?.to_be_bytes());
    bytes.extend_from_slice(cached);
    let mut hasher = gix::hash::hasher(HashKind::Sha1);
    hasher.update(&bytes);
    let checksum = hasher.try_finalize().map_err(io::Error::other)?;
    bytes.extend_from_slice(checksum.as_slice());
    Ok(bytes)
}

/// A repository of its own in a temporary directory, which is removed with it.
#[derive(Debug)]
pub struct ScratchRepo {
    dir: tempfile::TempDir,
}

impl ScratchRepo {
    /// The user who commits.
    pub const USER: User<'static> = User { name: "A User", email: "user@example.com" };

    /// A repository without a commit.
    ///
    /// # Panics
    /// If the file system refuses.
    #[must_use]
    pub fn unborn() -> ScratchRepo {
        let dir = crate::tempdir();
        let dir = dir.expect("a temporary directory can be made");
        init(dir.path(), ScratchRepo::USER).expect("a repository can be written");
        ScratchRepo { dir }
    }

    /// A repository whose only commit has `files`.
    ///
    /// # Panics
    /// If the file system refuses, or a file changes how Git reads the others ([`suits`]).
    #[must_use]
    pub fn with<T: AsRef<[u8]>>(files: &[(&str, T)]) -> ScratchRepo {
        let scratch = ScratchRepo::unborn();
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, bytes)| (*path, bytes.as_ref())).collect();
        assert!(suits(&files), "these files need Git's own `git add`");
        commit(scratch.path(), ScratchRepo::USER, &files, "a user's commit")
            .expect("a commit can be written");
        scratch
    }

    /// The worktree's root.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}
