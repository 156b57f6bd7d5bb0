import type { SqlValue } from "../../database/database-file.js";
import { badRequest } from "../../http/http-error.js";
import { parseIsoTime } from "../../http/times.js";
import { and, type Condition, isOneOf, where } from "../../resources/condition.js";
import { booleanFromText } from "./schema-parts.js";

/** Converts the value of a query parameter to a condition. `{}` in the text is the table. */
export type Filter = (value: string, isLike: boolean) => Condition;

/** Compares a column; with `name~=`, finds a part of it. @param toValue converts the text. Default: unchanged */
export function equals(column: string, toValue: (text: string) => SqlValue = (text) => text): Filter {
  return (value, isLike) =>
    isLike
      ? { sql: `instr(lower(${column}), lower(?)) > 0`, values: [value] }
      : value.startsWith("[") && value.endsWith("]")
        ? isOneOf(
            column,
            [...value.slice(1, -1).split(",")].map((item) => toValue(item.trim().replace(/^['"]|['"]$/g, ""))),
          )
        : isOneOf(column, [toValue(value)]);
}

export const isBoolean = (column: string): Filter => equals(column, (text) => (booleanFromText(text) ? 1 : 0));

export function isNumber(column: string): Filter {
  return equals(column, (text) => (/^-?\d+$/.test(text) ? Number(text) : null));
}

/** Compares members of a JSON column with those of a Python dictionary: `{'k': 'v'}`. */
export function hasMembers(column: string): Filter {
  return (value) => {
    const members = [...value.matchAll(/u?(['"])(.*?)\1\s*:\s*u?(['"])(.*?)\3/g)];
    const conditions = members.map(([, , key = "", , text = ""]) => ({
      sql: `EXISTS (SELECT 1 FROM json_each(${column}) WHERE key = ? AND value = ?)`,
      values: [key, text],
    }));
    return conditions.length === 0 ? where`0` : and(...conditions);
  };
}

const OPERATORS: Readonly<Record<string, string>> = { gt: ">", gte: ">=", eq: "=", neq: "<>", lt: "<", lte: "<=" };

/** Compares times: `gt:2026-11-21T12:00:00,lt:2026-11-22`. */
export function comparesTime(column: string): Filter {
  return (value) =>
    and(
      ...value.split(",").map((part) => {
        const [name = "", ...rest] = part.split(":");
        const operator = OPERATORS[name];
        if (operator === undefined) {
          throw badRequest(`Invalid ${name} operator`);
        }
        const text = rest.join(":");
        const time = parseIsoTime(text);
        if (time === undefined) {
          throw badRequest(`Invalid ${text} value`);
        }
        return { sql: `${column} ${operator} ?`, values: [Math.floor(time)] };
      }),
    );
}
