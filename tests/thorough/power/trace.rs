//! What a program wrote and synced, in order, as `strace` saw it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The recorded calls: those that change a file system, those that sync it, and those that say
/// where a path begins.
pub(super) const CALLS: &str = "openat,openat2,creat,write,pwrite64,writev,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat,fsync,fdatasync,syncfs,sync,ftruncate,truncate,chmod,fchmod,fchmodat,copy_file_range,sendfile,fallocate,clone,clone3,vfork,fork,chdir,fchdir";

/// One thing that happened.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A file was opened for writing.
    Open { path: PathBuf, create: bool, truncate: bool, mode: u32 },
    /// Bytes were written, at an offset or at the end.
    Write { path: PathBuf, at: Option<u64>, bytes: Vec<u8> },
    /// A file was copied into another.
    Copy { from: PathBuf, to: PathBuf },
    /// A file got another length.
    Truncate { path: PathBuf, len: u64 },
    /// A file got other permissions.
    Chmod { path: PathBuf, mode: u32 },
    /// A name moved, over whatever was there.
    Rename { from: PathBuf, to: PathBuf },
    /// Two names changed places.
    Exchange { one: PathBuf, other: PathBuf },
    /// A file got a second name.
    Link { from: PathBuf, to: PathBuf },
    /// A name was removed, of a file or an empty directory.
    Unlink { path: PathBuf },
    /// A directory was made.
    Mkdir { path: PathBuf },
    /// A symbolic link was made.
    Symlink { target: Vec<u8>, path: PathBuf },
    /// A file or directory was synced.
    Sync { path: PathBuf },
    /// The file system was synced.
    SyncAll,
    /// The program wrote to its caller.
    Answer,
}

/// The events of a trace made by `strace -f -y -xx` of a program started in `cwd`.
///
/// # Panics
/// If a call is there that this reader does not know how to replay.
pub(super) fn events(trace: &str, cwd: &Path) -> Vec<Event> {
    let mut reader =
        Reader { cwd: cwd.to_owned(), directories: HashMap::new(), parted: HashMap::new() };
    trace.lines().filter_map(|line| reader.line(line)).collect()
}

