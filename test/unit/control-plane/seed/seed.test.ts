import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { ensureDefaultFlavors } from "../../../../src/control-plane/default-flavors.js";
import { openIdentityStore } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { SeededIdentityStore } from "../../../../src/control-plane/identity/store/seeded-identities.js";
import { ImageStore } from "../../../../src/control-plane/image/image-store.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import {
  applySeed,
  exportSeed,
  type Seed,
  type SeedPlace,
  type SeedStore,
  seedSteps,
} from "../../../../src/control-plane/seed/seed.js";
import { assertValidZones } from "../../../../src/control-plane/seed/seed-aggregates.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

const NOTHING: Seed = { imageBytes: new Map(), ironicNodes: 0 };

let place: SeedPlace;
let parts: SeedStore;

beforeEach(() => {
  const runtime = createVirtualRuntime();
  const { clock, files, logger } = runtime;
  place = { runtime, digests: nodeDigests, directory: stateDir("/state", "/") };
  const store = emptyStore({ runtime });
  const sql = store.database;
  const identity = openIdentityStore(sql, nodeDigests, 0);
  const images = new ImageStore({ sql, clock, files, logger, digests: nodeDigests, folder: "/state/glance" });
  parts = {
    store,
    identities: new SeededIdentityStore(identity, nodeDigests),
    images: images.table,
    imageStore: () => images,
  };
});

const steps = (seed: Partial<Seed>) => seedSteps(parts, { ...NOTHING, ...seed }, place);
function describeSteps(seed: Partial<Seed>) {
  return steps(seed).map(({ sign, text, destroys }) => `${sign} ${text}${destroys ? " !" : ""}`);
}
/** Applies the seed, and checks that applying it again changes nothing. */
async function settle(seed: Partial<Seed>): Promise<readonly string[]> {
  const found = describeSteps(seed);
  await applySeed(parts, steps(seed));
  expect(describeSteps(seed)).toEqual([]);
  return found;
}
const exportSections = () => exportSeed(parts, place);

function members(hosts: Readonly<Record<string, readonly string[]>>, known: readonly string[]) {
  return {
    members: new Map(Object.entries(hosts).map(([name, theirs]) => [name, new Set(theirs)])),
    known: new Set(known),
    complete: true,
  };
}

describe("flavors of a cluster file", () => {
  const tiny = { name: "tiny", vcpus: 1, ram: 512 };

  it("replace all others", async () => {
    ensureDefaultFlavors(parts.store);
    const flavors = [
      { ...tiny, extra_specs: { a: "b" } },
      { name: "m1.tiny", id: "1", vcpus: 1, ram: 512, disk: 1 },
    ];
    expect(await settle({ flavors })).toEqual([
      "- flavor m1.small !",
      "- flavor m1.medium !",
      "- flavor m1.large !",
      "- flavor m1.xlarge !",
      "+ flavor tiny",
    ]);
    expect(exportSections().flavors).toEqual([
      { name: "m1.tiny", id: "1", vcpus: 1, ram: 512, disk: 1 },
      { ...tiny, id: expect.any(String), extra_specs: { a: "b" } },
    ]);
  });

  it("retain their id, and are recreated only where Nova cannot change them", async () => {
    await settle({ flavors: [tiny] });
    const [{ id } = { id: "" }] = exportSections().flavors;
    expect(await settle({ flavors: [{ ...tiny, extra_specs: { x: "y" }, description: "new" }] })).toEqual([
      '~ flavor tiny: description  -> new, extra_specs {} -> {"x":"y"}',
    ]);
    expect(await settle({ flavors: [{ ...tiny, ram: 1024 }] })).toEqual([
      '~ flavor tiny: ram 512 -> 1024, description new -> , extra_specs {"x":"y"} -> {} !',
    ]);
    expect(exportSections().flavors).toEqual([{ ...tiny, ram: 1024, id }]);
  });

  it("that are not public belong to the listed projects", async () => {
    const flavor = { ...tiny, is_public: false, access: ["research", "demo"] };
    const projects = [{ name: "research" }];
    await settle({ flavors: [flavor], projects });
    expect(exportSections().flavors[0]?.access).toEqual(["demo", "research"]);
    expect(await settle({ flavors: [{ ...flavor, access: ["demo"] }], projects })).toHaveLength(1);
    expect(exportSections().flavors[0]?.access).toEqual(["demo"]);
  });

  it("do not include the flavor of bare-metal nodes while there are nodes", async () => {
    await settle({ flavors: [{ ...tiny, name: "baremetal" }] });
    expect(describeSteps({ flavors: [tiny], ironicNodes: 2 })).toEqual(["+ ironic nodes: 0 -> 2", "+ flavor tiny"]);
    expect(describeSteps({ flavors: [tiny] })).toEqual(["- flavor baremetal !", "+ flavor tiny"]);
  });

  it("cannot have the id of another flavor", async () => {
    await settle({ flavors: [{ ...tiny, id: "1" }] });
    const flavors = [
      { ...tiny, id: "2" },
      { ...tiny, name: "other", id: "1" },
    ];
    expect(() => describeSteps({ flavors })).toThrow("flavor other cannot have id 1: flavor tiny has it");
  });
});

