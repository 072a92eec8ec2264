#!/usr/bin/env python3
"""The cost of one recorded edit: edt and its peers in one interleaved run.

    python3 benches/peers/run.py [--rounds N] [--sizes 50,5000,80000,hist] [--no-dist] [--scratch DIR] [--json FILE]

Builds what it needs, makes the repositories (kept between runs), and in every round lets each contender, in random order,
change the first line of one 1 KB file four directories deep and record it. Times run from before the first process is started
until the last one has ended, the edit of the file included. Ratios are taken pair by pair within a round; printed is their
median. Exits with 1 if a goal is missed.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import repos

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = "x86_64-unknown-linux-gnu"
SHAPES = {"hist": dict(files=5_000, commits=20_000, refs=10_000)}
NULL = os.open(os.devnull, os.O_RDWR)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--sizes", default="50,5000,80000,hist", help="numbers of files; hist: 5,000 with a long history")
    parser.add_argument("--no-dist", action="store_true", help="leave out the distributed build")
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "edt-bench"))
    parser.add_argument("--json", help="write the figures there too")
    return parser.parse_args()


def build(args):
    """The binaries: edt as built by `--release`, edt as distributed, the floor."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "--bin", "edt"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    built = {"edt": os.path.join(target, "release/edt")}
    if not args.no_dist:
        subprocess.run(["cargo", "xtask", "dist"], cwd=ROOT, check=True)
        built["dist"] = os.path.join(target, TARGET, "dist/edt")
    if not os.path.exists("/usr/include/zlib.h"):
        subprocess.run(["apt-get", "install", "-qq", "zlib1g-dev"], check=True)
    built["floor"] = os.path.join(args.scratch, "floor")
    floor = ["cc", "-O2", "-static", os.path.join(HERE, "floor.c"), "-o", built["floor"], "-lz"]
    subprocess.run(floor, check=True)
    return built


