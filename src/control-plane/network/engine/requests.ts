import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../../runtime/collections.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { parentIdOf, recordOf, requireParent } from "./find-record.js";
import { listRecords } from "./list.js";
import type { NetworkCall, NetworkRoute } from "./network-call.js";
import type { ExternalChange, NetworkContext, ResourceAction } from "./network-context.js";
import { badResource, networkError, recordNotFound } from "./network-errors.js";
import { enforceRequest, enforceRule, hidden, isAllowed, readTarget, ruleOf } from "./network-policy.js";
import type { NetworkResource, Operation } from "./network-resource.js";
import { parseInteger, unexpectedType } from "./python-values.js";
import { assertWithinQuota } from "./quota.js";
import { createRecord, deleteRecord, findRecord, updateRecord, viewsOf } from "./records.js";
import { isCore, missingItem, readItems, withProject } from "./request-body.js";
import { sharedIds } from "./sharing.js";
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
    ...(has("show") && {
      "PUT /": (call: NetworkCall) => changeCollection(call, resource),
      "DELETE /": (call: NetworkCall) => changeCollection(call, resource),
    }),
    // Neutron knows the path of a record even if there are only lists: other methods are not allowed there.
    ...(has("list") &&
      !has("show") && { "GET /:id": rejectRecord, "PUT /:id": rejectRecord, "DELETE /:id": rejectRecord }),
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

