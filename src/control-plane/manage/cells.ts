/** What has no host is there; nothing of it is in Placement. Nova's own constant. */
export const CELL0_UUID = "00000000-0000-0000-0000-000000000000";

/** The one cell with hosts that a cluster has. Nova gives each deployment's a uuid of its own, here all have the same. */
export const CELL1 = { uuid: "ce110001-0000-4000-8000-000000000001", name: "cell1" } as const;
