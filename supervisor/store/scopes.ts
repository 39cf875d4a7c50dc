/**
 * What the MCP descriptors of a Session process are derived from: its key, its port and the scopes it asked for. No
 * token is stored. Everything of a process goes when the process does, so a dead key can authorize nothing.
 */
import type { Database } from "bun:sqlite"
import { Generation, SessionId } from "@computerd/protocol/ids"
import { Scope } from "@computerd/protocol/scope"

interface OfProcess {
  readonly sessionId: SessionId
  readonly generation: Generation
}

export interface DescriptorRow extends OfProcess {
  readonly key: Uint8Array
  readonly port: number
}

export interface ScopeRow {
  readonly digest: string
  readonly scope: Scope
}

export interface ScopesTable {
  readonly descriptors: () => readonly DescriptorRow[]
  /** Judges each distinct text once, for as long as the reader is kept: processes of one Agent share their scopes. */
  readonly scopeReader: () => (process: OfProcess) => readonly ScopeRow[]
  readonly putDescriptor: (row: DescriptorRow) => void
  readonly putScope: (process: OfProcess, row: ScopeRow & { readonly createdAtMs: number }) => void
  readonly remove: (process: OfProcess) => void
}

interface DescriptorColumns {
  session_id: string
  generation: number
  key: Uint8Array
  port: number
}

const scopeParser = (): ((text: string) => Scope) => {
  const known = new Map<string, Scope>()
  return (text) => {
    const scope = known.get(text) ?? Scope.parse(JSON.parse(text))
    known.set(text, scope)
    return scope
  }
}

export const scopesTable = (database: Database): ScopesTable => {
  const all = database.query<DescriptorColumns, []>("SELECT * FROM descriptors")
  const scopes = database.query<{ digest: string; scope: string }, [string, number]>(
    "SELECT digest, scope FROM scopes WHERE session_id = ? AND generation = ? ORDER BY created_at_ms, digest",
  )
  const putDescriptor = database.query(
    `INSERT INTO descriptors (session_id, generation, key, port) VALUES (?, ?, ?, ?)
       ON CONFLICT (session_id, generation) DO UPDATE SET key = excluded.key, port = excluded.port`,
  )
  const putScope = database.query(
    `INSERT INTO scopes (session_id, generation, digest, scope, created_at_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session_id, generation, digest) DO NOTHING`,
  )
  const remove = database.query("DELETE FROM descriptors WHERE session_id = ? AND generation = ?")
  return {
    descriptors: () =>
      all.all().map((row) => ({
        sessionId: SessionId.parse(row.session_id),
        generation: Generation.parse(row.generation),
        key: row.key,
        port: row.port,
      })),
    scopeReader: () => {
      const parse = scopeParser()
      return ({ sessionId, generation }) =>
        scopes.all(sessionId, generation).map(({ digest, scope }) => ({ digest, scope: parse(scope) }))
    },
    putDescriptor: ({ sessionId, generation, key, port }) => {
      putDescriptor.run(sessionId, generation, key, port)
    },
    putScope: ({ sessionId, generation }, { digest, scope, createdAtMs }) => {
      putScope.run(sessionId, generation, digest, JSON.stringify(scope), createdAtMs)
    },
    remove: ({ sessionId, generation }) => {
      remove.run(sessionId, generation)
    },
  }
}
