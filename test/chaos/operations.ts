import type { Dice } from "./dice.js";

/** An operation of a user on an existing server. */
export interface Operation {
  readonly name: string;
  /** Administrators only. */
  readonly admin?: true;
  /** Statuses in which the operation is valid. It is tried in others as well, but less often. */
  readonly statuses: readonly string[];
  readonly weight: number;
  /** Microversion of the request; default 2.94. */
  readonly version?: string;
  /** Creates the body of POST /servers/{id}/action; null for DELETE /servers/{id}. */
  readonly body: ((dice: Dice, hosts: readonly string[]) => object) | null;
}

const IMAGE = "c0ffee00-0000-4000-8000-000000000001";

function simple(name: string, action: string, statuses: readonly string[], weight = 4): Operation {
  return { name, statuses, weight, body: () => ({ [action]: null }) };
}

/** Returns a random host, or null in half of the cases, so that the scheduler selects. */
function target(dice: Dice, hosts: readonly string[]): string | null {
  return dice.chance(0.5) ? null : (dice.pick(hosts) ?? null);
}

export const OPERATIONS: readonly Operation[] = [
  { name: "delete", statuses: ["ERROR"], weight: 8, body: null },
  {
    name: "delete",
    statuses: ["ACTIVE", "SHUTOFF", "VERIFY_RESIZE", "SHELVED_OFFLOADED", "RESCUE"],
    weight: 1,
    body: null,
  },
  simple("stop", "os-stop", ["ACTIVE"]),
  simple("start", "os-start", ["SHUTOFF"], 8),
  simple("pause", "pause", ["ACTIVE"], 2),
  simple("unpause", "unpause", ["PAUSED"], 8),
  simple("suspend", "suspend", ["ACTIVE"], 2),
  simple("resume", "resume", ["SUSPENDED"], 8),
  simple("unrescue", "unrescue", ["RESCUE"], 8),
  simple("shelve", "shelve", ["ACTIVE", "SHUTOFF", "PAUSED"], 2),
  simple("unshelve", "unshelve", ["SHELVED", "SHELVED_OFFLOADED"], 8),
  simple("confirm", "confirmResize", ["VERIFY_RESIZE"], 8),
  simple("revert", "revertResize", ["VERIFY_RESIZE"], 8),
  { name: "offload", admin: true, statuses: ["SHELVED"], weight: 3, body: () => ({ shelveOffload: null }) },
  { name: "rescue", statuses: ["ACTIVE"], weight: 2, body: () => ({ rescue: {} }) },
  {
    name: "reboot",
    statuses: ["ACTIVE", "ERROR"],
    weight: 3,
    body: (dice) => ({ reboot: { type: dice.chance(0.5) ? "SOFT" : "HARD" } }),
  },
  {
    name: "rebuild",
    statuses: ["ACTIVE", "SHUTOFF", "ERROR"],
    weight: 3,
    body: () => ({ rebuild: { imageRef: IMAGE } }),
  },
  {
    name: "resize",
    statuses: ["ACTIVE", "SHUTOFF"],
    weight: 6,
    body: (dice) => ({ resize: { flavorRef: dice.pick(["1", "2", "3"]) } }),
  },
  {
    name: "migrate",
    admin: true,
    statuses: ["ACTIVE", "SHUTOFF"],
    weight: 6,
    body: (dice, hosts) => {
      const host = target(dice, hosts);
      return { migrate: host === null ? null : { host } };
    },
  },
  {
    name: "live migrate",
    admin: true,
    statuses: ["ACTIVE", "PAUSED"],
    weight: 6,
    body: (dice, hosts) => ({ "os-migrateLive": { host: target(dice, hosts), block_migration: "auto" } }),
  },
  {
    name: "live migrate",
    admin: true,
    statuses: ["ACTIVE"],
    weight: 1,
    version: "2.67",
    body: (dice, hosts) => ({ "os-migrateLive": { host: dice.pick(hosts), block_migration: "auto", force: true } }),
  },
];
