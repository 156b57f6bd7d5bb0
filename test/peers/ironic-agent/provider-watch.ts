import { setTimeout as pause } from "node:timers/promises";
import type { Cloud, Json } from "../../process/support/cloud.js";
import { get } from "../ironic/contract/client.js";
import type { RealIronic } from "../ironic/real-ironic.js";

/**
 * Polls Placement, Nova and Ironic continuously and records violations. V8-V10, V16: a node with a provider keeps it,
 * with its uuid, its name and a generation that never decreases, as it would if it were deleted and created again. V7:
 * the node has one compute node. V1, V11, V15: a server that was ACTIVE keeps its node and its allocation, and nothing
 * else.
 */
export class ProviderWatch {
  readonly breaches = new Set<string>();
  pollCount = 0;
  readonly #cloud: Cloud;
  readonly #ironic: RealIronic;
  readonly #nodes: ReadonlySet<string> | undefined;
  readonly #generations = new Map<string, number>();
  readonly #active = new Map<string, string>();
  /** Nodes that may lose their providers, and servers that may lose their nodes. */
  readonly #released = new Set<string>();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  /** @param nodes Ironic's nodes, for a cloud that also has other hosts; default: all hosts */
  constructor(cloud: Cloud, ironic: RealIronic, nodes?: readonly string[]) {
    this.#cloud = cloud;
    this.#ironic = ironic;
    this.#nodes = nodes === undefined ? undefined : new Set(nodes);
  }

  start(): void {
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Excludes a deleted server, or a node, from the checks. */
  released(uuid: string): void {
    this.#released.add(uuid);
    this.#active.delete(uuid);
    this.#generations.delete(uuid);
  }

  /** Includes a node that must have a provider again. */
  expected(node: string): void {
    this.#released.delete(node);
  }

  /** Waits for a complete poll that began after this call. */
  async looked(): Promise<void> {
    const from = this.pollCount;
    while (this.pollCount < from + 2) {
      await pause(20);
    }
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      await this.#lookAtProviders();
      await this.#lookAtServers();
      this.pollCount += 1;
      await pause(50);
    }
  }

  async #lookAtProviders(): Promise<void> {
    const known = [...this.#generations];
    const { body } = await this.#cloud.placement("GET", "/resource_providers");
    const providers = new Map(
      listOf(body.resource_providers)
        .filter(({ uuid }) => this.#isNode(uuid))
        .map((provider) => [String(provider.uuid), provider]),
    );
    for (const [uuid, generation] of known) {
      if (this.#released.has(uuid)) {
        continue;
      }
      const provider = providers.get(uuid);
      if (!provider) {
        this.breaches.add(`V10, V16: the provider of node ${uuid} was deleted`);
      } else if (Number(provider.generation) < generation) {
        this.breaches.add(`V9, V16: the provider of node ${uuid} was made anew`);
      }
    }
    for (const [uuid, { name, generation }] of providers) {
      if (String(name) !== uuid) {
        this.breaches.add(`V8: provider ${uuid} is called ${name}`);
      }
      if (!this.#released.has(uuid)) {
        this.#generations.set(uuid, Number(generation));
      }
    }
    const hypervisors = listOf((await this.#cloud.compute("GET", "/os-hypervisors")).body.hypervisors);
    const names = hypervisors.map(({ hypervisor_hostname: name }) => String(name));
    if (new Set(names).size < names.length) {
      this.breaches.add("V7: a node has two compute nodes");
    }
  }

  #isNode(uuid: unknown): boolean {
    return this.#nodes?.has(String(uuid)) ?? true;
  }

  async #lookAtServers(): Promise<void> {
    const settled = [...this.#active];
    for (const [id, node] of settled) {
      await this.#lookAtServer(id, node);
    }
    const servers = listOf((await this.#cloud.compute("GET", "/servers/detail")).body.servers);
    for (const server of servers) {
      const id = String(server.id);
      const node = server["OS-EXT-SRV-ATTR:hypervisor_hostname"];
      if (String(server.status) !== "ACTIVE" || !this.#isNode(node) || this.#released.has(id)) {
        continue;
      }
      this.#active.set(id, String(node));
    }
  }

  async #lookAtServer(id: string, node: string): Promise<void> {
    const { body } = await this.#cloud.placement("GET", `/allocations/${id}`);
    const there = await get(this.#ironic, `/v1/nodes/${node}?fields=instance_uuid,provision_state`).catch(() => null);
    // It may have been released during the poll, and Ironic may be unreachable.
    if (this.#released.has(id)) {
      return;
    }
    const held = Object.entries(body.allocations ?? {}).map(([uuid, { resources }]) => [uuid, resources]);
    const expected = JSON.stringify([[node, { CUSTOM_BAREMETAL: 1 }]]);
    if (JSON.stringify(held) !== expected) {
      this.breaches.add(`V11, V15: ${id} on ${node} holds ${JSON.stringify(held)}`);
    }
    if (there?.status !== 200) {
      return;
    }
    const { instance_uuid: instance, provision_state: state } = there.body;
    if (instance !== id || state !== "active") {
      this.breaches.add(`V1: node ${node} of ${id} has ${instance}, ${state}`);
    }
  }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
