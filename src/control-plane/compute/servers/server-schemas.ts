import type { InjectedFile, Instance, InstanceChanges } from "../../../records/index.js";
import { defined } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import {
  ADMIN_PASSWORD,
  BOOLEAN,
  boolFromText,
  DESCRIPTION,
  DISK_CONFIG,
  HOSTNAME,
  IP_ADDRESS,
  METADATA,
  NAME,
  object,
  POSITIVE_INTEGER,
  SHORT_HOSTNAME,
  TAG,
  UUID_TEXT,
} from "../api/schema-parts.js";
import {
  DEVICES,
  type DeviceRequest,
  FORMER_DEVICES,
  type FormerDevice,
  TAGGED_DEVICES,
  TYPED_DEVICES,
} from "./block-devices/device-schemas.js";

/**
 * Attributes that users set in several requests and that are only stored: access addresses, and whether partitions
 * grow.
 */
export interface UserAttributes {
  readonly accessIPv4?: string;
  readonly accessIPv6?: string;
  readonly "OS-DCF:diskConfig"?: "AUTO" | "MANUAL";
}

type StoredAttributes = Pick<Instance, "accessIpV4" | "accessIpV6" | "autoDiskConfig">;

export const USER_ATTRIBUTES: Readonly<Record<keyof UserAttributes, Schema>> = {
  accessIPv4: { type: "string", format: "ipv4" },
  accessIPv6: { type: "string", format: "ipv6" },
  "OS-DCF:diskConfig": DISK_CONFIG,
};

/** A valid body of POST /servers. Counts and flags may be strings. */
export interface CreateBody {
  readonly server: UserAttributes & {
    readonly name: string;
    readonly flavorRef: string | number;
    readonly imageRef?: string;
    readonly metadata?: Readonly<Record<string, string>>;
    readonly networks?: readonly NetworkRequest[] | "none" | "auto";
    readonly availability_zone?: string;
    readonly block_device_mapping?: readonly FormerDevice[];
    readonly block_device_mapping_v2?: readonly DeviceRequest[];
    readonly config_drive?: boolean | string;
    readonly key_name?: string;
    readonly min_count?: number | string;
    readonly max_count?: number | string;
    readonly return_reservation_id?: boolean | string;
    readonly security_groups?: readonly { readonly name?: string }[];
    readonly user_data?: string;
    readonly adminPass?: string;
    readonly description?: string | null;
    readonly tags?: readonly string[];
    readonly trusted_image_certificates?: readonly string[] | null;
    readonly host?: string;
    readonly hypervisor_hostname?: string;
    readonly hostname?: string;
    readonly personality?: readonly InjectedFile[];
  };
  readonly "os:scheduler_hints"?: SchedulerHints;
  readonly "OS-SCH-HNT:scheduler_hints"?: SchedulerHints;
}

type SchedulerHints = Readonly<Record<string, unknown>>;

interface NetworkRequest {
  readonly uuid?: string;
  readonly port?: string | null;
  readonly fixed_ip?: string;
  readonly tag?: string;
}

function network(tagged: boolean, uuid: Schema): Schema {
  return object({
    fixed_ip: IP_ADDRESS,
    port: { type: ["string", "null"], format: "uuid" },
    uuid,
    ...(tagged ? { tag: TAG } : {}),
  });
}

function networks(tagged: boolean): Schema {
  return {
    oneOf: [
      { type: "array", items: network(tagged, UUID_TEXT) },
      { type: "string", enum: ["none", "auto"] },
    ],
  };
}

/** Unknown hints are accepted, as in Nova, for custom filters of a cloud. */
const HINTS = {
  type: "object",
  properties: {
    group: UUID_TEXT,
    different_host: { oneOf: [UUID_TEXT, { type: "array", items: UUID_TEXT }] },
    same_host: { type: ["string", "array"], items: UUID_TEXT },
    query: { type: ["string", "object"] },
    target_cell: NAME,
    different_cell: { type: ["string", "array"], items: { type: "string" } },
    build_near_host_ip: { type: "string", oneOf: [{ format: "ipv4" }, { format: "ipv6" }] },
    cidr: { type: "string", pattern: "^/[0-9a-f.:]+$" },
  },
  additionalProperties: true,
};

