import { dirname, join } from "node:path";
import type {
  CanaryGuest,
  CanaryPlace,
  CheckDeps,
  CheckPlace,
  DriverCheckOptions,
  SweptPlace,
} from "../../src/testing/index.js";
import type { DriverContext } from "../../src/virt/index.js";
import { compileQemuConfig } from "./config.js";
import { Layout, parsed } from "./hypervisor-folder.js";
import { type Execute, Monitors } from "./monitor.js";
import { QemuError } from "./qemu-error.js";
import { RECORD } from "./runs.js";

type Deps = Pick<DriverContext, "files" | "processes" | "timers" | "clock">;

/** One line of the guest's output. @internal */
export interface GuestReport {
  readonly counted: { readonly disk: number; readonly memory: number };
  readonly disk: string;
  readonly memory: string;
  readonly typed: string;
}

/**
 * A guest of one boot sector, which needs no network and almost no memory. About 18 times a second it increments one
 * counter in the second sector of its disk and one in its memory. It then prints a line on its serial port: both counters
 * in hexadecimal, the text on its disk (read again each time), the text in its memory, and the text being typed.
 * `D0000002a M00000007 text on disk|text in memory|typed|` is the 42nd step of this disk and the 7th since the boot. A
 * typed line that begins with d goes to the third sector of the disk, and any other to the memory, without its first
 * letter. The power button ends the guest. The bytes, from 0000:7c00:
 *
 *     start:  xor eax,eax; mov ds,ax; mov es,ax; mov ss,ax; mov sp,7c00; cld
 *             mov [600],dl                 ; the BIOS passes the boot drive
 *             mov [604],eax; mov [800],al  ; the count and the text in memory
 *             call blank
 *             mov dx,602; mov ax,100; out dx,ax  ; enables the power button
 *             mov ax,0201; call counts     ; read
 *     again:  mov ah,1; int 16; jz quiet   ; is a key there?
 *             mov ah,0; int 16; cmp al,0d; je enter
 *             mov di,[608]; stosb; mov [608],di; mov byte [di],0; jmp again
 *     enter:  mov si,701; mov cx,40; mov di,800; cmp byte [700],'d'; je disktext
 *             rep movsb; jmp taken
 *     disktext: mov di,8000; rep movsb; mov ax,0301; call texts  ; write
 *     taken:  call blank; jmp again
 *     quiet:  mov dx,600; in ax,dx; test ah,1; jz on
 *             mov dx,604; mov ax,2000; out dx,ax  ; off
 *     on:     inc dword [7e00]; inc dword [604]; mov ax,0301; call counts
 *             mov ax,0201; call texts
 *             mov al,'D'; mov ebx,[7e00]; call number
 *             mov al,'M'; mov ebx,[604];  call number
 *             mov si,8000; call text; mov si,800; call text; mov si,700; call text
 *             mov al,0a; call put
 *             sti; hlt; jmp again          ; until the next tick of the clock, or a key
 *     blank:  mov di,700; mov [608],di; mov byte [di],0; ret
 *     counts: mov cx,2; mov bx,7e00; jmp disk
 *     texts:  mov cx,3; mov bx,8000
 *     disk:   mov dl,[600]; xor dh,dh; int 13; ret
 *     number: call put; mov cx,8
 *     digit:  rol ebx,4; mov al,bl; and al,0f; add al,'0'; cmp al,'9'; jbe ok; add al,'a'-'9'-1
 *     ok:     call put; loop digit; mov al,' '; jmp put
 *     text:   lodsb; test al,al; jz bar; call put; jmp text
 *     bar:    mov al,'|'
 *     put:    mov dx,3f8; out dx,al; ret
 */
