/** The control plane as a process of its own, whose garbage is collected on SIGUSR2. */
import { collectOnSignal } from "./collect.ts"

collectOnSignal()
await import("../fixtures/control-plane.ts")
