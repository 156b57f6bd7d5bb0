import { describe, expect, it } from "vitest";
import { createLogger, type LoggerOptions } from "../../../../src/cli/ui/create-logger.js";

function capture(options: LoggerOptions) {
  const lines: string[] = [];
  const logger = createLogger({ ...options, destination: { write: (line) => void lines.push(line) } });
  return { logger, lines };
}

describe("the logger of a program", () => {
  it("writes lines as OpenStack's services do", () => {
    const { logger, lines } = capture({ format: "pretty" });
    logger.warn("guest is gone", {
      request_id: "req-1",
      instance: "i-1",
      host: "devstack1",
      note: "two words",
      count: 3,
    });
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ WARNING \[req-1\] \[instance: i-1\] guest is gone host=devstack1 note="two words" count=3\n$/,
    );
  });

  it("escapes control characters and line breaks", () => {
    const { logger, lines } = capture({ format: "pretty" });
    const evil = "x\u001b[2J\n2026-01-01 INFO all is well\u009b1A";
    logger.warn(`about ${evil}`, {
      request_id: evil,
      instance: evil,
      host: evil,
      list: [evil],
      err: new RangeError(evil),
    });
    logger.error(evil, { err: new RangeError(evil) });
    expect(lines[0]).toMatch(/^[ -~]*\n$/);
    expect(lines[0]).toContain("about x\\u001b[2J\\n2026-01-01 INFO all is well\\u009b1A");
    expect(lines[1]).toMatch(/^[ -~\n]*$/);
  });

  it("writes the stack of an error only at debug and error level", () => {
    const { logger, lines } = capture({ format: "pretty" });
    logger.warn("first", { err: new RangeError("too far") });
    logger.error("second", { err: new RangeError("too far") });
    expect(lines[0]).toMatch(/ WARNING first RangeError: too far\n$/);
    expect(lines[1]).toMatch(/ ERROR second RangeError: too far\nRangeError: too far\n {4}at /);
  });

  it.each(["json", "pretty"] as const)("never writes secrets (%s)", (format) => {
    const { logger, lines } = capture({ format });
    const secret = "hunter2";
    logger.info("x", {
      password: secret,
      token: secret,
      headers: { "x-auth-token": secret },
      auth: { password: secret },
    });
    logger.child({ join_token: secret }).info("y");
    expect(lines.join("")).not.toContain(secret);
    expect(lines[0]).toContain("****");
  });
});
