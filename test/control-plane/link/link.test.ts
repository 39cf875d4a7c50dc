import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { listenProblem, serveLink } from "@computerd/control-plane/link/server"
import { Digest, Epoch, Generation, type RequestId } from "@computerd/protocol/ids"
import { frameMaxBytes } from "@computerd/protocol/limits"
import { linkPath } from "@computerd/protocol/link"
import { Scope } from "@computerd/protocol/scope"
import { text, wideMaximum } from "../rig.ts"
import { createRig, type Rig } from "./rig.ts"

let rig: Rig
beforeEach(async () => {
  rig = await createRig()
})
afterEach(() => rig.close())

const maximum = Scope.parse(wideMaximum(["worker"]))
const request = (): RequestId => rig.ports.newId("req")
const generation = Generation.parse(1)

describe("who may speak", () => {
  const upgrade = (headers: Record<string, string>) =>
    fetch(`${rig.server.url}${linkPath}`, {
      headers: {
        Upgrade: "websocket",
        Connection: "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        ...headers,
      },
    })

  test("no credential, a wrong one, one more character and another scheme are all refused", async () => {
    const { credential } = rig.start()
    const wrong = [
      undefined,
      "Bearer nonsense",
      `Bearer ${credential}x`,
      `Bearer ${credential.slice(1)}`,
      `Basic ${credential}`,
      `Bearer ${credential}, Bearer ${credential}`,
      credential,
    ]
    for (const header of wrong) {
      const response = await upgrade(header === undefined ? {} : { Authorization: header })
      expect([header, response.status]).toEqual([header, 401])
    }
  })

  test("a browser is refused, whatever it presents", async () => {
    const { credential } = rig.start()
    expect(
      (await upgrade({ Authorization: `Bearer ${credential}`, Origin: "http://127.0.0.1" })).status,
    ).toBe(403)
  })

  test("other paths, other methods and plain requests are refused without a word about the inside", async () => {
    const { credential } = rig.start()
    const headers = { Authorization: `Bearer ${credential}` }
    expect((await fetch(`${rig.server.url}/`, { headers })).status).toBe(404)
    expect((await fetch(`${rig.server.url}${linkPath}`, { headers })).status).toBe(426)
    const post = await fetch(`${rig.server.url}${linkPath}`, { method: "POST", headers, body: "x" })
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET"])
  })

  test("a Host that makes no address gets an answer and not a stack trace", async () => {
    const { credential } = rig.start()
    const answer = Promise.withResolvers<string>()
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: rig.server.port,
      socket: { data: (_, bytes) => answer.resolve(bytes.toString()) },
    })
    socket.write(
      `GET /x HTTP/1.1\r\nHost: a@127.0.0.1\r\nAuthorization: Bearer ${credential}\r\nConnection: close\r\n\r\n`,
    )
    const response = await answer.promise
    socket.end()
    expect(response).toMatch(/^HTTP\/1\.1 (400|404)/)
    expect(response).not.toContain(import.meta.dir.split("/test/")[0]!)
  })

  test("the credential appears in no event of the journal", async () => {
    const started = rig.start()
    await rig.link(started).attach()
    await upgrade({ Authorization: `Bearer ${started.credential}x` })
    expect(JSON.stringify(rig.journal)).not.toContain(started.credential)
  })

  test("a port in use is named in one error", () => {
    const { receiver, ports, content, server } = rig
    const listen = { hostname: "127.0.0.1", port: server.port }
    const second = serveLink({ receiver, ports, content, listen, attached: () => undefined })
    expect(second).toMatchObject({
      ok: false,
      error: { code: "invalid_configuration", field: "listen.port" },
    })
    expect(second.ok ? "" : second.error.message).toBe(
      `cannot listen on 127.0.0.1:${server.port} (EADDRINUSE); stop what uses the port, or choose another`,
    )
  })

  test("each cause of a failure to listen has advice of its own", () => {
    const said = (code: string) =>
      listenProblem({ hostname: "::1", port: 80 }, Object.assign(new Error("no"), { code }))
    expect(said("EADDRNOTAVAIL")).toBe(
      "cannot listen on [::1]:80 (EADDRNOTAVAIL); choose an address that this machine has",
    )
    expect(said("EACCES")).toContain("a port that this user may take")
    expect(said("ENOSUCHCODE")).toBe("cannot listen on [::1]:80 (ENOSUCHCODE); choose another address")
  })

  test("an address that other machines reach is refused, by a value and before anything listens", () => {
    const { receiver, ports, content } = rig
    for (const hostname of ["0.0.0.0", "::", "example.com", ""]) {
      const listen = { hostname, port: 0 }
      const served = serveLink({ receiver, ports, content, listen, attached: () => undefined })
      expect(served).toMatchObject({ ok: false, error: { field: "listen.hostname" } })
    }
  })
})

