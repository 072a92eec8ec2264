//! What the program sees of the file system, as a list of steps, which edt performs itself ([`super::mounts`]) or has bubblewrap
//! perform. Before the first step everything is readable only.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::wire::Bytes;
use super::{Plan, secrets};
use crate::base::Level;

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Op {
    /// `/proc` of the namespace's own processes.
    Processes,
    /// `/dev` with the few devices that programs need, and room for `/dev/shm`.
    Devices {
        /// Room in `/dev/shm`, in bytes.
        room: u64,
    },
    /// An empty file system in memory.
    Room {
        /// Where.
        at: Bytes,
        /// Its size.
        bytes: u64,
        /// Whether the program may write there.
        open: bool,
    },
    /// What stands there outside; it can be written.
    Writable(Bytes),
    /// What stands there outside; it can be read only, and not be moved away.
    Fixed(Bytes),
    /// An empty folder in place of what stands there.
    NoFolder(Bytes),
    /// An empty file in place of what stands there.
    NoFile(Bytes),
}

/// The steps, in order, and where the program may write after them.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) ops: Vec<Op>,
    pub(super) writable: Vec<PathBuf>,
}

/// Room for what is in memory if the plan has no limit.
const ROOM: u64 = 1 << 30;

/// The layout of `plan`; `temporary` is the private temporary folder.
pub(super) fn of(plan: &Plan, temporary: &Path) -> Result<Layout, String> {
    let room = plan.limits.temporary_bytes.unwrap_or(ROOM);
    let mut ops = Vec::new();
    if plan.level == Level::Strict {
        ops.push(Op::Processes);
    }
    ops.push(Op::Devices { room });
    if plan.level == Level::Strict {
        ops.push(Op::Room { at: temporary.as_os_str().into(), bytes: room, open: true });
        for hidden in ["/run", "/var/run"].map(Path::new) {
            if hidden.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                ops.push(Op::Room { at: hidden.as_os_str().into(), bytes: 1 << 20, open: false });
            }
        }
    } else {
        ops.push(Op::Writable(temporary.as_os_str().into()));
    }
    let mut writable: Vec<PathBuf> =
        plan.writable.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let root = plan
        .root
        .canonicalize()
        .map_err(|error| format!("{} cannot be opened: {error}.", plan.root.display()))?;
    writable.push(root.clone());
    // A folder before what lies in it.
    writable.sort();
    writable.dedup();
    ops.extend(writable.iter().map(|path| Op::Writable(path.as_os_str().into())));
    ops.extend(fixed(&plan.git, &writable)?);
    ops.extend(hidden(plan, &root));
    writable.push(temporary.to_owned());
    Ok(Layout { ops, writable })
}

/// Git's files and folders that lie where the program may write, each with the folders that lead to it: what is mounted cannot be
/// renamed, removed or replaced.
fn fixed(git: &[PathBuf], writable: &[PathBuf]) -> Result<Vec<Op>, String> {
    let (mut ways, mut ends) = (Vec::new(), Vec::new());
    for path in git {
        let Ok(meta) = path.symlink_metadata() else { continue };
        let (Some(parent), Some(name)) =
            (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name())
        else {
            continue;
        };
        let path = parent.join(name);
        let Some(inside) = writable.iter().filter(|folder| path.starts_with(folder)).min() else {
            continue;
        };
        if meta.is_symlink() {
            return Err(format!(
                "{} is a link, which the program could put another in place of. Replace it by a file that says `gitdir: …` (git init --separate-git-dir).",
                path.display()
            ));
        }
        let way = parent.ancestors().take_while(|folder| *folder != inside).map(Path::to_owned);
        ways.extend(way.filter(|folder| !writable.contains(folder)));
        ends.push(path);
    }
    for paths in [&mut ways, &mut ends] {
        paths.sort();
        paths.dedup();
    }
    let ways = ways.iter().filter(|way| !ends.iter().any(|end| way.starts_with(end)));
    let ways: Vec<Op> = ways.map(|way| Op::Writable(way.as_os_str().into())).collect();
    Ok(ways.into_iter().chain(ends.iter().map(|end| Op::Fixed(end.as_os_str().into()))).collect())
}

/// Secrets that are there. Where the worktree itself lies in a folder of secrets, someone works on these.
fn hidden(plan: &Plan, root: &Path) -> Vec<Op> {
    let mut found: Vec<PathBuf> = secrets::places(plan)
        .iter()
        .filter_map(|place| place.canonicalize().ok())
        .filter(|place| !root.starts_with(place))
        .collect();
    found.sort();
    found.dedup();
    let mut ops: Vec<Op> = Vec::new();
    let mut last: Option<&Path> = None;
    for place in &found {
        if last.is_some_and(|last| place.starts_with(last)) {
            continue;
        }
        let Ok(meta) = place.metadata() else { continue };
        let name = Bytes::from(place.as_os_str());
        ops.push(if meta.is_dir() { Op::NoFolder(name) } else { Op::NoFile(name) });
        last = Some(place);
    }
    ops
}
