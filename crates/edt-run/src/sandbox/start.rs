//! Starting a program: the side of edt.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{getpid, set_child_subreaper};

use super::os_bytes::OsBytes;
use super::wire::{self, Namespaces, Orders, Outer, RecordedOrders, SupervisorReport};
use super::{
    NamespaceBackend, RunningProgram, SandboxPlan, StartError, bubblewrap, layout, namespaces, tree,
};
use edt_io::Environment;
use edt_io::scratch::Scratch;
use edt_types::Level;

/// Starts a program with these standard streams (a pipe, a file, `/dev/null`). On return it is
/// running.
///
/// # Errors
/// [`StartError`]: none of the program's code ran, and no process is left.
pub fn start(
    plan: &SandboxPlan,
    stdin: impl Into<OwnedFd>,
    stdout: impl Into<OwnedFd>,
    stderr: impl Into<OwnedFd>,
) -> Result<RunningProgram, StartError> {
    begin(plan, &[stdin.into(), stdout.into(), stderr.into()])
}

fn begin(plan: &SandboxPlan, streams: &[OwnedFd; 3]) -> Result<RunningProgram, StartError> {
    // If a program kills its supervisor, this process becomes the reaper of its children.
    set_child_subreaper(Some(getpid()))?;
    let confined = plan.level > Level::Permissive;
    let scratch =
        if confined { Some(Scratch::outside(Environment::Process, &plan.root)?) } else { None };
    let temporary = scratch.as_ref().map(|scratch| match plan.level {
        Level::Strict => PathBuf::from("/tmp"),
        _ => scratch.path().to_owned(),
    });
    let mut ops = Vec::new();
    let mut writable = Vec::new();
    if let Some(temporary) = &temporary {
        let layout = layout::of(plan, temporary)
            .map_err(|why| StartError::Unavailable { level: plan.level, why })?;
        (ops, writable) = (layout.ops, layout.writable);
    }
    let mut orders = Orders {
        level: plan.level,
        program: plan.program.as_os_str().into(),
        args: plan.args.iter().map(OsBytes::from).collect(),
        dir: plan.dir.as_os_str().into(),
        env: environment(plan, temporary.as_deref()),
        namespaces: Namespaces::None,
        mounts: None,
        writable: wire::bytes_of(&writable),
        temporary: scratch.as_ref().map(|scratch| scratch.path().as_os_str().into()),
        limits: plan.limits,
        recorded: None,
    };
    let outer = match &plan.recorded {
        Some(record) => {
            let excluded = plan.git.iter().map(|path| path.as_os_str().into()).collect();
            let root = plan.root.as_os_str().into();
            let named = record.names.as_ref().map(|names| names.named.clone());
            orders.recorded = Some(RecordedOrders { root, excluded, named });
            let open = |path: &Path| std::fs::File::open(path).map(OwnedFd::from);
            let names = record.names.as_ref().map(|names| names.socket.try_clone()).transpose()?;
            Some(Outer { root: open(&plan.root)?, store: open(&record.store)?, names })
        }
        None => None,
    };
    let (by, command) = match plan.level {
        Level::Permissive => ("a session of its own, resource limits", edt(plan, &[])),
        Level::Standard
            if plan.backend != NamespaceBackend::OwnWithoutSignals
                && namespaces::landlock_scopes_signals() =>
        {
            (orders.namespaces, orders.mounts) = (Namespaces::Mounts, Some(ops));
            ("namespaces, Landlock, seccomp", edt(plan, &[]))
        }
        // Before Linux 6.12 only a PID namespace restricts signals.
        Level::Standard => {
            ops.insert(0, layout::MountOp::Processes);
            (orders.namespaces, orders.mounts) = (Namespaces::All, Some(ops));
            (
                "namespaces, Landlock, seccomp",
                edt(plan, &["namespaces".as_ref(), "processes".as_ref()]),
            )
        }
        Level::Strict => {
            orders.namespaces = Namespaces::All;
            let found = bubblewrap::find(plan.backend)
                .map_err(|why| StartError::Unavailable { level: plan.level, why })?;
            if let Some(bwrap) = found {
                let command = bubblewrap::command(&bwrap, plan, &ops, scratch.as_ref())?;
                ("bubblewrap, Landlock, seccomp, limits", command)
            } else {
                orders.mounts = Some(ops);
                let command = edt(plan, &["namespaces".as_ref(), "everything".as_ref()]);
                ("namespaces, Landlock, seccomp, limits", command)
            }
        }
    };
    launch(command, &orders, streams, outer.as_ref(), scratch, by)
}