const BASE: Readonly<Record<string, Schema>> = {
  name: NAME,
  imageRef: {
    oneOf: [
      { type: "string", format: "uuid" },
      { type: "string", maxLength: 0 },
    ],
  },
  flavorRef: { type: ["string", "integer"], minLength: 1 },
  adminPass: ADMIN_PASSWORD,
  metadata: METADATA,
  networks: { type: "array", items: network(false, { type: "string" }) },
  ...USER_ATTRIBUTES,
  availability_zone: NAME,
  block_device_mapping: FORMER_DEVICES,
  block_device_mapping_v2: DEVICES,
  config_drive: BOOLEAN,
  key_name: NAME,
  min_count: POSITIVE_INTEGER,
  max_count: POSITIVE_INTEGER,
  return_reservation_id: BOOLEAN,
  security_groups: {
    type: "array",
    items: object({ name: NAME }),
  },
  user_data: { type: "string", format: "base64", maxLength: 65_535 },
};

/** Injected files. Nova's schema requires neither property, and its API then fails if one is missing. */
export const PERSONALITY = {
  personality: {
    type: "array",
    items: object({ path: { type: "string", maxLength: 255 }, contents: { type: "string", format: "base64" } }, [
      "path",
      "contents",
    ]),
  },
};

export const TRUSTED_CERTIFICATES = {
  type: ["array", "null"],
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  items: { type: "string", minLength: 1 },
};

function body(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  const server = object(properties, required);
  return object({ server, "os:scheduler_hints": HINTS, "OS-SCH-HNT:scheduler_hints": HINTS }, ["server"]);
}

const AT_LEAST = ["name", "flavorRef"];

const SINCE_37 = [...AT_LEAST, "networks"];

const v19 = { ...BASE, description: DESCRIPTION };

const v33 = { ...v19, networks: { type: "array", items: network(true, { type: "string" }) } };

const v32 = { ...v33, block_device_mapping_v2: TAGGED_DEVICES };

const v37 = { ...v19, networks: networks(false) };

const v42 = { ...v19, networks: networks(true), block_device_mapping_v2: TAGGED_DEVICES };

const v52 = { ...v42, tags: { type: "array", items: TAG, maxItems: 50 } };

const v63 = { ...v52, trusted_image_certificates: TRUSTED_CERTIFICATES };

const v67 = { ...v63, block_device_mapping_v2: TYPED_DEVICES };

const v74 = { ...v67, host: HOSTNAME, hypervisor_hostname: HOSTNAME };

export const CREATE = schemas<CreateBody>(
  [1, body({ ...BASE, ...PERSONALITY }, AT_LEAST)],
  [19, body({ ...v19, ...PERSONALITY }, AT_LEAST)],
  [32, body({ ...v32, ...PERSONALITY }, AT_LEAST)],
  // Nova lost the tags of block devices after 2.32, and restored them in 2.42.
  [33, body({ ...v33, ...PERSONALITY }, AT_LEAST)],
  [37, body({ ...v37, ...PERSONALITY }, SINCE_37)],
  [42, body({ ...v42, ...PERSONALITY }, SINCE_37)],
  [52, body({ ...v52, ...PERSONALITY }, SINCE_37)],
  [57, body(v52, SINCE_37)],
  [63, body(v63, SINCE_37)],
  [67, body(v67, SINCE_37)],
  [74, body(v74, SINCE_37)],
  [90, body({ ...v74, hostname: SHORT_HOSTNAME }, SINCE_37)],
  [94, body({ ...v74, hostname: HOSTNAME }, SINCE_37)],
);

/** Returns the changes of an instance that the attributes require. */
export function attributeChanges(attributes: UserAttributes): Pick<InstanceChanges, keyof StoredAttributes> {
  const { accessIPv4, accessIPv6, "OS-DCF:diskConfig": disk } = attributes;
  return defined({
    accessIpV4: accessIPv4,
    accessIpV6: accessIPv6 === undefined ? undefined : usualIpV6(accessIPv6),
    autoDiskConfig: disk === undefined ? undefined : disk === "AUTO",
  });
}

export function toUserAttributes({
  accessIpV4,
  accessIpV6,
  autoDiskConfig,
}: StoredAttributes): Required<UserAttributes> {
  return {
    accessIPv4: accessIpV4 ?? "",
    accessIPv6: accessIpV6 ?? "",
    "OS-DCF:diskConfig": autoDiskConfig ? "AUTO" : "MANUAL",
  };
}

/** Returns the request's disk configuration, else the image's. @throws {HttpError} 400 */
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

/** Formats an address as `inet_ntop` does: shortest form, lower case, an embedded IPv4 address in dotted notation. */
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
