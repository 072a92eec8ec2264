"""Synthetic repositories, made through `git fast-import`.

About fifteen files per directory, one to six directories deep, sizes log-normal (median 2 KB), C-like text. The file that is edited,
`FILE`, has 1 KB and is four directories deep, so that one edit makes a blob, five trees and a commit.
"""

import random
import subprocess

FILE = "src/core/net/bench/edit.c"
WORDS = (
    "alloc buffer cache close count entry error flags frame free hash head init index key len list lock mask next node "
    "open parse path pool prev queue read reset send size slot state table tail token value write"
).split()


def text(rng, size):
    """C-like text of exactly `size` bytes."""
    parts, length, n = [], 0, 0
    while length < size:
        a, b, c = (rng.choice(WORDS) for _ in range(3))
        part = (
            f"static int {a}_{b}_{n}(struct {c} *{c}, int n)\n{{\n\tif (n < {rng.randrange(99)})\n\t\treturn -1;\n"
            f"\tfor (int i = 0; i < n; i++)\n\t\t{c}->{b}[i] += {rng.randrange(9999)}; /* {rng.choice(WORDS)} */\n"
            f"\treturn {c}->{a};\n}}\n\n"
        )
        parts.append(part)
        length += len(part)
        n += 1
    return "".join(parts)[: size - 1] + "\n"


def make(directory, env, files, commits=1, refs=0):
    """A repository of `files` files, `commits` commits and `refs` packed tags at `directory`, checked out."""
    rng = random.Random(7)

    def git(*args, **more):
        return subprocess.run(["git", "-C", directory, *args], env=env, check=True, capture_output=True, **more).stdout

    subprocess.run(["git", "init", "-q", "-b", "main", directory], env=env, check=True)
    for key, value in {"user.name": "bench", "user.email": "bench@example.com", "gc.auto": "0"}.items():
        git("config", key, value)
    importer = subprocess.Popen(["git", "-C", directory, "fast-import", "--quiet", "--done"], env=env, stdin=subprocess.PIPE)
    write = importer.stdin.write

    def put(path, content):
        write(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode())

    write(b"commit refs/heads/main\ncommitter bench <bench@example.com> 1700000000 +0000\ndata 6\nbegin\n")
    pool = [text(rng, 70_000) for _ in range(40)]
    put(FILE, "/* touch 0 */\n" + text(rng, 1024 - 14))
    # Siblings for the edited file's directories, so that the trees on its path have a typical size.
    near = [f"src/{at}near{i}.h" for at in ("", "core/", "core/net/", "core/net/bench/") for i in range(3 if files < 100 else 12)]
    for path in near:
        put(path, text(rng, 700))
    directories, paths = [("", 0)], list(near)
    for n in range(max(6, files // 15)):
        at, depth = rng.choice(directories[-400:])
        while depth >= 6:
            at, depth = rng.choice(directories)
        directories.append((f"{at}{rng.choice(WORDS)}{n}/", depth + 1))
    while len(paths) + 1 < files:
        size = min(64_000, max(60, int(rng.lognormvariate(7.6, 1.0))))
        start = rng.randrange(70_000 - size)
        path = f"{rng.choice(directories)[0]}{rng.choice(WORDS)}{len(paths)}.{rng.choice(('c', 'h', 'py', 'go', 'md'))}"
        put(path, rng.choice(pool)[start : start + size])
        paths.append(path)
    for n in range(1, commits):
        write(f"commit refs/heads/main\ncommitter bench <bench@example.com> {1700000000 + n} +0000\ndata 5\nnext\n".encode())
        put(rng.choice(paths), f"/* revision {n} */\n" + text(rng, 400))
    write(b"done\n")
    importer.stdin.close()
    if importer.wait() != 0:
        raise SystemExit("git fast-import failed")
    if refs:
        log = git("rev-list", f"-n{refs}", "main").split()
        lines = [b"create refs/tags/v%d %s\n" % (n, log[n % len(log)]) for n in range(refs)]
        git("update-ref", "--stdin", input=b"".join(lines))
        git("pack-refs", "--all")
    git("reset", "-q", "--hard", "main")
    git("status", "--porcelain")
