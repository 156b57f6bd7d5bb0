import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { parentIdOf, recordOf, requireParent } from "./find-record.js";
import { listRecords } from "./list.js";
import type { NetworkCall, NetworkRoute } from "./network-call.js";
import type { NetworkContext, ResourceAction } from "./network-context.js";
import { networkError } from "./network-errors.js";
import { enforceRequest, enforceRule, hidden, isAllowed, ruleOf } from "./network-policy.js";
import type { NetworkResource, Operation } from "./network-resource.js";
import { assertWithinQuota } from "./quota.js";
import { createRecord, deleteRecord, findRecord, updateRecord, viewsOf } from "./records.js";
import { tagRoutes } from "./tags.js";
import { type Body, readCreate, readUpdate } from "./validate-attributes.js";
import { renderView } from "./views.js";

type Attributes = Readonly<Record<string, unknown>>;

/** Creates the routes of a resource: its operations, member actions and tags. */
export function routesOf(
  context: Pick<NetworkContext, "services">,
  resource: NetworkResource,
): readonly NetworkRoute[] {
  const { operations = ["list", "show", "create", "update", "delete"] } = resource;
  const has = (operation: Operation) => operations.includes(operation);
  const behaviour = context.services.registry.behaviourOf(resource);
  const handlers = {
    ...(has("list") && { "GET /": (call: NetworkCall) => listRecords(call, resource) }),
    ...(has("create") && { "POST /": (call: NetworkCall) => create(call, resource) }),
    ...(has("show") && { "GET /:id": (call: NetworkCall) => show(call, resource) }),
    ...(has("update") && { "PUT /:id": (call: NetworkCall) => update(call, resource) }),
    ...(has("delete") && { "DELETE /:id": (call: NetworkCall) => remove(call, resource) }),
  };
  return pathsOf(resource).flatMap((path) => [
    ...routes<NetworkRoute>(handlers, { prefix: path }),
    ...Object.entries(resource.actions ?? {}).flatMap(([name, method]) => {
      const action = behaviour.actions?.[name];
      return action ? [{ method, path: `${path}/:id/${name}`, handle: runAction(resource, name, action) }] : [];
    }),
    ...(resource.tagged ? tagRoutes(resource, path) : []),
  ]);
}

/** Returns the paths of a resource: with hyphens and underscores, and with and without the prefix of its extension. */
function pathsOf({ path, prefix }: NetworkResource): readonly string[] {
  const short = prefix === undefined ? path : path.replace(`/${prefix}/`, "/");
  const long = prefix === undefined ? path : short.replace("/v2.0/", `/v2.0/${prefix}/`);
  const spellings = [path, short, long].flatMap((one) => [
    one,
    replaceInFixedSegments(one, "-", "_"),
    replaceInFixedSegments(one, "_", "-"),
  ]);
  return [...new Set(spellings)];
}

function replaceInFixedSegments(path: string, from: string, to: string): string {
  const segments = path.split("/");
  return segments.map((segment) => (segment.startsWith(":") ? segment : segment.replaceAll(from, to))).join("/");
}

function create(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  const { singular, collection } = resource;
  const body = call.body();
  if (body === undefined || !isObject(body)) {
    throw badRequest("Resource body required");
  }
  const isBulk = Array.isArray(body[collection]);
  const items = isBulk ? (body[collection] as readonly unknown[]) : [body[singular]];
  if (items.length === 0) {
    throw badRequest("Resource body required");
  }
  const requests = items.map((item) => {
    const attributes = isBulk && isObject(item) && isObject(item[singular]) ? item[singular] : item;
    return readItem(call, resource, attributes);
  });
  const views = context.sql.transaction(() => {
    for (const { input } of requests) {
      assertVisibleNetwork(context, resource, input);
    }
    assertQuotas(
      context,
      resource,
      requests.map(({ input }) => input),
    );
    for (const { input, item } of requests) {
      enforceRequest(context, "create", resource, { body: item, target: input });
    }
    requireParent(call, resource);
    if (isBulk) {
      const inputs = requests.map(({ input }) => input as never);
      context.services.registry.behaviourOf(resource).beforeBulkCreate?.(context, inputs);
    }
    return requests.map(({ input }) => {
      const record = createRecord(context, resource, input as never);
      return renderView(context, resource, viewsOf(context, resource, [record])[0] ?? {});
    });
  });
  return { status: 201, body: isBulk ? { [collection]: views } : { [singular]: views[0] ?? null } };
}

function readItem(call: NetworkCall, resource: NetworkResource, item: unknown) {
  const { caller } = call.context;
  const { singular, parent } = resource;
  if (!isObject(item)) {
    throw badRequest(`Unable to find '${singular}' in request body`);
  }
  const owned = Object.hasOwn(resource.attributes, "project_id");
  const attributes = owned ? withProject(call.context, item) : item;
  const input = {
    ...readCreate(resource, attributes),
    ...(owned && { project_id: attributes.project_id ?? caller.projectId }),
    ...(parent && { [parent.attribute]: parentIdOf(call, resource) }),
  };
  return { item: attributes, input };
}

