import { isObject } from "../../../runtime/is-object.js";
import type { Query } from "../../http/query.js";
import { isUuidLike, normalizeUuid } from "../../placement/json/uuid.js";
import { STANDARD_TRAITS } from "../../placement/standard-traits.js";
import { pythonRepr } from "../../python/plain-repr.js";
import { IronicError } from "../ironic-error.js";
import type { IronicNode } from "../node.js";
import type { IronicPort } from "../port-store.js";
import { booleanArgument, uuidArgument } from "./arguments.js";
import { type IronicCall, type IronicRoute, links } from "./call.js";
import { type ApiParts, nodeOf } from "./node-routes.js";

/** VIFs, traits, ports, and lists of what no node has here: port groups, volumes. */
export function attachmentRoutes(parts: ApiParts): readonly IronicRoute[] {
  const { nodes, ports, conductor } = parts;
  return [
    ...traitRoutes(parts),
    {
      method: "GET",
      path: "/nodes/:node/vifs",
      from: 28,
      answer: (call) => ({
        body: { vifs: ports.of(nodeOf(nodes, call).uuid).flatMap(({ vif }) => (vif === null ? [] : [{ id: vif }])) },
      }),
    },
    {
      method: "POST",
      path: "/nodes/:node/vifs",
      from: 28,
      answer: async (call) => {
        await conductor.attachVif(nodeOf(nodes, call).uuid, vifOf(call.body));
        return { status: 204 };
      },
    },
    {
      method: "DELETE",
      path: "/nodes/:node/vifs/:vif",
      from: 28,
      answer: async (call) => {
        await conductor.detachVif(nodeOf(nodes, call).uuid, call.params.vif ?? "");
        return { status: 204 };
      },
    },
    {
      method: "PUT",
      path: "/nodes/:node/management/inject_nmi",
      from: 29,
      answer: async (call) => {
        await conductor.injectNmi(nodeOf(nodes, call).uuid);
        return { status: 204 };
      },
    },
    { method: "GET", path: "/ports", answer: (call) => listPorts(parts, call, wholeAsked(call)) },
    { method: "GET", path: "/ports/detail", answer: (call) => listPorts(parts, call, true) },
    { method: "POST", path: "/ports", answer: (call) => createPort(parts, call) },
    {
      method: "GET",
      path: "/portgroups",
      from: 23,
      answer: (call) => {
        wholeAsked(call);
        return none(parts, call.query, "portgroups");
      },
    },
    { method: "GET", path: "/portgroups/detail", from: 23, answer: ({ query }) => none(parts, query, "portgroups") },
    { method: "GET", path: "/volume/targets", from: 32, answer: ({ query }) => none(parts, query, "targets") },
    { method: "GET", path: "/volume/connectors", from: 32, answer: ({ query }) => none(parts, query, "connectors") },
  ];
}

function traitRoutes({ nodes, conductor }: ApiParts): readonly IronicRoute[] {
  return [
    {
      method: "GET",
      path: "/nodes/:node/traits",
      from: 37,
      answer: (call) => ({ body: { traits: nodeOf(nodes, call).traits } }),
    },
    {
      method: "PUT",
      path: "/nodes/:node/traits",
      from: 37,
      answer: async (call) => {
        const traits = traitsOf(call.body);
        await conductor.setTraits(nodeOf(nodes, call).uuid, () => [...new Set(traits)]);
        return { status: 204 };
      },
    },
    {
      method: "PUT",
      path: "/nodes/:node/traits/:trait",
      from: 37,
      answer: async (call) => {
        const { trait = "" } = call.params;
        checkTrait(trait, "trait");
        await conductor.setTraits(nodeOf(nodes, call).uuid, (before) => [...new Set([...before, trait])]);
        return { status: 204, location: `${call.root}/v1/nodes/${call.params.node}/traits/${trait}` };
      },
    },
    {
      method: "DELETE",
      path: "/nodes/:node/traits",
      from: 37,
      answer: async (call) => {
        await conductor.setTraits(nodeOf(nodes, call).uuid, () => []);
        return { status: 204 };
      },
    },
    {
      method: "DELETE",
      path: "/nodes/:node/traits/:trait",
      from: 37,
      answer: async (call) => {
        const { trait = "" } = call.params;
        const { uuid } = nodeOf(nodes, call);
        await conductor.setTraits(uuid, (before) => {
          if (!before.includes(trait)) {
            throw new IronicError(404, `Node ${uuid} doesn't have a trait '${trait}'`);
          }
          return before.filter((name) => name !== trait);
        });
        return { status: 204 };
      },
    },
  ];
}

