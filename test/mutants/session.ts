/** A process that runs tests with mutated sources: `node session.js`, with the plan in the environment. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, createVitest, type TestSpecification, type Vitest } from "vitest/node";
import { Journal } from "./journal.js";
import type { Mutant } from "./mutant.js";
import { LOADING_MUTANT, NOT_LOADED, PLAN_FILE, type Plan, readPlan } from "./plan.js";
import { TESTS } from "./sources.js";
import { weave } from "./weave.js";

/** Runs the tests in the order of the plan. */
class PlannedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

function weaving({ root, mutants }: Plan) {
  const byPath = new Map<string, Mutant[]>();
  for (const mutant of mutants) {
    const path = join(root, mutant.path);
    byPath.set(path, [...(byPath.get(path) ?? []), mutant]);
  }
  return {
    name: "mutants",
    enforce: "pre" as const,
    transform(text: string, id: string) {
      const found = byPath.get(id);
      return found ? { code: weave(text, found), map: null } : null;
    },
  };
}

async function openVitest(plan: Plan): Promise<Vitest> {
  return createVitest(
    "test",
    {
      root: plan.root,
      config: false,
      watch: false,
      setupFiles: ["test/setup.ts"],
      include: TESTS.map((folder) => `${folder}/**/*.test.ts`),
      pool: "threads",
      isolate: false,
      fileParallelism: false,
      maxWorkers: 1,
      testTimeout: 60_000,
      hookTimeout: 60_000,
      runner: fileURLToPath(new URL("./runner.js", import.meta.url)),
      sequence: { sequencer: PlannedOrder },
      reporters: [{}],
      dangerouslyIgnoreUnhandledErrors: true,
    },
    { plugins: [weaving(plan)], logLevel: "silent" },
  );
}

async function main(): Promise<void> {
  const plan = readPlan(process.env[PLAN_FILE] ?? "");
  const journal = new Journal(plan.journal);
  const vitest = await openVitest(plan);
  const specifications = (tests: readonly string[]) =>
    tests.map((test) => vitest.getRootProject().createSpecification(join(plan.root, test)));
  if (plan.whileLoading) {
    for (const { id, tests } of plan.whileLoading) {
      process.env[LOADING_MUTANT] = String(id);
      journal.write({ kind: "try", id, test: "while modules load" });
      const { testModules } = await vitest.runTestSpecifications(specifications(tests));
      const broken = testModules.find(
        (module) => module.state() === "failed" && !module.errors().some(({ message }) => message === NOT_LOADED),
      );
      journal.write(
        broken ? { kind: "kill", id, test: `${broken.relativeModuleId} > while modules load` } : { kind: "spent", id },
      );
    }
  } else {
    await vitest.runTestSpecifications(specifications(plan.tests));
  }
  await vitest.close();
  journal.write({ kind: "end" });
  process.exit(0);
}

await main();
