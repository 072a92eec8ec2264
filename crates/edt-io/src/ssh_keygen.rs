//! Signatures by `ssh-keygen` with a key of the user's.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::effect::{self, SideEffect};
use super::scratch::Scratch;
use super::{Environment, failed, programs, spawn};
use edt_types::{Code, Finding, Result};

/// Where `ssh-keygen` is looked for. `PATH` does not count: who sets it would decide which
/// signature is valid.
const PLACES: [&str; 5] =
    ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin"];

/// The signature of `text` with the private key of `key`, in the armor of `ssh-keygen -Y sign`;
/// `None` if `ssh-keygen` made none. It asks for a passphrase or a touch on the terminal.
///
/// # Errors
/// `PROGRAM_NOT_FOUND`; `IO_ERROR` if it could not be started.
pub fn sign(
    environment: Environment,
    key: &Path,
    namespace: &str,
    text: &str,
) -> Result<Option<String>> {
    let program = program(&PLACES)?;
    let mut command = spawn::command(environment, &program, Path::new("/"), &[]);
    command.args(["-Y", "sign", "-n", namespace, "-f"]).arg(key).stderr(Stdio::inherit());
    let done = run(command, text).map_err(|error| failed("run", &program, &error))?;
    let armored = String::from_utf8(done.stdout).ok();
    Ok(armored.filter(|text| done.status.success() && !text.is_empty()))
}

/// Whether `signature` is one of `text` by `public_key`, which is a line of a public key's file.
///
/// # Errors
/// `PROGRAM_NOT_FOUND`; `IO_ERROR` if it could not be started, or given its files.
pub fn verifies(public_key: &str, namespace: &str, text: &str, signature: &str) -> Result<bool> {
    let program = program(&PLACES)?;
    let check = || {
        let files = Scratch::outside(Environment::Isolated, Path::new("/proc"))?;
        let signers = files.put(b"signers", format!("edt {public_key}\n").as_bytes())?;
        let signature = files.put(b"signature", signature.as_bytes())?;
        let mut command = spawn::command(Environment::Isolated, &program, files.path(), &[]);
        command.args(["-Y", "verify", "-I", "edt", "-n", namespace, "-f"]).arg(signers);
        command.arg("-s").arg(signature);
        run(command, text)
    };
    let done = check().map_err(|error| failed("run", &program, &error))?;
    Ok(done.status.success())
}

fn program(places: &[&str]) -> Result<PathBuf> {
    let all = places.iter().map(|place| Path::new(place).join("ssh-keygen"));
    let found = all.into_iter().find(|path| programs::is_executable(path));
    Ok(found.ok_or_else(|| {
        Finding::new(
            Code::ProgramNotFound,
            format!("There is no ssh-keygen in {}.", places.join(", ")),
            "Install OpenSSH (8.2 or newer), which signs approvals and checks their signatures.",
        )
    })?)
}

/// Runs `command` with `text`, which is short, on its standard input.
fn run(mut command: Command, text: &str) -> io::Result<Output> {
    effect::step(SideEffect::Start, Path::new("ssh-keygen"))?;
    let mut child = command.spawn()?;
    // A program that ends early says so by its status.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(text.as_bytes()));
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_places() {
        let found = program(&["/none", "/etc"]).unwrap_err().into_vec().remove(0);
        let summary = "There is no ssh-keygen in /none, /etc.";
        assert_eq!((found.code, found.summary.as_str()), (Code::ProgramNotFound, summary));
    }
}
