//! The accounts of this machine, as `/etc/passwd` lists them. Accounts of directory services are
//! not in it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const TABLE: &str = "/etc/passwd";

/// The most bytes of the table in which this account is looked for.
const MOST: usize = 64 * 1024;

/// The table of accounts (passwd(5)); empty if it cannot be read.
#[must_use]
pub fn table() -> String {
    std::fs::read_to_string(TABLE).unwrap_or_default()
}

/// The user ids and home directories of `table`.
pub fn homes(table: &str) -> impl Iterator<Item = (u32, &Path)> {
    table.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (user, home) = (fields.nth(2)?.parse().ok()?, fields.nth(2)?);
        Some((user, Path::new(home)))
    })
}

/// The home directory of the account whose rights this process has, whatever `HOME` says; `None`
/// if the table does not name one. It is read once.
#[must_use]
pub fn home() -> Option<&'static Path> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let read = || {
        let me = rustix::process::geteuid().as_raw();
        let mut table = Vec::with_capacity(MOST);
        File::open(TABLE).and_then(|file| file.take(MOST as u64).read_to_end(&mut table)).ok()?;
        let table = String::from_utf8_lossy(&table);
        let home = homes(&table).find(|(user, _)| *user == me)?.1;
        (home.is_absolute() && home != Path::new("/")).then(|| home.to_owned())
    };
    HOME.get_or_init(read).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_the_sixth_fields() {
        let table = "root:x:0:0:root:/root:/bin/bash\nbroken:x\nme:x:1000:1000:,,:/home/me:\n";
        let expected = [(0, Path::new("/root")), (1000, Path::new("/home/me"))];
        assert_eq!(homes(table).collect::<Vec<_>>(), expected);
    }
}
