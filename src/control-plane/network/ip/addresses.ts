/** An IPv4 or IPv6 address; `value` is its number in network byte order. */
export interface IpAddress {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** The bits of an address. */
export const ADDRESS_BITS = { 4: 32, 6: 128 } as const;

const IPV4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i;
const IPV6_GROUPS = 8;

/** Bit 57 of an address: the universal/local bit of its interface identifier (RFC 4291, appendix A). */
const UNIVERSAL_BIT = 1n << 57n;

/**
 * Returns undefined if the string is no address.
 * Strict as netaddr with `INET_PTON`: no leading zeros in IPv4, no zone in IPv6, no whitespace.
 */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.includes(":")) {
    const value = parseIpv6(text);
    return value === undefined ? undefined : { version: 6, value };
  }
  const value = parseIpv4(text);
  return value === undefined ? undefined : { version: 4, value: BigInt(value) };
}

/** Returns the canonical text, as netaddr prints it: RFC 5952, and embedded IPv4 in `::a.b.c.d` and `::ffff:a.b.c.d`. */
export function formatAddress({ version, value }: IpAddress): string {
  return version === 4 ? formatIpv4(Number(value)) : formatIpv6(value);
}

/** Returns the key of an address in the store. Keys sort as addresses do, IPv4 first. */
export function addressKey({ version, value }: IpAddress): string {
  return version === 4 ? `4${Number(value).toString(16).padStart(8, "0")}` : `6${value.toString(16).padStart(32, "0")}`;
}

/** Reverses `addressKey`. */
export function fromKey(key: string): IpAddress {
  return { version: key.startsWith("4") ? 4 : 6, value: BigInt(`0x${key.slice(1)}`) };
}

/** Whether the address is in 224.0.0.0/4 or ff00::/8. */
export function isMulticast({ version, value }: IpAddress): boolean {
  return version === 4 ? value >> 28n === 0xen : value >> 120n === 0xffn;
}

/** Whether the address is in 127.0.0.0/8 or is ::1. */
export function isLoopback({ version, value }: IpAddress): boolean {
  return version === 4 ? value >> 24n === 127n : value === 1n;
}

/** The forms of a MAC address that netaddr reads, each with the hex digits of one part. */
const MAC_FORMS: readonly (readonly [form: RegExp, digits: number])[] = [
  [/^[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){5}$/i, 2],
  [/^[0-9a-f]{1,2}(?:-[0-9a-f]{1,2}){5}$/i, 2],
  [/^[0-9a-f]{1,4}([:.-])[0-9a-f]{1,4}\1[0-9a-f]{1,4}$/i, 4],
  [/^[0-9a-f]{5,6}[:-][0-9a-f]{5,6}$/i, 6],
  [/^[0-9a-f]{11,12}$/i, 12],
];

/** Returns six lower-case parts with colons, netaddr's `mac_unix_expanded`; undefined if the string is no MAC address. */
export function normalizeMac(text: string): string | undefined {
  const digits = MAC_FORMS.find(([form]) => form.test(text))?.[1];
  if (digits === undefined) {
    return undefined;
  }
  const parts = text.toLowerCase().split(/[:.-]/);
  return joinOctets(parts.map((part) => part.padStart(digits, "0")).join(""));
}

/** Returns the SLAAC address of an interface; `network` is a /64, `mac` any form that `normalizeMac` reads. */
export function eui64Address(network: { readonly first: bigint }, mac: string): IpAddress {
  const digits = normalizeMac(mac)?.replaceAll(":", "");
  if (digits === undefined) {
    throw new TypeError(`'${mac}' is not a MAC address`);
  }
  const identifier = BigInt(`0x${digits.slice(0, 6)}fffe${digits.slice(6)}`);
  return { version: 6, value: network.first + (identifier ^ UNIVERSAL_BIT) };
}

/** Whether the interface identifier has the form of an EUI-64 made from a MAC address, as Neutron checks it. */
export function isEui64Address({ version, value }: IpAddress): boolean {
  return version === 6 && ((value >> 24n) & 0xff_ffn) === 0xff_fen;
}

function joinOctets(digits: string): string {
  return (digits.match(/../g) ?? []).join(":");
}

function parseIpv4(text: string): number | undefined {
  const parts = IPV4.exec(text)?.slice(1).map(Number);
  return parts?.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined;
}

function parseIpv6(text: string): bigint | undefined {
  const groupText = text.includes(".") ? replaceEmbeddedIpv4(text) : text;
  const sides = groupText?.split("::").map((side) => (side === "" ? [] : side.split(":")));
  if (sides === undefined || sides.length > 2) {
    return undefined;
  }
  const [left = [], right = []] = sides;
  const missing = IPV6_GROUPS - left.length - right.length;
  if (sides.length === 1 ? missing !== 0 : missing < 1) {
    return undefined;
  }
  const groups = [...left, ...Array<string>(missing).fill("0"), ...right];
  return groups.every((group) => IPV6_GROUP.test(group))
    ? BigInt(`0x${groups.map((group) => group.padStart(4, "0")).join("")}`)
    : undefined;
}

/** Rewrites `::1.2.3.4` to `::102:304`. */
function replaceEmbeddedIpv4(text: string): string | undefined {
  const start = text.lastIndexOf(":") + 1;
  const value = parseIpv4(text.slice(start));
  return value === undefined
    ? undefined
    : `${text.slice(0, start)}${(value >>> 16).toString(16)}:${(value & 0xff_ff).toString(16)}`;
}

function formatIpv4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

function formatIpv6(value: bigint): string {
  const digits = value.toString(16).padStart(32, "0");
  const groups = Array.from({ length: IPV6_GROUPS }, (_, index) => digits.slice(index * 4, index * 4 + 4));
  const zeros = findLongestZeros(groups);
  const hasIpv4 = zeros.start === 0 && (zeros.length === 6 || (zeros.length === 5 && groups[5] === "ffff"));
  const shortGroups = groups.map((group) => group.replace(/^0{1,3}/, ""));
  if (hasIpv4) {
    shortGroups.splice(6, 2, formatIpv4(Number(value & 0xffff_ffffn)));
  }
  return zeros.length < 2
    ? shortGroups.join(":")
    : `${shortGroups.slice(0, zeros.start).join(":")}::${shortGroups.slice(zeros.start + zeros.length).join(":")}`;
}

/** Finds the first of the longest runs of zero groups. */
function findLongestZeros(groups: readonly string[]): { readonly start: number; readonly length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== "0000") {
      start = index + 1;
    } else if (index + 1 - start > longest.length) {
      longest = { start, length: index + 1 - start };
    }
  }
  return longest;
}
