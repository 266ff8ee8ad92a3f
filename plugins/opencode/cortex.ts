// Cortex for opencode (plugin API V1): put this file into .opencode/plugins/ of a project, or ~/.config/opencode/plugins/.
// It needs the command `cortex` on the PATH; without it, it does nothing.
import { spawn } from "node:child_process"

const LIMIT = 10_000 // milliseconds for a hook

// What a hook prints, and "" for every failure: a memory that is not there must not stop a session.
const hook = (event, table, cwd) =>
  new Promise((resolve) => {
    let said = ""
    const child = spawn("cortex", ["hook", event, "--host", "claude"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), LIMIT)
    const end = (text) => (clearTimeout(timer), resolve(text))
    child.on("error", () => end("")) // there is no cortex
    child.on("close", () => end(said))
    child.stdin.on("error", () => {}) // it ended before it read all
    child.stdout.on("data", (data) => (said += data))
    child.stdin.end(JSON.stringify({ cwd, ...table }))
  })

const context = async (session_id, cwd) => {
  try {
    const said = await hook("session-start", { session_id, source: "startup", hook_event_name: "SessionStart" }, cwd)
    return JSON.parse(said).hookSpecificOutput.additionalContext || ""
  } catch {
    return "" // nothing was said
  }
}

export const Cortex = async ({ client, directory }) => {
  if (!client?.session?.messages || !directory) return {} // another API than V1
  const contexts = new Map() // session -> what it was told; it is the same at every turn
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const id = input?.sessionID
      if (!id || !Array.isArray(output?.system)) return
      if (!contexts.has(id)) contexts.set(id, context(id, directory))
      const text = await contexts.get(id)
      if (text) output.system.push(text)
    },
    event: async ({ event }) => {
      const id = event?.properties?.sessionID
      if (event?.type !== "session.idle" || !id) return
      try {
        const messages = (await client.session.messages({ path: { id } })).data ?? []
        const last = messages.filter((one) => one.info?.role === "assistant").at(-1)
        const text = (last?.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n\n")
        if (text) await hook("stop", { session_id: id, last_assistant_message: text, hook_event_name: "Stop" }, directory)
      } catch {
        // the session is gone: there is nothing to keep
      }
    },
  }
}
