/**
 * Version 4: after which event nothing has been on the wire since the numbering was last agreed on, and events that could
 * not be sent because nobody can read them.
 */
export const migration004 = `
ALTER TABLE link ADD COLUMN unsent_after INTEGER;

CREATE TABLE events_set_aside (
  position INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
`
