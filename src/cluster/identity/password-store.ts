import type { Digests } from "../../runtime/digests.js";
import type { Random } from "../../runtime/random.js";
import { equalInConstantTime } from "../constant-time.js";
import type { Sql } from "../store/sql.js";

/**
 * Passwords of users, as salted digests. A fast digest is enough: people never choose them, each has 128 random bits.
 */
export class PasswordStore {
  readonly #sql: Sql;
  readonly #random: Random;
  readonly #digests: Digests;

  constructor(sql: Sql, doors: { readonly random: Random; readonly digests: Digests }) {
    this.#sql = sql;
    this.#random = doors.random;
    this.#digests = doors.digests;
  }

  /** Takes as long for a user without password, or for none at all, as for one with. */
  matches(userId: string | undefined, password: string): boolean {
    const row = this.#sql.get("SELECT salt, digest FROM identity_passwords WHERE user_id = ?", userId ?? "");
    const [salt, digest] = row ?? ["", ""];
    const same = equalInConstantTime(String(digest), this.#digest(String(salt), password));
    return row !== undefined && same;
  }

  /** Replaces the user's password by a new random one. */
  generate(userId: string): string {
    const password = this.#random.hex(16);
    const salt = this.#random.hex(16);
    this.#sql.run(
      "INSERT OR REPLACE INTO identity_passwords (user_id, salt, digest) VALUES (?, ?, ?)",
      userId,
      salt,
      this.#digest(salt, password),
    );
    return password;
  }

  #digest(salt: string, password: string): string {
    return this.#digests.sha256(`${salt}:${password}`);
  }
}
