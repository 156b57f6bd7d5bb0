import { isDeepStrictEqual } from "node:util";
import { quietLogger } from "../../../src/cli/ui/logging.js";
import type { ServiceRequest } from "../../../src/runtime/http-server.js";
import { nodeClock } from "../../../src/runtime/node/node-builtins.js";
import { nodeRandom } from "../../../src/runtime/node/node-cryptography.js";
import { TestPlacement } from "../../fixtures/world/placement.js";
import { INTENDED_DIFFERENCES } from "./intended-differences.js";
import { writeJson } from "./json-text.js";
import { type Normalized, normalize } from "./normalize.js";
import type { RealClient } from "./real-client.js";
import { describeStep, queryText, type Step } from "./step.js";

/** Sends a sequence to a fresh embedded Placement and to the real one. Throws at the first unintended difference. */
export async function compareSequence(steps: readonly Step[], client: RealClient, url: string): Promise<number> {
  const embedded = new TestPlacement({ clock: nodeClock(), random: nodeRandom(), logger: quietLogger });
  const before: string[] = [];
  let compared = 0;
  for (const step of steps) {
    const request = toRequest(step, embedded, url);
    const line = describeStep(step, request.body);
    const mine = normalize(embedded.handle(request));
    const theirs = normalize(await client.send(request));
    before.push(`${line} -> ${theirs.status}`);
    compared += 1;
    if (isDeepStrictEqual(mine, theirs)) {
      continue;
    }
    const comparison = { step, sent: request.body, embedded: mine, real: theirs };
    const intended = INTENDED_DIFFERENCES.find((difference) => difference.holds(comparison));
    if (intended === undefined) {
      throw new Error(report(before, mine, theirs));
    }
    if (intended.parts === true) {
      return compared;
    }
  }
  return compared;
}

function report(steps: readonly string[], embedded: Normalized, real: Normalized): string {
  return [
    "the embedded Placement answers differently after these requests:",
    ...steps,
    `embedded: ${JSON.stringify(embedded, null, 1)}`,
    `real: ${JSON.stringify(real, null, 1)}`,
  ].join("\n");
}

function toRequest(step: Step, embedded: TestPlacement, baseUrl: string): ServiceRequest {
  const headers: Record<string, string> = { ...step.headers };
  let body = "";
  if (step.body !== undefined) {
    const text = writeJson(step.body, (uuid) => currentGeneration(embedded, uuid));
    body = step.broken === undefined ? text : BROKEN[step.broken](text);
    headers["content-type"] ??= "application/json";
    headers["content-length"] = String(Buffer.byteLength(body));
  }
  return { method: step.method, path: step.path, query: queryText(step).slice(1), headers, body, baseUrl };
}

const BROKEN = {
  cut: (text: string) => text.slice(0, Math.floor(text.length / 2)),
  comma: (text: string) => text.replace(/([}\]])$/, ",$1"),
  tail: (text: string) => `${text} x`,
};

function currentGeneration(embedded: TestPlacement, uuid: string): number | null {
  const get = (path: string) =>
    JSON.parse(
      embedded.handle({
        method: "GET",
        path,
        query: "",
        headers: { "x-auth-token": "admin", "openstack-api-version": "placement 1.39" },
        body: "",
        baseUrl: "",
      }).body,
    ) as { generation?: number; consumer_generation?: number };
  return get(`/resource_providers/${uuid}`).generation ?? get(`/allocations/${uuid}`).consumer_generation ?? null;
}
