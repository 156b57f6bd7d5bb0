import type { DriverOption } from "./config-schema.js";
import type { DriverDefinition } from "./driver.js";
import { describe } from "./driver-error.js";
import { InvalidDriver } from "./errors.js";
import { suggest } from "./suggest.js";

/** What a default has to be, where there is one. */
const DEFAULTS: Readonly<
  Record<DriverOption["type"], { readonly what: string; readonly fits: (value: unknown) => boolean }>
> = {
  boolean: { what: "true or false", fits: (value) => typeof value === "boolean" },
  integer: { what: "a whole number", fits: Number.isSafeInteger },
  list: {
    what: "a list of texts",
    fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  },
  number: { what: "a number", fits: Number.isFinite },
  text: { what: "a text", fits: (value) => typeof value === "string" },
};
const TYPES: readonly string[] = Object.keys(DEFAULTS);

/** A plugin may be plain JavaScript: what its schema says is checked before nova.conf is read by it. @throws {InvalidDriver} */
export function assertValidSchema({ name, configSchema }: DriverDefinition, where: string): void {
  if (configSchema === undefined) {
    return;
  }
  const fail: (text: string) => never = (text) => {
    throw new InvalidDriver(`${where}: configSchema of driver ${name}: ${text}`);
  };
  const { section, options }: { readonly section: unknown; readonly options: unknown } = configSchema;
  if (typeof section !== "string" || !/^[a-z][a-z0-9_-]*$/i.test(section)) {
    fail(`section must be the name of a section of nova.conf, but found ${describe(section)}`);
  }
  if (String(section).toUpperCase() === "DEFAULT") {
    fail("section must be the driver's own, but found DEFAULT, which is the agent's");
  }
  if (typeof options !== "object" || options === null) {
    fail(`options must be an object, but found ${describe(options)}`);
  }
  for (const [option, declared] of Object.entries(options ?? {})) {
    const type: unknown = declared?.type;
    if (!isType(type)) {
      fail(
        `option ${option} has type ${describe(type)}, which does not exist${suggest(String(type), TYPES)}; there are ${TYPES.join(", ")}`,
      );
    }
    const byDefault: unknown = declared?.default ?? null;
    const { what, fits } = DEFAULTS[type];
    if (byDefault !== null && !fits(byDefault)) {
      fail(`option ${option} of type ${type} has the default ${describe(byDefault)}, but it must be ${what}`);
    }
  }
}

function isType(type: unknown): type is DriverOption["type"] {
  return typeof type === "string" && TYPES.includes(type);
}
