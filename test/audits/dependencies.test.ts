import { expect, test } from "bun:test"
import { z } from "zod"
import { files } from "./tree.ts"

const Package = z.object({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
})

const packages = async () =>
  (await files("{*,*/*}/package.json"))
    .concat(await files("package.json"))
    .map(({ path, text }) => ({ path, ...Package.parse(JSON.parse(text)) }))

test("every dependency is pinned to an exact version", async () => {
  const loose = (await packages()).flatMap(({ path, dependencies, devDependencies }) =>
    Object.entries({ ...dependencies, ...devDependencies })
      .filter(([, version]) => !/^(workspace:\*|(npm:[@\w/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?)$/.test(version))
      .map(([name, version]) => `${path}: ${name}@${version}`),
  )
  expect(loose).toEqual([])
})

test("docs/decisions.md says why each dependency is there", async () => {
  const [decisions] = await files("docs/decisions.md")
  const unexplained = (await packages())
    .flatMap(({ dependencies, devDependencies }) => Object.entries({ ...dependencies, ...devDependencies }))
    .filter(([, version]) => version !== "workspace:*")
    .map(([name]) => name)
    .filter((name) => !decisions?.text.includes(`\`${name}\``))
  expect([...new Set(unexplained)]).toEqual([])
})
