import { reprString } from "./repr.js";

/** A value as Python's `repr()` writes it; OpenStack's error texts quote what they found so. */
export function pythonRepr(value: unknown): string {
  if (value === null || value === undefined) {
    return "None";
  }
  if (value === true) {
    return "True";
  }
  if (value === false) {
    return "False";
  }
  if (typeof value === "string") {
    return reprString(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(pythonRepr).join(", ")}]`;
  }
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([key, item]) => `${reprString(key)}: ${pythonRepr(item)}`);
    return `{${entries.join(", ")}}`;
  }
  return String(value);
}

/** As `str()`: text stays as it is. */
export const pythonStr = (value: unknown): string => (typeof value === "string" ? value : pythonRepr(value));
