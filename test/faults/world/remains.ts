/** What is left of a world after its end: processes, zombies, listeners, control groups, files. */
import { Database } from "bun:sqlite"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { listeners } from "../../e2e/sandbox.ts"

interface Seen {
  readonly pid: number
  readonly state: string
  readonly command: string
  readonly text: string
}

const read = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "")

const look = async (pid: number): Promise<Seen> => {
  const [stat, cmdline, environ] = await Promise.all(
    ["stat", "cmdline", "environ"].map((name) => read(`/proc/${pid}/${name}`)),
  )
  const state = (stat ?? "").slice((stat ?? "").lastIndexOf(")") + 2)[0] ?? "X"
  const command = (cmdline ?? "").split("\0").join(" ").trim()
  return { pid, state, command, text: `${cmdline}\0${environ}` }
}

const processes = async (): Promise<readonly Seen[]> =>
  Promise.all((await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map((name) => look(Number(name))))

/** Those that were deleted too: the store keeps their rows, and what outlived their removal is what is looked for. */
const computersOf = async (directory: string): Promise<ReadonlySet<string>> => {
  const standing = await readdir(join(directory, "state/computers")).catch(() => [])
  const database = new Database(join(directory, "state/control-plane.sqlite"), { readonly: true })
  try {
    const rows = database.query<{ readonly id: string }, []>("SELECT id FROM computers").all()
    return new Set([...standing, ...rows.map(({ id }) => id)])
  } finally {
    database.close()
  }
}

const needlesOf = async (directory: string): Promise<readonly string[]> => [
  directory,
  ...[...(await computersOf(directory))].map((id) => `HELMR_COMPUTER_ID=${id}`),
]

/** Living processes of a world, supervisors and Session processes alike; not its control plane. */
const livingOf = async (directory: string): Promise<readonly Seen[]> => {
  const needles = await needlesOf(directory)
  return (await processes())
    .filter(({ pid, state }) => pid !== process.pid && !["Z", "X"].includes(state))
    .filter(({ text }) => needles.some((needle) => text.includes(needle)))
}

export const pidsOf = async (directory: string): Promise<readonly number[]> =>
  (await livingOf(directory)).map(({ pid }) => pid)

/** The pids of supervisors, by Computer. */
export const supervisorsOf = async (directory: string): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>()
  for (const { pid, state, text } of await processes()) {
    if (["Z", "X"].includes(state) || !text.includes(`${directory}/programs/supervisor.js`)) continue
    const computer = /\/computers\/(cmp_[^/\0]+)\/supervisor\.json/.exec(text)?.[1]
    if (computer !== undefined) found.set(computer, pid)
  }
  return found
}

/** Children of this process that nobody has collected, and any that died below one of `parents`. */
const zombies = async (): Promise<readonly number[]> => {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(all.map((pid) => read(`/proc/${pid}/stat`)))
  return stats.flatMap((stat) => {
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return state === "Z" && Number(parent) === process.pid ? [Number(stat.split(" ")[0])] : []
  })
}

/** In words; call it when everything has been closed and before the directory is removed. */
export const remainsOf = async (directory: string): Promise<readonly string[]> => {
  const living = await livingOf(directory)
  const files = await readdir(join(directory, "tmp")).catch(() => [])
  const staged = await readdir(join(directory, "state/staging")).catch(() => [])
  return [
    ...living.map(({ pid, command }) => `process ${pid}: ${command}`),
    ...(await listeners(living.map(({ pid }) => pid))).map((address) => `a listener at ${address}`),
    ...(await zombies()).map((pid) => `zombie ${pid}`),
    ...files.map((name) => `file ${join("tmp", name)}`),
    ...staged.map((name) => `file ${join("state/staging", name)}`),
  ]
}