describe("attaching", () => {
  test("an attach is answered with lease, cursors and what must run, then commands follow", async () => {
    const started = rig.start()
    const link = rig.link(started)
    const attached = await link.attach()
    expect(attached).toMatchObject({ protocol: 1, received: 0, lease: { epoch: 1, leaseMs: 60_000 } })
    expect(attached.run.map((entry) => entry.assignment.sessionId)).toEqual([started.sessionId])
    const command = await link.frame("frame")
    expect(command.seq).toBe(attached.commandSeq + 1)
    expect(rig.attached).toEqual([started.computerId])
  })

  test("a protocol that is not spoken here is refused clearly, however its attach looks", async () => {
    const link = rig.link(rig.start())
    await link.opened()
    link.text(JSON.stringify({ kind: "attach", protocol: 99, somethingNew: true }))
    const { error } = await link.frame("refuse")
    expect(error.code).toBe("unsupported_protocol")
    expect(error.message).toContain("99")
    expect(await link.ended()).toMatchObject({ reason: "unsupported_protocol" })
  })

  test("a credential attaches its own Computer only", async () => {
    const mine = rig.start()
    const other = rig.start()
    const link = rig.link({ computerId: other.computerId, credential: mine.credential })
    await link.opened()
    link.send(link.attachFrame())
    expect((await link.frame("refuse")).error.code).toBe("unauthorized")
    await link.ended()
  })

  test("frames before attach, and a second attach, are answered as invalid", async () => {
    const link = rig.link(rig.start())
    await link.opened()
    link.send({ kind: "renew", epoch: Epoch.parse(1), requestId: request() })
    expect((await link.frame("invalid")).message).toContain("attach must be the first")
    await link.attach()
    link.send(link.attachFrame())
    expect((await link.frame("invalid", 2)).message).toContain("already")
  })

  test("S1 of two connections of one store the newer one lives and the older one is refused", async () => {
    const started = rig.start()
    const storeId = rig.ports.newId("str")
    const older = rig.link(started, storeId)
    await older.attach()
    const newer = rig.link(started, storeId)
    const attached = await newer.attach()
    expect(attached.lease.epoch).toBe(Epoch.parse(2))
    expect((await older.frame("refuse")).error.code).toBe("superseded")
    await older.ended()
    newer.renew(request())
    expect((await newer.frame("renewed")).lease.epoch).toBe(Epoch.parse(2))
  })

  test("S1 the late close of an older connection does not cut the newer one off from its commands", async () => {
    const started = rig.start()
    const storeId = rig.ports.newId("str")
    const older = rig.link(started, storeId)
    await older.attach()
    const newer = rig.link(started, storeId)
    const attached = await newer.attach(0)
    await older.ended()
    const { commandSeq } = attached
    rig.receiver.control({ kind: "cancel", sessionId: started.sessionId })
    await newer.until("a command after the older one's end", () =>
      newer.frames.some((frame) => frame.kind === "frame" && frame.seq > commandSeq),
    )
  })

  test("F1 a frame of an older epoch is refused and ends the connection", async () => {
    const link = rig.link(rig.start())
    await link.attach()
    link.send({ kind: "renew", epoch: Epoch.parse(99), requestId: request() })
    expect((await link.frame("refuse")).error.code).toBe("superseded")
    await link.ended()
  })
})

