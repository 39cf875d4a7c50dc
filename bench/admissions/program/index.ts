/** One Agent that hands its connection to the benchmark and keeps its Turn running until it is told to stop. */
import { agent, image, template } from "@helmr/sdk"

const box = template({ id: "box", image: image("box"), resources: { cpu: 1, memory: "1GiB" } })

export const caller = agent({
  id: "caller",
  template: box,
  async turn(turn, ctx) {
    const connection = await ctx.mcp.getConnectionOptions()
    await turn.output.write(JSON.stringify({ ...connection, sessionId: ctx.session.id }))
    await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }))
    return null
  },
})
