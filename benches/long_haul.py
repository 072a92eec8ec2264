#!/usr/bin/env python3
"""Random operations of several agents in one repository for a long time, with a user's Git beside them.

    cargo build --release && python3 benches/long_haul.py [target/release/edt] [--steps 50000] [--agents 4] [--seed 1]

Each agent works in a linked worktree of its own: edits, undo, redo, landings into `main`. The user works in
the main worktree: commits, stash, rebase, gc, maintenance, worktrees, branches. Each agent knows what its file
must have after each answer, and what of it must be on `main` after a landing. Prints the cost of an edit in each
tenth of the time, and the disk space per edit after `edt gc`. Exits with 1 if anything is lost.

The load of the machine changes all times. So each 20th edit is followed by one in a young repository of the same
files, and the ratio of both is printed, too.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# Answers that an agent repeats later: another process had the lock, or the user's Git was at work.
BUSY = {"SESSION_BUSY", "SESSION_MOVED", "REPOSITORY_BUSY", "MERGE_CONFLICT", "UNSAVED_CHANGES"}


class Bad(Exception):
    pass


class Run:
    def __init__(self, edt, root, steps, agents, seed):
        self.edt, self.root, self.steps = os.path.abspath(edt), root, steps
        self.bad, self.times, self.young, self.busy, self.edits = [], [], [], 0, 0
        self.lock, self.left, self.over = threading.Lock(), steps, threading.Event()
        self.agents = [Agent(self, n, random.Random(f"{seed} {n}")) for n in range(agents)]
        self.user = User(self, random.Random(f"{seed} user"))
        keep = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        # The user is somebody at a terminal: no agent is among the ancestors.
        self.env = {**keep, "HOME": str(root / "home"), "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *args, at="main", check=True):
        done = subprocess.run(["git", *args], cwd=self.root / at, env=self.env, capture_output=True, text=True)
        if check and done.returncode:
            raise Bad(f"git {' '.join(args)}: {done.stderr.strip()}")
        return done

    def call(self, at, *args):
        return self.timed(at, *args)[0]

    def timed(self, at, *args):
        """The answer, and the CPU time of the call in seconds, which other programs change little."""
        pipe = subprocess.PIPE
        call = [self.edt, *args, "--json"]
        with subprocess.Popen(call, cwd=self.root / at, env=self.env, stdout=pipe, stderr=pipe, text=True) as child:
            out, error = child.stdout.read(), child.stderr.read()
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        try:
            return json.loads(out), used.ru_utime + used.ru_stime
        except ValueError:
            raise Bad(f"edt {' '.join(args)}: {child.returncode} {out[:300]} {error[:300]}") from None

    def take(self):
        with self.lock:
            self.left -= 1
            return self.steps - self.left if self.left >= 0 else None

    def prepare(self):
        (self.root / "home").mkdir()
        for key, value in (("user.name", "A User"), ("user.email", "user@example.com")):
            self.git("config", "--global", key, value, at="home")
        self.make("main")
        for agent in self.agents:
            answer = self.call("main", "begin", agent.name, "--worktree", str(self.root / agent.name))
            if answer["status"] != "applied":
                raise Bad(f"begin: {answer}")

    def make(self, name):
        (self.root / name).mkdir()
        self.git("init", "-q", "-b", "main", at=name)
        for n in range(200):
            path = self.root / name / f"src/d{n % 20}/f{n}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"line {i} of {n}\n" for i in range(30)))
        for agent in self.agents:
            agent.path(at=name).parent.mkdir(parents=True, exist_ok=True)
            agent.path(at=name).write_text("begin\n")
        (self.root / name / "user.txt").write_text("begin\n")
        self.git("add", ".", at=name)
        self.git("commit", "-qm", "begin", at=name)

    def play(self):
        self.prepare()
        threads = [threading.Thread(target=one.work) for one in [*self.agents, self.user]]
        for thread in threads:
            thread.start()
        last = time.monotonic()
        for thread in threads[:-1]:
            while thread.is_alive():
                thread.join(5)
                if time.monotonic() - last > 30:
                    last = time.monotonic()
                    print(f"  {self.steps - max(self.left, 0)} steps, {self.edits} edits, {self.busy} busy", file=sys.stderr)
        self.over.set()
        threads[-1].join()
        self.judge()

    def judge(self):
        for agent in self.agents:
            if not self.bad:
                agent.judge("the end")
                agent.landed_is_on_main()
        self.user.judge()
        done = self.git("fsck", "--strict", "--no-dangling", check=False)
        if done.returncode:
            self.bad.append(f"git fsck: {done.stdout}{done.stderr}")
        locks = [str(path) for path in (self.root / "main/.git").rglob("*.lock")]
        if locks:
            self.bad.append(f"locks: {locks}")

    def stored(self):
        said = self.git("count-objects", "-v").stdout
        field = dict(line.split(": ") for line in said.splitlines())
        return int(field["count"]), int(field["size"]) + int(field["size-pack"])


class Agent:
    def __init__(self, run, number, rng):
        self.run, self.rng, self.name = run, rng, f"agent{number}"
        self.young, self.young_edits = f"{self.name}-young", 0
        # The states before and after each edit that undo and redo lead to.
        self.lines, self.past, self.future, self.landed = ["begin"], [], [], ["begin"]

    def path(self, at=None):
        return self.run.root / (at or self.name) / f"src/{self.name}/own.txt"

    def work(self):
        try:
            while (step := self.run.take()) is not None and not self.run.bad:
                self.step(step)
        except Exception as error:  # noqa: BLE001
            self.run.bad.append(f"{self.name}: {error!r}")

    def step(self, step):
        kind = self.rng.random()
        if kind < 0.86:
            self.edit(step)
        elif kind < 0.92 and self.past:
            self.move("undo", self.past, self.future)
        elif kind < 0.95 and self.future:
            self.move("redo", self.future, self.past)
        elif kind < 0.96:
            self.land()
        else:
            call = self.rng.choice((["status"], ["log"], ["diff", "--stat"], ["read", f"src/{self.name}/own.txt"]))
            answer = self.run.call(self.name, *call)
            if answer.get("status") in ("refused", "environment", "bug"):
                raise Bad(f"{call}: {answer['errors']}")
        if step % 20 == 0:
            self.judge(f"step {step}")

    def edit(self, step):
        text, args = f"{self.name} {step} {'x' * self.rng.randrange(60)}", []
        after = [*self.lines, text]
        if len(self.lines) > 60:
            # The file stays short: half of it goes with the same edit.
            after = [*self.lines[30:], text]
            args = ["--mode", "overwrite", "--content", "".join(f"{line}\n" for line in after)]
        else:
            args = ["--mode", "append", "--content", f"{text}\n"]
        began = time.perf_counter()
        answer, cpu = self.run.timed(self.name, "apply", f"src/{self.name}/own.txt", *args)
        took = time.perf_counter() - began
        if self.answered(answer, "apply"):
            self.past.append(self.lines)
            self.lines, self.future = after, []
            with self.run.lock:
                self.run.edits += 1
                self.run.times.append((took, cpu))
                due = self.run.edits % 20 == 0
            if due:
                self.edit_young(args)

    def edit_young(self, args):
        if self.young_edits % 50 == 0:
            linked = self.run.root / f"{self.young}-linked"
            for old in (linked, self.run.root / self.young):
                shutil.rmtree(old, ignore_errors=True)
            self.run.make(self.young)
            self.run.call(self.young, "begin", "s", "--worktree", str(linked))
        self.young_edits += 1
        began = time.perf_counter()
        args = ["src/" + self.name + "/own.txt", *args, "--allow", "size_reduction"]
        answer, cpu = self.run.timed(f"{self.young}-linked", "apply", *args)
        if answer["status"] != "applied":
            raise Bad(f"young: {answer}")
        with self.run.lock:
            self.run.young.append((len(self.run.times), time.perf_counter() - began, cpu))

    def move(self, call, source, other):
        if self.answered(self.run.call(self.name, call), call):
            other.append(self.lines)
            self.lines = source.pop()

    def land(self):
        if self.lines == self.landed:
            return
        if self.answered(self.run.call(self.name, "land"), "land"):
            self.landed, self.past, self.future = list(self.lines), [], []
            self.landed_is_on_main()

    def answered(self, answer, call):
        if answer["status"] == "applied":
            return True
        codes = {error["code"] for error in answer["errors"]}
        # What landed cannot be undone, and an undone edit may be gone after a landing.
        ends = {"NOTHING_TO_UNDO", "NOTHING_TO_REDO", "NOTHING_TO_LAND"}
        if codes and codes <= BUSY | ends:
            with self.run.lock:
                self.run.busy += 1
            return False
        raise Bad(f"{call}: {answer['status']} {answer['errors']}")

    def judge(self, where):
        found = self.path().read_text().splitlines()
        if found != self.lines:
            raise Bad(f"{where}: {self.path()} has {found[-3:]}, not {self.lines[-3:]}")

    def landed_is_on_main(self):
        found = self.run.git("show", f"main:src/{self.name}/own.txt").stdout.splitlines()
        if found != self.landed:
            raise Bad(f"main has {found[-3:]} of {self.name}, not {self.landed[-3:]}")


class User:
    def __init__(self, run, rng):
        self.run, self.rng, self.lines, self.number = run, rng, ["begin"], 0

    def work(self):
        try:
            while not self.run.over.is_set() and not self.run.bad:
                self.step()
                self.run.over.wait(self.rng.random() * 0.4)
        except Exception as error:  # noqa: BLE001
            self.run.bad.append(f"user: {error!r}")

    def git(self, *args):
        """Git as a user calls it: a lock that is held for a moment is no reason to give up."""
        for _ in range(100):
            done = self.run.git(*args, check=False)
            held = (".lock", "cannot lock ref", "could not write index")
            if done.returncode == 0 or not any(one in done.stderr for one in held):
                return done
            time.sleep(0.05)
        raise Bad(f"git {' '.join(args)}: {done.stderr}")

    def must(self, *args):
        done = self.git(*args)
        if done.returncode:
            raise Bad(f"git {' '.join(args)}: {done.stdout} {done.stderr}")
        return done

    def step(self):
        self.number += 1
        n, file = self.number, self.run.root / "main/user.txt"
        kind = self.rng.randrange(9)
        if kind < 3:
            self.lines.append(f"user {n}")
            file.write_text("".join(f"{line}\n" for line in self.lines))
            if self.rng.random() < 0.7:
                self.must("commit", "-qm", f"user {n}", "user.txt")
        elif kind == 3 and self.git("diff", "--quiet", "user.txt").returncode:
            self.must("stash", "push", "-q", "user.txt")
            self.must("stash", "pop", "-q")
        elif kind == 4:
            self.git("gc", "-q")
        elif kind == 5:
            self.git("maintenance", "run", "--task=loose-objects", "--quiet")
        elif kind == 6:
            place = str(self.run.root / f"side{n}")
            self.must("worktree", "add", "-q", "-b", f"side{n}", place, "main")
            side = self.run.root / f"side{n}"
            (side / f"side{n}.txt").write_text("side\n")
            self.run.git("add", ".", at=f"side{n}")
            self.run.git("commit", "-qm", f"side {n}", at=f"side{n}")
            self.run.git("rebase", "-q", "main", at=f"side{n}", check=False)
            self.must("worktree", "remove", "--force", place)
            self.must("branch", "-q", "-m", f"side{n}", f"renamed{n}")
        elif kind == 7:
            self.must("pack-refs", "--all")
        else:
            self.must("status", "--porcelain")

    def judge(self):
        found = (self.run.root / "main/user.txt").read_text().splitlines()
        if found != self.lines:
            self.run.bad.append(f"user.txt has {found[-3:]}, not {self.lines[-3:]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("edt", nargs="?", default="target/release/edt")
    parser.add_argument("--steps", type=int, default=50000)
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the repository")
    options = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="edt-long-haul-"))
    run = Run(options.edt, root, options.steps, options.agents, options.seed)
    began = time.monotonic()
    try:
        run.play()
    except Bad as error:
        run.bad.append(str(error))
    loose, kib = run.stored()
    print(f"{options.steps} steps, {run.edits} edits, {run.busy} refused as busy, {time.monotonic() - began:.0f} s")
    tenth = max(len(run.times) // 10, 1)
    for name, which in (("time", 0), ("CPU time", 1)):
        old, young = [], []
        for n in range(10):
            part = range(n * tenth, (n + 1) * tenth)
            old.append(statistics.median(one[which] * 1000 for one in run.times[part.start : part.stop]))
            young.append(statistics.median([one[which + 1] * 1000 for one in run.young if one[0] in part] or [0]))
        for what, each in (("here", old), ("young", young), ("ratio", [a / b if b else 0 for a, b in zip(old, young)])):
            print(f"median {name} of an edit in each tenth, {what}: {' '.join(f'{one:.2f}' for one in each)}")
            print(f"  last against first: {each[-1] / each[0] if each[0] else 0:.2f}")
    print(f"before maintenance: {loose} loose objects, {kib} KiB ({kib / max(run.edits, 1):.2f} an edit)")
    # One that edt or Git started in the background may still run.
    for _ in range(60):
        if not run.call("main", "gc").get("errors"):
            break
        time.sleep(1)
    loose, kib = run.stored()
    print(f"after `edt gc`: {loose} loose objects, {kib} KiB ({kib / max(run.edits, 1):.2f} an edit)")
    for line in run.bad:
        print(f"BAD {line}")
    if run.bad or options.keep:
        print(f"kept: {root}")
    else:
        shutil.rmtree(root)
    sys.exit(bool(run.bad))


if __name__ == "__main__":
    main()
