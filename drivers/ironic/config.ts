import { compileDriverConfig, type DriverConfig, type DriverConfigSchema } from "../../src/virt/index.js";

/** The `[ironic]` section of nova.conf. */
export const ironicSchema = {
  section: "ironic",
  options: {
    endpoint_override: {
      type: "text",
      default: null,
      help: "URL of Ironic, instead of the endpoint in Identity's catalog.",
    },
    auth_type: {
      type: "text",
      default: null,
      choices: ["password", "v3password", "http_basic", "none"],
      help: "Authentication method. Unset: none.",
    },
    auth_url: { type: "text", default: null, help: "URL of Identity, for auth_type = password or v3password." },
    username: { type: "text", default: null, help: "User name, for auth_type = password or http_basic." },
    password: { type: "text", default: null, secret: true, help: "Password, for auth_type = password or http_basic." },
    project_name: { type: "text", default: null, help: "Project name of the token." },
    user_domain_name: { type: "text", default: null, help: "Domain name of the user, often Default." },
    project_domain_name: { type: "text", default: null, help: "Domain name of the project, often Default." },
    region_name: { type: "text", default: null, help: "Region of the endpoint in Identity's catalog." },
    valid_interfaces: {
      type: "list",
      default: ["internal", "public"],
      help: "Endpoint interfaces in order of preference.",
    },
    cafile: {
      type: "text",
      default: null,
      help: "PEM file with CA certificates for HTTPS. If cafile, certfile and insecure are all unset, [placement] applies.",
    },
    certfile: { type: "text", default: null, help: "PEM file with the agent's client certificate for HTTPS." },
    keyfile: {
      type: "text",
      default: null,
      help: "PEM file with the private key of certfile. Unset: the key is in certfile.",
    },
    insecure: { type: "boolean", default: false, help: "Whether the agent accepts any certificate." },
    shard: {
      type: "text",
      default: null,
      help: "Shard of the nodes that this agent manages alone.",
    },
    conductor_group: {
      type: "text",
      default: null,
      help: "Conductor group of the nodes that this agent manages. Empty: the default group. Unset: all groups.",
    },
    peer_list: { type: "list", default: [], help: "Hosts that share the nodes of conductor_group." },
    api_max_retries: {
      type: "integer",
      default: 60,
      min: 0,
      help: "Number of further polls of a node before an operation fails.",
    },
    api_retry_interval: { type: "integer", default: 2, min: 0, help: "Seconds between two polls of a node." },
    status_code_retries: {
      type: "integer",
      default: 5,
      min: 0,
      help: "Number of retries of a request to which Ironic responds with 409 or 503.",
    },
    status_code_retry_delay: {
      type: "number",
      default: 0.5,
      min: 0,
      help: "Seconds before the first of these retries, doubled after each.",
    },
  },
} as const satisfies DriverConfigSchema;

export type IronicConfig = DriverConfig<typeof ironicSchema>;

/** @throws {InvalidConfiguration} */
export function compileIronicConfig(raw: Readonly<Record<string, unknown>>): IronicConfig {
  return compileDriverConfig(ironicSchema, raw);
}
