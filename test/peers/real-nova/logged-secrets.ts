import type { RealNova } from "./real-nova.js";

/** A cell's connection is told in messages; the option's name alone stands in what to do about it. */
const SECRET_MARKERS = ["guest:guest", 'transport_url":', "transport_url=", "auth_token", "admin_password"];

/** Lines with a token, a password of the broker or one of these, of all that agents have printed at debug level. */
export async function linesWithSecrets(nova: RealNova, passwords: readonly string[] = []): Promise<readonly string[]> {
  const secrets = [await nova.token(), ...passwords, ...SECRET_MARKERS].map((secret) => secret.toLowerCase());
  return nova.printed.split("\n").filter((line) => secrets.some((secret) => line.toLowerCase().includes(secret)));
}
