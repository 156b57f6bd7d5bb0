import type { ServiceClient } from "../cloud/service-client.js";
import { findPort, readInactiveBindings } from "../read/read-network.js";
import type { PortBinding } from "../read/records.js";
import { ALREADY, type Outcome, outcomeOf, rejectedOutcome } from "./outcome.js";
import type { PortAction, PortState } from "./plan.js";

/** Changes a port or a binding if its state is still the one that the plan assumes. @throws {AuditError} */
export async function changePort(network: ServiceClient | null, action: PortAction): Promise<Outcome> {
  if (network === null) {
    return rejectedOutcome("the cloud has no Network service");
  }
  return action.kind === "set-port"
    ? setPort(network, action)
    : changeBinding(network, action.port, action.binding, action.kind);
}

async function setPort(
  network: ServiceClient,
  { uuid, before, after }: Extract<PortAction, { readonly kind: "set-port" }>,
): Promise<Outcome> {
  const found = await findPort(network, uuid);
  if (found === undefined) {
    return rejectedOutcome(`port ${uuid} is gone`);
  }
  if (isEqual(found, after)) {
    return ALREADY;
  }
  if (!isEqual(found, before)) {
    return rejectedOutcome(`port ${uuid} has changed since the audit`);
  }
  const { host, ...device } = after;
  const body = { port: { ...device, "binding:host_id": host } };
  return outcomeOf("the Network service", await network.request("PUT", `/v2.0/ports/${uuid}`, { body }));
}

async function changeBinding(
  network: ServiceClient,
  port: string,
  binding: PortBinding,
  kind: "create-binding" | "delete-binding",
): Promise<Outcome> {
  const exists = (await readInactiveBindings(network, port)).some(({ host }) => host === binding.host);
  if (exists === (kind === "create-binding")) {
    return ALREADY;
  }
  const path = `/v2.0/ports/${port}/bindings`;
  const response =
    kind === "create-binding"
      ? await network.request("POST", path, { body: { binding } })
      : await network.request("DELETE", `${path}/${encodeURIComponent(binding.host)}`);
  return outcomeOf("the Network service", response);
}

function isEqual(one: PortState, other: PortState): boolean {
  return one.device_id === other.device_id && one.device_owner === other.device_owner && one.host === other.host;
}
