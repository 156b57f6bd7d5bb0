import { pythonRepr } from "../../python/plain-repr.js";
import { addressOf, addressText } from "../../store/flat-subnet.js";
import { invalidInput, NetworkFault } from "../api/fault.js";

/** A network with its prefix length, without the bits of hosts; null: from anywhere. @throws {NetworkFault} 400 */
export function normalizedPrefix(value: unknown, ethertype: "IPv4" | "IPv6"): string | null {
  if (value === undefined || value === null || value === "") {
    return null;
  }
  const [, address = "", length] = /^([0-9a-fA-F.:]{2,45})(?:\/(\d{1,3}))?$/.exec(String(value)) ?? [];
  const four = addressOf(address);
  const six = four === undefined && isIpV6(address);
  const bits = four === undefined ? 128 : 32;
  const prefix = length === undefined ? bits : Number(length);
  if ((four === undefined && !six) || prefix > bits) {
    throw invalidInput(
      "remote_ip_prefix",
      `${pythonRepr(value)} is neither a valid IP address, nor is it a valid IP subnet.`,
    );
  }
  if ((ethertype === "IPv4") !== (four !== undefined)) {
    const text = `Conflicting value ethertype ${ethertype} for CIDR ${address}/${prefix}`;
    throw new NetworkFault(400, "SecurityGroupRuleParameterConflict", text);
  }
  return four === undefined
    ? `${address.toLowerCase()}/${prefix}`
    : `${addressText(networkOf(four, prefix))}/${prefix}`;
}

function networkOf(address: number, prefix: number): number {
  const size = 2 ** (32 - prefix);
  return Math.floor(address / size) * size;
}

export function isIpV6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]/`);
}
