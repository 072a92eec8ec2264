//! Content counts per inode, names per path: hard links, moves out and back, exchanges, unnamed
//! files, maps.

use crate::scene::comes_back;

const LINKED: &str = "echo one > a; ln a b; echo un > un; mkdir d; echo deep > d/f; ln d/f deep; \
    touch -d 2020-01-01T00:00:00 a un d/f";

#[test]
fn an_inode_with_two_names_is_as_before() {
    for script in [
        "echo two >> b",
        "rm a; echo two >> b",
        "echo two >> b; rm a b",
        "rm a; rm b",
        "ln un k; echo two >> k; rm un; mv k a",
        "mv a x; echo 1 > x; ln x y; rm x; mv y un",
        "ln a b2; echo more >> b2; rm b; ln un b",
        "rm deep; mv d e; echo x > e/f; rm -r e",
        "ln -f un a; echo x >> a; rm un",
    ] {
        comes_back(LINKED, script);
    }
}

#[test]
fn what_was_outside_meanwhile_is_as_before() {
    for script in [
        "mv d $OUTSIDE/; mv $OUTSIDE/d back",
        "mv d $OUTSIDE/; echo x >> $OUTSIDE/d/f; rm $OUTSIDE/d/f; mv $OUTSIDE/d d",
        "mv d $OUTSIDE/x; rm -r $OUTSIDE/x",
        "mv d $OUTSIDE/x; mv $OUTSIDE/x $OUTSIDE/y; echo n > $OUTSIDE/y/new; rm $OUTSIDE/y/f",
        "mv un $OUTSIDE/; echo x >> $OUTSIDE/un",
        "mv un $OUTSIDE/; rm $OUTSIDE/un",
        "ln un $OUTSIDE/k; echo x >> $OUTSIDE/k",
        "ln un $OUTSIDE/k; rm un; echo x >> $OUTSIDE/k",
        "mkdir $OUTSIDE/in; echo new > $OUTSIDE/in/f; mv $OUTSIDE/in d/; rm -r d",
        "echo new > $OUTSIDE/n; mv $OUTSIDE/n un",
    ] {
        comes_back(LINKED, script);
    }
}

#[test]
fn an_exchange_is_as_before() {
    let exchange = |one: &str, other: &str| {
        format!(
            "python3 -c 'import ctypes,os; l=ctypes.CDLL(None,use_errno=True); \
             r=l.renameat2(-100,b\"{one}\",-100,b\"{other}\",2); \
             exit(0 if r==0 else ctypes.get_errno())'"
        )
    };
    for script in [
        exchange("a", "un"),
        exchange("d", "un"),
        format!("mkdir e; echo new > e/g; {}; rm -r d; echo x >> e/f", exchange("d", "e")),
        format!("mkdir $OUTSIDE/e; {}; echo x >> $OUTSIDE/e/f", exchange("d", "../outside/e")),
    ] {
        comes_back(LINKED, &script);
    }
}

#[test]
fn a_file_without_a_name_is_made_and_named() {
    let script = "python3 -c '
import ctypes, os
f = os.open(\".\", os.O_TMPFILE | os.O_RDWR, 0o644)
os.write(f, b\"new\")
path = f\"/proc/self/fd/{f}\".encode()
assert ctypes.CDLL(None).linkat(-100, path, -100, b\"named\", 0x400) == 0
os.write(f, b\"more\")
open(\"named\", \"a\").write(\"x\")
os.rename(\"named\", \"un\")
'";
    comes_back(LINKED, script);
}

#[test]
fn a_removed_file_that_is_written_is_as_before() {
    // Open for reading, removed, and opened again for writing.
    let script = "exec 5<un; rm un; echo more >> /proc/self/fd/5; echo x > /dev/fd/5";
    comes_back(LINKED, script);
    comes_back(LINKED, "exec 5>>un; rm un; echo more >&5; echo new > un");
}

#[test]
fn a_mapped_file_is_as_before() {
    let script = "python3 -c '
import mmap
with open(\"un\", \"r+b\") as f:
    m = mmap.mmap(f.fileno(), 0)
    m[0:2] = b\"XX\"
    m.flush()
'";
    comes_back(LINKED, script);
}

#[test]
fn paths_through_proc_are_the_programs() {
    for script in [
        "echo x > /proc/self/cwd/un",
        "cd d; echo x >> /proc/$$/cwd/f",
        "exec 7<.; rm /proc/self/fd/7/un; mv /dev/fd/7/d /proc/thread-self/fd/7/e",
        "ln -s /proc/self/cwd/un here; echo x > here; echo to /dev/stdout > /dev/stdout; echo 1",
    ] {
        comes_back(LINKED, script);
    }
}
