// An agent edits through MCP while the page is open; two pages show it without being loaded again.
// Then the session lands.
import { Repository, assert, story } from "./helper.mjs";

await story(async ({ open }) => {
  const repository = Repository.with({ "a.txt": "one\n" });
  const agent = await repository.agent("claude-code");
  await agent.edit({ path: "a.txt", mode: "append", content: "two\n", message: "a: say two" });
  const server = await repository.review();
  const page = await open(server.link);
  // Another page of the same browser has the cookie.
  const other = await page.context().newPage();
  await other.goto(`${server.origin}/?at=edit-1`);
  for (const one of [page, other]) await one.evaluate(() => { window.loaded = "once"; });
  await page.waitForSelector("#all ins[data-w='#1']");

  await agent.edit({ path: "b.txt", mode: "create", content: "<b>new</b>\n", message: "b: add" });
  for (const one of [page, other]) {
    await one.waitForSelector("nav a[href='/?at=edit-2']");
    assert.equal(await one.evaluate(() => window.loaded), "once");
  }
  await page.waitForSelector("#all .file:has-text('b.txt') ins[data-w='#2']");
  assert.match(await page.textContent("#all"), /<b>new<\/b>/);
  assert.match(await other.textContent("main article h2"), /Edit 1: a: say two/);

  repository.edt("land");
  await page.waitForSelector(".top .meta:has-text('landed on main')");
  assert.equal(await page.locator("button", { hasText: "Land the session" }).count(), 0);
  assert.equal(await page.evaluate(() => window.loaded), "once");

  server.end();
  await page.waitForSelector("#news:has-text('edt review has ended')");
});
