import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute } from "../engine/block-storage-call.js";
import { listRecords } from "../engine/lists.js";
import { ACCEPTED } from "../engine/resource-routes.js";
import { bodyOf, booleanFromText, object, SPECS } from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { QOS_SPECS, type QosSpecs } from "../resources/qos-specs.js";
import { TYPES, type VolumeType } from "../resources/types.js";
import { requireType } from "./find-type.js";

type Specs = Readonly<Record<string, string>>;

const CREATE: SchemaVersions<{ qos_specs: Specs & { name: string; consumer?: string } }> = schemas([
  0,
  bodyOf(
    "qos_specs",
    object({ name: { type: "string", format: "name_skip_leading_trailing_spaces" } }, ["name"], {
      additionalProperties: true,
    }),
  ),
]);

const UPDATE: SchemaVersions<{ qos_specs: Specs }> = schemas([0, bodyOf("qos_specs", SPECS)]);

const DELETE_KEYS: SchemaVersions<{ keys: readonly string[] }> = schemas([
  0,
  bodyOf("keys", { type: "array", items: { type: "string", minLength: 1, maxLength: 255 }, uniqueItems: true }),
]);

const RULE = "volume_extension:qos_specs_manage";

const CONSUMERS = ["back-end", "front-end", "both"];

/** @throws {HttpError} 400 */
function assertConsumer(consumer: string): void {
  if (!CONSUMERS.includes(consumer)) {
    throw badRequest(
      "Invalid qos specs: Valid consumer of QoS specs are: QoSConsumerValues(default=<class 'oslo_versionedobjects.fields.UnspecifiedDefault'>,nullable=False,valid_values=('back-end', 'front-end', 'both'))",
    );
  }
}

function find(call: BlockStorageCall, operation: string): QosSpecs {
  call.context.authorize(`${RULE}:${operation}`);
  const id = call.param("id");
  const specs = call.context.table(QOS_SPECS).get(id);
  if (specs === undefined) {
    throw notFound(`No such QoS spec ${id}.`);
  }
  return specs;
}

function withLinks(call: BlockStorageCall, specs: QosSpecs) {
  return {
    body: { qos_specs: renderView(call, QOS_SPECS, specs, "show"), links: call.links(`qos-specs/${specs.id}`) },
  };
}

function typesOf({ context }: BlockStorageCall, { id }: QosSpecs): readonly VolumeType[] {
  return context.table(TYPES).find(where`qos_specs_id = ${id}`);
}

function disassociate(call: BlockStorageCall, typeIds: readonly string[]): void {
  for (const id of typeIds) {
    call.context.change(TYPES, id, { qos_specs_id: null });
  }
}

/** Returns the type that the query names. @throws {HttpError} 400, 404 */
function requestedType(call: BlockStorageCall) {
  const id = call.query.get("vol_type_id");
  if (id === undefined || id === "") {
    throw badRequest("Volume Type id must not be None.");
  }
  return requireType(call.context, id);
}

/** QoS specs, and their associations with volume types. */
export const QOS_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>(
  {
    "GET /": (call) => {
      call.context.authorize(`${RULE}:get_all`);
      return listRecords(call, QOS_SPECS, { level: "show", key: "qos_specs", path: "qos-specs" });
    },
    "POST /": {
      body: CREATE,
      handle: (call) => {
        const { name, consumer = "back-end", ...specs } = call.body(CREATE).qos_specs;
        call.context.authorize(`${RULE}:create`);
        assertConsumer(consumer);
        if (call.context.table(QOS_SPECS).has(where`name = ${name.trim()}`)) {
          throw conflict(`QoS Specs ${name.trim()} already exists.`);
        }
        const created_at = call.context.now;
        const id = call.context.newId();
        const record = { id, name: name.trim(), consumer, specs, created_at, updated_at: null };
        return withLinks(call, call.context.insert(QOS_SPECS, record));
      },
    },
    "GET /:id": (call) => withLinks(call, find(call, "get")),
    "PUT /:id": {
      body: UPDATE,
      handle: (call) => {
        const { qos_specs: requested } = call.body(UPDATE);
        const { id, specs } = find(call, "update");
        const { consumer, ...others } = requested;
        if (consumer !== undefined) {
          assertConsumer(consumer);
        }
        call.context.change(QOS_SPECS, id, {
          specs: { ...specs, ...others },
          ...(consumer !== undefined && { consumer }),
        });
        return { body: { qos_specs: requested } };
      },
    },
    "DELETE /:id": (call) => {
      const specs = find(call, "delete");
      const types = typesOf(call, specs);
      if (types.length > 0 && !booleanFromText(call.query.get("force"))) {
        throw badRequest("Qos specs still in use.");
      }
      disassociate(
        call,
        types.map(({ id }) => id),
      );
      call.context.table(QOS_SPECS).delete(specs.id);
      return ACCEPTED;
    },
    "PUT /:id/delete_keys": {
      body: DELETE_KEYS,
      handle: (call) => {
        const { keys } = call.body(DELETE_KEYS);
        const { id, specs } = find(call, "delete");
        const missing = keys.find((key) => !Object.hasOwn(specs, key));
        if (missing !== undefined) {
          throw notFound(`QoS spec ${id} has no spec with key ${missing}.`);
        }
        const left = Object.entries(specs).filter(([key]) => !keys.includes(key));
        call.context.change(QOS_SPECS, id, { specs: Object.fromEntries(left) });
        return ACCEPTED;
      },
    },
    "GET /:id/associations": (call) => ({
      body: {
        qos_associations: typesOf(call, find(call, "get_all")).map(({ name, id }) => ({
          association_type: "volume_type",
          name,
          id,
        })),
      },
    }),
    "GET /:id/associate": (call) => {
      call.context.authorize(`${RULE}:update`);
      const type = requestedType(call);
      const specs = find(call, "update");
      if (type.qos_specs_id !== null && type.qos_specs_id !== specs.id) {
        throw badRequest(`Type ${type.id} is already associated with another qos specs: ${type.qos_specs_id}`);
      }
      call.context.change(TYPES, type.id, { qos_specs_id: specs.id });
      return ACCEPTED;
    },
    "GET /:id/disassociate": (call) => {
      call.context.authorize(`${RULE}:update`);
      const type = requestedType(call);
      find(call, "update");
      disassociate(call, [type.id]);
      return ACCEPTED;
    },
    "GET /:id/disassociate_all": (call) => {
      disassociate(
        call,
        typesOf(call, find(call, "update")).map(({ id }) => id),
      );
      return ACCEPTED;
    },
  },
  { prefix: "/qos-specs" },
);
