import { badRequest, type HttpError, notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import type { SchemaVersions } from "../../http/schemas.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "./block-storage-call.js";
import { ACCEPTED } from "./resource-routes.js";

/** An action of a record: `POST /volumes/{id}/action` with a body of its name. */
export interface Action<R> {
  /** First minor microversion. */
  readonly from?: number;
  readonly body?: SchemaVersions<unknown>;
  /** Changes the record. Default response: 202 without a body. An error that it returns keeps the changes. */
  readonly run: (call: BlockStorageCall, record: R, input: Body) => RouteResponse | HttpError | undefined;
}

/** Creates the route of a resource's actions. @param find returns the record of the path, or rejects the request */
export function actionRoute<R>(
  path: string,
  from: number,
  find: (call: BlockStorageCall, action: string) => R,
  actions: Readonly<Record<string, Action<R>>>,
): BlockStorageRoute {
  return {
    method: "POST",
    path,
    from,
    actions,
    handle: (call) => {
      const body = call.json();
      const [name, ...others] = Object.keys(body);
      if (name === undefined || others.length > 0) {
        throw badRequest("Malformed request body");
      }
      const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
      if (action === undefined) {
        throw badRequest(
          `There is no such action: ${name}. Verify the request body and Content-Type header and try again.`,
        );
      }
      if (call.version < (action.from ?? 0)) {
        throw notFound();
      }
      const input: Json | undefined = (action.body ? (call.body(action.body) as Body) : body)[name];
      const values = typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Body) : {};
      return action.run(call, find(call, name), values) ?? ACCEPTED;
    },
  };
}
