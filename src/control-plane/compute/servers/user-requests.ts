import type { Instance, InstanceChanges } from "../../../records/index.js";
import { badRequest } from "../api/fault.js";
import { boolFromText, DISK_CONFIG } from "../api/schema-parts.js";
import type { Schema } from "../api/validate.js";

/** What users say of a server in several requests, and what nobody judges: addresses, and whether partitions grow. */
export interface UserAttributes {
  readonly accessIPv4?: string;
  readonly accessIPv6?: string;
  readonly "OS-DCF:diskConfig"?: "AUTO" | "MANUAL";
}

export const USER_ATTRIBUTES: Readonly<Record<keyof UserAttributes, Schema>> = {
  accessIPv4: { type: "string", format: "ipv4" },
  accessIPv6: { type: "string", format: "ipv6" },
  "OS-DCF:diskConfig": DISK_CONFIG,
};

type Wished = Pick<Instance, "accessIpV4" | "accessIpV6" | "autoDiskConfig">;

/** What a request that says this writes. */
export function wishedChanges(attributes: UserAttributes): Pick<InstanceChanges, keyof Wished> {
  const { accessIPv4, accessIPv6, "OS-DCF:diskConfig": disk } = attributes;
  return {
    ...(accessIPv4 === undefined ? {} : { accessIpV4: accessIPv4 }),
    ...(accessIPv6 === undefined ? {} : { accessIpV6: usualIpV6(accessIPv6) }),
    ...(disk === undefined ? {} : { autoDiskConfig: disk === "AUTO" }),
  };
}

export function toUserAttributes({ accessIpV4, accessIpV6, autoDiskConfig }: Wished): Required<UserAttributes> {
  return {
    accessIPv4: accessIpV4 ?? "",
    accessIPv6: accessIpV6 ?? "",
    "OS-DCF:diskConfig": autoDiskConfig ? "AUTO" : "MANUAL",
  };
}

/** A server that is made of an image does what the request says, else what the image does. @throws {Fault} 400 */
export function diskConfigWith(
  image: Readonly<Record<string, string>>,
  { "OS-DCF:diskConfig": disk }: UserAttributes,
  imageRef: string,
): Pick<Instance, "autoDiskConfig"> {
  const ofImage = image.auto_disk_config;
  if (disk === "AUTO" && ofImage === "Disabled") {
    throw badRequest(`Requested image ${imageRef} has automatic disk resize disabled.`);
  }
  return { autoDiskConfig: disk === undefined ? boolFromText(ofImage) : disk === "AUTO" };
}

/** As `inet_ntop` writes the address: shortest, in lower case, an embedded IPv4 address in dots. */
function usualIpV6(address: string): string {
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const embedded = /^::(ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (!embedded) {
    return short;
  }
  const [, prefix = "", high = "", low = ""] = embedded;
  const bytes = [high, low].flatMap((word) => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 255]);
  return `::${prefix}${bytes.join(".")}`;
}
