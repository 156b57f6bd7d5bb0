import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import {
  AGENT_PARAMS,
  CONDUCTOR_PARAMS,
  SESSION_PARAMS,
} from "../../../../src/cluster/conductor/schemas/method-schemas.js";
import { type Fields, object } from "../../../../src/cluster/conductor/schemas/schema.js";

const TABLES: Readonly<Record<string, Fields<object>>> = { ...CONDUCTOR_PARAMS, ...SESSION_PARAMS, ...AGENT_PARAMS };

describe("the schemas of the parameters", () => {
  test.each(Object.keys(TABLES))("of %s are valid, and refuse what they do not know", (method) => {
    const ajv = new Ajv({ strict: true, allowUnionTypes: true });
    const validate = ajv.compile(object(TABLES[method] ?? {}).json);
    expect(validate({ noSuchField: 1 })).toBe(false);
  });
});
