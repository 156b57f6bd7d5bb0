import { describe, expect, it } from "vitest";
import { OLDEST_PROFILE, PROFILES, profileOf } from "../../../../src/nova-rpc/objects/profile.js";
import { RELEASES } from "../../../../src/records/index.js";
import { recordedObjectVersions } from "../../../fixtures/nova-recordings.js";

describe("release profiles", () => {
  it("have the object versions that each release's own tests have", () => {
    const objectVersions = Object.fromEntries(
      PROFILES.map(({ release, objects }) => [release, Object.fromEntries(objects)]),
    );
    expect(objectVersions).toEqual(recordedObjectVersions());
  });

  it.each([
    [0, "zed"],
    [64, "zed"],
    [65, "zed"],
    [66, "antelope"],
    [67, "caracal"],
    [68, "epoxy"],
    [69, "epoxy"],
    [72, "gazpacho"],
    [73, "gazpacho"],
    [74, "hibiscus"],
    [99, "hibiscus"],
  ])("are chosen by the conductor's service version: %i is %s", (version, release) => {
    expect(profileOf(version).release).toBe(release);
  });

  it("have the service versions of the releases, oldest first", () => {
    const { master, ...released } = RELEASES;
    expect(PROFILES.map(({ release, serviceVersion }) => [release, serviceVersion])).toEqual(
      Object.entries(released).slice(-PROFILES.length),
    );
    expect(master, "another name of the newest release").toBe(PROFILES.at(-1)?.serviceVersion);
    expect(OLDEST_PROFILE.release).toBe("zed");
  });
});
