import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { EVERY, where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { invalidVolume } from "../engine/block-storage-errors.js";
import { metadataRoutes } from "../engine/metadata-routes.js";
import { ACCEPTED, readRoutes, respond } from "../engine/resource-routes.js";
import { bodyOf, booleanFromText, METADATA, object } from "../engine/schema-parts.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { CREATE_VOLUME, createVolume, NAMES, trimmed } from "./create-volume.js";
import { deleteVolume } from "./delete-volume.js";

const CHANGES = { ...NAMES, metadata: METADATA };

const UPDATE: SchemaVersions<{ readonly volume: Body }> = schemas(
  [0, bodyOf("volume", object(CHANGES))],
  [
    53,
    bodyOf("volume", object(CHANGES, undefined, { anyOf: Object.keys(CHANGES).map((name) => ({ required: [name] })) })),
  ],
);

/** Handles `PUT /volumes/{id}`. */
function updateVolume(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { volume: requested } = call.body(UPDATE);
  const volume = context.require(VOLUMES, call.param("id"));
  context.authorize("volume:update", volume);
  if (volume.status === "maintenance") {
    throw invalidVolume("The volume cannot be updated during maintenance.");
  }
  const [name, description] = ["name", "description"].map((key) =>
    key in requested ? requested[key] : requested[`display_${key}`],
  );
  const changed = context.change(VOLUMES, volume.id, {
    ...(name !== undefined && { name: trimmed(name) ?? null }),
    ...(description !== undefined && { description: trimmed(description) ?? null }),
    ...(requested.metadata && { metadata: requested.metadata as Volume["metadata"] }),
  });
  return respond(call, VOLUMES, changed ?? volume, "detail");
}

/** The first minor microversion whose summary has the metadata of the volumes. */
const SUMMARY_WITH_METADATA = 36;

/** Handles `GET /volumes/summary`. */
function summarize({ context, query, version }: BlockStorageCall): RouteResponse {
  context.authorize("volume:get_all");
  const { isAdmin, projectId } = context.caller;
  const isOfAll = isAdmin && booleanFromText(query.get("all_tenants"));
  const volumes = context.table(VOLUMES).find(isOfAll ? EVERY : where`project_id = ${projectId}`);
  const values = new Map<string, Set<string>>();
  for (const [key, value] of volumes.flatMap(({ metadata }) => Object.entries(metadata))) {
    values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const metadata = Object.fromEntries([...values].map(([key, found]) => [key, [...found]]));
  return {
    body: {
      "volume-summary": {
        total_size: volumes.reduce((sum, { size }) => sum + size, 0),
        total_count: volumes.length,
        ...(version >= SUMMARY_WITH_METADATA && { metadata }),
      },
    },
  };
}

/** The first minor microversion in which a deletion may be forced by a query parameter. */
const FORCE_FROM = 23;

export const VOLUME_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>({
    "GET /volumes/summary": { from: 12, handle: summarize },
    "POST /volumes": { body: CREATE_VOLUME, handle: createVolume },
    "PUT /volumes/:id": { body: UPDATE, handle: updateVolume },
    "DELETE /volumes/:id": (call) => {
      const { context, query, version } = call;
      const volume = context.require(VOLUMES, call.param("id"));
      const isForced = version >= FORCE_FROM && booleanFromText(query.get("force"));
      context.authorize(isForced ? "volume:force_delete" : "volume:delete", volume);
      deleteVolume(context, volume, { isForced, isCascade: booleanFromText(query.get("cascade")) });
      return ACCEPTED;
    },
  }),
  ...readRoutes(VOLUMES, { list: "volume:get_all", show: "volume:get" }),
  ...metadataRoutes<Volume>({
    path: "/volumes/:parent/metadata",
    title: "Volume",
    rules: {
      get: "volume:get_volume_metadata",
      create: "volume:create_volume_metadata",
      update: "volume:update_volume_metadata",
      delete: "volume:delete_volume_metadata",
    },
    find: ({ context }, id) => context.require(VOLUMES, id),
    read: ({ metadata }) => metadata,
    save: ({ context }, { id }, metadata) => context.change(VOLUMES, id, { metadata }),
    assertWritable: ({ status }) => {
      if (status === "maintenance") {
        throw invalidVolume("Updating volume metadata is not allowed for volumes in maintenance status.");
      }
    },
  }),
];
