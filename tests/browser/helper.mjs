// What the stories share: a repository, an agent that edits through MCP, the server of the page, and
// a browser in which nothing unexpected may happen. `tests/e2e/browser.rs` starts each story.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import assert from "node:assert/strict";

const { EDT, EDT_CLIENTS_DIR, EDT_CHROMIUM } = process.env;
const installed = createRequire(join(EDT_CLIENTS_DIR, "node_modules", "none.js"));
export const axeFile = () => installed.resolve("axe-core/axe.min.js");
export { assert };

const children = new Set();
const started = (program, args, directory) => {
  const child = spawn(program, args, { cwd: directory, stdio: ["pipe", "pipe", "inherit"] });
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
};

export class Repository {
  constructor(root = process.cwd()) { this.root = root; }

  git(...args) {
    const done = spawnSync("git", args, { cwd: this.root, encoding: "utf8" });
    assert.equal(done.status, 0, `git ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  write(path, text) {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  /** A repository with one commit of `files`, and a session. */
  static with(files, session = "s") {
    const repository = new Repository();
    repository.git("init", "-q", "-b", "main");
    repository.git("config", "user.name", "A User");
    repository.git("config", "user.email", "user@example.com");
    for (const [path, text] of Object.entries(files)) repository.write(path, text);
    repository.git("add", "--all");
    repository.git("commit", "-qm", "begin");
    repository.edt("begin", session);
    return repository;
  }

  /** The answer of a call of edt, which must succeed. */
  edt(...args) {
    const done = spawnSync(EDT, [...args, "--json"], { cwd: this.root, encoding: "utf8" });
    assert.equal(done.status, 0, `edt ${args.join(" ")}: ${done.stdout} ${done.stderr}`);
    return JSON.parse(done.stdout);
  }

  /** An agent with this name, connected through MCP. */
  async agent(name = "agent") {
    const child = started(EDT, ["mcp"], this.root);
    const answers = new Map();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const answer = JSON.parse(line);
      answers.get(answer.id)?.(answer);
    });
    let last = 0;
    const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const ask = (method, params) => new Promise((resolve) => {
      last += 1;
      answers.set(last, resolve);
      send({ id: last, method, params });
    });
    await ask("initialize", {
      protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name, version: "1" },
    });
    send({ method: "notifications/initialized" });
    const call = async (tool, args) => {
      const answer = await ask("tools/call", { name: tool, arguments: args });
      assert.ok(answer.result && !answer.result.isError, JSON.stringify(answer));
      return answer.result.structuredContent;
    };
    return { call, edit: (edit) => call("apply", edit), end: () => child.stdin.end() };
  }

  /** The server of the page. Its link works once. */
  async review(...args) {
    const child = started(EDT, ["review", ...args], this.root);
    const lines = createInterface({ input: child.stdout });
    const link = await new Promise((resolve, reject) => {
      lines.on("line", (line) => { const at = line.indexOf("http://"); if (at >= 0) resolve(line.slice(at)); });
      child.on("exit", () => reject(new Error("edt review ended")));
    });
    return { link, origin: new URL(link).origin, end: () => child.kill("SIGINT") };
  }
}

/** A page in which a dialog, an error, and a violation of the content security policy are failures. */
export class Watched {
  constructor(page) {
    this.page = page;
    this.unexpected = [];
    page.on("dialog", (dialog) => { this.unexpected.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("pageerror", (error) => this.unexpected.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.unexpected.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      if (!/^http:\/\/(127\.0\.0\.1|localhost):/.test(request.url())) this.unexpected.push(`request: ${request.url()}`);
    });
  }

  check() { assert.deepEqual(this.unexpected.splice(0), []); }
}

/** Runs a story in a browser and fails if anything unexpected happened in a watched page. */
export const story = async (tell) => {
  const { chromium } = installed("playwright-core");
  const root = process.getuid() === 0;
  const browser = await chromium.launch({ executablePath: EDT_CHROMIUM, chromiumSandbox: !root });
  const pages = [];
  /** A watched page of a browser profile of its own. */
  const open = async (link, options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(60_000);
    const watched = new Watched(await context.newPage());
    pages.push(watched);
    if (link) {
      await watched.page.goto(link);
      await watched.page.waitForSelector("main article");
    }
    return watched.page;
  };
  try {
    await tell({ open, browser, unexpected: (page) => pages.find((one) => one.page === page) });
    pages.forEach((watched) => watched.check());
  } finally {
    await browser.close();
    children.forEach((child) => child.kill("SIGKILL"));
  }
};
