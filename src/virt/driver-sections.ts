import { type Option, option, type SectionTable, unset } from "../config/option.js";
import { boolean, choice, float, integer, list, text } from "../config/value-type.js";
import type { DriverOption } from "./config-schema.js";
import type { DriverDefinition } from "./driver.js";

/** Converts a driver's options to the format of nova.conf's compiler: one section, or none. */
export function driverSections({ configSchema }: Pick<DriverDefinition, "configSchema">): SectionTable {
  return configSchema
    ? {
        [configSchema.section]: Object.fromEntries(
          Object.entries(configSchema.options).map(([name, declared]) => [name, asOption(declared)]),
        ),
      }
    : {};
}

function asOption(declared: DriverOption): Option<unknown> {
  switch (declared.type) {
    case "boolean":
      return option(boolean, declared.default, declared.help);
    case "list":
      return option(list, declared.default, declared.help);
    case "integer":
    case "number": {
      const type = declared.type === "integer" ? integer(rangeOf(declared)) : float(rangeOf(declared));
      return declared.default === null ? unset(type, declared.help) : option(type, declared.default, declared.help);
    }
    case "text": {
      const type = declared.choices ? choice<string>(declared.choices) : text;
      const more = declared.secret ? { secret: true } : {};
      return declared.default === null
        ? unset(type, declared.help, more)
        : option(type, declared.default, declared.help, more);
    }
    default:
      return declared satisfies never;
  }
}

function rangeOf({ min, max }: { readonly min?: number; readonly max?: number }) {
  return {
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
}
