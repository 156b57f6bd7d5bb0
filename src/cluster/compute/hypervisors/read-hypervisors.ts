import type { ComputeNode } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { Turns } from "../../turns.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { type Hypervisor, hypervisorView } from "./hypervisor-view.js";

/** Nodes that are read and shown in one go. */
const ROWS = 200;

export interface ShownHypervisors {
  readonly views: readonly Json[];
  readonly last: ComputeNode | undefined;
}

interface Showing {
  readonly detail: boolean;
  readonly servers: boolean;
}

/** The nodes behind `after`, by id, as this caller is shown them. */
export async function showPage(
  deps: ComputeDeps,
  { version }: Pick<Call, "version">,
  { after: start = 0, limit = Number.MAX_SAFE_INTEGER, ...showing }: Showing & { after?: number; limit?: number },
): Promise<ShownHypervisors> {
  const turns = new Turns(deps);
  const views: Json[] = [];
  let last: ComputeNode | undefined;
  while (views.length < limit) {
    const most = Math.min(ROWS, limit - views.length);
    const nodes = deps.store.computeNodes.served({ after: last?.id ?? start, limit: most });
    views.push(...viewsOf(deps, version, nodes, showing));
    last = nodes.at(-1) ?? last;
    if (nodes.length < most) {
      break;
    }
    if (turns.due) {
      await turns.give();
    }
  }
  return { views, last };
}

/** Shows the hypervisors with these ids. */
export async function showSome(
  deps: ComputeDeps,
  { version }: Pick<Call, "version">,
  ids: readonly number[],
  showing: Showing,
): Promise<readonly Json[]> {
  const turns = new Turns(deps);
  const views: Json[] = [];
  for (let from = 0; from < ids.length; from += ROWS) {
    if (turns.due) {
      await turns.give();
    }
    const nodes = deps.store.computeNodes.servedByIds(ids.slice(from, from + ROWS));
    views.push(...viewsOf(deps, version, nodes, showing));
  }
  return views;
}

function viewsOf(
  deps: ComputeDeps,
  version: number,
  nodes: readonly ComputeNode[],
  { detail, servers }: Showing,
): readonly Json[] {
  const hosts = [...new Set(nodes.map(({ host }) => host))];
  const services = new Map(
    deps.store.services.byHosts(hosts, "nova-compute").map((service) => [service.host, service]),
  );
  const names = servers ? deps.store.instances.namesByHosts(hosts) : undefined;
  return nodes.flatMap((node) => {
    const service = services.get(node.host);
    const options = { version, detail, servers: names && (names.get(node.host) ?? []) };
    return service ? [hypervisorView(deps, { node, service }, options)] : [];
  });
}

/** The node with this uuid, or with this number; undefined: there is none whose service is there. */
export function findHypervisor({ store }: Pick<ComputeDeps, "store">, id: string): Hypervisor | undefined {
  const node = /^\d{1,15}$/.test(id)
    ? store.computeNodes.get(Number(id))
    : store.computeNodes.getByUuid(id.toLowerCase());
  const service = node && store.services.getByHost(node.host, "nova-compute");
  return service ? { node, service } : undefined;
}
