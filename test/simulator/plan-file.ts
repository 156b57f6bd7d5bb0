import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { QUIRK_NAMES } from "../../src/config/quirks.js";
import { RELEASE_NAMES } from "../../src/records/index.js";
import { type Plan, STEP_KINDS } from "./plan.js";

/** A plan and the result of its run. */
export interface PlanFile {
  readonly plan: Plan;
  /** The violated rule, or null. */
  readonly rule: string | null;
  /** The hash of the run's trace. */
  readonly hash: string;
}

const FILE = Type.Object({
  rule: Type.Union([Type.String(), Type.Null()]),
  hash: Type.String(),
  plan: Type.Object({
    version: Type.Literal(1),
    seed: Type.String(),
    duration: Type.Number({ minimum: 0 }),
    deployment: Type.Object({
      hosts: Type.Integer({ minimum: 1, maximum: 100 }),
      latency: Type.Number({ minimum: 0 }),
      interleave: Type.Number({ minimum: 0 }),
      sharing: Type.Integer({ minimum: 0 }),
      doubled: Type.Boolean(),
      oldest: Type.Union(RELEASE_NAMES.map((name) => Type.Literal(name))),
      quirks: Type.Array(Type.Union(QUIRK_NAMES.map((name) => Type.Literal(name)))),
      sameHostResize: Type.Boolean(),
      shelvedOffloadTime: Type.Number(),
      reclaimInterval: Type.Number({ minimum: 0 }),
      confirmWindow: Type.Optional(Type.Number({ minimum: 0 })),
      leanTracking: Type.Boolean(),
      resumeGuests: Type.Boolean(),
      repairs: Type.Boolean(),
      slow: Type.Number({ minimum: 0 }),
      nodes: Type.Integer({ minimum: 0, maximum: 1_000 }),
      ironicHosts: Type.Integer({ minimum: 0, maximum: 10 }),
    }),
    steps: Type.Array(
      Type.Object({
        number: Type.Integer({ minimum: 0 }),
        at: Type.Number({ minimum: 0 }),
        kind: Type.Union(STEP_KINDS.map((kind) => Type.Literal(kind))),
      }),
    ),
  }),
});

/** @throws if the file is invalid; the message contains the actual value */
export function readPlanFile(path: string): PlanFile {
  const content: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!Value.Check(FILE, content)) {
    const [error] = Value.Errors(FILE, content);
    throw new Error(`${path} is not a simulation's file: ${error?.instancePath ?? ""} ${error?.message ?? ""}`);
  }
  return content;
}

export function writePlanFile(path: string, file: PlanFile): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(file, null, 2)}\n`);
}
