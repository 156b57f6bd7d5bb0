import { describe, expect, it } from "vitest";
import { changesFlavors, flavorsToSave } from "../../../../src/nova-rpc/conductor-calls/instances.js";
import { FLAVOR_OBJECT } from "../../../../src/nova-rpc/objects/instance.js";
import { type NovaObject, novaObject } from "../../../../src/nova-rpc/objects/primitive.js";
import { profileOf } from "../../../../src/nova-rpc/objects/profile.js";
import { readRecord } from "../../../../src/nova-rpc/objects/record-object.js";

const ZED = profileOf(64);

function flavorObject(id: number): NovaObject {
  const sizes = { vcpus: id, memory_mb: 512, root_gb: 1, vcpu_weight: 7 };
  return novaObject("Flavor", "1.2", { id, flavorid: `${id}`, name: `f${id}`, extra_specs: {}, ...sizes }, []);
}

const tiny = flavorObject(1);
const big = flavorObject(2);

describe("the flavors of a save", () => {
  // A conductor that gets only old_flavor loads flavor, and with it the old value of old_flavor: the new one is lost.
  it("are all three when one changes", () => {
    const known = { flavor: tiny, old_flavor: null, new_flavor: big };
    expect(flavorsToSave({ oldFlavor: readRecord(FLAVOR_OBJECT, tiny) }, known, [], ZED)).toEqual({
      flavor: tiny,
      old_flavor: tiny,
      new_flavor: big,
    });
    expect(flavorsToSave({ newFlavor: null }, known, [], ZED)).toEqual({
      flavor: tiny,
      old_flavor: null,
      new_flavor: null,
    });
  });

  it("preserve fields that the record does not have, whatever the source of the flavor", () => {
    const changes = { newFlavor: readRecord(FLAVOR_OBJECT, big) };
    expect(flavorsToSave(changes, { flavor: tiny }, [big], ZED).new_flavor).toBe(big);
    const written = flavorsToSave(changes, { flavor: tiny }, [], ZED).new_flavor;
    expect(readRecord(FLAVOR_OBJECT, written)).toEqual(changes.newFlavor);
  });

  it("are none when none changes", () => {
    expect(changesFlavors({ taskState: null }, { availability_zone: "nova" })).toBe(false);
    expect(changesFlavors({ taskState: null }, { old_flavor: null })).toBe(true);
    expect(changesFlavors({ newFlavor: null }, {})).toBe(true);
  });
});
