/**
 * Longer runs, by hand and in the nightly check:
 *   bun test/control-plane/model/run.ts --histories 10000 --actions 60 [--seed S] [--long 200] [--mutants]
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { mutants } from "./mutants.ts"

const { values } = parseArgs({
  options: {
    histories: { type: "string", default: "1000" },
    actions: { type: "string", default: "60" },
    long: { type: "string", default: "0" },
    seed: { type: "string" },
    /** Breaks the rule of this number before anything is loaded. */
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
  },
})

const controlPlane = join(import.meta.dir, "../../../control-plane")
const environments = ["one", "two", "three"]

const breakRule = (index: number): void => {
  const mutant = mutants[index]
  if (mutant === undefined) throw new Error(`there is no mutant ${index}`)
  const path = join(controlPlane, mutant.file)
  Bun.plugin({
    name: "mutant",
    setup: (build) => {
      build.onLoad(
        { filter: new RegExp(`/control-plane/${mutant.file.replaceAll(".", "\\.")}$`) },
        async () => {
          const text = await Bun.file(path).text()
          if (!text.includes(mutant.original))
            throw new Error(`mutant ${index} does not fit ${mutant.file} any more`)
          return { contents: text.replace(mutant.original, mutant.broken), loader: "ts" }
        },
      )
    },
  })
}

/** The first line of what the model said, or `undefined` when it noticed nothing. */
const run = async (): Promise<string | undefined> => {
  const { runHistories } = await import("./histories.ts")
  const seed = values.seed === undefined ? {} : { seed: Number(values.seed) }
  try {
    const common = {
      environments,
      compareEvery: 1,
      path: ":memory:",
      shrink: values.mutant === undefined,
      ...seed,
    }
    const short = await runHistories({
      ...common,
      histories: Number(values.histories),
      actions: Number(values.actions),
      minActions: 10,
    })
    const long = Number(values.long)
    // Long ones are on a file, so that the store is closed and opened again among everything else.
    const { path: _, ...onFile } = common
    if (long > 0)
      await runHistories({ ...onFile, compareEvery: 25, histories: long, actions: 2_000, minActions: 1_000 })
    if (values.mutant === undefined)
      for (const [what, count] of [...short].sort()) console.log(`${count}\t${what}`)
    return undefined
  } catch (error) {
    if (values.mutant === undefined) console.error(error)
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    return cause.split("\n")[0]
  }
}

const runMutants = async (): Promise<boolean> => {
  let all = true
  for (const [index, mutant] of mutants.entries()) {
    const child = Bun.spawn(
      [
        process.execPath,
        import.meta.path,
        "--mutant",
        String(index),
        "--histories",
        values.histories,
        "--actions",
        "250",
        "--seed",
        values.seed ?? "1",
      ],
      { stdout: "pipe", stderr: "inherit" },
    )
    const said = (await child.stdout.text()).trim()
    const caught = (await child.exited) === 3
    all = all && caught
    console.log(`${caught ? "caught " : "MISSED "} ${mutant.name}\n         ${said}`)
  }
  return all
}

if (values.mutants) process.exit((await runMutants()) ? 0 : 1)
if (values.mutant !== undefined) breakRule(Number(values.mutant))
const noticed = await run()
if (values.mutant !== undefined && noticed !== undefined) {
  console.log(noticed)
  process.exit(3)
}
process.exit(noticed === undefined ? 0 : 1)
