import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually, type Json } from "../../process/support/cloud.js";
import type { Program } from "../../process/support/program.js";
import { get } from "../ironic/contract/client.js";
import { HOW_TO_INSTALL, isInstalled, type RealIronic, startRealIronic } from "../ironic/real-ironic.js";
import { nodeUuid } from "../ironic-agent/baremetal-harness.js";
import { agentOptions, FLAVOR, makeFlavor } from "../ironic-agent/baremetal-options.js";
import { ProviderWatch } from "../ironic-agent/provider-watch.js";
import { hasPeer } from "./control-plane.js";
import { useRealNova } from "./use-real-nova.js";
import { idle } from "./waiting.js";

const NODES = [0, 1, 2].map(nodeUuid);

/** Three nodes of a real Ironic that agents of the ironic driver share; a watch checks them continuously. */
describe.skipIf(!hasPeer)("agents with the Ironic driver", () => {
  const cloud = useRealNova();
  let ironic: RealIronic;
  let watch: ProviderWatch;
  const agents = new Map<string, Program>();

  beforeAll(async () => {
    if (!isInstalled()) {
      throw new Error(HOW_TO_INSTALL);
    }
    const nova = cloud();
    ironic = await startRealIronic({ deployDelay: 1 });
    await ironic.enrol(NODES.length);
    await makeFlavor(nova);
    watch = new ProviderWatch(nova, ironic, NODES);
  });
  afterEach(async () => {
    await watch.looked();
    expect([...watch.breaches]).toEqual([]);
  });
  afterAll(async () => {
    await watch?.stop();
    await Promise.all([...agents.values()].map((agent) => agent.stop()));
    await Promise.all([...agents.keys()].map((host) => cloud().retire(host)));
    await ironic?.stop();
  });

  async function start(host: string): Promise<void> {
    agents.set(host, await cloud().startAgent(host, { options: agentOptions(ironic), driver: "ironic" }));
    await cloud().discover();
  }
  const listOf = (value: Json | undefined): Json[] => Object.values(value ?? {});
  /** Returns the host of each node. */
  async function hosts(): Promise<ReadonlyMap<string, string>> {
    // From 2.88 on, Nova requests the uptime from hosts, including for a minute one that has just ended.
    const { body } = await cloud().compute("GET", "/os-hypervisors/detail", undefined, "2.87");
    const nodes = listOf(body.hypervisors).filter((row) => NODES.includes(String(row.hypervisor_hostname)));
    return new Map(nodes.map((row) => [String(row.hypervisor_hostname), String(row.service?.host)]));
  }
  const free = (): Promise<unknown> =>
    eventually(
      async () => {
        const responses = NODES.map((node) => cloud().placement("GET", `/resource_providers/${node}/inventories`));
        return (await Promise.all(responses)).map(({ body }) => Number(body.inventories?.CUSTOM_BAREMETAL?.reserved));
      },
      (reserved) => reserved.every((units) => units === 0),
    );
  /** Builds a server, and checks that it has an allocation on one node and is Ironic's instance there. */
  async function build(name: string): Promise<string> {
    const nova = cloud();
    const id = await nova.operator.boot(name, { flavor: FLAVOR });
    const server = await idle(nova, id, "ACTIVE");
    const node = String(server["OS-EXT-SRV-ATTR:hypervisor_hostname"]);
    expect(NODES).toContain(node);
    expect(String(server["OS-EXT-SRV-ATTR:host"])).toBe((await hosts()).get(node));
    expect(await nova.operator.held(id, [])).toEqual({ [node]: { CUSTOM_BAREMETAL: 1 } });
    const { body } = await get(ironic, `/v1/nodes/${node}`);
    expect(body).toMatchObject({ instance_uuid: id, provision_state: "active" });
    return id;
  }
  async function remove(id: string): Promise<void> {
    watch.released(id);
    await cloud().remove(id);
    expect(await cloud().operator.held(id, [])).toEqual({});
  }

  it("three nodes are enrolled; a server is deployed on one and deleted", async () => {
    await start("bm1");
    await free();
    expect([...(await hosts())].toSorted()).toEqual(NODES.map((node) => [node, "bm1"]));
    watch.start();
    await remove(await build("metal"));
    await free();
  });

  it("a second agent takes nodes over and returns them, while servers are deployed on all of them", async () => {
    await start("bm2");
    await eventually(hosts, (found) => new Set(found.values()).size === 2);
    await free();
    const servers: string[] = [];
    for (const [index] of NODES.entries()) {
      servers.push(await build(`metal-${index}`));
    }
    await Promise.all(servers.map(remove));
    await free();
    await agents.get("bm2")?.stop();
    // Once its service is down.
    await eventually(hosts, (found) => [...found.values()].every((host) => host === "bm1"));
    expect((await hosts()).size).toBe(NODES.length);
    await free();
    const again: string[] = [];
    for (const [index] of NODES.entries()) {
      again.push(await build(`metal-again-${index}`));
    }
    await Promise.all(again.map(remove));
  });
});
