import { randomUUID } from "node:crypto";
import { expect } from "vitest";

/** An administrator, and members of two other projects. */
export type Who = "admin" | "demo" | "alt";

export interface GlanceRequest {
  readonly who: Who;
  readonly method: string;
  /** Such as `/v2/images`. */
  readonly path: string;
  /** JSON. */
  readonly body?: unknown;
  /** Sent as octets. */
  readonly bytes?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface GlanceReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** A Glance service, either a real one or the embedded one. */
export interface GlanceService {
  readonly projects: Readonly<Record<Who, string>>;
  send(request: GlanceRequest): Promise<GlanceReply>;
}

export interface ContractCase {
  readonly name: string;
  run(client: GlanceService): Promise<void>;
}

type Options = Omit<GlanceRequest, "who" | "method" | "path">;
type Body = Readonly<Record<string, unknown>>;

/** Returns the body of a response, and checks its status. */
export async function expectStatus(
  client: GlanceService,
  status: number,
  [who, method, path]: readonly [Who, string, string],
  options: Options = {},
): Promise<Body> {
  const headers = { accept: "application/json", ...options.headers };
  const reply = await client.send({ who, method, path, ...options, headers });
  expect(reply.status, `${who} ${method} ${path}: ${reply.text}`).toBe(status);
  return reply.text.startsWith("{") ? (JSON.parse(reply.text) as Body) : {};
}

/** Checks that the request is rejected with a message that contains these words. */
export async function expectFault(
  client: GlanceService,
  status: number,
  words: string,
  request: readonly [Who, string, string],
  options: Options = {},
): Promise<void> {
  const { message } = await expectStatus(client, status, request, options);
  const plain = String(message).replaceAll("&#x27;", "'").replaceAll("&quot;", '"');
  expect(plain, request.join(" ")).toContain(words);
}

/** Creates an image and returns its id. */
export async function newImage(client: GlanceService, who: Who, more: Body = {}): Promise<string> {
  const body = { name: `case-${randomUUID()}`, disk_format: "raw", container_format: "bare", ...more };
  return String((await expectStatus(client, 201, [who, "POST", "/v2/images"], { body })).id);
}

/** Creates an image with bytes and returns its id. */
export async function createImageWithData(client: GlanceService, who: Who, more: Body = {}): Promise<string> {
  const id = await newImage(client, who, more);
  await expectStatus(client, 204, [who, "PUT", `/v2/images/${id}/file`], { bytes: "some bytes" });
  return id;
}

/** @param draft minor of the patch's content type */
export function patchOf(changes: unknown, draft: 0 | 1 = 1): Options {
  return { body: changes, headers: { "content-type": `application/openstack-images-v2.${draft}-json-patch` } };
}
