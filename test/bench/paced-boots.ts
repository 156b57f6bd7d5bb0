/**
 * A thread of `npm run bench hosts` that boots servers at a fixed rate and measures response times. It is separate from
 * the event loop of the hosts' agents, whose work would otherwise be counted as the control plane's.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { request } from "../process/support/cloud.js";

export interface PacedBoots {
  /** URL of the Compute API. */
  readonly url: string;
  readonly token: string;
  readonly imageRef: string;
  readonly servers: number;
  readonly perSecond: number;
}

/** Returns response times in milliseconds, sorted. */
export function pacedBoots(boots: PacedBoots): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: boots });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function bootAll({ url, token, imageRef, servers, perSecond }: PacedBoots): Promise<readonly number[]> {
  const headers = { "x-auth-token": token, "openstack-api-version": "compute 2.96" };
  const waits = await Promise.all(
    Array.from({ length: servers }, async (_, index) => {
      await pause((index * 1000) / perSecond);
      const requestedAt = performance.now();
      const server = { name: `paced${index}`, flavorRef: "1", imageRef, networks: "none" };
      const { status, body } = await request("POST", `${url}/servers`, { server }, headers);
      if (status !== 202) {
        throw new Error(`boot: ${status} ${JSON.stringify(body)}`);
      }
      return performance.now() - requestedAt;
    }),
  );
  return waits.sort((left, right) => left - right);
}

if (!isMainThread) {
  parentPort?.postMessage(await bootAll(workerData as PacedBoots));
}
