/**
 * The connections of all supervisors.
 *
 * S1 of the connections of one Computer only the one that attached last lives; the others are refused as superseded
 */
import { failure } from "@computerd/protocol/errors"
import type { ComputerId } from "@computerd/protocol/ids"
import type { Ports } from "../ports.ts"
import type { Receiver } from "../receiver/receiver.ts"
import { type Connection, openConnection, type Socket } from "./connection.ts"

export interface Connections {
  readonly open: (computerId: ComputerId, socket: Socket) => Connection
  /** The socket is gone. */
  readonly closed: (connection: Connection, detail: string) => void
  readonly park: (computerId: ComputerId) => void
  /** Hears of no more commands. */
  readonly close: () => void
}

export interface ConnectionsDeps {
  readonly receiver: Receiver
  readonly ports: Ports
  readonly attached: (computerId: ComputerId) => void
}

export const createConnections = ({ receiver, ports, attached }: ConnectionsDeps): Connections => {
  const owners = new Map<ComputerId, Connection>()
  const unsubscribe = receiver.onCommand((computerId) => owners.get(computerId)?.push())

  const own = (connection: Connection): void => {
    const { computerId } = connection
    const older = owners.get(computerId)
    owners.set(computerId, connection)
    // S1
    if (older !== undefined && older !== connection)
      older.refuse(failure("superseded", "another supervisor of this Computer has attached"))
    attached(computerId)
  }

  return {
    open: (computerId, socket) => openConnection(computerId, socket, { receiver, ports, attached: own }),
    closed: (connection, detail) => {
      connection.closed(detail)
      if (owners.get(connection.computerId) === connection) owners.delete(connection.computerId)
    },
    park: (computerId) => owners.get(computerId)?.park(),
    close: unsubscribe,
  }
}
