//! What programs do to files.

use crate::scene::comes_back;

const FILES: &str = "echo one > a; echo two > b; mkdir -p d/e; echo three > d/e/c; ln -s a l; \
    chmod 640 b; touch -d 2020-01-01T00:00:00 a b d/e/c";

#[test]
fn a_file_that_is_written_is_as_before() {
    for script in [
        "echo new > a",
        "echo more >> a",
        ": > a",
        "echo through > l",
        "dd if=/dev/zero of=a bs=1 count=3 conv=notrunc status=none",
        "truncate -s 1 a",
        "truncate -s 1G b",
        "sed -i s/one/eins/ a",
        "perl -i -pe s/one/eins/ a",
        "python3 -c 'open(\"a\", \"w\").write(\"x\")'",
        "python3 -c 'import os; os.truncate(\"a\", 1)'",
        "cd d/e; echo x > ../../a; echo y > ./c",
        "exec 5>>a; echo one >&5; echo two >&5; (echo sub >&5)",
    ] {
        comes_back(FILES, script);
    }
}

#[test]
fn a_file_that_is_removed_or_replaced_is_as_before() {
    for script in [
        "rm a",
        "rm -rf d",
        "rm l",
        "mv a b",
        "mv b d/e/c",
        "ln -sf b l",
        "ln -f b a",
        "cp --remove-destination b a",
        "mkdir n; mv a n/; mv n/a n/z; rm -r n",
        "rm a; echo new > a; rm a; mkdir a; echo deep > a/x",
        "rm -r d; echo file > d",
    ] {
        comes_back(FILES, script);
    }
}

#[test]
fn what_is_made_is_gone() {
    for script in [
        "echo new > n",
        "mkdir -p x/y/z; echo deep > x/y/z/f",
        "ln -s nowhere n; ln a m",
        "mkfifo p",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; true",
        "umask 077; echo x > n; mkdir m",
        "ln -s target dangling; echo t > dangling; ln -s d/e into; echo t > into/c; rm into/c",
        "install -m 755 a bin; cp -a d copy",
        "touch n; mv n m; ln m k; rm m; mv k j",
    ] {
        comes_back(FILES, script);
    }
}

#[test]
fn attributes_are_as_before() {
    for script in [
        "chmod 600 a; chmod +x b; chmod -R go-rwx d",
        "touch a; touch -d 1999-01-01 b; touch -h l",
        "chmod 600 a; echo x >> a; chmod 755 a",
        "setfattr -n user.edt -v one a || python3 -c 'import os; os.setxattr(\"a\", \"user.e\", b\"1\")'",
        "python3 -c 'import os; f=os.open(\"a\",os.O_RDONLY); os.fchmod(f,0o700); os.utime(f,(1,1))'",
    ] {
        comes_back(FILES, script);
    }
}

#[test]
fn directories_that_are_moved_are_as_before() {
    for script in [
        "mv d moved",
        "mv d moved; echo x >> moved/e/c; rm -r moved",
        "mv d/e x; mv x d/f; mv d g; echo new > g/f/n",
        "mkdir p; mv d p/; mv p q; echo z > q/d/e/c; mv q/d/e/c top",
        "mv d old; mkdir d; mkdir d/e; echo other > d/e/c; rm -r old",
    ] {
        comes_back(FILES, script);
    }
}
