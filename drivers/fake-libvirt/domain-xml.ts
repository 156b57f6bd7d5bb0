import { XMLBuilder, XMLParser } from "fast-xml-parser";
import type { AssignedDevice, Domain, DomainDisk, NovaMetadata, VolumeDisk, VolumeSource } from "./domain.js";

const NOVA_NAMESPACE = "http://openstack.org/xmlns/libvirt/nova/1.1";
const OWN_NAMESPACE = "urn:compute-agent:fake-libvirt:1";

/** Elements that may occur more than once. */
const LISTS = [
  "domain.devices.disk",
  "domain.metadata.fake:devices.fake:device",
  "domain.metadata.fake:volumes.fake:volume",
];

const builder = new XMLBuilder({
  format: true,
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  suppressEmptyNode: true,
  suppressBooleanAttributes: false,
});

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  isArray: (_name, path) => typeof path === "string" && LISTS.includes(path),
});

/** The text is not the XML of a domain, or is that of another domain than the file's. */
export class BrokenDomainXml extends Error {
  override readonly name = "BrokenDomainXml";
}

/** Writes the XML as libvirt and Nova would. */
export function domainToXml(domain: Domain): string {
  return builder.build({
    domain: {
      "@type": "kvm",
      name: clean(domain.name),
      uuid: domain.uuid,
      ...metadataOf(domain),
      memory: { "@unit": "KiB", "#text": domain.memoryMb * 1024 },
      currentMemory: { "@unit": "KiB", "#text": domain.memoryMb * 1024 },
      vcpu: { "@placement": "static", "#text": domain.vcpus },
      os: { type: { "@arch": "x86_64", "@machine": "pc", "#text": "hvm" }, boot: { "@dev": "hd" } },
      cpu: { "@mode": "custom", "@match": "exact", model: domain.cpuModel },
      clock: { "@offset": "utc" },
      on_poweroff: "destroy",
      on_reboot: "restart",
      on_crash: "destroy",
      devices: {
        disk: [...domain.disks.map(fileElement), ...domain.volumes.map(volumeElement)],
      },
    },
  });
}

function fileElement({ path, format, target, bus }: DomainDisk): object {
  return {
    "@type": "file",
    "@device": "disk",
    driver: { "@name": "qemu", "@type": format, "@cache": "none" },
    source: { "@file": path },
    target: { "@dev": target, "@bus": bus },
  };
}

/** The attribute of a disk's source by the disk's type. */
const SOURCE_ATTRIBUTES = { block: "@dev", file: "@file", network: "@name" } as const;

function volumeElement({ volumeId, source, target, bus, device, isShareable, bootOrder }: VolumeDisk): object {
  const { type, name, protocol } = source;
  return {
    "@type": type,
    "@device": device,
    driver: { "@name": "qemu", "@type": "raw", "@cache": "none", "@io": "native" },
    source: { ...(protocol === "" ? {} : { "@protocol": clean(protocol) }), [SOURCE_ATTRIBUTES[type]]: clean(name) },
    target: { "@dev": target, "@bus": bus },
    serial: volumeId,
    ...(isShareable ? { shareable: {} } : {}),
    ...(bootOrder === null ? {} : { boot: { "@order": bootOrder } }),
    alias: { "@name": `ua-${volumeId}` },
  };
}

/** Sizes and tags, for which libvirt's XML of a disk has no place. */
function volumesMetadata(volumes: readonly VolumeDisk[]): object {
  if (volumes.length === 0) {
    return {};
  }
  const volume = volumes.map(({ volumeId, sizeGb, tag }) => ({
    "@serial": volumeId,
    "@size": sizeGb,
    ...(tag === null ? {} : { "@tag": clean(tag) }),
  }));
  return { "fake:volumes": { "@xmlns:fake": OWN_NAMESPACE, "fake:volume": volume } };
}

function metadataOf({ nova, devices, volumes, leftBehind, awaited }: Domain): object {
  const assigned =
    devices.length === 0
      ? {}
      : {
          "fake:devices": {
            "@xmlns:fake": OWN_NAMESPACE,
            "fake:device": devices.map(({ address, resourceClass, part }) => ({
              "@address": address,
              "@class": resourceClass,
              "@part": part,
            })),
          },
        };
  const marks = {
    ...(leftBehind ? { "fake:left-behind": { "@xmlns:fake": OWN_NAMESPACE } } : {}),
    ...(awaited ? { "fake:awaited": { "@xmlns:fake": OWN_NAMESPACE } } : {}),
  };
  const metadata = {
    ...(nova ? { "nova:instance": novaInstance(nova) } : {}),
    ...assigned,
    ...volumesMetadata(volumes),
    ...marks,
  };
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}

function novaInstance(nova: NovaMetadata): object {
  return {
    "@xmlns:nova": NOVA_NAMESPACE,
    "nova:name": clean(nova.displayName),
    "nova:creationTime": nova.creationTime,
    "nova:flavor": {
      "@name": clean(nova.flavor.name),
      "nova:memory": nova.flavor.memoryMb,
      "nova:disk": nova.flavor.rootGb,
      "nova:swap": nova.flavor.swapMb,
      "nova:ephemeral": nova.flavor.ephemeralGb,
      "nova:vcpus": nova.flavor.vcpus,
    },
    "nova:owner": { "nova:user": { "@uuid": nova.userId }, "nova:project": { "@uuid": nova.projectId } },
    ...(nova.imageId === "" ? {} : { "nova:root": { "@type": "image", "@uuid": nova.imageId } }),
  };
}

