/** A clerk that counts the words of each line it is given, and says so as it goes. */
import { agent, image, template } from "@helmr/sdk"

const desk = template({ id: "desk", image: image("desk"), resources: { cpu: 1, memory: "512MiB" } })

const wordsOf = (line: string): number => line.split(/\s+/).filter((word) => word !== "").length

export const clerk = agent({
  id: "clerk",
  template: desk,
  runtimeMcp: { allow: [] },
  async turn(turn) {
    const lines = turn.input.flatMap((part) => part.text.split("\n"))
    const counts: number[] = []
    for (const line of lines) {
      const words = wordsOf(line)
      counts.push(words)
      await turn.output.write(`${words}  ${line}\n`)
    }
    await turn.respond(`${lines.length} lines, ${counts.reduce((sum, count) => sum + count, 0)} words`)
    return { counts }
  },
})
