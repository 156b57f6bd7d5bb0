import { Type } from "typebox";
import { BOOLEAN, changes, ID, members, OPTIONS, orNull, SHORT_NAME, TEXT } from "../api/schema-parts.js";

export const TAG = Type.String({ minLength: 1, maxLength: 255, pattern: "^[^,/]*$" });
export const TAGS = Type.Array(TAG, { maxItems: 80, uniqueItems: true });

const PROJECT = {
  description: orNull(TEXT),
  domain_id: orNull(ID),
  enabled: BOOLEAN,
  is_domain: BOOLEAN,
  parent_id: orNull(ID),
  tags: TAGS,
  options: OPTIONS,
};

export const CREATE_PROJECT = members({ name: SHORT_NAME }, PROJECT);
export const UPDATE_PROJECT = changes({ name: SHORT_NAME, ...PROJECT });

const DOMAIN = {
  description: orNull(TEXT),
  enabled: BOOLEAN,
  tags: TAGS,
  options: OPTIONS,
};

export const CREATE_DOMAIN = members({ name: SHORT_NAME }, DOMAIN);
export const UPDATE_DOMAIN = changes({ name: SHORT_NAME, ...DOMAIN });