/** Returns the attributes with one name of the owner. @throws {HttpError} 400 */
function withProject({ caller }: NetworkContext, body: Body): Body {
  const { tenant_id: tenant, ...attributes } = body;
  const project = attributes.project_id;
  if (tenant !== undefined && project !== undefined && tenant !== project) {
    throw badRequest("'project_id' and 'tenant_id' do not match");
  }
  const owner = project ?? tenant;
  if (owner !== undefined && owner !== caller.projectId && !caller.isAdmin) {
    throw badRequest(
      "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges",
    );
  }
  return owner === undefined ? attributes : { ...attributes, project_id: owner };
}

/** Rejects ports and subnets on a network that the caller cannot see. */
function assertVisibleNetwork(context: NetworkContext, { collection }: NetworkResource, input: Attributes): void {
  const networks = context.services.registry.find("networks");
  const id = input.network_id;
  if (networks !== undefined && typeof id === "string" && ["ports", "subnets"].includes(collection)) {
    findRecord(context, networks, id);
  }
}

function assertQuotas(context: NetworkContext, resource: NetworkResource, inputs: readonly Attributes[]): void {
  const counts = new Map<string, number>();
  for (const { project_id: project } of inputs) {
    counts.set(String(project), (counts.get(String(project)) ?? 0) + 1);
  }
  for (const [project, count] of counts) {
    assertWithinQuota(context, resource, project, count);
  }
}

function show(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  const record = recordOf(call, resource);
  const [view = {}] = viewsOf(context, resource, [record]);
  if (!isAllowed(context, ruleOf("get", resource), resource, { ...record, ...view })) {
    throw hidden();
  }
  return { body: { [resource.singular]: renderView(context, resource, view, call.fields) } };
}

function update(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  const { singular } = resource;
  const body = call.body();
  if (body === undefined || !isObject(body)) {
    throw badRequest("Resource body required");
  }
  const item = body[singular];
  if (!isObject(item)) {
    throw badRequest(`Unable to find '${singular}' in request body`);
  }
  const changes = readUpdate(resource, item);
  return context.sql.transaction(() => {
    const record = recordOf(call, resource);
    enforceOrHide(
      context,
      resource,
      record,
      () => enforceRequest(context, "update", resource, { body: item, target: { ...record, ...changes } }),
      (name) => isReadByUpdates(resource, name),
    );
    assertRevision(call, record);
    const updated = updateRecord(context, resource, record.id, changes as never);
    const [view = {}] = viewsOf(context, resource, [updated]);
    return { body: { [singular]: renderView(context, resource, view) } };
  });
}

function remove(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  return context.sql.transaction(() => {
    const record = recordOf(call, resource);
    enforceOrHide(context, resource, record, () =>
      enforceRule(context, ruleOf("delete", resource), resource, {
        ...record,
        ...viewsOf(context, resource, [record])[0],
      }),
    );
    assertRevision(call, record);
    deleteRecord(context, resource, record.id);
    return { status: 204 };
  });
}

function runAction(resource: NetworkResource, name: string, action: ResourceAction<never>) {
  return (call: NetworkCall): RouteResponse => {
    const { context } = call;
    const value = call.body();
    const body = isObject(value) ? value : {};
    return context.sql.transaction(() => {
      const record = recordOf(call, resource);
      enforceOrHide(context, resource, record, () => enforceRule(context, name, resource, record));
      const response: Json = action(context, record as never, body);
      return { body: response };
    });
  };
}

/**
 * Runs a check of a policy. Its failure is a 404 for a caller who may not even read the record.
 * @param isRead selects the attributes that decide whether the caller may read it. Default: all
 */
function enforceOrHide(
  context: NetworkContext,
  resource: NetworkResource,
  record: Attributes,
  check: () => void,
  isRead: (name: string) => boolean = () => true,
): void {
  try {
    check();
  } catch (error) {
    const [view = {}] = viewsOf(context, resource, [record]);
    const target = Object.entries({ ...record, ...view }).filter(([name]) => isRead(name));
    throw isAllowed(context, ruleOf("get", resource), resource, Object.fromEntries(target)) ? error : hidden();
  }
}

/**
 * Returns whether Neutron reads an attribute before an update. It does not read `shared` of a QoS policy, so that a
 * member's update of another project's shared policy is a 404, and its delete a 403.
 */
function isReadByUpdates({ attributes, parent }: NetworkResource, name: string): boolean {
  const attribute = attributes[name];
  return attribute?.requiredByPolicy === true || attribute?.default === undefined || name === parent?.attribute;
}

/** @throws {HttpError} 412 if `If-Match` names another revision */
function assertRevision({ request }: NetworkCall, record: Attributes): void {
  const [, expected] = /^revision_number=(\d+)$/.exec(request.headers["if-match"]?.trim() ?? "") ?? [];
  const current = record.revision_number;
  if (expected !== undefined && typeof current === "number" && Number(expected) !== current) {
    throw networkError(
      412,
      "RevisionNumberConstraintFailed",
      `Constrained to ${expected}, but current revision is ${current}`,
    );
  }
}