struct Reader {
    cwd: PathBuf,
    /// Where each process is.
    directories: HashMap<u32, PathBuf>,
    /// Calls of a thread that another one interrupted.
    parted: HashMap<u32, String>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Option<Event> {
        let (pid, rest) = line.split_once(' ')?;
        let (pid, rest) = (pid.parse().ok()?, rest.trim_start());
        if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            self.parted.insert(pid, begun.to_owned());
            return None;
        }
        let whole = match rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, end)) => self.parted.remove(&pid)? + end,
            None => rest.to_owned(),
        };
        let (name, rest) = whole.split_once('(')?;
        // The answer of a call that another thread interrupted stands in a column of its own.
        let (args, answer) = rest.rsplit_once(" = ")?;
        let args = arguments(args.trim_end().strip_suffix(')')?);
        let returned: i64 = answer.split([' ', '<']).next()?.parse().ok()?;
        if returned < 0 { None } else { self.call(pid, name, &args, returned) }
    }

    fn call(&mut self, pid: u32, name: &str, args: &[String], returned: i64) -> Option<Event> {
        let here = self.directories.get(&pid).unwrap_or(&self.cwd).clone();
        let plain = |arg: &String| here.join(path(&quoted(arg)));
        let at = |dir: &String, arg: &String| {
            let base = descriptor(dir).unwrap_or_else(|| here.clone());
            base.join(path(&quoted(arg)))
        };
        let event = match name {
            "clone" | "clone3" | "vfork" | "fork" => {
                self.directories.insert(u32::try_from(returned).unwrap(), here);
                return None;
            }
            "chdir" => {
                let to = plain(&args[0]);
                self.directories.insert(pid, to);
                return None;
            }
            "fchdir" => {
                self.directories.insert(pid, descriptor(&args[0])?);
                return None;
            }
            "openat" | "openat2" => {
                let flags = &args[2];
                if !["O_WRONLY", "O_RDWR", "O_CREAT"].iter().any(|flag| flags.contains(flag)) {
                    return None;
                }
                assert!(!flags.contains("O_TMPFILE"), "{args:?}");
                let mode =
                    args.get(3).and_then(|mode| u32::from_str_radix(mode, 8).ok()).unwrap_or(0o666);
                let (create, truncate) = (flags.contains("O_CREAT"), flags.contains("O_TRUNC"));
                Event::Open { path: at(&args[0], &args[1]), create, truncate, mode }
            }
            "write" | "pwrite64" => {
                if args[0].starts_with("1<") {
                    return Some(Event::Answer);
                }
                let mut bytes = quoted(&args[1]);
                bytes.truncate(usize::try_from(returned).unwrap());
                assert!(!args[1].ends_with("..."), "strace cut a string: {}", args[1].len());
                let at = args.get(3).map(|at| at.parse().unwrap());
                Event::Write { path: descriptor(&args[0])?, at, bytes }
            }
            "rename" => Event::Rename { from: plain(&args[0]), to: plain(&args[1]) },
            "renameat" | "renameat2" => {
                let (from, to) = (at(&args[0], &args[1]), at(&args[2], &args[3]));
                if args.get(4).is_some_and(|flags| flags.contains("RENAME_EXCHANGE")) {
                    Event::Exchange { one: from, other: to }
                } else {
                    Event::Rename { from, to }
                }
            }
            "link" => Event::Link { from: plain(&args[0]), to: plain(&args[1]) },
            "linkat" => Event::Link { from: at(&args[0], &args[1]), to: at(&args[2], &args[3]) },
            "unlink" | "rmdir" => Event::Unlink { path: plain(&args[0]) },
            "unlinkat" => Event::Unlink { path: at(&args[0], &args[1]) },
            "mkdir" => Event::Mkdir { path: plain(&args[0]) },
            "mkdirat" => Event::Mkdir { path: at(&args[0], &args[1]) },
            "symlink" => Event::Symlink { target: quoted(&args[0]), path: plain(&args[1]) },
            "symlinkat" => {
                Event::Symlink { target: quoted(&args[0]), path: at(&args[1], &args[2]) }
            }
            "fsync" | "fdatasync" => Event::Sync { path: descriptor(&args[0])? },
            "syncfs" | "sync" => Event::SyncAll,
            "ftruncate" => {
                Event::Truncate { path: descriptor(&args[0])?, len: args[1].parse().unwrap() }
            }
            "chmod" => Event::Chmod { path: plain(&args[0]), mode: octal(&args[1]) },
            "fchmod" => Event::Chmod { path: descriptor(&args[0])?, mode: octal(&args[1]) },
            "fchmodat" => Event::Chmod { path: at(&args[0], &args[1]), mode: octal(&args[2]) },
            "copy_file_range" | "sendfile" if returned == 0 => return None,
            "copy_file_range" => {
                Event::Copy { from: descriptor(&args[0])?, to: descriptor(&args[2])? }
            }
            "sendfile" => Event::Copy { from: descriptor(&args[1])?, to: descriptor(&args[0])? },
            other => panic!("{other} cannot be replayed: {args:?}"),
        };
        Some(event)
    }
}

/// The arguments of a call. Everything between quotes or angle brackets is in hexadecimal, so that
/// no comma hides there.
fn arguments(args: &str) -> Vec<String> {
    let (mut all, mut depth, mut rest) = (vec![String::new()], 0_u32, args.chars());
    while let Some(c) = rest.next() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(String::new());
                let space = rest.next();
                assert_eq!(space, Some(' '), "{args}");
                continue;
            }
            _ => {}
        }
        all.last_mut().unwrap().push(c);
    }
    all
}

/// The bytes between the quotes of an argument.
fn quoted(arg: &str) -> Vec<u8> {
    let inner = arg.split('"').nth(1).unwrap_or_else(|| panic!("no string: {arg}"));
    bytes(inner)
}

/// The path of a descriptor, `5</path>`; nothing if it is not a file.
fn descriptor(arg: &str) -> Option<PathBuf> {
    let inner = arg.split_once('<')?.1.split_once('>')?.0;
    Some(path(&bytes(inner))).filter(|path| path.is_absolute())
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |pair: &str| {
        u8::from_str_radix(pair, 16).unwrap_or_else(|_| panic!("not hexadecimal: {hex}"))
    };
    hex.split("\\x").skip(1).map(digits).collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn octal(text: &str) -> u32 {
    u32::from_str_radix(text, 8).unwrap()
}
