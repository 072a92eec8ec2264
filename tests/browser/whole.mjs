// The buttons: what each leaves is what the command of the same name leaves.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Repository, assert, story } from "./helper.mjs";

/** Each step: where, the button, and what must then be true of the files and the page. */
const STEPS = [
  { at: "edit-2", button: "Revert this edit", answer: /edt revert 2/, files: { "a.txt": "one\ntwo\n", "b.txt": "b\nc\n" } },
  { at: "edit-3", button: "Undo to here", answer: /edt undo --to 3/, files: { "a.txt": "one\ntwo\nthree\n" } },
  { at: "undone", button: "Redo the last undo", answer: /edt redo/, files: { "a.txt": "one\ntwo\n" } },
  { at: "all", menu: "Restore a file…", select: "a.txt", button: "Restore", answer: /edt restore -- '?:\/a\.txt/, files: { "a.txt": "one\ntwo\nthree\n" } },
  { at: "edit-1", button: "Land to here", answer: /edt land --to 1/, main: "one\ntwo\n" },
  { at: "all", menu: "Land…", fill: "all of it", button: "Land the session", answer: /edt land/, subject: "all of it" },
];

await story(async ({ open }) => {
  const repository = Repository.with({ "a.txt": "one\n", "b.txt": "b\n" });
  const agent = await repository.agent();
  for (const [path, content] of [["a.txt", "two\n"], ["a.txt", "three\n"], ["b.txt", "c\n"]]) {
    await agent.edit({ path, mode: "append", content, message: `say ${content.trim()}` });
  }
  const server = await repository.review();
  const page = await open(server.link);
  for (const step of STEPS) {
    await page.goto(`${server.origin}/?at=${step.at}`);
    if (step.at === "undone") await page.click("nav a[href^='/?at=undone']");
    if (step.menu) await page.click(`summary:has-text("${step.menu}")`);
    if (step.select) await page.selectOption("select[name=file]", { label: step.select });
    if (step.fill) await page.fill("details[open] textarea", step.fill);
    await page.click(`button:text-is("${step.button}")`);
    await page.waitForSelector(".answer");
    const answer = await page.textContent(".answer");
    assert.match(answer, step.answer);
    assert.equal(await page.locator(".answer.refused").count(), 0, answer);
    for (const [path, text] of Object.entries(step.files ?? {})) {
      assert.equal(readFileSync(join(repository.root, path), "utf8"), text, `${step.button}: ${path}`);
    }
    if (step.main) assert.equal(repository.git("show", "main:a.txt"), step.main);
    if (step.subject) assert.equal(repository.git("log", "-1", "--format=%s", "main").trim(), step.subject);
  }
  assert.equal(repository.git("status", "--porcelain"), "");
});
