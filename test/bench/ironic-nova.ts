import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Path next to the package, relative to dist/test/bench. */
const peer = fileURLToPath(new URL("../../../../shared/peers/ironic", import.meta.url));

export interface NovaPass {
  readonly seconds: number;
  readonly requests: number;
}

/**
 * First and unchanged pass of Debian's nova 26.2 (driver, tracker and report client) over 1,000 nodes of a real Ironic
 * 21.4.
 */
export const RECORDED = {
  nodes: 1_000,
  first: { seconds: 199.1, requests: 7_005 },
  unchanged: { seconds: 267, requests: 2_002 },
} as const;

export function novaIsHere(): boolean {
  return (
    ["real-nova-pass", "rt-db"].every((name) => existsSync(join(peer, name))) &&
    existsSync("/usr/lib/python3/dist-packages/nova")
  );
}

/**
 * Runs the first and an unchanged pass of nova's own code over the first `nodes` of the same Ironic, on an empty
 * database.
 * @param state folder of the Ironic, whose MariaDB also contains nova's database
 */
export async function novaPasses(state: string, ironic: string, placement: string, nodes: number): Promise<NovaPass[]> {
  const database = (await run(join(peer, "rt-db"), [state])).stdout.trim();
  const { stdout } = await run(
    join(peer, "real-nova-pass"),
    ["--ironic", ironic, "--placement", placement, "--db", database, "--passes", "2", "--limit", String(nodes)],
    { maxBuffer: 1 << 26 },
  );
  const lines = stdout.matchAll(/^RT pass.*?([\d.]+) s wall.*?(\d+) requests/gm);
  return [...lines].map(([, seconds, requests]) => ({ seconds: Number(seconds), requests: Number(requests) }));
}
