import { expect, test } from "bun:test"
import { findOwnGroup, findUnifiedMount } from "@computerd/supervisor/process/cgroup"
import { sessionEnvironment } from "@computerd/supervisor/process/environment"
import { hasMarker, parseStat, sameProcess } from "@computerd/supervisor/process/identity"
import { lives, readBootId, readStat, stampOf } from "@computerd/supervisor/process/procfs"

test("a process whose name holds spaces and parentheses is read rightly", () => {
  const numbers = Array.from({ length: 50 }, (_, index) => `${index + 100}`).join(" ")
  expect(parseStat(`42 (a) (b c) S 1 42 43 ${numbers}`)).toEqual({
    pid: 42,
    state: "S",
    parent: 1,
    group: 42,
    session: 43,
    startTime: "115",
    exitStatus: 145,
  })
  expect(parseStat("nonsense")).toBeUndefined()
})

test("our own entry in /proc agrees with what we know of ourselves", () => {
  expect(readStat(process.pid)).toMatchObject({ pid: process.pid, parent: process.ppid })
})

test("a pid alone does not make the same process: start time and boot must agree too", () => {
  const stamp = stampOf(process.pid, readBootId())!
  expect(lives(stamp)).toBe(true)
  expect(lives({ ...stamp, startTime: "1" })).toBe(false)
  expect(lives({ ...stamp, bootId: "another boot" })).toBe(false)
  expect(sameProcess(stamp, { ...stamp, pid: 1 })).toBe(false)
})

test("a marker is a whole variable, not a part of one", () => {
  const marker = "HELMR_SESSION_ID=ses_1"
  expect(hasMarker("A=1\0HELMR_SESSION_ID=ses_1\0B=2\0", marker)).toBe(true)
  expect(hasMarker("HELMR_SESSION_ID=ses_1\0", marker)).toBe(true)
  expect(hasMarker("HELMR_SESSION_ID=ses_12\0", marker)).toBe(false)
  expect(hasMarker("X=HELMR_SESSION_ID=ses_1\0", marker)).toBe(false)
  expect(hasMarker("", marker)).toBe(false)
})

test("a Session's environment holds the allow-list, the configuration and the markers, and nothing else", () => {
  const built = sessionEnvironment({
    own: {
      PATH: "/bin",
      LC_ALL: "C",
      COMPUTERD_CREDENTIAL: "secret",
      BUN_OPTIONS: "--preload x",
      NODE_OPTIONS: "x",
      LD_PRELOAD: "x",
      AWS_SECRET_ACCESS_KEY: "secret",
    },
    configured: {
      MODEL_KEY: "k",
      BUN_BE_BUN: "1",
      LD_PRELOAD: "x",
      NODE_PATH: "x",
      HELMR_SESSION_ID: "forged",
    },
    markers: { HELMR_SESSION_ID: "ses_1", HELMR_COMPUTER_ID: "cmp_1" },
  })
  expect(built).toEqual({
    PATH: "/bin",
    LC_ALL: "C",
    MODEL_KEY: "k",
    HELMR_SESSION_ID: "ses_1",
    HELMR_COMPUTER_ID: "cmp_1",
  })
})

test("the unified hierarchy is found wherever it is mounted, and its absence is an answer", () => {
  const legacy = "34 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
  const unified = "41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,nosuid shared:4 - cgroup2 cgroup2 rw"
  expect(findUnifiedMount(`${legacy}\n${unified}\n`)).toEqual({ point: "/sys/fs/cgroup/uni fied", root: "/" })
  expect(findUnifiedMount(legacy)).toBeUndefined()
  expect(findOwnGroup("8:pids:/x\n0::/system.slice/a.service\n")).toBe("/system.slice/a.service")
  expect(findOwnGroup("8:pids:/x\n")).toBeUndefined()
})
