import type { DriverContext, Flavor, ImageMeta, Instance } from "../virt/index.js";

/** One agent's place in a check. */
export interface CheckPlace {
  /** Name of the host: the first is the source of moves, the second the destination. */
  readonly host: string;
  /** The case's own folder, empty at first, the same for both hosts. It is removed afterwards. */
  readonly folder: string;
}

/** Doors of a case, which all its drivers share. */
export type CheckDeps = Pick<DriverContext, "clock" | "timers" | "random" | "http" | "files" | "processes" | "sockets">;

/** What was set up for one case. */
export interface CaseSetUp {
  /** Replaces the usual context of a host's driver. */
  readonly context?: (place: CheckPlace) => Partial<DriverContext>;
  readonly close?: () => void | Promise<void>;
}

/** A guest of a case, as whoever looks into it needs it. */
export interface CanaryGuest extends CheckPlace {
  /** As the state of record has it: after a move, on its new host and node. */
  readonly instance: Instance;
  /** The driver's own folder on that host. */
  readonly stateFolder: string;
  /** What the driver on that host was given as its options, checked by its schema. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly deps: CheckDeps;
  /** @deprecated The name of `deps` until release 0.2. */
  readonly doors: CheckDeps;
}

/** One place in a guest that keeps data. */
export interface CanaryPlace {
  /** Puts the text there; the guest runs. */
  readonly write: (guest: CanaryGuest, text: string) => Promise<void> | void;
  /** What is there now, undefined if there is nothing. The guest runs. */
  readonly read: (guest: CanaryGuest) => Promise<string | undefined> | string | undefined;
}

/** How data is put into a guest and looked for: `write` and `read` are of its root disk. */
export interface Canary extends CanaryPlace {
  /** The same of its memory: a process in it, for example. Left out: memory is not looked at. */
  readonly memory?: CanaryPlace;
}

/** What is left to be swept. */
export interface SweptPlace {
  /** The case's folder, with what both hosts had in it. */
  readonly folder: string;
  readonly deps: CheckDeps;
  /** @deprecated The name of `deps` until release 0.2. */
  readonly doors: CheckDeps;
}

type SweepFinds = readonly string[] | undefined;

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
  /**
   * Puts what each case needs into its folder, before its first driver: an image, for example. It leaves nothing in the
   * process, which rules about `kill -9` end.
   */
  readonly prepare?: (deps: CheckDeps, folder: string) => void | Promise<void>;
  /** What each case needs besides, made before its first driver: a service that the driver talks to, for example. */
  readonly setUp?: (deps: CheckDeps, folder: string) => CaseSetUp | Promise<CaseSetUp>;
  /**
   * Puts data into guests and looks for it after each of their changes and moves. Left out: whether guests keep their data is
   * not looked at.
   */
  readonly canary?: Canary;
  /**
   * Finds and removes what a case left outside its folder, and returns words for what it found: called when a case failed, was
   * given up, or ended its process, after the driver was asked to destroy what it knows.
   */
  readonly sweep?: (place: SweptPlace) => SweepFinds | Promise<SweepFinds>;
  /** What the driver knowingly does otherwise: code of the case → why. Reported, not failed. */
  readonly waive?: Readonly<Record<string, string>>;
  /** Configurations between which inventory moves to other providers (section 8.7); left out: it never does. */
  readonly reshape?: {
    readonly before: (place: CheckPlace) => Readonly<Record<string, unknown>>;
    readonly after: (place: CheckPlace) => Readonly<Record<string, unknown>>;
  };
}
