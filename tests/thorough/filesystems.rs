//! Power cuts on real file systems: a session runs on a disk that records every write and flush,
//! the power goes at a random event, a *user* acts first, and then edt is called.
//!
//! Needs root, loop devices, FUSE and the programs that make the file systems; prints what it skips
//! without them. `EDT_FILESYSTEMS_SECONDS` is the time for each row in the tier `all`,
//! `EDT_FILESYSTEMS_OTHER` another edt that is put through the same, `EDT_FILESYSTEMS_REFS` the
//! format of the refs (`reftable`), and `EDT_FILESYSTEMS_WORKTREE=linked` makes the sessions in a
//! linked worktree.

#[path = "filesystems/judge.rs"]
mod judge;
#[path = "filesystems/mounts.rs"]
mod mounts;
#[path = "filesystems/recorder.rs"]
mod recorder;
#[path = "filesystems/session.rs"]
mod session;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use edt_testkit::{Progress, Tier, tier};

use crate::rng::Dice;
use crate::test_repo::{EDT, TestRepo};
use judge::Judged;
use mounts::{Mounted, command, quiet};
use recorder::{Blocks, Keep};
use session::Who;

/// Cuts of one recorded session.
const CUTS: u64 = 16;

/// A file system to test on.
pub(crate) struct Kind {
    name: &'static str,
    make: &'static [&'static str],
    megabytes: u64,
    options: &'static str,
    /// Whether its own repair must run before it is mounted, as every boot does.
    repair: bool,
    /// The program that says whether it is damaged.
    check: &'static [&'static str],
    overlay: bool,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "ext4 data=ordered",
        make: &["mkfs.ext4", "-q", "-F"],
        megabytes: 64,
        options: "data=ordered",
        repair: false,
        check: &["e2fsck", "-f", "-n"],
        overlay: false,
    },
    Kind {
        name: "ext4 without journal",
        make: &["mkfs.ext4", "-q", "-F", "-O", "^has_journal"],
        megabytes: 64,
        options: "defaults",
        repair: true,
        check: &["e2fsck", "-f", "-n"],
        overlay: false,
    },
    Kind {
        name: "xfs",
        make: &["mkfs.xfs", "-q", "-f"],
        megabytes: 320,
        options: "nouuid",
        repair: false,
        check: &["xfs_repair", "-n"],
        overlay: false,
    },
    Kind {
        name: "btrfs",
        make: &["mkfs.btrfs", "-q", "-f"],
        megabytes: 160,
        options: "defaults",
        repair: false,
        check: &["btrfs", "check", "--readonly"],
        overlay: false,
    },
    Kind {
        name: "overlayfs on ext4",
        make: &["mkfs.ext4", "-q", "-F"],
        megabytes: 64,
        options: "data=ordered",
        repair: false,
        check: &["e2fsck", "-f", "-n"],
        overlay: true,
    },
];

/// A scratch directory with places for images and mounts.
struct Place {
    workspace: TestRepo,
    dir: PathBuf,
}

impl Place {
    fn new() -> Place {
        let workspace = TestRepo::bare_directory();
        let dir = workspace.root.parent().unwrap().to_owned();
        Place { workspace, dir }
    }

