/**
 * Version 2: the lease and the inbound cursor of the link, events that the control plane has not acknowledged, the
 * admission journal, and what the MCP descriptors of a process are derived from.
 */
export const migration002 = `
CREATE TABLE link (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  epoch INTEGER NOT NULL,
  received INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  events INTEGER NOT NULL,
  output_bytes INTEGER NOT NULL
) STRICT;

INSERT INTO link VALUES (1, 0, 0, 0, 0, 0);

CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY,
  output_bytes INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TRIGGER outbox_added AFTER INSERT ON outbox BEGIN
  UPDATE link SET events = events + 1, output_bytes = output_bytes + NEW.output_bytes;
END;

CREATE TRIGGER outbox_removed AFTER DELETE ON outbox BEGIN
  UPDATE link SET events = events - 1, output_bytes = output_bytes - OLD.output_bytes;
END;

CREATE TABLE admissions (
  request_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL,
  tool TEXT NOT NULL,
  state TEXT NOT NULL,
  code TEXT,
  sent_at_ms INTEGER NOT NULL,
  settled_at_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX admissions_by_state ON admissions (state, request_id);

CREATE TABLE descriptors (
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  key BLOB NOT NULL,
  port INTEGER NOT NULL,
  PRIMARY KEY (session_id, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE scopes (
  session_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  digest TEXT NOT NULL,
  scope TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (session_id, generation, digest),
  FOREIGN KEY (session_id, generation) REFERENCES descriptors (session_id, generation) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
`
