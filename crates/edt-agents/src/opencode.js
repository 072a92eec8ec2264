// Written by `edt setup opencode`; `edt setup opencode --remove` removes it. edt judges every edit
// and every command of opencode's own tools before, and records what it did afterwards. What edt
// cannot judge is blocked: an error thrown before a tool runs stops the tool.
import { spawn } from "node:child_process"

const EDT = "edt"
const TOOLS = new Set(["edit", "multiedit", "write", "patch", "apply_patch", "bash"])
const LIMIT = 60_000

function ask(payload) {
  return new Promise((resolve, reject) => {
    const child = spawn(EDT, ["agent-hook", "opencode"], { cwd: payload.cwd, stdio: ["pipe", "pipe", "pipe"] })
    const out = []
    const err = []
    const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT)
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => err.push(data))
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`edt could not be run: ${error.message}`))
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code === 0) return resolve(Buffer.concat(out).toString("utf8").trim())
      const why = Buffer.concat(err).toString("utf8").trim()
      reject(new Error(why || `edt ended without an answer (${code})`))
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const EdtPlugin = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const calls = new Map()
  // opencode judges a changed command by the user's rules: one that allows or asks about a command by
  // its text would not match any more.
  let mayChangeCommand = false
  const allowed = (rules) => {
    const rule = typeof rules === "object" ? (rules?.bash ?? rules?.["*"]) : rules
    return rule === undefined || rule === null || rule === "allow"
  }
  return {
    config: async (config) => {
      const agents = Object.values({ ...config.mode, ...config.agent })
      mayChangeCommand = [config, ...agents].every((one) => allowed(one?.permission))
    },
    "chat.message": async (input, output) => {
      const { sessionID, messageID = output?.message?.id, model = output?.message?.model } = input
      const texts = (output?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n").slice(0, 1000)
      const name = model?.modelID && `${model.providerID}/${model.modelID}`
      // A prompt is never stopped.
      await ask({ hook: "chat.message", sessionID, messageID, model: name, cwd, prompt }).catch(() => {})
    },
    "tool.execute.before": async (input, output) => {
      if (!TOOLS.has(input.tool)) return
      const { tool, sessionID, callID } = input
      const args = { ...output.args }
      const said = await ask({ hook: "tool.execute.before", tool, sessionID, callID, cwd, args, mayChangeCommand })
      calls.set(callID, args)
      if (tool === "bash" && said.startsWith("{")) output.args.command = JSON.parse(said).command
    },
    "tool.execute.after": async (input, output) => {
      if (!TOOLS.has(input.tool)) return
      const { tool, sessionID, callID } = input
      const args = calls.get(callID) ?? input.args
      calls.delete(callID)
      if (!args) return
      // The tool ran: edt's message is appended to the tool's output, never thrown.
      const failed = (error) => `The tool ran. ${error.message}`
      const message = await ask({ hook: "tool.execute.after", tool, sessionID, callID, cwd, args }).catch(failed)
      if (message && output) output.output = `${output.output ?? ""}\n\n${message}`
    },
  }
}
