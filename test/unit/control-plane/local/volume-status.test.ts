import { expect, it } from "vitest";
import { volumeLine } from "../../../../src/cli/cluster/status.js";
import type { CloudSession } from "../../../../src/control-plane/local/cloud-session.js";
import { volumeStatus } from "../../../../src/control-plane/local/volume-status.js";

function sessionOf(statuses: readonly string[], sent: string[] = []): CloudSession {
  const volumes = statuses.map((status, index) => ({ id: `v${index}`, status, size: 2 }));
  return {
    request: async (service, _method, path) => {
      sent.push(`${service} ${path}`);
      const { searchParams } = new URL(path, "http://x");
      const start = volumes.findIndex(({ id }) => id === searchParams.get("marker")) + 1;
      return { volumes: volumes.slice(start, start + Number(searchParams.get("limit"))) };
    },
  };
}

it("volumes of all projects are counted by their use, with the sum of their sizes", async () => {
  const status = await volumeStatus(sessionOf(["available", "in-use", "in-use", "error_deleting"]));
  expect(status).toEqual({ volumes: 4, inUse: 2, inError: 1, size: 8 });
  expect(volumeLine(status)).toBe("volumes: 4, in use: 2, in error: 1, size: 8 GiB");
});

it("a cluster without failed volumes does not mention errors", async () => {
  expect(volumeLine(await volumeStatus(sessionOf([])))).toBe("volumes: 0, in use: 0, size: 0 GiB");
});

it("volumes are read in pages", async () => {
  const sent: string[] = [];
  const statuses = Array.from({ length: 1_001 }, () => "in-use");
  expect(await volumeStatus(sessionOf(statuses, sent))).toMatchObject({ volumes: 1_001, inUse: 1_001 });
  expect(sent).toEqual([
    "block-storage /volumes/detail?all_tenants=1&limit=1000",
    "block-storage /volumes/detail?all_tenants=1&limit=1000&marker=v999",
  ]);
});