describe("images of a cluster file", () => {
  const bytesOf = (content: string) => ({
    hash: createHash("sha512").update(content).digest("hex"),
    read: async () =>
      (async function* bytes() {
        yield Buffer.from(content);
      })(),
  });

  it("have the data of their file, and new data when the file changes", async () => {
    const images = [{ name: "debian", properties: { hw_disk_bus: "virtio" } }];
    expect(await settle({ images, imageBytes: new Map([["debian", bytesOf("one")]]) })).toEqual(["+ image debian"]);
    const [{ id } = { id: "" }] = exportSections().images;
    expect(exportSections().images).toEqual([
      { name: "debian", id, properties: { hw_disk_bus: "virtio" }, file: `/state/glance/${id}` },
    ]);
    expect(await settle({ images, imageBytes: new Map([["debian", bytesOf("two")]]) })).toEqual([
      "~ image debian: new data !",
    ]);
    expect(await place.runtime.files.read(`/state/glance/${id}`)).toBe("two");
    expect(await settle({ images: [{ name: "debian", min_disk: 2 }] })).toEqual([
      expect.stringMatching(/^~ image debian: min_disk 0 -> 2, properties/),
    ]);
    expect(await settle({ images: [] })).toEqual(["- image debian !"]);
  });

  it("are uploaded by the next start if the previous one was killed", async () => {
    const images = [{ name: "debian" }];
    for (const { apply } of steps({ images })) {
      apply();
    }
    expect(await settle({ images })).toEqual(["~ image debian: data (the upload was interrupted)"]);
    expect(parts.images.list().map(({ name, status }) => `${name} ${status}`)).toEqual([
      "cirros active",
      "cirros-0.6.3-x86_64-disk active",
      "debian active",
    ]);
  });
});

