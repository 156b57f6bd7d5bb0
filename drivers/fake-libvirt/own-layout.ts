import type { AssignedDevice, Domain, DomainDisk, NovaMetadata } from "./domain.js";

/** Text that is written literally, without an escape. */
const TEXT = "[^<>&\"'\\u0000-\\u001f]+";
const NUMBER = "\\d{1,15}";

/** Builds a pattern of literal lines. `{name}` matches a text and `{#name}` a number, each as a group of that name. */
function pattern(...lines: readonly string[]): string {
  return lines
    .map((line) => `${line.replace(/[.?+*()[\]\\^$|]/g, "\\$&")}\n`)
    .join("")
    .replace(/\{(#?)(\w+)\}/g, (_, number: string, name: string) => `(?<${name}>${number === "" ? TEXT : NUMBER})`);
}

/** Makes the groups anonymous, for a part that may be repeated: the same group name may not occur twice. */
function without(groups: string): string {
  return groups.replace(/\(\?<\w+>/g, "(?:");
}

const OWN = 'xmlns:fake="urn:compute-agent:fake-libvirt:1"';
const DISK = pattern(
  '    <disk type="file" device="disk">',
  '      <driver name="qemu" type="{format}" cache="none"/>',
  '      <source file="{path}"/>',
  '      <target dev="{target}" bus="virtio"/>',
  "    </disk>",
);
const DEVICE = pattern('      <fake:device address="{address}" class="{resourceClass}" part="{#part}"/>');
const NOVA = [
  pattern(
    '    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">',
    "      <nova:name>{displayName}</nova:name>",
    "      <nova:creationTime>{creationTime}</nova:creationTime>",
    '      <nova:flavor name="{flavor}">',
    "        <nova:memory>{#flavorMemory}</nova:memory>",
    "        <nova:disk>{#disk}</nova:disk>",
    "        <nova:swap>{#swap}</nova:swap>",
    "        <nova:ephemeral>{#ephemeral}</nova:ephemeral>",
    "        <nova:vcpus>{#flavorVcpus}</nova:vcpus>",
    "      </nova:flavor>",
    "      <nova:owner>",
    '        <nova:user uuid="{user}"/>',
    '        <nova:project uuid="{project}"/>',
    "      </nova:owner>",
  ),
  `(?:${pattern('      <nova:root type="image" uuid="{image}"/>')})?`,
  pattern("    </nova:instance>"),
].join("");
const DOMAIN = new RegExp(
  [
    "^",
    pattern('<domain type="kvm">', "  <name>{name}</name>", "  <uuid>{uuid}</uuid>"),
    `(?:${pattern("  <metadata>")}`,
    `(?:${NOVA})?`,
    `(?:${pattern(`    <fake:devices ${OWN}>`)}(?<devices>(?:${without(DEVICE)})+)${pattern("    </fake:devices>")})?`,
    `(?<leftBehind>${pattern(`    <fake:left-behind ${OWN}/>`)})?`,
    `(?<awaited>${pattern(`    <fake:awaited ${OWN}/>`)})?`,
    `${pattern("  </metadata>")})?`,
    pattern(
      '  <memory unit="KiB">{#memory}</memory>',
      '  <currentMemory unit="KiB">{#currentMemory}</currentMemory>',
      '  <vcpu placement="static">{#vcpus}</vcpu>',
      "  <os>",
      '    <type arch="x86_64" machine="pc">hvm</type>',
      '    <boot dev="hd"/>',
      "  </os>",
      '  <cpu mode="custom" match="exact">',
      "    <model>{cpuModel}</model>",
      "  </cpu>",
      '  <clock offset="utc"/>',
      "  <on_poweroff>destroy</on_poweroff>",
      "  <on_reboot>restart</on_reboot>",
      "  <on_crash>destroy</on_crash>",
    ),
    `(?:${pattern("  <devices/>")}|${pattern("  <devices>")}(?<disks>(?:${without(DISK)})+)${pattern("  </devices>")})`,
    pattern("</domain>"),
    "$",
  ].join(""),
);
const DISKS = new RegExp(DISK, "g");
const DEVICES = new RegExp(DEVICE, "g");

type Groups = Readonly<Record<string, string | undefined>>;

/**
 * Reads a domain from exactly the lines that this driver writes, in a thirtieth of a parser's time: a starting host
 * reads all of its guests. Returns undefined for another layout or escaped text, which need a parser.
 */
export function readOwnLayout(text: string): Domain | undefined {
  const found = DOMAIN.exec(text)?.groups;
  return (
    found && {
      uuid: textOf(found, "uuid"),
      name: textOf(found, "name"),
      memoryMb: Math.ceil(numberOf(found, "memory") / 1024),
      vcpus: numberOf(found, "vcpus"),
      cpuModel: textOf(found, "cpuModel"),
      disks: [...(found.disks ?? "").matchAll(DISKS)].map(({ groups = {} }) => diskFrom(groups)),
      devices: [...(found.devices ?? "").matchAll(DEVICES)].map(({ groups = {} }) => deviceFrom(groups)),
      nova: found.displayName === undefined ? null : novaFrom(found),
      leftBehind: found.leftBehind !== undefined,
      awaited: found.awaited !== undefined,
    }
  );
}

function diskFrom(groups: Groups): DomainDisk {
  return {
    path: textOf(groups, "path"),
    format: groups.format === "qcow2" ? "qcow2" : "raw",
    target: textOf(groups, "target"),
  };
}

function deviceFrom(groups: Groups): AssignedDevice {
  return {
    address: textOf(groups, "address"),
    resourceClass: textOf(groups, "resourceClass"),
    part: numberOf(groups, "part"),
  };
}

function novaFrom(groups: Groups): NovaMetadata {
  return {
    displayName: textOf(groups, "displayName"),
    creationTime: textOf(groups, "creationTime"),
    flavor: {
      name: textOf(groups, "flavor"),
      memoryMb: numberOf(groups, "flavorMemory"),
      rootGb: numberOf(groups, "disk"),
      swapMb: numberOf(groups, "swap"),
      ephemeralGb: numberOf(groups, "ephemeral"),
      vcpus: numberOf(groups, "flavorVcpus"),
    },
    projectId: textOf(groups, "project"),
    userId: textOf(groups, "user"),
    imageId: textOf(groups, "image"),
  };
}

function textOf(groups: Groups, name: string): string {
  return groups[name] ?? "";
}

function numberOf(groups: Groups, name: string): number {
  return Number(groups[name]);
}
