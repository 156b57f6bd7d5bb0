import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Domain } from "../../../../drivers/fake-libvirt/domain.js";
import { BrokenDomainXml, domainFromXml, domainToXml } from "../../../../drivers/fake-libvirt/domain-xml.js";
import { ANY_CHARACTER } from "../../../fixtures/any-character.js";
import { property } from "../../../fixtures/property.js";
import { UUID } from "../../virt/fixtures.js";

const domain: Domain = {
  uuid: UUID,
  name: "instance-0000002a",
  memoryMb: 2048,
  vcpus: 2,
  cpuModel: "Nehalem",
  disks: [
    { path: "/instances/a/disk", format: "qcow2", target: "vda", bus: "virtio" },
    { path: "/instances/a/disk.eph0", format: "raw", target: "vdb", bus: "virtio" },
  ],
  volumes: [
    {
      volumeId: "80aefd13-3013-4a69-9113-4aa5b0eca72d",
      source: { type: "block", name: "/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn-lun-0", protocol: "" },
      target: "vdc",
      bus: "virtio",
      device: "disk",
      isShareable: false,
      bootOrder: null,
      sizeGb: 2,
      tag: "data",
    },
    {
      volumeId: "9c811542-2d73-443e-912c-e47e1b0bcb9a",
      source: { type: "network", name: "volumes/volume-9c81", protocol: "rbd" },
      target: "sda",
      bus: "scsi",
      device: "disk",
      isShareable: true,
      bootOrder: 1,
      sizeGb: 1,
      tag: null,
    },
  ],
  devices: [{ address: "0000:81:00.0", resourceClass: "VGPU", part: 3 }],
  nova: {
    displayName: "vm1",
    creationTime: "2026-01-01 00:00:00",
    flavor: { name: "m1.small", memoryMb: 2048, rootGb: 20, swapMb: 0, ephemeralGb: 1, vcpus: 2 },
    projectId: "p",
    userId: "u",
    imageId: "i",
  },
  leftBehind: true,
  awaited: true,
};

describe("domain XML", () => {
  test("parses as libvirt's and Nova's", () => {
    const xml = domainToXml(domain);
    for (const line of [
      '<domain type="kvm">',
      "<name>instance-0000002a</name>",
      `<uuid>${UUID}</uuid>`,
      '<memory unit="KiB">2097152</memory>',
      '<vcpu placement="static">2</vcpu>',
      '<nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">',
      "<nova:name>vm1</nova:name>",
      "<nova:creationTime>2026-01-01 00:00:00</nova:creationTime>",
      '<nova:flavor name="m1.small">',
      '<nova:project uuid="p"/>',
      '<source file="/instances/a/disk"/>',
      '<target dev="vda" bus="virtio"/>',
      '<source dev="/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn-lun-0"/>',
      "<serial>80aefd13-3013-4a69-9113-4aa5b0eca72d</serial>",
      '<alias name="ua-80aefd13-3013-4a69-9113-4aa5b0eca72d"/>',
      '<source protocol="rbd" name="volumes/volume-9c81"/>',
      "<shareable/>",
      '<boot order="1"/>',
    ]) {
      expect(xml).toContain(line);
    }
  });

  test("a single disk and a single device are parsed as lists", () => {
    const small = { ...domain, disks: domain.disks.slice(0, 1) };
    expect(domainFromXml(domainToXml(small), UUID)).toEqual(small);
  });

  test("may have no disk, no device and no metadata", () => {
    const bare = { ...domain, disks: [], volumes: [], devices: [], nova: null, leftBehind: false, awaited: false };
    expect(domainFromXml(domainToXml(bare), UUID)).toEqual(bare);
  });

  const text = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    .filter((value) => !/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u.test(value));
  const amount = fc.nat({ max: 2 ** 31 });

  property([fc.record({ displayName: text, flavor: text, path: text, amount })])(
    "names with any characters survive rendering and parsing",
    ({ displayName, flavor, path, amount: size }) => {
      const odd: Domain = {
        ...domain,
        memoryMb: size,
        disks: [{ path: `/${path}`, format: "raw", target: "vda", bus: "virtio" }],
        nova: domain.nova && { ...domain.nova, displayName, flavor: { ...domain.nova.flavor, name: flavor } },
      };
      expect(domainFromXml(domainToXml(odd), UUID)).toEqual(odd);
    },
  );

  property([fc.record({ displayName: fc.string({ unit: ANY_CHARACTER, maxLength: 20 }) })])(
    "no name makes the XML invalid",
    ({ displayName }) => {
      const odd = { ...domain, nova: domain.nova && { ...domain.nova, displayName } };
      expect(domainFromXml(domainToXml(odd), UUID).vcpus).toBe(2);
    },
  );

  property([fc.record({ start: fc.nat(), length: fc.nat({ max: 200 }), put: fc.string({ maxLength: 20 }) })])(
    "damaged XML is harmless or BrokenDomainXml",
    ({ start, length, put }) => {
      const xml = domainToXml(domain);
      const from = start % xml.length;
      try {
        expect(domainFromXml(xml.slice(0, from) + put + xml.slice(from + length), UUID).uuid).toBe(UUID);
      } catch (error) {
        expect(error).toBeInstanceOf(BrokenDomainXml);
      }
    },
  );

  const bare: Domain = {
    ...domain,
    disks: [],
    volumes: [],
    devices: [],
    nova: null,
    leftBehind: false,
    awaited: false,
  };

  test.each<[string, Domain]>([
    ["a guest of Nova", { ...domain, devices: [], leftBehind: false, awaited: false }],
    ["one of a volume", { ...domain, nova: domain.nova && { ...domain.nova, imageId: "" } }],
    ["one with devices and marks", { ...domain, devices: [...domain.devices, ...domain.devices] }],
    ["one of somebody else", bare],
  ])("what this driver writes is read back: %s", (_, written) => {
    expect(domainFromXml(domainToXml(written), UUID)).toEqual(written);
  });

  test.each([
    ["<memory>1048576</memory>", 1024],
    ['<memory unit="MiB">512</memory>', 512],
    ['<memory unit="GiB">2</memory>', 2048],
    ['<memory unit="b">1048576</memory>', 1],
  ])("memory has libvirt's units: %s", (memory, memoryMb) => {
    const xml = `<domain><name>x</name><uuid>${UUID}</uuid>${memory}<vcpu>1</vcpu></domain>`;
    expect(domainFromXml(xml, UUID)).toMatchObject({ memoryMb });
  });
});
