import { DISK_INFO } from "../../records/index.js";
import { type FieldCodec, stringRecord } from "./field-codec.js";

/** Characters that a value has at most: its column's length in Nova's database. */
const LONGEST = 255;

/** `resize_disk_info`, `resize_disk_info.1`, `resize_disk_info.2` … */
const keyOf = (index: number): string => (index === 0 ? DISK_INFO : `${DISK_INFO}.${index}`);

/**
 * Nova's metadata of the system. What a driver says about a guest's disks may have any length, andis split over keys. All other
 * values come from an API, and are as short as Nova wants them.
 */
export const systemMetadata: FieldCodec<Readonly<Record<string, string>>> = {
  read: (value, row) => {
    const all = stringRecord.read(value, row);
    const rest = Object.entries(all).filter(([key]) => key !== DISK_INFO && !key.startsWith(`${DISK_INFO}.`));
    let diskInfo = all[DISK_INFO];
    for (let index = 1; diskInfo !== undefined && all[keyOf(index)] !== undefined; index += 1) {
      diskInfo += all[keyOf(index)];
    }
    return Object.fromEntries([...rest, ...(diskInfo === undefined ? [] : [[DISK_INFO, diskInfo] as const])]);
  },
  write: ({ [DISK_INFO]: diskInfo, ...rest }) => {
    const parts = diskInfo === "" ? [""] : (diskInfo?.match(new RegExp(`[\\s\\S]{1,${LONGEST}}`, "gu")) ?? []);
    return { ...rest, ...Object.fromEntries(parts.map((part, index) => [keyOf(index), part])) };
  },
};
