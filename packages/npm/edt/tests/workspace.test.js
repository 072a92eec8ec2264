// The client and the launcher against the real program, which EDT_PROGRAM names.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Failed, Refused, Workspace } from "../lib/index.js";

const scratch = mkdtempSync(join(tmpdir(), "edt-npm-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const home = join(scratch, "home");
mkdirSync(home);
Object.assign(process.env, {
  HOME: home,
  XDG_CONFIG_HOME: join(home, ".config"),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
});

let made = 0;
function repository() {
  const root = join(scratch, `repository-${(made += 1)}`);
  mkdirSync(root);
  const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" });
  git("init", "-q", "-b", "main");
  writeFileSync(join(root, "calc.c"), "int add(int a, int b) {\n    return a;\n}\n");
  git("add", ".");
  git("commit", "-qm", "begin");
  const workspace = new Workspace(root, { agent: "tester", timeout: 60_000 });
  return { root, git, workspace, text: () => readFileSync(join(root, "calc.c"), "utf8") };
}

const SUM = { path: "calc.c", mode: "edit", old_text: "return a;", content: "return a + b;" };

test("an edit is a commit that can be undone", async () => {
  const { git, workspace, text } = repository();
  const outcome = await workspace.apply(SUM, { message: "add: return the sum" });
  assert.deepEqual([outcome.status, outcome.edit], ["applied", 1]);
  assert.equal(git("rev-parse", "HEAD").trim(), outcome.commit);
  assert.match(git("log", "-1", "--format=%B"), /Edt-Agent: tester/);
  assert.equal((await workspace.read("calc.c")).hash, outcome.files[0].hash_after);
  assert.deepEqual((await workspace.log()).map((one) => one.subject), ["add: return the sum"]);
  await workspace.undo();
  assert.match(text(), /return a;/);
  await workspace.redo();
  await workspace.revert(1);
  assert.match(text(), /return a;/);
});

test("a refusal rejects and teaches", async () => {
  const { workspace, text } = repository();
  const before = text();
  const refused = await workspace.apply({ ...SUM, old_text: "return x;" }).catch((error) => error);
  assert.ok(refused instanceof Refused);
  assert.deepEqual(refused.codes, ["OLD_TEXT_NOT_FOUND"]);
  assert.equal(text(), before);
});

test("a dry run changes nothing", async () => {
  const { workspace, text } = repository();
  const outcome = await workspace.apply(SUM, { dryRun: true });
  assert.equal(outcome.commit, null);
  assert.match(text(), /return a;/);
});

test("a program that is not there is a failure", async () => {
  const { root } = repository();
  const workspace = new Workspace(root, { program: join(root, "no-program") });
  await assert.rejects(workspace.status(), Failed);
});

test("the launcher hands on arguments, input and the exit status", () => {
  const { root } = repository();
  const launcher = fileURLToPath(new URL("../bin/edt.js", import.meta.url));
  const start = (words, input) => {
    return spawnSync(process.execPath, [launcher, ...words], { cwd: root, input, encoding: "utf8" });
  };
  const applied = start(["apply", "--json", "--request", "-"], JSON.stringify(SUM));
  assert.equal(JSON.parse(applied.stdout).status, "applied");
  const refused = start(["apply", "--json", "--request", "-"], JSON.stringify(SUM));
  const direct = spawnSync(process.env.EDT_PROGRAM, ["apply", "--json", "--request", "-"], {
    cwd: root,
    input: JSON.stringify(SUM),
  });
  assert.notEqual(refused.status, 0);
  assert.equal(refused.status, direct.status);
});
