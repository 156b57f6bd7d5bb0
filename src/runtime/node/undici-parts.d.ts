// The files of undici that are loaded one by one: as a whole it takes longer to load than all else at the start of a program.
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export = Pool;
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  /** What `Dispatcher.prototype.request` is. */
  function request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  export = request;
}

declare module "undici/lib/core/errors.js" {
  import { errors } from "undici";
  export = errors;
}
