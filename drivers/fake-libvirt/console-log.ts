import { type Clock, type Files, type Instance, type Logger, md5 } from "../../src/virt/index.js";
import type { InstanceFiles } from "./instance-files.js";

const KERNEL = "5.15.0-117-generic";

/** Size in bytes above which the beginning of a console file is cut off. */
const LONGEST = 200 * 1024;

/** Characters that remain after the cut: the most that Nova returns of a console. */
const MAX_RETAINED_CHARS = 100 * 1024;

export interface ConsoleLogDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The console output of guests in `console.log` beside the disks, as with libvirt. Removing the disks removes it. */
export class ConsoleLog {
  readonly #instances: InstanceFiles;
  readonly #deps: ConsoleLogDeps;

  /** @param deps its files are fenced: an agent that has lost its host writes nothing */
  constructor(instances: InstanceFiles, deps: ConsoleLogDeps) {
    this.#instances = instances;
    this.#deps = deps;
  }

  /** Returns an empty string if the guest has written nothing yet. */
  async read(uuid: string): Promise<string> {
    return (await this.#deps.files.readIfPresent(this.#path(uuid))) ?? "";
  }

  /** Appends the boot messages of a guest that has just started from its disk. */
  boot(instance: Instance): Promise<void> {
    return this.#add(instance, bootText(instance, this.#deps.clock.now()));
  }

  /** Appends the shutdown messages of a guest that was asked to stop and did. */
  async powerDown(instance: Instance): Promise<void> {
    await this.#add(instance, powerDownText());
  }

  /** Appends to the console file. Errors are only logged, since the guest runs without a console as well. */
  async #add({ uuid }: Instance, text: string): Promise<void> {
    const { files, logger } = this.#deps;
    const path = this.#path(uuid);
    try {
      await files.append(path, text);
      const { bytes = 0 } = (await files.stat(path)) ?? {};
      if (bytes > LONGEST) {
        const all = await files.read(path);
        await files.write(path, all.slice(all.indexOf("\n", all.length - MAX_RETAINED_CHARS) + 1));
      }
    } catch (error) {
      logger.warn("the guest's console could not be written; this part of its output is lost", {
        instance: uuid,
        err: error,
      });
    }
  }

  #path(uuid: string): string {
    return this.#instances.disk(uuid, "console.log");
  }
}

/**
 * Returns the boot messages of a small Linux guest up to its login prompt. They depend on nothing but the guest and the
 * time.
 */
