import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageOf, openMessage, seal } from "../../../../src/nova-rpc/messages/oslo-message.js";
import { capToProfile, novaObject } from "../../../../src/nova-rpc/objects/primitive.js";
import { PROFILES, profileOf, type ReleaseProfile } from "../../../../src/nova-rpc/objects/profile.js";
import { isObject } from "../../../../src/runtime/collections.js";
import { recordedPhases, recording } from "../../../fixtures/nova-recordings.js";
import { property } from "../../../fixtures/property.js";

const ZED = profileOf(64);

/** Returns every object in a value that the profile cannot read. */
function tooNew(value: unknown, profile: ReleaseProfile): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => tooNew(item, profile));
  }
  if (!isObject(value)) {
    return [];
  }
  const name = value["nova_object.name"];
  const inner = Object.values(value).flatMap((item) => tooNew(item, profile));
  if (typeof name !== "string") {
    return inner;
  }
  const version = String(value["nova_object.version"]);
  const newest = profile.objects.get(name) ?? "none";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [newestMajor = 0, newestMinor = 0] = newest.split(".").map(Number);
  const isReadable = major < newestMajor || (major === newestMajor && minor <= newestMinor);
  return isReadable ? inner : [`${name} ${version}`, ...inner];
}

const profiles = fc.constantFrom(...PROFILES);
const master = PROFILES.at(-1) ?? ZED;
const objectNames = [...master.objects.keys()];

/** Arbitrary message values, with objects of any known name and any version at any depth. */
const { value: messageValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie("value"), { maxKeys: 4 }),
    fc
      .tuple(
        fc.constantFrom(...objectNames),
        fc.nat(3),
        fc.nat(60),
        fc.dictionary(
          fc.oneof(fc.constantFrom("compute_id", "dest_compute_id", "objects"), fc.string({ minLength: 1 })),
          tie("value"),
          { maxKeys: 4 },
        ),
      )
      .map(([name, major, minor, data]) => novaObject(name, `${major}.${minor}`, data)),
  ),
}));

describe("an outgoing message", () => {
  property([messageValue, profiles])("has nothing newer than the control plane, for any input", (value, profile) => {
    const request = messageOf({ method: "m", args: { value }, version: "6.0", _unique_id: "u" });
    let sent: unknown;
    try {
      sent = JSON.parse(JSON.parse(seal(request, profile))["oslo.message"]);
    } catch (error) {
      expect(error).toMatchObject({ code: "ObjectTooNew" });
      return;
    }
    expect(tooNew(sent, profile)).toEqual([]);
  });

  property([messageValue, profiles])("is also capped in replies", (value, profile) => {
    let sent: unknown;
    try {
      const reply = messageOf({ result: value, failure: null, ending: true, _msg_id: "m", _unique_id: "u" });
      sent = JSON.parse(JSON.parse(seal(reply, profile))["oslo.message"]);
    } catch (error) {
      expect(error).toMatchObject({ code: "ObjectTooNew" });
      return;
    }
    expect(tooNew(sent, profile)).toEqual([]);
  });

  it.each(recordedPhases("2025.1"))("can forward everything that a newer Nova has sent to Zed: %s", (phase) => {
    for (const { msg } of recording("2025.1", phase).filter(({ key }) => key?.startsWith("compute."))) {
      const sent = capToProfile(msg.args, ZED);
      expect(tooNew(sent, ZED)).toEqual([]);
    }
  });

  it.each(recordedPhases("zed"))("is unchanged if the release is the same: %s", (phase) => {
    for (const { msg } of recording("zed", phase)) {
      expect(capToProfile(msg, ZED)).toEqual(msg);
    }
  });

  it("has newer objects at an older version, without the fields of the newer version, also in the changes", () => {
    const instance = novaObject("Instance", "2.8", { uuid: "u", compute_id: 3, task_state: null }, [
      "compute_id",
      "task_state",
    ]);
    expect(capToProfile([{ instance }], ZED)).toEqual([
      { instance: novaObject("Instance", "2.7", { uuid: "u", task_state: null }, ["task_state"]) },
    ]);
    expect(capToProfile(instance, profileOf(68))).toEqual(instance);
  });

  it.each([
    ["of a newer major version", novaObject("Instance", "3.0", {})],
    ["that the release has not", novaObject("ShareMappingList", "1.0", { objects: [] })],
    ["of another project", { ...novaObject("Instance", "2.7", {}), "nova_object.namespace": "ironic" }],
  ])("has no object %s", (_what, object) => {
    expect(() => capToProfile({ deep: [object] }, ZED)).toThrow(expect.objectContaining({ code: "ObjectTooNew" }));
  });

  it.each([
    ["without a version", { "nova_object.name": "Instance", "nova_object.namespace": "nova", "nova_object.data": {} }],
    ["of a version that is none", novaObject("Instance", "newest", {})],
    ["without data", { ...novaObject("Instance", "2.7", {}), "nova_object.data": null }],
  ])("has nothing that resembles an object %s", (_what, object) => {
    expect(() => capToProfile(object, ZED)).toThrow(expect.objectContaining({ code: "MalformedObject" }));
  });
});

describe("a sealed message", () => {
  it("is read back unchanged", () => {
    const [first] = recording("zed", "build").filter(({ kind }) => kind === "call");
    const request = messageOf(first?.msg ?? {});
    expect(openMessage(seal(request, ZED))).toEqual(request);
  });
});