const STANDARD = new Set<string>(STANDARD_TRAITS);
const CUSTOM = /^CUSTOM_[A-Z0-9_]+$/;

function traitsOf(body: unknown): readonly string[] {
  const wrong = (text: string) => new IronicError(400, `Schema error for body: ${text}`);
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
  throw new IronicError(
    400,
    `Schema error for ${what}: ${found} is not valid under any of the given schemas. Possible root cause: ${found} does not match '^CUSTOM_[A-Z0-9_]+$'`,
  );
}

function vifOf(body: unknown): string {
  const id = isObject(body) ? body.id : undefined;
  if (typeof id === "string" && id !== "") {
    return id;
  }
  throw new IronicError(400, "Schema error for vif: 'id' is a required property");
}

function askedNode({ nodes }: ApiParts, query: Query): IronicNode | undefined {
  const ident = query.get("node") ?? query.get("node_uuid");
  return ident === undefined ? undefined : nodeOf(nodes, { params: { node: ident }, minor: 82 });
}

/** `detail=True`, which 1.43 brought. @throws {IronicError} 400 */
function wholeAsked({ query, minor }: IronicCall): boolean {
  const text = query.get("detail");
  if (text === undefined) {
    return false;
  }
  const whole = booleanArgument("detail", text);
  if (minor < 43) {
    throw new IronicError(400, `Invalid query parameter ?detail=${whole ? "True" : "False"} received.`);
  }
  return whole;
}

function listPorts(parts: ApiParts, call: IronicCall, whole: boolean) {
  const node = askedNode(parts, call.query);
  const found = node ? parts.ports.of(node.uuid) : [...parts.ports.all()];
  return { body: { ports: found.map((port) => portView(call, port, whole)) } };
}

function none(parts: ApiParts, query: Query, name: string) {
  askedNode(parts, query);
  return { body: { [name]: [] } };
}

function createPort({ nodes, ports, random }: ApiParts, call: IronicCall) {
  const body = isObject(call.body) ? call.body : {};
  for (const name of ["address", "node_uuid"]) {
    if (typeof body[name] !== "string") {
      throw new IronicError(400, `Schema error for port: '${name}' is a required property`);
    }
  }
  const address = String(body.address).toLowerCase();
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(address)) {
    throw new IronicError(400, `Expected valid MAC address for address: ${body.address}`);
  }
  const node = nodes.find(uuidArgument("node_uuid", body.node_uuid));
  if (!node) {
    throw new IronicError(400, `Node ${body.node_uuid} could not be found.`);
  }
  const uuid = typeof body.uuid === "string" && isUuidLike(body.uuid) ? normalizeUuid(body.uuid) : random.uuid();
  const port = ports.create({ uuid, address }, node);
  // The node is locked for it, which shows in the time of its last change.
  nodes.save(node.uuid, {});
  return { status: 201, location: `${call.root}/v1/ports/${uuid}`, body: portView(call, port, true) };
}

function portView({ root, minor }: IronicCall, port: IronicPort, whole: boolean): Readonly<Record<string, unknown>> {
  return {
    uuid: port.uuid,
    address: port.address,
    ...(whole
      ? {
          created_at: port.created_at,
          updated_at: null,
          extra: {},
          node_uuid: port.node_uuid,
          ...(minor >= 18 ? { internal_info: port.vif === null ? {} : { tenant_vif_port_id: port.vif } } : {}),
          ...(minor >= 19 ? { local_link_connection: {}, pxe_enabled: port.pxe_enabled } : {}),
          ...(minor >= 24 ? { portgroup_uuid: null } : {}),
          ...(minor >= 34 ? { physical_network: port.physical_network } : {}),
          ...(minor >= 53 ? { is_smartnic: false } : {}),
        }
      : {}),
    links: links(root, `ports/${port.uuid}`),
  };
}
