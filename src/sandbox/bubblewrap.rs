//! Namespaces that bubblewrap makes: where it is installed, it may have rights to them that edt has not.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::layout::Op;
use super::{Means, NotStarted, Plan, child};
use crate::io::scratch::Scratch;

/// Where it is looked for: not on `PATH`, which is the caller's.
const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Where edt itself stands inside.
const EDT: &str = "/run/edt";

/// The capabilities that root keeps until the supervisor has given them up.
const KEPT: &[&str] = &[
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
];

/// The bubblewrap to use, if there is one to use.
pub(super) fn find(means: Means) -> Result<Option<PathBuf>, String> {
    let of_root = |path: &&&str| {
        let meta = Path::new(path).metadata();
        meta.is_ok_and(|meta| {
            meta.uid() == 0 && meta.is_file() && meta.permissions().mode() & 0o022 == 0
        })
    };
    let found = || PLACES.iter().find(of_root).map(PathBuf::from);
    match means {
        Means::Own | Means::OwnWithoutSignals => Ok(None),
        Means::Any => Ok(found()),
        Means::Bubblewrap => found().map(Some).ok_or_else(|| {
            format!(
                "Bubblewrap is not installed: no file of root's is one of {}. Install the package bubblewrap.",
                PLACES.join(", ")
            )
        }),
    }
}

/// bubblewrap with the plan's layout and the supervisor as the first process inside.
#[expect(clippy::disallowed_methods, reason = "the place that starts what `edt run` runs")]
pub(super) fn command(
    bwrap: &Path,
    plan: &Plan,
    ops: &[Op],
    scratch: Option<&Scratch>,
) -> Result<Command, NotStarted> {
    let edt = if plan.edt == Path::new("/proc/self/exe") {
        std::env::current_exe()?
    } else {
        plan.edt.clone()
    };
    let empty = scratch
        .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?
        .put(b"empty", b"")?;
    let mut command = Command::new(bwrap);
    for flag in ["pid", "net", "ipc", "uts", "cgroup-try"] {
        command.arg(format!("--unshare-{flag}"));
    }
    command.args(["--die-with-parent", "--new-session", "--as-pid-1"]);
    if rustix::process::geteuid().is_root() {
        command.args(["--cap-drop", "ALL"]).args(KEPT.iter().flat_map(|name| ["--cap-add", name]));
    } else {
        command.arg("--unshare-user");
    }
    command.args(["--ro-bind", "/", "/"]);
    for op in ops {
        render(op, &empty, &mut command);
    }
    command.args(["--remount-ro", "/dev"]);
    command.args([
        OsStr::new("--ro-bind"),
        edt.as_os_str(),
        OsStr::new(EDT),
        OsStr::new("--remount-ro"),
        OsStr::new("/run"),
    ]);
    command.args(["--chdir", "/", "--", EDT, child::NAME]);
    Ok(command)
}

fn render(op: &Op, empty: &Path, command: &mut Command) {
    let path = |path: &super::wire::Bytes| -> OsString { path.path().into() };
    match op {
        Op::Processes => command.args(["--proc", "/proc"]),
        Op::Devices { room } => command.args([
            "--dev",
            "/dev",
            "--perms",
            "1777",
            "--size",
            &room.to_string(),
            "--tmpfs",
            "/dev/shm",
        ]),
        Op::Room { at, bytes, open } => {
            let mode = if *open { "1777" } else { "0755" };
            command.args(["--perms", mode, "--size", &bytes.to_string(), "--tmpfs"]).arg(path(at))
        }
        Op::Writable(at) => command.arg("--bind").arg(path(at)).arg(path(at)),
        Op::Fixed(at) => command.arg("--ro-bind").arg(path(at)).arg(path(at)),
        Op::NoFolder(at) => command.arg("--tmpfs").arg(path(at)).arg("--remount-ro").arg(path(at)),
        Op::NoFile(at) => command.arg("--ro-bind-try").arg(empty).arg(path(at)),
    };
}
