import { setTimeout as pause } from "node:timers/promises";
import type { Json } from "../../process/support/cloud.js";
import { LocalCloud } from "../../process/support/local-cloud.js";
import { Operator } from "../../process/support/operator.js";
import type { Program } from "../../process/support/program.js";
import { get, put } from "../ironic/contract/client.js";
import {
  HOW_TO_INSTALL,
  isInstalled,
  type RealIronic,
  type RealIronicOptions,
  startRealIronic,
} from "../ironic/real-ironic.js";
import { agentOptions, FLAVOR, makeFlavor } from "./baremetal-options.js";
import { ProviderWatch } from "./provider-watch.js";

/** Returns the uuid of the n-th node that {@link RealIronic.enrol} creates. */
export const nodeUuid = (index: number): string => `ba5eba11-0000-4000-8000-${String(index).padStart(12, "0")}`;

/** The real Ironic, a control plane and agents as processes, and an operator; a watch checks them continuously. */
export class BaremetalHarness {
  readonly ironic: RealIronic;
  readonly cloud: LocalCloud;
  readonly operator: Operator;
  readonly watch: ProviderWatch;
  readonly #agents = new Map<string, Program>();

  private constructor(ironic: RealIronic, cloud: LocalCloud) {
    this.ironic = ironic;
    this.cloud = cloud;
    this.operator = new Operator(cloud);
    this.watch = new ProviderWatch(cloud, ironic);
  }

  /** @throws if the real Ironic is not installed. */
  static async open(nodes: number, options: RealIronicOptions): Promise<BaremetalHarness> {
    if (!isInstalled()) {
      throw new Error(HOW_TO_INSTALL);
    }
    const ironic = await startRealIronic(options);
    try {
      await ironic.enrol(nodes);
      const cloud = await LocalCloud.start("--service-down-time", "10");
      await makeFlavor(cloud);
      return new BaremetalHarness(ironic, cloud);
    } catch (error) {
      await ironic.stop();
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.watch.stop();
    await this.cloud.dispose();
    await this.ironic.stop();
  }

  async startAgent(host: string): Promise<void> {
    const options = agentOptions(this.ironic).flatMap((text) => ["-o", text]);
    this.#agents.set(host, await this.cloud.startAgent(host, { args: [...options, "--metrics-port", "0"] }));
  }

  async stopAgent(host: string): Promise<void> {
    await this.#agents.get(host)?.stop();
    this.#agents.delete(host);
  }

  /** Returns the output of an agent. */
  output(host: string): string {
    const agent = this.#agents.get(host);
    return `${agent?.stdout}\n${agent?.stderr}`;
  }

  /** Waits until the agent has made a complete pass, including its listing of nodes. */
  async passed(host: string): Promise<void> {
    const before = await this.#passes(host);
    // The current pass may have listed the nodes before this call.
    await this.cloud.eventually(
      () => this.#passes(host),
      (passes) => passes >= before + 2,
    );
  }

  async #passes(host: string): Promise<number> {
    const agent = this.#agents.get(host);
    if (!agent) {
      throw new Error(`no agent ${host}`);
    }
    const [, url = ""] = await agent.printed(/metrics on (http:\S+)/);
    const text = await (await fetch(url)).text();
    const line = text
      .split("\n")
      .find((candidate) => /periodic_task_duration_seconds_count.*update_available_resource/.test(candidate));
    return Number(line?.split(" ").at(-1) ?? 0);
  }

  boot(name: string): Promise<string> {
    return this.operator.boot(name, { flavor: FLAVOR });
  }

  /** Waits until the server is no longer being built, and returns it with its fault. */
  async settled(id: string): Promise<Json> {
    return this.cloud.eventually(
      () => this.operator.server(id),
      ({ status }) => status !== undefined && String(status) !== "BUILD",
    );
  }

  async destroy(id: string): Promise<void> {
    this.watch.released(id);
    const { status } = await this.cloud.compute("DELETE", `/servers/${id}`);
    if (status !== 204) {
      throw new Error(`DELETE ${id}: ${status}`);
    }
    await this.cloud.eventually(
      () => this.cloud.compute("GET", `/servers/${id}`),
      (response) => response.status === 404,
    );
  }

  /** Amounts by provider. */
  async held(consumer: string): Promise<Json> {
    return (await this.cloud.placement("GET", `/allocations/${consumer}`)).body.allocations ?? {};
  }

  /** Returns the reserved amount of the node's class, or undefined if there is no provider. */
  async reserved(node: string): Promise<number | undefined> {
    const { status, body } = await this.cloud.placement("GET", `/resource_providers/${node}/inventories`);
    return status === 404 ? undefined : Number(body.inventories?.CUSTOM_BAREMETAL?.reserved);
  }

  /** Waits until all of the nodes can be scheduled to. */
  async free(nodes: readonly string[]): Promise<void> {
    for (const node of nodes) {
      await this.cloud.eventually(
        () => this.reserved(node),
        (reserved) => reserved === 0,
      );
    }
  }

  /** Reads a node from Ironic. */
  async node(uuid: string): Promise<Readonly<Record<string, unknown>>> {
    return (await get(this.ironic, `/v1/nodes/${uuid}`)).body;
  }

  async nodeIs(uuid: string, expected: Readonly<Record<string, unknown>>): Promise<void> {
    for (;;) {
      const node = await this.node(uuid);
      if (Object.entries(expected).every(([name, value]) => node[name] === value)) {
        return;
      }
      await pause(50);
    }
  }

  async provision(uuid: string, target: string): Promise<void> {
    const { status, fault } = await put(this.ironic, `/v1/nodes/${uuid}/states/provision`, { target });
    if (status !== 202) {
      throw new Error(`${target} ${uuid}: ${status} ${fault}`);
    }
  }

  async maintenance(uuid: string, on: boolean): Promise<void> {
    await this.ironic.sendAll([
      { method: on ? "PUT" : "DELETE", path: `/v1/nodes/${uuid}/maintenance`, ...(on ? { body: {} } : {}) },
    ]);
  }
}
