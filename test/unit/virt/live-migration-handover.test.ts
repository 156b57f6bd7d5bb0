import { describe, expect, test, vi } from "vitest";
import type { DriverHostOptions } from "../../../src/virt/driver-host.js";
import { VirtDriverMisbehaved, VirtDriverTimeout } from "../../../src/virt/errors.js";
import type { LiveMigrationOptions, LiveMigrationProgress } from "../../../src/virt/index.js";
import { hostOf, instanceOf } from "./fixtures.js";

const instance = instanceOf();
const PROGRESS: LiveMigrationProgress = {
  memoryTotal: 100,
  memoryProcessed: 40,
  memoryRemaining: 60,
  diskTotal: 0,
  diskProcessed: 0,
  diskRemaining: 0,
};

/** Starts a live migration with this driver method. */
async function migration(
  liveMigration: (options: Required<LiveMigrationOptions>) => Promise<unknown>,
  { changes = {}, ...hostOptions }: DriverHostOptions & { readonly changes?: Partial<LiveMigrationOptions> } = {},
) {
  const { host, runtime } = await hostOf(
    { liveMigration: (_: unknown, __: unknown, options: Required<LiveMigrationOptions>) => liveMigration(options) },
    hostOptions,
  );
  const postMethod = vi.fn(async () => {});
  const recoverMethod = vi.fn(async () => {});
  const onProgress = vi.fn();
  const ended = host
    .liveMigration(instance, "devstack2", {
      blockMigration: false,
      data: { blockMigration: false, sharedInstanceFiles: true },
      onProgress,
      postMethod,
      recoverMethod,
      ...changes,
    })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
  return { runtime, postMethod, recoverMethod, onProgress, ended, logs: () => runtime.logs };
}

describe("8.3 exactly one of the two callbacks, exactly once", () => {
  test("postMethod is passed on and awaited", async () => {
    let release = () => {};
    const { runtime, ended, recoverMethod } = await migration(({ postMethod }) => postMethod(), {
      changes: {
        postMethod: () =>
          new Promise((resolve) => {
            release = resolve;
          }),
      },
    });
    let over = false;
    void ended.then(() => {
      over = true;
    });
    await runtime.advance(0);
    expect(over).toBe(false);
    release();
    expect(await ended).toBeUndefined();
    expect(recoverMethod).not.toHaveBeenCalled();
  });

  test.each(["failed", "cancelled"] as const)("recoverMethod is passed on with %s", async (status) => {
    const { ended, postMethod, recoverMethod } = await migration((options) => options.recoverMethod({ status }));
    expect(await ended).toBeUndefined();
    expect(recoverMethod.mock.calls).toEqual([[{ status }]]);
    expect(postMethod).not.toHaveBeenCalled();
  });

  test("a driver that returns and called neither: the message names the rule", async () => {
    const { ended } = await migration(async () => {});
    const error = await ended;
    expect(error).toBeInstanceOf(VirtDriverMisbehaved);
    expect(String(error)).toContain(
      "driver broken: liveMigration must call exactly one of postMethod and recoverMethod, exactly once, but it returned " +
        "without calling either",
    );
  });

  test.each<[string, (options: Required<LiveMigrationOptions>) => Promise<void>]>([
    ["recoverMethod after postMethod", ({ recoverMethod }) => recoverMethod({ status: "failed" })],
    ["postMethod after postMethod", ({ postMethod }) => postMethod()],
  ])("%s is rejected, and the first callback counts", async (found, second) => {
    let rejection: unknown;
    const { ended, postMethod, recoverMethod, logs } = await migration(async (options) => {
      await options.postMethod();
      await second(options).catch((error: unknown) => {
        rejection = error;
        throw error;
      });
    });
    expect(await ended).toBeUndefined();
    expect(postMethod).toHaveBeenCalledOnce();
    expect(recoverMethod).not.toHaveBeenCalled();
    expect(String(rejection)).toContain(`exactly once, but it called ${found}`);
    expect(logs()).toMatchObject([{ level: "error", message: expect.stringContaining("exactly once, but it called") }]);
  });

  test("both at the same time: only one is passed on", async () => {
    const { ended, postMethod, recoverMethod } = await migration(async ({ postMethod, recoverMethod }) => {
      await Promise.allSettled([recoverMethod({ status: "failed" }), postMethod()]);
    });
    expect(await ended).toBeUndefined();
    expect(recoverMethod).toHaveBeenCalledOnce();
    expect(postMethod).not.toHaveBeenCalled();
  });
});

