import { ConductorError } from "../../../conductor-client/errors.js";
import type { ComputeNode, Service } from "../../../records/index.js";
import { EventLoopTicks } from "../../time-slices.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { isUp } from "../services/service-status.js";
import { type Hypervisor, type HypervisorView, hypervisorView } from "./hypervisor-view.js";

/** Nodes that are read and shown in one go. */
const ROWS = 200;

/** Milliseconds that a host has to say how long it is up, when a list waits for it. */
const UPTIME_TIMEOUT = 5_000;

type CallContext = Pick<Call, "version" | "requestId">;

export interface HypervisorPage {
  readonly views: readonly HypervisorView[];
  readonly last: ComputeNode | undefined;
}

interface Showing {
  readonly detail: boolean;
  readonly servers: boolean;
}

/** The nodes behind `after`, by id, as this caller is shown them. */
export async function showPage(
  deps: ComputeDeps,
  call: CallContext,
  { after: start = 0, limit = Number.MAX_SAFE_INTEGER, ...showing }: Showing & { after?: number; limit?: number },
): Promise<HypervisorPage> {
  const ticks = new EventLoopTicks(deps);
  const views: HypervisorView[] = [];
  let last: ComputeNode | undefined;
  while (views.length < limit) {
    const most = Math.min(ROWS, limit - views.length);
    const nodes = deps.store.computeNodes.served({ after: last?.id ?? start, limit: most });
    views.push(...(await viewsOf(deps, call, nodes, showing)));
    last = nodes.at(-1) ?? last;
    if (nodes.length < most) {
      break;
    }
    if (ticks.due) {
      await ticks.give();
    }
  }
  return { views, last };
}

/** Shows the hypervisors with these ids. */
export async function showSome(
  deps: ComputeDeps,
  call: CallContext,
  ids: readonly number[],
  showing: Showing,
): Promise<readonly HypervisorView[]> {
  const ticks = new EventLoopTicks(deps);
  const views: HypervisorView[] = [];
  for (let from = 0; from < ids.length; from += ROWS) {
    if (ticks.due) {
      await ticks.give();
    }
    const nodes = deps.store.computeNodes.servedByIds(ids.slice(from, from + ROWS));
    views.push(...(await viewsOf(deps, call, nodes, showing)));
  }
  return views;
}

async function viewsOf(
  deps: ComputeDeps,
  call: CallContext,
  nodes: readonly ComputeNode[],
  { detail, servers }: Showing,
): Promise<readonly HypervisorView[]> {
  const { version } = call;
  const hosts = [...new Set(nodes.map(({ host }) => host))];
  const services = new Map(
    deps.store.services.byHosts(hosts, "nova-compute").map((service) => [service.host, service]),
  );
  const names = servers ? deps.store.instances.namesByHosts(hosts) : undefined;
  const uptimes = detail && version >= 88 ? await uptimesOf(deps, call, [...services.values()]) : undefined;
  return nodes.flatMap((node) => {
    const service = services.get(node.host);
    const uptime = uptimes?.get(node.host) ?? null;
    const options = { version, detail, uptime, servers: names && (names.get(node.host) ?? []) };
    return service ? [hypervisorView(deps, { node, service }, options)] : [];
  });
}

/** What each host says that is up; a host that says nothing has none. */
async function uptimesOf(
  deps: ComputeDeps,
  { requestId }: CallContext,
  services: readonly Service[],
): Promise<ReadonlyMap<string, string | null>> {
  const aliveServices = services.filter((service) => isUp(deps, service));
  const options = { requestId, timeout: UPTIME_TIMEOUT };
  const uptimes = await Promise.all(
    aliveServices.map(async ({ host }) => {
      const uptime = await deps.bus.call(host, "get_host_uptime", {}, options).catch(noneKnown);
      return [host, uptime] as const;
    }),
  );
  return new Map(uptimes);
}

/** @throws what says nothing of the host */
function noneKnown(error: unknown): null {
  if (error instanceof ConductorError) {
    return null;
  }
  throw error;
}

/** The node with this uuid, or with this number; undefined: there is none whose service is there. */
export function findHypervisor({ store }: Pick<ComputeDeps, "store">, id: string): Hypervisor | undefined {
  const node = /^\d{1,15}$/.test(id)
    ? store.computeNodes.get(Number(id))
    : store.computeNodes.getByUuid(id.toLowerCase());
  const service = node && store.services.getByHost(node.host, "nova-compute");
  return service ? { node, service } : undefined;
}
