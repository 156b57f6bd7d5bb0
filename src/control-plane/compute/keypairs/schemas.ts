import { INTEGER_TEXT, MULTI, NAME } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";

interface CreateBody {
  readonly keypair: {
    readonly name: string;
    readonly public_key?: string;
    readonly type?: "ssh" | "x509";
    readonly user_id?: string;
  };
}

function body(properties: Readonly<Record<string, Schema>>, required: readonly string[] = ["name"]): Schema {
  return {
    type: "object",
    properties: { keypair: { type: "object", properties, required, additionalProperties: false } },
    required: ["keypair"],
    additionalProperties: false,
  };
}

const v1 = { name: NAME, public_key: { type: "string" } };
const v2 = { ...v1, type: { type: "string", enum: ["ssh", "x509"] } };
const v10 = { ...v2, user_id: { type: "string", minLength: 1 } };
const v92 = { ...v10, name: { ...NAME, pattern: "^[a-zA-Z0-9@._ -]+$" } };

export const CREATE = schemas<CreateBody>(
  [1, body(v1)],
  [2, body(v2)],
  [10, body(v10)],
  [92, body(v92, ["name", "public_key"])],
);

function query(properties: Readonly<Record<string, Schema>>, additionalProperties: boolean): Schema {
  return { type: "object", properties, additionalProperties };
}

const paged = { user_id: MULTI(), limit: MULTI(INTEGER_TEXT), marker: MULTI() };

export const LIST = schemas<unknown>(
  [1, query({}, true)],
  [10, query({ user_id: MULTI() }, true)],
  [35, query(paged, true)],
  [75, query(paged, false)],
);

export const ONE = schemas<unknown>(
  [1, query({}, true)],
  [10, query({ user_id: MULTI() }, true)],
  [75, query({ user_id: MULTI() }, false)],
);
