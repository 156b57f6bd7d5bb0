/** A defect or an order of upstream Nova that the agent follows only when it is asked to. */
export interface Quirk {
  /** Section of the behaviour specification, or Launchpad bug. */
  readonly source: string;
  /** What upstream does; without the quirk the agent does the safe thing instead. */
  readonly meaning: string;
}

const quirk = (source: string, meaning: string): Quirk => ({ source, meaning });

/** Every value of `[workarounds] upstream_quirks`. */
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
  "broken-running-deleted-shutdown": quirk("3.5", "do nothing for running_deleted_instance_action = shutdown"),
  "ironic-instances-before-nodes": quirk(
    "bug 1841481",
    "read the own instances before Ironic's nodes, so that a node that gets one meanwhile looks like somebody else's",
  ),
  "ironic-empty-list-on-error": quirk(
    "bug 1750450",
    "take an Ironic that does not answer for one without nodes, instead of skipping the pass",
  ),
  "ironic-unlisted-is-deleted": quirk(
    "4.3 row 4, before 29.0",
    "take every node of Ironic that is not listed for deleted, without asking for it",
  ),
  "ironic-lost-claim-aborts": quirk(
    "6.1",
    "put an instance whose node another one got into error, instead of trying another host",
  ),
  "unguarded-node-delete": quirk(
    "bug 1853009",
    "delete the row and the provider of a vanished node although another host has taken it meanwhile, and remember nodes whose row is gone",
  ),
  "no-node-undelete": quirk(
    "bug 1839560",
    "do not restore the deleted row of a node that comes back, so that it can never be made again",
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
  "audit-races-builds": quirk("7.4", "take what an instance claimed that is just being built or moved for an orphan"),
});

export type QuirkName = keyof typeof QUIRKS;

export const QUIRK_NAMES = Object.freeze(Object.keys(QUIRKS) as QuirkName[]);
