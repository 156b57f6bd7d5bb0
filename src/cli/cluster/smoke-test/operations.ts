/** What a drill knows of the cloud that it drills. */
export interface SmokeTestResources {
  readonly image: string;
  /** The flavor of new servers. */
  readonly flavor: string;
  /** What they are resized to. */
  readonly largerFlavor: string;
}

/** One operation of the Compute API on one server, and what it should come to. */
export interface SmokeTestOperation {
  readonly name: string;
  /**
   * Body of `POST /servers/{id}/action`; `create` and `delete` are requests of their own, `abort` ends a live migration that
   * runs, and `evacuate` takes the server's host down before, and brings it back.
   */
  readonly action:
    | ((places: SmokeTestResources) => Readonly<Record<string, unknown>>)
    | "create"
    | "delete"
    | "abort"
    | "evacuate";
  /** The server's status afterwards, once nothing is under way. */
  readonly status: string;
  /** The status that it takes; a server that is in another one is made anew. */
  readonly from: string;
  /** Needs a second host. */
  readonly hosts?: 2;
  /** The server's host is another one afterwards. */
  readonly moves?: true;
}

function on(name: string, value: unknown = null): SmokeTestOperation["action"] {
  return () => ({ [name]: value });
}

function active(name: string, action: SmokeTestOperation["action"], status = "ACTIVE"): SmokeTestOperation {
  return {
    name,
    action,
    status,
    from: "ACTIVE",
  };
}

const resize: SmokeTestOperation["action"] = ({ largerFlavor }) => ({ resize: { flavorRef: largerFlavor } });

/** What asks for a live migration to any host. */
export const LIVE = { "os-migrateLive": { host: null, block_migration: "auto" } };

/** The operations, in an order in which each finds the server as it needs it. */
export const SMOKE_TEST_OPERATIONS: readonly SmokeTestOperation[] = [
  { name: "create", action: "create", status: "ACTIVE", from: "" },
  active("reboot soft", on("reboot", { type: "SOFT" })),
  active("reboot hard", on("reboot", { type: "HARD" })),
  active("pause", on("pause"), "PAUSED"),
  { name: "unpause", action: on("unpause"), status: "ACTIVE", from: "PAUSED" },
  active("suspend", on("suspend"), "SUSPENDED"),
  { name: "resume", action: on("resume"), status: "ACTIVE", from: "SUSPENDED" },
  active("stop", on("os-stop"), "SHUTOFF"),
  { name: "start", action: on("os-start"), status: "ACTIVE", from: "SHUTOFF" },
  active("rescue", on("rescue"), "RESCUE"),
  { name: "unrescue", action: on("unrescue"), status: "ACTIVE", from: "RESCUE" },
  active("rebuild", ({ image }) => ({ rebuild: { imageRef: image } })),
  active("shelve", on("shelve"), "SHELVED_OFFLOADED"),
  { name: "unshelve", action: on("unshelve"), status: "ACTIVE", from: "SHELVED_OFFLOADED" },
  { ...active("cold migrate", on("migrate"), "VERIFY_RESIZE"), hosts: 2 },
  { name: "confirm migration", action: on("confirmResize"), status: "ACTIVE", from: "VERIFY_RESIZE", hosts: 2 },
  { ...active("resize", resize, "VERIFY_RESIZE"), hosts: 2 },
  { name: "revert resize", action: on("revertResize"), status: "ACTIVE", from: "VERIFY_RESIZE", hosts: 2 },
  { ...active("live migrate", () => LIVE), hosts: 2, moves: true },
  { ...active("abort live migration", "abort"), hosts: 2 },
  { ...active("evacuate", "evacuate"), hosts: 2, moves: true },
  { name: "delete", action: "delete", status: "", from: "ACTIVE" },
];
