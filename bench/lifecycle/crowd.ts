/**
 * Hundreds of living Session processes at the cost of one process of Bun: the channel of every stand-in is spoken for
 * here. One JSON line on standard output for each, with its MCP connection; the first line is a stand-in's command.
 *   bun crowd.ts SCOPES
 */
import { SessionBootstrap } from "../../protocol/channel.ts"
import { speakFor } from "./speaker.ts"
import { openStandIns } from "./stand-ins.ts"

const scopes = Number(process.argv[2])
const { command } = openStandIns(({ line }) => {
  if (line === "") return
  const bootstrap = SessionBootstrap.parse(JSON.parse(line))
  const { sessionId } = bootstrap
  speakFor({
    bootstrap,
    scopes,
    connected: (connection) => console.log(JSON.stringify({ sessionId, connection })),
  })
})
console.log(JSON.stringify({ command }))
