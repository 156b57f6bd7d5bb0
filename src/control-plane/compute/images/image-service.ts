import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, Fault, notFound } from "../api/fault.js";

/** An image as the Image service shows it. */
export type ImageDocument = Readonly<Record<string, unknown>> & { readonly id: string };

interface ImageRequest {
  readonly method: "GET" | "PATCH" | "DELETE";
  /** Below `/v2/images`. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
}

/**
 * Asks the Image service for the caller, with the caller's token: its policies hold. @returns the body, as JSON
 * @throws {Fault} 400, 403, 404
 */
export async function askImages({ imageService }: ComputeDeps, call: Call, request: ImageRequest): Promise<unknown> {
  const { method, path, query, body } = request;
  const { headers } = call.request;
  const response = await imageService({
    method,
    path: `/v2/images${path}`,
    query: query?.toString() ?? "",
    headers: {
      "x-auth-token": headers["x-auth-token"] ?? "",
      "content-type": "application/openstack-images-v2.1-json-patch",
    },
    body: body === undefined ? "" : JSON.stringify(body),
    baseUrl: imageRoot(call),
  });
  if (response.status < 300) {
    return response.body === "" ? undefined : JSON.parse(response.body);
  }
  if (response.status === 404) {
    throw notFound("Image not found.");
  }
  if (response.status === 403) {
    throw new Fault(
      403,
      method === "DELETE" ? "You are not allowed to delete the image." : "Not authorized for image.",
    );
  }
  if (response.status < 500) {
    throw badRequest(/"message": ?"([^"<]*)/.exec(response.body)?.[1]?.trim() ?? "The Image service refuses this.");
  }
  throw new Error(`the Image service answers ${response.status} to ${method} ${path}: ${response.body}`);
}

/** Where the Image service is, as the client sees it. */
export function imageRoot({ request }: Call): string {
  return request.baseUrl.replace(/\/compute$/, "/image");
}

/** The image of the path. @throws {Fault} 404 */
export async function findImage(deps: ComputeDeps, call: Call): Promise<ImageDocument> {
  return (await askImages(deps, call, { method: "GET", path: pathOf(call) })) as ImageDocument;
}

export const pathOf = (call: Call): string => `/${encodeURIComponent(call.param("id"))}`;
