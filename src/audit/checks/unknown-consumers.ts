import type { Consumer } from "../read/records.js";
import { type Code, type Finding, reference, type Subject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { doubtfulRoots } from "./provider-checks.js";
import { describeAmounts, total } from "./server-allocations.js";

/** The classes that nova-manage's audit checks (spec 7.4). */
const NOVAS_CLASS = /^(VCPU|PCPU|MEMORY_MB|DISK_GB|VGPU|NET_BW_(EGR|IGR)_KILOBIT_PER_SEC|MEM_ENCRYPTION_CONTEXT)$/;
/** Consumer types of Nova's consumers; others belong to other services. */
const NOVAS_TYPES = new Set<string | null | undefined>([undefined, null, "unknown", "INSTANCE", "MIGRATION"]);

interface Suspect {
  readonly consumer: Consumer;
  readonly roots: readonly string[];
  readonly code: Extract<Code, "orphaned-consumer" | "baremetal-leftover">;
  /** Why the consumer must not be reported as orphaned; undefined if it may be. */
  readonly doubt: string | undefined;
}

/**
 * Reports consumers on compute nodes that are neither a server nor a migration. @param maxShare 0..1 of a provider's
 * consumers
 */
export function unknownConsumers(index: SnapshotIndex, maxShare: number): Finding[] {
  const suspects = findSuspects(index);
  const crowded = tooMany(index, suspects, maxShare);
  return suspects.map((suspect) => {
    const { consumer, roots, code } = suspect;
    const subject: Subject = { kind: "consumer", uuid: consumer.uuid, name: "" };
    const provider = reference(index, roots[0] ?? "");
    const holds = `has ${describeAmounts(total(consumer.held))} allocated on ${roots.map((root) => index.name(root)).join(", ")}`;
    const doubt = suspect.doubt ?? crowded(suspect);
    if (doubt !== undefined) {
      const explanation = `no known server or migration has this uuid; it ${holds}`;
      return { code: "unknown-consumer" as const, subject, provider, explanation, remedies: [], left: doubt };
    }
    return {
      code,
      subject,
      provider,
      explanation:
        code === "orphaned-consumer"
          ? `no server and no migration has this uuid; it ${holds}`
          : `no server has this uuid; it ${holds}, which blocks the bare metal node`,
      remedies: [{ kind: "clear" as const, consumer: consumer.uuid }],
      left: null,
    };
  });
}

function findSuspects(index: SnapshotIndex): Suspect[] {
  const { consumers, servers, knowsMigrationConsumers } = index.snapshot;
  const doubtful = doubtfulRoots(index);
  const deafCell = [...servers.values()].some(({ status }) => status === "UNKNOWN");
  return [...consumers.values()].flatMap((consumer): Suspect[] => {
    const { uuid, held } = consumer;
    if (servers.has(uuid) || index.migration(uuid) || !NOVAS_TYPES.has(index.record(uuid)?.type)) {
      return [];
    }
    const kinds = Object.keys(held).map((each) => ({ root: index.rootOf(each), kind: index.kindOf(each) }));
    const roots = [...new Set(kinds.filter(({ kind }) => kind === "compute").map(({ root }) => root))];
    const classes = Object.keys(total(held));
    const bare = classes.every((name) => name.startsWith("CUSTOM_"));
    if (roots.length === 0 || !(bare || classes.some((name) => NOVAS_CLASS.test(name)))) {
      return [];
    }
    const foreign = kinds.find(({ kind }) => kind !== "compute" && kind !== "sharing");
    let doubt: string | undefined;
    if (!knowsMigrationConsumers) {
      doubt = "this Compute API (below 2.59) does not return the uuids of migrations";
    } else if (deafCell) {
      doubt = "a cell is not responding, so its migrations are unknown; run the audit again when it responds";
    } else if (foreign) {
      doubt = `it also has allocations on ${index.name(foreign.root)}, which has no compute node`;
    } else if (roots.some((root) => doubtful.has(root))) {
      doubt = "the identity of the compute node is in doubt";
    } else if (bare && !roots.every((root) => isBareMetal(index, root))) {
      doubt = "it has only custom resources, and not of a bare metal node: they may belong to another service";
    }
    return [{ consumer, roots, code: bare ? "baremetal-leftover" : "orphaned-consumer", doubt }];
  });
}

function isBareMetal(index: SnapshotIndex, root: string): boolean {
  return index.node(root)?.type === "ironic" || !("VCPU" in (index.provider(root)?.inventories ?? {}));
}

/**
 * Returns the doubt about suspects that are too many at once, as after restoring the database from an old copy. A
 * single suspect is never too many.
 */
function tooMany(
  index: SnapshotIndex,
  suspects: readonly Suspect[],
  maxShare: number,
): (suspect: Suspect) => string | undefined {
  const percent = (share: number): string => `${Math.round(share * 100)}%`;
  const advice = `more than --max-share ${maxShare}: was the database restored from an old copy? If not, raise it`;
  const all = index.snapshot.consumers.size;
  const share = suspects.length / all;
  if (suspects.length > 1 && share > maxShare) {
    return () => `${percent(share)} of all consumers are unknown, ${advice}`;
  }
  return ({ roots }) => {
    for (const root of roots) {
      const here = suspects.filter((each) => each.roots.includes(root)).length;
      const ratio = here / index.holdersIn(root).length;
      if (here > 1 && ratio > maxShare) {
        return `${percent(ratio)} of the provider's consumers are unknown, ${advice}`;
      }
    }
    return undefined;
  };
}
