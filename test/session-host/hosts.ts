/** Starts hosts for the tests of one file and ends them after each test. */
import { afterEach } from "bun:test"
import { bundleFile, type HostOptions, HostProcess, program, startHost, temporary } from "./process.ts"

export interface Hosts {
  /** A host that runs `source`; not initialized yet. */
  readonly start: (source: string, options?: HostOptions) => Promise<HostProcess>
  /** A host that runs the program of a file. */
  readonly file: (
    entry: string,
    options?: HostOptions & { readonly standIns?: Readonly<Record<string, string>> },
  ) => Promise<HostProcess>
  /** A ready host whose Agent `worker` has this body. */
  readonly worker: (body: string, before?: string) => Promise<HostProcess>
}

export const hosts = (): Hosts => {
  const running: HostProcess[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((host) => host.end()))
  })
  const start = async (source: string, options?: HostOptions): Promise<HostProcess> => {
    const host = await startHost(source, options)
    running.push(host)
    return host
  }
  const file: Hosts["file"] = async (entry, options = {}) => {
    const directory = await temporary()
    const host = new HostProcess(directory, await bundleFile(directory, entry, options.standIns), options)
    running.push(host)
    return host
  }
  return { start, file, worker: async (body, before) => (await start(program(body, before))).ready() }
}
