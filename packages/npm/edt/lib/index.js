import { spawn } from "node:child_process";
import { findProgram } from "./program.js";

export { findProgram };

/** The program could not be started, or its answer is not the JSON of an answer. */
export class Failed extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "Failed";
  }
}

/** The program refused. Nothing was changed, unless a finding says so. */
export class Refused extends Error {
  constructor(answer) {
    const findings = answer.errors ?? [];
    super(findings.map((one) => `${one.code}: ${one.message}\n  ${one.hint}`).join("\n"));
    this.name = "Refused";
    this.findings = findings;
    this.codes = findings.map((one) => one.code);
    this.answer = answer;
  }
}

const MAX_ANSWER = 1 << 30;

function start(program, words, { environment, input, timeout }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { env: environment, stdio: ["pipe", "pipe", "pipe"], timeout });
    const parts = { stdout: [], stderr: [] };
    let size = 0;
    for (const name of ["stdout", "stderr"]) {
      child[name].on("data", (part) => {
        size += part.length;
        if (size > MAX_ANSWER) child.kill();
        else parts[name].push(part);
      });
    }
    child.on("error", (cause) => {
      reject(new Failed(`${program} could not be started: ${cause.message}`, { cause }));
    });
    child.on("close", (status, signal) => {
      const text = (name) => Buffer.concat(parts[name]).toString("utf8");
      resolve({ status: signal ?? status, stdout: text("stdout"), stderr: text("stderr") });
    });
    // The program may end before it has read everything.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** A worktree of a Git repository. */
export class Workspace {
  constructor(path = ".", { agent, program, timeout } = {}) {
    this.path = path;
    this.agent = agent;
    this.program = program ?? findProgram();
    this.timeout = timeout;
  }

  /** Applies edits as one transaction: all or none, recorded as one commit. */
  apply(edits, options = {}) {
    return this.#request({ edits: Array.isArray(edits) ? edits : [edits] }, options);
  }

  /** Applies a unified diff, a `*** Begin Patch` patch or SEARCH/REPLACE blocks. */
  patch(patch, options = {}) {
    return this.#request({ patch }, options);
  }

  /** A file with its blob id. */
  read(path) {
    return this.json("read", "--", path);
  }

  /** Undoes the latest edits. */
  undo(steps = 1) {
    return this.json("undo", String(steps));
  }

  /** Redoes the last undo. */
  redo() {
    return this.json("redo");
  }

  /** Reverts edits as a new commit; later edits stay. */
  revert(...edits) {
    return this.json("revert", ...edits.map(String));
  }

  /** Restores a file to its content before its latest edit, as a new commit. */
  restore(path) {
    return this.json("restore", "--", path);
  }

  /** Squashes the session into one commit on the branch it began from. */
  land(message) {
    return this.json("land", ...(message === undefined ? [] : [`--message=${message}`]));
  }

  /** The session, what is uncommitted, and what waits. */
  status() {
    return this.json("status");
  }

  /** The commits of the session, the newest first. */
  async log() {
    return (await this.json("log")).commits;
  }

  /** The answer of any command that has `--json`. */
  json(command, ...words) {
    return this.#call([command, "--json", ...words], "");
  }

  #request(request, { message, allow, dryRun }) {
    const whole = { ...request, message, agent: this.agent, allow };
    const words = [dryRun ? "check" : "apply", "--json", "--request", "-"];
    return this.#call(words, JSON.stringify(whole));
  }

  async #call(words, input) {
    const environment = this.agent ? { ...process.env, EDT_AGENT: this.agent } : process.env;
    const all = ["-C", this.path, ...words];
    const done = await start(this.program, all, { environment, input, timeout: this.timeout });
    let answer;
    try {
      answer = JSON.parse(done.stdout);
    } catch (cause) {
      throw new Failed(`edt ended with ${done.status}: ${done.stderr.trim()}`, { cause });
    }
    if (answer.errors?.length) throw new Refused(answer);
    return answer;
  }
}
