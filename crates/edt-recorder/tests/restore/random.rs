//! Random calls, reverted, and their earlier versions compared with what was there.

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use edt_recorder::event::Place;
use edt_recorder::{Before, RecordedRun};

use crate::scene::Scene;
use crate::snapshot::{Snapshot, difference, snapshot};

/// What is at each path, as far as a version has it: kind, permissions, content.
fn contents(root: &Path) -> Vec<(PathBuf, String)> {
    let describe = |path: &Path| describe(&root.join(path)).unwrap();
    snapshot(root).into_keys().map(|path| (path.clone(), describe(&path))).collect()
}

fn describe(path: &Path) -> Option<String> {
    let stat = path.symlink_metadata().ok()?;
    let mode = stat.permissions().mode() & 0o7777;
    Some(if stat.is_symlink() {
        format!("-> {}", std::fs::read_link(path).unwrap().display())
    } else if stat.is_dir() {
        format!("{mode:o} directory")
    } else if stat.is_file() {
        format!("{mode:o} {}", String::from_utf8_lossy(&std::fs::read(path).unwrap()))
    } else {
        "special".to_owned()
    })
}

fn version(run: &RecordedRun, root: &Path, before: &Before) -> Option<String> {
    Some(match before {
        Before::Missing => return None,
        Before::Directory(attributes) => format!("{:o} directory", attributes.mode),
        Before::Special => "special".to_owned(),
        Before::Link(target) => format!("-> {}", String::from_utf8_lossy(target)),
        Before::File { attributes, kept } => {
            let mut bytes = Vec::new();
            run.open_kept(kept).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
            format!("{:o} {}", attributes.mode, String::from_utf8_lossy(&bytes))
        }
        Before::Same { now, attributes } => {
            let path = match now {
                Place::Tree(path) => root.join(std::ffi::OsStr::from_bytes(path)),
                Place::Outside(path) => std::ffi::OsStr::from_bytes(path).into(),
                Place::Stored(_) => panic!("{now:?}"),
            };
            let found = describe(&path)?;
            match attributes {
                Some(then) if !found.starts_with("->") && found != "special" => {
                    format!("{:o} {}", then.mode, found.split_once(' ').unwrap().1)
                }
                _ => found,
            }
        }
    })
}

fn check(seed: u32, calls: u32) -> Result<(), String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/restore/random.py");
    let scene = Scene::of(
        "mkdir -p a/a b/c; for f in a/a/a a/b b/a b/c/b c; do echo $f > $f; done; ln c a/c; \
         ln -s a/b b/b; ln b/a $OUTSIDE/b; mkdir $OUTSIDE/a; echo o > $OUTSIDE/a/a; \
         mkfifo a/a/c",
    );
    let root = scene.root();
    let (was, versions) = (snapshot(&root), contents(&root));
    let done = scene.run(&format!("python3 {script} {seed} {calls}"));
    let events = || -> String { done.run.events().map(|event| format!("\n{event:?}")).collect() };
    let context = |what: &str| format!("seed {seed}, {calls} calls: {what}{}", events());
    let touched = done.run.touched(&root).map_err(|error| context(&error.to_string()))?;
    let now = snapshot(&root);
    for (path, version_then) in &versions {
        let same = now.get(path) == was.get(path);
        let key = path.as_os_str().as_bytes();
        let Some(one) = touched.get(key) else {
            // A further name of an inode that was written has no events of its own.
            let before = done.run.before(&root, key).unwrap();
            let found = version(&done.run, &root, &before);
            if found.as_ref() != Some(version_then) {
                return Err(context(&format!("{} is not touched: {found:?}", path.display())));
            }
            continue;
        };
        let found = version(&done.run, &root, &one.before);
        if found.as_ref() != Some(version_then) && !path.as_os_str().is_empty() {
            let text = format!("{} was {version_then:?}, not {found:?} ({same})", path.display());
            return Err(context(&text));
        }
        if one.foreign {
            return Err(context(&format!("{} is foreign", path.display())));
        }
    }
    for (path, one) in &touched {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let found = version(&done.run, &root, &one.before);
        if !was.contains_key(path) && found.is_some() {
            return Err(context(&format!("{} was nothing, not {found:?}", path.display())));
        }
    }
    let unlisted = |path: &&PathBuf| !touched.contains_key(path.as_os_str().as_bytes());
    if let Some(path) = now.keys().filter(|path| !was.contains_key(*path)).find(unlisted) {
        return Err(context(&format!("{} is new and not touched", path.display())));
    }
    let restoration = scene.restore();
    let different = difference(&was, &normal(snapshot(&root)));
    if different.is_empty() && restoration.left.is_empty() {
        return Ok(());
    }
    Err(context(&format!("{different}{restoration:?}")))
}

fn normal(snapshot: Snapshot) -> Snapshot {
    snapshot
}

#[test]
fn random_calls_are_reverted() {
    let from: u32 = std::env::var("EDT_SEED").map_or(0, |seed| seed.parse().unwrap());
    let count: u32 = std::env::var("EDT_SEEDS").map_or(10, |count| count.parse().unwrap());
    let mut failed = Vec::new();
    for seed in from..from + count {
        // Few calls make the shortest failures.
        for calls in [12, 150] {
            failed.extend(check(seed, calls).err());
        }
    }
    let shown = failed.first().cloned().unwrap_or_default();
    assert!(failed.is_empty(), "{} failed; {shown}", failed.len());
}
