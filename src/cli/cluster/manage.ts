import { Command } from "commander";
import { audit } from "../../control-plane/manage/audit.js";
import { healAllocations } from "../../control-plane/manage/heal-allocations.js";
import { ironicNodeMove } from "../../control-plane/manage/nova-manage.js";
import { syncAggregates } from "../../control-plane/manage/sync-aggregates.js";
import { addOnlineDataMigrations } from "./database-migrations.js";
import { commandWith, type ManageFlags } from "./manage-session.js";

/** The end of the `--help` text. */
const NO_CONTROL_PLANE = `

If no control plane responds, the code is 4, as for all commands, and the reason
is on standard error.`;

const HEAL_RETURN_CODES = `
Return codes:
  0    allocations were created or updated
  1    --max-count was reached
  2    the compute node of an instance was not found
  3    allocations could not be written, or Placement not reached
  4    nothing was healed
  8    an instance with vGPU or Cyborg resources cannot be healed
  127  invalid input
  255  something unexpected${NO_CONTROL_PLANE}`;

const AUDIT_RETURN_CODES = `
Return codes:
  0    no orphaned allocations
  1    some could not be deleted
  3    orphaned allocations were found
  4    orphaned allocations were found and deleted
  127  invalid input
  255  something unexpected${NO_CONTROL_PLANE}`;

const SYNC_RETURN_CODES = `
Return codes:
  0    done
  1    a host has more than one compute node
  2    a provider's aggregates could not be read
  3    a provider's aggregates could not be written
  4    hosts of aggregates are mapped to no cell
  5    hosts of aggregates have no compute node
  6    hosts of aggregates have no resource provider
  255  something unexpected${NO_CONTROL_PLANE}`;

interface HealFlags extends ManageFlags {
  readonly maxCount?: string;
  readonly instance?: string;
  readonly cell?: string;
  readonly dryRun?: true;
  readonly force?: true;
}

interface AuditFlags extends ManageFlags {
  readonly resource_provider?: string;
  readonly delete?: true;
}

interface NodeMoveFlags extends ManageFlags {
  readonly ironicNodeUuid?: string;
  readonly destinationHost?: string;
}

/** Creates nova-manage's commands for a running cluster, with its flags, messages and return codes. */
export function manageCommand(): Command {
  const manage = new Command("manage")
    .summary("Run nova-manage commands on the running cluster")
    .description(
      "Heals and audits allocations, mirrors aggregates, moves bare-metal nodes and migrates records of older releases, with " +
        "the flags, messages and return codes of nova-manage.",
    );
  const placement = manage.command("placement").summary("Manage allocations and aggregates in Placement");
  addHeal(placement);
  addAudit(placement);
  addSync(placement);
  const database = manage.command("db").summary("Maintain records of the database");
  addNodeMove(database);
  addOnlineDataMigrations(database);
  return manage;
}

function addHeal(parent: Command): void {
  commandWith<HealFlags>(parent, "heal_allocations", HEAL_RETURN_CODES, (parts, flags) =>
    healAllocations(parts, { force: false, dryRun: false, verbose: false, ...flags }),
  )
    .summary("Create missing allocations of instances")
    .description(
      "Creates the missing allocations of instances in Placement from their flavors and ports, and corrects their project " +
        "and user. " +
        "Instances with a running task are skipped, and allocations of migrations are never created.",
    )
    .option("--max-count <max_count>", "maximum number of instances to heal (default: all, in batches of 50)")
    .option("--verbose", "print the action for each instance")
    .option("--dry-run", "print the changes without writing them; returns 4")
    .option("--instance <instance_uuid>", "uuid of the only instance to heal; --max-count then has no effect")
    .option("--skip-port-allocations", "do not create the allocations of ports that request resources")
    .option("--cell <cell_uuid>", "uuid of the only cell; not with --instance")
    .option(
      "--force",
      "replace all allocations of the instance, including leftovers of an evacuation; requires --instance",
    );
}

function addAudit(parent: Command): void {
  commandWith<AuditFlags>(parent, "audit", AUDIT_RETURN_CODES, (parts, flags) => {
    const { resource_provider: resourceProvider, delete: deletes = false, verbose = false } = flags;
    return audit(parts, { ...(resourceProvider === undefined ? {} : { resourceProvider }), delete: deletes, verbose });
  })
    .summary("Find orphaned allocations in Placement")
    .description(
      "Finds allocations of consumers that are neither instances nor active migrations of the provider's compute node. " +
        "Instances that are being built or moved are skipped.",
    )
    .option("--verbose", "print each allocation")
    .option("--resource_provider <provider_uuid>", "uuid of the only resource provider to check")
    .option("--delete", "delete the orphaned allocations, on that provider only");
}

function addSync(parent: Command): void {
  commandWith<ManageFlags>(parent, "sync_aggregates", SYNC_RETURN_CODES, (parts, { verbose = false }) =>
    syncAggregates(parts, { verbose }),
  )
    .summary("Mirror host aggregates in Placement")
    .description("Adds the providers of hosts to the Placement aggregates of their host aggregates, and removes none.")
    .option("--verbose", "print the action for each host");
}

function addNodeMove(parent: Command): void {
  commandWith<NodeMoveFlags>(parent, "ironic_compute_node_move", "", ironicNodeMove)
    .summary("Move a bare-metal node to another service")
    .description("Moves a bare-metal node with its instance from a compute service that is forced down to another one.")
    .option("--ironic-node-uuid <uuid>", "uuid of the node")
    .option("--destination-host <host>", "host of the new compute service");
}
