import { ADDRESS_BITS, formatAddress, type IpAddress, parseAddress } from "./addresses.js";

/** An IPv4 or IPv6 network. `first` is its network address: the bits behind the prefix are zero. */
export interface IpNetwork {
  readonly version: 4 | 6;
  readonly first: bigint;
  readonly prefix: number;
}

/** A network as a user wrote it, with the address in front of the slash. */
export interface ParsedNetwork extends IpNetwork {
  readonly address: bigint;
}

/**
 * Returns undefined if the string is no network. As netaddr's `IPNetwork`: `10.0.0.5/24`, `10.0.0.0/255.255.255.0`,
 * `10.0.0.0/0.0.0.255`, and a bare address, whose prefix is /32 or /128.
 */
export function parseNetwork(text: string): ParsedNetwork | undefined {
  const slash = text.indexOf("/");
  const address = parseAddress(slash === -1 ? text : text.slice(0, slash));
  if (address === undefined) {
    return undefined;
  }
  const prefix = slash === -1 ? ADDRESS_BITS[address.version] : parsePrefix(text.slice(slash + 1), address.version);
  return prefix === undefined ? undefined : { ...networkOf(address, prefix), address: address.value };
}

/** Returns the network of a prefix length that has the address. */
export function networkOf({ version, value }: IpAddress, prefix: number): IpNetwork {
  const hostBits = BigInt(ADDRESS_BITS[version] - prefix);
  return { version, first: (value >> hostBits) << hostBits, prefix };
}

/** Returns the CIDR, for example `10.0.0.0/24`. */
export function formatNetwork({ version, first, prefix }: IpNetwork): string {
  return `${formatAddress({ version, value: first })}/${prefix}`;
}

/** Returns the number of addresses, with network and broadcast address. */
export function size({ version, prefix }: IpNetwork): bigint {
  return 1n << BigInt(ADDRESS_BITS[version] - prefix);
}

/** Returns the last address of the network. */
export function last(network: IpNetwork): bigint {
  return network.first + size(network) - 1n;
}

/** Returns the broadcast address as netaddr does: also of IPv6, but not of a network of one or two addresses. */
function broadcast(network: IpNetwork): IpAddress | undefined {
  return size(network) <= 2n ? undefined : { version: network.version, value: last(network) };
}

export function isNetworkAddress(network: IpNetwork, { version, value }: IpAddress): boolean {
  return network.version === version && network.first === value;
}

/** Whether the address is the broadcast address. */
export function isBroadcast(network: IpNetwork, { version, value }: IpAddress): boolean {
  return network.version === version && broadcast(network)?.value === value;
}

export function contains(network: IpNetwork, { version, value }: IpAddress): boolean {
  return network.version === version && value >= network.first && value <= last(network);
}

/** Whether all addresses of `inner` are in `outer`. */
export function spans(outer: IpNetwork, inner: IpNetwork): boolean {
  return outer.version === inner.version && inner.first >= outer.first && last(inner) <= last(outer);
}

export function overlaps(a: IpNetwork, b: IpNetwork): boolean {
  return a.version === b.version && a.first <= last(b) && b.first <= last(a);
}

function parsePrefix(text: string, version: 4 | 6): number | undefined {
  if (/^\d+$/.test(text)) {
    const prefix = Number(text);
    return prefix <= ADDRESS_BITS[version] ? prefix : undefined;
  }
  const mask = parseAddress(text);
  return mask?.version === version ? parseMask(mask.value, ADDRESS_BITS[version]) : undefined;
}

/** Reads a netmask (ones, then zeros) or a host mask (zeros, then ones). */
function parseMask(mask: bigint, bits: number): number | undefined {
  const inverse = (1n << BigInt(bits)) - 1n - mask;
  if (hasOnlyTrailingOnes(inverse)) {
    return bits - bitLength(inverse);
  }
  return hasOnlyTrailingOnes(mask) ? bits - bitLength(mask) : undefined;
}

function hasOnlyTrailingOnes(value: bigint): boolean {
  return (value & (value + 1n)) === 0n;
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}
