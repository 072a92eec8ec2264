// Names, contents, messages, prompts and agents that try to run in the page. None does.
import { spawnSync } from "node:child_process";
import { Repository, assert, story } from "./helper.mjs";

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "\" onerror=\"alert(1)\" autofocus onfocus=\"alert(1)",
  "' onmouseover='alert(1)",
  "javascript:alert(1)",
  "</pre></article></main><svg onload=alert(1)>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "a\u202Etxt.js",
  "<style>*{display:none}</style>",
  "{{constructor.constructor('alert(1)')()}}",
  "<base href=//example.com><meta http-equiv=refresh content=0;url=//example.com>",
];

await story(async ({ open }) => {
  const repository = Repository.with({ "a.txt": "one\n" });
  const prompt = {
    session_id: "c", cwd: repository.root, hook_event_name: "UserPromptSubmit", prompt: HOSTILE.join(" "),
  };
  const hook = spawnSync(process.env.EDT, ["agent-hook", "claude-code"], {
    cwd: repository.root, input: JSON.stringify(prompt),
  });
  assert.equal(hook.status, 0);
  const agent = await repository.agent(HOSTILE[1]);
  for (const text of HOSTILE) {
    await agent.edit({
      path: "a.txt", mode: "append", content: `${text}\n`, message: `${text}\n\n${text}`,
      allow: text.includes("\u202E") ? ["invisible_characters"] : [],
    });
  }
  // A user's own commit may have names that edt refuses to an agent.
  for (const text of HOSTILE) repository.write(`d/${text.replaceAll("/", "∕")}`, `${text}\n`);
  repository.git("add", "--all");
  repository.git("commit", "-qm", HOSTILE.join("\n"));

  const server = await repository.review();
  const page = await open(server.link);
  await page.waitForSelector("#all ins[data-w]");
  const links = await page.$$eval("nav a", (all) => all.map((link) => link.getAttribute("href")));
  const articles = [...new Set(links.map((link) => link.split("#")[0]))];
  assert.ok(articles.length > HOSTILE.length, String(articles));
  for (const link of articles) {
    assert.match(link, /^\/\?at=[a-z0-9-]+$/);
    await page.goto(server.origin + link);
    await page.waitForSelector("main article");
    const found = await page.evaluate(() => ({
      foreign: document.querySelectorAll("main script, main img, main svg, main style, main base, nav script").length,
      handlers: [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames())
        .filter((name) => name.startsWith("on")),
      schemes: [...document.links].filter((one) => !one.href.startsWith(location.origin)).length,
      bidi: /[\u202A-\u202E\u2066-\u2069]/.test(document.body.textContent),
    }));
    assert.deepEqual(found, { foreign: 0, handlers: [], schemes: 0, bidi: false }, link);
    for (const file of await page.$$("main .file > summary")) await file.hover();
  }
  await page.goto(`${server.origin}/?at=${encodeURIComponent(HOSTILE[0])}#${HOSTILE[0]}`);
  await page.waitForSelector("main article");

  // The file for a pull request has a script of its own, and no other.
  const html = spawnSync(process.env.EDT, ["review", "--html", "-"], { cwd: repository.root, encoding: "utf8" });
  const file = await open();
  await file.setContent(html.stdout);
  assert.equal(await file.locator("script").count(), 1);
  assert.equal(await file.locator("main img, main svg, main base").count(), 0);
});
