// The link works once; forms of another site and other host names are refused.
import { createServer, request } from "node:http";
import { Repository, assert, story } from "./helper.mjs";

await story(async ({ open, unexpected }) => {
  const repository = Repository.with({ "a.txt": "one\n" });
  const agent = await repository.agent();
  await agent.edit({ path: "a.txt", mode: "append", content: "two\n", message: "a: say two" });
  const tip = repository.git("rev-parse", "HEAD");
  const server = await repository.review();
  const page = await open(server.link);
  const forms = await page.$$eval("form[action='/act'] input[type=hidden]", (all) => all.map((one) => [one.name, one.value]));
  assert.ok(!page.url().includes("token"), page.url());

  // Who opens the link again has no cookie.
  const second = await open();
  const again = await second.goto(server.link);
  assert.equal(again.status(), 403);
  assert.match(await second.textContent("body"), /works once/);
  unexpected(second).unexpected.length = 0;

  // A page of another site sends the right fields from the user's browser, which has the cookie.
  const inputs = forms.map(([name, value]) => `<input name="${name}" value="${value}">`).join("");
  const other = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end(`<form method=post action="${server.origin}/act">${inputs}<button>send</button></form>`);
  });
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  const evil = await page.context().newPage();
  await evil.goto(`http://localhost:${other.address().port}/`);
  const [sent] = await Promise.all([evil.waitForNavigation(), evil.click("button")]);
  assert.equal(sent.status(), 403);
  // Neither may a script of that site read the page, or be shown around it.
  await evil.goto(`http://localhost:${other.address().port}/`);
  const read = await evil.evaluate((url) => fetch(url, { credentials: "include" }).then(() => "read", () => "refused"), server.origin);
  assert.equal(read, "refused");
  other.close();

  // A name of another site that leads to this host.
  const cookies = await page.context().cookies(server.origin);
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const port = new URL(server.origin).port;
  const asked = (host) => new Promise((resolve, reject) => {
    const sending = request({ host: "127.0.0.1", port, path: "/", headers: { host, cookie } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sending.on("error", reject);
    sending.end();
  });
  assert.equal(await asked(`127.0.0.1:${port}`), 200);
  for (const host of [`evil.example:${port}`, "127.0.0.1", `127.0.0.1.evil.example:${port}`]) {
    assert.equal(await asked(host), 403, host);
  }
  assert.ok(cookies[0].httpOnly && cookies[0].sameSite === "Strict", JSON.stringify(cookies));
  assert.equal(repository.git("rev-parse", "HEAD"), tip);
});
