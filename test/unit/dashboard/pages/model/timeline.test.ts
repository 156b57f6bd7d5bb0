import { describe, expect, it } from "vitest";
import { axisOf, timelineOf } from "../../../../../src/dashboard/pages/model/timeline.js";
import { hostName, lifeOf, providerUuid, START, serverRow } from "../../../../dashboard/support/generated-cluster.js";

const NAMES = new Map([3, 4, 5].map((host) => [providerUuid(host), hostName(host)]));

describe("the axis of a timeline", () => {
  it("keeps the order, and shows milliseconds beside hours", () => {
    const axis = axisOf([0, 100, 200, 7_200_000, 7_200_100]);
    const places = [0, 100, 200, 7_200_000, 7_200_100].map((at) => axis.place(at));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places.at(0)).toBe(0);
    expect(places.at(-1)).toBe(100);
    expect((places[1] ?? 0) - (places[0] ?? 0)).toBeGreaterThan(5);
  });

  it("has a position for a single moment and for none", () => {
    expect(axisOf([5]).place(5)).toBe(0);
    expect(axisOf([]).place(5)).toBe(0);
  });
});

describe("the timeline of a server", () => {
  const life = lifeOf(serverRow(12, 3));
  const { lanes } = timelineOf(life, (uuid) => NAMES.get(uuid) ?? null, START + 5_000_000);
  const lane = (label: string) => lanes.find((one) => one.label === label);

  it("draws a move as two rows, with the allocations of each consumer", () => {
    const source = lane(`migration's allocations on ${hostName(4)}`)?.stretches.at(0);
    const dest = lane(`allocations on ${hostName(5)}`)?.stretches.at(0);
    expect(source).toMatchObject({ tone: "migration", title: expect.stringContaining("VCPU 1, MEMORY_MB 512") });
    expect(dest).toMatchObject({ tone: "server", title: expect.stringContaining("MEMORY_MB 2048") });
    expect(source?.from).toBe(dest?.from);
  });

  it("ends allocations on the evacuated host when that host has cleaned up", () => {
    const [first] = lane(`allocations on ${hostName(3)}`)?.stretches ?? [];
    const [second] = lane(`allocations on ${hostName(4)}`)?.stretches ?? [];
    const end = (first?.from ?? 0) + (first?.width ?? 0);
    expect(end).toBeGreaterThan(second?.from ?? 100);
    expect(end).toBeLessThan(100);
  });

  it("extends current intervals to the end, also if the page's clock is slow", () => {
    const behind = timelineOf(life, (uuid) => NAMES.get(uuid) ?? null, START + 4_000_100);
    const held = behind.lanes.find(({ label }) => label === `allocations on ${hostName(5)}`)?.stretches[0];
    expect((held?.from ?? 0) + (held?.width ?? 0)).toBeCloseTo(100);
  });

  describe("allocations before the first observation", () => {
    const consumer = {
      ...life.consumers[0],
      uuid: life.server.uuid,
      type: "server",
      held: { [providerUuid(3)]: { VCPU: 1 } },
    };
    const server = { ...life.server, createdAt: START, updatedAt: START + 900_000 };
    const none = { ...life, server, actions: [], migrations: [], hosts: [], states: [], history: [] };
    const drawn = (more: object) => {
      const timeline = timelineOf(
        { ...none, ...more } as typeof life,
        (uuid) => NAMES.get(uuid) ?? null,
        START + 2_000_000,
      );
      const allocations = timeline.lanes.filter(({ label }) => label.includes("allocations"));
      return allocations.flatMap(({ stretches }) =>
        stretches.map(({ tone, label, from, width }) => [tone, label, Math.round(from), Math.round(from + width)]),
      );
    };
    const tones = (more: object) => drawn(more).map(([tone]) => tone);

    it("are drawn as such from the server's creation to that observation", () => {
      const first = drawn({ history: [{ at: START + 900_000, consumer }], consumers: [consumer] });
      expect(first.map(([tone, label]) => [tone, label])).toEqual([
        ["unobserved", "not observed"],
        ["server", "server"],
      ]);
      expect(first[0]?.[2]).toBe(0);
      expect(first[0]?.[3]).toBe(first[1]?.[2]);
      expect(tones({ history: [], consumers: [consumer] })).toEqual(["unobserved", "server"]);
    });

    it("start at the migration's creation if the migration has them", () => {
      const migration = { ...life.migrations[0], uuid: "m", createdAt: START + 600_000 };
      const held = { ...consumer, uuid: "m", type: "migration" };
      const states = [{ at: START + 700_000, vmState: "active", taskState: "resize_prep", host: "h", requestId: null }];
      const history = [{ at: START + 900_000, consumer: held }];
      expect(tones({ history, consumers: [held], migrations: [migration], states })).toContain("unobserved");
      const watched = [{ ...states[0], at: START + 500_000 }];
      expect(tones({ history, consumers: [held], migrations: [migration], states: watched })).not.toContain(
        "unobserved",
      );
    });

    it("do not exist for a server whose build was observed", () => {
      const states = [{ at: START + 10, vmState: "building", taskState: "spawning", host: null, requestId: null }];
      const history = [{ at: START + 20, consumer }];
      expect(tones({ history, consumers: [consumer], states })).not.toContain("unobserved");
    });
  });

  it("hatches the time in which task states were not recorded", () => {
    const states = life.states.slice(3);
    const taskOf = (more: object) =>
      timelineOf({ ...life, ...more }, () => null, START + 5_000_000)
        .lanes.find(({ label }) => label === "Task")
        ?.stretches.map(({ tone, from }) => [tone, Math.round(from)]);
    expect(taskOf({ states })?.[0]).toEqual(["unobserved", 0]);
    expect(taskOf({ states: [], observedSince: START + 4_000_000 })).toEqual([["unobserved", 0]]);
    expect(taskOf({})?.map(([tone]) => tone)).not.toContain("unobserved");
  });

  it("names lanes by what they show and where, with the time of each section", () => {
    expect(lanes.map(({ label }) => label)).toContain(`instance on ${hostName(3)}`);
    expect(lane(`allocations on ${hostName(3)}`)?.stretches[0]?.title).toMatch(
      /^allocations of server \w+: VCPU 1.* \(2026-01-15 .* to .*\)$/,
    );
  });

  it("marks the failed action, and keeps every interval on the axis", () => {
    expect(lane("Actions")?.stretches.map(({ tone }) => tone)).toEqual(["action", "action", "failed", "action"]);
    for (const { from, width } of lanes.flatMap(({ stretches }) => stretches)) {
      expect(from).toBeGreaterThanOrEqual(0);
      expect(width).toBeGreaterThanOrEqual(0);
      expect(from + width).toBeLessThanOrEqual(100.001);
    }
  });
});
