import type { HostRow } from "../../../conductor-client/methods/hosts.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { expandHosts, HostRangeError } from "../../../records/host-range.js";
import { isObject } from "../../../runtime/is-object.js";
import { type ScenarioStep, SERVICES } from "./scenario-schema.js";
import { wordsOf } from "./words.js";

/** What of a running cluster decides whether a scenario can be played in it. */
interface ClusterState {
  readonly hosts: readonly Pick<HostRow, "host" | "state">[];
  readonly cloud: CloudSession;
}

/**
 * Reasons why a scenario cannot be played in a running cluster, found before its first step changes something: a host that a
 * command names is missing or does not serve, or a server of a name that a step creates is there already.
 */
export async function obstacles(
  steps: readonly ScenarioStep[],
  { hosts, cloud }: ClusterState,
): Promise<readonly string[]> {
  const states = new Map(hosts.map(({ host, state }) => [host, state]));
  const missing = [...new Set(steps.flatMap(hostsOf))]
    .filter((host) => states.get(host) !== "serving")
    .map((host) => `host ${host} is ${states.get(host) ?? "not in the cluster"}, expected one that serves`);
  const created = steps.flatMap(createdServer);
  if (created.length === 0) {
    return missing;
  }
  const found = (await cloud.request("compute", "GET", "/servers?all_tenants=1", SERVICES.compute)) as {
    readonly servers: readonly { readonly name: string }[];
  };
  const names = new Set(found.servers.map(({ name }) => name));
  const taken = created
    .filter((name) => names.has(name))
    .map((name) => `there is a server ${name} already, which a step creates`);
  return [...missing, ...taken];
}

/** The hosts that a command of `host` or `fault` names. */
function hostsOf({ run = "" }: ScenarioStep): readonly string[] {
  const [, command, action, ...rest] = wordsOf(run) ?? [];
  const isOfHosts = command === "host" && ["start", "stop", "kill", "remove"].includes(action ?? "");
  const isFault = command === "fault" && (action === "set" || action === "clear");
  const named = isOfHosts ? rest.filter((word) => !word.startsWith("-")) : isFault ? rest.slice(0, 1) : [];
  try {
    return named.flatMap((text) => (text === "ironic" ? [] : expandHosts(text)));
  } catch (error) {
    if (error instanceof HostRangeError) {
      return named;
    }
    throw error;
  }
}

function createdServer({ ask, body }: ScenarioStep): readonly string[] {
  const server = ask === "POST compute /servers" && isObject(body) ? body.server : undefined;
  return isObject(server) && typeof server.name === "string" ? [server.name] : [];
}
