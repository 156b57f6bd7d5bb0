import { expect, it } from "vitest";
import { isRequestMatch, requestWords } from "../../../../../src/dashboard/pages/model/filters.js";
import type { RequestRow } from "../../../../../src/dashboard/wire/rows.js";
import { serverRow } from "../../../../dashboard/support/generated-cluster.js";
import { requestRow } from "../../../../dashboard/support/scenes.js";

const vm1 = serverRow(5, 0);

function found(text: string, request: Partial<RequestRow>): boolean {
  const words = requestWords(text, [vm1, serverRow(1, 0)]);
  return isRequestMatch({ ...requestRow(0), ...request }, { words, service: "", changes: false, failed: false });
}

it("requests are found by a server's id or its name in path, request body and response body", () => {
  const made = { method: "POST", path: "/v2.1/servers", about: [vm1.uuid] };
  const read = { path: `/v2.1/servers/${vm1.uuid}`, about: [] };
  const other = { path: "/v2.1/servers/detail", about: [] };
  for (const text of [vm1.uuid, vm1.name, vm1.name.toUpperCase(), `post ${vm1.name}`]) {
    expect([text, found(text, made), found(text, other)]).toEqual([text, true, false]);
  }
  expect([found(vm1.name, read), found("vm2", read), found("", other)]).toEqual([true, false, true]);
});

it("requests are found by their own id and the id of the request that caused them", () => {
  const request = { requestId: "req-one", globalRequestId: "req-two" };
  expect([found("req-one", request), found("req-two", request), found("req-three", request)]).toEqual([
    true,
    true,
    false,
  ]);
});
