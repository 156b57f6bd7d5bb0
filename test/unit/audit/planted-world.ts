import type { Instance } from "../../../src/records/index.js";
import { AuditWorld, inventory, NEED, type SomePlacement } from "./audit-world.js";

/** The finding expected for a fault, and the consumers that its edit may change. */
export interface Planted {
  /** As `code uuid`. */
  readonly expected: readonly string[];
  readonly consumers: readonly string[];
}

const AGGREGATE = "a0000000-0000-4000-8000-000000000001";
const BARE = { VCPU: "0", MEMORY_MB: "0", DISK_GB: "0", CUSTOM_BAREMETAL_GOLD: "1" };
const COMPUTE = { VCPU: inventory(1000), MEMORY_MB: inventory(800_000) };

/** Hosts of every kind for healthy and faulty objects. Only `down` is down. */
export class PlantedWorld {
  readonly world: AuditWorld;
  #count = 0;

  private constructor(world: AuditWorld) {
    this.world = world;
  }

  static async open(placement?: SomePlacement): Promise<PlantedWorld> {
    const world = await AuditWorld.open(placement);
    for (const name of ["one", "two", "three", "down"]) {
      await world.host(name);
    }
    const nested = await world.host("nested");
    await world.provider(
      SHARER,
      "storage",
      { DISK_GB: inventory(600_000) },
      {
        traits: ["MISC_SHARES_VIA_AGGREGATE"],
        aggregates: [AGGREGATE],
      },
    );
    await world.provider(GPU, "nested_gpu", { VGPU: inventory(64) }, { parent: nested });
    for (const name of ["shares-a", "shares-b"]) {
      const uuid = await world.host(name, { inventories: COMPUTE });
      const { generation } = await world.ask("GET", `/resource_providers/${uuid}`);
      const body = { resource_provider_generation: generation, aggregates: [AGGREGATE] };
      await world.ask("PUT", `/resource_providers/${uuid}/aggregates`, body);
    }
    world.flavor("gpu", { extraSpecs: { "resources:VGPU": "1" } });
    const bare = Object.entries(BARE).map(([name, amount]) => [`resources:${name}`, amount]);
    world.flavor("bare", { extraSpecs: Object.fromEntries(bare) });
    return new PlantedWorld(world);
  }

  /** Call it after all objects are created. */
  async ready(): Promise<void> {
    await this.world.settle();
    this.world.reportAll("down");
  }

  next(kind: string): string {
    this.#count += 1;
    return `${kind}-${this.#count}`;
  }

  node(host: string): string {
    return this.world.nodeUuid(host);
  }

  /** Creates a server on the host with these allocations. */
  async server(
    host: string | null,
    held: Readonly<Record<string, Readonly<Record<string, number>>>>,
    changes: Parameters<AuditWorld["server"]>[2] = {},
    more: Parameters<AuditWorld["allocate"]>[2] = {},
  ): Promise<Instance> {
    const server = this.world.server(host, this.next("vm"), changes);
    if (Object.keys(held).length > 0) {
      await this.world.allocate(server.uuid, held, more);
    }
    return server;
  }

  async bareMetal(): Promise<string> {
    const inventories = { CUSTOM_BAREMETAL_GOLD: inventory(1) };
    return this.world.host(this.next("bare"), { inventories, type: "ironic" });
  }
}

const SHARER = "b0000000-0000-4000-8000-000000000001";
const GPU = "b0000000-0000-4000-8000-000000000002";

type Plant<T> = (at: PlantedWorld) => Promise<T>;

function flavorOf(at: PlantedWorld, flavorid: string): Instance["flavor"] {
  const flavor = at.world.api.store.flavors.getByFlavorid(flavorid);
  if (!flavor) {
    throw new Error(`no flavor ${flavorid}`);
  }
  return flavor;
}

const SHARED = { VCPU: 1, MEMORY_MB: 512 };

