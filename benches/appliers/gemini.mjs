// Run by appliers.py: applies SEARCH/REPLACE blocks with the replacement of Gemini CLI's `replace` tool.
//
// `calculateReplacement` and `getErrorReplaceResult` are the published package's. Each block is one call of the tool, as the model would make
// it: the texts without their last newline, unless the replacement is empty. The line ends of the file are removed before and restored after,
// as the tool does it. The call to a model that repairs a failed edit is left out.

import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { calculateReplacement, getErrorReplaceResult } = await import(pathToFileURL(join(process.argv[2], "dist/src/tools/edit.js")));

const config = new Proxy({}, { get: () => () => false });

async function applied({ path, file, patch }) {
  const crlf = file.includes("\r\n");
  let text = file.replaceAll("\r\n", "\n");
  const before = text;
  const said = [];
  for (const [, search, replacement] of patch.matchAll(/^<<<<<<< SEARCH\r?\n(.*?)^=======\r?\n(.*?)^>>>>>>> REPLACE/gms)) {
    const whole = (part) => (replacement === "" ? part : part.replace(/\r?\n$/, ""));
    const params = { file_path: path, old_string: whole(search), new_string: whole(replacement), instruction: "" };
    const found = await calculateReplacement(config, { params, currentContent: text, abortSignal: new AbortController().signal });
    const error = getErrorReplaceResult(params, found.occurrences, found.finalOldString, found.finalNewString);
    if (error) said.push(error.display);
    else text = found.newContent;
  }
  const how = said.length === 0 ? "applied" : text === before ? "refused" : "half";
  return { how, text: text === before ? file : crlf ? text.replaceAll("\n", "\r\n") : text, said: said.join("; ") };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await applied(JSON.parse(line))));