/** Rejects requests for a record of a resource that can only be listed. */
function rejectRecord(): never {
  throw hidden();
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

/** Rejects a change of a collection as Neutron does: it looks for a record without an id, or with that of the parent. */
function changeCollection(call: NetworkCall, resource: NetworkResource): never {
  const item = call.request.method === "PUT" ? readItems(call, resource, "update")?.items[0] : undefined;
  if (item) {
    readUpdate(resource, withProject(call.context.caller, item));
  }
  requireParent(call, resource);
  const parentId = parentIdOf(call, resource);
  if (parentId !== undefined) {
    call.context.services.registry.behaviourOf(resource).assertParent?.(call.context, parentId);
  }
  throw recordNotFound(resource, parentId ?? "None", parentId);
}

function create(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  const { singular, collection } = resource;
  const body = readItems(call, resource, "create");
  if (body === undefined) {
    throw missingItem(resource);
  }
  const { isBulk } = body;
  const inputs = body.items.map((item) => readInput(call, resource, item));
  const views = context.sql.transaction(() => {
    for (const input of mayUseAnyNetwork(context) ? [] : inputs) {
      assertUsableNetwork(context, resource, input);
    }
    if (isCore(resource)) {
      assertQuotas(context, resource, inputs);
    }
    for (const input of inputs) {
      enforceRequest(context, ruleOf("create", resource), resource, { body: input, target: input });
      networkOf(context, resource, input);
    }
    if (!isCore(resource)) {
      assertQuotas(context, resource, inputs);
    }
    requireParent(call, resource);
    const behaviour = context.services.registry.behaviourOf(resource);
    if (isBulk) {
      behaviour.beforeBulkCreate?.(context, inputs as never);
    }
    return inputs.map((input) => {
      const record = createRecord(context, resource, input as never);
      const [view = {}] = viewsOf(context, resource, [record]);
      const requested = behaviour.computeRequested?.(input as never, view);
      return renderView(context, resource, { ...view, ...requested });
    });
  });
  return { status: 201, body: isBulk ? { [collection]: views } : { [singular]: views[0] ?? null } };
}

function readInput(call: NetworkCall, resource: NetworkResource, item: Body): Attributes {
  const { caller } = call.context;
  const { parent } = resource;
  const owned = Object.hasOwn(resource.attributes, "project_id");
  const attributes = owned ? withProject(caller, item) : item;
  return {
    ...readCreate(resource, attributes),
    ...(owned && { project_id: attributes.project_id ?? caller.projectId }),
    ...(parent && { [parent.attribute]: parentIdOf(call, resource) }),
  };
}

/**
 * Returns the network of a new port or subnet; undefined for other resources.
 * @throws {HttpError} 404 if the caller cannot see it
 */
function networkOf(
  context: NetworkContext,
  { collection }: NetworkResource,
  input: Attributes,
): Attributes | undefined {
  const networks = context.services.registry.find("networks");
  const { network_id: id } = input;
  const isOnNetwork = networks !== undefined && typeof id === "string" && ["ports", "subnets"].includes(collection);
  return isOnNetwork ? findRecord(context, networks, id) : undefined;
}

/** Whether the caller's ports and subnets may be on networks that are neither its own nor shared with it. */
function mayUseAnyNetwork({ caller }: NetworkContext): boolean {
  return caller.isInternal || caller.isAdmin || caller.roles.includes("advsvc");
}

/** Rejects ports and subnets on a network that neither the caller owns nor is shared with it. @throws {HttpError} 403 */
function assertUsableNetwork(context: NetworkContext, resource: NetworkResource, input: Attributes): void {
  const network = networkOf(context, resource, input);
  const networks = context.services.registry.find("networks");
  const { project_id: project } = input;
  if (network === undefined || networks === undefined || network.project_id === project) {
    return;
  }
  const id = String(network.id);
  if (!sharedIds(context, networks, [id]).has(id)) {
    throw new HttpError(403, `Tenant ${project} not allowed to create ${resource.singular} on this network`);
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
  if (
    !isAllowed(context, ruleOf("get", resource), resource, readTarget(resource, { ...record, ...view }, call.fields))
  ) {
    throw hidden();
  }
  const more = context.services.registry.behaviourOf(resource).computeForShow?.(context, record as never);
  return { body: { [resource.singular]: renderView(context, resource, { ...view, ...more }, call.fields) } };
}

function update(call: NetworkCall, resource: NetworkResource): RouteResponse | Promise<RouteResponse> {
  const { context } = call;
  const { singular } = resource;
  const early = isCore(resource) ? undefined : readRevision(call);
  const body = readItems(call, resource, "update");
  const item = body?.items[0];
  const changes = item === undefined ? {} : readUpdate(resource, withProject(context.caller, item));
  const revision = early ?? readRevision(call);
  if (body?.isBulk) {
    recordOf(call, resource);
    throw unexpectedType();
  }
  const isEmpty = item !== undefined && Object.keys(changes).length === 0 && !isCore(resource);
  const { external } = context.services.registry.behaviourOf(resource);
  const authorize = () => {
    const record = recordOf(call, resource);
    enforceOrHide(
      context,
      resource,
      record,
      () =>
        enforceRequest(context, ruleOf("update", resource), resource, {
          // Neutron takes all attributes that it has read for those of an empty request.
          body: isEmpty ? readByUpdates(resource, viewsOf(context, resource, [record])[0] ?? {}) : changes,
          target: { ...record, ...changes },
          isUpdate: !isEmpty,
        }),
      { isRead: (name) => isReadByUpdates(resource, name), changes },
    );
    if (item === undefined) {
      throw missingItem(resource);
    }
    return record;
  };
  const plan = () =>
    external && Object.hasOwn(changes, external.attribute)
      ? context.sql.transaction(() => external.plan(context, authorize(), changes as never))
      : undefined;
  const write = (change?: ExternalChange): RouteResponse =>
    context.sql.transaction(() => {
      const record = authorize();
      if (change && !isDeepStrictEqual(external?.plan(context, record, changes as never), change)) {
        throw changedMeanwhile(resource, record);
      }
      change?.complete(context);
      const updated = updateRecord(context, resource, record.id, changes as never);
      if (Object.keys(changes).length > 0 || WRITTEN_WITHOUT_CHANGES.includes(resource.collection)) {
        assertRevision(record, revision);
      }
      const [view = {}] = viewsOf(context, resource, [updated]);
      const requested = context.services.registry.behaviourOf(resource).computeRequested?.(changes as never, view);
      return { body: { [singular]: renderView(context, resource, { ...view, ...requested }) } };
    });
  return plan() ? writeAfter(context, plan, write) : write();
}

/** Updates a record after another service, whose change it undoes if the update fails. */
function writeAfter(
  context: NetworkContext,
  plan: () => ExternalChange | undefined,
  write: (change?: ExternalChange) => RouteResponse,
): Promise<RouteResponse> {
  return context.services.externalChanges.run(async () => {
    const change = plan();
    await change?.apply(context);
    try {
      return write(change);
    } catch (error) {
      await change?.undo(context);
      throw error;
    }
  });
}

function changedMeanwhile({ singular }: NetworkResource, { id }: Attributes): HttpError {
  return networkError(409, "Conflict", `The ${singular} ${id} changed during its update. Try again.`);
}

function remove(call: NetworkCall, resource: NetworkResource): RouteResponse {
  const { context } = call;
  const revision = readRevision(call);
  const assertNoBody = () => {
    if (call.request.body !== "") {
      throw badRequest("Request body is not supported in DELETE.");
    }
  };
  if (!isCore(resource)) {
    assertNoBody();
  }
  return context.sql.transaction(() => {
    const record = recordOf(call, resource);
    enforceOrHide(context, resource, record, () =>
      enforceRule(context, ruleOf("delete", resource), resource, {
        ...record,
        ...viewsOf(context, resource, [record])[0],
      }),
    );
    assertNoBody();
    deleteRecord(context, resource, record.id);
    assertRevision(record, revision);
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
      const [view = {}] = viewsOf(context, resource, [record]);
      enforceOrHide(context, resource, record, () =>
        enforceRequest(context, name, resource, { body: view, target: { ...record, ...view } }),
      );
      const response: Json = action(context, record as never, body);
      return { body: response };
    });
  };
}

/**
 * Runs a check of a policy. Its failure is a 404 for a caller who may not even read the record.
 * @param read `isRead` selects the attributes that decide whether the caller may read it, `changes` replace its own
 */
function enforceOrHide(
  context: NetworkContext,
  resource: NetworkResource,
  record: Attributes,
  check: () => void,
  read: { readonly isRead?: (name: string) => boolean; readonly changes?: Attributes } = {},
): void {
  const { isRead = () => true, changes = {} } = read;
  try {
    check();
  } catch (error) {
    const [view = {}] = viewsOf(context, resource, [record]);
    const target = Object.entries({ ...record, ...view }).map(([name, value]) => [name, isRead(name) ? value : null]);
    const changed = { ...Object.fromEntries(target), ...changes };
    throw isAllowed(context, ruleOf("get", resource), resource, changed) ? error : hidden();
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

function readByUpdates(resource: NetworkResource, view: Attributes): Attributes {
  return Object.fromEntries(Object.entries(view).filter(([name]) => isReadByUpdates(resource, name)));
}

/** Returns the revision that `If-Match` names. Etags of other forms are ignored. @throws {HttpError} 400 */
function readRevision({ request }: NetworkCall): number | undefined {
  const header = request.headers["if-match"]?.trim() ?? "";
  const quoted = [...header.matchAll(/(?:^|\s)(W\/)?"((?:\\"|.)*?)"/g)];
  const etags = quoted.length === 0 ? [header] : quoted.filter(([, weak]) => !weak).map(([, , etag = ""]) => etag);
  const [text, ...others] = etags.flatMap((etag) => (etag.startsWith(REVISION) ? [etag.slice(REVISION.length)] : []));
  if (text === undefined) {
    return undefined;
  }
  const revision = parseInteger(text.split(REVISION, 1)[0]);
  if (revision === undefined) {
    throw badResource("if-match", "Revision number etag must be in the format of revision_number=<int>.");
  }
  if (others.length > 0) {
    throw badResource("if-match", "Multiple revision_number etags are not supported..");
  }
  return Number(revision);
}

const REVISION = "revision_number=";

/** Collections whose records Neutron writes for a request without attributes. It compares no revision of others then. */
const WRITTEN_WITHOUT_CHANGES: readonly string[] = [
  "floatingips",
  "network_segment_ranges",
  "routers",
  "subnetpools",
  "subnets",
];

/** Neutron compares revisions when it writes, after all other checks. @throws {HttpError} 412 */
function assertRevision({ revision_number: current }: Attributes, expected: number | undefined): void {
  if (expected !== undefined && typeof current === "number" && expected !== current) {
    throw networkError(
      412,
      "RevisionNumberConstraintFailed",
      `Constrained to ${expected}, but current revision is ${current}`,
    );
  }
}
