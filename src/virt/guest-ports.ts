import type { CallOptions, Instance, NetworkInfo } from "./types.js";

/** What the core knows of the network of a host's guests; it gives drivers their guests' ports. */
export interface GuestPorts {
  /** The instance's ports, as they are now. */
  of(instance: Instance, options?: CallOptions): Promise<readonly NetworkInfo[]>;
  /** The ports are connected here; what a driver has said of them itself is not said again. */
  connected(instanceUuid: string, ports: readonly NetworkInfo[]): Promise<void>;
}
