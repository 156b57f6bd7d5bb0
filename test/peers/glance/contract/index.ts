import type { ContractCase } from "./client.js";
import { DATA_CASES } from "./data-cases.js";
import { IMAGE_CASES } from "./image-cases.js";
import { MEMBER_CASES } from "./member-cases.js";
import { METADEF_CASES } from "./metadef-cases.js";

/** The behaviour of Glance 25, tested with the real one and the embedded one. */
export const CONTRACT: Readonly<Record<string, readonly ContractCase[]>> = {
  images: IMAGE_CASES,
  bytes: DATA_CASES,
  members: MEMBER_CASES,
  "metadata definitions": METADEF_CASES,
};
