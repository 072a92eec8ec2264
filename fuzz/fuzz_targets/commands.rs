#![no_main]
//! Any script of a shell: it is judged in bounded time, and what is denied stays denied after a
//! harmless command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use edt_command::{CommandPolicy, CommandQuery, Decision, Host};
use edt_types::Level;
use libfuzzer_sys::fuzz_target;

/// A machine on which each name of `/usr/bin` is a program.
struct Machine;

impl Host for Machine {
    fn path_directories(&self) -> Vec<PathBuf> {
        vec!["/usr/bin".into()]
    }

    fn is_executable(&self, path: &Path) -> bool {
        path.parent() == Some(Path::new("/usr/bin"))
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn directory_entries(&self, _: &Path) -> Vec<String> {
        Vec::new()
    }

    fn home_directory(&self) -> Option<PathBuf> {
        Some("/home/user".into())
    }
}

fn decision(script: &[u8]) -> Decision {
    let args: [OsString; 2] = ["-c".into(), OsStr::from_bytes(script).to_owned()];
    let query = CommandQuery {
        program: OsStr::new("sh"),
        args: &args,
        dir: Path::new("/work"),
        root: Path::new("/work"),
        env: &[],
        level: Level::Standard,
    };
    CommandPolicy::default().evaluate(&query, &Machine).decision
}

fuzz_target!(|data: &[u8]| {
    if data.contains(&0) {
        return;
    }
    let alone = decision(data);
    let after = decision(&[b"true\n".as_slice(), data].concat());
    assert!(alone != Decision::Deny || after == Decision::Deny, "{after:?} after another command");
});
