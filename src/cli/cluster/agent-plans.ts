import type { AgentPlan } from "../../control-plane/local/agent-process.js";

/** Hosts that are started with the same arguments. */
export interface HostGroup {
  readonly hosts: readonly string[];
  readonly args: readonly string[];
  readonly driver: string | null;
}

export interface Sharing {
  readonly processes?: number;
  readonly hostsPerProcess?: number;
  /** Processor cores of the machine. */
  readonly cores: number;
}

/** So many hosts have a process each unless somebody asks for other. */
const FEW = 8;

/**
 * The processes that serve these hosts. Hosts that are started with different arguments never share one; those that do are
 * neighbours in their group.
 * @param taken names that no pool may have: a log file is named after it
 */
export function agentPlans(
  groups: readonly HostGroup[],
  sharing: Sharing,
  taken: ReadonlySet<string>,
): readonly AgentPlan[] {
  const total = groups.reduce((sum, { hosts }) => sum + hosts.length, 0);
  const most = mostPerProcess(total, sharing);
  let last = 0;
  const nextPool = (): string => {
    do {
      last += 1;
    } while (taken.has(`pool-${last}`));
    return `pool-${last}`;
  };
  return groups.flatMap(({ hosts, args, driver }) =>
    slices(hosts, Math.ceil(hosts.length / most)).map((slice): AgentPlan => {
      const [first] = slice;
      return { name: slice.length === 1 && first !== undefined ? first : nextPool(), hosts: slice, args, driver };
    }),
  );
}

function mostPerProcess(total: number, { processes, hostsPerProcess, cores }: Sharing): number {
  if (hostsPerProcess !== undefined) {
    return hostsPerProcess;
  }
  return processes === undefined && total <= FEW ? 1 : Math.max(1, Math.ceil(total / (processes ?? cores)));
}

/** `count` slices of almost the same length. */
function slices<T>(all: readonly T[], count: number): (readonly T[])[] {
  return Array.from({ length: count }, (_none, index) =>
    all.slice(Math.floor((index * all.length) / count), Math.floor(((index + 1) * all.length) / count)),
  );
}

/** Hosts by what they are started with, in the order in which they come. */
export function groupsOf(
  hosts: Iterable<readonly [host: string, start: Omit<HostGroup, "hosts">]>,
): readonly HostGroup[] {
  const groups = new Map<string, { hosts: string[]; args: readonly string[]; driver: string | null }>();
  for (const [host, { args, driver }] of hosts) {
    const key = JSON.stringify(args);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { hosts: [host], args, driver });
    } else {
      group.hosts.push(host);
    }
  }
  return [...groups.values()];
}
