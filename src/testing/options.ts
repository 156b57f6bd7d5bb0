import type { DriverContext, Flavor, ImageMeta } from "../virt/index.js";

/** One agent's place in a check. */
export interface CheckPlace {
  /** Name of the host: the first is the source of moves, the second the destination. */
  readonly host: string;
  /** The case's own folder, empty at first, the same for both hosts. It is removed afterwards. */
  readonly folder: string;
}

/** Doors of a case, which all its drivers share. */
export type CheckDoors = Pick<DriverContext, "clock" | "timers" | "random" | "http" | "files">;

/** What was set up for one case. */
export interface CaseSetUp {
  /** Replaces the usual context of a host's driver. */
  readonly context?: (place: CheckPlace) => Partial<DriverContext>;
  readonly close?: () => void | Promise<void>;
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
  /** The flavor of the guests: changes to a small one (1 VCPU, 512 MB, 1 GB). */
  readonly flavor?: Partial<Flavor>;
  /** What guests are resized to; changes to a larger one (2 VCPUs, 1024 MB, 2 GB). */
  readonly largerFlavor?: Partial<Flavor>;
  /** Changes to the image of the guests: qcow2, bare. */
  readonly image?: Partial<ImageMeta>;
  /** What each case needs besides, made before its first driver: a service that the driver talks to, for example. */
  readonly setUp?: (doors: CheckDoors, folder: string) => CaseSetUp | Promise<CaseSetUp>;
  /** What the driver knowingly does otherwise: code of the case → why. Reported, not failed. */
  readonly waive?: Readonly<Record<string, string>>;
  /** Configurations between which inventory moves to other providers (section 8.7); left out: it never does. */
  readonly reshape?: {
    readonly before: (place: CheckPlace) => Readonly<Record<string, unknown>>;
    readonly after: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  };
}
