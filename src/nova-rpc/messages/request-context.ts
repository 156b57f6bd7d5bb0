import { isoSeconds } from "../objects/field-codec.js";

/** Nova's RequestContext as it travels: who asks, and for which request. By Nova's names, without `_context_`. */
export type NovaContext = Readonly<Record<string, unknown>>;

/** The context of what an agent does by itself. Of all this a conductor reads `is_admin`, `request_id` and `read_deleted`. */
export function adminContext(requestId: string, now: number): NovaContext {
  return {
    user: null,
    project_id: null,
    system_scope: null,
    project: null,
    domain: null,
    user_domain: null,
    project_domain: null,
    is_admin: true,
    read_only: false,
    show_deleted: false,
    auth_token: null,
    request_id: requestId,
    global_request_id: null,
    resource_uuid: null,
    roles: [],
    user_identity: "- - - - -",
    is_admin_project: true,
    user_id: null,
    read_deleted: "no",
    remote_address: null,
    timestamp: isoSeconds(now).replace("Z", ".000000"),
    quota_class: null,
    user_name: null,
    service_catalog: [],
    project_name: null,
  };
}

/** Deleted rows are found, too. */
export function readingDeleted(context: NovaContext): NovaContext {
  return { ...context, read_deleted: "yes" };
}

/** `req-<uuid>`; empty where there is none. */
export function requestIdOf({ request_id: id }: NovaContext): string {
  return typeof id === "string" ? id : "";
}
