import { ConductorError } from "../../conductor-client/errors.js";
import { id, LONG, name, oneOf, type RecordOf, text, time } from "../../records/field.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** A public key that a user installs on servers. */
const KEY_PAIR = {
  id,
  userId: text(),
  name,
  type: oneOf(["ssh", "x509"]),
  /** A line of OpenSSH, or a certificate as PEM. */
  publicKey: text(LONG),
  /** Pairs of hex digits with colons: MD5 of the key, SHA-1 of the certificate. */
  fingerprint: text(),
  createdAt: time,
};

export type KeyPair = RecordOf<typeof KEY_PAIR>;

const KEY_PAIRS = tableOf("key_pairs", KEY_PAIR);

/** Table `key_pairs`. Rows are deleted permanently; servers have copies of their keys. */
export function createKeyPairTable({ sql, clock }: StoreContext) {
  const table = new Table(sql, KEY_PAIRS);

  return {
    get,
    /** Returns the key pairs of a user by name. */
    list: (userId: string): readonly KeyPair[] => table.many("user_id = ? ORDER BY name", userId),
    count: (userId: string): number => sql.number("SELECT count(*) FROM key_pairs WHERE user_id = ?", userId),
    /** @throws {KeyPairExists} */
    create: (keyPair: Omit<KeyPair, "id" | "createdAt">): KeyPair =>
      sql.transaction(() => {
        if (get(keyPair.userId, keyPair.name)) {
          throw new ConductorError("KeyPairExists", `Key pair '${keyPair.name}' already exists.`, {
            name: keyPair.name,
          });
        }
        const createdAt = clock.now();
        return { ...keyPair, createdAt, id: table.insert({ ...keyPair, createdAt }) };
      }),
    /** Returns false if it did not exist. */
    destroy: (userId: string, name: string): boolean =>
      sql.run("DELETE FROM key_pairs WHERE user_id = ? AND name = ?", userId, name).changes > 0,
  };

  function get(userId: string, name: string): KeyPair | null {
    return table.one("user_id = ? AND name = ?", userId, name);
  }
}
