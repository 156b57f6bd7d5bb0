import { setFlagsFromString } from "node:v8";
import { defineConfig } from "vitest/config";
import { RealNovaInOrder } from "./test/peers/real-nova/order.js";

// What a test makes is garbage with its end: V8 looks for it less often, and finds less of it alive. For workers, too.
setFlagsFromString("--min-semi-space-size=32");
setFlagsFromString("--max-semi-space-size=64");
// Most of what tests run is over before code that V8 has optimized for it would have paid: V8 begins to optimize later.
setFlagsFromString("--interrupt-budget=600000");

interface Project {
  readonly name: string;
  readonly testTimeout: number;
  /** Runs files in threads; without it in processes, for tests that mostly wait for programs. */
  readonly light: boolean;
  /** One file after the other. */
  readonly alone?: boolean;
}

/** Peers, too, but with a control plane that takes half a minute to start, and the ports of MariaDB and RabbitMQ. */
const REAL_NOVA = "test/peers/real-nova/**/*.test.ts";
/** Random requests to a real Cinder: a peer, too, with known differences that are still open. */
const REAL_CINDER = "test/peers/block-storage/differential.test.ts";
/** Scenarios whose agents speak to a Nova here, too. */
const OVER_NOVA = [
  "cold-move-failures",
  "cold-move-recovery",
  "cold-move-shutdown",
  "cold-moves",
  "control-services",
  "deleted-while-moving",
  "evacuate-over-a-finished-move",
  "evacuate-over-a-move",
  "evacuate-over-a-rebuild",
  "evacuation-round-trip",
  "fake-libvirt-moves",
  "guard-fake-libvirt",
  "late-take-over",
  "late-writes",
  "live-migration-checks",
  "live-migration-failures",
  "live-migration-fake-libvirt",
  "live-migration-recovery",
  "live-migration-shutdown",
  "live-migration",
  "queued-messages",
  "request-ids",
  "server-group-moves",
  "service-delete-orphans",
  "service-delete",
  "stale-move-context",
  "startup-after-kill",
  "startup-faults",
  "startup-meddling",
  "states-and-shelving",
];
/** Of these, those that also run over the oldest release that is spoken to. */
const OVER_ZED = [
  "cold-moves",
  "evacuation-round-trip",
  "fake-libvirt-moves",
  "live-migration",
  "server-group-moves",
  "startup-after-kill",
];

/** Those with requests that 2026.1 and later send to a topic of their own. */
const OVER_ALTERNATE_TOPIC = [
  "cold-move-shutdown",
  "cold-moves",
  "evacuation-round-trip",
  "live-migration",
  "live-migration-failures",
  "live-migration-shutdown",
  "startup-after-kill",
];

// Modules are loaded once a worker, where tests leave nothing behind in them.
const project = ({ name, testTimeout, light, alone = false }: Project) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    setupFiles: ["test/setup.ts"],
    testTimeout,
    hookTimeout: testTimeout,
    fileParallelism: !alone,
    isolate: alone,
    ...(light || alone ? {} : { maxWorkers: 3, sequence: { groupOrder: 1 } }),
    pool: light ? ("threads" as const) : ("forks" as const),
  },
});

const peers = () => {
  const { test } = project({ name: "peers", testTimeout: 300_000, light: false, alone: true });
  return { test: { ...test, exclude: [REAL_NOVA, REAL_CINDER] } };
};
const realCinder = () => {
  const { test } = project({ name: "real-cinder", testTimeout: 300_000, light: false, alone: true });
  return { test: { ...test, include: [REAL_CINDER] } };
};
const realNova = () => {
  const { test } = project({ name: "real-nova", testTimeout: 300_000, light: false, alone: true });
  return { test: { ...test, include: [REAL_NOVA], globalSetup: "test/peers/real-nova/one-control-plane.ts" } };
};

const overNova = (release: string, names: readonly string[]) => {
  const { test } = project({ name: "scenario", testTimeout: 600_000, light: true });
  const include = [...names.map((name) => `test/scenario/${name}.test.ts`), "test/over-nova/**/*.test.ts"];
  const setupFiles = [...test.setupFiles, "test/fixtures/nova-conductor/skip-differences.ts"];
  return { test: { ...test, name: `nova-${release}`, include, setupFiles, provide: { adapter: release } } };
};

export default defineConfig({
  test: {
    sequence: { sequencer: RealNovaInOrder },
    // Vitest would leave one core of two to itself.
    maxWorkers: 2,
    // What was compiled for one run, or for one project, serves the next; its key is the content.
    experimental: { fsModuleCache: true },
    projects: [
      project({ name: "unit", testTimeout: 20_000, light: true }),
      project({ name: "scenario", testTimeout: 60_000, light: true }),
      project({ name: "matrix", testTimeout: 600_000, light: true }),
      overNova("zed", OVER_ZED),
      overNova("2025.1", OVER_NOVA),
      overNova("2026.2", OVER_ALTERNATE_TOPIC),
      project({ name: "process", testTimeout: 120_000, light: false }),
      project({ name: "long", testTimeout: 120_000, light: false }),
      project({ name: "dashboard", testTimeout: 120_000, light: false }),
      project({ name: "docs", testTimeout: 120_000, light: false }),
      peers(),
      realCinder(),
      realNova(),
    ],
  },
});