function bootText(instance: Instance, now: number): string {
  const { uuid, vcpus, memoryMb, hostname } = instance;
  const seconds = Number.parseInt(md5(uuid).slice(0, 4), 16) / 0xffff;
  let at = 0;
  // Each line is a little later than the previous one, by steps that depend on the guest.
  const kernel = (text: string, step = 0.004): string => {
    at += step * (1 + seconds);
    return `[${at.toFixed(6).padStart(12)}] ${text}`;
  };
  const kib = memoryMb * 1024;
  const disks = disksOf(instance);
  const date = new Date(now).toUTCString().replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, "$1, $2 $3 $4 $5 +0000");
  return [
    "SeaBIOS (version 1.16.0-debian-1.16.0-5)",
    "Booting from Hard Disk...",
    "GRUB loading.",
    `[    0.000000] Linux version ${KERNEL} (buildd@lcy02-amd64-086) (gcc 11.4.0, GNU ld 2.38) #127-Ubuntu SMP`,
    `[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz-${KERNEL} root=LABEL=cloudimg-rootfs ro console=tty1 console=ttyS0`,
    "[    0.000000] BIOS-provided physical RAM map:",
    `[    0.000000] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable`,
    `[    0.000000] BIOS-e820: [mem 0x0000000000100000-0x${(kib * 1024 - 1).toString(16).padStart(16, "0")}] usable`,
    "[    0.000000] NX (Execute Disable) protection: active",
    "[    0.000000] SMBIOS 2.8 present.",
    "[    0.000000] DMI: OpenStack Foundation OpenStack Nova, BIOS 1.16.0-debian-1.16.0-5 04/01/2014",
    "[    0.000000] Hypervisor detected: KVM",
    kernel(`Memory: ${Math.floor(kib * 0.93)}K/${kib}K available (14339K kernel code, 2345K rwdata, 5012K rodata)`),
    kernel(`SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=${vcpus}, Nodes=1`),
    kernel("printk: console [ttyS0] enabled"),
    kernel(`smpboot: Allowing ${vcpus} CPUs, 0 hotplug CPUs`),
    kernel(`smp: Brought up 1 node, ${vcpus} ${vcpus === 1 ? "CPU" : "CPUs"}`, 0.05),
    kernel("clocksource: Switched to clocksource kvm-clock", 0.05),
    kernel("NET: Registered PF_INET protocol family"),
    kernel("PCI: Using configuration type 1 for base access"),
    kernel("Serial: 8250/16550 driver, 32 ports, IRQ sharing enabled", 0.02),
    kernel("00:04: ttyS0 at I/O 0x3f8 (irq = 4, base_baud = 115200) is a 16550A"),
    ...disks.flatMap(({ name, gib }) => [
      kernel(
        `virtio_blk: [${name}] ${Math.round(gib * 2 ** 21)} 512-byte logical blocks (${(gib * 1.073741824).toFixed(2)} GB/${gib.toFixed(2)} GiB)`,
        0.02,
      ),
      kernel(` ${name}: ${name}1`),
    ]),
    kernel("EXT4-fs (vda1): mounted filesystem with ordered data mode. Opts: (null). Quota mode: none.", 0.1),
    kernel("systemd[1]: systemd 249.11-0ubuntu3.12 running in system mode", 0.1),
    kernel("systemd[1]: Detected virtualization kvm."),
    kernel("systemd[1]: Detected architecture x86-64."),
    "",
    "Welcome to Ubuntu 22.04.4 LTS!",
    "",
    kernel(`systemd[1]: Hostname set to <${hostname || "ubuntu"}>.`),
    "[  OK  ] Started Journal Service.",
    "[  OK  ] Finished Remount Root and Kernel File Systems.",
    "[  OK  ] Reached target Local File Systems.",
    "[  OK  ] Started Network Configuration.",
    ...cloudInit(instance, date, at + 3 + seconds),
    "[  OK  ] Started OpenBSD Secure Shell server.",
    "[  OK  ] Reached target Multi-User System.",
    "",
    `Ubuntu 22.04.4 LTS ${hostname || "ubuntu"} ttyS0`,
    "",
    `${hostname || "ubuntu"} login: `,
    "",
  ].join("\n");
}

function powerDownText(): string {
  return [
    "",
    "[  OK  ] Stopped target Multi-User System.",
    "         Stopping OpenBSD Secure Shell server...",
    "[  OK  ] Stopped OpenBSD Secure Shell server.",
    "[  OK  ] Unmounted /.",
    "[  OK  ] Reached target System Shutdown.",
    "reboot: System halted",
    "",
  ].join("\n");
}

function disksOf({
  imageRef,
  rootGb,
  ephemeralGb,
}: Instance): readonly { readonly name: string; readonly gib: number }[] {
  const sizes = [...(imageRef === "" ? [] : [rootGb]), ...(ephemeralGb > 0 ? [ephemeralGb] : [])];
  return sizes.map((gib, index) => ({ name: `vd${String.fromCharCode("a".charCodeAt(0) + index)}`, gib }));
}

/** Prints only the names of SSH keys: more users than the owner of the server can read a console. */
function cloudInit({ keyName, uuid }: Instance, date: string, up: number): readonly string[] {
  const prefix = `Cloud-init v. 24.1.3-0ubuntu1~22.04.1`;
  return [
    `${prefix} running 'init' at ${date}. Up ${up.toFixed(2)} seconds.`,
    `${prefix} running 'modules:config' at ${date}. Up ${(up + 1.4).toFixed(2)} seconds.`,
    `ci-info: instance-id ${uuid}`,
    keyName === null
      ? "ci-info: no authorized SSH keys fingerprints found for user ubuntu."
      : `ci-info: authorized keys from key pair ${keyName} for user ubuntu.`,
    `${prefix} finished at ${date}. Datasource DataSourceOpenStackLocal [net,ver=2].  Up ${(up + 2.1).toFixed(2)} seconds`,
  ];
}
