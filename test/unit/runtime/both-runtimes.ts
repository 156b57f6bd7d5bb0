import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

/** A runtime under test: the Node and the virtual implementation must behave alike. */
export interface Bench {
  readonly runtime: Runtime;
  /** An empty folder. */
  readonly folder: string;
  /** Awaits a promise and advances virtual time if there is any. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Removes what the tests created. */
  dispose(): Promise<void>;
}

export const benches: readonly (readonly [name: string, open: () => Promise<Bench>])[] = [
  [
    "node",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "runtime-"));
      const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });
      const dispose = async () => {
        await runtime.http.close();
        await rm(folder, { recursive: true });
      };
      return { runtime, folder, run: (promise) => promise, dispose };
    },
  ],
  [
    "virtual",
    async () => {
      const runtime = createVirtualRuntime();
      await runtime.files.makeFolder("/folder");
      return { runtime, folder: "/folder", run: (promise) => runtime.runUntil(promise), dispose: async () => {} };
    },
  ],
];
