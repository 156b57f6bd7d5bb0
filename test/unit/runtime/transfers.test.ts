import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Bytes, bytesIn, textIn } from "../../../src/runtime/http.js";
import { BYTES, type ServiceHandler } from "../../../src/runtime/http-server.js";
import { type Bench, benches } from "./both-runtimes.js";

async function* parts(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of chunks) {
    yield Buffer.from(text);
  }
}

async function* breaking(...chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  yield* parts(...chunks);
  throw new Error("the disk failed");
}

describe.each(benches)("bodies of bytes (%s)", (_name, openBench) => {
  let bench: Bench;
  let close: () => Promise<void> = async () => {};

  beforeEach(async () => {
    bench = await openBench();
  });
  afterEach(async () => {
    await bench.run(close());
    await bench.dispose();
  });

  async function listen(handler: ServiceHandler, limits = {}): Promise<string> {
    const listener = await bench.runtime.servers.listen({ port: 0, services: { "": handler }, limits });
    close = () => listener.close(0);
    return listener.url;
  }

  const put = (url: string, body: Bytes) =>
    bench.run(bench.runtime.transfers.send({ method: "PUT", url, headers: { "content-type": BYTES }, body }));

  it("are streamed to a service, beyond the size of any string, and back", async () => {
    let held = "";
    const url = await listen(
      async ({ method, bytes, body }) => {
        if (method === "GET") {
          return { status: 200, headers: { "content-type": BYTES }, body: "", bytes: parts(held, "!") };
        }
        expect(body).toBe("");
        held = await textIn(bytes ?? parts());
        return { status: 204, headers: {}, body: "" };
      },
      { bodyBytes: 10 },
    );
    expect((await put(url, parts("x".repeat(20), "yz"))).status).toBe(204);
    expect(held).toBe(`${"x".repeat(20)}yz`);
    const response = await bench.run(bench.runtime.transfers.send({ method: "GET", url }));
    expect(await bench.run(textIn(response.body))).toBe(`${held}!`);
    expect(await bench.run(bench.runtime.http.request({ method: "GET", url }))).toMatchObject({ body: `${held}!` });
  });

  it("that fail midway reject with their error, and the service is notified", async () => {
    let reportOutcome: (what: string) => void = () => {};
    const outcome = new Promise<string>((resolve) => {
      reportOutcome = resolve;
    });
    const url = await listen(async ({ bytes }) => {
      await bytesIn(bytes ?? parts()).then(
        () => reportOutcome("it took a part for all"),
        () => reportOutcome("broken"),
      );
      return { status: 204, headers: {}, body: "" };
    });
    await expect(put(url, breaking("a", "b"))).rejects.toThrow("the disk failed");
    expect(await bench.run(outcome)).toBe("broken");
  });

  it("of a response that fails midway throw after the data that arrived", async () => {
    let breakOff: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      breakOff = resolve;
    });
    async function* streamResponse(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a");
      await begun;
      throw new Error("the disk failed");
    }
    const url = await listen(async () => ({ status: 200, headers: {}, body: "", bytes: streamResponse() }));
    const { body } = await bench.run(bench.runtime.transfers.send({ method: "GET", url }));
    breakOff();
    await expect(bench.run(bytesIn(body))).rejects.toMatchObject({ name: "HttpConnectFailure" });
  });

  it("that a service does not read are discarded, and the client gets the response", async () => {
    const url = await listen(async () => ({ status: 409, headers: {}, body: "taken" }));
    const response = await put(url, parts("some", "thing"));
    expect([response.status, await bench.run(textIn(response.body))]).toEqual([409, "taken"]);
  });

  it("are produced lazily, as the reader requests parts", async () => {
    let made = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        made += 1;
        yield new Uint8Array(64 * 1024);
      }
    }
    const url = await listen(async () => ({ status: 200, headers: {}, body: "", bytes: endless() }));
    const { body } = await bench.run(bench.runtime.transfers.send({ method: "GET", url }));
    const first = await bench.run(body[Symbol.asyncIterator]().next());
    expect(first.done).toBe(false);
    // Only what fits into the buffers of both sockets has been produced.
    expect(made).toBeLessThan(400);
  });

  it("of a response in pieces of text arrive as one body, with its length", async () => {
    const pieces = ["ä", "b".repeat(200_000), "", "ü€", "c".repeat(100)];
    const url = await listen(() => ({ status: 200, headers: {}, body: "", pieces }));
    const response = await bench.run(bench.runtime.http.request({ method: "GET", url }));
    expect(response.body === pieces.join("")).toBe(true);
    const again = await bench.run(bench.runtime.http.request({ method: "GET", url }));
    expect(again.body.length).toBe(response.body.length);
  });

  it("end when the caller aborts them, and fail when there is no listener", async () => {
    const gone = new AbortController();
    const url = await listen(() => new Promise(() => {}));
    const waiting = bench.runtime.transfers.send({ method: "GET", url, signal: gone.signal });
    gone.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow("given up");
    const nobody = bench.runtime.transfers.send({ method: "GET", url: "http://127.0.0.1:1/" });
    await expect(bench.run(nobody)).rejects.toMatchObject({ name: "HttpConnectFailure", code: "ECONNREFUSED" });
  });

  it("without progress for too long are aborted", async () => {
    const url = await listen(() => new Promise(() => {}));
    const waiting = bench.runtime.transfers.send({ method: "GET", url, idle: 30 });
    await expect(bench.run(waiting)).rejects.toMatchObject({ name: "HttpTimeout", milliseconds: 30 });
  });
});
