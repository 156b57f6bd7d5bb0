import type { DriverContext, Flavor, ImageMeta } from "../virt/index.js";

/** One agent's place in a check. */
export interface CheckPlace {
  /** Name of the host: the first is the source of moves, the second the destination. */
  readonly host: string;
  /** The case's own folder, empty at first, the same for both hosts. It is removed afterwards. */
  readonly folder: string;
}

/** How a driver is to be checked. */
export interface DriverCheckOptions {
  /** The driver's options on one host, by the names of its schema. Default: none. */
  readonly config?: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  /**
   * `virtual`: simulated clock, timers, files and network; for drivers that use nothing but the context's doors. Default
   * `real`.
   */
  readonly time?: "real" | "virtual";
  /** Of the guests; changes to a small one (1 VCPU, 512 MB, 1 GB). */
  readonly flavor?: Partial<Flavor>;
  /** What guests are resized to; changes to a larger one (2 VCPUs, 1024 MB, 2 GB). */
  readonly largerFlavor?: Partial<Flavor>;
  /** Changes to the image of the guests: qcow2, bare. */
  readonly image?: Partial<ImageMeta>;
  /** Doors and data for the driver in place of the usual ones. */
  readonly context?: (place: CheckPlace) => Partial<DriverContext>;
  /** What the driver knowingly does otherwise: code of the case → why. Reported, not failed. */
  readonly waive?: Readonly<Record<string, string>>;
  /** Configurations between which inventory moves to other providers (section 8.7); left out: it never does. */
  readonly reshape?: {
    readonly before: (place: CheckPlace) => Readonly<Record<string, unknown>>;
    readonly after: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  };
}
