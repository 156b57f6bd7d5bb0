import { expect, test } from "vitest";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { driverLogger } from "../../../src/virt/driver-output.js";

function world() {
  const runtime = createVirtualRuntime();
  const { clock, timers } = runtime;
  const logger = driverLogger(runtime.logger, {
    driver: "loud",
    clock,
    timers,
    fields: () => ({ driver: "loud" }),
  });
  const messages = () => runtime.logs.map(({ message }) => message);
  return { runtime, logger, messages };
}

test("8.10 a driver that logs without end is limited, and the number of dropped lines is logged", async () => {
  const { runtime, logger, messages } = world();
  for (let line = 0; line < 10_000; line += 1) {
    logger.info(`line ${line}`);
  }
  expect(messages()).toHaveLength(200);
  expect(messages().at(-1)).toBe("line 199");
  await runtime.advance(1_000);
  expect(messages().at(-1)).toBe("driver loud logs too much: 9800 of its lines were dropped");
  expect(messages()).toHaveLength(201);
});

test("8.10 after a while it may log again, fifty lines a second, with a new count of dropped lines", async () => {
  const { runtime, logger, messages } = world();
  for (let line = 0; line < 300; line += 1) {
    logger.error("before");
  }
  await runtime.advance(2_000);
  for (let line = 0; line < 110; line += 1) {
    logger.child({ part: "x" }).warn("after");
  }
  await runtime.advance(1_000);
  expect(messages().filter((message) => message === "after")).toHaveLength(100);
  expect(messages().filter((message) => message.includes("were dropped"))).toEqual([
    "driver loud logs too much: 100 of its lines were dropped",
    "driver loud logs too much: 10 of its lines were dropped",
  ]);
});

test("8.10 trace and debug lines, which are rarely written, do not use up the budget of others", () => {
  const { logger, messages } = world();
  for (let line = 0; line < 1_000; line += 1) {
    logger.debug("detail");
    logger.trace("detail");
  }
  logger.warn("this matters");
  expect(messages()).toContain("this matters");
});
