import { Command } from "commander";
import { audit } from "../../control-plane/manage/audit.js";
import { healAllocations } from "../../control-plane/manage/heal-allocations.js";
import { ironicNodeMove } from "../../control-plane/manage/nova-manage.js";
import { syncAggregates } from "../../control-plane/manage/sync-aggregates.js";
import { commandWith, type ManageFlags } from "./manage-session.js";

/** The end of the `--help` text. */
const NO_CONTROL_PLANE = `

Without a control plane that responds, the code is 4, as for every command, and the reason is on standard error.`;

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
  const manage = new Command("manage").summary("nova-manage's commands: heal and audit allocations, mirror aggregates");
  const placement = manage.command("placement").summary("allocations and aggregates in Placement");
  addHeal(placement);
  addAudit(placement);
  addSync(placement);
  addNodeMove(manage.command("db").summary("the state of record"));
  return manage;
}

function addHeal(parent: Command): void {
  commandWith<HealFlags>(parent, "heal_allocations", HEAL_RETURN_CODES, (parts, flags) =>
    healAllocations(parts, { force: false, dryRun: false, verbose: false, ...flags }),
  )
    .description(
      "Creates the allocations that instances lack in Placement, from their flavors, and puts right whose they are.\n" +
        "Instances that a task is under way for are passed over, and what migrations hold is never created.",
    )
    .option("--max-count <max_count>", "instances to heal at most (default: all, in batches of 50)")
    .option("--verbose", "print what is done for each instance")
    .option("--dry-run", "tell what would be written, and write nothing; returns 4")
    .option("--instance <instance_uuid>", "only this one; --max-count has no effect then")
    .option("--skip-port-allocations", "taken for nova-manage's sake: no port asks for anything here")
    .option("--cell <cell_uuid>", "only this cell; not together with --instance")
    .option("--force", "replace all that the instance holds, also leftovers of an evacuation; needs --instance");
}

function addAudit(parent: Command): void {
  commandWith<AuditFlags>(parent, "audit", AUDIT_RETURN_CODES, (parts, flags) => {
    const { resource_provider: resourceProvider, delete: deletes = false, verbose = false } = flags;
    return audit(parts, { ...(resourceProvider === undefined ? {} : { resourceProvider }), delete: deletes, verbose });
  })
    .description(
      "Finds allocations of consumers that are neither instances nor active migrations of the provider's compute node.\n" +
        "What is being built or moved is left alone.",
    )
    .option("--verbose", "print each allocation")
    .option("--resource_provider <provider_uuid>", "only this one")
    .option("--delete", "delete what was found, on that provider only");
}

function addSync(parent: Command): void {
  commandWith<ManageFlags>(parent, "sync_aggregates", SYNC_RETURN_CODES, (parts, { verbose = false }) =>
    syncAggregates(parts, { verbose }),
  )
    .description("Puts the providers of hosts into the Placement aggregates of their host aggregates; removes none.")
    .option("--verbose", "print what is done for each host");
}

function addNodeMove(parent: Command): void {
  commandWith<NodeMoveFlags>(parent, "ironic_compute_node_move", "", ironicNodeMove)
    .description("Gives a bare-metal node, with its instance, from a service that is forced down to another one.")
    .option("--ironic-node-uuid <uuid>", "the node")
    .option("--destination-host <host>", "the host of the service that takes it");
}
