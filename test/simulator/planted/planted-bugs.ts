import { lostUpdate } from "./bugs/lost-update.js";
import { bug1419785 } from "./bugs/lp-1419785.js";
import { bug1713783 } from "./bugs/lp-1713783.js";
import { bug1735407 } from "./bugs/lp-1735407.js";
import { bug1764883 } from "./bugs/lp-1764883.js";
import { bug1818914 } from "./bugs/lp-1818914.js";
import { bug1821594 } from "./bugs/lp-1821594.js";
import { bug1839560 } from "./bugs/lp-1839560.js";
import { bug1841481 } from "./bugs/lp-1841481.js";
import { bug1852610 } from "./bugs/lp-1852610.js";
import { bug1853009 } from "./bugs/lp-1853009.js";
import { bug1896463 } from "./bugs/lp-1896463.js";
import { bug2085975 } from "./bugs/lp-2085975.js";
import type { PlantedBug } from "./planted-bug.js";

export const PLANTED_BUGS: readonly PlantedBug[] = [
  bug1853009,
  bug1839560,
  bug1841481,
  bug1713783,
  bug1896463,
  bug1764883,
  bug1419785,
  bug1852610,
  bug1821594,
  bug1818914,
  bug2085975,
  bug1735407,
  lostUpdate,
];
