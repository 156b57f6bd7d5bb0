import { ADDRESS_SUBJECTS } from "./address-subjects.js";
import { LAYER2_SUBJECTS } from "./layer2-subjects.js";
import { LAYER3_SUBJECTS } from "./layer3-subjects.js";
import { POLICY_SUBJECTS } from "./policy-subjects.js";
import { SERVICE_SUBJECTS } from "./service-subjects.js";
import type { Subject } from "./subject.js";

/** All collections of which requests are sent. */
export const SUBJECTS: readonly Subject[] = [
  ...LAYER2_SUBJECTS,
  ...ADDRESS_SUBJECTS,
  ...LAYER3_SUBJECTS,
  ...POLICY_SUBJECTS,
  ...SERVICE_SUBJECTS,
];
