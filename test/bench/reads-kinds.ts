import { Pool } from "undici";
import type { LocalCloud } from "../process/support/local-cloud.js";
import { usageOf } from "./processes.js";
import { KINDS, type Read, readsOf } from "./reads-mix.js";

const ROUNDS = 3;
/** Requests per kind and round. */
const READS = 1_500;
/** Concurrent requests, since reads of several clients overlap. */
const CONCURRENT_READS = 5;

/** Measures the control plane's processor time per read in milliseconds, for each kind and for the mix. */
export async function readsByKind(
  cloud: LocalCloud,
  servers: number,
): Promise<readonly { readonly kind: string; readonly processor: number }[]> {
  const token = await cloud.token();
  const pool = new Pool(cloud.url, { connections: CONCURRENT_READS, pipelining: 1 });
  const used = async () => (await usageOf([cloud.controlPlane.pid])).cpu;
  const takes = new Map<string, number>(KINDS.map(({ kind }) => [kind, 0]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { kind } of KINDS) {
      const before = await used();
      await readAll(pool, readsOf(kind, token, servers));
      // The first round is a warm-up.
      if (round > 0) {
        takes.set(kind, (takes.get(kind) ?? 0) + (1000 * ((await used()) - before)) / (READS * ROUNDS));
      }
    }
  }
  await pool.close();
  const kinds = [...takes].map(([kind, processor]) => ({ kind, processor }));
  const shares = KINDS.reduce((sum, { share }) => sum + share, 0);
  const mixed = KINDS.reduce((sum, { kind, share }) => sum + (share / shares) * (takes.get(kind) ?? 0), 0);
  return [...kinds, { kind: "the mix", processor: mixed }];
}

async function readAll(pool: Pool, reads: Generator<Read>): Promise<void> {
  let left = READS;
  const reader = async () => {
    for (; left > 0; left -= 1) {
      const { path, headers } = reads.next().value as Read;
      const { statusCode, body } = await pool.request({ method: "GET", path, headers });
      await body.dump();
      if (statusCode !== 200) {
        throw new Error(`${path}: ${statusCode}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_READS }, reader));
}
