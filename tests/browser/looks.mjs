// Phone width, both colour schemes, and what axe-core finds. EDT_SCREENSHOTS=DIR writes the images
// of docs/guide/review.md.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Repository, assert, axeFile, story } from "./helper.mjs";

const { EDT_SCREENSHOTS } = process.env;
const BEFORE = `/// The sum of the prices in cents.
pub fn total(prices: &[u64]) -> u64 {
    prices.iter().sum()
}

/// The price after a discount in percent.
pub fn reduced(price: u64, percent: u64) -> u64 {
    price * (100 - percent) / 100
}
`;

await story(async ({ open }) => {
  const repository = Repository.with({ "src/price.rs": BEFORE, "README.md": "# Shop\n" }, "discounts");
  const agent = await repository.agent("claude-code");
  const edit = (edit) => agent.edit(edit);
  await edit({ path: "src/price.rs", mode: "edit", old_text: "    price * (100 - percent) / 100", content: "    price * (100 - percent.min(100)) / 100", message: "price: never fall below zero\n\nA discount of more than 100 percent overflowed." });
  await edit({ path: "README.md", mode: "append", content: "\nPrices are in cents.\n", message: "readme: say the unit" });
  await edit({ path: "src/price.rs", mode: "append", content: "\n/// Whether it is free.\npub fn is_free(price: u64) -> bool {\n    price == 0\n}\n", message: "price: add is_free" });
  repository.write("README.md", "# Shop\n\nPrices are in cents.\nNot yet committed.\n");
  repository.edt("undo", "1");
  const server = await repository.review();
  const page = await open(server.link);
  if (EDT_SCREENSHOTS) {
    const shots = [["review-all", "all", "light", 1100], ["review-edit", "edit-1", "dark", 1100]];
    for (const [name, at, colorScheme, width] of shots) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 600 });
      await page.goto(`${server.origin}/?at=${at}`);
      if (at === "all") await page.waitForSelector("ins[data-w]");
      await page.screenshot({ path: join(EDT_SCREENSHOTS, `${name}.png`) });
    }
  }
  await edit({ path: "LONG_NAME_".repeat(12) + ".md", mode: "create", content: `${"long ".repeat(200)}\n`, message: `notes: ${"add ".repeat(60)}` });
  const places = ["all", "edit-1", "uncommitted"];

  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const at of places) {
      await page.goto(`${server.origin}/?at=${at}`);
      if (at === "all") await page.waitForSelector("ins[data-w]");
      await page.keyboard.press("?");
      await page.evaluate(readFileSync(axeFile(), "utf8"));
      const { violations } = await page.evaluate(() => axe.run());
      const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      const found = bad.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join("\n")}`);
      assert.deepEqual(found, [], `${colorScheme} ${at}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  for (const width of [360, 768, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    for (const at of places) {
      await page.goto(`${server.origin}/?at=${at}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${width} ${at}`);
    }
  }
});