class Bench:
    """The contenders on one repository."""

    def __init__(self, size, built, env, scratch):
        self.env, self.built, self.count = env, built, int(time.time() * 1000)
        shape = SHAPES.get(size) or dict(files=int(size))
        origin = os.path.join(scratch, f"origin-{size}")
        if not os.path.exists(origin):
            making = origin + ".making"
            shutil.rmtree(making, ignore_errors=True)
            repos.make(making, env, **shape)
            os.rename(making, origin)
        self.at = {}
        for use in ("git", "import", "edt", "switched"):
            self.at[use] = os.path.join(scratch, f"run-{size}", use)
            shutil.rmtree(self.at[use], ignore_errors=True)
            os.makedirs(os.path.dirname(self.at[use]), exist_ok=True)
            subprocess.run(["cp", "-a", origin, self.at[use]], check=True)
            self.git(use, "status", "--porcelain")
        subprocess.run(["sync"], check=True)
        self.git("import", "update-ref", "refs/heads/fast", "HEAD")
        self.run([built["edt"], "-C", self.at["edt"], "begin", "bench", "--no-switch"])
        self.run([built["edt"], "-C", self.at["switched"], "begin", "bench"])
        self.floor_at = os.path.join(scratch, f"run-{size}", "floor")
        self.run([built["floor"], "edit", self.floor_at, "none"])
        self.cpu = 0.0

    def run(self, argv, **more):
        return subprocess.run(argv, env=self.env, check=True, capture_output=True, **more).stdout

    def git(self, use, *args):
        return self.run(["git", "-C", self.at[use], *args])

    def spawn(self, argv, cwd="/", stdin=None):
        """One process from start to end; its CPU time is added up."""
        os.chdir(cwd)
        actions = [(os.POSIX_SPAWN_DUP2, NULL, fd) for fd in (0, 1, 2)]
        if stdin is not None:
            reader, writer = os.pipe()
            os.write(writer, stdin)  # a few KB: fits the pipe
            os.close(writer)
            actions[0] = (os.POSIX_SPAWN_DUP2, reader, 0)
        pid = os.posix_spawnp(argv[0], argv, self.env, file_actions=actions)
        if stdin is not None:
            os.close(reader)
        _, status, used = os.wait4(pid, 0)
        self.cpu += used.ru_utime + used.ru_stime
        if status:
            raise SystemExit(f"{argv} ended with {status}")

    def touch(self, use):
        self.count += 1
        path = os.path.join(self.at[use], repos.FILE)
        with open(path, "rb") as file:
            old = file.read()
        new = b"/* touch %d */" % self.count + old[old.index(b"\n") :]
        with open(path, "wb") as file:
            file.write(new)
        return new

    def edt_argv(self, binary, use):
        """The command that edits the first line; prepared outside the timed region."""
        with open(os.path.join(self.at[use], repos.FILE)) as file:
            old = file.readline().rstrip("\n")
        self.count += 1
        edit = ["apply", repos.FILE, "--mode", "edit", "--old-text", old, "--content", f"/* touch {self.count} */"]
        return [self.built[binary], *edit]

    def contenders(self):
        """Each prepares outside the timed region and returns what is timed."""

        def plain(*argv):
            return lambda: lambda: self.spawn(list(argv))

        def add_commit():
            def go():
                self.touch("git")
                self.spawn(["git", "add", repos.FILE], self.at["git"])
                self.spawn(["git", "commit", "-qm", "x"], self.at["git"])

            return go

        def fast_import():
            def go():
                text = self.touch("import")
                head = "commit refs/heads/fast\ncommitter bench <bench@example.com> now\ndata 1\nx\nfrom refs/heads/fast^0\n"
                stream = f"{head}M 100644 inline {repos.FILE}\ndata {len(text)}\n".encode() + text + b"\n"
                self.spawn(["git", "fast-import", "--quiet", "--date-format=now"], self.at["import"], stream)

            return go

        def edt(binary, use):
            def prepare():
                argv = self.edt_argv(binary, use)
                return lambda: self.spawn(argv, self.at[use])

            return prepare

        floor = self.built["floor"]
        every = {
            "empty static C process": plain(floor, "nop"),
            "git --version": plain("git", "--version"),
            "floor": plain(floor, "edit", self.floor_at, "none"),
            "floor + journal flush": plain(floor, "edit", self.floor_at, "journal"),
            "git fast-import": lambda: fast_import(),
            "git add + commit": lambda: add_commit(),
            "edt --version": plain(self.built["edt"], "--version"),
            "edt apply": edt("edt", "edt"),
            "edt apply, switched": edt("edt", "switched"),
        }
        if "dist" in self.built:
            every["edt --version, dist"] = plain(self.built["dist"], "--version")
            every["edt apply, dist"] = edt("dist", "edt")
            every["edt apply, dist, switched"] = edt("dist", "switched")
        return every

    def measure(self, rounds):
        rng, contenders = random.Random(1), self.contenders()
        taken = {name: [] for name in contenders}
        for turn in range(rounds + 2):
            order = list(contenders)
            rng.shuffle(order)
            for name in order:
                go = contenders[name]()
                self.cpu, start = 0.0, time.perf_counter()
                go()
                wall = (time.perf_counter() - start) * 1e3
                if turn >= 2:  # the first two warm the caches
                    taken[name].append((wall, self.cpu * 1e3))
        return taken

    def peaks(self):
        """Peak resident memory in MiB of single processes."""
        edits = {"edt apply": ("edt", "edt"), "edt apply, switched": ("edt", "switched")}
        if "dist" in self.built:
            edits |= {"edt apply, dist": ("dist", "edt"), "edt apply, dist, switched": ("dist", "switched")}
        found = {}

        def peak(argv, cwd):
            return int(self.run([self.built["floor"], "peak", *argv], cwd=cwd)) / 1024

        for name, (binary, use) in edits.items():
            found[name] = peak(self.edt_argv(binary, use), self.at[use])
        self.touch("git")
        add = peak(["git", "add", repos.FILE], self.at["git"])
        found["git add + commit"] = max(add, peak(["git", "commit", "-qm", "x"], self.at["git"]))
        return found

    def syscalls(self, binary, use):
        """System calls of one edit: flushes, and all."""
        log = os.path.join(self.floor_at, "strace")
        self.run(["strace", "-f", "-c", "-U", "calls,name", "-o", log, *self.edt_argv(binary, use)], cwd=self.at[use])
        with open(log) as file:
            calls = {name: int(n) for n, name in re.findall(r"^\s*(\d+)\s+(\w+)$", file.read(), re.M)}
        total = calls.pop("total")
        flushes = {name: calls[name] for name in ("fsync", "fdatasync", "syncfs", "sync", "sync_file_range", "msync") if name in calls}
        return flushes, total


def ratio(taken, upper, lower):
    """The median of the ratios within each round."""
    return statistics.median(a[0] / b[0] for a, b in zip(taken[upper], taken[lower]))


def cpu(taken, name):
    return statistics.median(used for _, used in taken[name])


