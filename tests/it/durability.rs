//! What is waited for before an edit is answered, counted from outside.

use std::process::Stdio;

use crate::world::{EDT, World};

/// How often an edit under `args` waits: for a file, and for a whole file system.
fn waits(world: &World, text: &str, args: &[&str]) -> (usize, usize) {
    let log = world.home.join("trace");
    let mut command = world.command("strace");
    command
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync,syncfs,sync_file_range,msync,sync", "-o"])
        .arg(&log)
        .arg(EDT);
    command.args(["apply", "a.txt", "--mode", "overwrite", "--content", text]).args(args);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    let count = |name: &str| trace.lines().filter(|line| line.contains(name)).count();
    // After a checkpoint an edit also syncs the index that it replaces.
    ((count("fdatasync(") + count("fsync(")).min(1), count("syncfs("))
}

fn world(policy: Option<&str>) -> World {
    let world = World::with(&[("a.txt", b"one\n")]);
    if let Some(policy) = policy {
        world.commit(&[("edt.toml", policy.as_bytes())]);
    }
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "two\n");
    world
}

#[test]
fn an_edit_waits_for_one_record_for_everything_or_for_nothing() {
    if !crate::crash::has_strace() {
        return;
    }
    let world = world(None);
    assert_eq!(waits(&world, "3\n", &[]), (1, 0));
    assert_eq!(waits(&world, "4\n", &["--durability", "journal"]), (1, 0));
    assert_eq!(waits(&world, "5\n", &["--durability", "full"]), (1, 2));
    world.overwrite("a.txt", "an edit after the checkpoint\n");
    assert_eq!(waits(&world, "6\n", &["--durability", "off"]), (0, 0));
    for (value, expected) in [
        ("all", (1, 2)),
        ("committed", (1, 2)),
        ("none", (0, 0)),
        ("default", (1, 0)),
        ("pack", (1, 0)),
    ] {
        world.git(&["config", "core.fsync", "default"]);
        world.overwrite("a.txt", &format!("before {value}\n"));
        world.git(&["config", "core.fsync", value]);
        assert_eq!(waits(&world, &format!("{value}\n"), &[]), expected, "core.fsync={value}");
    }
    world.git(&["config", "core.fsync", "none"]);
    assert_eq!(
        waits(&world, "7\n", &["--durability", "journal"]),
        (1, 0),
        "the flag comes before Git's configuration"
    );
    world.is_clean();
    world.is_sound();
}

#[test]
fn the_policy_is_a_floor_under_flag_and_configuration() {
    if !crate::crash::has_strace() {
        return;
    }
    let world = world(Some("[session]\ndurability = \"full\"\n"));
    assert_eq!(waits(&world, "3\n", &[]).1, 2);
    assert_eq!(waits(&world, "4\n", &["--durability", "off"]).1, 2);
    // The person's file may ask for more than the repository's, and for no less.
    std::fs::create_dir_all(world.home.join(".config/edt")).unwrap();
    std::fs::write(world.home.join(".config/edt/edt.toml"), "[session]\ndurability = \"off\"\n")
        .unwrap();
    assert_eq!(waits(&world, "5\n", &[]).1, 2);
}

#[test]
fn a_level_that_there_is_not_is_refused() {
    let world = world(None);
    let answer = world.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--content", "x", "--durability", "sometimes"],
    );
    assert!(answer.message().contains("off, journal, full"), "{}", answer.message());
    world.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    world.edt(&["abandon"]);
    world.git(&["switch", "--quiet", "-C", "other"]);
    world.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    world.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--mode", "overwrite", "--content", "x\n"],
    );
}
