// A page that renews itself keeps what the user does, and many pages of one browser all hear of it.
import { Repository, assert, story } from "./helper.mjs";

await story(async ({ open }) => {
  const repository = Repository.with({ "a.txt": "one\n" });
  const agent = await repository.agent("claude-code");
  const add = (path) => agent.edit({ path, mode: "create", content: "new\n", message: `${path}: add` });
  await agent.edit({ path: "a.txt", mode: "append", content: "two\n", message: "a: say two" });
  const server = await repository.review();
  const page = await open(server.link);
  const others = [];
  for (let count = 0; count < 8; count += 1) {
    const other = await page.context().newPage();
    await other.goto(`${server.origin}/?at=all`);
    others.push(other);
  }

  // The place of the file changes, not its path.
  await page.bringToFront();
  await page.click("#all-1 > summary");
  assert.equal(await page.evaluate(() => document.querySelector("#all-1").open), false);
  await add("0.txt");
  for (const one of [page, ...others]) await one.waitForSelector("nav a[href='/?at=edit-2']");
  await page.waitForSelector("#all-2 .path:has-text('a.txt')", { state: "attached" });
  const kept = () => page.evaluate(() => [
    document.querySelector("#all-1").open, document.querySelector("#all-2").open, document.activeElement.parentElement.id,
  ]);
  assert.deepEqual(await kept(), [true, false, "all-2"]);

  // The key opens the edit of a line that was chosen with the mouse.
  await page.click("#all-2 > summary");
  const line = page.locator("#all-2 ins[data-n='2'][data-w='#1']");
  await line.click({ position: { x: 8, y: 5 } });
  await page.waitForSelector("#all-2 ins.chosen");
  await page.keyboard.press("e");
  await page.waitForURL((url) => url.searchParams.get("at") === "edit-1");

  // A text that the user writes stays, and the page says that it is out of date.
  await page.click("main > .actions .say > summary");
  await page.fill("main > .actions .say textarea", "half a sent");
  await page.evaluate(() => document.activeElement.blur());
  await add("c.txt");
  await page.waitForSelector("#news:has-text('The session changed')");
  assert.equal(await page.inputValue("main > .actions .say textarea"), "half a sent");
  for (const one of others) await one.waitForSelector("nav a[href='/?at=edit-3']");
  server.end();
});