const CODE = [
  "66 31 c0 8e d8 8e c0 8e d0 bc 00 7c fc",
  "88 16 00 06",
  "66 a3 04 06 a2 00 08",
  "e8 a3 00",
  "ba 02 06 b8 00 01 ef",
  "b8 01 02 e8 a1 00",
  "b4 01 cd 16 74 3a",
  "b4 00 cd 16 3c 0d 74 0e",
  "8b 3e 08 06 aa 89 3e 08 06 c6 05 00 eb e4",
  "be 01 07 b9 40 00 bf 00 08 80 3e 00 07 64 74 04",
  "f3 a4 eb 0b",
  "bf 00 80 f3 a4 b8 01 03 e8 6e 00",
  "e8 58 00 eb c0",
  "ba 00 06 ed f6 c4 01 74 07",
  "ba 04 06 b8 00 20 ef",
  "66 ff 06 00 7e 66 ff 06 04 06 b8 01 03 e8 41 00",
  "b8 01 02 e8 43 00",
  "b0 44 66 8b 1e 00 7e e8 48 00",
  "b0 4d 66 8b 1e 04 06 e8 3e 00",
  "be 00 80 e8 57 00 be 00 08 e8 51 00 be 00 07 e8 4b 00",
  "b0 0a e8 52 00",
  "fb f4 e9 6a ff",
  "bf 00 07 89 3e 08 06 c6 05 00 c3",
  "b9 02 00 bb 00 7e eb 06",
  "b9 03 00 bb 00 80",
  "8a 16 00 06 30 f6 cd 13 c3",
  "e8 28 00 b9 08 00",
  "66 c1 c3 04 88 d8 24 0f 04 30 3c 39 76 02 04 27",
  "e8 12 00 e2 eb b0 20 eb 0c",
  "ac 84 c0 74 05 e8 04 00 eb f6",
  "b0 7c",
  "ba f8 03 ee c3",
];

const MIB = 1024 ** 2;

