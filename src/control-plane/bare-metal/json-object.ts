import type { Json } from "../http/json.js";

export type JsonObject = { readonly [key: string]: Json };
