import type { NetworkContext } from "../engine/network-context.js";
import type { DnsAssignment } from "../resources/ports.js";

/** The domain of a Neutron that names no ports. */
const DEFAULT_DOMAIN = "openstacklocal.";

/** Whether ports have names of their own: only if the operator has configured a domain for them. */
export function hasOwnNames({ services }: NetworkContext): boolean {
  return domainOf(services.options.dnsDomain) !== DEFAULT_DOMAIN && services.options.dnsDomain !== "";
}

/** Returns the names of a port's addresses in the internal DNS. */
export function assignNames(
  { services }: NetworkContext,
  dnsName: string | null,
  addresses: readonly { readonly ip_address: string }[],
): readonly DnsAssignment[] {
  const domain = domainOf(services.options.dnsDomain);
  return addresses.map(({ ip_address: address }) => {
    const hostname = dnsName ? dnsName : `host-${address.replace(/[.:]/g, "-")}`;
    const fqdn = hostname.endsWith(".") || domain === "" ? hostname : `${hostname}.${domain}`;
    return { ip_address: address, hostname, fqdn };
  });
}

const domainOf = (option: string): string => (option === "" || option.endsWith(".") ? option : `${option}.`);
