import { type Digests, equalInConstantTime, type Random } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
import type { Sql, SqlRow } from "../../database/sql.js";

/**
 * Digest of a password. Generated passwords have 128 random bits, so a fast digest is enough; other passwords need a slow
 * one.
 */
type Scheme = "sha256" | "scrypt";

/** Milliseconds for which a verified password is not hashed again. */
const REMEMBERED = 300_000;
const MAX_REMEMBERED_PASSWORDS = 1000;

/** Passwords of users and secrets of application credentials, stored as salted digests by the owner's id. */
export class PasswordStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #digests: Digests;
  /** Expiry times of recently verified passwords, by a digest that only this process can compute. */
  readonly #right = new Map<string, number>();
  readonly #key: string;

  constructor(sql: Sql, deps: { readonly clock: Clock; readonly random: Random; readonly digests: Digests }) {
    this.#sql = sql;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#digests = deps.digests;
    this.#key = deps.random.hex(32);
  }

  /**
   * Returns true if the password is right when the promise resolves. Unknown users take as long as those with a slow
   * digest.
   */
  async matches(id: string | undefined, password: string): Promise<boolean> {
    const row = this.#row(id);
    const [salt, digest, scheme] = (row ?? ["", "", "scrypt"]).map(String);
    const proof = this.#digests.sha256(`${this.#key}:${id}:${digest}:${password}:${this.#key}`);
    if (row !== undefined && (this.#right.get(proof) ?? 0) > this.#clock.now()) {
      return true;
    }
    const found = await this.#digest(scheme as Scheme, salt ?? "", password);
    // The password may have been changed or removed while the digest was computed.
    const stays = row !== undefined && String(this.#row(id)?.[1]) === digest;
    const same = equalInConstantTime(digest ?? "", found) && stays;
    if (same && scheme === "scrypt") {
      this.#remember(proof);
    }
    return same;
  }

  /** Replaces the password with a new random one. */
  generate(id: string): string {
    const password = this.#random.hex(16);
    const salt = this.#random.hex(16);
    this.#write(id, salt, this.#fast(salt, password), "sha256");
    return password;
  }

  /** Computes the digest first and returns a function that stores it, for callers whose later checks may fail. */
  async prepare(password: string): Promise<(id: string) => void> {
    const salt = this.#random.hex(16);
    const digest = await this.#digest("scrypt", salt, password);
    return (id) => this.#write(id, salt, digest, "scrypt");
  }

  remove(id: string): void {
    this.#sql.run("DELETE FROM identity_passwords WHERE user_id = ?", id);
  }

  #row(id: string | undefined): SqlRow | undefined {
    return this.#sql.get("SELECT salt, digest, scheme FROM identity_passwords WHERE user_id = ?", id ?? "");
  }

  #remember(proof: string): void {
    if (this.#right.size >= MAX_REMEMBERED_PASSWORDS) {
      this.#right.clear();
    }
    this.#right.set(proof, this.#clock.now() + REMEMBERED);
  }

  #write(id: string, salt: string, digest: string, scheme: Scheme): void {
    const text = "INSERT OR REPLACE INTO identity_passwords (user_id, salt, digest, scheme) VALUES (?, ?, ?, ?)";
    this.#sql.run(text, id, salt, digest, scheme);
  }

  async #digest(scheme: Scheme, salt: string, password: string): Promise<string> {
    return scheme === "scrypt" ? await this.#digests.scrypt(password, salt) : this.#fast(salt, password);
  }

  #fast(salt: string, password: string): string {
    return this.#digests.sha256(`${salt}:${password}`);
  }
}