const LINE = /^D([0-9a-f]{8}) M([0-9a-f]{8}) ([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|$/gm;

/** Maximum number of keys typed before the guest must have printed them: its keyboard buffer has no room for more. */
const KEYS = 4;

/** Milliseconds between two polls of the serial port. */
const LOOK = 20;

/** Milliseconds without new output, which must suffice for a boot on a slow machine. */
const GUEST_OUTPUT_TIMEOUT_MS = 120_000;

/** QEMU's names of keys that are neither letters nor digits. */
const NAMES: Readonly<Record<string, string>> = { " ": "spc", "-": "minus" };

const IMAGE = "7a1c0000-0000-4000-8000-000000000001";

/** How the contract check runs this driver: its guests store what is typed into them. */
export const check: DriverCheckOptions = {
  config: (place) => ({ folder: folderOf(place), imagesPath: imagesIn(place), waitSoftRebootSeconds: 5 }),
  image: { id: IMAGE },
  flavor: { memoryMb: 64 },
  largerFlavor: { memoryMb: 96 },
  prepare: (deps, folder) => writeTalkingImage(join(imagesIn({ folder }), `${IMAGE}.raw`), deps),
  canary: { ...place("disk"), memory: place("memory") },
  sweep,
};

function place(keeper: "disk" | "memory"): CanaryPlace {
  return {
    write: (guest, text) => {
      const { deps } = guest;
      return withMonitor(guest, (execute) => storeInGuest(keeper, text, execute, { console: consoleOf(guest), deps }));
    },
    read: async (guest) => (await awaitNextReport(consoleOf(guest), guest.deps))[keeper],
  };
}

const folderOf = ({ host, folder }: CheckPlace): string => join(folder, "qemu", host);

const imagesIn = ({ folder }: Pick<CheckPlace, "folder">): string => join(folder, "images");

const layoutOf = ({ config }: CanaryGuest): Layout => new Layout(compileQemuConfig(config));

const consoleOf = (guest: CanaryGuest): string => layoutOf(guest).console(guest.instance.uuid);

async function withMonitor(guest: CanaryGuest, work: (execute: Execute) => Promise<void>): Promise<void> {
  const { deps, instance } = guest;
  const record = await deps.files.read(join(layoutOf(guest).run(instance.uuid), RECORD));
  const qemu = parsed(record) as { readonly pid: number; readonly started: string };
  await new Monitors(deps.sockets, deps.timers).use({ ...qemu, uuid: instance.uuid }, work);
}

/** Ends each QEMU that a record in a check's folder still names. */
async function sweep({ folder, deps }: SweptPlace): Promise<readonly string[]> {
  const found = await Promise.all(
    (await deps.files.list(join(folder, "qemu"))).map((host) => sweepHost(folderOf({ host, folder }), deps)),
  );
  return found.flat();
}

async function sweepHost(folder: string, { files, processes }: CheckDeps): Promise<readonly string[]> {
  const swept: string[] = [];
  const { runs } = new Layout({ folder, instancesPath: null, imagesPath: null });
  for (const name of await files.list(runs)) {
    const record = parsed((await files.readIfPresent(join(runs, name, RECORD))) ?? "");
    const { pid, started } = (record ?? {}) as { readonly pid?: number; readonly started?: string };
    if (pid !== undefined && started !== undefined && (await processes.signal({ pid, started }, "SIGKILL"))) {
      swept.push(`QEMU ${pid} of guest ${name}`);
    }
  }
  return swept;
}

/** Writes a raw image of the guest, 1 MiB in size. @internal */
export async function writeTalkingImage(path: string, { files, processes }: Deps): Promise<void> {
  const sector = Buffer.alloc(512);
  Buffer.from(CODE.join(" ").replaceAll(" ", ""), "hex").copy(sector);
  sector.writeUInt16LE(0xaa55, 510);
  await files.makeFolder(dirname(path));
  // The files interface writes only text.
  const argv = ["sh", "-c", 'printf %s "$1" | base64 -d > "$2"', "sh", sector.toString("base64"), path];
  const { code, stderr } = await processes.run({ argv });
  if (code !== 0) {
    throw new Error(`an image cannot be written to ${path}: ${stderr}`);
  }
  await files.truncate(path, MIB);
}

/** Returns all reports on the serial port. @param console path of the guest's console file. @internal for tests */
export async function readReports(console: string, { files }: Pick<Deps, "files">): Promise<readonly GuestReport[]> {
  const text = (await files.readIfPresent(console)) ?? "";
  return [...text.matchAll(LINE)].map(([, onDisk = "", inMemory = "", disk = "", memory = "", typed = ""]) => ({
    counted: { disk: Number.parseInt(onDisk, 16), memory: Number.parseInt(inMemory, 16) },
    disk,
    memory,
    typed,
  }));
}

/**
 * Returns the next report for which `holds` returns true. Skips the first one, which was begun earlier. @throws
 * {QemuError}
 */
async function awaitNextReport(
  console: string,
  deps: Deps,
  holds: (report: GuestReport) => boolean = () => true,
): Promise<GuestReport> {
  const before = (await readReports(console, deps)).length;
  const deadline = deps.clock.monotonic() + GUEST_OUTPUT_TIMEOUT_MS;
  for (;;) {
    const reports = await readReports(console, deps);
    const found = reports.slice(before + 1).find(holds);
    if (found !== undefined) {
      return found;
    }
    if (deps.clock.monotonic() > deadline) {
      throw new QemuError(
        "GuestSilent",
        `the guest printed no matching report to ${console}; its last report is ${JSON.stringify(reports.at(-1))}`,
      );
    }
    await deps.timers.sleep(LOOK);
  }
}

/**
 * Types a text of small letters, digits, hyphens and spaces for the guest to store. The guest must already print
 * reports. @throws {QemuError}
 */
async function storeInGuest(
  keeper: "disk" | "memory",
  text: string,
  execute: Execute,
  { console, deps }: { readonly console: string; readonly deps: Deps },
): Promise<void> {
  const line = `${keeper.slice(0, 1)}${text}`;
  await awaitNextReport(console, deps);
  for (let at = 0; at < line.length; at += KEYS) {
    for (const key of line.slice(at, at + KEYS)) {
      await press(execute, NAMES[key] ?? key);
    }
    const typed = line.slice(0, at + KEYS);
    await awaitNextReport(console, deps, (report) => report.typed === typed);
  }
  await press(execute, "ret");
  await awaitNextReport(console, deps, (report) => report[keeper] === text);
}

async function press(execute: Execute, key: string): Promise<void> {
  await execute("send-key", { keys: [{ type: "qcode", data: key }], "hold-time": 1 });
}