/** Objects for which there must be no finding. */
export const HEALTHY: Readonly<Record<string, Plant<unknown>>> = {
  running: (at) => at.server("one", { [at.node("one")]: NEED }),
  "with a type": (at) => at.server("two", { [at.node("two")]: NEED }, {}, { type: "INSTANCE" }),
  nested: (at) =>
    at.server("nested", { [at.node("nested")]: NEED, [GPU]: { VGPU: 1 } }, { flavor: flavorOf(at, "gpu") }),
  sharing: (at) => at.server("shares-a", { [at.node("shares-a")]: SHARED, [SHARER]: { DISK_GB: 1 } }),
  "volume-backed": (at) => at.server("one", { [at.node("one")]: SHARED }, { imageRef: "" }),
  "bare metal": async (at) => {
    const node = await at.bareMetal();
    const name = at.world.api.store.computeNodes.getByUuid(node)?.host ?? "";
    await at.server(name, { [node]: { CUSTOM_BAREMETAL_GOLD: 1 } }, { flavor: flavorOf(at, "bare") });
  },
  scheduled: (at) =>
    at.server(null, { [at.node("two")]: NEED }, { vmState: "building", taskState: "scheduling", launchedAt: null }),
  spawning: (at) => at.server("one", { [at.node("one")]: NEED }, { vmState: "building", taskState: "spawning" }),
  offloaded: (at) => at.server(null, {}, { vmState: "shelved_offloaded" }),
  shelved: (at) => at.server("one", { [at.node("one")]: NEED }, { vmState: "shelved" }),
  "in error, where it is": (at) => at.server("two", { [at.node("two")]: NEED }, { vmState: "error" }),
  "in error, without a host": (at) => at.server(null, {}, { vmState: "error", launchedAt: null }),
  // Lists of servers omit it, but it can be restored.
  "soft-deleted": (at) => at.server("one", { [at.node("one")]: NEED }, { vmState: "soft-delete" }),
  "evacuated in vain": async (at) => {
    const server = await at.server("down", { [at.node("down")]: NEED });
    at.world.migration(server, "evacuation", "failed", ["down", "two"]);
  },
  deleting: (at) => at.server("one", {}, { taskState: "deleting" }),
  resizing: async (at) => {
    const server = await at.server("one", { [at.node("two")]: NEED }, { taskState: "resize_migrating" });
    const { uuid } = at.world.migration(server, "resize", "migrating", ["one", "two"]);
    await at.world.allocate(uuid, { [at.node("one")]: NEED });
  },
  "unconfirmed, the Queens way": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED }, { vmState: "resized" });
    const { uuid } = at.world.migration(server, "resize", "finished", ["one", "two"]);
    await at.world.allocate(uuid, { [at.node("one")]: { ...NEED, VCPU: 2 } });
  },
  "unconfirmed, the Pike way": async (at) => {
    const held = { [at.node("two")]: NEED, [at.node("one")]: NEED };
    const server = await at.server("two", held, { vmState: "resized" });
    at.world.migration(server, "migration", "finished", ["one", "two"]);
  },
  "migrating live": async (at) => {
    const server = await at.server("one", { [at.node("three")]: NEED }, { taskState: "migrating" });
    const { uuid } = at.world.migration(server, "live-migration", "running", ["one", "three"]);
    await at.world.allocate(uuid, { [at.node("one")]: NEED }, { type: "MIGRATION" });
  },
  "being evacuated": async (at) => {
    const held = { [at.node("down")]: NEED, [at.node("two")]: NEED };
    const server = await at.server("down", held, { taskState: "rebuild_spawning" });
    at.world.migration(server, "evacuation", "pre-migrating", ["down", "two"]);
  },
  "moved long ago": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED });
    at.world.migration(server, "migration", "confirmed", ["one", "two"]);
    at.world.migration(server, "evacuation", "completed", ["one", "two"]);
  },
  "another service's": async (at) => {
    await at.world.allocate(at.world.uuid(), { [at.node("one")]: NEED }, { type: "CONTAINER" });
  },
  "a provider of another service": async (at) => {
    await at.world.provider(at.world.uuid(), at.next("net"), { NET_BW_EGR_KILOBIT_PER_SEC: inventory(10) });
  },
};