def table(size, taken, peaks):
    print(f"\n### {size} files" if size.isdigit() else f"\n### {size}: 5,000 files, 20,000 commits, 10,000 packed refs")
    print(f"{'':29}{'median':>9}{'min':>8}{'p90':>8}{'CPU':>8} ms{'peak':>7} MiB{'x floor':>9}{'x git':>8}")
    for name, rows in taken.items():
        wall = sorted(row[0] for row in rows)
        peak = f"{peaks[name]:7.1f}" if name in peaks else " " * 7
        print(
            f"{name:29}{statistics.median(wall):9.2f}{wall[0]:8.2f}{wall[len(wall) * 9 // 10]:8.2f}{cpu(taken, name):8.2f}   {peak}    "
            f"{ratio(taken, name, 'floor'):9.2f}{ratio(taken, name, 'git add + commit'):8.3f}"
        )


def goals(results, missed):
    """Each goal with its figure."""

    def say(what, value, limit, below):
        ok = value <= limit if below else value >= limit
        sign = "<=" if below else ">="
        missed.extend([] if ok else [what])
        print(f"{'ok    ' if ok else 'MISSED'} {what:66}{value:9.2f}  goal {sign} {limit:g}")

    print("\n### goals")
    edts = ["edt apply"] + (["edt apply, dist"] if any("edt apply, dist" in r["taken"] for r in results.values()) else [])
    for size, result in results.items():
        taken = result["taken"]
        for edt in edts:
            if size in ("50", "5000", "80000"):
                least = {"50": 3, "5000": 7, "80000": 60}[size]
                say(f"{size}: {edt}: times faster than git add + commit", ratio(taken, "git add + commit", edt), least, False)
            say(f"{size}: {edt}: times faster than git fast-import", ratio(taken, "git fast-import", edt), 2, False)
            say(f"{size}: {edt}: times the floor", ratio(taken, edt, "floor"), 1.5 if "dist" in edt else 1.8, True)
            version = edt.replace("apply", "--version")
            say(f"{size}: {version}: times git --version", ratio(taken, version, "git --version"), 1, True)
            say(f"{size}: {edt}: peak resident MiB", result["peaks"][edt], 8, True)
            if size == "80000":
                switched = f"{edt}, switched"
                say(f"{size}: {switched}: part of git add + commit", ratio(taken, switched, "git add + commit"), 0.12, True)
        for use, (flushes, total) in result["syscalls"].items():
            say(f"{size}: {use}: flushes of an edit (exactly 1) {flushes or ''}", abs(sum(flushes.values()) - 1) + 1, 1, True)
            say(f"{size}: {use}: system calls of an edit", total, 320, True)
    for edt in edts:
        for small, large in (("50", "80000"), ("5000", "hist")):
            if small in results and large in results:
                value = cpu(results[large]["taken"], edt) / cpu(results[small]["taken"], edt)
                say(f"{edt}: CPU at {large} / CPU at {small}", value, 1.5, True)


def main():
    args = arguments()
    os.makedirs(args.scratch, exist_ok=True)
    built = build(args)
    home = os.path.join(args.scratch, "home")
    os.makedirs(home, exist_ok=True)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "EDT_"))}
    env |= {"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    results, first = {}, True
    for size in args.sizes.split(","):
        bench = Bench(size, built, env, args.scratch)
        if first:
            first = False
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
                priority = "real-time"
            except PermissionError:
                priority = "ordinary"
            git = bench.run(["git", "--version"]).decode().strip()
            linked = {name: os.path.getsize(built[name]) / 1e6 for name in ("edt", "dist") if name in built}
            print(f"{git}, Linux {platform.release()}, {os.cpu_count()} cores, {priority} priority, load {os.getloadavg()[0]:.1f}, "
                  f"{args.rounds} rounds, binaries in MB: {', '.join(f'{name} {size:.1f}' for name, size in linked.items())}")
        taken = bench.measure(args.rounds)
        peaks = bench.peaks()
        builds = {name: ", dist" if name == "dist" else "" for name in ("edt", "dist") if name in built}
        counted = {f"edt apply{words}": bench.syscalls(name, "edt") for name, words in builds.items()}
        counted |= {f"edt apply{words}, switched": bench.syscalls(name, "switched") for name, words in builds.items()}
        table(size, taken, peaks)
        sys.stdout.flush()
        results[size] = dict(taken=taken, peaks=peaks, syscalls=counted)
    missed = []
    goals(results, missed)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
