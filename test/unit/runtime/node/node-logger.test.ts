import { describe, expect, it } from "vitest";
import { createNodeLogger, type NodeLoggerOptions } from "../../../../src/runtime/node/node-logger.js";

function capture(options: NodeLoggerOptions) {
  const lines: string[] = [];
  const logger = createNodeLogger({ ...options, destination: { write: (line) => void lines.push(line) } });
  return { logger, lines };
}

describe("the logger", () => {
  it("writes one JSON object per line, with the fields of its parents", () => {
    const { logger, lines } = capture({});
    logger.child({ host: "devstack1" }).info("evacuated", { instance: "uuid" });
    const [line = ""] = lines;
    expect(line.endsWith("\n")).toBe(true);
    expect(JSON.parse(line)).toMatchObject({ level: 30, host: "devstack1", instance: "uuid", message: "evacuated" });
  });

  it("writes entries in the given format, without secrets", () => {
    const { logger, lines } = capture({ format: ({ message, token }) => `${message} ${token}` });
    logger.info("x", { token: "hunter2" });
    expect(lines).toEqual(["x ****\n"]);
  });

  it("drops entries below its level", () => {
    const { logger, lines } = capture({ level: "warn" });
    logger.info("no");
    logger.warn("yes");
    expect(lines).toHaveLength(1);
  });
});
