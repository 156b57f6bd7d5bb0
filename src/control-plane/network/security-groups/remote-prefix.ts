import { pythonRepr } from "../../python/plain-repr.js";
import { addressOf, addressText } from "../../store/flat-subnet.js";
import { invalidInput, NetworkFault } from "../api/fault.js";

/** An address with its prefix length, the bits of hosts included; null: from anywhere. @throws {NetworkFault} 400 */
export function remotePrefixOf(value: unknown, ethertype: "IPv4" | "IPv6"): string | null {
  if (value === undefined || value === null || value === "") {
    return null;
  }
  const [, address = "", length] = /^([0-9a-fA-F.:]{2,45})(?:\/(\d{1,3}))?$/.exec(String(value)) ?? [];
  const four = addressOf(address) !== undefined;
  const bits = four ? 32 : 128;
  const prefix = length === undefined ? bits : Number(length);
  if (!(four || isIpV6(address)) || prefix > bits) {
    throw invalidInput(
      "remote_ip_prefix",
      `${pythonRepr(value)} is neither a valid IP address, nor is it a valid IP subnet.`,
    );
  }
  if ((ethertype === "IPv4") !== four) {
    const text = `Conflicting value ethertype ${ethertype} for CIDR ${address}/${prefix}`;
    throw new NetworkFault(400, "SecurityGroupRuleParameterConflict", text);
  }
  return `${four ? address : shortIpV6(address)}/${prefix}`;
}

/** `10.2.3.124/24` is in `10.2.3.0/24`. */
export function withoutHostBits(remotePrefix: string): string {
  const [address = "", length = ""] = remotePrefix.split("/");
  const four = addressOf(address);
  const network =
    four === undefined
      ? ipV6Text(masked(ipV6Bits(address), 128 - Number(length)))
      : addressText(Number(masked(BigInt(four), 32 - Number(length))));
  return `${network}/${length}`;
}

export function isIpV6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]/`);
}

/** URLs write the longest run of zeros as `::`, as Neutron does. */
function shortIpV6(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function masked(address: bigint, hostBits: number): bigint {
  return (address >> BigInt(hostBits)) << BigInt(hostBits);
}

function ipV6Bits(address: string): bigint {
  const [head = [], tail = []] = shortIpV6(address)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function ipV6Text(bits: bigint): string {
  const digits = bits.toString(16).padStart(32, "0");
  return shortIpV6((digits.match(/.{4}/g) ?? []).join(":"));
}
