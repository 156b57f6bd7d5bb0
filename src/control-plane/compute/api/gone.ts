import { HttpError } from "../../http/http-error.js";
import type { ComputeRoute } from "./call.js";

/** Paths of removed APIs by method. Nova still has them and responds with 410. */
const GONE: Readonly<Record<string, readonly ComputeRoute["method"][]>> = {
  "/os-agents": ["GET", "POST"],
  "/os-agents/:id": ["PUT", "DELETE"],
  "/os-cells": ["GET", "POST"],
  "/os-cells/capacities": ["GET"],
  "/os-cells/detail": ["GET"],
  "/os-cells/info": ["GET"],
  "/os-cells/sync_instances": ["POST"],
  "/os-cells/:id": ["GET", "PUT", "DELETE"],
  "/os-cells/:id/capacities": ["GET"],
  "/os-certificates": ["POST"],
  "/os-certificates/:id": ["GET"],
  "/os-cloudpipe": ["GET", "POST"],
  "/os-cloudpipe/:id": ["PUT"],
  "/os-fixed-ips/:id": ["GET"],
  "/os-fixed-ips/:id/action": ["POST"],
  "/os-floating-ip-dns": ["GET"],
  "/os-floating-ip-dns/:id": ["PUT", "DELETE"],
  "/os-floating-ip-dns/:domain/entries/:id": ["GET", "PUT", "DELETE"],
  "/os-floating-ips-bulk": ["GET", "POST"],
  "/os-floating-ips-bulk/:id": ["GET", "PUT"],
  "/os-fping": ["GET"],
  "/os-fping/:id": ["GET"],
  "/os-networks/add": ["POST"],
  "/os-networks/:id/action": ["POST"],
  "/os-security-group-default-rules": ["GET", "POST"],
  "/os-security-group-default-rules/:id": ["GET", "DELETE"],
  "/servers/:id/consoles": ["GET", "POST"],
  "/servers/:id/consoles/:console": ["GET", "DELETE"],
  "/servers/:id/os-virtual-interfaces": ["GET"],
};

export function gone(): HttpError {
  return new HttpError(410, "This resource is no longer available. No forwarding address is given.");
}

export const GONE_ROUTES: readonly ComputeRoute[] = Object.entries(GONE).flatMap(([path, methods]) =>
  methods.map((method) => ({
    method,
    path,
    handle: () => {
      throw gone();
    },
  })),
);
