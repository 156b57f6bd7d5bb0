/** Version 9: what users bring along for their servers: key pairs, addresses, disks that grow. */
export const userResources = `
CREATE TABLE key_pairs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (user_id, name)
) STRICT;

ALTER TABLE instances ADD COLUMN key_data TEXT;
ALTER TABLE instances ADD COLUMN access_ip_v4 TEXT;
ALTER TABLE instances ADD COLUMN access_ip_v6 TEXT;
ALTER TABLE instances ADD COLUMN auto_disk_config INTEGER NOT NULL DEFAULT 0;
`;
