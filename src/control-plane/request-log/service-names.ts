/** What each service is called in logs and metrics, by its mount point. */
export const SERVICE_NAMES = {
  "/identity": "identity",
  "/compute": "compute-api",
  "/image": "image",
  "/network": "network",
  "/placement": "placement",
  "/baremetal": "ironic",
} as const;

export type ServiceName = (typeof SERVICE_NAMES)[keyof typeof SERVICE_NAMES];

/** Undefined: no service is mounted there. */
export function serviceNameOf(mount: string): ServiceName | undefined {
  return (SERVICE_NAMES as Readonly<Record<string, ServiceName>>)[mount];
}