describe("frames", () => {
  const ready = async () => {
    const started = rig.start()
    const link = rig.link(started)
    await link.attach()
    return { ...started, link }
  }

  test("N2 an event is applied once, acknowledged, and acknowledged again when it is repeated", async () => {
    const { link, sessionId } = await ready()
    link.event({ type: "process_starting", sessionId, generation })
    expect((await link.frame("ack")).ack).toBe(1)
    link.event({ type: "process_starting", sessionId, generation }, 1)
    expect((await link.frame("ack", 2)).ack).toBe(1)
    expect(rig.receiver.snapshot().sessions[0]?.process).toBe("starting")
  })

  test("events that arrive together are acknowledged together", async () => {
    const { link, sessionId } = await ready()
    link.event({ type: "process_starting", sessionId, generation })
    link.event({ type: "process_ready", sessionId, generation })
    await link.until("the acknowledgement of both", () =>
      link.frames.some((frame) => frame.kind === "ack" && frame.ack === 2),
    )
    expect(rig.receiver.snapshot().sessions[0]?.process).toBe("ready")
  })

  test("N3 a gap is answered and ends the connection; the next one goes on from what was applied", async () => {
    const started = rig.start()
    const storeId = rig.ports.newId("str")
    const link = rig.link(started, storeId)
    await link.attach()
    link.event({ type: "process_starting", sessionId: started.sessionId, generation })
    await link.frame("ack")
    link.event({ type: "process_ready", sessionId: started.sessionId, generation }, 5)
    expect((await link.frame("invalid")).seq).toBe(5)
    await link.ended()
    const next = rig.link(started, storeId)
    expect((await next.attach()).received).toBe(1)
  })

  test("unreadable frames are answered with what is wrong, and the link goes on", async () => {
    const { link } = await ready()
    link.text("not json")
    link.text(
      JSON.stringify({ kind: "frame", seq: 7, epoch: 1, ack: 0, atMs: 0, body: { type: "nonsense" } }),
    )
    link.text(JSON.stringify({ kind: "ack", epoch: 1, ack: 0, extra: true }))
    link.text(`"${"x".repeat(frameMaxBytes)}"`)
    await link.frame("invalid", 4)
    const answers = link.frames.filter((frame) => frame.kind === "invalid")
    expect(answers.map((answer) => answer.seq)).toEqual([undefined, 7, undefined, undefined])
    expect(answers[2]?.message).toContain("extra")
    expect(answers[3]?.message).toContain("larger than")
    link.renew(request())
    await link.frame("renewed")
  })

  test("a peer that sends nothing but unreadable frames is cut off", async () => {
    const { link } = await ready()
    for (let n = 0; n < 20; n += 1) link.text("noise")
    const { reason } = await link.ended()
    expect(reason).toContain("unreadable")
    expect(link.frames.filter((frame) => frame.kind === "invalid")).toHaveLength(16)
  })

  test("a frame far beyond the limit ends this connection and harms no other", async () => {
    const { link } = await ready()
    const other = rig.link(rig.start())
    await other.attach()
    link.text("x".repeat(frameMaxBytes * 2 + 1))
    await link.ended()
    other.renew(request())
    await other.frame("renewed")
  })

  test("commands are acknowledged by the supervisor and not sent again on the next connection", async () => {
    const started = rig.start()
    const storeId = rig.ports.newId("str")
    const link = rig.link(started, storeId)
    await link.attach()
    const { seq } = await link.frame("frame")
    link.send({ kind: "ack", epoch: link.epoch, ack: seq })
    link.renew(request())
    await link.frame("renewed")
    expect(rig.receiver.commandsAfter(started.computerId, 0)).toEqual([])
  })

  test("detach gives the lease back at once", async () => {
    const { link, computerId } = await ready()
    link.send({ kind: "detach", epoch: link.epoch })
    await link.ended()
    expect(rig.receiver.computers().find((row) => row.id === computerId)?.attached).toBe(false)
  })

  test("S2 a cut connection loses no Turn and leaves the lease as it was", async () => {
    const { link, sessionId, turnId, computerId } = await ready()
    link.event({ type: "process_starting", sessionId, generation })
    link.event({ type: "process_ready", sessionId, generation })
    link.event({ type: "turn_started", sessionId, generation, turnId })
    await link.until("three events", () =>
      link.frames.some((frame) => frame.kind === "ack" && frame.ack === 3),
    )
    link.cut()
    await rig.journaled("link_closed")
    expect(rig.receiver.turn(sessionId, turnId)?.status).toBe("running")
    expect(rig.receiver.computers().find((row) => row.id === computerId)?.residency).toBe("running")
  })

  test("a failing receiver ends the connection without an acknowledgement and without harm to the server", async () => {
    const { link, sessionId } = await ready()
    await rig.receiver.close()
    link.event({ type: "process_starting", sessionId, generation })
    await link.ended()
    expect(link.frames.some((frame) => frame.kind === "ack")).toBe(false)
    expect((await fetch(rig.server.url)).status).toBeGreaterThanOrEqual(400)
  })
})

