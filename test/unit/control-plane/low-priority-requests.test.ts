import { expect, test } from "vitest";
import { isLowPriority } from "../../../src/control-plane/event-loop.js";

test.each([
  ["GET", "/placement", "/allocations/c0ffee", false],
  ["GET", "/placement", "/resource_providers/c0ffee/inventories", false],
  ["GET", "/placement", "/resource_providers", true],
  ["GET", "/placement", "/allocation_candidates", true],
  ["GET", "/placement", "/resource_providers/", true],
  ["PUT", "/placement", "/allocations/c0ffee", false],
  ["POST", "/placement", "/allocations", false],
  ["GET", "/baremetal", "/v1/nodes", true],
  ["PUT", "/baremetal", "/v1/nodes/c0ffee/states/provision", false],
  ["POST", "/compute", "/v2.1/servers", true],
  ["GET", "/image", "/v2/images/c0ffee", true],
])("%s %s%s waits for what agents say: %s", (method, mount, path, waits) => {
  expect(isLowPriority({ method, path }, mount)).toBe(waits);
});
