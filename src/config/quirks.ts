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
    "start on a hypervisor that another host has registered, instead of refusing",
  ),
  "late-node-collision-check": quirk(
    "2.4 e",
    "look for a second compute node of the same host and name only after guests may have been destroyed",
  ),
  "no-host-lease": quirk("2.4 G6", "let two live agents act for one host"),
  "leave-resize-prep-allocations": quirk(
    "2.6",
    "leave the allocations of a move that was interrupted in resize_prep as they are",
  ),
  "leave-interrupted-resize-allocations": quirk(
    "bug 1836369",
    "after an interrupted resize_migrating leave migration, context and allocations as they are",
  ),
  "leave-interrupted-live-migration-allocations": quirk(
    "2.6",
    "after an interrupted live migration do not move the allocations back or finish it",
  ),
  "leave-interrupted-resizes": quirk(
    "2.6, reconcile table",
    "leave instances stuck in resize_migrated, resize_finish, resize_reverting and resize_confirming",
  ),
  "forget-failed-strip": quirk(
    "3.3 GAP-a",
    "mark an evacuation completed although its allocation on the source could not be removed",
  ),
  "evacuation-probe-without-destination": quirk(
    "3.3 GAP-b",
    "ask this host itself about shared storage when an evacuation has no destination yet, and time out",
  ),
  "destroy-pending-evacuations": quirk(
    "3.3 GAP-c",
    "destroy the guest of an accepted evacuation that never ran and whose instance is still here",
  ),
  "broken-running-deleted-shutdown": quirk("3.5", "do nothing for running_deleted_instance_action = shutdown", {
    since: 31,
  }),
  "ironic-instances-before-nodes": quirk(
    "bug 1841481",
    "read the own instances before Ironic's nodes, so that a node that gets one meanwhile looks like somebody else's",
    { fixed: 24 },
  ),
  "ironic-empty-list-on-error": quirk(
    "bug 1750450",
    "take an Ironic that does not answer for one without nodes, instead of skipping the pass",
    { fixed: 18 },
  ),
  "ironic-unlisted-is-deleted": quirk(
    "4.3 step 4",
    "take every node of Ironic that is not listed for deleted, without asking for it",
    { fixed: 29 },
  ),
  "ironic-lost-claim-aborts": quirk(
    "6.1",
    "put an instance whose node another one got into error, instead of trying another host",
  ),
  "unguarded-node-delete": quirk(
    "bug 1853009",
    "delete the row and the provider of a vanished node although another host has taken it meanwhile, and remember nodes whose row is gone",
    { fixed: 24 },
  ),
  "no-node-undelete": quirk(
    "bug 1839560",
    "do not restore the deleted row of a node that comes back, so that it can never be made again",
    { fixed: 20 },
  ),
  "keep-moves-of-deleted": quirk(
    "4.6 row 3",
    "keep what the migration of an instance holds that was deleted while it moved",
  ),
  "ignore-evacuations-in-error": quirk(
    "4.5",
    "do not count an incoming evacuation of an instance in error before it is finished",
  ),
  "resurrect-deleted-allocations": quirk(
    "bug 1848343",
    "moving allocations back may recreate those of an instance that was deleted meanwhile",
  ),
  "undo-resize-after-host-flip": quirk(
    "6.3 row 6",
    "move the allocations back to the source when a resize fails after the instance was given to the destination",
  ),
  "restore-flavor-after-failed-finish": quirk(
    "6.3 row 7",
    "put the old flavor back when finishing a resize fails, although the allocation is of the new one",
  ),
  "rebuild-strips-allocations": quirk("6.6", "remove the host's allocations when a rebuild in place fails"),
  "forget-failed-forced-evacuation": quirk(
    "6.7 2b",
    "leave the migration accepted and the instance rebuilding when a forced evacuation fails early",
  ),
  "any-accepted-migration-for-evacuation": quirk(
    "6.7",
    "take any accepted migration of an instance for its evacuation, whatever its type",
  ),
  "evacuation-breaks-group-policy": quirk(
    "bug 1735407",
    "let the destination of an evacuation pass over the policy of the server group",
    { fixed: 17 },
  ),
  "migration-breaks-group-policy": quirk(
    "bug 1821755",
    "let the destination of a resize, a cold or a live migration pass over the policy of the server group",
    { fixed: 24 },
  ),
  "unshelve-breaks-group-policy": quirk(
    "6.9 row 6",
    "let the destination of an unshelve pass over the policy of the server group",
  ),
  "audit-races-builds": quirk("7.4", "take what an instance claimed that is just being built or moved for an orphan", {
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
