import { effect } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { Cluster, Feed } from "../../../../../src/dashboard/pages/model/cluster.js";
import type { DashboardMessage } from "../../../../../src/dashboard/wire/messages.js";

function heartbeat(seq: number, at: number): DashboardMessage {
  return { seq, at, set: [{ kind: "heartbeat", key: "devstack1", value: at }], gone: [] };
}

/** Creates a cluster with frames triggered by the test, and a clock that advances with each reading. */
function fedCluster(msPerLook: number) {
  const frames: (() => void)[] = [];
  let now = 0;
  const cluster = new Cluster();
  const clock = () => {
    now += msPerLook;
    return now;
  };
  const feed = new Feed(cluster, { nextFrame: (call) => frames.push(call), clock });
  return { cluster, feed, frames };
}

describe("the feed of a page", () => {
  it("renders once for all messages between two frames", () => {
    const { cluster, feed, frames } = fedCluster(0);
    const drawn: (number | null | undefined)[] = [];
    effect(() => {
      drawn.push(cluster.tables.heartbeat.get("devstack1"));
    });
    for (let seq = 1; seq <= 300; seq++) {
      feed.message(heartbeat(seq, seq));
    }
    expect(frames).toHaveLength(1);
    frames.shift()?.();
    expect(drawn).toEqual([undefined, 300]);
    expect(frames).toHaveLength(0);
  });

  it("continues long work in the next frame, in order", () => {
    const { cluster, feed, frames } = fedCluster(5);
    for (let seq = 1; seq <= 1_000; seq++) {
      feed.message(heartbeat(seq, seq));
    }
    feed.ready();
    frames.shift()?.();
    expect(cluster.ready.value).toBe(false);
    expect(frames).toHaveLength(1);
    while (frames.length > 0) {
      frames.shift()?.();
    }
    expect(cluster.tables.heartbeat.get("devstack1")).toBe(1_000);
    expect(cluster.ready.value).toBe(true);
  });
});
