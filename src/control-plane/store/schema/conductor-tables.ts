/** Version 2: what the conductor still has to do or to hand over, what it has answered, and the holder of each host. */
export const conductorTables = `
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task TEXT NOT NULL CHECK (json_valid(task)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  method TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  request_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_host ON messages (host, id);

CREATE TABLE answers (
  boot_id TEXT NOT NULL,
  call_id INTEGER NOT NULL,
  answer TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (boot_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (created_at);

CREATE TABLE host_leases (
  host TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  machine TEXT NOT NULL,
  acquired_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
`;
