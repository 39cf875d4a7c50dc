/**
 * A place for process descriptors that outlives this process: messages on a socket that nobody reads. The kernel keeps
 * what lies in it open for as long as anybody holds the reading end, and holding takes no code of the holder.
 *
 * PQ1 whoever comes later looks without taking, so one that dies while it looks costs nothing
 */
import { ptr } from "bun:ffi"
import type { ProcessStamp } from "./identity.ts"
import { closeDescriptor, libc } from "./libc.ts"
import type { Pidfd } from "./pidfd.ts"

export interface PidfdQueue {
  readonly reading: number
  readonly writing: number
}

export interface Queued {
  readonly process: Pick<ProcessStamp, "pid" | "startTime">
  readonly pidfd: Pidfd
}

const unixStream = { family: 1, type: 1 }
const closeOnExec = 0o2000000
const rightsOfSocket = { level: 1, type: 1 }
const socketOption = { level: 1, sendBuffer: 7, peekOffset: 42 }
const messageFlag = { peek: 2, dontWait: 0x40, noSignal: 0x4000, closeOnExec: 0x40000000 }

/** The kernel cuts it to what it allows; its default holds some hundred messages of one descriptor. */
const sendBufferBytes = 4 * 1024 * 1024
/** Of processes in one message; the kernel takes 253 descriptors at most. */
const perMessage = 64
const recordWords = 2
const wordBytes = 8
/** A control message is its length, level and type, then the descriptors; all of it in whole words. */
const controlHeadBytes = 16
const descriptorBytes = 4

const controlBytes = (count: number): number =>
  controlHeadBytes + Math.ceil((count * descriptorBytes) / wordBytes) * wordBytes

const setOption = (socket: number, name: number, value: number): boolean => {
  const option = new Int32Array([value])
  return libc()?.setsockopt(socket, socketOption.level, name, ptr(option), option.byteLength) === 0
}

export const openQueue = (): PidfdQueue | undefined => {
  const ends = new Int32Array(2)
  const { family, type } = unixStream
  if (libc()?.socketpair(family, type | closeOnExec, 0, ptr(ends)) !== 0) return undefined
  const [writing, reading] = ends
  if (writing === undefined || reading === undefined) return undefined
  setOption(writing, socketOption.sendBuffer, sendBufferBytes)
  return { writing, reading }
}

export const closeQueue = ({ reading, writing }: PidfdQueue): void => {
  closeDescriptor(reading)
  closeDescriptor(writing)
}

/**
 * One for all messages: each call is over before the next begins, and what the kernel is pointed at must neither move
 * nor be collected meanwhile.
 */
const records = new BigUint64Array(new ArrayBuffer(perMessage * recordWords * wordBytes))
const control = new DataView(new ArrayBuffer(controlBytes(perMessage)))
const vector = new BigUint64Array(new ArrayBuffer(2 * wordBytes))
const header = new BigUint64Array(new ArrayBuffer(7 * wordBytes))

/** `struct msghdr` as every 64-bit Linux has it, for so many processes. */
const messageFor = (count: number): ReturnType<typeof ptr> => {
  vector.set([BigInt(ptr(records)), BigInt(count * recordWords * wordBytes)])
  header.set([0n, 0n, BigInt(ptr(vector)), 1n, BigInt(ptr(control)), BigInt(controlBytes(count)), 0n])
  return ptr(header)
}

const placeOf = (index: number): number => controlHeadBytes + index * descriptorBytes

const pushOne = ({ writing }: PidfdQueue, items: readonly Queued[]): boolean => {
  control.setBigUint64(0, BigInt(placeOf(items.length)), true)
  control.setInt32(8, rightsOfSocket.level, true)
  control.setInt32(12, rightsOfSocket.type, true)
  for (const [index, { process, pidfd }] of items.entries()) {
    records.set([BigInt(process.pid), BigInt(process.startTime)], index * recordWords)
    control.setInt32(placeOf(index), pidfd, true)
  }
  const flags = messageFlag.dontWait | messageFlag.noSignal
  return Number(libc()?.sendmsg(writing, messageFor(items.length), flags) ?? -1) > 0
}

/** False: there is no room, and what did not fit is not in it. */
export const push = (queue: PidfdQueue, items: readonly Queued[]): boolean => {
  for (let at = 0; at < items.length; at += perMessage)
    if (!pushOne(queue, items.slice(at, at + perMessage))) return false
  return true
}

/** The next message; `undefined` once there is none. */
const peekOne = (reading: number): readonly Queued[] | undefined => {
  control.setBigUint64(0, 0n, true)
  const flags = messageFlag.peek | messageFlag.dontWait | messageFlag.closeOnExec
  if (Number(libc()?.recvmsg(reading, messageFor(perMessage), flags) ?? -1) <= 0) return undefined
  const count = (Number(control.getBigUint64(0, true)) - controlHeadBytes) / descriptorBytes
  return Array.from({ length: Math.max(0, count) }, (_, index) => ({
    process: {
      pid: Number(records[index * recordWords]),
      startTime: String(records[index * recordWords + 1]),
    },
    pidfd: control.getInt32(placeOf(index), true),
  }))
}

/** PQ1; the descriptors belong to the caller. */
export const peekAll = (reading: number): readonly Queued[] => {
  const found: Queued[] = []
  if (!setOption(reading, socketOption.peekOffset, 0)) return found
  for (let next = peekOne(reading); next !== undefined; next = peekOne(reading)) found.push(...next)
  return found
}