describe("requests", () => {
  const running = async () => {
    const started = rig.start()
    const link = rig.link(started)
    await link.attach()
    const { sessionId, turnId } = started
    link.event({ type: "process_starting", sessionId, generation })
    link.event({ type: "process_ready", sessionId, generation })
    link.event({ type: "turn_started", sessionId, generation, turnId })
    await link.until("three events", () =>
      link.frames.some((frame) => frame.kind === "ack" && frame.ack === 3),
    )
    const admit = (tool: string, args: Record<string, never> | object, requestId = request()) => {
      const call = {
        sessionId,
        generation,
        scope: maximum,
        tool,
        arguments: JSON.parse(JSON.stringify(args)),
      }
      link.send({ kind: "admit", epoch: link.epoch, requestId, request: call })
      return requestId
    }
    return { ...started, link, admit }
  }

  const answerTo = async (link: Awaited<ReturnType<typeof running>>["link"], requestId: RequestId) => {
    const of = () =>
      link.frames.flatMap((frame) =>
        frame.kind === "admitted" && frame.requestId === requestId ? [frame.answer] : [],
      )
    await link.until(`the answer to ${requestId}`, () => of().length > 0)
    return of()[0]!
  }

  test("admissions are answered each to its request, while another one still waits", async () => {
    const { link, admit, sessionId, turnId } = await running()
    const waiting = admit("wait_turn", { sessionId, turnId, timeoutMs: 30_000 })
    const quick = admit("list_agents", { operation: "spawn" })
    expect(await answerTo(link, quick)).toMatchObject({ ok: true })
    expect(link.frames.some((frame) => frame.kind === "admitted" && frame.requestId === waiting)).toBe(false)
  })

  test("an abandoned wait is not answered, and its request id may be used no more than once at a time", async () => {
    const { link, admit, sessionId, turnId } = await running()
    const waiting = admit("wait_turn", { sessionId, turnId, timeoutMs: 30_000 })
    const twice = admit("wait_turn", { sessionId, turnId, timeoutMs: 30_000 }, waiting)
    expect(await answerTo(link, twice)).toMatchObject({ ok: false, error: { code: "admission_unavailable" } })
    link.send({ kind: "abandon", epoch: link.epoch, requestId: waiting })
    const quick = admit("list_agents", { operation: "spawn" })
    await answerTo(link, quick)
    expect(link.frames.filter((frame) => frame.kind === "admitted")).toHaveLength(2)
  })

  test("RQ1 an abandoned mutation is answered all the same, since the journal waits for its outcome", async () => {
    const { link, admit } = await running()
    const spawning = admit("spawn", { agent: "worker", input: text("go"), idempotencyKey: "left" })
    link.send({ kind: "abandon", epoch: link.epoch, requestId: spawning })
    expect(await answerTo(link, spawning)).toMatchObject({ ok: true })
  })

  test("a receipt is found by key, and an unknown key has none", async () => {
    const { link, admit, sessionId } = await running()
    const spawned = await answerTo(
      link,
      admit("spawn", { agent: "worker", input: text("go"), idempotencyKey: "one" }),
    )
    link.send({ kind: "receipt", epoch: link.epoch, requestId: request(), sessionId, idempotencyKey: "one" })
    expect((await link.frame("receipt")).answer).toEqual(spawned)
    link.send({ kind: "receipt", epoch: link.epoch, requestId: request(), sessionId, idempotencyKey: "two" })
    expect((await link.frame("receipt", 2)).answer).toBeUndefined()
  })

  test("the loss of the link ends a wait in the receiver", async () => {
    const { link, admit, sessionId, turnId } = await running()
    admit("wait_turn", { sessionId, turnId, timeoutMs: 30_000 })
    admit("list_agents", { operation: "spawn" })
    await link.frame("admitted")
    link.close()
    await link.ended()
    const closing = Promise.race([
      rig.server.close().then(() => "closed"),
      Bun.sleep(2_000).then(() => "late"),
    ])
    expect(await closing).toBe("closed")
  })
})

describe("bundles", () => {
  const get = (credential: string, digest: string) =>
    fetch(`${rig.server.url}/computers/v1/bundles/${digest}`, {
      headers: { Authorization: `Bearer ${credential}` },
    })

  test("a Computer gets the bundle of its own Deployment, and an unknown digest looks like a foreign one", async () => {
    const { credential } = rig.start()
    const pinned = "a".repeat(64)
    const foreign = "b".repeat(64)
    await Bun.write(rig.content.bundleFile(Digest.parse(pinned)), "archive")
    await Bun.write(rig.content.bundleFile(Digest.parse(foreign)), "another")
    expect(await (await get(credential, pinned)).text()).toBe("archive")
    const answers = await Promise.all([get(credential, foreign), get(credential, "c".repeat(64))])
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]))).toEqual([
      [404, "no such bundle\n"],
      [404, "no such bundle\n"],
    ])
  })

  test("a path is not a digest, and no credential gets nothing", async () => {
    const { credential } = rig.start()
    for (const path of ["../../store.sqlite", "%2e%2e%2fstore.sqlite", "A".repeat(64), ""])
      expect((await get(credential, path)).status).toBe(404)
    expect((await get("nobody", "a".repeat(64))).status).toBe(401)
  })
})
