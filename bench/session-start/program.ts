import { agent, image, template } from "../../sdk/index.ts"

const computer = template({ id: "computer", image: image("computer"), resources: { cpu: 1, memory: "1GiB" } })

export const worker = agent({ id: "worker", template: computer, turn: () => null })
