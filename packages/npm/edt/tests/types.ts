// The types as a program uses them; `npm run check` compiles it.
import { Refused, Workspace, type Edit, type Outcome } from "../lib/index.js";

const edit: Edit = { path: "calc.c", mode: "edit", old_text: "return a;", content: "return a + b;" };
const workspace = new Workspace(".", { agent: "tester", timeout: 60_000 });
const outcome: Outcome = await workspace.apply(edit, { message: "add: return the sum" });
const open: number = outcome.comments?.open ?? 0;
const hash: string | null = outcome.files[0]?.hash_after ?? null;
// @ts-expect-error A mode that there is not.
await workspace.apply({ path: "calc.c", mode: "shred" });
try {
  await workspace.undo(2);
} catch (error) {
  if (error instanceof Refused) console.log(error.codes, error.findings[0]?.hint, hash, open);
}
