import type { Conductor } from "../conductor-client/port.js";
import type { FaultPoint, Faults } from "../faults/faults.js";
import type { Instance } from "../records/index.js";
import { SparseSet } from "../runtime/collections.js";
import { PublicError } from "../runtime/error-messages.js";
import type { Logger } from "../runtime/runtime.js";
import { type Timers, TookTooLong, within } from "../runtime/time.js";
import type { GuestPorts } from "../virt/context.js";
import { PortBindingFailed, VirtualInterfaceCreateException } from "../virt/errors.js";
import type { CallOptions, NetworkInfo } from "../virt/types.js";

/** An event of a network service about an instance. */
interface InstanceEvent {
  /** For example `network-vif-plugged`. */
  readonly name: string;
  /** The port's uuid. */
  readonly tag: string | null;
  readonly status: string;
}

interface Waiter {
  readonly uuid: string;
  /** Name of the awaited events. */
  readonly name: string;
  /** Ports, or other objects, whose event has not arrived yet. */
  readonly left: Set<string>;
  readonly received: () => void;
  readonly failed: (error: InstanceEventFailed) => void;
}

/** Reports an event with status `failed`. */
class InstanceEventFailed extends PublicError {
  override readonly name = "InstanceEventFailed";
}

const PLUGGED = "network-vif-plugged";

/** The service that sends an event, for messages about a missing one. */
const SENDERS: Readonly<Record<string, string>> = {
  [PLUGGED]: "the network service, which was to plug",
  "volume-reimaged": "Block Storage, which was to copy an image to volume",
};

/** Waits for events of instances. Waiting begins before the action that triggers them (spec 8.6). */
class InstanceEvents {
  /** False while the agent starts: no message reaches it yet, so no event can be awaited. */
  isReceiving = true;
  readonly #timers: Timers;
  readonly #waiters = new SparseSet<Waiter>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Runs `action`, and returns its result once every tag had its event.
   * @param tags uuids of ports or volumes
   * @throws {TookTooLong} after `milliseconds` from the end of the action. {@link InstanceEventFailed}
   */
  async during<T>(
    { uuid, name, tags }: { readonly uuid: string; readonly name: string; readonly tags: readonly string[] },
    action: () => Promise<T>,
    { milliseconds, signal }: { readonly milliseconds: number; readonly signal?: AbortSignal | undefined },
  ): Promise<T> {
    if (tags.length === 0 || !this.isReceiving) {
      return action();
    }
    let end = () => {};
    const all = new Promise<void>((received, failed) => {
      const waiter = { uuid, name, left: new Set(tags), received, failed };
      this.#waiters.add(waiter);
      end = () => this.#waiters.delete(waiter);
    });
    // Avoids an unhandled rejection if the action fails first.
    all.catch(() => {});
    try {
      const result = await action();
      await within(this.#timers, milliseconds, `${SENDERS[name] ?? name} ${tags.join(", ")},`, all, signal);
      return result;
    } finally {
      end();
    }
  }

  /** Returns false if no operation waits for the event. */
  deliver(uuid: string, { name, tag, status }: InstanceEvent): boolean {
    let taken = false;
    for (const waiter of this.#waiters) {
      if (waiter.uuid !== uuid || waiter.name !== name || !waiter.left.delete(tag ?? "")) {
        continue;
      }
      taken = true;
      if (status === "failed") {
        waiter.failed(new InstanceEventFailed(`${name} of ${tag} failed`));
      } else if (waiter.left.size === 0) {
        waiter.received();
      }
    }
    return taken;
  }
}

/** Fault point of the agent of the host's bridges, which notifies the network service of connected ports. */
const PLUG_POINT: FaultPoint = { point: "network.plug", kinds: ["fail", "hang", "slow"] };

/** Fault point of a build's ports, as if the Network service had no address for one of them. */
const ALLOCATE_POINT: FaultPoint = { point: "network.allocate", kinds: ["fail", "hang", "slow"] };

/** Fault point of the binding of a build's ports, as if the host had no L2 agent. */
const BIND_POINT: FaultPoint = { point: "network.bind", kinds: ["fail", "hang", "slow"] };

export const NETWORK_FAULT_POINTS: readonly FaultPoint[] = [ALLOCATE_POINT, BIND_POINT, PLUG_POINT];

export interface HostPortsOptions {
  readonly host: string;
  readonly conductor: Conductor;
  readonly timers: Timers;
  readonly logger: Logger;
  /** `vif_plugging_timeout`, in seconds; 0: do not wait. */
  readonly timeout: number;
  /** `vif_plugging_is_fatal` */
  readonly fatal: boolean;
  readonly faults?: Faults | undefined;
}

/** The ports of one host's guests: the control plane's bindings, and the notifications about connected ports (spec 8.6). */
export class HostPorts implements GuestPorts {
  readonly events: InstanceEvents;
  readonly #options: HostPortsOptions;
  /** Ports that a driver has already reported as connected, within the call that received them. */
  #reportedPorts: WeakSet<NetworkInfo> | undefined;

