import type { ActionBody } from "./messages.js";

/** `[--host {dest}]` is omitted if its field is empty. */
const PART = /\[([^\]]*)\]/g;

/** `{host}` is replaced by the value of a field. */
const FIELD = /\{(\w+)\}/g;

export function isEmptyValue(value: string | boolean | undefined): boolean {
  return value === undefined || value === "" || value === false;
}

/**
 * Fills the values of fields into a command line of an action.
 * @param format returns the text of a value
 * @param placeholder returns the text of a required field without a value
 */
export function fillCommand(
  line: string,
  body: ActionBody,
  format: (value: string) => string,
  placeholder: (field: string) => string,
): string {
  const fieldValue = (name: string) => (Object.hasOwn(body, name) ? body[name] : undefined);
  return line
    .replace(PART, (_, part: string) =>
      [...part.matchAll(FIELD)].some(([, name = ""]) => isEmptyValue(fieldValue(name))) ? "" : part,
    )
    .replace(FIELD, (field, name: string) => {
      const value = fieldValue(name);
      if (value === true) {
        return "";
      }
      return isEmptyValue(value) ? placeholder(field) : format(String(value));
    })
    .replace(/ {2,}/g, " ")
    .trim();
}
