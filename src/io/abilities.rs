//! What the file system and the kernel can do here, tried out.

use std::io;
use std::path::Path;

use rustix::fs::{
    CWD, FlockOperation, Mode, OFlags, RenameFlags, ResolveFlags, flock, openat2, renameat_with,
};

use super::effect::{self, Effect};
use super::file::{File, Open};
use super::whole;

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
    whole::make_folder(&place)?;
    let tried = try_in(&place);
    let _ = whole::remove_folder(&place);
    tried
}

fn try_in(place: &Path) -> io::Result<Vec<Ability>> {
    let (a, b) = (place.join("a"), place.join("b"));
    whole::write(&a, b"a")?;
    whole::write(&b, b"b")?;
    effect::step(Effect::Rename, &a)?;
    let exchange = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
    let linked = whole::link(&a, &place.join("c"));
    let locked = flock(&File::open(&a, Open::There)?, FlockOperation::NonBlockingLockExclusive);
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
