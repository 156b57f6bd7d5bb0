import { compileDriverConfig, type DriverConfig, type DriverConfigSchema } from "../../src/virt/index.js";

/** The `[ironic]` section of nova.conf. */
export const ironicSchema = {
  section: "ironic",
  options: {
    endpoint_override: {
      type: "text",
      default: null,
      help: "Address of Ironic, instead of the one in Identity's catalog.",
    },
    auth_type: {
      type: "text",
      default: null,
      choices: ["password", "v3password", "http_basic", "none"],
      help: "How the agent authenticates; unset as none.",
    },
    auth_url: { type: "text", default: null, help: "Address of Identity, for auth_type = password or v3password." },
    username: { type: "text", default: null, help: "User, for auth_type = password or http_basic." },
    password: { type: "text", default: null, secret: true, help: "Password, for auth_type = password or http_basic." },
    project_name: { type: "text", default: null, help: "Project that the token is for." },
    user_domain_name: { type: "text", default: null, help: "Domain of the user; often Default." },
    project_domain_name: { type: "text", default: null, help: "Domain of the project; often Default." },
    region_name: { type: "text", default: null, help: "Region whose endpoint is taken from the catalog." },
    valid_interfaces: {
      type: "list",
      default: ["internal", "public"],
      help: "Interfaces of endpoints, the first that is there is taken.",
    },
    cafile: {
      type: "text",
      default: null,
      help: "Authorities that HTTPS is checked against, in PEM; unset, with the three below: as in [placement].",
    },
    certfile: { type: "text", default: null, help: "This agent's certificate for HTTPS, in PEM." },
    keyfile: { type: "text", default: null, help: "Its key." },
    insecure: { type: "boolean", default: false, help: "Accept any certificate." },
    shard: {
      type: "text",
      default: null,
      help: "Manage the nodes of this shard, alone.",
    },
    conductor_group: {
      type: "text",
      default: null,
      help: "Manage only nodes of this conductor group. Empty: those of the default group.",
    },
    peer_list: { type: "list", default: [], help: "Hosts that share the nodes of the conductor group." },
    api_max_retries: {
      type: "integer",
      default: 60,
      min: 0,
      help: "Polls of a node after the first before an operation has failed.",
    },
    api_retry_interval: { type: "integer", default: 2, min: 0, help: "Seconds between two polls." },
    status_code_retries: {
      type: "integer",
      default: 5,
      min: 0,
      help: "Further tries of a request that Ironic answers with 409 or 503.",
    },
    status_code_retry_delay: {
      type: "number",
      default: 0.5,
      min: 0,
      help: "Seconds before the first of them; doubled each time.",
    },
  },
} as const satisfies DriverConfigSchema;

export type IronicConfig = DriverConfig<typeof ironicSchema>;

/** @throws {InvalidConfiguration} */
export function compileIronicConfig(raw: Readonly<Record<string, unknown>>): IronicConfig {
  return compileDriverConfig(ironicSchema, raw);
}
