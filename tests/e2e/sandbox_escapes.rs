//! Ways out of the sandbox, each tried for real at each level, against the table in
//! `docs/guide/sandbox.md`.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use edt_testkit::blessed::{compare_part, is_blessing};
use edt_types::Level;

use crate::confined_repo::{As, Cage, Call, bubblewrap, is_root};

/// An attempt: a script that prints `OUT` when it succeeds. `{H}` is the home directory, `{O}` a
/// directory next to the worktree, `{T}` the system's temporary directory, `{P}` a process outside,
/// `{N}` a TCP port, `{U}` a UDP port outside.
struct Attempt {
    name: &'static str,
    /// For root alone: another user could not do it anyway.
    root: bool,
    how: How,
}

enum How {
    /// A line of shell.
    Sh(&'static str),
    /// A Python program.
    Py(&'static str),
    /// The body of a C `main`, which is compiled before.
    C(&'static str),
}
use How::{C, Py, Sh};

const fn any(name: &'static str, how: How) -> Attempt {
    Attempt { name, root: false, how }
}

const fn root(name: &'static str, how: How) -> Attempt {
    Attempt { name, root: true, how }
}

const ATTEMPTS: &[(&str, &[Attempt])] = &[
    (
        "Writing outside",
        &[
            any("write a file at home", Sh("echo x > {H}/new && echo OUT")),
            any("overwrite a file in a directory next to the worktree", Sh("echo x > {O}/file; grep -q x {O}/file && echo OUT")),
            any("write in the system's temporary directory", Sh("echo x > {T}/new; echo OUT")),
            root("write below /etc", Sh("echo x > /etc/edt-escape && rm /etc/edt-escape && echo OUT")),
            any("truncate, rename, delete", Sh("truncate -s 0 {O}/file && echo OUT; mv {O}/file {O}/y && echo OUT; rm {O}/file && echo OUT")),
            any("chmod", Sh("chmod 777 {O}/file && echo OUT")),
            root("chown", Sh("chown 1:1 {O}/file && echo OUT")),
            any("set the time of a file", Sh("touch -d yesterday {O}/file && echo OUT")),
            any("set an extended attribute", Py("os.setxattr('{O}/file', 'user.x', b'y'); print('OUT')")),
            any("through a symbolic link", Sh("ln -sf {O}/file l; echo x > l; grep -q x {O}/file && echo OUT")),
            any("through a link swapped between check and use", Py("
os.mkdir('real'); os.symlink('{O}', 'link')
import threading, time
end = time.monotonic() + 2
def racing(): return time.monotonic() < end and not os.path.exists('{O}/raced')
def swap():
    while racing():
        try: os.rename('real','t'); os.rename('link','real'); os.rename('t','link')
        except OSError: pass
t = threading.Thread(target=swap); t.start()
while t.is_alive():
    try: open('real/raced','w').close()
    except OSError: pass
t.join()
print('OUT' if os.path.exists('{O}/raced') else '')")),
            any("make a hard link to a file outside and write through it", Sh("ln {O}/file h && echo x > h; grep -q x {O}/file && echo OUT")),
            any("write through a hard link made before", Sh("echo x > before; grep -q x {O}/linked && echo OUT")),
            any("through /proc/self/root and /proc/self/cwd", Sh("echo x > /proc/self/root{O}/file; cd {O}; echo x > /proc/self/cwd/file; grep -q x {O}/file && echo OUT")),
            any("through /proc/PID/root and /proc/PID/cwd of a process outside", Sh("echo x > /proc/{P}/root{O}/file; echo x > /proc/{P}/cwd/file; grep -q x {O}/file && echo OUT")),
            any("through the descriptors of edt and its supervisor", Sh("p=$PPID; for f in /proc/$p/fd/* /proc/{P}/fd/*; do readlink $f >/dev/null && echo OUT; done")),
            root(
                "make a device file and open it",
                Py("os.mknod('dev', stat.S_IFCHR|0o600, os.makedev(1,11)); open('dev','rb').close(); print('OUT')"),
            ),
            any("make a setuid or setgid file or directory", Py("
def out(make):
    try: make()
    except OSError: return
    if any(os.path.exists(n) and os.stat(n).st_mode & 0o6000 for n in ('s','d')): print('OUT')
    for n in ('s','d'):
        if os.path.isfile(n): os.unlink(n)
        elif os.path.isdir(n): os.rmdir(n)
def file(): os.close(os.open('s', os.O_CREAT|os.O_WRONLY, 0o755))
for bit in (0o4755, 0o2755):
    out(lambda: (file(), os.chmod('s', bit)))
    out(lambda: (file(), os.fchmod(os.open('s', os.O_RDONLY), bit)))
    out(lambda: os.close(os.open('s', os.O_CREAT|os.O_WRONLY, bit)))
    out(lambda: os.mknod('s', stat.S_IFREG|bit))
    out(lambda: (os.mkdir('d'), os.chmod('d', bit)))")),
            root("give a file to another user", Py("
open('f','w').close()
for make in (lambda: os.chown('f', 1, -1), lambda: (os.setuid(1), open('g','w').close())):
    try: os.chmod('.', 0o777); make(); print('OUT')
    except OSError: pass")),
            root("open a raw device in /dev", Py("
for n in os.listdir('/dev'):
    p='/dev/'+n
    if stat.S_ISBLK(os.stat(p).st_mode) or n in ('mem','kmem','port'):
        try: open(p,'rb').close(); print('OUT')
        except OSError: pass")),
            root("write a setting of the kernel", Sh("cat /proc/sys/kernel/core_pattern > pat && cat pat > /proc/sys/kernel/core_pattern && echo OUT")),
        ],
    ),
    (
        "Git's own files",
        &[
            any("write .git/config", Sh("echo '# x' >> .git/config && echo OUT")),
            any("write a hook", Sh("echo x > .git/hooks/pre-commit && echo OUT")),
            any("git commit, git config, git branch", Sh("git commit --allow-empty -qm x && echo OUT; git config a.b c && echo OUT; git branch x && echo OUT")),
            any("rename .git away", Sh("mv .git gone && echo OUT; mv gone .git")),
            any("remove .git", Sh("rm -rf .git; test -f .git/config || echo OUT")),
            any("move the worktree and put another in its place", Sh("cd ..; mv {R} {R}2 && mkdir {R} && echo OUT; mv {R}2 {R}")),
            any("chmod below .git", Sh("chmod 777 .git/hooks && echo OUT")),
            any("hard link out of .git and write through it", Sh("ln .git/config h && echo '# x' >> h && echo OUT")),
        ],
    ),
    (
        "Secrets",
        &[
            any("read a key in ~/.ssh", Sh("grep -q secret {H}/.ssh/id_ed25519 && echo OUT")),
            any("read ~/.netrc", Sh("grep -q secret {H}/.netrc && echo OUT")),
            any("read one through a symbolic link, in the worktree or of the home", Sh("ln -s {H}/.netrc n; grep -q secret n && echo OUT; grep -q secret {H}/real-token && echo OUT")),
            any("read one through /proc/PID/root", Sh("grep -q secret /proc/{P}/root{H}/.netrc && echo OUT; grep -q secret /proc/self/root{H}/.netrc && echo OUT")),
            any("read one through a hard link made before", Sh("grep -q secret hard && echo OUT")),
            any("rename the directory and read", Sh("mv {H}/.ssh {H}/x && grep -q secret {H}/x/id_ed25519 && echo OUT; mv {H}/x {H}/.ssh")),
            root("read /etc/shadow", Sh("test -s /etc/shadow && echo OUT")),
            any("read the environment of edt and of its supervisor", Sh("for p in $PPID {P} $(grep -s ^PPid /proc/$PPID/status | cut -f2); do tr '\\0' '\\n' < /proc/$p/environ | grep -q EDT_SECRET && echo OUT; done")),
            any("a variable that looks like a secret", Sh("test -n \"$SOME_API_TOKEN\" && echo OUT")),
            any("file handles (open_by_handle_at)", C("
struct file_handle *h = malloc(sizeof *h + 128); h->handle_bytes = 128; int m;
if (name_to_handle_at(AT_FDCWD, \"{O}/file\", h, &m, 0)) return 1;
int d = open(\".\", O_RDONLY); int f = open_by_handle_at(d, h, O_RDWR); if (f >= 0) puts(\"OUT\");")),
            any("the keyring of the user", C("
long k = syscall(SYS_add_key, \"user\", \"edt-escape\", \"x\", 1, -3); if (k > 0) { puts(\"OUT\"); syscall(SYS_keyctl, 3, k); }")),
        ],
    ),
    (
        "Network",
        &[
            any("TCP to this machine", Py("s=socket.create_connection(('127.0.0.1',{N}),2); print('OUT')")),
            any("UDP to this machine", Py("s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',('127.0.0.1',{U})); print('SENT')")),
            any("a socket by its path, outside the worktree", Py("s=socket.socket(socket.AF_UNIX); s.connect('{O}/sock'); print('OUT')")),
            any("an abstract socket", Py("s=socket.socket(socket.AF_UNIX); s.connect('\\0edt-escape-{X}'); print('OUT')")),
            root("a raw socket", Py("s=socket.socket(socket.AF_INET,socket.SOCK_RAW,1); print('OUT')")),
            any("netlink", Py("s=socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,0); print('OUT')")),
            any("packets and other families", Py("
for f in (socket.AF_PACKET, 40, 31, 38):
    for t in (1,2,3,5):
        try: socket.socket(f,t); print('OUT')
        except OSError: pass")),
            any("io_uring, which passes filters by", C("
char p[256]; memset(p, 0, sizeof p); if (syscall(SYS_io_uring_setup, 4, p) >= 0) puts(\"OUT\");")),
            any("a socket handed over by a process outside (pidfd_getfd)", C("
int p = syscall(SYS_pidfd_open, {P}, 0); if (syscall(SYS_pidfd_getfd, p, 0, 0) >= 0) puts(\"OUT\");")),
            any("a call by its 32-bit number", C("
#ifdef __x86_64__
long r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(359), \"b\"(2), \"c\"(1), \"d\"(0) : \"memory\", \"r8\", \"r9\", \"r10\", \"r11\"); if (r >= 0) puts(\"OUT\");
#endif")),
        ],
    ),
    (
        "Other processes",
        &[
            any("kill a process outside", Sh("kill {P} && echo OUT")),
            any("kill the supervisor", Sh("kill -9 $PPID && kill -0 $PPID 2>/dev/null || echo tried; test -e /proc/$PPID/stat || echo OUT; grep -q ') Z' /proc/$PPID/stat && echo OUT")),
            any("ptrace a process outside", C("if (ptrace(PTRACE_SEIZE, {P}, 0, 0) == 0) puts(\"OUT\");")),
            any("write its memory (process_vm_writev, /proc/PID/mem)", C("
char b[8] = {0}; struct iovec l = {b, 8}, r = {(void*)0x400000, 8}; errno = 0;
if (process_vm_readv({P}, &l, 1, &r, 1, 0) >= 0 || errno == EFAULT) puts(\"OUT\");
if (open(\"/proc/{P}/mem\", O_RDWR) >= 0) puts(\"OUT\");")),
            any("see its command line", Sh("grep -q . /proc/{P}/cmdline && echo OUT")),
any(
                "lower its limits (prlimit)",
                Py("import resource; resource.prlimit({P}, resource.RLIMIT_CORE, (0, 0)); print('OUT')"),
            ),
            any("pin it to one processor (sched_setaffinity)", Py("os.sched_setaffinity({P}, {0}); print('OUT')")),
            any(
                "shared memory and queues of processes outside (System V)",
                C("int m = shmget({S}, 4, 0600); if (m >= 0 && shmat(m, 0, 0) != (void *)-1) puts(\"OUT\");"),
            ),
                        any("change its priority", Sh("renice -n 5 -p {P} >/dev/null && echo OUT")),
            any("type into the terminal (TIOCSTI)", C("
int m = posix_openpt(O_RDWR | O_NOCTTY); grantpt(m); unlockpt(m);
int s = open(ptsname(m), O_RDWR); errno = 0; ioctl(s, TIOCSCTTY, 0);
if (s < 0) return 1; char c = 'x'; if (ioctl(s, TIOCSTI, &c) == 0 || errno == EIO) puts(\"OUT\");")),
        ],
    ),
    (
        "Undoing the sandbox",
        &[
            any("mount, unmount, remount writable", Sh("mount -t tmpfs x {O} && echo OUT; umount .git && echo OUT; mount -o remount,rw,bind / && echo OUT; cd {R}; mount --bind {O} . && echo OUT; cd /; umount {R}; umount {O}")),
            any("a namespace of users, to be root in", Sh("unshare -Ur true && echo OUT; unshare -Urm true && echo OUT")),
            any("the same by clone", C("
char *st = malloc(65536); int p = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); if (p == 0) _exit(0); if (p > 0) puts(\"OUT\"); (void)st;")),
            any("the same by clone3", C("
unsigned long long a[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD}; long p = syscall(435, a, 64); if (p == 0) _exit(0); if (p > 0) puts(\"OUT\");")),
            any("enter the namespaces of a process outside", Sh("nsenter -t {P} -m true && echo OUT; nsenter -t {P} -U true && echo OUT")),
            root("chroot", Sh("chroot . /nothing; test $? = 127 && echo OUT")),
            any("a setuid program", C("if (geteuid() != getuid()) puts(\"OUT\");")),
            any("bpf, perf, userfaultfd", C("
char z[128]; memset(z, 0, sizeof z);
long f = syscall(SYS_userfaultfd, 1); if (f >= 0) puts(\"OUT\");
*(int*)z = 1; *(int*)(z+4) = 128; *(long*)(z+40) = 0x60; if (syscall(SYS_perf_event_open, z, 0, -1, -1, 0) >= 0) puts(\"OUT\");
memset(z, 0, sizeof z); *(int*)z = 2; *(int*)(z+4) = 4; *(int*)(z+8) = 8; *(int*)(z+12) = 1; if (syscall(SYS_bpf, 0, z, 72) >= 0) puts(\"OUT\");")),
        ],
    ),
    (
        "Using up the machine (limits made small at strict: 300 MB, 400 processes, 1 s, 16 MB)",
        &[
            any("start 1000 processes", Py("
import signal
made = []
try:
    for _ in range(1000):
        pid = os.fork()
        if pid == 0:
            signal.pause()
        made.append(pid)
    print('OUT', flush=True)
finally:
    for pid in made: os.kill(pid, 9)")),
            any("take 500 MB in one process", Py("b = bytearray(500 << 20); print('OUT')")),
            any("take 500 MB in five processes", Py("
import time
for _ in range(5):
    if os.fork() == 0:
        b = bytearray(b'x' * (100 << 20)); time.sleep(.7); os._exit(0)
for _ in range(5): os.wait()
print('OUT')")),
            any("compute for two seconds in one process", Py("
import time
while time.process_time() < 2: pass
print('OUT')")),
            any("compute for two seconds in four processes", Py("
import time
for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < .5: pass
        os._exit(0)
for _ in range(4): os.wait()
print('OUT')")),
            any("fill the temporary directory with 64 MB", Sh("f=${TMPDIR:-/tmp}/edt-escape-$$; head -c 64M /dev/zero > $f && echo OUT; rm $f")),
            any("fill /dev/shm with 64 MB", Sh("head -c 64M /dev/zero > /dev/shm/edt-escape && echo OUT; rm /dev/shm/edt-escape")),
            any("write a file of 64 MB in the worktree", Sh("head -c 64M /dev/zero > big && echo OUT")),
        ],
    ),
];

/// What is outside: a process, sockets.
struct Outside {
    process: Child,
    tcp: TcpListener,
    udp: std::net::UdpSocket,
    _path: UnixListener,
    _abstract: UnixListener,
    /// Of System V: its key and its number.
    memory: (i32, String),
    name: String,
}

impl Outside {
    fn new(cage: &Cage) -> Outside {
        let name = cage.dir.path().file_name().unwrap().to_str().unwrap().to_owned();
        // Of the same user as edt.
        let mut command = cage.as_user("sleep");
        command.arg("600").current_dir(&cage.outside).env("EDT_SECRET", "1").stdin(Stdio::null());
        let process = command.spawn().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let path = UnixListener::bind(cage.outside.join("sock")).unwrap();
        let address = SocketAddr::from_abstract_name(format!("edt-escape-{name}")).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        // A key that no other process has at this moment.
        let key = i32::try_from(process.id()).unwrap() + 0x0ED7_0000;
        let script = format!("import ctypes; print(ctypes.CDLL(None).shmget({key}, 4, 0o1600))");
        let made = cage
            .as_user("python3")
            .args(["-c", &script])
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .output()
            .unwrap()
            .stdout;
        let memory = (key, String::from_utf8(made).unwrap().trim().to_owned());
        Outside { process, tcp, udp, _path: path, _abstract: listener, memory, name }
    }

    fn alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = Command::new("ipcrm").args(["-m", &self.memory.1]).output();
    }
}

const HEAD: &str = "#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
";

/// Whether the attempt was held.
fn held(attempt: &Attempt, level: Level, user: As, backend: &str) -> bool {
    let cage = Cage::new(user);
    // The earlier content.
    std::fs::write(cage.home.join("token"), "the secret\n").unwrap();
    std::fs::create_dir_all(cage.home.join(".aws")).unwrap();
    std::fs::rename(cage.home.join("token"), cage.home.join("real-token")).unwrap();
    std::os::unix::fs::symlink(cage.home.join("real-token"), cage.home.join(".pgpass")).unwrap();
    std::fs::write(cage.outside.join("linked"), "outside\n").unwrap();
    std::fs::hard_link(cage.outside.join("linked"), cage.root.join("before")).unwrap();
    std::fs::hard_link(cage.home.join(".netrc"), cage.root.join("hard")).unwrap();
    cage.hand_over();
    let mut outside = Outside::new(&cage);
    cage.hand_over();
    let temporary = tempfile::Builder::new().prefix("edt-escape-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(temporary.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let fill = |text: &str| {
        let [home, beside, root] =
            [&cage.home, &cage.outside, &cage.root].map(|path| path.to_str().unwrap());
        text.replace("{H}", home)
            .replace("{O}", beside)
            .replace("{R}", root)
            .replace("{T}", temporary.path().to_str().unwrap())
            .replace("{P}", &outside.process.id().to_string())
            .replace("{N}", &outside.tcp.local_addr().unwrap().port().to_string())
            .replace("{U}", &outside.udp.local_addr().unwrap().port().to_string())
            .replace("{S}", &outside.memory.0.to_string())
            .replace("{X}", &outside.name)
    };
    let argv: Vec<String> = match &attempt.how {
        Sh(script) => vec!["sh".into(), "-c".into(), fill(script)],
        Py(script) => {
            // One statement to a line, so that what is tried is all there is.
            let script = format!("import os,stat,socket\n{}", fill(script));
            vec!["python3".into(), "-c".into(), script]
        }
        C(body) => {
            let mut cc = Command::new("cc");
            cc.args(["-w", "-x", "c", "-o", "attempt", "-"])
                .current_dir(&cage.root)
                .stdin(Stdio::piped());
            let mut cc = cc.spawn().unwrap();
            let source = format!("{HEAD}int main(void) {{\n{}\nreturn 0;\n}}\n", fill(body));
            cc.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
            assert!(cc.wait().unwrap().success(), "{source}");
            vec!["./attempt".into()]
        }
    };
    let mut call = Call { backend: backend.to_owned(), ..cage.call(level, &argv) };
    if argv[0] == "./attempt" {
        call = Call {
            argv: vec![cage.root.join("attempt").to_str().unwrap().as_bytes().to_vec()],
            ..call
        };
    }
    if attempt.name == "a setuid program" {
        // It belongs to the other of the two users.
        let program = cage.root.join("attempt");
        let owner = if user == As::Self_ && is_root() { 65_534 } else { 0 };
        std::os::unix::fs::chown(&program, Some(owner), None).unwrap();
        std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o4755))
            .unwrap();
    }
    call.env.push(("SOME_API_TOKEN".to_owned(), "x".to_owned()));
    let using_up = LIMITED.iter().any(|limited| std::ptr::eq(limited, attempt));
    if using_up && level == Level::Strict {
        (call.memory, call.processes, call.cpu) = (Some(300 << 20), Some(400), Some(1));
        (call.file_bytes, call.temporary_bytes) = (Some(16 << 20), Some(16 << 20));
    }
    let began = std::time::Instant::now();
    let printed = cage.run(&call);
    let took = began.elapsed();
    println!("{} {level} {user:?} {backend}: {took:?}", attempt.name);
    assert!(took.as_millis() < u128::from(call.ms), "{}: it hangs: {printed:?}", attempt.name);
    let ended = printed.how.starts_with("Exit")
        || printed.how == "Lost"
        || using_up && printed.how.starts_with("Signal");
    assert!(ended, "{}: {printed:?}", attempt.name);
    let mut done = printed.out.contains("OUT")
        && !(attempt.name.contains("system's temporary")
            && temporary.path().read_dir().unwrap().next().is_none());
    if printed.out.contains("SENT") {
        std::thread::sleep(std::time::Duration::from_millis(20));
        done |= outside.udp.recv(&mut [0; 8]).is_ok();
    }
    if attempt.name.contains("supervisor") && attempt.name.contains("kill") {
        done = printed.how == "Lost";
    }
    done |= !outside.alive() && attempt.name.contains("kill a process");
    !done
}

/// The last part of the table.
const LIMITED: &[Attempt] = ATTEMPTS[ATTEMPTS.len() - 1].1;

const MEANS: [(&str, Level, &str); 4] = [
    ("permissive", Level::Permissive, "own"),
    ("standard", Level::Standard, "own"),
    ("strict", Level::Strict, "own"),
    ("strict by bubblewrap", Level::Strict, "bubblewrap"),
];

fn row(attempt: &Attempt) -> String {
    let users =
        if is_root() && !attempt.root { vec![As::Self_, As::Nobody] } else { vec![As::Self_] };
    let cells: Vec<Vec<bool>> = MEANS
        .iter()
        .filter(|(_, _, backend)| *backend == "own" || bubblewrap())
        .map(|(_, level, backend)| {
            users.iter().map(|user| held(attempt, *level, *user, backend)).collect()
        })
        .collect();
    let [permissive, standard, strict, rest @ ..] = cells.as_slice() else { unreachable!() };
    for bubblewrap in rest {
        assert_eq!(strict, bubblewrap, "{}: both ways to strict hold the same", attempt.name);
    }
    let word = |cell: &Vec<bool>| match cell.as_slice() {
        [true] | [true, true] => "**held**".to_owned(),
        [false] | [false, false] => "no".to_owned(),
        [root, other] => format!(
            "root: {}, others: {}",
            if *root { "**held**" } else { "no" },
            if *other { "**held**" } else { "no" }
        ),
        _ => unreachable!(),
    };
    let name =
        if attempt.root { format!("{} (as root)", attempt.name) } else { attempt.name.to_owned() };
    format!("| {name} | {} | {} | {} |\n", word(permissive), word(standard), word(strict))
}

/// Tries a part of the table, and compares it with the page; `EDT_BLESS=1` writes the page instead.
/// In the tier `ci`, a sample of the attempts is tried.
fn part(number: usize) {
    let (title, attempts) = ATTEMPTS[number];
    let head = format!("| {title} | permissive | standard | strict |\n| --- | --- | --- | --- |\n");
    let some = edt_testkit::share(attempts.iter().collect(), attempts.len().div_ceil(8));
    let mark = format!("part {number}");
    if some.len() == attempts.len() || is_blessing() {
        compare(&mark, &attempts.iter().fold(head, |table, attempt| table + &row(attempt)));
        return;
    }
    let page = std::fs::read_to_string(page()).unwrap_or_default();
    for row in some.into_iter().map(row) {
        // Another user tries no rows for root, and has one column of two.
        assert!(!is_root() || page.contains(&row), "docs/guide/sandbox.md says otherwise: {row}");
    }
}

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/sandbox.md")
}

/// Without root, no row for root is tried, and the page has a column that nobody else has.
fn compare(mark: &str, table: &str) {
    if is_blessing() || is_root() {
        let begin = format!("<!-- {mark}, made by tests/e2e/sandbox_escapes.rs -->");
        compare_part(&page(), &begin, table, "cargo xtask bless -p edt-cli");
    }
}

#[test]
fn attempts_to_write_outside_fail() {
    part(0);
}

#[test]
fn attempts_to_change_gits_own_files_fail() {
    part(1);
}

#[test]
fn attempts_to_read_secrets_fail() {
    part(2);
}

#[test]
fn attempts_to_use_the_network_fail() {
    part(3);
}

#[test]
fn attempts_to_reach_other_processes_fail() {
    part(4);
}

#[test]
fn attempts_to_leave_the_sandbox_fail() {
    part(5);
}

#[test]
fn attempts_to_exhaust_the_machine_fail() {
    part(6);
}
