// A session of many edits, and a long diff: when the page is painted, and scrolling without holes.
// `tests/e2e/browser.rs` makes the session; EDT_EDITS is its number of edits.
import { Repository, assert, story } from "./helper.mjs";

const EDITS = Number(process.env.EDT_EDITS);
/** Only a hang gets there: other tests may use the machine. The goal for a release build alone is 1 s. */
const MOST = 60_000;

await story(async ({ open }) => {
  const server = await new Repository().review();
  const page = await open(server.link);
  const long = `${server.origin}/?at=edit-${EDITS + 1}&whole=0#edit-${EDITS + 1}-1`;
  const places = [["all changes", `${server.origin}/?at=all`], ["one edit", `${server.origin}/?at=edit-7`], ["20,000 lines", long]];
  for (const [name, url] of places) {
    await page.goto("about:blank");
    await page.goto(url);
    const painted = await page.evaluate(() => new Promise((resolve) => {
      const of = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
      const wait = () => (of() === undefined ? requestAnimationFrame(wait) : resolve(of()));
      wait();
    }));
    const answered = await page.evaluate(() => performance.getEntriesByType("navigation")[0].responseStart);
    console.log(`${name}: answer after ${Math.round(answered)} ms, first paint after ${Math.round(painted)} ms`);
    assert.ok(painted < MOST, `${name}: ${painted} ms`);
  }
  await page.waitForFunction((count) => document.querySelectorAll("nav a[href^='/?at=edit-']").length > count, EDITS);

  // Wherever one scrolls to, the line in the middle of the window is there.
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height > 20_000 * 10, String(height));
  for (const share of [0.1, 0.9, 0.35, 0.999, 0.5]) {
    const found = await page.evaluate(async (share) => {
      scrollTo(0, document.documentElement.scrollHeight * share);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const all = [0.3, 0.5, 0.7].map((at) => document.elementFromPoint(innerWidth * 0.6, innerHeight * at));
      return all.map((one) => Boolean(one?.closest("ins")?.textContent));
    }, share);
    assert.deepEqual(found.filter((there) => there).length >= 2, true, `${share}: ${found}`);
  }

  // The rest of the list comes by itself.
  await page.goto(`${server.origin}/?at=edit-7`);
  await page.waitForFunction(() => [...document.querySelectorAll("nav a[href^='/?at=edit-']")]
    .every((link) => link.querySelector(".plus")));
});
