import type { QuirkName } from "../../src/config/quirks.js";
import type { Release } from "../../src/records/index.js";

/** The kinds of steps: actions of users and operators, and disturbances. */
export const STEP_KINDS = [
  "create",
  "act",
  "delete",
  "label",
  "fence",
  "evacuate",
  "force-up",
  "disable",
  "enable",
  "delete-service",
  "aggregate",
  "retire",
  "audit",
  "heal",
  "kill-agent",
  "stop-agent",
  "twin-agent",
  "impostor",
  "machine",
  "disk",
  "kill-control-plane",
  "partition",
  "message",
  "fault",
  "trouble",
  "clock",
  "create-bare-metal",
  "act-bare-metal",
  "kill-ironic-agent",
  "node",
  "ironic-fault",
  "control-move",
  "save-image",
  "restore",
  "reset-state",
  "ironic-network",
  "ironic-listing",
  "network",
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** The steps that need an Ironic. */
export const BARE_METAL: readonly StepKind[] = [
  "create-bare-metal",
  "act-bare-metal",
  "kill-ironic-agent",
  "node",
  "ironic-fault",
  "ironic-network",
  "ironic-listing",
];

/** A step. Its random choices depend only on its number, not on other steps. */
export interface Step {
  readonly number: number;
  /** Milliseconds since the start. */
  readonly at: number;
  readonly kind: StepKind;
}

/** The properties of a cloud, drawn from a seed. */
export interface Deployment {
  readonly hosts: number;
  /** The latency of each message in milliseconds. */
  readonly latency: number;
  /** The max additional delay of an adapter call in milliseconds; 0: none. */
  readonly interleave: number;
  /** The number of hosts, counted from the last, that share their disks. */
  readonly sharing: number;
  /** Whether an old nova-compute is registered, so that moves double their allocations (spec 6.0). */
  readonly doubled: boolean;
  /** The release of the first host's agent. */
  readonly oldest: Release;
  /** Upstream defects of this cloud. */
  readonly quirks: readonly QuirkName[];
  readonly sameHostResize: boolean;
  readonly shelvedOffloadTime: number;
  /** Seconds; 0: off. */
  readonly reclaimInterval: number;
  /** Seconds after which a resize is confirmed; absent or 0: never. */
  readonly confirmWindow?: number;
  readonly leanTracking: boolean;
  /** Whether guests that were running are started when their machine returns. */
  readonly resumeGuests: boolean;
  /** Whether agents remove leaked allocations. If not, no process is killed and no response is lost. */
  readonly repairs: boolean;
  /** The longest delay of a host, in seconds. */
  readonly slow: number;
  /** The number of nodes of the embedded Ironic; 0: there is none. */
  readonly nodes: number;
  /** The number of hosts that share the nodes. */
  readonly ironicHosts: number;
  /** Whether users put servers into server groups; absent: no. */
  readonly groups?: boolean;
  /** Whether servers have ports, and users change networks; absent: no. */
  readonly networks?: boolean;
}

/** The complete input of a run. */
export interface Plan {
  readonly version: 1;
  readonly seed: string;
  /** Milliseconds during which steps are started. */
  readonly duration: number;
  readonly deployment: Deployment;
  readonly steps: readonly Step[];
}
