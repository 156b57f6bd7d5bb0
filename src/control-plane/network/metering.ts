import { pythonStr } from "../python/repr.js";
import { where } from "../resources/condition.js";
import type { Behaviour, NetworkContext } from "./engine/network-context.js";
import { networkError, notImplemented } from "./engine/network-errors.js";
import type { NetworkInput } from "./engine/network-resource.js";
import { unexpectedType } from "./engine/python-values.js";
import { findRecord } from "./engine/records.js";
import { formatAddress } from "./ip/addresses.js";
import { overlaps, parseNetwork } from "./ip/networks.js";
import { METERING_LABEL_RULES, METERING_LABELS } from "./resources/metering.js";

type RuleInput = NetworkInput<typeof METERING_LABEL_RULES>;

/** Labels cannot be changed. A policy hides those that others share, from all but administrators. */
export const METERING_LABEL_BEHAVIOUR: Behaviour<typeof METERING_LABELS.attributes> = {
  prepareUpdate: () => {
    throw notImplemented("");
  },
  visible: ({ caller }) => where`(network_metering_labels.project_id = ${caller.projectId} OR shared = 1)`,
};

export const METERING_LABEL_RULE_BEHAVIOUR: Behaviour<typeof METERING_LABEL_RULES.attributes> = {
  prepareCreate,
  prepareUpdate: () => {
    throw notImplemented("");
  },
};

const PREFIXES = ["remote_ip_prefix", "source_ip_prefix", "destination_ip_prefix"] as const;

type Prefixes = Record<(typeof PREFIXES)[number], string | null>;

function prepareCreate(context: NetworkContext, input: RuleInput): Prefixes {
  const prefixes = readPrefixes(input);
  const { metering_label_id: labelId = "", direction = "ingress", excluded = false } = input;
  const { remote_ip_prefix: remote } = prefixes;
  if (remote !== null) {
    rejectOverlap(context, { labelId, direction, excluded, remote, requested: String(input.remote_ip_prefix) });
  }
  findRecord(context, METERING_LABELS, labelId);
  return prefixes;
}

/** @throws {HttpError} 500, as Neutron does for invalid prefixes */
function readPrefixes(input: RuleInput): Prefixes {
  const [remote, source, destination] = PREFIXES.map((name) => readPrefix(name, input[name]));
  if (remote && (source || destination)) {
    throw invalid("Cannot use 'remote-ip-prefix' in conjunction with 'source-ip-prefix' or 'destination-ip-prefix'.");
  }
  if (!(remote || source || destination)) {
    throw invalid(
      "You must define at least one of the following parameters 'remote_ip_prefix', or 'source_ip_prefix' or 'destination_ip_prefix'.",
    );
  }
  return {
    remote_ip_prefix: remote ?? null,
    source_ip_prefix: source ?? null,
    destination_ip_prefix: destination ?? null,
  };
}

/** Returns a prefix as Neutron stores it: with its length, and with the bits of the host. */
function readPrefix(name: string, value: unknown): string | null {
  if (value === null || value === undefined || value === "") {
    return null;
  }
  if (typeof value !== "string") {
    throw unexpectedType();
  }
  const network = parseNetwork(value);
  if (network === undefined) {
    throw invalid(
      `${name}: ${pythonStr(value)} is invalid [${`'${value}' does not appear to be an IPv4 or IPv6 interface`}].`,
    );
  }
  return `${formatAddress({ version: network.version, value: network.address })}/${network.prefix}`;
}

const invalid = (message: string) => networkError(500, "Invalid", message);

interface RemoteRule {
  readonly labelId: string;
  readonly direction: string;
  readonly excluded: boolean;
  readonly remote: string;
  /** The prefix as the request has it. */
  readonly requested: string;
}

/** @throws {HttpError} 409 for a remote prefix that overlaps another one of the label */
function rejectOverlap(context: NetworkContext, { labelId, direction, excluded, remote, requested }: RemoteRule): void {
  const same = where`metering_label_id = ${labelId} AND direction = ${direction} AND excluded = ${excluded ? 1 : 0}
    AND remote_ip_prefix IS NOT NULL`;
  const network = parseNetwork(remote);
  for (const { remote_ip_prefix: existing } of context.table(METERING_LABEL_RULES).find(same)) {
    const other = parseNetwork(existing ?? "");
    if (network && other && network.version === other.version && overlaps(network, other)) {
      throw networkError(
        409,
        "MeteringLabelRuleOverlaps",
        `Metering label rule with remote_ip_prefix '${requested}' overlaps another.`,
      );
    }
  }
}
