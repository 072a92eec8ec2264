//! Namespaces created by bubblewrap, which may be privileged to create them where edt is not.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::layout::MountOp;
use super::{NamespaceBackend, SandboxPlan, StartError, reexec};
use edt_io::scratch::Scratch;

/// Where bubblewrap is searched for. `PATH` is not used, because the caller controls it.
const PLACES: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The path of the edt executable inside the sandbox.
const EDT_INSIDE: &str = "/run/edt";

/// The capabilities that root keeps until the supervisor drops them.
const KEPT_CAPABILITIES: &[&str] = &["CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETPCAP"];

/// The bubblewrap executable to use, if any.
pub(super) fn find(backend: NamespaceBackend) -> Result<Option<PathBuf>, String> {
    let owned_by_root = |path: &&&str| {
        let meta = Path::new(path).metadata();
        meta.is_ok_and(|meta| {
            meta.uid() == 0 && meta.is_file() && meta.permissions().mode() & 0o022 == 0
        })
    };
    let found = || PLACES.iter().find(owned_by_root).map(PathBuf::from);
    match backend {
        NamespaceBackend::Own | NamespaceBackend::OwnWithoutSignals => Ok(None),
        NamespaceBackend::Any => Ok(found()),
        NamespaceBackend::Bubblewrap => found().map(Some).ok_or_else(|| {
            format!(
                "Bubblewrap is not installed: none of {} is a file owned by root. Install the \
                 package bubblewrap.",
                PLACES.join(", ")
            )
        }),
    }
}

/// The bubblewrap command with the plan's layout and the supervisor as the first process.
#[expect(clippy::disallowed_methods, reason = "the place that starts what `edt run` runs")]
pub(super) fn command(
    bwrap: &Path,
    plan: &SandboxPlan,
    ops: &[MountOp],
    scratch: Option<&Scratch>,
) -> Result<Command, StartError> {
    let edt = if plan.edt == Path::new("/proc/self/exe") {
        edt_io::environment::current_program()?
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
        command
            .args(["--cap-drop", "ALL"])
            .args(KEPT_CAPABILITIES.iter().flat_map(|name| ["--cap-add", name]));
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
        OsStr::new(EDT_INSIDE),
        OsStr::new("--remount-ro"),
        OsStr::new("/run"),
    ]);
    command.args(["--chdir", "/", "--", EDT_INSIDE, reexec::SUPERVISOR_ARGUMENT]);
    Ok(command)
}

fn render(op: &MountOp, empty: &Path, command: &mut Command) {
    let path = |path: &super::os_bytes::OsBytes| -> OsString { path.path().into() };
    match op {
        MountOp::Processes => command.args(["--proc", "/proc"]),
        MountOp::Devices { shm_bytes } => command.args([
            "--dev",
            "/dev",
            "--perms",
            "1777",
            "--size",
            &shm_bytes.to_string(),
            "--tmpfs",
            "/dev/shm",
        ]),
        MountOp::Tmpfs { at, bytes, writable } => {
            let mode = if *writable { "1777" } else { "0755" };
            command.args(["--perms", mode, "--size", &bytes.to_string(), "--tmpfs"]).arg(path(at))
        }
        MountOp::Writable(at) => command.arg("--bind").arg(path(at)).arg(path(at)),
        MountOp::ReadOnly(at) => command.arg("--ro-bind").arg(path(at)).arg(path(at)),
        MountOp::EmptyDirectory(at) => {
            command.arg("--tmpfs").arg(path(at)).arg("--remount-ro").arg(path(at))
        }
        MountOp::EmptyFile(at) => command.arg("--ro-bind-try").arg(empty).arg(path(at)),
    };
}
