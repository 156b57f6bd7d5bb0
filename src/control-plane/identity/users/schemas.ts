import { Type } from "typebox";
import { BOOLEAN, changes, ID, members, NAME, OPTIONS, orNull, TEXT } from "../api/schema-parts.js";

const USER = {
  default_project_id: orNull(ID),
  description: orNull(TEXT),
  domain_id: ID,
  enabled: BOOLEAN,
  password: orNull(TEXT),
  options: OPTIONS,
};

export const CREATE_USER = members({ name: NAME }, USER);
export const UPDATE_USER = changes({ name: NAME, ...USER });

export const CHANGE_PASSWORD = Type.Object(
  { original_password: TEXT, password: TEXT },
  { additionalProperties: false },
);
