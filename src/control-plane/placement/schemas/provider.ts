import type { Schema } from "../json/schema.js";
import { schemaFor, UUID } from "./common.js";

const NAME: Schema = { type: "string", maxLength: 200 };
const PARENT: Schema = { anyOf: [UUID, { type: "null" }] };

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, required: ["name"], additionalProperties: false };
}

function query(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, additionalProperties: false };
}

const POST = [
  [0, body({ name: NAME, uuid: UUID })],
  [14, body({ name: NAME, uuid: UUID, parent_provider_uuid: PARENT })],
] as const;
const PUT = [
  [0, body({ name: NAME })],
  [14, body({ name: NAME, parent_provider_uuid: PARENT })],
] as const;

const TEXT: Schema = { type: "string" };
const Q_1_0 = { name: TEXT, uuid: UUID };
const Q_1_3 = { ...Q_1_0, member_of: TEXT };
const Q_1_4 = { ...Q_1_3, resources: TEXT };
const Q_1_14 = { ...Q_1_4, in_tree: UUID };
const QUERIES = [
  [0, query(Q_1_0)],
  [3, query(Q_1_3)],
  [4, query(Q_1_4)],
  [14, query(Q_1_14)],
  [18, query({ ...Q_1_14, required: TEXT })],
] as const;

export function postProviderSchema(minor: number): Schema {
  return schemaFor(POST, minor);
}

export function putProviderSchema(minor: number): Schema {
  return schemaFor(PUT, minor);
}

export function listProvidersSchema(minor: number): Schema {
  return schemaFor(QUERIES, minor);
}
