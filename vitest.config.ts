import { defineConfig } from "vitest/config";

const project = (name: string, testTimeout: number, fileParallelism = true) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout, hookTimeout: testTimeout, fileParallelism },
});

export default defineConfig({
  test: {
    projects: [
      project("unit", 10_000),
      project("scenario", 20_000),
      project("process", 60_000, false),
      project("peers", 300_000, false),
    ],
  },
});
