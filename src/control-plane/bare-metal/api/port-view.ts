import { IronicError, notAcceptable } from "../ironic-error.js";
import type { IronicPort } from "../port-store.js";
import { type IronicCall, links } from "./call.js";

/** Attribute → the first minor version that shows it. */
const FIELDS: Readonly<Record<string, number>> = {
  uuid: 1,
  created_at: 1,
  updated_at: 1,
  address: 1,
  extra: 1,
  internal_info: 18,
  is_smartnic: 53,
  local_link_connection: 19,
  physical_network: 34,
  pxe_enabled: 19,
  node_uuid: 1,
  portgroup_uuid: 24,
};

export const DEFAULT_PORT_FIELDS: readonly string[] = ["uuid", "address"];

/** Attributes that earlier versions reject, where others are left out. */
const REJECTED_EARLIER = ["pxe_enabled", "local_link_connection", "portgroup_uuid", "physical_network", "is_smartnic"];

/** @throws {IronicError} 406 an attribute is newer than the request's version */
export function checkPortVersion(names: readonly string[], minor: number): void {
  if (names.some((name) => REJECTED_EARLIER.includes(name) && minor < (FIELDS[name] ?? 1))) {
    throw notAcceptable();
  }
}

/** @param fields undefined: all @throws {IronicError} 400 a port has no such attribute */
export function portView(
  { root, minor }: Pick<IronicCall, "root" | "minor">,
  port: IronicPort,
  fields?: readonly string[],
): Readonly<Record<string, unknown>> {
  const unknown = fields?.filter((name) => !Object.hasOwn(FIELDS, name) && name !== "links") ?? [];
  if (unknown.length > 0) {
    throw new IronicError(400, `Field(s) "${unknown.join(", ")}" are not valid`);
  }
  const { vif, ...attributes } = port;
  const values: Readonly<Record<string, unknown>> = {
    ...attributes,
    internal_info: vif === null ? {} : { tenant_vif_port_id: vif },
    portgroup_uuid: null,
  };
  const names = Object.keys(FIELDS).filter(
    (name) => minor >= (FIELDS[name] ?? 1) && (fields === undefined || fields.includes(name)),
  );
  return {
    ...Object.fromEntries(names.map((name) => [name, values[name]])),
    links: links(root, `ports/${port.uuid}`),
  };
}
