/**
 * From spawn to ready of a Session process, against a bare Bun process that connects a WebSocket. Both are started in
 * turn, many times in one run, so that whatever else the machine does falls on both; the medians are compared.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildSessionHost } from "../../session-host/build.ts"
import { openEndpoint } from "./endpoint.ts"

const rounds = Number(process.argv[2] ?? 60)
const repository = join(import.meta.dir, "../..")
const directory = await mkdtemp(join(tmpdir(), "session-start-"))
const endpoint = openEndpoint()

const bundle = async (): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "program.ts")],
    outdir: directory,
    naming: "index.js",
    target: "bun",
  })
  return built.outputs[0]?.path ?? ""
}

interface Contender {
  readonly name: string
  readonly command: readonly string[]
  readonly input: string
  readonly times: number[]
}

const bundlePath = await bundle()
const bootstrap = `${JSON.stringify({
  channelUrl: endpoint.url,
  secret: "none",
  sessionId: "ses_01890000-0000-7000-8000-000000000000",
  generation: 1,
  bundlePath,
  agent: "worker",
})}\n`

const contenders: readonly Contender[] = [
  {
    name: "bare bun, WebSocket",
    command: [join(import.meta.dir, "bare.ts"), endpoint.url],
    input: "",
    times: [],
  },
  {
    name: "session host, one file",
    command: [await buildSessionHost(directory)],
    input: bootstrap,
    times: [],
  },
  {
    name: "session host, sources",
    command: [join(repository, "session-host/main.ts")],
    input: bootstrap,
    times: [],
  },
]

/** As `computerd` starts it: nothing in the working directory is read. */
const flags = ["--config=/dev/null", "--tsconfig-override=/dev/null", "--no-env-file", "--no-install"]

const once = async ({ command, input, times }: Contender): Promise<void> => {
  const ready = endpoint.ready()
  const started = Bun.nanoseconds()
  const child = Bun.spawn([process.execPath, ...(input === "" ? [] : flags), ...command], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "inherit",
  })
  child.stdin.write(input)
  child.stdin.end()
  await ready
  times.push((Bun.nanoseconds() - started) / 1e6)
  child.kill("SIGKILL")
  await child.exited
}

const median = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.NaN

try {
  for (const contender of contenders) await once(contender)
  for (const { times } of contenders) times.length = 0
  for (let round = 0; round < rounds; round++) for (const contender of contenders) await once(contender)
} finally {
  await endpoint.close()
  await rm(directory, { recursive: true, force: true })
}

const [bare] = contenders
const base = median(bare?.times ?? [])
console.log(`spawn to ready, median of ${rounds}`)
for (const { name, times } of contenders)
  console.log(
    `  ${name.padEnd(24)} ${median(times).toFixed(1).padStart(6)} ms   ${(median(times) / base).toFixed(2)} x`,
  )
console.log("aim: one file at most 1.50 x")
