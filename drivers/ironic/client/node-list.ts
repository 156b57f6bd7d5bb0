import { isRecord, means } from "./ironic-error.js";
import { type IronicNode, malformed, NODE_FIELDS, readNode } from "./ironic-node.js";
import type { CallOptions, IronicRequests } from "./requests.js";

/** Nodes a page; Ironic serves fewer when its own limit is lower. */
const PAGE = 1000;
/** Listings in all, when the node that a page begins after is deleted meanwhile. */
const LISTINGS = 3;

/** Which nodes are listed. */
export interface NodeQuery {
  /** The empty text is the default group; left out: all groups. */
  readonly conductorGroup?: string;
  readonly shard?: string;
}

/** A page's own rows, and whether there are more. */
interface Page {
  readonly nodes: readonly IronicNode[];
  readonly more: boolean;
}

/** Every node that the query is for. @throws {IronicError} */
export async function listNodes(
  requests: IronicRequests,
  query: NodeQuery,
  { signal }: CallOptions = {},
): Promise<readonly IronicNode[]> {
  for (let listing = 1; ; listing += 1) {
    try {
      return await listOnce(requests, query, signal);
    } catch (error) {
      // The marker's node is gone.
      if (!means(error, "not-found") || listing === LISTINGS) {
        throw error;
      }
    }
  }
}

/**
 * Each page is asked for with the query's own filters: Ironic's `next` carries the marker, but not shard, conductor group
 * and others, so that following it would mix in nodes of everybody.
 */
async function listOnce(
  requests: IronicRequests,
  query: NodeQuery,
  signal: AbortSignal | undefined,
): Promise<readonly IronicNode[]> {
  const found = new Map<string, IronicNode>();
  let marker: string | null = null;
  for (;;) {
    const path = pathOf(query, marker);
    const page = readPage(await requests.sendJson({ method: "GET", path, signal }), path);
    for (const node of page.nodes) {
      if (found.has(node.uuid)) {
        throw malformed(path, `node ${node.uuid} is listed twice`);
      }
      found.set(node.uuid, node);
    }
    if (!page.more) {
      return [...found.values()];
    }
    const last = page.nodes.at(-1);
    if (!last) {
      throw malformed(path, "it says that there are more nodes and lists none");
    }
    marker = last.uuid;
  }
}

function pathOf({ conductorGroup, shard }: NodeQuery, marker: string | null): string {
  const tools = [
    ...(conductorGroup === undefined ? [] : [`conductor_group=${encodeURIComponent(conductorGroup)}`]),
    ...(shard === undefined ? [] : [`shard=${encodeURIComponent(shard)}`]),
    `fields=${NODE_FIELDS}`,
    ...(marker === null ? [] : ["sort_key=id", "sort_dir=asc", `limit=${PAGE}`, `marker=${marker}`]),
  ];
  return `/v1/nodes?${tools.join("&")}`;
}

function readPage(body: unknown, path: string): Page {
  if (!isRecord(body) || !Array.isArray(body.nodes)) {
    throw malformed(path, "there is no list of nodes");
  }
  const nodes = (body.nodes as unknown[]).map((node) => readNode(node, path));
  return { nodes, more: typeof body.next === "string" && body.next !== "" };
}
