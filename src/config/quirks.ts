/** A defect or an ordering of upstream Nova that the agent reproduces only if configured. */
export interface Quirk {
  /** Section of the behaviour specification, or Launchpad bug. */
  readonly source: string;
  /** The upstream behaviour; without the quirk the agent does the safe thing instead. */
  readonly meaning: string;
  /** The major version of the first Nova release that has it; absent: all supported releases and older ones. */
  readonly since?: number;
  /** The major version of the first Nova release that no longer has it; absent: master has it. */
  readonly fixed?: number;
}

/** The Nova releases that `upstream_quirks` accepts, with their major versions. master is an alias of the newest. */
const VERSIONS = Object.freeze({
  zed: 26,
  "2023.1": 27,
  "2023.2": 28,
  "2024.1": 29,
  "2024.2": 30,
  "2025.1": 31,
  "2025.2": 32,
  "2026.1": 33,
  "2026.2": 34,
  master: 34,
});

function quirk(source: string, meaning: string, versions: Pick<Quirk, "since" | "fixed"> = {}): Quirk {
  return { source, meaning, ...versions };
}

/**
 * The values of `[workarounds] upstream_quirks`.
 * @internal for tests
 */
export const QUIRKS = Object.freeze({
  "adopt-foreign-hypervisor": quirk(
    "2.4 f, G5",
    "start on a hypervisor that another host has registered (without the quirk, the start is rejected)",
  ),
  "late-node-collision-check": quirk(
    "2.4 e",
    "check for a second compute node of the same host and name only after guests may have been destroyed",
  ),
  "no-host-lease": quirk("2.4 G6", "allow two running agents to act for one host"),
  "leave-resize-prep-allocations": quirk("2.6", "keep the allocations of a move that was interrupted in resize_prep"),
  "leave-interrupted-resize-allocations": quirk(
    "bug 1836369",
    "keep migration, migration context and allocations after an interrupted resize_migrating",
  ),
  "leave-interrupted-live-migration-allocations": quirk(
    "2.6",
    "neither finish an interrupted live migration nor move its allocations back",
  ),
  "leave-interrupted-resizes": quirk(
    "2.6, reconcile table",
    "leave instances in resize_migrated, resize_finish, resize_reverting and resize_confirming after a restart",
  ),
  "forget-failed-strip": quirk(
    "3.3 GAP-a",
    "mark an evacuation completed even if its source allocations could not be removed",
  ),
  "evacuation-probe-without-destination": quirk(
    "3.3 GAP-b",
    "check shared storage by a call to this host, which times out, if an evacuation has no destination yet",
  ),
  "destroy-pending-evacuations": quirk(
    "3.3 GAP-c",
    "destroy the guest of an accepted evacuation that never started, although its instance is still on this host",
  ),
  "broken-running-deleted-shutdown": quirk("3.5", "take no action if running_deleted_instance_action is shutdown", {
    since: 31,
  }),
  "ironic-instances-before-nodes": quirk(
    "bug 1841481",
    "read the host's instances before Ironic's nodes, so that a node that gets an instance in between appears to be " +
      "another host's",
    { fixed: 24 },
  ),
  "ironic-empty-list-on-error": quirk(
    "bug 1750450",
    "treat an Ironic that does not respond as one without nodes (without the quirk, the update is skipped)",
    { fixed: 18 },
  ),
  "ironic-unlisted-is-deleted": quirk(
    "4.3 step 4",
    "treat every node that Ironic does not list as deleted, without a request for the node",
    { fixed: 29 },
  ),
  "ironic-lost-claim-aborts": quirk(
    "6.1",
    "set an instance to ERROR if another instance claimed its node (without the quirk, another host is tried)",
  ),
  "unguarded-node-delete": quirk(
    "bug 1853009",
    "delete the record and the provider of a vanished node even if another host took it over in between; also cache nodes " +
      "whose record is gone",
    { fixed: 24 },
  ),
  "no-node-undelete": quirk(
    "bug 1839560",
    "do not restore the deleted record of a node that returns, so that it can never be created again",
    { fixed: 20 },
  ),
  "keep-moves-of-deleted": quirk(
    "4.6 row 3",
    "keep the allocations of a migration whose instance was deleted during the move",
  ),
  "ignore-evacuations-in-error": quirk(
    "4.5",
    "do not count the resources of an incoming evacuation of an instance in ERROR before it is finished",
  ),
  "resurrect-deleted-allocations": quirk(
    "bug 1848343",
    "recreate the allocations of an instance that was deleted in between when allocations are moved back",
  ),
  "undo-resize-after-host-flip": quirk(
    "6.3 row 6",
    "move the allocations back to the source if a resize fails after the instance was assigned to the destination",
  ),
  "restore-flavor-after-failed-finish": quirk(
    "6.3 row 7",
    "restore the old flavor if finish_resize fails, although the allocations are of the new flavor",
  ),
  "rebuild-strips-allocations": quirk(
    "6.6",
    "remove the instance's allocations on the host if a rebuild in place fails",
  ),
  "forget-failed-forced-evacuation": quirk(
    "6.7 2b",
    "leave the migration accepted and the instance rebuilding if a forced evacuation fails early",
  ),
  "any-accepted-migration-for-evacuation": quirk(
    "6.7",
    "treat any accepted migration of an instance as its evacuation, whatever its type",
  ),
  "evacuation-breaks-group-policy": quirk(
    "bug 1735407",
    "do not check the server group policy at the destination of an evacuation",
    { fixed: 17 },
  ),
  "migration-breaks-group-policy": quirk(
    "bug 1821755",
    "do not check the server group policy at the destination of a resize, a cold or a live migration",
    { fixed: 24 },
  ),
  "unshelve-breaks-group-policy": quirk(
    "6.9 row 6",
    "do not check the server group policy at the destination of an unshelve",
  ),
  "audit-races-builds": quirk("7.4", "report the allocations of an instance that is being built or moved as orphaned", {
    since: 21,
  }),
});

export type QuirkName = keyof typeof QUIRKS;

export const QUIRK_NAMES = Object.freeze(Object.keys(QUIRKS) as QuirkName[]);

export type Release = keyof typeof VERSIONS;

/** The quirks of each release. */
export const RELEASES: Readonly<Record<Release, readonly QuirkName[]>> = Object.freeze(
  Object.fromEntries(Object.entries(VERSIONS).map(([release, version]) => [release, quirksOf(version)])) as Record<
    Release,
    readonly QuirkName[]
  >,
);

function quirksOf(version: number): readonly QuirkName[] {
  const quirks: Readonly<Record<QuirkName, Quirk>> = QUIRKS;
  return QUIRK_NAMES.filter((name) => {
    const { since = 0, fixed = Number.POSITIVE_INFINITY } = quirks[name];
    return since <= version && version < fixed;
  });
}
