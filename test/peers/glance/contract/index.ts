import type { ContractCase } from "./client.js";
import { DATA_CASES } from "./data-cases.js";
import { IMAGE_CASES } from "./image-cases.js";
import { MEMBER_CASES } from "./member-cases.js";
import { METADEF_CASES } from "./metadef-cases.js";

/** What a Glance 25 does: run against the real one, and against ours. */
export const CONTRACT: Readonly<Record<string, readonly ContractCase[]>> = {
  images: IMAGE_CASES,
  bytes: DATA_CASES,
  members: MEMBER_CASES,
  "metadata definitions": METADEF_CASES,
};