    fn of(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Mounts an image; returns it with the repository in it.
    fn mount(&self, kind: &Kind, image: &Path) -> Result<(Mounted, TestRepo), String> {
        let at = self.of("mnt");
        let mut mounted = Mounted::new(image, &at, kind.options)?;
        if !kind.overlay {
            return Ok((mounted, self.workspace.at(at.join("repo"))));
        }
        let above = self.of("overlay");
        for name in ["lower", "upper", "work"] {
            std::fs::create_dir_all(at.join(name)).unwrap();
        }
        if !mounted.overlay(&above) {
            return Err("overlayfs cannot be mounted".to_owned());
        }
        Ok((mounted, self.workspace.at(above.join("repo"))))
    }

    /// The disk before the sessions.
    fn base(&self, kind: &Kind, who: &Who) -> Result<Blocks, String> {
        let image = self.of("base.img");
        std::fs::File::create(&image).unwrap().set_len(kind.megabytes << 20).unwrap();
        let made = command(kind.make[0]).args(&kind.make[1..]).arg(&image).output().unwrap();
        if !made.status.success() {
            return Err(format!("{}: {}", kind.make[0], String::from_utf8_lossy(&made.stderr)));
        }
        if kind.overlay {
            let mounted = Mounted::new(&image, &self.of("mnt"), kind.options)?;
            session::prepare(&self.workspace.at(self.of("mnt/lower/repo")));
            drop(mounted);
        }
        let (mounted, repo) = self.mount(kind, &image)?;
        if !kind.overlay {
            session::prepare(&repo);
        }
        session::begin(&repo, who);
        drop(mounted);
        let blocks = Blocks::of(&image);
        std::fs::remove_file(image).unwrap();
        Ok(blocks)
    }
}

impl Place {
    /// Whether the file system itself is damaged, as its own check says after a mount.
    fn damaged(&self, kind: &Kind, disk: &Blocks) -> bool {
        if kind.repair {
            return false;
        }
        let image = self.of("check.img");
        disk.save(&image);
        let mounted = Mounted::new(&image, &self.of("mnt"), kind.options);
        let broken = mounted.is_err();
        drop(mounted);
        let sound = quiet(command(kind.check[0]).args(&kind.check[1..]).arg(&image));
        std::fs::remove_file(image).unwrap();
        broken || !sound
    }
}

/// What happened in all cuts of one row.
#[derive(Default)]
struct Figures {
    sessions: usize,
    cuts: usize,
    unmountable: usize,
    /// Cuts after which the file system's own check finds damage: nothing is promised there.
    damaged: usize,
    counts: BTreeMap<String, usize>,
    bad: BTreeMap<String, Vec<String>>,
}

impl Figures {
    fn line(&self) -> String {
        let mut line = format!("{} sessions, {} cuts", self.sessions, self.cuts);
        let bad: std::collections::BTreeSet<&String> = self.bad.values().flatten().collect();
        let bad = bad.len();
        write!(line, ", bad {bad}, unmountable {}", self.unmountable).unwrap();
        write!(line, ", file system damaged {}", self.damaged).unwrap();
        for (what, count) in &self.counts {
            write!(line, "; {what}: {count}").unwrap();
        }
        line
    }
}

/// Sessions on `kind` by `who`, for so long.
fn torture(kind: &Kind, who: &Who, time: Duration) -> Option<Figures> {
    let place = Place::new();
    let base = match place.base(kind, who) {
        Ok(base) => base,
        Err(error) => {
            println!("skipped: {}: {}", kind.name, error.trim());
            return None;
        }
    };
    let begun = Instant::now();
    let seed = std::env::var("EDT_RANDOM_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed: u64 = seed.unwrap_or_else(now);
    let mut figures = Figures::default();
    for round in 0.. {
        if begun.elapsed() >= time {
            break;
        }
        let mut dice = Dice::new(seed.wrapping_add(round * 1_000_003));
        // A panic is one bad case: the others still count.
        let played = catch(|| session::play(&place, kind, &base, who, &mut dice));
        let Some(played) = played else {
            let name = format!("seed {seed} round {round}");
            figures.bad.entry("a step of the session fails".to_owned()).or_default().push(name);
            continue;
        };
        let Some(played) = played else {
            println!("skipped: {}: the recording disk cannot be mounted", kind.name);
            return None;
        };
        figures.sessions += 1;
        for (what, count) in played.recorder.counts() {
            *figures.counts.entry(what.to_owned()).or_default() += count;
        }
        for number in (0..CUTS).take_while(|_| begun.elapsed() < time) {
            let cut = played.position(&mut dice);
            let position = cut.position;
            let keep = *dice.pick(&[Keep::All, Keep::None, Keep::Some, Keep::Some, Keep::ButOne]);
            let image = place.of("cut.img");
            let disk = played.recorder.cut(position, keep, &mut dice);
            disk.save(&image);
            if kind.repair {
                quiet(command("e2fsck").args(["-f", "-y"]).arg(&image));
            }
            let name = format!("seed {seed} round {round} cut {number} at {position} {keep:?}");
            let judged = catch(|| judge::judge(&place, kind, &image, who, &played, cut, &mut dice))
                .unwrap_or_else(|| Ok(Judged::of_panic()));
            std::fs::remove_file(&image).unwrap();
            match judged {
                Err(error) => {
                    figures.unmountable += 1;
                    if figures.unmountable < 4 {
                        eprintln!("{}: {name}: {}", kind.name, error.trim());
                    }
                }
                Ok(judged) if !judged.faults.is_empty() && place.damaged(kind, &disk) => {
                    eprintln!("{}: {name}: file system damaged: {:?}", kind.name, judged.faults);
                    figures.damaged += 1;
                }
                Ok(judged) => {
                    figures.cuts += 1;
                    for what in judged.counts {
                        *figures.counts.entry(what).or_default() += 1;
                    }
                    if !judged.faults.is_empty() {
                        keep_disk(who, &disk, &name);
                    }
                    for fault in judged.faults {
                        eprintln!("{}: {}: {name}: {fault}", kind.name, who.name());
                        figures.bad.entry(fault).or_default().push(name.clone());
                    }
                }
            }
        }
    }
    Some(figures)
}

fn catch<T>(run: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}

/// Keeps the disk of a bad cut of this edt where `EDT_FILESYSTEMS_KEEP` says.
fn keep_disk(who: &Who, disk: &Blocks, name: &str) {
    if let (Who::Edt(_), Some(directory)) = (who, std::env::var_os("EDT_FILESYSTEMS_KEEP")) {
        disk.save(&PathBuf::from(directory).join(name.replace(' ', "-") + ".img"));
    }
}

fn survives(number: usize) {
    let kind = &KINDS[number];
    if !rustix::process::geteuid().is_root() {
        println!("skipped: {}: only root can mount", kind.name);
        return;
    }
    let seconds = std::env::var("EDT_FILESYSTEMS_SECONDS").ok().and_then(|text| text.parse().ok());
    if tier() != Tier::All {
        println!("skipped: only in the tier `all`");
        return;
    }
    let whole = Duration::from_secs(seconds.unwrap_or(300));
    let mut all = vec![Who::Edt(PathBuf::from(EDT))];
    all.extend(std::env::var_os("EDT_FILESYSTEMS_OTHER").map(|path| Who::Other(path.into())));
    all.push(Who::Git);
    let mut bad = Vec::new();
    for who in &all {
        let progress = Progress::start();
        let time = if matches!(who, Who::Edt(_)) { whole } else { whole / 12 };
        let Some(figures) = torture(kind, who, time) else { return };
        let name = format!("{} {}: {}", kind.name, who.name(), figures.line());
        progress.done("filesystems", &name, figures.cuts);
        // Without a journal even synced names and directories may be lost: only counted.
        if matches!(who, Who::Edt(_)) && !kind.repair {
            bad.extend(figures.bad);
        }
    }
    let shown = bad.iter().map(|(fault, cuts)| format!("{} × {fault}\n  {}", cuts.len(), cuts[0]));
    let shown: Vec<String> = shown.collect();
    assert!(shown.is_empty(), "{}:\n{}", kind.name, shown.join("\n"));
}

#[test]
fn power_cuts_on_ext4() {
    survives(0);
}

#[test]
fn power_cuts_on_ext4_without_journal() {
    survives(1);
}

#[test]
fn power_cuts_on_xfs() {
    survives(2);
}

#[test]
fn power_cuts_on_btrfs() {
    survives(3);
}

#[test]
fn power_cuts_on_overlayfs() {
    survives(4);
}
