// The keyboard alone: entries, files, marks, both sides, white space, help; the focus is visible.
import { Repository, assert, story } from "./helper.mjs";

await story(async ({ open }) => {
  const repository = Repository.with({ "a.txt": "one\n  two\n", "b.txt": "b\n" });
  const agent = await repository.agent();
  await agent.edit({ path: "a.txt", mode: "overwrite", content: "one\ntwo\n", message: "a: align" });
  await agent.edit({ path: "b.txt", mode: "append", content: "c\n", message: "b: say c" });
  const server = await repository.review();
  const page = await open(server.link);
  const focus = () => page.evaluate(() => {
    const style = getComputedStyle(document.activeElement);
    return [document.activeElement.innerText.trim().split("\n")[0], style.outlineStyle];
  });
  const is = async (what, text) => {
    const [label, outline] = await focus();
    assert.ok(label.includes(text), `${what}: ${label}`);
    assert.notEqual(outline, "none", what);
  };

  await page.keyboard.press("Tab");
  await is("the first stop", "Skip to the changes");
  await page.keyboard.press("n");
  await is("n", "a.txt");
  await page.keyboard.press("n");
  await is("n again", "b.txt");
  await page.keyboard.press("p");
  await is("p", "a.txt");
  await page.keyboard.press("r");
  await page.waitForSelector("#all-1 .seen");
  await page.waitForFunction(() => document.activeElement?.matches("#all-2 > summary"));

  await page.keyboard.press("s");
  assert.equal(await page.getAttribute("#split", "aria-pressed"), "true");
  await page.keyboard.press("s");
  assert.equal(await page.getAttribute("#split", "aria-pressed"), "false");
  await page.keyboard.press("w");
  assert.equal(await page.getAttribute("#space", "aria-pressed"), "true");
  await page.keyboard.press("w");
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#help"));
  await page.keyboard.press("Escape");
  assert.ok(await page.isHidden("#help"));

  // Down to the edits: each entry that is another page is loaded.
  for (let presses = 0; presses < 6 && !page.url().includes("at=edit-1"); presses += 1) {
    const before = page.url();
    await page.keyboard.press("j");
    await page.waitForFunction((url) => location.href !== url && document.readyState === "complete", before);
  }
  assert.match(await page.textContent("main article h2"), /Edit 1: a: align/);
  await page.keyboard.press("k");
  await page.waitForSelector("article#all");
});