  constructor(options: HostPortsOptions) {
    this.#options = options;
    this.events = new InstanceEvents(options.timers);
  }

  async of({ uuid, systemMetadata }: Instance, options: CallOptions = {}): Promise<readonly NetworkInfo[]> {
    const { conductor, host } = this.#options;
    return systemMetadata.network_allocated === "True" ? conductor.call("instance_ports", { uuid, host }, options) : [];
  }

  async connected(instanceUuid: string, ports: readonly NetworkInfo[]): Promise<void> {
    const { conductor, host, logger, faults } = this.#options;
    const news = ports.filter((port) => !port.active && !this.#reportedPorts?.has(port));
    if (news.length === 0) {
      return;
    }
    this.#reportedPorts ??= new WeakSet();
    for (const port of news) {
      this.#reportedPorts.add(port);
    }
    try {
      await faults?.hit(PLUG_POINT.point);
      await conductor.call("vifs_plugged", { host, instanceUuid, ports: news.map(({ id }) => id) });
    } catch (err) {
      // As if the agent of the host's bridges had died: the operation that waits for the event times out.
      logger.warn("could not notify the network service of connected ports", { instance: instanceUuid, err });
    }
  }

  /** See {@link VirtApi.waitForVifs}. */
  async plug(
    uuid: string,
    ports: readonly NetworkInfo[],
    plug: () => Promise<void>,
    options: CallOptions = {},
  ): Promise<void> {
    await this.#assertBound(ports);
    const awaited = ports.filter(({ active }) => !active);
    await this.#during(uuid, awaited, options.signal, async () => {
      await plug();
      await this.connected(uuid, ports);
    });
  }

  /** @throws {VirtualInterfaceCreateException} {@link PortBindingFailed} */
  async #assertBound(ports: readonly NetworkInfo[]): Promise<void> {
    const { faults } = this.#options;
    const [first] = ports;
    if (first === undefined) {
      return;
    }
    try {
      await faults?.hit(ALLOCATE_POINT.point);
    } catch (cause) {
      throw new VirtualInterfaceCreateException("Failed to allocate the network(s)", { cause });
    }
    const unbound = ports.find(({ vifType }) => vifType === "binding_failed");
    const bound = unbound === undefined ? faults?.hit(BIND_POINT.point) : Promise.reject(new Error("no live L2 agent"));
    try {
      await bound;
    } catch (cause) {
      const { id } = unbound ?? first;
      throw new PortBindingFailed(`Binding failed for port ${id}, please check neutron logs for more information.`, {
        cause,
      });
    }
  }

  /**
   * Runs an action that makes the destination connect the ports, and waits until they are connected. For the source of
   * a live migration.
   * @throws {VirtualInterfaceCreateException}
   */
  async whileDestinationPlugs<T>(instance: Instance, action: () => Promise<T>): Promise<T> {
    return this.#during(instance.uuid, await this.of(instance), undefined, action);
  }

  async #during<T>(
    uuid: string,
    ports: readonly NetworkInfo[],
    signal: AbortSignal | undefined,
    action: () => Promise<T>,
  ): Promise<T> {
    const { timeout, fatal, logger } = this.#options;
    const ids = timeout === 0 ? [] : ports.map(({ id }) => id);
    let done: { readonly result: T } | undefined;
    const remembered = async () => {
      done = { result: await action() };
      return done.result;
    };
    try {
      const awaited = { uuid, name: PLUGGED, tags: ids };
      return await this.events.during(awaited, remembered, { milliseconds: timeout * 1000, signal });
    } catch (error) {
      if (!(error instanceof TookTooLong || error instanceof InstanceEventFailed)) {
        throw error;
      }
      logger.warn(`Timeout waiting for network-vif-plugged events: ${error.message}`, { instance: uuid });
      // A failed event is fatal, whatever `vif_plugging_is_fatal` is.
      if (done === undefined || fatal || error instanceof InstanceEventFailed) {
        throw new VirtualInterfaceCreateException("Virtual Interface creation failed", { cause: error });
      }
      return done.result;
    }
  }
}