function expecting(code: string, { uuid }: { readonly uuid: string }, consumers: readonly string[] = [uuid]): Planted {
  return {
    expected: [`${code} ${uuid}`],
    consumers,
  };
}

const OTHER = { VCPU: 2, MEMORY_MB: 256, DISK_GB: 1 };

/** Faults that must be found and can be fixed. */
export const FAULTS: Readonly<Record<string, Plant<Planted>>> = {
  orphan: async (at) => {
    const uuid = at.world.uuid();
    await at.world.allocate(uuid, { [at.node("one")]: NEED });
    return expecting("orphaned-consumer", { uuid });
  },
  "orphan with a type and shared storage": async (at) => {
    const uuid = at.world.uuid();
    const held = { [at.node("shares-b")]: SHARED, [SHARER]: { DISK_GB: 3 } };
    await at.world.allocate(uuid, held, { type: "INSTANCE", project: "gone", user: "nobody" });
    return expecting("orphaned-consumer", { uuid });
  },
  "bare metal leftover": async (at) => {
    const uuid = at.world.uuid();
    await at.world.allocate(uuid, { [await at.bareMetal()]: { CUSTOM_BAREMETAL_GOLD: 1 } });
    return expecting("baremetal-leftover", { uuid });
  },
  "wrong provider": async (at) =>
    expecting("wrong-provider", await at.server("one", { [at.node("two")]: NEED }, {}, { type: "INSTANCE" })),
  "wrong provider of a nested server": async (at) =>
    expecting("wrong-provider", await at.server("nested", { [at.node("two")]: NEED }, { flavor: flavorOf(at, "gpu") })),
  "offloaded, and holds on": async (at) =>
    expecting(
      "wrong-provider",
      await at.server(null, { [at.node("three")]: NEED }, { vmState: "shelved_offloaded" }, { type: "INSTANCE" }),
    ),
  doubled: async (at) =>
    expecting("doubled-allocation", await at.server("one", { [at.node("one")]: NEED, [at.node("three")]: NEED })),
  "doubled, with shared storage": async (at) => {
    const held = { [at.node("shares-a")]: SHARED, [at.node("shares-b")]: SHARED, [SHARER]: { DISK_GB: 1 } };
    return expecting("doubled-allocation", await at.server("shares-a", held));
  },
  "doubled on a provider whose host is gone": async (at) => {
    const uuid = at.world.uuid();
    await at.world.provider(uuid, at.next("gone"), {
      VCPU: inventory(8),
      MEMORY_MB: inventory(8192),
      DISK_GB: inventory(9),
    });
    const server = await at.server("one", { [at.node("one")]: NEED, [uuid]: NEED });
    return {
      expected: [`doubled-allocation ${server.uuid}`, `provider-without-node ${uuid}`],
      consumers: [server.uuid],
    };
  },
  "offloaded, and holds on to a provider whose host is gone": async (at) => {
    const uuid = at.world.uuid();
    await at.world.provider(uuid, at.next("gone"), COMPUTE);
    const server = await at.server(null, { [uuid]: SHARED }, { vmState: "shelved_offloaded" });
    return {
      expected: [`wrong-provider ${server.uuid}`, `provider-without-node ${uuid}`],
      consumers: [server.uuid],
    };
  },
  missing: async (at) => expecting("missing-allocation", await at.server("two", {})),
  "missing, with shared storage": async (at) => expecting("missing-allocation", await at.server("shares-b", {})),
  "missing source of an unconfirmed migration": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED }, { vmState: "resized" });
    return expecting("missing-allocation", at.world.migration(server, "migration", "finished", ["one", "two"]));
  },
  amounts: async (at) => expecting("wrong-amounts", await at.server("one", { [at.node("one")]: OTHER })),
  "amounts of a child provider": async (at) => {
    const held = { [at.node("nested")]: NEED, [GPU]: { VGPU: 2 } };
    return expecting("wrong-amounts", await at.server("nested", held, { flavor: flavorOf(at, "gpu") }));
  },
  "amounts too many": async (at) => {
    const held = { [at.node("two")]: { ...SHARED, DISK_GB: 5 } };
    return expecting("wrong-amounts", await at.server("two", held, { imageRef: "" }, { type: "INSTANCE" }));
  },
  "another project": async (at) =>
    expecting("wrong-owner", await at.server("two", { [at.node("two")]: NEED }, {}, { project: "other" })),
  "another user": async (at) =>
    expecting(
      "wrong-owner",
      await at.server("three", { [at.node("three")]: NEED }, {}, { user: "other", type: "INSTANCE" }),
    ),
  "provider without node": async (at) => {
    const [uuid, child] = [at.world.uuid(), at.world.uuid()];
    const name = at.next("gone");
    await at.world.provider(uuid, name, COMPUTE, { traits: ["COMPUTE_NODE", "CUSTOM_FAST"], aggregates: [AGGREGATE] });
    await at.world.provider(child, `${name}_child`, { VGPU: inventory(2) }, { parent: uuid, traits: ["CUSTOM_FAST"] });
    return expecting("provider-without-node", { uuid }, []);
  },
  "node without provider": async (at) =>
    expecting("node-without-provider", { uuid: await at.world.host(at.next("bare"), { inventories: null }) }, []),
  "provider renamed": async (at) => {
    const uuid = await at.world.host(at.next("renamed"));
    await at.world.ask("PUT", `/resource_providers/${uuid}`, { name: at.next("other") });
    return expecting("identity-clash", { uuid }, []);
  },
  "node's name taken": async (at) => {
    const name = at.next("taken");
    const uuid = await at.world.host(name, { inventories: null });
    await at.world.provider(at.world.uuid(), name, COMPUTE, { traits: ["COMPUTE_NODE"] });
    return expecting("identity-clash", { uuid }, []);
  },
  "stale inventory": async (at) => {
    const inventories = { ...COMPUTE, VCPU: inventory(10), DISK_GB: inventory(1) };
    return expecting("stale-inventory", { uuid: await at.world.host(at.next("stale"), { inventories }) }, []);
  },
  "migration that ended and holds on": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED });
    const migration = at.world.migration(server, "live-migration", "error", ["one", "two"]);
    await at.world.allocate(migration.uuid, { [at.node("one")]: NEED }, { type: "MIGRATION" });
    return expecting("unfinished-migration", migration);
  },
  "migration that gave nothing back": async (at) => {
    const server = await at.server("one", { [at.node("two")]: NEED });
    const migration = at.world.migration(server, "migration", "error", ["one", "two"]);
    await at.world.allocate(migration.uuid, { [at.node("one")]: NEED });
    return expecting("unfinished-migration", migration, [server.uuid, migration.uuid]);
  },
  "resize of a server that was reset": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED }, { vmState: "error" });
    const migration = at.world.migration(server, "resize", "finished", ["one", "two"]);
    await at.world.allocate(migration.uuid, { [at.node("one")]: NEED }, { type: "MIGRATION" });
    return expecting("unfinished-migration", migration);
  },
  "resize of a server that was reset, the Pike way": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED, [at.node("one")]: NEED });
    at.world.migration(server, "resize", "finished", ["one", "two"]);
    return expecting("doubled-allocation", server);
  },
  "evacuation not cleaned up": async (at) => {
    const server = await at.server("two", { [at.node("two")]: NEED, [at.node("down")]: NEED });
    at.world.migration(server, "evacuation", "done", ["down", "two"]);
    return expecting("unfinished-evacuation", server);
  },
};