describe("host aggregates of a cluster file", () => {
  it("have hosts before these exist, and retain hosts that the file does not contain", async () => {
    const aggregates = [
      { name: "fast", metadata: { ssd: "true" } },
      { name: "east", availability_zone: "east" },
    ];
    expect(
      await settle({ aggregates: { aggregates, ...members({ fast: ["a", "b"], east: ["a"] }, ["a", "b"]) } }),
    ).toEqual(["+ aggregate fast: hosts a,b join", "+ aggregate east: hosts a join"]);
    expect(exportSections().aggregates).toEqual(aggregates);
    const service = parts.store.services.create({
      host: "a",
      binary: "nova-compute",
      topic: "compute",
      version: 60,
    } as never);
    expect(service.availabilityZone).toBe("east");
    parts.store.aggregates.addHost(1, "elsewhere");
    expect(
      await settle({ aggregates: { aggregates: [{ name: "fast" }], ...members({ fast: ["b"] }, ["a", "b"]) } }),
    ).toEqual(["- aggregate east !", "~ aggregate fast: ssd true -> unset, hosts a leave"]);
    expect(parts.store.aggregates.list()).toMatchObject([{ name: "fast", hosts: ["b", "elsewhere"], metadata: {} }]);
    expect(parts.store.services.getByHost("a", "nova-compute")?.availabilityZone).toBe("nova");
  });

  it("cannot put a host into two zones", async () => {
    const aggregates = [
      { name: "x", availability_zone: "x" },
      { name: "y", availability_zone: "y" },
    ];
    expect(() => describeSteps({ aggregates: { aggregates, ...members({ x: ["a"], y: ["a"] }, ["a"]) } })).toThrow(
      "host a would be in two availability zones, x and y",
    );
  });

  it("cannot change the zone of a host with servers", async () => {
    const { aggregates } = parts.store;
    const east = [{ name: "east", availability_zone: "east" }];
    await settle({ aggregates: { aggregates: east, ...members({ east: ["a", "b"] }, ["a", "b"]) } });
    const instances = { countsByHost: () => new Map([["a", 1]]) } as unknown as typeof parts.store.instances;
    const assertZones = (theirs: readonly string[], known: readonly string[]) =>
      assertValidZones({ aggregates, instances }, { aggregates: east, ...members({ east: theirs }, known) });
    expect(() => assertZones(["b"], ["a", "b"])).toThrow(
      "host a has 1 server, and would change from availability zone east to nova; move them away first",
    );
    expect(() => assertZones(["a"], ["a", "b"])).not.toThrow();
    // Host a is not in the file, and remains in its aggregate.
    expect(() => assertZones(["b"], ["b"])).not.toThrow();
  });

  it("with 10,000 hosts are created quickly", async () => {
    const hosts = Array.from({ length: 10_000 }, (_none, at) => `host${at}`);
    const names = ["a", "b", "c", "d"];
    const aggregates = names.map((name) => ({ name }));
    const theirs = Object.fromEntries(names.map((name) => [name, hosts]));
    await settle({ aggregates: { aggregates, ...members(theirs, hosts) } });
    expect(parts.store.aggregates.list().map((aggregate) => aggregate.hosts.length)).toEqual(names.map(() => 10_000));
  });
});

describe("projects and users of a cluster file", () => {
  it("are created, changed and deleted", async () => {
    const projects = [{ name: "research", description: "one" }];
    const users = [{ name: "ada", roles: { research: ["member" as const] } }];
    expect(await settle({ projects, users })).toEqual(["+ project research", "+ user ada"]);
    expect(exportSections()).toMatchObject({ projects, users });
    const more = [{ name: "ada", roles: { research: ["member" as const], demo: ["reader" as const] } }];
    expect(await settle({ projects: [{ name: "research" }], users: more })).toEqual([
      "~ project research: description one -> ",
      '~ user ada: roles in demo unset -> ["reader"]',
    ]);
    expect(await settle({ projects: [], users: [] })).toEqual(["- project research !", "- user ada !"]);
  });

  it("are renamed, not replaced, when the file changes the case of a name", async () => {
    const roles = { demo: ["member" as const] };
    await settle({ projects: [{ name: "lab" }], users: [{ name: "ada", roles }] });
    expect(await settle({ projects: [{ name: "Lab" }], users: [{ name: "Ada", roles }] })).toEqual([
      "~ project Lab: name lab -> Lab",
      "~ user Ada: name ada -> Ada",
    ]);
  });
});

it("changes nothing that the file does not mention", () => {
  ensureDefaultFlavors(parts.store);
  expect(describeSteps({})).toEqual([]);
});

it("is applied completely or not at all", async () => {
  const failing = {
    sign: "+" as const,
    text: "x",
    destroys: false,
    apply: () => {
      throw new Error("no");
    },
  };
  const flavors = [{ name: "tiny", vcpus: 1, ram: 512 }];
  await expect(applySeed(parts, [...steps({ flavors }), failing])).rejects.toThrow("no");
  expect(exportSections().flavors).toEqual([]);
});
