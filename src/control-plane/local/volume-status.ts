import type { CloudSession } from "./cloud-session.js";

/** The volumes of a cluster. */
export interface VolumeStatus {
  readonly volumes: number;
  readonly inUse: number;
  readonly inError: number;
  /** The sum of their sizes in GiB. */
  readonly size: number;
}

interface VolumeView {
  readonly id: string;
  readonly status: string;
  readonly size: number;
}

/** The first microversion of Block Storage. */
const VERSION = "3.0";

/** Page size of requests for volumes. */
const PAGE = 1000;

/** Reads the volumes of all projects, a request for each page. */
export async function volumeStatus(session: CloudSession): Promise<VolumeStatus> {
  const found: VolumeView[] = [];
  for (let marker = ""; ; ) {
    const path = `/volumes/detail?all_tenants=1&limit=${PAGE}${marker}`;
    const { volumes } = (await session.request("block-storage", "GET", path, VERSION)) as {
      readonly volumes: readonly VolumeView[];
    };
    found.push(...volumes);
    if (volumes.length < PAGE) {
      break;
    }
    marker = `&marker=${volumes.at(-1)?.id}`;
  }
  return {
    volumes: found.length,
    inUse: found.filter(({ status }) => status === "in-use").length,
    inError: found.filter(({ status }) => status.startsWith("error")).length,
    size: found.reduce((sum, { size }) => sum + size, 0),
  };
}
