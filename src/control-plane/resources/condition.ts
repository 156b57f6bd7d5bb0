import type { SqlValue } from "../database/database-file.js";

/** A piece of SQL with its values, for a WHERE clause. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Matches every row. */
export const EVERY: Condition = { sql: "1", values: [] };

/** Matches no row. */
export const NONE: Condition = { sql: "0", values: [] };

/** Creates a condition from a template: ``where`device_id = ${id}` ``. The text is SQL; only the values are data. */
export function where(strings: TemplateStringsArray, ...values: SqlValue[]): Condition {
  return { sql: strings.join("?"), values };
}

/** Matches rows whose expression is one of the values. @param expression fixed SQL, such as a column */
export function isOneOf(expression: string, values: readonly SqlValue[]): Condition {
  const [only] = values;
  if (values.length === 1 && only !== undefined) {
    return { sql: `${expression} IS ?`, values: [only] };
  }
  const list = `${expression} IN (SELECT value FROM json_each(?))`;
  const known = JSON.stringify(values.filter((value) => value !== null));
  return { sql: values.includes(null) ? `(${list} OR ${expression} IS NULL)` : list, values: [known] };
}

export function and(...conditions: readonly Condition[]): Condition {
  return joined(
    conditions.filter(({ sql }) => sql !== EVERY.sql),
    " AND ",
    EVERY,
  );
}

export function or(...conditions: readonly Condition[]): Condition {
  if (conditions.some(({ sql }) => sql === EVERY.sql)) {
    return EVERY;
  }
  return joined(
    conditions.filter(({ sql }) => sql !== NONE.sql),
    " OR ",
    NONE,
  );
}

export function not({ sql, values }: Condition): Condition {
  return { sql: `NOT (${sql})`, values };
}

function joined(conditions: readonly Condition[], operator: string, empty: Condition): Condition {
  const [only] = conditions;
  if (conditions.length < 2) {
    return only ?? empty;
  }
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(operator),
    values: conditions.flatMap(({ values }) => values),
  };
}
