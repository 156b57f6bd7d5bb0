import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import {
  AGENT_PARAMS,
  CONDUCTOR_PARAMS,
  SESSION_PARAMS,
} from "../../../../src/cluster/conductor/schemas/method-schemas.js";
import { type FieldMap, object } from "../../../../src/records/field.js";

const TABLES: Readonly<Record<string, FieldMap>> = { ...CONDUCTOR_PARAMS, ...SESSION_PARAMS, ...AGENT_PARAMS };

/** One for all: it compiles the schema of schemas once. */
const ajv = new Ajv({ strict: true, allowUnionTypes: true });

describe("the schemas of the parameters", () => {
  test.each(Object.keys(TABLES))("of %s are valid, and refuse what they do not know", (method) => {
    const validate = ajv.compile(object(TABLES[method] ?? {}));
    expect(validate({ noSuchField: 1 })).toBe(false);
  });
});
