import {
  type BlockStorageRecord,
  defineResource,
  MEMBERS,
  TEXT,
  TIME,
  TIME_OR_NULL,
} from "../engine/block-storage-resource.js";

/** Quality-of-service specs: `GET /qos-specs`. */
export const QOS_SPECS = defineResource({
  collection: "qos-specs",
  singular: "qos_specs",
  title: "QoS spec",
  table: "block_storage_qos_specs",
  attributes: {
    id: TEXT,
    name: TEXT,
    consumer: TEXT,
    specs: MEMBERS,
    created_at: TIME,
    updated_at: TIME_OR_NULL,
  },
  unique: [["name"]],
  response: { id: {}, name: {}, consumer: {}, specs: {} },
  list: { filters: {}, sortKeys: ["id", "name", "consumer", "created_at"] },
});

export type QosSpecs = BlockStorageRecord<typeof QOS_SPECS>;
