//! Starting: edt's side.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{getpid, set_child_subreaper};

use super::wire::{self, Bytes, Orders, Report, Spaces};
use super::{Means, NotStarted, Plan, Running, bubblewrap, layout, secrets, spaces, tree};
use crate::base::Level;
use crate::io::scratch::Scratch;

/// Starts a program with these standard streams (a pipe's end, a file, `/dev/null`). When this returns, the program runs.
///
/// # Errors
/// [`NotStarted`]: nothing of the program ran, and nothing is left.
pub fn start(
    plan: &Plan,
    stdin: impl Into<OwnedFd>,
    stdout: impl Into<OwnedFd>,
    stderr: impl Into<OwnedFd>,
) -> Result<Running, NotStarted> {
    begin(plan, &[stdin.into(), stdout.into(), stderr.into()])
}

fn begin(plan: &Plan, streams: &[OwnedFd; 3]) -> Result<Running, NotStarted> {
    // A program that kills its supervisor leaves its children to this process, not to the system.
    set_child_subreaper(Some(getpid()))?;
    let confined = plan.level > Level::Permissive;
    let scratch = if confined { Some(Scratch::outside(&plan.root)?) } else { None };
    let temporary = scratch.as_ref().map(|scratch| match plan.level {
        Level::Strict => PathBuf::from("/tmp"),
        _ => scratch.path().to_owned(),
    });
    let mut ops = Vec::new();
    let mut writable = Vec::new();
    if let Some(temporary) = &temporary {
        let layout = layout::of(plan, temporary)
            .map_err(|why| NotStarted::Unavailable { level: plan.level, why })?;
        (ops, writable) = (layout.ops, layout.writable);
    }
    let mut orders = Orders {
        level: plan.level,
        program: plan.program.as_os_str().into(),
        args: plan.args.iter().map(Bytes::from).collect(),
        dir: plan.dir.as_os_str().into(),
        env: environment(plan, temporary.as_deref()),
        spaces: Spaces::None,
        mounts: None,
        writable: wire::bytes_of(&writable),
        temporary: scratch.as_ref().map(|scratch| scratch.path().as_os_str().into()),
        limits: plan.limits,
    };
    let (by, command) = match plan.level {
        Level::Permissive => ("a session of its own, resource limits", edt(plan, &[])),
        Level::Standard if plan.means != Means::OwnWithoutSignals && spaces::signals_are_held() => {
            (orders.spaces, orders.mounts) = (Spaces::Mounts, Some(ops));
            ("namespaces, Landlock, seccomp", edt(plan, &[]))
        }
        // Kernels before 6.12 hold signals only by a namespace of processes.
        Level::Standard => {
            ops.insert(0, layout::Op::Processes);
            (orders.spaces, orders.mounts) = (Spaces::All, Some(ops));
            ("namespaces, Landlock, seccomp", edt(plan, &["spaces".as_ref(), "processes".as_ref()]))
        }
        Level::Strict => {
            orders.spaces = Spaces::All;
            let found = bubblewrap::find(plan.means)
                .map_err(|why| NotStarted::Unavailable { level: plan.level, why })?;
            if let Some(bwrap) = found {
                let command = bubblewrap::command(&bwrap, plan, &ops, scratch.as_ref())?;
                ("bubblewrap, Landlock, seccomp, limits", command)
            } else {
                orders.mounts = Some(ops);
                let command = edt(plan, &["spaces".as_ref(), "everything".as_ref()]);
                ("namespaces, Landlock, seccomp, limits", command)
            }
        }
    };
    launch(command, &orders, streams, scratch, by)
}

/// edt as a supervisor.
#[expect(clippy::disallowed_methods, reason = "the place that starts what `edt run` runs")]
fn edt(plan: &Plan, args: &[&OsStr]) -> Command {
    let mut command = Command::new(&plan.edt);
    command.arg(super::child::NAME).args(args);
    command
}

fn launch(
    mut command: Command,
    orders: &Orders,
    streams: &[OwnedFd; 3],
    scratch: Option<Scratch>,
    by: &'static str,
) -> Result<Running, NotStarted> {
    let (control, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
    // Nothing of the program's environment may act on what confines it.
    command.env_clear().stdin(theirs).stdout(Stdio::null());
    let loud = orders.spaces == Spaces::All;
    command.stderr(if loud { Stdio::piped() } else { Stdio::null() });
    let supervisor = command.spawn()?;
    drop(command);
    tree::note(supervisor.id());
    let mut running =
        Running { supervisor, control: Some(control), level: orders.level, by, scratch };
    let Some(control) = &running.control else {
        return Err(io::Error::from(io::ErrorKind::NotFound).into());
    };
    // Where the supervisor is gone already, its end says why.
    let _ = wire::send_orders(std::os::fd::AsFd::as_fd(control), orders, streams);
    let unavailable = |why| NotStarted::Unavailable { level: orders.level, why };
    let first = wire::next_report(control)?;
    let starting = matches!(first, Some(Report::Starting));
    match if starting { wire::next_report(control)? } else { first } {
        // A program that killed its supervisor at once did start.
        None if starting => Ok(running),
        Some(Report::Started) => {
            running.supervisor.stderr = None;
            Ok(running)
        }
        Some(Report::Unavailable(why)) => Err(unavailable(why)),
        Some(Report::NoProgram(number)) => {
            Err(NotStarted::Program(io::Error::from_raw_os_error(number)))
        }
        Some(Report::System(number)) => Err(io::Error::from_raw_os_error(number).into()),
        Some(Report::Starting | Report::Over(_)) => {
            Err(io::Error::from(io::ErrorKind::InvalidData).into())
        }
        None => Err(unavailable(what_it_said(&mut running))),
    }
}

/// What a supervisor said that ended before it answered.
fn what_it_said(running: &mut Running) -> String {
    let mut said = String::new();
    if let Some(mut errors) = running.supervisor.stderr.take() {
        let _ = io::Read::read_to_string(&mut errors, &mut said);
    }
    let said = said.trim();
    let status = running
        .supervisor
        .wait()
        .map_or_else(|error| error.to_string(), |status| status.to_string());
    if said.is_empty() {
        format!("The supervisor ended before the program started ({status}).")
    } else {
        format!("The supervisor ended before the program started ({status}): {said}.")
    }
}

/// The environment without what is withheld, and with the private temporary folder.
fn environment(plan: &Plan, temporary: Option<&Path>) -> Vec<(Bytes, Bytes)> {
    let Some(temporary) = temporary else {
        return plan.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    };
    let temporary_names = ["TMPDIR", "TMP", "TEMP"];
    let own = |name: &OsString| temporary_names.iter().any(|own| name == own);
    let kept =
        plan.env.iter().filter(|(name, value)| !own(name) && !secrets::is_secret(name, value));
    let mut env: Vec<(Bytes, Bytes)> =
        kept.map(|(name, value)| (name.into(), value.into())).collect();
    env.extend(temporary_names.map(|name| (name.into(), temporary.as_os_str().into())));
    env
}
