import type { ProviderListing } from "../../placement-client/types.js";
import { type AgentView, requestId } from "../context.js";

/** A contradiction between a compute node and Placement: the node's provider is found by the node's uuid and must have its name. */
export interface ProviderConflict {
  /** The node's uuid, which is also the uuid of its provider. */
  readonly uuid: string;
  /** The node's name, which is the expected name of its provider. */
  readonly name: string;
  /** The contradiction, with uuids and names. */
  readonly found: string;
  /** The command that resolves it. */
  readonly hint: string;
}

export interface NodeProviders {
  /** Names of nodes whose provider exists. */
  readonly present: readonly string[];
  /** Names of nodes whose provider does not exist yet. */
  readonly absent: readonly string[];
  readonly conflicts: readonly ProviderConflict[];
}

/**
 * Compares the nodes with their providers in Placement; only reads.
 * @param nodes uuid → name
 * @throws ResourceProviderRetrievalFailed, PlacementAPIConnectFailure
 */
export async function compareProviders(view: AgentView, nodes: ReadonlyMap<string, string>): Promise<NodeProviders> {
  const listed = await view.placement.listNodeProviders(nodes, { requestId: requestId(view) });
  const byUuid = new Map(listed.map((provider) => [provider.uuid, provider]));
  const byName = new Map(listed.map((provider) => [provider.name, provider]));
  const present: string[] = [];
  const absent: string[] = [];
  const conflicts: ProviderConflict[] = [];
  for (const [uuid, name] of nodes) {
    const own = byUuid.get(uuid);
    const namesake = byName.get(name);
    if (own === undefined && namesake === undefined) {
      absent.push(name);
    } else if (own?.name === name) {
      present.push(name);
    } else {
      conflicts.push(own === undefined ? takenName(uuid, name, namesake) : renamedProvider(own, name, namesake));
    }
  }
  return { present, absent, conflicts };
}

/** Returns the conflict of a provider that has the node's uuid and another name. */
export function renamedProvider(
  { uuid, name: nameFound }: Pick<ProviderListing, "uuid" | "name">,
  name: string,
  namesake?: Pick<ProviderListing, "uuid">,
): ProviderConflict {
  const rename = `openstack resource provider set --name ${name} ${uuid}`;
  return {
    uuid,
    name,
    found: `resource provider ${uuid} of compute node ${name} has the name ${nameFound} in Placement, expected ${name}`,
    hint:
      namesake === undefined
        ? `rename it: ${rename}`
        : `resource provider ${namesake.uuid} has the name ${name}: delete or rename that one, then run ${rename}`,
  };
}

function takenName(uuid: string, name: string, namesake: Pick<ProviderListing, "uuid"> | undefined): ProviderConflict {
  const other = namesake?.uuid ?? "";
  return {
    uuid,
    name,
    found: `compute node ${name} has no resource provider ${uuid} in Placement, and resource provider ${other} already has the name ${name}`,
    hint: `if no compute node has uuid ${other}, delete that provider: openstack resource provider delete ${other}`,
  };
}
