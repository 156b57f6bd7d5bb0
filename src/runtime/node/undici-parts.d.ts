// Modules of undici that are imported individually. With all of undici, each start of a program takes 45 ms more, a quarter
// of the processor time until an agent has read its configuration, and an agent takes 4 MB more.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export = Pool;
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  /** `Dispatcher.prototype.request`. */
  function request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  export = request;
}

declare module "undici/lib/core/errors.js" {
  import { errors } from "undici";
  export = errors;
}
