import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = `edt-cli-${process.platform}-${process.arch}`;

/** The program: the one that EDT_PROGRAM names, that of this platform's package, or that of PATH. */
export function findProgram() {
  const named = process.env.EDT_PROGRAM;
  if (named) return named;
  try {
    return createRequire(import.meta.url).resolve(`${PACKAGE}/bin/edt`);
  } catch {
    // The package is optional: it may have been left out, or there is none for the platform.
  }
  const own = fileURLToPath(new URL("../bin", import.meta.url));
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    // The link that npm makes to the launcher has the same name.
    if (!directory || directory === own || directory.includes("node_modules")) continue;
    const program = join(directory, "edt");
    if (existsSync(program)) return program;
  }
  throw new Error(
    `The package ${PACKAGE} is not installed. Install edt-cli again with its optional dependencies, ` +
      "or name a program in EDT_PROGRAM.",
  );
}
