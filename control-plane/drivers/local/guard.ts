/**
 * Wakes a parked Computer when this control plane dies: a frozen supervisor cannot notice that its lifeline has ended.
 * A shell waits for the end of its standard input, which this process holds open, then thaws what it was told of.
 */
import type { ProcessIdentity } from "./identity.ts"

export interface Guard {
  /** What else it is to thaw: pids, and directories of control groups. */
  readonly watch: (frozen: readonly (number | string)[]) => void
  /** Nothing is left for it to do. */
  readonly end: () => Promise<void>
}

/** The supervisor is the first of the pids, so it wakes first. */
const script = `pids=$1; groups=
while read -r it; do case $it in /*) groups="$groups $it";; *) pids="$pids $it";; esac; done
kill -CONT $pids 2>/dev/null
for group in $groups; do echo 0 > "$group/cgroup.freeze"; done`

export const startGuard = (supervisor: ProcessIdentity): Guard => {
  const child = Bun.spawn(["/bin/sh", "-c", script, "park-guard", String(supervisor.pid)], {
    cwd: "/",
    env: {},
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  })
  child.unref()
  return {
    watch: (frozen) => {
      for (const one of frozen) child.stdin.write(`${one}\n`)
      void child.stdin.flush()
    },
    end: async () => {
      child.kill("SIGKILL")
      await child.exited
    },
  }
}
