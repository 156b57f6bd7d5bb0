import { defineConfig } from "vitest/config";

interface Project {
  readonly name: string;
  readonly testTimeout: number;
  /** False: one file after the other, in processes of their own. */
  readonly light: boolean;
}

// Modules of light projects are loaded once a worker: no test of theirs leaves anything behind in them.
const project = ({ name, testTimeout, light }: Project) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    setupFiles: ["test/setup.ts"],
    testTimeout,
    hookTimeout: testTimeout,
    ...(light ? { pool: "threads" as const, isolate: false } : { pool: "forks" as const, fileParallelism: false }),
  },
});

export default defineConfig({
  test: {
    projects: [
      project({ name: "unit", testTimeout: 20_000, light: true }),
      project({ name: "scenario", testTimeout: 60_000, light: true }),
      project({ name: "matrix", testTimeout: 600_000, light: true }),
      project({ name: "process", testTimeout: 120_000, light: false }),
      project({ name: "peers", testTimeout: 300_000, light: false }),
    ],
  },
});
