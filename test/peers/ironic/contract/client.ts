import { randomUUID } from "node:crypto";
import { expect } from "vitest";

export interface IronicRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Such as `/v1/nodes`. */
  readonly path: string;
  readonly body?: unknown;
  /** The version in the header; default `1.82`, null for no header. */
  readonly version?: string | null;
}

export interface IronicReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Text of an error, extracted from the JSON in the JSON. */
  readonly fault: string;
}

/** An Ironic service, either a real one or the embedded one. */
export interface IronicClient {
  /** The service's URL, without a trailing slash. */
  readonly root: string;
  /** Sends all requests in parallel. */
  sendAll(requests: readonly IronicRequest[]): Promise<readonly IronicReply[]>;
  /** Waits for a fraction of a second. */
  wait(): Promise<void>;
}

export interface ContractCase {
  readonly name: string;
  run(client: IronicClient): Promise<void>;
}

export function replyOf(status: number, headers: Readonly<Record<string, string>>, text: string): IronicReply {
  const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  const error = typeof body.error_message === "string" ? JSON.parse(body.error_message) : {};
  return { status, headers, body, fault: String(error.faultstring ?? error.description ?? "") };
}

async function ask(client: IronicClient, request: IronicRequest): Promise<IronicReply> {
  const [reply] = await client.sendAll([request]);
  if (!reply) {
    throw new Error("no answer");
  }
  return reply;
}

export function get(client: IronicClient, path: string, version?: string | null) {
  return ask(client, { method: "GET", path, ...(version === undefined ? {} : { version }) });
}

export function put(client: IronicClient, path: string, body: unknown, version = "1.82") {
  return ask(client, { method: "PUT", path, body, version });
}

export function patch(client: IronicClient, path: string, body: unknown, version = "1.82") {
  return ask(client, { method: "PATCH", path, body, version });
}

export function post(client: IronicClient, path: string, body: unknown, version: string | null = "1.82") {
  return ask(client, { method: "POST", path, body, version });
}

export const remove = (client: IronicClient, path: string) => ask(client, { method: "DELETE", path });

export const claim = (instance: string | null) => [{ op: "replace", path: "/instance_uuid", value: instance }];

export interface TestNode {
  readonly uuid: string;
  readonly name: string;
  /** `/v1/nodes/<uuid>` */
  readonly path: string;
  /** MAC address of its port. */
  readonly address: string;
}

/** Enrols a node for one case. */
export async function enrolled(
  client: IronicClient,
  attributes: Readonly<Record<string, unknown>> = {},
): Promise<TestNode> {
  const uuid = randomUUID();
  const name = `case-${uuid.slice(0, 13)}`;
  const reply = await post(client, "/v1/nodes", {
    uuid,
    name,
    driver: "fake-hardware",
    resource_class: "baremetal",
    properties: { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" },
    ...attributes,
  });
  expect(reply.status, reply.fault).toBe(201);
  const address = `52:54:${uuid.slice(0, 8).replace(/..(?!$)/g, "$&:")}`;
  const port = await post(client, "/v1/ports", { node_uuid: uuid, address });
  expect(port.status, port.fault).toBe(201);
  return { uuid, name, path: `/v1/nodes/${uuid}`, address };
}

/** Waits until a node's fields have these values. */
export async function until(client: IronicClient, node: TestNode, expected: Readonly<Record<string, unknown>>) {
  const path = `${node.path}?fields=${Object.keys(expected).join(",")}`;
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const { body } = await get(client, path);
    if (Object.entries(expected).every(([name, value]) => body[name] === value)) {
      return;
    }
    await client.wait();
  }
  expect((await get(client, path)).body).toMatchObject(expected);
}

export async function provision(client: IronicClient, node: TestNode, body: Readonly<Record<string, unknown>>) {
  const reply = await put(client, `${node.path}/states/provision`, body);
  expect(reply.status, reply.fault).toBe(202);
}

const FREE = { target_provision_state: null, reservation: null };

/** Returns an available node with its power off. */
export async function available(client: IronicClient, attributes: Readonly<Record<string, unknown>> = {}) {
  const node = await enrolled(client, attributes);
  await provision(client, node, { target: "manage" });
  await until(client, node, { provision_state: "manageable", ...FREE });
  await provision(client, node, { target: "provide" });
  await until(client, node, { provision_state: "available", ...FREE });
  expect((await put(client, `${node.path}/states/power`, { target: "power off" })).status).toBe(202);
  await until(client, node, { power_state: "power off", target_power_state: null, reservation: null });
  return node;
}

/** Returns a claimed and deployed node. */
export async function active(client: IronicClient): Promise<TestNode & { readonly instance: string }> {
  const node = await available(client);
  const instance = randomUUID();
  expect((await patch(client, node.path, claim(instance))).status).toBe(200);
  await provision(client, node, { target: "active", configdrive: CONFIG_DRIVE });
  await until(client, node, { provision_state: "active", ...FREE });
  return { ...node, instance };
}

/** An empty gzip stream in base64. */
export const CONFIG_DRIVE = "H4sIAAAAAAAAAwMAAAAAAAAAAAA=";

/** A final provision state. */
export const settled = (state: string) => ({ provision_state: state, ...FREE });
