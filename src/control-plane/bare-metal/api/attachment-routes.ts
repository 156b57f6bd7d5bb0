import { isObject } from "../../../runtime/collections.js";
import { badRequest, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { STANDARD_TRAITS } from "../../placement/standard-traits.js";
import { pythonRepr } from "../../python/repr.js";
import type { IronicCall, IronicRoute } from "./call.js";
import { detailArgument } from "./list-ports.js";
import { nodeOf } from "./node-routes.js";

const TRAIT_ROUTES = routes<IronicRoute>(
  {
    "GET /nodes/:node/traits": (call) => ({ body: { traits: nodeOf(call).traits } }),
    "PUT /nodes/:node/traits": async (call) => {
      const traits = traitsOf(call.body);
      await call.conductor.setTraits(nodeOf(call).uuid, () => [...new Set(traits)]);
      return { status: 204 };
    },
    "PUT /nodes/:node/traits/:trait": async (call) => {
      const { trait = "" } = call.params;
      checkTrait(trait, "trait");
      await call.conductor.setTraits(nodeOf(call).uuid, (before) => [...new Set([...before, trait])]);
      return { status: 204, location: `${call.root}/v1/nodes/${call.params.node}/traits/${trait}` };
    },
    "DELETE /nodes/:node/traits": async (call) => {
      await call.conductor.setTraits(nodeOf(call).uuid, () => []);
      return { status: 204 };
    },
    "DELETE /nodes/:node/traits/:trait": async (call) => {
      const { trait = "" } = call.params;
      const { uuid } = nodeOf(call);
      await call.conductor.setTraits(uuid, (before) => {
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

/** Routes of VIFs and traits, and of port groups and volumes, whose lists are always empty. */
export const ATTACHMENT_ROUTES: readonly IronicRoute[] = [
  ...TRAIT_ROUTES,
  ...routes<IronicRoute>({
    "GET /nodes/:node/vifs": {
      from: 28,
      handle: (call) => ({
        body: { vifs: call.ports.of(nodeOf(call).uuid).flatMap(({ vif }) => (vif === null ? [] : [{ id: vif }])) },
      }),
    },
    "POST /nodes/:node/vifs": {
      from: 28,
      handle: async (call) => {
        await call.conductor.attachVif(nodeOf(call).uuid, vifOf(call.body));
        return { status: 204 };
      },
    },
    "DELETE /nodes/:node/vifs/:vif": {
      from: 28,
      handle: async (call) => {
        await call.conductor.detachVif(nodeOf(call).uuid, call.params.vif ?? "");
        return { status: 204 };
      },
    },
    "PUT /nodes/:node/management/inject_nmi": {
      from: 29,
      handle: async (call) => {
        await call.conductor.injectNmi(nodeOf(call).uuid);
        return { status: 204 };
      },
    },
    "GET /portgroups": {
      from: 23,
      handle: (call) => {
        detailArgument(call);
        return none(call, "portgroups");
      },
    },
    "GET /portgroups/detail": { from: 23, handle: (call) => none(call, "portgroups") },
    "GET /volume/targets": { from: 32, handle: (call) => none(call, "targets") },
    "GET /volume/connectors": { from: 32, handle: (call) => none(call, "connectors") },
  }),
];

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

/** Returns an empty list, if the node that the query names exists. */
function none(call: IronicCall, name: string) {
  const node = call.query.get("node") ?? call.query.get("node_uuid");
  if (node !== undefined) {
    nodeOf({ nodes: call.nodes, params: { node }, minor: 82 });
  }
  return { body: { [name]: [] } };
}
