import {
  type Allocations,
  ComputeResourcesUnavailable,
  InvalidConfiguration,
  type ProviderTree,
} from "../../src/virt/index.js";
import type { AssignedDevice, Domain } from "./domain.js";

/** A host device that guests can use, completely or in parts. */
export interface HostDevice {
  /** Such as `0000:81:00.0`. */
  readonly address: string;
  readonly resourceClass: string;
  /** Number of guests that can share the device. */
  readonly parts: number;
}

const DEVICE = /^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])=([A-Z0-9_]+)(?::([1-9]\d*))?$/;

/** Parses `[fake_libvirt] devices`. @throws {InvalidConfiguration} */
export function parseDevices(entries: readonly string[]): readonly HostDevice[] {
  const devices = new Map<string, HostDevice>();
  for (const text of entries) {
    const [, address, resourceClass, parts = "1"] = DEVICE.exec(text) ?? [];
    if (address === undefined || resourceClass === undefined || devices.has(address)) {
      throw new InvalidConfiguration(
        `[fake_libvirt] devices: found ${text}${address === undefined ? "" : " twice"}; expected each device once, as ` +
          "<PCI address>=<resource class>[:<parts>], for example 0000:81:00.0=VGPU:4",
      );
    }
    devices.set(address, { address, resourceClass, parts: Number(parts) });
  }
  return [...devices.values()];
}

/** Returns libvirt's name of the device, prefixed by the node's: `devstack1_pci_0000_81_00_0`. */
export function deviceProviderName(node: string, { address }: HostDevice): string {
  return `${devicePrefix(node)}${address.replace(/[:.]/g, "_")}`;
}

/** The common prefix of the node's device provider names. */
export const devicePrefix = (node: string): string => `${node}_pci_`;

/** Assigns devices to guests by their allocations. */
export class DeviceAssigner {
  readonly #devices: readonly HostDevice[];
  /**
   * Devices by provider uuid; the provider is the node itself if the devices are in its inventory. Empty until the
   * first tree update.
   */
  readonly #providers = new Map<string, readonly HostDevice[]>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(devices: readonly HostDevice[]) {
    this.#devices = devices;
  }

  /** Records which provider represents which devices. */
  learn(tree: ProviderTree, node: string, nested: boolean): void {
    this.#providers.clear();
    if (!nested) {
      this.#providers.set(tree.data(node).uuid, this.#devices);
      return;
    }
    for (const device of this.#devices) {
      const provider = tree.find(deviceProviderName(node, device));
      if (provider) {
        this.#providers.set(provider.uuid, [device]);
      }
    }
  }

  /**
   * Picks free parts of devices and passes them to `define`, which stores the guest. Runs for one guest at a time, so
   * that no part is assigned twice.
   * @throws {ComputeResourcesUnavailable} not enough parts are free.
   */
  async assign(
    allocations: Allocations,
    domains: () => Promise<readonly Domain[]>,
    define: (devices: readonly AssignedDevice[]) => Promise<void>,
  ): Promise<void> {
    const requests = this.#collectRequests(allocations);
    if (requests.length === 0) {
      return define([]);
    }
    const mine = this.#turn.then(async () => {
      const used = new Set((await domains()).flatMap((domain) => domain.devices.map(keyOf)));
      await define(requests.flatMap((want) => pick(want, used)));
    });
    this.#turn = mine.catch(() => {});
    return mine;
  }

  #collectRequests(allocations: Allocations): readonly Want[] {
    const classes = new Set(this.#devices.map(({ resourceClass }) => resourceClass));
    return Object.entries(allocations).flatMap(([provider, { resources }]) =>
      Object.entries(resources)
        .filter(([resourceClass]) => classes.has(resourceClass))
        .map(([resourceClass, amount]) => ({
          resourceClass,
          amount,
          devices: (this.#providers.get(provider) ?? []).filter((device) => device.resourceClass === resourceClass),
        })),
    );
  }
}

interface Want {
  readonly resourceClass: string;
  readonly amount: number;
  readonly devices: readonly HostDevice[];
}

function pick({ resourceClass, amount, devices }: Want, used: Set<string>): readonly AssignedDevice[] {
  const free = devices
    .flatMap(({ address, parts }) =>
      Array.from({ length: parts }, (_, part): AssignedDevice => ({ address, resourceClass, part })),
    )
    .filter((part) => !used.has(keyOf(part)));
  if (free.length < amount) {
    throw new ComputeResourcesUnavailable(
      `the instance has an allocation of ${amount} ${resourceClass}, but of its devices (${devices.map(({ address }) => address).join(", ") || "none known on this host"}) ` +
        `only ${free.length} are free`,
    );
  }
  const picked = free.slice(0, amount);
  for (const part of picked) {
    used.add(keyOf(part));
  }
  return picked;
}

const keyOf = ({ address, part }: AssignedDevice): string => `${address}/${part}`;
