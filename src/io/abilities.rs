//! What the file system and the kernel can do here, tried out.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, flock, openat2, renameat_with};

/// What was tried, and what the system said where it does not work.
#[derive(Debug)]
pub struct Ability {
    /// The system call.
    pub name: &'static str,
    /// Why it does not work.
    pub failed: Option<io::Error>,
}

/// Tries out, in a new folder inside `folder` that is removed again, what edt builds on.
///
/// # Errors
/// Whatever the system says if the folder cannot be written.
pub fn tried(folder: &Path) -> io::Result<Vec<Ability>> {
    let place = folder.join(format!("probe-{}", super::clock::process_id()));
    std::fs::create_dir_all(&place)?;
    let tried = try_in(&place);
    let _ = std::fs::remove_dir_all(&place);
    tried
}

fn try_in(place: &Path) -> io::Result<Vec<Ability>> {
    let (a, b) = (place.join("a"), place.join("b"));
    std::fs::write(&a, "a")?;
    std::fs::write(&b, "b")?;
    let exchange = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
    let linked = std::fs::hard_link(&a, place.join("c"));
    let locked = flock(&File::open(&a)?, FlockOperation::NonBlockingLockExclusive);
    let opened = openat2(CWD, place, OFlags::PATH, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
    Ok(vec![
        Ability { name: "RENAME_EXCHANGE", failed: exchange.err().map(Into::into) },
        Ability { name: "hard links", failed: linked.err() },
        Ability { name: "flock", failed: locked.err().map(Into::into) },
        Ability { name: "openat2", failed: opened.err().map(Into::into) },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let all = tried(dir.path()).unwrap();
        assert_eq!(
            all.iter().map(|one| one.name).collect::<Vec<_>>(),
            ["RENAME_EXCHANGE", "hard links", "flock", "openat2"]
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
