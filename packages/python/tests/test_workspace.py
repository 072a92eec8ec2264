"""The client against the real program, which ``EDT_PROGRAM`` or ``PATH`` names."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import edt_cli as edt


class WorkspaceTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        home = Path(scratch.name, "home")
        home.mkdir()
        saved = dict(os.environ)
        self.addCleanup(os.environ.update, saved)
        self.addCleanup(os.environ.clear)
        os.environ.update(
            HOME=str(home),
            XDG_CONFIG_HOME=str(home / ".config"),
            GIT_CONFIG_NOSYSTEM="1",
            GIT_AUTHOR_NAME="Ada",
            GIT_AUTHOR_EMAIL="ada@example.org",
            GIT_COMMITTER_NAME="Ada",
            GIT_COMMITTER_EMAIL="ada@example.org",
        )
        self.root = Path(scratch.name, "repository")
        self.git("init", "-q", "-b", "main", str(self.root), directory=Path(scratch.name))
        (self.root / "calc.c").write_text("int add(int a, int b) {\n    return a;\n}\n")
        self.git("add", ".")
        self.git("commit", "-qm", "begin")
        self.workspace = edt.Workspace(self.root, agent="tester", timeout=60)

    def git(self, *arguments: str, directory: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=directory or self.root, capture_output=True, check=True
        )
        return done.stdout.decode()

    def test_an_edit_is_a_commit_that_can_be_undone(self) -> None:
        change = edt.replace("calc.c", old="return a;", new="return a + b;")
        outcome = self.workspace.apply(change, message="add: return the sum")
        self.assertEqual((outcome.status, outcome.edit), ("applied", 1))
        self.assertEqual(self.git("rev-parse", "HEAD").strip(), outcome.commit)
        self.assertIn("Edt-Agent: tester", self.git("log", "-1", "--format=%B"))
        self.assertEqual(outcome.files[0].hash_after, self.workspace.read("calc.c").hash)
        self.assertEqual([one["subject"] for one in self.workspace.log()], ["add: return the sum"])
        self.workspace.undo()
        self.assertIn("return a;", (self.root / "calc.c").read_text())
        self.workspace.redo()
        self.workspace.revert(1)
        self.assertEqual(self.workspace.read("calc.c").text.count("return a;"), 1)

    def test_a_refusal_is_an_exception_that_teaches(self) -> None:
        before = (self.root / "calc.c").read_text()
        with self.assertRaises(edt.Refused) as caught:
            self.workspace.apply(edt.replace("calc.c", old="return x;", new="return 1;"))
        self.assertEqual(caught.exception.codes, ["OLD_TEXT_NOT_FOUND"])
        self.assertIn("calc.c", caught.exception.findings[0].message)
        self.assertEqual((self.root / "calc.c").read_text(), before)

    def test_a_dry_run_changes_nothing(self) -> None:
        outcome = self.workspace.apply(edt.create("new.txt", "new\n"), dry_run=True)
        self.assertIsNone(outcome.commit)
        self.assertFalse((self.root / "new.txt").exists())

    def test_several_edits_are_one_commit(self) -> None:
        outcome = self.workspace.apply(
            edt.create("run.sh", "#!/bin/sh\n", executable=True),
            edt.append("calc.c", "// end\n"),
            edt.rename("calc.c", "sum.c"),
        )
        self.assertEqual({file.path for file in outcome.files}, {"run.sh", "sum.c"})
        self.assertTrue(os.access(self.root / "run.sh", os.X_OK))
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_a_patch_is_applied(self) -> None:
        patch = "--- a/calc.c\n+++ b/calc.c\n@@ -1,3 +1,3 @@\n int add(int a, int b) {\n-    return a;\n+    return b;\n }\n"
        self.assertEqual(self.workspace.patch(patch).files[0].lines_added, 1)

    def test_an_outcome_has_the_users_comments_once(self) -> None:
        self.workspace.apply(edt.replace("calc.c", old="return a;", new="return a + b;"))
        self.as_user("comment add --path calc.c --lines 2 -m 'Why?'")
        self.as_user("comment send")
        comments = self.workspace.apply(
            edt.replace("calc.c", old="int add", new="static\nint add")
        ).comments
        assert comments is not None
        unread = comments.unread[0]
        self.assertEqual((unread.text, unread.lines, unread.line_now), ("Why?", (2, 2), 3))
        read = self.workspace.json("comment", "list")["comments"][0]["read"]
        self.assertEqual(read["agent"], "tester")
        again = self.workspace.undo().comments
        assert again is not None
        self.assertEqual((again.open, again.unread), (1, []))

    def as_user(self, call: str) -> None:
        """A call of the user at a terminal."""
        program = shlex.quote(str(self.workspace.program))
        words = ["script", "-qec", f"{program} {call}", "/dev/null"]
        markers = ("EDT_", "CLAUDE", "CODEX_", "AI_AGENT", "AGENT")
        own = {name: value for name, value in os.environ.items() if not name.startswith(markers)}
        own["SHELL"] = "/bin/sh"
        subprocess.run(words, cwd=self.root, env=own, capture_output=True, check=True)

    def test_a_path_outside_the_repository_is_a_failure_with_words(self) -> None:
        with self.assertRaises(edt.Refused) as caught:
            edt.Workspace("/", timeout=60).status()
        self.assertEqual(caught.exception.codes, ["NOT_A_REPOSITORY"])


if __name__ == "__main__":
    unittest.main()
