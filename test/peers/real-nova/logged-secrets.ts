import type { RealNova } from "./real-nova.js";

/** Messages contain a cell's connection. The option's bare name may occur in instructions. */
const SECRET_MARKERS = ["guest:guest", 'transport_url":', "transport_url=", "auth_token", "admin_password"];

/**
 * Returns the lines of the agents' debug output that contain a token, a password of the broker or one of these markers.
 */
export async function linesWithSecrets(nova: RealNova, passwords: readonly string[] = []): Promise<readonly string[]> {
  const secrets = [await nova.token(), ...passwords, ...SECRET_MARKERS].map((secret) => secret.toLowerCase());
  return nova.printed.split("\n").filter((line) => secrets.some((secret) => line.toLowerCase().includes(secret)));
}
