import { defaultsOf } from "../records/field.js";
import { flavorColumns, MIGRATION, newFlavor, newInstance } from "../records/index.js";
import type { Random } from "../runtime/cryptography.js";
import { LOCAL_DISKS } from "../virt/driver-host.js";
import {
  type BlockDeviceInfo,
  type Bytes,
  bytesIn,
  bytesOf,
  type Files,
  type Flavor,
  GlanceConnectionFailed,
  type ImageData,
  type ImageMeta,
  type Instance,
  type InventoryOptions,
  type Migration,
  type NetworkInfo,
} from "../virt/index.js";
import type { ImageService } from "../virt/types.js";

/** Freezes a value deeply, so that a driver that writes to its arguments fails. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) {
      frozen(member);
    }
  }
  return value;
}

export function flavorOf(changes: Partial<Flavor> = {}): Flavor {
  const small = { flavorid: "check.small", name: "check.small", vcpus: 1, memoryMb: 512, rootGb: 1 };
  return { id: 1, ...newFlavor(small), ...changes };
}

const IMAGE_ID = "33333333-3333-4333-8333-333333333333";

export function imageOf(changes: Partial<ImageMeta> = {}): ImageMeta {
  return {
    id: IMAGE_ID,
    name: "cirros",
    diskFormat: "qcow2",
    containerFormat: "bare",
    minDisk: 0,
    minRam: 0,
    properties: {},
    ...changes,
  };
}

/** Creates an active server of `flavor`, placed on `host` and `node`. @internal */
export function instanceOf(
  place: { readonly uuid: string; readonly host: string; readonly node: string; readonly flavor: Flavor },
  changes: Partial<Instance> = {},
): Instance {
  return {
    ...newInstance({
      uuid: place.uuid,
      projectId: "0123456789abcdef0123456789abcdef",
      userId: "fedcba9876543210fedcba9876543210",
      displayName: `check-${place.uuid.slice(0, 8)}`,
      hostname: `check-${place.uuid.slice(0, 8)}`,
      reservationId: "r-check",
      imageRef: IMAGE_ID,
      flavor: place.flavor,
    }),
    id: 1,
    host: place.host,
    node: place.node,
    computeId: 1,
    launchedOn: place.host,
    vmState: "active",
    taskState: null,
    powerState: 1,
    createdAt: 0,
    ...changes,
  };
}

/** Returns the instance with another flavor, as a resize leaves it. */
export function resizedTo(instance: Instance, flavor: Flavor, changes: Partial<Instance> = {}): Instance {
  return frozen({ ...instance, oldFlavor: instance.flavor, ...flavorColumns(flavor), ...changes });
}

export function migrationOf(
  instance: Instance,
  destination: { readonly host: string; readonly node: string; readonly ip: string },
  changes: Partial<Migration> = {},
): Migration {
  return frozen({
    ...defaultsOf(MIGRATION),
    id: 1,
    uuid: "44444444-4444-4444-8444-444444444444",
    instanceUuid: instance.uuid,
    migrationType: "migration",
    status: "migrating",
    sourceCompute: instance.host ?? "",
    sourceNode: instance.node ?? "",
    destCompute: destination.host,
    destNode: destination.node,
    destComputeId: 2,
    destHost: destination.ip,
    oldInstanceTypeId: instance.instanceTypeId,
    newInstanceTypeId: instance.instanceTypeId,
    createdAt: 0,
    ...changes,
  });
}

/** No ports; local disks only. */
export const DEVICES: { readonly network: readonly NetworkInfo[]; readonly blockDevices: BlockDeviceInfo } = frozen({
  network: [],
  blockDevices: LOCAL_DISKS,
});

/** The options of a destruction that removes all. */
export const DESTROY = frozen({ ...DEVICES, destroyDisks: true });

/** An agent's inventory options: the defaults, with nothing reserved. */
export const INVENTORY: InventoryOptions = {
  cpuAllocationRatio: null,
  ramAllocationRatio: null,
  diskAllocationRatio: null,
  initialCpuAllocationRatio: 4,
  initialRamAllocationRatio: 1,
  initialDiskAllocationRatio: 1,
  reservedHostCpus: 0,
  reservedHostMemoryMb: 0,
  reservedHostDiskMb: 0,
};

/** Bytes per chunk, so that a transfer can break off in the middle. */
const PART = 1024;

/** The Image service of a case. Its data survives the kill of a driver. */
export class HarnessImages implements ImageService {
  /** Number of downloads and uploads by drivers. */
  downloaded = 0;
  uploaded = 0;
  /** Whether streams break off in the middle. */
  breaks = false;
  readonly #files: Files;
  readonly #folder: string;

  constructor(files: Files, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** Stores an image. */
  async put(id: string, text: string, diskFormat = "raw"): Promise<void> {
    await this.upload(id, bytesOf(text), { diskFormat });
    this.uploaded = 0;
  }

  /** Returns the size of the content; undefined if there is none. */
  async size(id: string): Promise<number | undefined> {
    return (await this.#files.stat(this.#file(id)))?.bytes;
  }

  async open(id: string): Promise<ImageData | null> {
    this.downloaded += 1;
    if ((await this.#files.stat(this.#file(id))) === undefined) {
      return null;
    }
    const raw = await bytesIn(await this.#files.readBytes(this.#file(id)));
    const diskFormat = await this.#files.read(`${this.#file(id)}.format`);
    return { size: raw.length, diskFormat, hash: null, bytes: partsOf(raw, this.breaks ? raw.length / 2 : raw.length) };
  }

  async upload(id: string, bytes: Bytes, { diskFormat = "raw" }: { readonly diskFormat?: string }): Promise<void> {
    if (this.breaks) {
      for await (const _ of bytes) {
        break;
      }
      throw new GlanceConnectionFailed(`the Image service broke off while it received image ${id}`);
    }
    await this.#files.write(`${this.#file(id)}.format`, diskFormat);
    await this.#files.writeBytes(this.#file(id), bytes);
    this.uploaded += 1;
  }

  #file(id: string): string {
    return `${this.#folder}/${id}`;
  }
}

async function* partsOf(raw: Uint8Array, until: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < until; at += PART) {
    yield raw.subarray(at, Math.min(at + PART, Math.ceil(until)));
  }
  if (until < raw.length) {
    throw new GlanceConnectionFailed("the Image service broke off while it sent the image");
  }
}

export type HostName = "check-host-1" | "check-host-2";

/** The state of a harness about its servers as JSON, with which another process continues after this one was killed. */
export interface HarnessMemory {
  readonly guests: number;
  readonly nodeUuids: readonly (readonly [HostName, string])[];
  readonly placed: readonly (readonly [uuid: string, host: HostName])[];
  readonly instances: readonly Instance[];
}

/** The servers of a case and the uuids of its hosts' nodes, as the state of record has them. */
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

  /** Adds a server on the host. Servers are spread over the nodes of the host. */
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
