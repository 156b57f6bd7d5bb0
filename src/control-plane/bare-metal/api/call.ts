import type { ServiceRequest } from "../../../runtime/service.js";
import type { Query } from "../../http/request.js";

/** One request on its way to a route. */
export interface IronicCall {
  readonly request: ServiceRequest;
  /** Minor version that is answered in. */
  readonly minor: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed body; `{}` without one. */
  readonly body: unknown;
  /** The service's root as the client addressed it, without a slash: for links. */
  readonly root: string;
}

export interface IronicResponse {
  readonly status?: number;
  /** Absent: no content. */
  readonly body?: unknown;
  readonly location?: string;
}

export interface IronicRoute {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  /** The first minor version that has it; before it the path is unknown. */
  readonly from?: number;
  handle(call: IronicCall): IronicResponse | Promise<IronicResponse>;
}

export interface Link {
  readonly href: string;
  readonly rel: string;
}

/** @param path `nodes/<uuid>` */
export function links(root: string, path: string): readonly Link[] {
  return [
    { href: `${root}/v1/${path}`, rel: "self" },
    { href: `${root}/${path}`, rel: "bookmark" },
  ];
}
