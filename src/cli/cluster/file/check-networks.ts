import type { ClusterFile } from "./cluster-file.js";
import type { Problem, TextPart } from "./yaml-file.js";

/** Reports repeated names of what belongs to a project, of subnets and of addresses, and subnets without a range. */
export function checkNetworks(file: ClusterFile, text: TextPart, problems: Problem[]): void {
  const complain = (path: readonly (string | number)[], message: string) => {
    problems.push({ ...text.place(path), text: message });
  };
  for (const key of ["networks", "routers", "security_groups", "volumes"] as const) {
    const known = new Set<string>();
    for (const [at, { name, project = "admin" }] of (file[key] ?? []).entries()) {
      if (known.has(`${project}/${name}`)) {
        complain([key, at, "name"], `name ${name} is used twice in project ${project}, expected unique names`);
      }
      known.add(`${project}/${name}`);
    }
  }
  const addresses = (file.floating_ips ?? []).map(({ address }) => address);
  for (const [at, address] of addresses.entries()) {
    if (addresses.indexOf(address) < at) {
      complain(["floating_ips", at, "address"], `address ${address} is used twice, expected unique addresses`);
    }
  }
  for (const [at, { subnets = [] }] of (file.networks ?? []).entries()) {
    const names = subnets.map(({ name }) => name);
    for (const [index, { name, cidr, subnet_pool: pool }] of subnets.entries()) {
      const path = ["networks", at, "subnets", index];
      if (names.indexOf(name) < index) {
        complain([...path, "name"], `name ${name} is used twice in the network, expected unique names`);
      }
      if (cidr === undefined && pool === undefined) {
        complain(path, `subnet ${name} has neither cidr nor subnet_pool, expected one of the two`);
      }
    }
  }
}
