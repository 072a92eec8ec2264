// Run by appliers.py: applies SEARCH/REPLACE blocks with the replacers of opencode's `edit` tool.
//
// The published program holds its JavaScript as text: the function that replaces, and those it calls, are cut from it and run. Each block is
// one call of the tool, as the model would make it: the texts without their last newline, unless the replacement is empty; in the line ends
// of the file, as the tool does it.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const REFUSAL = "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.";

function replacer(program) {
  const bytes = readFileSync(program);
  const at = bytes.indexOf(REFUSAL);
  if (at < 0) throw new Error(`${program}: the replacers are not where they were`);
  const text = bytes.toString("utf8", at - 20_000, at + 5_000);
  const start = text.search(/,\w+=0\.65,\w+=0\.65;function /) + 1;
  const main = text.match(/function (\w+)\(\w+,\w+,\w+,\w+=!1\)\{if\(\w+===\w+\)throw Error\("No changes to apply/);
  const guard = text.match(/if\(\w+=!1,(\w+)\(\w+,\w+\)\)throw Error\("Refusing replacement/);
  const end = closing(text, text.indexOf(`function ${guard[1]}(`, text.indexOf(REFUSAL)));
  return new Function(`var ${text.slice(start, end)};return ${main[1]};`)();
}

// The end of the function that begins at `start`.
function closing(text, start) {
  let depth = 0;
  for (let n = text.indexOf("{", start); ; n++) {
    depth += (text[n] === "{") - (text[n] === "}");
    if (depth === 0) return n + 1;
  }
}

function applied(replace, { file, patch }) {
  const ending = file.includes("\r\n") ? "\r\n" : "\n";
  const own = (text) => text.replaceAll("\r\n", "\n").replaceAll("\n", ending);
  let text = file;
  const said = [];
  for (const [, search, replacement] of patch.matchAll(/^<<<<<<< SEARCH\r?\n(.*?)^=======\r?\n(.*?)^>>>>>>> REPLACE/gms)) {
    const whole = (part) => own(replacement === "" ? part : part.replace(/\r?\n$/, ""));
    try {
      text = replace(text, whole(search), whole(replacement));
    } catch (error) {
      said.push(error.message);
    }
  }
  return { how: said.length === 0 ? "applied" : text === file ? "refused" : "half", text, said: said.join("; ") };
}

const replace = replacer(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(applied(replace, JSON.parse(line))));
