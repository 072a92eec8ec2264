"""Random calls on few names, so that they meet: `random.py SEED CALLS`. Errors are ignored."""
import ctypes, os, random, sys

random.seed(int(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
out = os.environ["OUTSIDE"]
names = ["a", "b", "c"]
held = []


def path():
    start = random.choices(["", out + "/"], [9, 1])[0]
    return start + "/".join(random.choice(names) for _ in range(random.choice([1, 1, 2, 2, 3])))


def write():
    flags = os.O_NONBLOCK | random.choice([os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND])
    for flag in (os.O_CREAT, os.O_TRUNC, os.O_CREAT | os.O_EXCL, os.O_NOFOLLOW):
        flags |= flag if random.random() < 0.4 else 0
    f = os.open(path(), flags, random.choice([0o644, 0o600, 0o755]))
    os.write(f, b"%d\n" % random.randrange(10**9))
    if random.random() < 0.2:
        held.append(f)
    else:
        os.close(f)


def held_write():
    if held:
        f = random.choice(held)
        random.choice([lambda: os.write(f, b"held"), lambda: os.ftruncate(f, 3),
                       lambda: os.fchmod(f, 0o640), lambda: open(f"/proc/self/fd/{f}", "w").write("x"),
                       lambda: os.close(held.pop())])()


def rename():
    flags = random.choices([0, 1, 2], [6, 1, 2])[0]
    libc.renameat2(-100, path().encode(), -100, path().encode(), flags)


def unnamed():
    f = os.open(random.choice([".", "a", "b"]), os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(f, b"unnamed")
    libc.linkat(-100, f"/proc/self/fd/{f}".encode(), -100, path().encode(), 0x400)
    os.close(f)


def relative():
    here = os.getcwd()
    try:
        os.chdir(random.choice(names))
        random.choice(calls)()
    finally:
        os.chdir(here)


calls = (
    [write] * 8 + [rename] * 8 + [held_write] * 3
    + [lambda: os.unlink(path())] * 4
    + [lambda: os.mkdir(path(), random.choice([0o755, 0o700]))] * 4
    + [lambda: os.rmdir(path())] * 2
    + [lambda: os.link(path(), path(), follow_symlinks=False)] * 4
    + [lambda: os.symlink(random.choice(["a", "../b", "/proc/self/cwd/c", path()]), path())] * 2
    + [lambda: os.chmod(path(), random.choice([0o600, 0o755, 0o644]))] * 2
    + [lambda: os.truncate(path(), random.randrange(20))]
    + [lambda: os.utime(path(), (1, random.randrange(10**9)))]
    + [lambda: os.setxattr(path(), "user.edt", b"%d" % random.randrange(99))]
    + [lambda: os.mkfifo(path())]
    + [unnamed, relative]
)
for _ in range(int(sys.argv[2])):
    try:
        random.choice(calls)()
    except OSError:
        pass
