/**
 * Version 3: what a restarted supervisor needs to go on with a process that lived (how far its start came, the stop that
 * was begun, getter calls that wait for their answer), and how often the processes of a Session were lost.
 * Processes of an earlier version count as ready: those that never became so end by themselves.
 */
export const migration003 = `
ALTER TABLE processes ADD COLUMN phase TEXT NOT NULL DEFAULT 'ready';
ALTER TABLE processes ADD COLUMN stop TEXT;
ALTER TABLE sessions ADD COLUMN recovery TEXT;

CREATE TABLE getter_calls (
  session_id TEXT NOT NULL REFERENCES processes (session_id) ON DELETE CASCADE,
  request_id TEXT NOT NULL,
  request TEXT NOT NULL,
  PRIMARY KEY (session_id, request_id)
) STRICT, WITHOUT ROWID;
`
