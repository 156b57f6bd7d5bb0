/** Formats a duration in its largest unit. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) {
    return `${seconds} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) {
    return `${minutes} min`;
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Formats the time between two moments of a timeline. */
export function span(ms: number): string {
  if (ms < 1_000) {
    return `${Math.round(ms)} ms`;
  }
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : age(ms);
}

const two = (value: number): string => String(value).padStart(2, "0");

/** Local time of day: `09:05:07`. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const fineTime = (at: number): string => `${clockTime(at)}.${String(Math.floor(at % 1_000)).padStart(3, "0")}`;

export function dateTime(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clockTime(at)}`;
}

const numberFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (value: number): string => numberFormat.format(value);

/** Formats a number of things: `1 finding`, `2 findings`. */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Formats an amount of a resource class with its unit: `MEMORY_MB` 2048 is `2 GiB`. */
export function amount(resourceClass: string, value: number): string {
  if (resourceClass === "MEMORY_MB") {
    return Math.abs(value) >= 1_024 ? `${numberFormat.format(value / 1_024)} GiB` : `${numberFormat.format(value)} MiB`;
  }
  if (resourceClass === "DISK_GB") {
    return Math.abs(value) >= 10_240
      ? `${numberFormat.format(value / 1_024)} TiB`
      : `${numberFormat.format(value)} GiB`;
  }
  return numberFormat.format(value);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = value;
  while (left >= 1_024 && unit < units.length - 1) {
    left /= 1_024;
    unit++;
  }
  return `${numberFormat.format(left)} ${units[unit]}`;
}

export const shortId = (uuid: string): string => (/^[0-9a-f]{8}-/.test(uuid) ? uuid.slice(0, 8) : uuid);
