import { portsOfRouters, ROUTER_INTERFACE } from "../../network/l3/router-ports.js";
import { ROUTERS } from "../../network/resources/routers.js";
import { SUBNETS } from "../../network/resources/subnets.js";
import { where } from "../../resources/condition.js";
import { only, required, type SeedEdit } from "./seed-edit.js";

/** Returns the ids of the subnets that a router has an interface on. */
export function connectedSubnets({ records }: SeedEdit, routerId: string): readonly string[] {
  const ports = portsOfRouters(records.context, [routerId], [ROUTER_INTERFACE]);
  return ports.flatMap(({ fixedIps }) => fixedIps.map(({ subnet_id: id }) => id));
}

export function addInterface({ records }: SeedEdit, routerId: string, subnetId: string): void {
  records.send("PUT", `routers/${routerId}/add_router_interface`, { subnet_id: subnetId });
}

export function removeInterface({ records }: SeedEdit, routerId: string, subnetId: string): void {
  records.send("PUT", `routers/${routerId}/remove_router_interface`, { subnet_id: subnetId });
}

/** Disconnects the routers of the file from a subnet that will be deleted. Those of the new file are connected again. */
export function detachSubnet(edit: SeedEdit, subnetId: string): void {
  if (!edit.hasRouters) {
    return;
  }
  for (const { id } of edit.fromFile(ROUTERS)) {
    if (connectedSubnets(edit, id).includes(subnetId)) {
      removeInterface(edit, id, subnetId);
    }
  }
}

/**
 * Returns the subnet with a name; one of the router's project comes first. Undefined if there is none yet.
 * @param path `subnet`, or `network/subnet`
 * @throws {HttpError} for several
 */
export function findSubnet(edit: SeedEdit, path: string, projectId: string): string | undefined {
  const [network, name] = path.includes("/") ? path.split("/", 2) : [undefined, path];
  const subnets = edit.views(
    SUBNETS,
    where`name = ${name ?? ""} AND (${network ?? null} IS NULL
      OR network_id IN (SELECT id FROM network_networks WHERE name = ${network ?? null}))`,
  );
  const own = subnets.filter(({ project_id: owner }) => owner === projectId);
  const found = own.length === 0 ? subnets : own;
  return only(found, `there are several subnets ${path}; name the network: network/subnet`)?.id;
}

/** Returns the names of subnets, with that of the network if the name alone is ambiguous. */
export function subnetPaths(edit: SeedEdit, ids: readonly string[], projectId: string): readonly string[] {
  const { context } = edit.records;
  return context
    .table(SUBNETS)
    .withIds(ids)
    .map(({ name, network_id: networkId }) => {
      const names = edit.views(SUBNETS, where`name = ${name}`);
      const own = names.filter(({ project_id: owner }) => owner === projectId);
      const isUnique = (own.length === 0 ? names : own).length === 1;
      return isUnique
        ? name
        : `${context.sql.get("SELECT name FROM network_networks WHERE id = ?", networkId)?.[0]}/${name}`;
    });
}

/** Returns the external network with a name. @throws {HttpError} for none or several */
export function findExternalNetwork(edit: SeedEdit, name: string): string {
  const ids = edit.records.context.sql.strings(
    "SELECT id FROM network_networks WHERE name = ? AND router_external = 1",
    name,
  );
  const id = only(ids, `there are several external networks ${name}; rename the others`);
  return required(id, `there is no external network ${name}`);
}

/** Returns the name of a network; undefined for null. */
export function networkName({ records }: SeedEdit, id: unknown): string | undefined {
  const [name] = records.context.sql.get("SELECT name FROM network_networks WHERE id = ?", String(id)) ?? [];
  return name === undefined ? undefined : String(name);
}
