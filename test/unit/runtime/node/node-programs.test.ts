import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NodePrograms } from "../../../../src/runtime/node/node-processes.js";
import { nodeStreams } from "../../../../src/runtime/node/node-streams.js";
import { ProgramFailure } from "../../../../src/runtime/processes.js";
import { StreamFailure } from "../../../../src/runtime/streams.js";

const programs = new NodePrograms();
const streams = nodeStreams();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "programs-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe("programs of the machine", () => {
  test("run to their end and return their output and exit code", async () => {
    const argv = ["sh", "-c", 'echo "$PWD $GREETING"; echo oops >&2; exit 3'];
    expect(await programs.run({ argv, cwd: folder, env: { GREETING: "hello" } })).toEqual({
      code: 3,
      stdout: `${folder} hello\n`,
      stderr: "oops\n",
    });
    await expect(programs.run({ argv: ["no-such-program"] })).rejects.toThrow(ProgramFailure);
  });

  test("are killed when the signal of their run is aborted", async () => {
    const stop = new AbortController();
    const running = programs.run({ argv: ["sleep", "60"], signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
  });

  test("are killed with their descendants, which may keep their output open", async () => {
    const stop = new AbortController();
    const pidFile = join(folder, "pid");
    const script = `sleep 60 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`;
    const running = programs.run({ argv: ["sh", "-c", script], signal: stop.signal });
    const pid = Number(await contentsOf(pidFile));
    const sleeper = await programs.look(pid);
    expect(sleeper).toMatchObject({ pid });
    stop.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    await programs.ended({ pid, started: sleeper?.started ?? "" });
  });

  test("are identified by pid and start, end by a signal, and write to their log", async () => {
    const logFile = join(folder, "deep", "log");
    const argv = ["sh", "-c", "echo begun; exec sleep 60"];
    const started = await programs.start({ argv, cwd: folder, logFile });
    const { pid } = started;
    // Its arguments may change meanwhile: the shell becomes the sleep.
    const same = { pid, started: started.started };
    expect(await programs.look(pid)).toMatchObject(same);
    expect(await programs.signal({ pid, started: "another boot:1" }, "SIGKILL"), "another had the pid").toBe(false);
    expect(await programs.look(pid)).toMatchObject(same);
    await programs.signal(started, "SIGSTOP");
    await expect.poll(() => programs.look(pid)).toMatchObject({ ...same, suspended: true });
    await programs.signal(started, "SIGCONT");
    await expect.poll(async () => (await programs.look(pid))?.suspended).toBeUndefined();
    expect(await programs.signal(started, "SIGKILL")).toBe(true);
    await programs.ended(started);
    expect(await programs.look(pid)).toBeUndefined();
    expect(await programs.signal(started, "SIGKILL")).toBe(false);
    expect(await readFile(logFile, "utf8")).toMatch(/^(begun\n)?$/);
    await expect(programs.start({ argv: ["no-such-program"], logFile })).rejects.toThrow(
      "cannot start no-such-program",
    );
  });

  test("waiting for a program's end can be cancelled", async () => {
    const started = await programs.start({ argv: ["sleep", "60"], logFile: join(folder, "log") });
    const stop = new AbortController();
    const waiting = programs.ended(started, stop.signal);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await programs.signal(started, "SIGKILL");
  });
});

describe("streams", () => {
  test("transfer lines and bytes in both directions, and end", async () => {
    const path = join(folder, "socket");
    const server = createServer((socket) => {
      socket.write("first\r\nsec");
      socket.on("data", (bytes) => socket.end(`ond\n${bytes}`));
    }).listen(path);
    const stream = await streams.connect({ path });
    expect(await stream.readLine()).toBe("first");
    await stream.write("rest");
    expect(await stream.readLine()).toBe("second");
    expect(Buffer.from((await stream.read()) ?? []).toString()).toBe("rest");
    expect(await stream.read()).toBeNull();
    expect(await stream.readLine()).toBeNull();
    stream.close();
    server.close();
  });

  test("fail where there is no listener, and stop waiting when aborted", async () => {
    await expect(streams.connect({ path: join(folder, "nobody") })).rejects.toThrow(StreamFailure);
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise<void>((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const stream = await streams.connect({ host: "127.0.0.1", port });
    const stop = new AbortController();
    const reading = stream.readLine(stop.signal);
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    stream.close();
    server.close();
  });
});

/** Returns the contents of a file as soon as it exists. */
async function contentsOf(path: string): Promise<string> {
  for (;;) {
    try {
      return await readFile(path, "utf8");
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
