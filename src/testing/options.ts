import type { DriverContext, Flavor, ImageMeta, Instance } from "../virt/index.js";

/** The environment of one agent in a check. */
export interface CheckPlace {
  /** Name of the host: the first is the source of moves, the second the destination. */
  readonly host: string;
  /** The case's own folder, empty at first, shared by both hosts. It is removed afterwards. */
  readonly folder: string;
}

/** Interfaces of a case, shared by all its drivers. */
export type CheckDeps = Pick<DriverContext, "clock" | "timers" | "random" | "http" | "files" | "processes" | "sockets">;

/** The setup of one case. */
export interface CaseSetUp {
  /** Overrides parts of the usual context of a host's driver. */
  readonly context?: (place: CheckPlace) => Partial<DriverContext>;
  readonly close?: () => void | Promise<void>;
}

/** A guest of a case, with the data needed to access its contents. */
export interface CanaryGuest extends CheckPlace {
  /** The instance in the state of record: after a move, on its new host and node. */
  readonly instance: Instance;
  /** The driver's own folder on that host. */
  readonly stateFolder: string;
  /** The options of the driver on that host, checked by its schema. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly deps: CheckDeps;
  /** @deprecated The name of `deps` until release 0.2. */
  readonly doors: CheckDeps;
}

/** A storage of a guest that preserves data. */
export interface CanaryPlace {
  /** Writes the text; the guest is running. */
  readonly write: (guest: CanaryGuest, text: string) => Promise<void> | void;
  /** Reads the text back; undefined if there is none. The guest is running. */
  readonly read: (guest: CanaryGuest) => Promise<string | undefined> | string | undefined;
}

/** Writes and reads test data in a guest; `write` and `read` access its root disk. */
export interface Canary extends CanaryPlace {
  /** Access to the guest's memory, for example through a process in the guest. Without it, memory is not checked. */
  readonly memory?: CanaryPlace;
}

/** The environment that a sweep cleans up. */
export interface SweptPlace {
  /** The case's folder, with the files of both hosts. */
  readonly folder: string;
  readonly deps: CheckDeps;
  /** @deprecated The name of `deps` until release 0.2. */
  readonly doors: CheckDeps;
}

type SweepFinds = readonly string[] | undefined;

/** Options of a check of a driver. */
export interface DriverCheckOptions {
  /** Returns the driver's options on one host, by the names of its schema. Default: none. */
  readonly config?: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  /**
   * `virtual`: simulated clock, timers, files and network, for drivers that use only the context's interfaces. Default
   * `real`.
   */
  readonly time?: "real" | "virtual";
  /** The guests' flavor, as changes to a small one (1 VCPU, 512 MB, 1 GB). */
  readonly flavor?: Partial<Flavor>;
  /** The flavor for resizes, as changes to a larger one (2 VCPUs, 1024 MB, 2 GB). */
  readonly largerFlavor?: Partial<Flavor>;
  /** Changes to the image of the guests: qcow2, bare. */
  readonly image?: Partial<ImageMeta>;
  /**
   * Writes the files that each case needs into its folder, before its first driver: an image, for example. It must leave
   * nothing in the process, since rules about `kill -9` end the process.
   */
  readonly prepare?: (deps: CheckDeps, folder: string) => void | Promise<void>;
  /** Starts what else each case needs, before its first driver: a service that the driver uses, for example. */
  readonly setUp?: (deps: CheckDeps, folder: string) => CaseSetUp | Promise<CaseSetUp>;
  /**
   * Writes data into guests and reads it back after each of their changes and moves. Without it, the preservation of guests'
   * data is not checked.
   */
  readonly canary?: Canary;
  /**
   * Finds and removes what a case left outside its folder, and returns descriptions of it. Called when a case failed, was
   * abandoned, or ended its process, after the driver was told to destroy the guests that it knows.
   */
  readonly sweep?: (place: SweptPlace) => SweepFinds | Promise<SweepFinds>;
  /** Known deviations of the driver: code of the case → reason. Reported, not failed. */
  readonly waive?: Readonly<Record<string, string>>;
  /** Configurations between which inventory moves to other providers (section 8.7); absent if it never does. */
  readonly reshape?: {
    readonly before: (place: CheckPlace) => Readonly<Record<string, unknown>>;
    readonly after: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  };
}
