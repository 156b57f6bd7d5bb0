import { expect, it } from "vitest";
import type { HttpRequest } from "../../../src/runtime/http.js";
import { PlacementBench } from "./bench.js";

it.each([
  [{ timeout: 5_000 }, 5_000],
  [{}, undefined],
])("[placement] timeout applies to every request: %j", async (config, expected) => {
  const bench = new PlacementBench();
  const requests: HttpRequest[] = [];
  const ask = bench.http.request.bind(bench.http);
  bench.http.request = (request) => {
    requests.push(request);
    return ask(request);
  };
  await bench.client(config).getAllocationsForConsumer(bench.runtime.random.uuid());
  expect(requests.map(({ timeout }) => timeout)).toEqual([expected]);
});
