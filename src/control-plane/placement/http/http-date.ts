const DAYS = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

let lastSecond = -1;
let lastText = "";

/** Milliseconds since the epoch as `Sat, 21 Nov 2026 14:03:40 GMT`. Remembers the last one: most are of this second. */
export function httpDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastText = format(second);
    lastSecond = second;
  }
  return lastText;
}

function format(second: number): string {
  const days = Math.floor(second / 86_400);
  const rest = second - days * 86_400;
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60].map(two).join(":");
  const [year, month, day] = civil(days);
  return `${DAYS[((days % 7) + 7) % 7]}, ${two(day)} ${MONTHS[month]} ${year} ${clock} GMT`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/** Year, month from 0 and day of the month of a day since the epoch. Eras are 400 years that begin on 1 March. */
function civil(days: number): readonly [number, number, number] {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  const month = (fromMarch + 2) % 12;
  return [yearOfEra + era * 400 + (month < 2 ? 1 : 0), month, day];
}
