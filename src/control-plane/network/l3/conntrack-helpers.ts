import { pythonRepr } from "../../python/repr.js";
import { and, EVERY, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { findRecord } from "../engine/records.js";
import { CONNTRACK_HELPERS, ROUTERS } from "../resources/routers.js";

/** Neutron's `allowed_conntrack_helpers`: the protocols of each helper. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  amanda: ["tcp"],
  ftp: ["tcp"],
  h323: ["udp", "tcp"],
  irc: ["tcp"],
  "netbios-ns": ["udp"],
  pptp: ["tcp"],
  sane: ["tcp"],
  sip: ["udp", "tcp"],
  snmp: ["udp"],
  tftp: ["udp"],
};

type Helper = Pick<NetworkRecord<typeof CONNTRACK_HELPERS>, "router_id" | "protocol" | "port" | "helper">;

export const CONNTRACK_HELPER_BEHAVIOUR: Behaviour<typeof CONNTRACK_HELPERS.attributes> = {
  visible: () => EVERY,

  prepareCreate(context, input) {
    // The description requires all of them.
    const helper = input as Helper;
    assertAllowed(helper);
    findRecord(context, ROUTERS, helper.router_id);
    assertUnique(context, helper);
    return {};
  },

  prepareUpdate(context, record, changes) {
    const helper = { ...record, ...changes };
    assertAllowed(helper);
    assertUnique(context, helper, record.id);
    return changes;
  },
};

/** @throws {HttpError} 400 */
function assertAllowed({ protocol, helper }: Helper): void {
  const protocols = ALLOWED[helper];
  if (protocols === undefined) {
    throw networkError(400, "ConntrackHelperNotAllowed", `Conntrack Helper ${helper} is not allowed.`);
  }
  if (!protocols.includes(protocol)) {
    throw networkError(
      400,
      "InvalidProtocolForHelper",
      `Conntrack Helper ${helper} does not support: ${protocol}. Supported protocols are: ${protocols.join(", ")}`,
    );
  }
}

/** @param id the id of a changed helper @throws {HttpError} 400 for one that exists already */
function assertUnique(context: NetworkContext, { router_id, protocol, port, helper }: Helper, id = ""): void {
  const isSame = where`router_id = ${router_id} AND protocol = ${protocol} AND port = ${port} AND helper = ${helper}`;
  if (context.table(CONNTRACK_HELPERS).has(and(isSame, where`id != ${id}`))) {
    throw badResource(
      "conntrack_helper",
      `A duplicate conntrack helper entry with same attributes already exists, conflicting values are ${pythonRepr({ router_id, protocol, port, helper })}.`,
    );
  }
}
