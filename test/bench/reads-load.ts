import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "undici";
import { mixedReads } from "./reads-mix.js";

export interface LoadFigures {
  /** Completed reads per second. */
  readonly rate: number;
  /** Milliseconds from the time at which a read was due, even if it was sent later. */
  readonly median: number;
  readonly p99: number;
  readonly worst: number;
  /** Responses other than 200, by kind. */
  readonly rejections: ReadonlyMap<string, number>;
}

/** Milliseconds between batches of requests. */
const TICK = 5;
const CONNECTIONS = 32;

/** Sends reads at a fixed rate, regardless of pending ones, until `work` has finished. */
export async function underReads<T>(
  { url, token, servers, rate }: { url: string; token: string; servers: number; rate: number },
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly load: LoadFigures }> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const reads = mixedReads(token, servers);
  const times: number[] = [];
  const rejections = new Map<string, number>();
  const open = new Set<Promise<void>>();
  const send = async (due: number) => {
    const { kind, read } = reads.next().value as {
      kind: string;
      read: { path: string; headers: Record<string, string> };
    };
    const { statusCode, body } = await pool.request({ method: "GET", path: read.path, headers: read.headers });
    await body.dump();
    times.push(performance.now() - due);
    if (statusCode !== 200) {
      rejections.set(`${kind}: ${statusCode}`, (rejections.get(`${kind}: ${statusCode}`) ?? 0) + 1);
    }
  };
  let over = false;
  const began = performance.now();
  const sender = (async () => {
    let sent = 0;
    while (!over) {
      const due = Math.floor(((performance.now() - began) * rate) / 1000);
      for (; sent < due; sent += 1) {
        const pendingRequest: Promise<void> = send(began + (sent * 1000) / rate).finally(() =>
          open.delete(pendingRequest),
        );
        open.add(pendingRequest);
      }
      await pause(TICK);
    }
  })();
  const result = await work();
  over = true;
  await sender;
  await Promise.all(open);
  const seconds = (performance.now() - began) / 1000;
  await pool.close();
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { result, load: { rate: times.length / seconds, median: at(0.5), p99: at(0.99), worst: at(1), rejections } };
}