/// The command that starts edt as a supervisor.
#[expect(clippy::disallowed_methods, reason = "the place that starts what `edt run` runs")]
fn edt(plan: &SandboxPlan, args: &[&OsStr]) -> Command {
    let mut command = Command::new(&plan.edt);
    command.arg(super::reexec::SUPERVISOR_ARGUMENT).args(args);
    command
}

fn launch(
    mut command: Command,
    orders: &Orders,
    streams: &[OwnedFd; 3],
    outer: Option<&Outer>,
    scratch: Option<Scratch>,
    by: &'static str,
) -> Result<RunningProgram, StartError> {
    let (control, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
    // The program's environment must not affect the supervisor.
    command.env_clear().stdin(theirs).stdout(Stdio::null());
    let wrapped = orders.namespaces == Namespaces::All;
    command.stderr(if wrapped { Stdio::piped() } else { Stdio::null() });
    if wrapped {
        // A signal to edt's process group (Ctrl-C) must not end the process around the supervisor:
        // the program would be killed with it. Other supervisors make a session of their own.
        command.process_group(0);
    }
    let supervisor = command.spawn()?;
    drop(command);
    tree::register(supervisor.id());
    let mut running = RunningProgram {
        supervisor,
        control: Some(control),
        level: orders.level,
        by,
        scratch,
        listener: None,
    };
    let Some(control) = &running.control else {
        return Err(io::Error::from(io::ErrorKind::NotFound).into());
    };
    // If the supervisor has already ended, its exit status explains why.
    let _ = wire::send_orders(std::os::fd::AsFd::as_fd(control), orders, streams, outer);
    let unavailable = |why| StartError::Unavailable { level: orders.level, why };
    let (first, listener) = wire::next_report(control)?.unzip();
    running.listener = listener.flatten();
    let starting = matches!(first, Some(SupervisorReport::Starting));
    let next = || Ok::<_, io::Error>(wire::next_report(control)?.map(|(report, _)| report));
    match if starting { next()? } else { first } {
        // The program started, and killed its supervisor immediately.
        None if starting => Ok(running),
        Some(SupervisorReport::Started) => {
            running.supervisor.stderr = None;
            Ok(running)
        }
        Some(SupervisorReport::Unavailable(why)) => Err(unavailable(why)),
        Some(SupervisorReport::NoProgram(number)) => {
            Err(StartError::Program(io::Error::from_raw_os_error(number)))
        }
        Some(SupervisorReport::System(number)) => Err(io::Error::from_raw_os_error(number).into()),
        Some(SupervisorReport::Starting | SupervisorReport::Ended(_)) => {
            Err(io::Error::from(io::ErrorKind::InvalidData).into())
        }
        None => Err(unavailable(supervisor_stderr(&mut running))),
    }
}

/// The errors of a supervisor that ended before it reported.
fn supervisor_stderr(running: &mut RunningProgram) -> String {
    let mut text = String::new();
    if let Some(mut errors) = running.supervisor.stderr.take() {
        let _ = io::Read::read_to_string(&mut errors, &mut text);
    }
    let text = text.trim();
    let status = running
        .supervisor
        .wait()
        .map_or_else(|error| error.to_string(), |status| status.to_string());
    if text.is_empty() {
        format!("The supervisor ended before the program started ({status}).")
    } else {
        format!("The supervisor ended before the program started ({status}): {text}.")
    }
}

/// The environment without withheld variables, and with the private temporary directory.
fn environment(plan: &SandboxPlan, temporary: Option<&Path>) -> Vec<(OsBytes, OsBytes)> {
    let Some(temporary) = temporary else {
        return plan.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    };
    let temporary_names = ["TMPDIR", "TMP", "TEMP"];
    let own = |name: &OsString| temporary_names.iter().any(|own| name == own);
    let kept =
        plan.env.iter().filter(|(name, value)| !own(name) && plan.variables.pass(name, value));
    let mut env: Vec<(OsBytes, OsBytes)> =
        kept.map(|(name, value)| (name.into(), value.into())).collect();
    env.extend(temporary_names.map(|name| (name.into(), temporary.as_os_str().into())));
    env
}