/** @throws {BrokenDomainXml} */
export function domainFromXml(text: string, uuid: string): Domain {
  let document: unknown;
  try {
    document = parser.parse(text, true);
  } catch (error) {
    throw new BrokenDomainXml(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const domain = at(document, "domain");
  const found = textAt(domain, "uuid").trim();
  if (found.toLowerCase() !== uuid) {
    throw new BrokenDomainXml(`expected a domain with uuid ${uuid}, found ${found || "no uuid"}`);
  }
  const name = textAt(domain, "name");
  if (name === "") {
    throw new BrokenDomainXml("the domain has no name");
  }
  const disks = listAt(domain, "devices", "disk");
  const volumes = listAt(domain, "metadata", "fake:volumes", "fake:volume");
  return {
    uuid,
    name,
    memoryMb: Math.ceil(memoryKib(at(domain, "memory")) / 1024),
    vcpus: count(textAt(domain, "vcpu"), "vcpu"),
    cpuModel: textAt(domain, "cpu", "model"),
    disks: disks.filter((disk) => !isVolume(disk)).map(diskFrom),
    volumes: disks.filter(isVolume).map((disk) => volumeFrom(disk, volumes)),
    devices: listAt(domain, "metadata", "fake:devices", "fake:device").map(deviceFrom),
    nova: novaFrom(at(domain, "metadata", "nova:instance")),
    leftBehind: at(domain, "metadata", "fake:left-behind") !== undefined,
    awaited: at(domain, "metadata", "fake:awaited") !== undefined,
  };
}

function diskFrom(disk: unknown): DomainDisk {
  return {
    path: textAt(disk, "source", "@file"),
    format: textAt(disk, "driver", "@type") === "qcow2" ? "qcow2" : "raw",
    target: textAt(disk, "target", "@dev"),
    bus: textAt(disk, "target", "@bus") || "virtio",
  };
}

/** Only volumes have a serial number. */
const isVolume = (disk: unknown): boolean => textAt(disk, "serial") !== "";

function volumeFrom(disk: unknown, metadata: readonly unknown[]): VolumeDisk {
  const volumeId = textAt(disk, "serial").trim();
  const own = metadata.find((volume) => textAt(volume, "@serial") === volumeId);
  const order = textAt(disk, "boot", "@order");
  return {
    volumeId,
    source: sourceFrom(disk),
    target: textAt(disk, "target", "@dev"),
    bus: textAt(disk, "target", "@bus") || "virtio",
    device: textAt(disk, "@device") || "disk",
    isShareable: at(disk, "shareable") !== undefined,
    bootOrder: order === "" ? null : count(order, "a disk's boot order"),
    sizeGb: count(textAt(own, "@size") || "0", "a volume's size"),
    tag: textAt(own, "@tag") || null,
  };
}

function sourceFrom(disk: unknown): VolumeSource {
  const type = textAt(disk, "@type");
  const kind = type === "block" || type === "network" ? type : "file";
  const protocol = textAt(disk, "source", "@protocol");
  return { type: kind, name: textAt(disk, "source", SOURCE_ATTRIBUTES[kind]), protocol };
}

function deviceFrom(device: unknown): AssignedDevice {
  return {
    address: textAt(device, "@address"),
    resourceClass: textAt(device, "@class"),
    part: count(textAt(device, "@part"), "a device's part"),
  };
}

function novaFrom(instance: unknown): NovaMetadata | null {
  if (instance === undefined) {
    return null;
  }
  const flavor = (name: string) => count(textAt(instance, "nova:flavor", name) || "0", name);
  return {
    displayName: textAt(instance, "nova:name"),
    creationTime: textAt(instance, "nova:creationTime"),
    flavor: {
      name: textAt(instance, "nova:flavor", "@name"),
      memoryMb: flavor("nova:memory"),
      rootGb: flavor("nova:disk"),
      swapMb: flavor("nova:swap"),
      ephemeralGb: flavor("nova:ephemeral"),
      vcpus: flavor("nova:vcpus"),
    },
    projectId: textAt(instance, "nova:owner", "nova:project", "@uuid"),
    userId: textAt(instance, "nova:owner", "nova:user", "@uuid"),
    imageId: textAt(instance, "nova:root", "@uuid"),
  };
}

/** libvirt accepts several units; the default is KiB. */
const UNITS: Readonly<Record<string, number>> = {
  b: 1 / 1024,
  bytes: 1 / 1024,
  k: 1,
  kib: 1,
  m: 1024,
  mib: 1024,
  g: 1024 ** 2,
  gib: 1024 ** 2,
};

function memoryKib(memory: unknown): number {
  const unit = (textAt(memory, "@unit") || "KiB").toLowerCase();
  return count(textAt(memory), "memory") * (UNITS[unit] ?? 1);
}

function count(text: string, what: string): number {
  const value = Number(text.trim() || Number.NaN);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new BrokenDomainXml(`${what} must be a whole number, found ${text.trim() || "nothing"}`);
  }
  return value;
}

function at(element: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, key) =>
      typeof found === "object" && found !== null && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key]
        : undefined,
    element,
  );
}

function listAt(element: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(element, ...path);
  return Array.isArray(found) ? found : [];
}

/** Returns the text of an element with or without attributes, or an empty string if there is none. */
function textAt(element: unknown, ...path: readonly string[]): string {
  const found = at(element, ...path);
  const text = typeof found === "object" ? at(found, "#text") : found;
  return typeof text === "string" ? text : "";
}

/** Removes the characters that XML 1.0 cannot represent in any form. */
function clean(text: string): string {
  return [...text].filter((character) => isXmlCharacter(character.codePointAt(0) ?? 0)).join("");
}

function isXmlCharacter(code: number): boolean {
  return (
    code === 0x9 ||
    code === 0xa ||
    code === 0xd ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    code >= 0x10000
  );
}
