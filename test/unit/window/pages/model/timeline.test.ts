import { describe, expect, it } from "vitest";
import { axisOf } from "../../../../../src/window/pages/model/axis.js";
import { timelineOf } from "../../../../../src/window/pages/model/timeline.js";
import { hostName, lifeOf, providerUuid, START, serverRow } from "../../../../window/support/generated-cluster.js";

const NAMES = new Map([3, 4, 5].map((host) => [providerUuid(host), hostName(host)]));

describe("the axis of a timeline", () => {
  it("keeps the order, and does not let hours hide milliseconds", () => {
    const axis = axisOf([0, 100, 200, 7_200_000, 7_200_100]);
    const places = [0, 100, 200, 7_200_000, 7_200_100].map((at) => axis.place(at));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places.at(0)).toBe(0);
    expect(places.at(-1)).toBe(100);
    expect((places[1] ?? 0) - (places[0] ?? 0)).toBeGreaterThan(5);
  });

  it("has a place for a single moment, and for none", () => {
    expect(axisOf([5]).place(5)).toBe(0);
    expect(axisOf([]).place(5)).toBe(0);
  });
});

describe("the timeline of a server", () => {
  const life = lifeOf(serverRow(12, 3));
  const { lanes } = timelineOf(life, (uuid) => NAMES.get(uuid) ?? null, START + 5_000_000);
  const lane = (name: string, part: string) => lanes.find((one) => one.name === name && one.part === part);

  it("draws a move as two lanes, each with the half that its owner holds", () => {
    const source = lane(hostName(4), "move holds")?.stretches.at(0);
    const dest = lane(hostName(5), "server holds")?.stretches.at(0);
    expect(source).toMatchObject({ tone: "migration", title: expect.stringContaining("VCPU 1, MEMORY_MB 512") });
    expect(dest).toMatchObject({ tone: "server", title: expect.stringContaining("MEMORY_MB 2048") });
    expect(source?.from).toBe(dest?.from);
  });

  it("ends what the server held on the host that it was evacuated from when that has cleaned up", () => {
    const [first] = lane(hostName(3), "server holds")?.stretches ?? [];
    const [second] = lane(hostName(4), "server holds")?.stretches ?? [];
    const end = (first?.from ?? 0) + (first?.width ?? 0);
    expect(end).toBeGreaterThan(second?.from ?? 100);
    expect(end).toBeLessThan(100);
  });

  it("lets what goes on reach the end, even where the page's clock is behind", () => {
    const behind = timelineOf(life, (uuid) => NAMES.get(uuid) ?? null, START + 4_000_100);
    const held = behind.lanes.find(({ name, part }) => name === hostName(5) && part === "server holds")?.stretches[0];
    expect((held?.from ?? 0) + (held?.width ?? 0)).toBeCloseTo(100);
  });

  it("marks the action that failed, and keeps every stretch on the axis", () => {
    expect(lane("Actions", "")?.stretches.map(({ tone }) => tone)).toEqual(["action", "action", "failed", "action"]);
    for (const { from, width } of lanes.flatMap(({ stretches }) => stretches)) {
      expect(from).toBeGreaterThanOrEqual(0);
      expect(width).toBeGreaterThanOrEqual(0);
      expect(from + width).toBeLessThanOrEqual(100.001);
    }
  });
});
