import { isoMicroseconds } from "../../http/times.js";
import { defineResource, TEXT, TEXT_OR_NULL, TIME } from "../engine/block-storage-resource.js";
import { equals } from "../engine/filters.js";

/** Messages for users about failed work: `GET /messages`. */
export const MESSAGES = defineResource({
  collection: "messages",
  singular: "message",
  title: "Message",
  from: 3,
  table: "block_storage_messages",
  attributes: {
    id: TEXT,
    project_id: TEXT,
    event_id: TEXT,
    user_message: TEXT,
    message_level: TEXT,
    request_id: TEXT,
    resource_type: TEXT,
    resource_uuid: TEXT_OR_NULL,
    created_at: TIME,
    expires_at: TIME,
  },
  indexes: [["project_id"]],
  response: {
    id: {},
    event_id: {},
    user_message: {},
    message_level: {},
    created_at: {},
    guaranteed_until: { value: ({ expires_at: time }) => isoMicroseconds(time) },
    request_id: {},
    links: { value: ({ id }, call) => call.links(`messages/${id}`) },
    resource_type: { value: ({ resource_uuid: id, resource_type: type }) => (id === null ? undefined : type) },
    resource_uuid: { value: ({ resource_uuid: id }) => id ?? undefined },
  },
  list: {
    isOwned: true,
    pagesFrom: 5,
    filterName: "message",
    userFilters: ["resource_uuid", "resource_type", "event_id", "request_id", "message_level"],
    filters: {
      resource_uuid: equals("resource_uuid"),
      resource_type: equals("resource_type"),
      event_id: equals("event_id"),
      request_id: equals("request_id"),
      message_level: equals("message_level"),
    },
    sortKeys: ["id", "event_id", "created_at", "message_level", "resource_type", "resource_uuid"],
  },
});
