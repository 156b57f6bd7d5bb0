import type { NetworkResource } from "../../network/engine/network-resource.js";
import { readCreate } from "../../network/engine/validate-attributes.js";
import { formatNetwork, parseNetwork } from "../../network/ip/networks.js";
import { sortPools } from "../../network/ipam/allocation-pools.js";
import { SUBNETPOOLS } from "../../network/resources/subnet-pools.js";
import { SUBNETS } from "../../network/resources/subnets.js";
import { where } from "../../resources/condition.js";
import { withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { SubnetText } from "./network-seed-schema.js";
import { detachSubnet } from "./router-interfaces.js";
import { differences, only, required, type SeedEdit, type View } from "./seed-edit.js";

/** Fields that cannot change: the subnet is deleted and created again. */
const RANGE = ["cidr", "subnet_pool", "ipv6_ra_mode", "ipv6_address_mode"];

const DEFAULTS = { description: "", enable_dhcp: true } as const satisfies Partial<SubnetText>;

/** The network whose subnets are changed. */
interface SubnetPlace {
  readonly network: View;
  /** Whether the network is new, so that its own change names the subnets. */
  readonly isNew: boolean;
  /** `networks.0.subnets` */
  readonly key: string;
}

/** Makes the subnets of a network those of the file. */
export function putSubnets(edit: SeedEdit, { network, isNew, key }: SubnetPlace, desired: readonly SubnetText[]): void {
  const label = (name: unknown) => `subnet ${name} of network ${network.name}`;
  const before = edit.views(SUBNETS, where`network_id = ${network.id}`);
  const names = new Set<unknown>(desired.map(({ name }) => name));
  for (const subnet of before.filter(({ name }) => !names.has(name))) {
    forKey(`${key}: ${label(subnet.name)} is not in the file, but cannot be deleted`, () => {
      removeSubnet(edit, subnet);
    });
    edit.report("-", label(subnet.name), true);
  }
  for (const [index, text] of desired.entries()) {
    forKey(`${key}.${index} (${text.name})`, () => {
      const found = only(
        before.filter(({ name }) => name === text.name),
        "the network has several subnets with this name; rename the others",
      );
      if (found !== undefined) {
        changeSubnet(edit, { network, label: label(text.name) }, found, text);
        return;
      }
      createSubnet(edit, network, text);
      if (!isNew) {
        edit.report("+", label(text.name));
      }
    });
  }
}

function changeSubnet(
  edit: SeedEdit,
  { network, label }: { readonly network: View; readonly label: string },
  found: View,
  text: SubnetText,
): void {
  const { subnet_pool: pool, prefix_length: _size, ip_version: _version, ...others } = text;
  const fields = { ...DEFAULTS, ...canonical(others), ...(pool !== undefined && { subnet_pool: pool }) };
  const { changed, descriptions } = differences({ ...found, subnet_pool: poolName(edit, found) }, fields);
  if (descriptions.length === 0) {
    return;
  }
  const isOther = Object.keys(changed).some((name) => RANGE.includes(name));
  if (isOther) {
    removeSubnet(edit, found);
    createSubnet(edit, network, text);
  } else {
    edit.records.send("PUT", `subnets/${found.id}`, { subnet: changed });
  }
  edit.report("~", `${label}: ${descriptions.join(", ")}`, isOther);
}

/** Converts values as the Network API does, so that they can be compared. @throws {HttpError} */
function canonical(fields: Partial<SubnetText>): Partial<SubnetText> {
  const body = { ...fields, network_id: "00000000-0000-4000-8000-000000000000", ip_version: 4 };
  const read = readCreate(SUBNETS as unknown as NetworkResource, body) as Partial<SubnetText>;
  const { allocation_pools: pools, cidr = "" } = read;
  const range = parseNetwork(cidr);
  const text = {
    ...read,
    ...(range !== undefined && { cidr: formatNetwork(range) }),
    ...(pools !== undefined && { allocation_pools: [...sortPools(pools)] }),
  };
  return Object.fromEntries(Object.keys(fields).map((name) => [name, Reflect.get(text, name)]));
}

function createSubnet(edit: SeedEdit, network: View, text: SubnetText): void {
  const { subnet_pool: name, prefix_length: prefixlen, ip_version: version, ...fields } = text;
  const pool = name === undefined ? undefined : findPool(edit, name);
  edit.records.send("POST", "subnets", {
    subnet: {
      ...DEFAULTS,
      ...fields,
      network_id: network.id,
      project_id: network.project_id,
      ip_version: version ?? pool?.ip_version ?? parseNetwork(text.cidr ?? "")?.version ?? 4,
      ...(pool && { subnetpool_id: pool.id }),
      ...(prefixlen !== undefined && { prefixlen }),
    },
  });
}

/** @throws {HttpError} */
function findPool(edit: SeedEdit, name: string): View {
  const pools = edit.views(SUBNETPOOLS, where`name = ${name}`);
  return required(only(pools, `there are several subnet pools ${name}`), `there is no subnet pool ${name}`);
}

function poolName(edit: SeedEdit, { subnetpool_id: id }: View): unknown {
  return typeof id === "string" ? edit.views(SUBNETPOOLS, where`id = ${id}`)[0]?.name : undefined;
}

function removeSubnet(edit: SeedEdit, { id }: View): void {
  detachSubnet(edit, id);
  edit.records.send("DELETE", `subnets/${id}`);
}

export function exportSubnet(edit: SeedEdit, view: View): SubnetText {
  const { cidr, gateway_ip, allocation_pools, dns_nameservers, host_routes, enable_dhcp, description } = view;
  const text = {
    cidr,
    subnet_pool: poolName(edit, view),
    gateway_ip,
    allocation_pools,
    dns_nameservers,
    host_routes,
    enable_dhcp,
    ipv6_ra_mode: view.ipv6_ra_mode ?? undefined,
    ipv6_address_mode: view.ipv6_address_mode ?? undefined,
    description,
  };
  const defaults = { ...DEFAULTS, dns_nameservers: [], host_routes: [] };
  return { name: String(view.name), ...(withoutDefaults(text, defaults) as Omit<SubnetText, "name">) };
}
