import type { ActionBody, DashboardAction } from "../../wire/actions.js";

/** `[--host {dest}]` is left out where its field is empty. */
const PART = /\[([^\]]*)\]/g;
const FIELD = /\{(\w+)\}/g;

/** The command lines of an action with what its fields say; a field that still waits for its value stays as `{host}`. */
export function commandsOf({ commands }: DashboardAction, body: ActionBody): readonly string[] {
  return commands.map((command) =>
    command
      .replace(PART, (_, part: string) =>
        [...part.matchAll(FIELD)].some(([, name = ""]) => isEmpty(body[name])) ? "" : part,
      )
      .replace(FIELD, (match, name: string) => {
        const value = body[name];
        return value === true ? "" : isEmpty(value) ? match : quoted(String(value));
      })
      .replace(/ {2,}/g, " ")
      .trim(),
  );
}

/** What is missing before it can be sent; "": nothing. */
export function missingOf({ fields }: DashboardAction, body: ActionBody): string {
  const missing = fields.filter(({ name, required, type }) => required && type !== "flag" && isEmpty(body[name]));
  return missing.map(({ label }) => label).join(", ");
}

function isEmpty(value: string | boolean | undefined): boolean {
  return value === undefined || value === "" || value === false;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
