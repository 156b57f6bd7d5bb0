import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

/** A runtime under test: the same behaviour is expected of the real doors and of the virtual ones. */
export interface Bench {
  readonly runtime: Runtime;
  /** An empty folder. */
  readonly folder: string;
  /** Awaits, moving virtual time where there is one. */
  run<T>(promise: Promise<T>): Promise<T>;
  /** Removes what it made. */
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