describe("errors and time", () => {
  test("the driver's error before a callback is thrown", async () => {
    const own = new Error("libvirt is gone");
    const { ended, postMethod, recoverMethod } = await migration(() => Promise.reject(own));
    expect(await ended).toBe(own);
    expect(postMethod).not.toHaveBeenCalled();
    expect(recoverMethod).not.toHaveBeenCalled();
  });

  test("the callback's error is thrown, whether the driver propagates it or not", async () => {
    const own = new Error("the destination does not answer");
    const changes = { postMethod: () => Promise.reject(own) };
    const passing = await migration(({ postMethod }) => postMethod(), { changes });
    expect(await passing.ended).toBe(own);
    expect(passing.logs()).toEqual([]);
    const swallowing = await migration(({ postMethod }) => postMethod().catch(() => {}), { changes });
    expect(await swallowing.ended).toBe(own);
  });

  test("the driver's error after a callback is logged, and changes nothing", async () => {
    const { ended, logs } = await migration(async ({ postMethod }) => {
      await postMethod();
      throw new Error("cannot tidy up");
    });
    expect(await ended).toBeUndefined();
    expect(logs()).toMatchObject([
      { level: "error", message: "driver broken: liveMigration failed after its postMethod, whose outcome is final" },
    ]);
  });

  test("a driver that hangs before its callback is abandoned, and may no longer call back", async () => {
    let late: (() => Promise<void>) | undefined;
    const { runtime, ended, postMethod, logs } = await migration(
      ({ postMethod }) => {
        late = postMethod;
        return new Promise(() => {});
      },
      { timeouts: { liveMigration: 1_000 }, grace: 100 },
    );
    await runtime.advance(1_100);
    expect(await ended).toBeInstanceOf(VirtDriverTimeout);
    await expect(late?.()).rejects.toThrow(/but it called postMethod after it was abandoned/);
    expect(postMethod).not.toHaveBeenCalled();
    expect(logs()).toMatchObject([{ message: expect.stringContaining("after it was abandoned") }]);
  });

  test("the timeout and the caller's signal do not apply after the callback: its time is the core's own", async () => {
    const controller = new AbortController();
    let stopped = false;
    const { runtime, ended } = await migration(
      ({ postMethod, signal }) => {
        signal.addEventListener("abort", () => {
          stopped = true;
        });
        return postMethod();
      },
      {
        timeouts: { liveMigration: 1_000 },
        grace: 100,
        changes: { signal: controller.signal, postMethod: () => new Promise(() => {}) },
      },
    );
    let over = false;
    void ended.then(() => {
      over = true;
    });
    await runtime.advance(500);
    controller.abort(new Error("stop"));
    await runtime.advance(5_000);
    expect(stopped).toBe(false);
    expect(over).toBe(false);
  });

  test("a driver that does not return after its callback is not waited for", async () => {
    const { runtime, ended, logs } = await migration(
      async ({ postMethod }) => {
        await postMethod();
        return new Promise(() => {});
      },
      { grace: 100 },
    );
    await runtime.advance(100);
    expect(await ended).toBeUndefined();
    expect(logs()).toMatchObject([
      { message: "driver broken: liveMigration has called back but did not return in time; not waiting for it" },
    ]);
  });
});

describe("progress", () => {
  test("is reported until the callback", async () => {
    const { ended, onProgress } = await migration(async ({ onProgress, postMethod }) => {
      onProgress(PROGRESS);
      const post = postMethod();
      onProgress({ ...PROGRESS, memoryProcessed: 100 });
      await post;
    });
    await ended;
    expect(onProgress.mock.calls).toEqual([[PROGRESS]]);
  });

  test("invalid values and listener errors are logged and do not reach the driver", async () => {
    const { ended, logs } = await migration(
      async ({ onProgress, postMethod }) => {
        onProgress({ ...PROGRESS, memoryTotal: Number.NaN });
        onProgress(PROGRESS);
        await postMethod();
      },
      {
        changes: {
          onProgress: () => {
            throw new Error("the conductor is away");
          },
        },
      },
    );
    expect(await ended).toBeUndefined();
    expect(logs().map(({ message }) => message)).toEqual([
      "driver broken: a progress report of a live migration is dropped",
      "driver broken: a progress report of a live migration is dropped",
    ]);
  });
});
