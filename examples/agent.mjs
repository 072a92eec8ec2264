#!/usr/bin/env node
// An agent that changes files through edt alone: node agent.mjs 'add a test for parse()'
// OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL name any endpoint with chat completions.
import { spawnSync } from "node:child_process";

const base = (process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1").replace(/\/$/, "");
const modes = ["edit", "append", "insert", "replace_lines", "create", "overwrite", "delete"];
const [text, number] = [{ type: "string" }, { type: "integer" }];
const tools = {
  read: ["Show a file with line numbers.", { path: text }],
  apply: ["Change one file; the answer says what was refused and what to send instead.",
    { path: text, mode: { type: "string", enum: modes }, old_text: text, content: text,
      start_line: number, end_line: number, expected_text: text, message: text }],
  run: ["Run a program, such as a test; no shell reads the arguments.",
    { program: text, args: { type: "array", items: text } }],
};

function edt(args, input = "") {
  // EDT_AGENT says that an agent calls, so that edt asks for the user where that is needed.
  const env = { ...process.env, EDT_AGENT: "examples/agent.mjs" };
  const done = spawnSync("edt", args, { input, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  return done.stdout || done.stderr || String(done.error);
}

function call(name, args) {
  if (name === "read") return edt(["read", "--json", "--", String(args.path ?? "")]);
  return name in tools ? edt([name, "--request", "-", "--json"], JSON.stringify(args)) : "no such tool";
}

async function ask(messages) {
  const listed = Object.entries(tools).map(([name, [description, properties]]) => ({
    type: "function", function: { name, description, parameters: { type: "object", properties } } }));
  const answer = await fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_API_KEY ?? ""}` },
    body: JSON.stringify({ model: process.env.OPENAI_MODEL ?? "gpt-5.5", messages, tools: listed }),
  });
  if (!answer.ok) throw new Error(`the model answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()).choices[0].message;
}

const messages = [{ role: "system", content: edt(["guide"]) },
  { role: "user", content: process.argv.slice(2).join(" ") }];
for (let turn = 0; turn < 50; turn++) {
  const message = await ask(messages);
  messages.push(message);
  if (!message.tool_calls?.length) { console.log(message.content ?? ""); process.exit(0); }
  for (const { id, function: { name, arguments: json } } of message.tool_calls) {
    let content;
    try { content = call(name, JSON.parse(json || "{}")); } catch (error) { content = `the arguments are not JSON: ${error}`; }
    messages.push({ role: "tool", tool_call_id: id, content });
  }
}
throw new Error("50 answers of the model without an end");
