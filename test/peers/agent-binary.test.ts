import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { placementOfTests } from "./placement/placement-of-tests.js";

interface Recorded {
  readonly src: string;
  readonly path: string;
  readonly response_body: Readonly<Record<string, unknown>> | null;
}
type Inventories = Readonly<Record<string, Readonly<Record<string, number>>>>;

const recording = JSON.parse(
  await readFile(new URL("../fixtures/golden/nova/placement-phases.json", import.meta.url), "utf8"),
) as { readonly requests: Readonly<Record<string, readonly Recorded[]>> };

/** Returns the last response of that kind to the recorded nova-compute. */
function recorded(phase: string, end: string): Readonly<Record<string, unknown>> {
  const found = recording.requests[phase]?.findLast(({ src, path }) => src === "rec1" && path.endsWith(end));
  if (!found?.response_body) {
    throw new TypeError(`the recording has no …${end} in ${phase}`);
  }
  return found.response_body;
}

/**
 * Returns whether a trait depends on the driver (spec 8.4) or the agent's release (4.7), so that it differs from a Zed
 * fake driver's.
 */
function isDrivers(trait: string) {
  return (
    trait === "OWNER_NOVA" ||
    trait.startsWith("HW_CPU_") ||
    (trait.startsWith("COMPUTE_") && trait !== "COMPUTE_NODE" && trait !== "COMPUTE_STATUS_DISABLED")
  );
}

describe("the agent's binary at Debian's real Placement, compared with a recorded nova-compute", () => {
  const real = placementOfTests();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "agent-binary-"));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
  });
  it("first start, restart, build and delete leave what nova-compute left", async () => {
    const placement = real().url;
    const config = join(folder, "nova.conf");
    await writeFile(
      config,
      `[DEFAULT]\n# Zed's defaults\ninitial_cpu_allocation_ratio = 16.0\ninitial_ram_allocation_ratio = 1.5\n` +
        `[placement]\nauth_type = admin_token\nendpoint = ${placement}\ntoken = admin\n`,
    );
    const cloud = await LocalCloud.start("--config-file", config);
    try {
      const operator = new Operator(cloud);
      const get = async (path: string, version: string) => {
        const headers = { "x-auth-token": "admin", "openstack-api-version": `placement ${version}` };
        return (await (await fetch(`${placement}${path}`, { headers })).json()) as Record<string, unknown>;
      };
      const state = async () => {
        const { resource_providers } = (await get("/resource_providers?name=rec1", "1.14")) as {
          resource_providers: { uuid: string; generation: number; parent_provider_uuid: string | null }[];
        };
        const [provider] = resource_providers;
        const path = `/resource_providers/${provider?.uuid}`;
        const { inventories } = (await get(`${path}/inventories`, "1.26")) as { inventories: Inventories };
        const { traits } = (await get(`${path}/traits`, "1.6")) as { traits: string[] };
        const { allocations } = await get(`${path}/allocations`, "1.0");
        const { aggregates } = await get(`${path}/aggregates`, "1.19");
        return { provider, inventories, traits, allocations, aggregates };
      };
      const args = ["--config-file", config];

      const first = await cloud.startAgent("rec1", { args });
      const fresh = await state();
      const [known] = recorded("restart", "in_tree=0c289c26-72cd-47eb-9c89-46d9e443a85f").resource_providers as {
        generation: number;
      }[];
      expect(fresh.provider).toMatchObject({ generation: known?.generation, parent_provider_uuid: null });
      const theirs = recorded("restart", "/inventories").inventories as Inventories;
      for (const [resourceClass, inventory] of Object.entries(theirs)) {
        // Compares everything except the hypervisor's totals.
        const { total: _total, max_unit: _max, ...rest } = inventory;
        expect(fresh.inventories[resourceClass], resourceClass).toMatchObject(rest);
      }
      expect(Object.keys(fresh.inventories).sort()).toEqual(Object.keys(theirs).sort());
      const rest = (traits: readonly string[]) => traits.filter((trait) => !isDrivers(trait)).sort();
      expect(rest(fresh.traits)).toEqual(rest(recorded("restart", "/traits").traits as string[]));
      expect(fresh.traits).toContain("OWNER_NOVA");
      expect(fresh.allocations).toEqual({});
      expect(fresh.aggregates).toEqual([]);

      await first.stop();
      await cloud.startAgent("rec1", { args });
      expect(await state()).toEqual(fresh);

      const server = await operator.boot("vm1");
      await operator.serverIn(server, "ACTIVE");
      const built = await state();
      const [held] = Object.values(recorded("boot", "/allocations").allocations as Record<string, unknown>);
      expect(built.allocations).toEqual({ [server]: held });
      expect(built.provider?.generation).toBe((fresh.provider?.generation ?? 0) + 1);

      expect((await cloud.compute("DELETE", `/servers/${server}`)).status).toBe(204);
      await cloud.eventually(
        () => cloud.compute("GET", `/servers/${server}`),
        (response) => response.status === 404,
      );
      // DELETE /allocations/{consumer} does not increment generations.
      expect(await state()).toEqual({ ...built, allocations: {} });
    } finally {
      await cloud.dispose();
    }
  });
});
