import type { Random } from "../runtime/cryptography.js";
import type { Flavor, Instance } from "../virt/index.js";
import { frozen, instanceOf } from "./objects.js";

export type HostName = "check-host-1" | "check-host-2";

/** What a lab knows of its servers: JSON, from which another process goes on where this one was killed. */
export interface HarnessMemory {
  readonly guests: number;
  readonly nodeUuids: readonly (readonly [HostName, string])[];
  readonly placed: readonly (readonly [uuid: string, host: HostName])[];
  readonly instances: readonly Instance[];
}

/** The servers of a case and the uuids of its hosts' nodes, as the state of record would have them. */
export class HarnessServers {
  readonly #random: Pick<Random, "uuid">;
  readonly #nodeUuids: Map<HostName, string>;
  readonly #placed: Map<string, HostName>;
  readonly #instances: Map<string, Instance>;
  #count: number;

  constructor(random: Pick<Random, "uuid">, memory: HarnessMemory | undefined) {
    this.#random = random;
    this.#count = memory?.guests ?? 0;
    this.#nodeUuids = new Map(memory?.nodeUuids);
    this.#placed = new Map(memory?.placed);
    this.#instances = new Map(memory?.instances.map((instance) => [instance.uuid, frozen(instance)]));
  }

  get memory(): HarnessMemory {
    return {
      guests: this.#count,
      nodeUuids: [...this.#nodeUuids],
      placed: [...this.#placed],
      instances: [...this.#instances.values()],
    };
  }

  /** A new server on the host; each on a node of its own where the host has several. */
  add(host: HostName, nodes: readonly string[], flavor: Flavor, changes: Partial<Instance>): Instance {
    const node = nodes[this.#count % Math.max(1, nodes.length)] ?? host;
    this.#count += 1;
    const uuid = this.#random.uuid();
    this.place(uuid, host);
    const instance = instanceOf({ uuid, host, node, flavor }, { id: this.#count, ...changes });
    this.#instances.set(uuid, frozen(instance));
    return instance;
  }

  place(uuid: string, host: HostName): void {
    this.#placed.set(uuid, host);
  }

  isPlaced(uuid: string): boolean {
    return this.#placed.has(uuid);
  }

  uuidsOn(host: HostName): readonly string[] {
    return [...this.#placed].filter(([, name]) => name === host).map(([uuid]) => uuid);
  }

  instance(uuid: string): Instance | undefined {
    return this.#instances.get(uuid);
  }

  nodeUuid(host: HostName): string {
    const known = this.#nodeUuids.get(host) ?? this.#random.uuid();
    this.#nodeUuids.set(host, known);
    return known;
  }
}
