import fc from "fast-check";
import { describe, expect } from "vitest";
import { CONDUCTOR_METHODS } from "../../../../src/conductor-client/methods/conductor.js";
import { SESSION_METHODS } from "../../../../src/conductor-client/methods/session.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { property } from "../../../fixtures/property.js";
import { rawClient } from "./raw-client.js";

const METHODS = [...Object.keys(CONDUCTOR_METHODS), ...Object.keys(SESSION_METHODS), "no_such_method"];

/** Field names that methods have, so that garbage passes the first check. */
const field = fc.constantFrom(
  "host",
  "id",
  "uuid",
  "changes",
  "filters",
  "instance",
  "migration",
  "binary",
  "node",
  "instanceUuid",
  "method",
  "params",
);
const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    null,
    -1,
    1e308,
    "\u0000",
    "\ud800",
    "x".repeat(70_000),
    "00000000-0000-4000-8000-000000000001",
  ),
);
const frame = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom("[".repeat(20_000), '{"a":'.repeat(20_000), `${"[".repeat(9_000)}${"]".repeat(9_000)}`),
  fc.json(),
  fc
    .record(
      {
        jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "1.0", 2),
        id: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom<unknown>(null, "a", {}, 1.5, -1)),
        method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...METHODS) }, { weight: 1, arbitrary: junk }),
        params: fc.oneof(fc.dictionary(field, junk, { maxKeys: 4 }), junk),
        meta: fc.oneof(fc.constant({ host: "devstack1" }), fc.dictionary(fc.constantFrom("host", "ack", "x"), junk)),
      },
      { requiredKeys: [] },
    )
    .map((message) => JSON.stringify(message)),
);

/** Returns everything that garbage must leave unchanged. */
function contents(store: Store): unknown {
  return {
    services: store.services.list(),
    nodes: store.computeNodes.list(),
    instances: store.instances.byFilters({}),
    migrations: store.migrations.byFilters({ readDeleted: true }),
    tasks: store.tasks.pending(),
    messages: store.messages.pending("devstack1"),
  };
}

describe("garbage sent to the conductor", () => {
  property([fc.array(frame, { minLength: 1, maxLength: 25 }), fc.boolean()], { numRuns: 25, seed: 4_711 })(
    "is answered with an error, crashes nothing and changes nothing",
    async (frames, hello) => {
      const { send, cluster, world, closed } = await rawClient({ hello });
      const { store } = cluster;
      const service = store.services.create({
        host: "devstack1",
        binary: "nova-compute",
        topic: "compute",
        version: 73,
      });
      const before = contents(store);
      for (const text of frames) {
        for (const reply of [await send(text)].flat(2)) {
          expect(reply).toMatchObject({ jsonrpc: "2.0" });
        }
      }
      expect(contents(store)).toEqual(before);
      // Other agents are unaffected.
      const session = await cluster.session("devstack2");
      const found = session.call("service_get_by_host", { host: "devstack1", binary: "nova-compute" });
      expect(await world.runUntil(found)).toEqual(service);
      expect(closed).toEqual([]);
      expect(cluster.runtime.logs.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});
