import { isObject } from "../../../runtime/collections.js";
import { badRequest, notFound } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { routes } from "../../http/router.js";
import { STANDARD_TRAITS } from "../../placement/standard-traits.js";
import { pythonRepr } from "../../python/repr.js";
import type { IronicNode } from "../node-store.js";
import type { IronicRoute } from "./call.js";
import { detailArgument } from "./list-ports.js";
import { type ApiParts, nodeOf } from "./node-routes.js";

/** Creates the routes of VIFs and traits, and of port groups and volumes, whose lists are always empty. */
export function attachmentRoutes(parts: ApiParts): readonly IronicRoute[] {
  const { nodes, ports, conductor } = parts;
  return [
    ...traitRoutes(parts),
    ...routes<IronicRoute>({
      "GET /nodes/:node/vifs": {
        from: 28,
        handle: (call) => ({
          body: { vifs: ports.of(nodeOf(nodes, call).uuid).flatMap(({ vif }) => (vif === null ? [] : [{ id: vif }])) },
        }),
      },
      "POST /nodes/:node/vifs": {
        from: 28,
        handle: async (call) => {
          await conductor.attachVif(nodeOf(nodes, call).uuid, vifOf(call.body));
          return { status: 204 };
        },
      },
      "DELETE /nodes/:node/vifs/:vif": {
        from: 28,
        handle: async (call) => {
          await conductor.detachVif(nodeOf(nodes, call).uuid, call.params.vif ?? "");
          return { status: 204 };
        },
      },
      "PUT /nodes/:node/management/inject_nmi": {
        from: 29,
        handle: async (call) => {
          await conductor.injectNmi(nodeOf(nodes, call).uuid);
          return { status: 204 };
        },
      },
      "GET /portgroups": {
        from: 23,
        handle: (call) => {
          detailArgument(call);
          return none(parts, call.query, "portgroups");
        },
      },
      "GET /portgroups/detail": { from: 23, handle: ({ query }) => none(parts, query, "portgroups") },
      "GET /volume/targets": { from: 32, handle: ({ query }) => none(parts, query, "targets") },
      "GET /volume/connectors": { from: 32, handle: ({ query }) => none(parts, query, "connectors") },
    }),
  ];
}

function traitRoutes({ nodes, conductor }: ApiParts): readonly IronicRoute[] {
  return routes<IronicRoute>(
    {
      "GET /nodes/:node/traits": (call) => ({ body: { traits: nodeOf(nodes, call).traits } }),
      "PUT /nodes/:node/traits": async (call) => {
        const traits = traitsOf(call.body);
        await conductor.setTraits(nodeOf(nodes, call).uuid, () => [...new Set(traits)]);
        return { status: 204 };
      },
      "PUT /nodes/:node/traits/:trait": async (call) => {
        const { trait = "" } = call.params;
        checkTrait(trait, "trait");
        await conductor.setTraits(nodeOf(nodes, call).uuid, (before) => [...new Set([...before, trait])]);
        return { status: 204, location: `${call.root}/v1/nodes/${call.params.node}/traits/${trait}` };
      },
      "DELETE /nodes/:node/traits": async (call) => {
        await conductor.setTraits(nodeOf(nodes, call).uuid, () => []);
        return { status: 204 };
      },
      "DELETE /nodes/:node/traits/:trait": async (call) => {
        const { trait = "" } = call.params;
        const { uuid } = nodeOf(nodes, call);
        await conductor.setTraits(uuid, (before) => {
          if (!before.includes(trait)) {
            throw notFound(`Node ${uuid} doesn't have a trait '${trait}'`);
          }
          return before.filter((name) => name !== trait);
        });
        return { status: 204 };
      },
    },
    { from: 37 },
  );
}

const STANDARD = new Set<string>(STANDARD_TRAITS);
const CUSTOM = /^CUSTOM_[A-Z0-9_]+$/;

function traitsOf(body: unknown): readonly string[] {
  const wrong = (text: string) => badRequest(`Schema error for body: ${text}`);
  if (!isObject(body)) {
    throw wrong(`${pythonRepr(body)} is not of type 'object'`);
  }
  const unknown = Object.keys(body).find((name) => name !== "traits");
  if (unknown !== undefined) {
    throw wrong(`Additional properties are not allowed ('${unknown}' was unexpected)`);
  }
  const { traits } = body;
  if (!Array.isArray(traits)) {
    throw wrong(`${pythonRepr(traits)} is not of type 'array'`);
  }
  return traits.map((trait: unknown) => checkTrait(trait, "body"));
}

function checkTrait(trait: unknown, what: string): string {
  if (typeof trait === "string" && (CUSTOM.test(trait) || STANDARD.has(trait))) {
    return trait;
  }
  const found = pythonRepr(trait);
  throw badRequest(
    `Schema error for ${what}: ${found} is not valid under any of the given schemas. Possible root cause: ${found} does not match '^CUSTOM_[A-Z0-9_]+$'`,
  );
}

function vifOf(body: unknown): string {
  const id = isObject(body) ? body.id : undefined;
  if (typeof id === "string" && id !== "") {
    return id;
  }
  throw badRequest("Schema error for vif: 'id' is a required property");
}

function findRequestedNode({ nodes }: ApiParts, query: Query): IronicNode | undefined {
  const ident = query.get("node") ?? query.get("node_uuid");
  return ident === undefined ? undefined : nodeOf(nodes, { params: { node: ident }, minor: 82 });
}

function none(parts: ApiParts, query: Query, name: string) {
  findRequestedNode(parts, query);
  return { body: { [name]: [] } };
}
