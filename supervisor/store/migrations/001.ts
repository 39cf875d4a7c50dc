/** Version 1: the file's identity, Sessions, their processes, and the frames that a process has not acknowledged. */
export const migration001 = `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('synced_commits', '0');

CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  assignment TEXT NOT NULL,
  generation INTEGER NOT NULL,
  wanted INTEGER NOT NULL,
  turn TEXT,
  next TEXT,
  ending TEXT,
  finished_turn TEXT,
  last_exit TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE turn_messages (
  position INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  turn_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  content TEXT,
  UNIQUE (session_id, message_id)
) STRICT;

CREATE TABLE processes (
  session_id TEXT PRIMARY KEY REFERENCES sessions (session_id),
  generation INTEGER NOT NULL,
  secret_hash TEXT NOT NULL,
  pid INTEGER,
  start_time TEXT,
  boot_id TEXT NOT NULL,
  cgroup TEXT,
  started_at_ms INTEGER NOT NULL,
  received INTEGER NOT NULL,
  sent INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_frames (
  session_id TEXT NOT NULL REFERENCES processes (session_id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;
`
